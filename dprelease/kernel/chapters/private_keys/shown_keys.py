"""Private keys that were selected, and what an engine counted laid out by them.

Why the other steps of a table cost what they would with public keys, whatever was selected. Think
of such a step as made for *every possible key*, those nobody has included: each has a cell, and in
it a draw of its own, from the law for an empty cell where no row is. A unit has at most so many
rows, in at most so many of these cells, as if keys were public (``privacy.sensitivity`` with more
cells than units can reach), and all other cells have the same law with and without it. Draws of
different cells are independent. So for any finite set of keys the draws of these cells are as
private as the step claims: each cell that a unit changes adds to the loss what it adds with public
keys, whether it is noise on integers, a choice or a quantile, and the others add nothing.

The set that is shown was selected by a release of its own (``privacy.partition_selection``). Given
what that gave out, the set is fixed, and the step is the release of its cells: the losses of both
add up. To leave a cell out is then to leave out an independent draw, which needn't even be made.
Three things this rests on: a selected key without rows in the step (its filter, or what bounding
kept, is not that of the selecting count) gets the draw of an empty cell like any other, since to
mark or skip it would tell that nobody is there; nothing but the selection decides which keys are
shown, so that an occurring key that is not among them leaves no trace; and what a cell's draw may
be (candidates, labels of an axis, grid) is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.kernel.core.aggregates import (
    Drawing,
    Drawn,
    Integers,
    Key,
    Values,
    add_noise,
    collect_measures,
    combine_measures,
    release_cells,
)
from dprelease.kernel.core.engine_requests import Job
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import NUMERIC_TYPES, ColumnType, ExactTable, Form, Group, Step


def privatize_keys(
    exact: ExactTable,
    job: Job,
    entropy: Entropy,
    selected_keys: Mapping[str, tuple[Key, ...]],
    drawing: Drawing,
) -> Drawn:
    """Select the keys of the table, unless that is done; then release the cells of these alone.

    A key that occurs nowhere in these rows has an empty cell, with a draw like any other.
    """
    measures, occurring = exact.reveal(), exact.reveal_keys()
    table = job.steps[0].query.table
    # Each key stands once, with an integer of each measure for it, or for each of its candidates.
    sizes = {len(measure) for measure in measures}
    expected = {len(occurring) * _count_outputs(job)} if job.request.points is None else sizes
    if len(set(occurring)) != len(occurring) or sizes != expected or len(sizes) != 1:
        raise ValueError("a table with a missing or spare key is not released")
    values: dict[str, Values] = {}
    steps = list(zip(job.steps, job.positions, strict=True))
    keys = selected_keys.get(table)
    if keys is None:
        (first, where), *steps = steps
        counted = collect_measures(measures, where)
        keys, values[first.query.name] = _select(first, counted, occurring, entropy, drawing)
    for step, where in steps:
        own, cells = collect_measures(measures, where), [*range(len(keys))]
        if step.form is Form.QUANTILES:
            index = {key: place for place, key in enumerate(occurring)}
            cells = [index.get(key, -1) for key in keys]
        else:
            axis, width = step.query.axis, _count_outputs(job)
            own = [lay_out_counts(measure, occurring, keys, axis, width) for measure in own]
        values[step.query.name] = release_cells(step, own, cells, entropy, drawing)
    return Drawn(values, {table: keys})


def _select(
    step: Step,
    measures: Sequence[Integers],
    occurring: Sequence[Key],
    entropy: Entropy,
    drawing: Drawing,
) -> tuple[tuple[Key, ...], Values]:
    """Select the keys whose noisy count reaches the threshold; return them with its integers."""
    query = step.query
    counts_keys = step.form is Form.NUMBERS and not query.axis and not query.candidates
    if step.threshold is None or not step.transform or not counts_keys:
        raise ValueError("private keys are selected by a count with a threshold")
    # Engines answer in any order; drawn in one of its own, the same entropy gives the same table.
    order = sorted(range(len(occurring)), key=occurring.__getitem__)
    sums = [combine_measures(row, measures) for row in step.transform]
    noisy = [add_noise([row[at] for at in order], step, entropy, drawing) for row in sums]
    # A count is one integer for each key; of a mean it is what its two sums add up to.
    counts = [sum(cell) for cell in zip(*noisy, strict=True)]
    ordered_keys = [occurring[at] for at in order]
    selected_cells = select_keys(ordered_keys, counts, step.threshold, query.groups)
    places = {key: place for place, key in enumerate(ordered_keys)}
    shown = [places[key] for key, _ in selected_cells]
    values = tuple(tuple(row[place] for place in shown) for row in noisy)
    return tuple(key for key, _ in selected_cells), values


def _count_outputs(job: Job) -> int:
    scores = job.request.scores
    return 1 if scores is None else len(scores.texts)


def lay_out_counts(
    column: Sequence[int],
    occurring: Sequence[Key],
    keys: Sequence[Key],
    axis: Group | None = None,
    width: int = 1,
) -> list[int]:
    """Lay out the counts of the selected keys, in their order; zeros where nothing occurs.

    ``column`` holds ``width`` integers for each key that occurs, and so does the result for each
    one selected. With an ``axis`` the last label of those that occur is one of the axis: the result
    has ``width`` integers for each of its labels, key by key.
    """
    labels = (None,) if axis is None else axis.labels
    places = {label: place for place, label in enumerate(labels)}
    cells = {key: cell for cell, key in enumerate(keys)}
    counts = [0] * (len(keys) * len(labels) * width)
    for place, cell_key in enumerate(occurring):
        key, label = (cell_key, None) if axis is None else (cell_key[:-1], cell_key[-1])
        cell = cells.get(key)
        if cell is not None:
            start = (cell * len(labels) + places[label]) * width
            counts[start : start + width] = column[place * width : (place + 1) * width]
    return counts


def select_keys(
    keys: Sequence[Key], noisy: Sequence[int], threshold: int, groups: Sequence[Group]
) -> list[tuple[Key, int]]:
    """Keep the keys whose noisy count reaches the threshold, each with that count, in order.

    Public labels come as declared, private ones as numbers or texts sort.
    """
    reaching = [(key, count) for key, count in zip(keys, noisy, strict=True) if count >= threshold]
    ranks = [{label: rank for rank, label in enumerate(group.labels)} for group in groups]

    def order(counted_key: tuple[Key, int]) -> list[tuple[int, Fraction, str]]:
        return [
            _rank(label, group, declared)
            for label, group, declared in zip(counted_key[0], groups, ranks, strict=True)
        ]

    return sorted(reaching, key=order)


def _rank(label: str, group: Group, declared: Mapping[str, int]) -> tuple[int, Fraction, str]:
    """Return what a label sorts by: its place among public ones, else its number, else its text.

    Defined for every text, since nothing may fail between the draw and the seal.
    """
    if not group.private:
        return declared.get(label, len(declared)), Fraction(0), label
    if label == group.null_label or group.type is ColumnType.BOOLEAN:
        return 3, Fraction(0), label
    if group.type in NUMERIC_TYPES:
        if label in _ENDS:
            return _ENDS[label], Fraction(0), label
        try:
            return 1, Fraction(label), ""
        except ValueError:
            return 3, Fraction(0), label
    return 0, Fraction(0), label


_ENDS = {"-inf": 0, "inf": 2}
