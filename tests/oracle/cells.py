"""Which cell a record lies in: one place for each group, a label's position or a private label."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oracle.key_texts import normal, one_line
from oracle.values import Record, canonical_text

from dprelease.expressions.nodes import Value
from dprelease.model import NUMERIC_TYPES, ColumnType, Group
from dprelease.sources.shared.text_values import parse_number, parse_value

# The position of a public label, or a private label itself, so that a null whose label is also
# somebody's value shares that one's cell.
Place = int | str
Cell = tuple[Place, ...]
Placer = Callable[[Record], Place | None]


def cell_of(record: Record, placers: Sequence[Placer]) -> Cell | None:
    """The cell of a record, or None if some group has no label for it."""
    places: list[Place] = []
    for placer in placers:
        place = placer(record)
        if place is None:
            return None
        places.append(place)
    return tuple(places)


def position(cell: Cell, groups: Sequence[Group]) -> int:
    """The cell's number in the cross product of the public ones of the groups, row-major."""
    found = 0
    for place, group in zip(cell, groups, strict=True):
        if not group.private:
            found = found * len(group.labels) + int(place)
    return found


def labels_of(cell: Cell, groups: Sequence[Group]) -> tuple[str, ...]:
    """The label of the cell in each group."""
    return tuple(
        place if isinstance(place, str) else group.labels[place]
        for place, group in zip(cell, groups, strict=True)
    )


def placer_of(group: Group) -> Placer:
    """A function from a record to its place in the group, or None."""
    if group.private:
        return _private(group)
    null = None if group.null_label is None else group.labels.index(group.null_label)
    other = None if group.other is None else group.labels.index(group.other)
    if group.edges is not None:
        find = _bin_finder([_as_edge(edge, group.type) for edge in group.edges])
    else:
        places: dict[Value, int] = {}
        for key_place, key in enumerate(group.keys or ()):
            places.setdefault(_compared(parse_value(key, group.type)), key_place)
        find = places.get
    by_number = group.edges is not None and group.type in NUMERIC_TYPES

    def place(record: Record) -> Place | None:
        value = (record.numbers if by_number else record.values)[group.column]
        if value is None:
            return null
        found = find(value)
        return other if found is None else found

    return place


def _compared(value: Value) -> Value:
    """What tells keys apart."""
    return normal(value) if isinstance(value, str) else value


def _private(group: Group) -> Placer:
    """The private key of a record: a function of the record alone, see ``key_normalization``."""

    def place(record: Record) -> Place | None:
        value = record.values[group.column]
        label = group.null_label if value is None else canonical_text(value)
        return label if label is None or group.type is not ColumnType.STRING else one_line(label)

    return place


def ordered_key(record: Record, group: Group) -> Value:
    """The private key of a record as what keys are ordered by; a null is its label's value."""
    if group.type is ColumnType.STRING:
        return _private(group)(record)
    value = record.values[group.column]
    null = parse_value(group.null_label, group.type)
    if value is None and null is not None and canonical_text(null) == group.null_label:
        return null
    return value


def _as_edge(text: str, kind: ColumnType) -> Value:
    return parse_number(text) if kind in NUMERIC_TYPES else parse_value(text, kind)


def _bin_finder(edges: Sequence[Value]) -> Callable[[Value], int | None]:
    def find(value: Value) -> int | None:
        last = len(edges) - 2
        for place in range(last + 1):
            low, high = edges[place], edges[place + 1]
            if low <= value and (value < high or (place == last and value == high)):  # type: ignore[operator]
                return place
        return None

    return find
