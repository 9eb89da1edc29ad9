"""The one function that turns exact integers into noisy ones.

Guarantee: for each step, what comes out is ``transform @ measures`` plus an independent draw of
the step's noise for every released integer of every cell, in integer arithmetic of any size. With
a step's sensitivities as certified, that is the step's declared privacy loss.
"""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import ExactTable, Step
from dprelease.noise.entropy import Entropy
from dprelease.noise.sample import sample


def privatize(
    exact: ExactTable,
    steps: Sequence[Step],
    positions: Sequence[Sequence[int]],
    entropy: Entropy,
) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Release each step's integers with noise: by query name, ``[released integer][cell]``.

    ``positions[i]`` says which measures of the table belong to step i. Empty cells get a draw of
    their own like all others.
    """
    measures = exact.reveal()
    return {
        step.query.name: tuple(
            _noisy(row, [measures[at] for at in where], step, entropy) for row in step.transform
        )
        for step, where in zip(steps, positions, strict=True)
    }


def _noisy(
    row: Sequence[int], measures: Sequence[Sequence[int]], step: Step, entropy: Entropy
) -> tuple[int, ...]:
    """Combine the measures of every cell and add a fresh draw to each."""
    cells = step.query.cells
    noise: list[int] = sample(step.noise, cells, entropy).tolist()
    totals = noise
    for factor, measure in zip(row, measures, strict=True):
        # zip is strict: a table with a missing or spare cell must stop the release
        totals = [total + factor * int(value) for total, value in zip(totals, measure, strict=True)]
    return tuple(totals)
