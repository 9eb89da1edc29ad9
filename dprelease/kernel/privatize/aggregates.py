"""The one function that turns exact integers into what may be published.

Guarantee: for each step of noisy integers, what comes out is ``transform @ measures``, mixed along
axes where the step has any, plus an independent draw of the step's noise for every released integer
of every cell, in integer arithmetic of any size; for a choice or a quantile, a candidate drawn by
exactly the law of the step; of private keys those whose noisy count reaches the threshold, and
nothing of the others.
With a step's sensitivities as certified, that is the step's declared privacy loss: ``select_keys``
says why it is for private keys, whose cells are those that another step has selected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import add, mul

from msgspec import Struct, field

from dprelease.kernel.noise.additive.sample import prepare_sample, sample
from dprelease.kernel.noise.entropy import Entropy
from dprelease.kernel.privatize.engine_requests import Job
from dprelease.kernel.privatize.joined_tables import add_up_cells
from dprelease.kernel.privatize.partition_selection import Key, lay_out_counts, select_keys
from dprelease.model import ExactTable, Form, Step

Integers = Sequence[int]
Values = tuple[tuple[int, ...], ...]


class Drawn(Struct, frozen=True):
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
    sizes = [len(group.labels) for group in job.request.groups]
    values = {}
    for step, where, places in zip(job.steps, job.positions, job.places, strict=True):
        own = _collect_measures(measures, where)
        if places is not None:
            labels = [len(group.labels) for group in step.query.groups]
            own = [add_up_cells(measure, sizes, places, labels) for measure in own]
        values[step.query.name] = _release_cells(step, own, range(step.query.cells), entropy)
    return Drawn(values)


def prepare(steps: Sequence[Step]) -> None:
    """Make what the draws of the steps will need. Reads no data and draws nothing."""
    for step in steps:
        if step.form is Form.NUMBERS and not step.query.private:
            prepare_sample(step.noise, step.draws)


def _collect_measures(measures: Sequence[Integers], where: Sequence[int]) -> list[Integers]:
    """The measures of a step; of one that asked for itself the whole answer."""
    return [measures[at] for at in where] or list(measures)


def _release_cells(
    step: Step, measures: Sequence[Integers], cells: Sequence[int], entropy: Entropy
) -> Values:
    """Release the cells in order. Measures and scores have these, in this order, and no others.

    Points are looked up by ``cells``: the number of each in the answer, -1 where it has none.
    """
    # Imported here for start-up: most releases have none of these.
    if step.form is Form.QUANTILES:
        from dprelease.kernel.privatize.choices import choose_quantiles

        return choose_quantiles(step, measures, cells, entropy)
    axis, candidates = step.query.axis, step.query.candidates
    width = len(axis.labels) if axis is not None else 1
    if candidates is None:
        rows = [_combine_measures(row, measures) for row in step.transform]
    else:
        rows, width = list(measures), len(candidates.texts)
    if any(len(row) != len(cells) * width for row in rows):
        raise ValueError("a table with a missing or spare cell is not released")
    if step.form is Form.CHOICE:
        from dprelease.kernel.privatize.choices import choose_candidates

        (scores,) = rows
        return choose_candidates(step, scores, width, entropy)
    if step.axes:
        from dprelease.kernel.privatize.mixed_cells import mix_cells

        groups = step.query.groups if axis is None else (*step.query.groups, axis)
        sizes = [len(group.labels) for group in groups]
        rows = [mix_cells(row, sizes, step.axes) for row in rows]
    return tuple(_add_noise(row, step, entropy) for row in rows)


def _combine_measures(row: Integers, measures: Sequence[Integers]) -> Integers:
    """One released integer of every cell, before noise."""
    totals: list[int] | None = None
    for factor, measure in zip(row, measures, strict=True):
        integers = measure if set(map(type, measure)) <= {int} else list(map(int, measure))
        scaled = list(integers) if factor == 1 else list(map(mul, repeat(factor), integers))
        if totals is not None and len(scaled) != len(totals):
            raise ValueError("a table with a missing or spare cell is not released")
        totals = scaled if totals is None else list(map(add, totals, scaled))
    return totals or []


def _add_noise(exact: Integers, step: Step, entropy: Entropy) -> tuple[int, ...]:
    """Add a fresh draw to each integer."""
    draws: list[int] = sample(step.noise, len(exact), entropy).tolist()
    return tuple(map(add, draws, exact))


# --- private keys -------------------------------------------------------------------------------


def _privatize_keys(
    exact: ExactTable, job: Job, entropy: Entropy, selected_keys: Mapping[str, tuple[Key, ...]]
) -> Drawn:
    """Select the keys of the table, unless that is done; then release the cells of these alone.

    A key that occurs nowhere in these rows has an empty cell, with a draw like any other.
    """
    measures, occurring = exact.reveal(), exact.reveal_keys()
    table = job.steps[0].query.table
    _check_keys(measures, occurring, job)
    values: dict[str, Values] = {}
    steps = list(zip(job.steps, job.positions, strict=True))
    keys = selected_keys.get(table)
    if keys is None:
        (first, where), *steps = steps
        counted = _collect_measures(measures, where)
        keys, values[first.query.name] = _select(first, counted, occurring, entropy)
    for step, where in steps:
        own, cells = _collect_measures(measures, where), [*range(len(keys))]
        if step.form is Form.QUANTILES:
            index = {key: place for place, key in enumerate(occurring)}
            cells = [index.get(key, -1) for key in keys]
        else:
            axis, width = step.query.axis, _count_outputs(job)
            own = [lay_out_counts(measure, occurring, keys, axis, width) for measure in own]
        values[step.query.name] = _release_cells(step, own, cells, entropy)
    return Drawn(values, {table: keys})


def _select(
    step: Step,
    measures: Sequence[Integers],
    occurring: Sequence[Key],
    entropy: Entropy,
) -> tuple[tuple[Key, ...], Values]:
    """The keys whose count reaches the threshold with its noise, and these noisy counts."""
    query = step.query
    counts_keys = step.form is Form.NUMBERS and not query.axis and not query.candidates
    if step.threshold is None or len(step.transform) != 1 or not counts_keys:
        raise ValueError("private keys are selected by a count with a threshold")
    # Engines answer in any order; drawn in one of its own, the same entropy gives the same table.
    order = sorted(range(len(occurring)), key=occurring.__getitem__)
    counts = _combine_measures(step.transform[0], measures)
    noisy = _add_noise([counts[at] for at in order], step, entropy)
    selected_cells = select_keys(
        [occurring[at] for at in order], noisy, step.threshold, query.groups
    )
    return tuple(key for key, _ in selected_cells), (tuple(count for _, count in selected_cells),)


def _check_keys(measures: Sequence[Integers], occurring: Sequence[Key], job: Job) -> None:
    """One key once, and one integer of each measure for it (or for each of its candidates)."""
    sizes = {len(measure) for measure in measures}
    expected = {len(occurring) * _count_outputs(job)} if job.request.points is None else sizes
    if len(set(occurring)) != len(occurring) or sizes != expected or len(sizes) != 1:
        raise ValueError("a table with a missing or spare key is not released")


def _count_outputs(job: Job) -> int:
    scores = job.request.scores
    return 1 if scores is None else len(scores.texts)
