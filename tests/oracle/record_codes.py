"""The codes of records in plain loops: a label's number or -1, or a grid integer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from oracle.bounding import Row, kept, unit_of
from oracle.cells import placer_of
from oracle.values import Record, grid_integer

from dprelease.model import Bound, Group, Quantity, RecordRequest
from dprelease.sources.shared.request_content import NO_LABEL, build_aggregate

if TYPE_CHECKING:
    import numpy.typing as npt

BATCH = 1000  # records

Codes = tuple[int, ...]


def batches(
    request: RecordRequest, records: Iterable[Record]
) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """The codes of all records, or of those that are kept of each unit."""
    import numpy as np

    coders = [_coder_of(column) for column in request.columns]
    bound = build_aggregate(request).bound
    found: Iterator[Codes] = (tuple(code(record) for code in coders) for record in records)
    if bound is not None:
        found = _bounded(bound, coders, records)
    while some := list(islice(found, BATCH)):
        yield tuple(np.array(column, dtype=np.int64) for column in zip(*some, strict=True))


def _coder_of(column: Group | Quantity) -> Callable[[Record], int]:
    if isinstance(column, Group):
        place = placer_of(column)

        def label(record: Record) -> int:
            found = place(record)
            return NO_LABEL if found is None else int(found)

        return label

    def number(record: Record) -> int:
        found = grid_integer(column, record.numbers)
        if found is None:
            raise ValueError("a grid integer of a record is never missing")
        return found

    return number


def _bounded(
    bound: Bound, coders: list[Callable[[Record], int]], records: Iterable[Record]
) -> Iterator[Codes]:
    """The codes of the rows that are kept, one unit after the other."""
    units: defaultdict[bytes, list[Row]] = defaultdict(list)
    for record in records:
        unit = unit_of(record, bound)
        if unit is not None:
            units[unit].append(Row(record, unit, (), ()))

    def codes(row: Row) -> Codes:
        return tuple(code(row.record) for code in coders)

    for own in units.values():
        yield from map(codes, kept(sorted(own, key=codes), bound))
