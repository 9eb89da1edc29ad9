"""The one function that turns exact integers into what may be published.

Guarantee: for each step of noisy integers, what comes out is ``transform @ measures`` plus an
independent draw of the step's noise for every released integer of every cell, in integer
arithmetic of any size; for a choice or a quantile, a candidate drawn by exactly the law of the
step; of private keys those whose noisy count reaches the threshold, and nothing of the others.
With a step's sensitivities as certified, that is the step's declared privacy loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import add, mul

from dprelease.model import ExactTable, Form, NoiseFamily, Step
from dprelease.noise.entropy import Entropy
from dprelease.noise.sample import prepare_sample, sample
from dprelease.requests import Job
from dprelease.selected import Key, selected

Integers = Sequence[int]
Values = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Released integers by query name, ``[released integer][cell]``, and the keys selected."""

    values: Mapping[str, Values]
    keys: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


def privatize(
    exact: ExactTable, job: Job, entropy: Entropy, keys: Mapping[str, tuple[Key, ...]]
) -> Drawn:
    """Release each step of a job. Empty cells get a draw of their own like all others.

    ``keys`` are the private keys selected so far, by table: the cells of that table's other steps.
    """
    if job.request.private:
        return _privatize_keys(exact, job, entropy, keys)
    measures = exact.reveal()
    return Drawn(
        {
            step.query.name: _released(step, measures, where, entropy)
            for step, where in zip(job.steps, job.positions, strict=True)
        }
    )


def prepare(steps: Sequence[Step]) -> None:
    """Make what the draws of the steps will need. Reads no data and draws nothing."""
    for step in steps:
        if step.form is Form.NUMBERS and not step.query.private:
            prepare_sample(step.noise, step.draws)


def _released(
    step: Step, measures: Sequence[Integers], where: Sequence[int], entropy: Entropy
) -> Values:
    if step.form is Form.QUANTILES:
        return _quantiles(step, measures, entropy)
    if step.form is Form.CHOICE:
        if step.query.candidates is None:
            (scores,) = (_combined(row, [measures[at] for at in where]) for row in step.transform)
        else:
            (scores,) = measures
        return _choices(step, scores, entropy)
    return tuple(
        _noisy(_combined(row, [measures[at] for at in where]), step.draws, step, entropy)
        for row in step.transform
    )


def _combined(row: Integers, measures: Sequence[Integers]) -> Integers:
    """One released integer of every cell, before noise."""
    totals: list[int] | None = None
    for factor, measure in zip(row, measures, strict=True):
        integers = measure if set(map(type, measure)) <= {int} else list(map(int, measure))
        scaled = list(integers) if factor == 1 else list(map(mul, repeat(factor), integers))
        if totals is not None and len(scaled) != len(totals):
            raise ValueError("a table with a missing or spare cell is not released")
        totals = scaled if totals is None else list(map(add, totals, scaled))
    return totals or []


def _noisy(exact: Integers, size: int, step: Step, entropy: Entropy) -> tuple[int, ...]:
    """Add a fresh draw to each integer."""
    if len(exact) != size:
        raise ValueError("a table with a missing or spare cell is not released")
    draws: list[int] = sample(step.noise, size, entropy).tolist()
    return tuple(map(add, draws, exact))


def _choices(step: Step, scores: Integers, entropy: Entropy) -> Values:
    """For each cell the positions of the candidates chosen, first pick first."""
    from dprelease.noise.choice import draw_exponential, draw_permute_and_flip
    from dprelease.noise.selection import peel

    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    if not flips and step.noise.family is not NoiseFamily.EXPONENTIAL:
        raise ValueError("a choice is made by a mechanism for choices")
    draw = draw_permute_and_flip if flips else draw_exponential
    query = step.query
    labels = query.axis.labels if query.axis is not None else ()
    number = len(labels) if query.candidates is None else len(query.candidates.texts)
    if len(scores) != query.cells * number:
        raise ValueError("a table with a missing or spare cell is not released")
    picked = [
        [
            place
            for place, _ in peel(
                scores[start : start + number], query.picks, step.noise.parameter, draw, entropy
            )
        ]
        for start in range(0, len(scores), number)
    ]
    return tuple(zip(*picked, strict=True))


def _quantiles(step: Step, measures: Sequence[Integers], entropy: Entropy) -> Values:
    """For each cell and quantile a grid integer; ``measures`` are cells, points and counts."""
    from bisect import bisect_left

    from dprelease.noise.quantiles import release

    if step.scheme is None or step.points is None:
        raise ValueError("quantiles need a scheme and a quantity")
    cells, points, counts = measures
    grid = step.points.grid
    found = []
    for cell in range(step.query.cells):
        start, end = bisect_left(cells, cell), bisect_left(cells, cell + 1)
        inside = points[start:end], counts[start:end]
        public = step.query.points
        found.append(release(*inside, grid.lower, grid.upper, step.scheme, entropy, public))
    return tuple(zip(*found, strict=True))


def _privatize_keys(
    exact: ExactTable, job: Job, entropy: Entropy, known: Mapping[str, tuple[Key, ...]]
) -> Drawn:
    """Select the keys of the table, unless that is done; then noise for the selected ones alone.

    A key that occurs nowhere in these rows has zeros, with a draw like any other.
    """
    measures, occurring = exact.reveal(), exact.reveal_keys()
    first, table = job.steps[0], job.steps[0].query.table
    if any(step.form is not Form.NUMBERS for step in job.steps):
        raise ValueError("only noisy integers are released for private keys")
    if len(set(occurring)) != len(occurring) or any(
        len(measure) != len(occurring) for measure in measures
    ):
        raise ValueError("a table with a missing or spare key is not released")
    # Engines answer in any order; drawn in one of its own, the same entropy gives the same table.
    order = sorted(range(len(occurring)), key=occurring.__getitem__)
    occurring = [occurring[at] for at in order]
    measures = tuple([measure[at] for at in order] for measure in measures)
    values: dict[str, Values] = {}
    steps = list(zip(job.steps, job.positions, strict=True))
    keys = known.get(table)
    if keys is None:
        if first.threshold is None or len(first.transform) != 1:
            raise ValueError("private keys are selected by a count with a threshold")
        counts = _combined(first.transform[0], [measures[at] for at in job.positions[0]])
        noisy = _noisy(counts, len(occurring), first, entropy)
        kept = selected(occurring, noisy, first.threshold, job.request.groups)
        keys = tuple(key for key, _ in kept)
        values[first.query.name] = (tuple(count for _, count in kept),)
        steps = steps[1:]
    places = {key: place for place, key in enumerate(occurring)}
    for step, where in steps:
        rows = []
        for row in step.transform:
            whole = _combined(row, [measures[at] for at in where])
            cells = [whole[places[key]] if key in places else 0 for key in keys]
            rows.append(_noisy(cells, len(keys), step, entropy))
        values[step.query.name] = tuple(rows)
    return Drawn(values, {table: keys})
