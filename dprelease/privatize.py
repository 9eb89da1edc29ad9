"""The one function that turns exact integers into noisy ones.

Guarantee: for each step, what comes out is ``transform @ measures`` plus an independent draw of
the step's noise for every released integer of every cell, in integer arithmetic of any size. With
a step's sensitivities as certified, that is the step's declared privacy loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import add, mul

from dprelease.model import ExactTable, Step
from dprelease.noise.entropy import Entropy
from dprelease.noise.sample import prepare_sample, sample


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


def prepare(steps: Sequence[Step]) -> None:
    """Make what the draws of the steps will need. Reads no data and draws nothing."""
    for step in steps:
        prepare_sample(step.noise, step.query.cells)


def _noisy(
    row: Sequence[int], measures: Sequence[Sequence[int]], step: Step, entropy: Entropy
) -> tuple[int, ...]:
    """Combine the measures of every cell and add a fresh draw to each."""
    totals: list[int] = sample(step.noise, step.query.cells, entropy).tolist()
    for factor, measure in zip(row, measures, strict=True):
        if len(measure) != len(totals):
            raise ValueError("a table with a missing or spare cell is not released")
        if factor:
            integers = measure if set(map(type, measure)) <= {int} else map(int, measure)
            scaled = integers if factor == 1 else map(mul, repeat(factor), integers)
            totals = list(map(add, totals, scaled))
    return tuple(totals)
