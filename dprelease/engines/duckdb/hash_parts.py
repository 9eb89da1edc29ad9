"""Partitions by hash: a request is run in as many parts as memory requires.

A part that doesn't fit is run again as two, each with half of its hashes. Where units are bounded,
the hash is that of the unit, so that each unit is in one part; otherwise it is that of the columns
that rows are grouped by. The answers of the parts are added up, so the integers never depend on the
number of parts. What ``choose_part_count`` returns affects nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dprelease.engines.duckdb.bound_by_arrays import Packing
from dprelease.engines.duckdb.duckdb_session import get_memory_limit
from dprelease.engines.duckdb.field_reader import FieldReader
from dprelease.engines.duckdb.record_cells import locate
from dprelease.engines.duckdb.typed_rows import Rows, read_unit
from dprelease.expressions.sqltext import COUNT_ALL, STAR, Sql, call, col
from dprelease.model import AggregateRequest
from dprelease.sources.shared.record_stream import Fields

T = TypeVar("T")

SAMPLE = 20_000  # first records that are read to estimate how many lie in a cell
MOST_FIRST = 256
MOST_PARTS = 1 << 14
# Measured bytes of memory for each row: in arrays, for its first integer (with its part of a unit
# of about ten rows), and for each other integer; in windows, for the whole row.
IN_ARRAYS, OTHERS = 19, 16
IN_WINDOW = 140


class Part(Struct, frozen=True):
    """Part ``index`` of ``of``: the rows whose hash leaves this remainder."""

    index: int = 0
    of: int = 1

    def split(self) -> tuple[Part, Part]:
        """Split the part into two."""
        return Part(self.index, 2 * self.of), Part(self.index + self.of, 2 * self.of)

    def build_condition(self, *values: str | Sql) -> Sql | None:
        """Build the condition that a row is in the part; None if every row is.

        A text is the name of a column.
        """
        if self.of == 1:
            return None
        mixed = call(
            "HASH", *(col(value) if isinstance(value, str) else value for value in values), "part"
        )
        return (mixed % self.of).equals(self.index)


def run_in_parts(
    run: Callable[[Part], T], first: int = 1, begin: Callable[[int], None] = lambda _readings: None
) -> Iterator[T]:
    """Run a function in as many parts as memory needs.

    Args:
        run: Is called for each part; may raise OutOfMemoryException.
        first: Number of parts to begin with.
        begin: Is told before each part how many are left.

    Yields:
        What ``run`` returned for each part, as soon as it is there.

    Raises:
        duckdb.OutOfMemoryException: One of ``MOST_PARTS`` parts doesn't fit.
    """
    import duckdb

    waiting = [Part(index, first) for index in range(first)]
    while waiting:
        begin(len(waiting))
        part = waiting.pop()
        try:
            outcome = run(part)
        except duckdb.OutOfMemoryException:
            if part.of >= MOST_PARTS:
                raise
            waiting += part.split()
        else:
            yield outcome


def select_unit_rows(
    part: Part, request: AggregateRequest, fields: Fields, build: Callable[[Fields], Rows]
) -> Rows:
    """Select the rows of a part's units, by the unit's field where it can be read alone."""
    unit = read_unit(request, fields)
    if unit is not None:
        return build(replace(fields, relation=fields.relation.only(part.build_condition(unit))))
    rows = build(fields)
    return replace(rows, relation=rows.relation.only(part.build_condition("u")))


def select_units(part: Part, request: AggregateRequest, fields: Fields) -> Sql | None:
    """Select one row for each record of a part, with its unit alone.

    Returns:
        The relation; None if there is a filter, or the unit is computed.
    """
    # With a filter the units come from the located rows: records that fail it take no memory.
    unit = None if request.where else read_unit(request, fields)
    if unit is None:
        return None
    return fields.relation.only(part.build_condition(unit)).layer({"u": unit}, keep=False)


def choose_part_count(
    request: AggregateRequest, reader: FieldReader, rows: Rows, packing: Packing | None
) -> int:
    """Choose how many parts to begin with, so that each is likely to fit.

    The choice depends on the number of records, if it is known, on the part of the first records
    that lies in a cell, and on the memory limit.
    """
    records = reader.record_count
    if records is None:
        return 1
    size = IN_WINDOW
    if packing is not None:
        size = IN_ARRAYS + OTHERS * (len(packing.words) - 1)
    memory = get_memory_limit(reader.connection)
    if memory is None or records * size <= memory:
        return 1
    head = rows.relation.select([STAR], limit=SAMPLE).subquery("some")
    cells = locate(request, replace(rows, relation=head), everything=True)
    counts = [COUNT_ALL, call("COUNT", col("c"))]
    ((row_count, counted),) = reader.fetch_rows(cells.relation.select(counts))
    parts: int = -(-records * counted * size // (memory * max(row_count, 1)))
    return min(max(parts, 1), MOST_FIRST)
