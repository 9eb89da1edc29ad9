"""The quick form of the answer: aggregates by the values of the keys, then cells.

The answer has one row for each cell that occurs, and cell -1 for records that belong to none: the
cell, the number of records, then the measures. Counts are 64-bit integers, sums 128-bit unless they
are narrow.
"""

from __future__ import annotations

from dprelease.engines.duckdb.group_labels import look_up, numbered
from dprelease.engines.duckdb.measures import aggregate
from dprelease.engines.duckdb.subqueries import name
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    STAR,
    Sql,
    alias,
    call,
    case,
    cast,
    identifier,
    number,
    select,
    subquery,
)
from dprelease.model import AggregateRequest, Measure, MeasureKind

SUMS = (MeasureKind.SUM, MeasureKind.SQUARES)


def statement(request: AggregateRequest, rows: Rows, everything: bool, narrow: bool) -> Sql:
    """The SQL of the answer: groups by the values of the keys and looks up what remains.

    Faster than to look up each record where values repeat. ``narrow`` adds up in 64 bits, which is
    quicker and wraps: see ``fits_narrow``. Records that don't pass the filter are in cell -1; they
    may be left out unless ``everything`` is wanted.
    """
    partial = _grouped(request, rows, everything, narrow)
    measures = [name("m", index) for index in range(len(request.measures))]
    source = look_up(subquery(partial, "p"), request.groups)
    cell = numbered(request.groups, range(len(request.groups)))
    if rows.filtered:
        cell = case([(identifier("f"), cell)])
    cell = call("COALESCE", cell, number(-1))
    cells = select([alias(cell, "cell"), identifier("total"), *measures], source)
    counted = [cast(call("SUM", identifier("total")), "BIGINT")]
    for measure, value in zip(request.measures, measures, strict=True):
        counted.append(_sum_of_cell(measure, value, narrow))
    return select([identifier("cell"), *counted], subquery(cells, "c"), [identifier("cell")])


def _sum_of_cell(measure: Measure, value: Sql, narrow: bool) -> Sql:
    """The measure of a cell: BIGINT where that holds it, for 128 bits are slow to fetch."""
    if measure.kind not in SUMS:
        return cast(call("SUM", value), "BIGINT")
    # a sum that wraps has no more than 64 bits, so its cast can't fail
    return cast(call("SUM_NO_OVERFLOW", value), "BIGINT") if narrow else call("SUM", value)


def _grouped(request: AggregateRequest, rows: Rows, everything: bool, narrow: bool) -> Sql:
    """One row for each combination of key values."""
    keys = [identifier(key) for key in rows.groups]
    passes = identifier("f") if rows.filtered else None
    if passes is not None:
        keys.append(passes)
    columns = [alias(COUNT_ALL, "total")]
    for index, measure in enumerate(request.measures):
        sums = narrow and measure.kind in SUMS
        value = aggregate(measure, rows, "SUM_NO_OVERFLOW" if sums else "SUM")
        columns.append(alias(cast(value, "BIGINT") if sums else value, f"m{index}"))
    where = None if everything else passes
    return select([*keys, *columns], rows.relation, keys, where=where)


def probe(rows: Rows, size: int) -> Sql:
    """SQL that counts the distinct keys among ``size`` of the records; there must be a key."""
    keys = [identifier(key) for key in rows.groups]
    some = select([STAR], rows.relation, limit=size)
    return select([COUNT_ALL], subquery(select(keys, subquery(some, "s"), keys), "d"))


MANY_RECORDS = 2**40
"""More records than any file will hold."""


def fits_narrow(request: AggregateRequest, records: int = MANY_RECORDS) -> bool:
    """Whether no sum over this many records can leave 64 bits: each record adds at most a bound."""
    return max(map(_most, request.measures), default=0) * records < 2**63


def _most(measure: Measure) -> int:
    """The largest absolute integer that one record adds."""
    size = 0 if measure.quantity is None else measure.quantity.grid.magnitude
    return size * size if measure.kind is MeasureKind.SQUARES else size
