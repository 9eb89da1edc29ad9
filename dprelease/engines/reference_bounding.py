"""What is kept of each unit's rows: first rows in all, then cells, then rows in each cell."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dprelease.engines.reference_cells import Cell
from dprelease.engines.reference_values import Record, encoded
from dprelease.expressions.nodes import Value
from dprelease.model import Bound


class Row(NamedTuple):
    """A record with its unit and cells: ``bounded`` is of the leading groups, ``cell`` of all.

    Equal units have equal bytes. ``cell`` is None where a later group has no label for the record.
    """

    record: Record
    unit: bytes
    bounded: Cell
    cell: Cell | None


def unit_of(record: Record, bound: Bound) -> bytes | None:
    """The unit of a record; None if it has none and is to be dropped."""
    value = record.values[bound.column]
    return None if value is None and not bound.null_unit else encoded(value)


def bounded(rows: Iterable[Row], bound: Bound) -> Iterator[Row]:
    """The rows that are kept, one unit after the other."""
    units: defaultdict[bytes, list[Row]] = defaultdict(list)
    for row in rows:
        units[row.unit].append(row)
    for unit, own in units.items():
        yield from _kept(unit, own, bound)


def _kept(unit: bytes, own: list[Row], bound: Bound) -> Iterator[Row]:
    """The choice for one unit: of nothing but its own rows and the salt."""
    seed = encoded(bound.salt) + unit
    ranked = sorted(own, key=lambda row: _rank(seed, encoded(*row.bounded, *_read(row.record))))
    ranked = ranked[: bound.rows]
    cells = {row.bounded for row in ranked}
    chosen = sorted(cells, key=lambda cell: _rank(seed, encoded(*cell)))[: bound.groups]
    left = dict.fromkeys(chosen, bound.per_group)
    for row in ranked:
        if left.get(row.bounded, 0) > 0:
            left[row.bounded] -= 1
            yield row


def _read(record: Record) -> Iterator[Value]:
    """All that the request reads of a record, in the order of its inputs."""
    yield from record.values.values()
    yield from record.numbers.values()


def _rank(seed: bytes, exact: bytes) -> tuple[bytes, bytes]:
    """Pseudo-random first; equal digests are told apart by what they are digests of."""
    return hashlib.sha256(seed + exact).digest(), exact
