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

from dprelease.model import NUMERIC_TYPES, ColumnType, Group

Key = tuple[str, ...]


def lay_out_counts(
    column: Sequence[int],
    occurring: Sequence[Key],
    keys: Sequence[Key],
    axis: Group | None = None,
    width: int = 1,
) -> list[int]:
    """What was counted of the selected keys alone, in their order; zeros where nothing occurs.

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
    """What a label sorts by: its place among public ones, else its number, else its text.

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
