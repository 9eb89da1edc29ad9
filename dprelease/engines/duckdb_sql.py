"""The outer half of the statement: counts and sums, then cells.

Group keys are looked up in tables ``keys0..`` (columns ``v``, ``i``). The answer has one row for
each cell that occurs, and cell -1 for records that belong to none: the cell, the number of records,
then the measures. Counts are 64-bit integers, sums 128-bit unless they are narrow.
"""

from __future__ import annotations

from dprelease.engines.duckdb_rows import Rows, name, null_label, other_label
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    STAR,
    Sql,
    alias,
    binary,
    call,
    case,
    cast,
    filtered,
    identifier,
    is_null,
    join,
    no,
    number,
    select,
    subquery,
)
from dprelease.model import AggregateRequest, Group, Measure, MeasureKind


def statement(
    request: AggregateRequest, rows: Rows, grouped_first: bool, narrow: bool = False
) -> Sql:
    """The SQL of the answer.

    ``narrow`` adds up in 64 bits, which is quicker and wraps: see ``fits_narrow``. It goes with
    ``grouped_first`` only.

    ``grouped_first`` aggregates by the values of the keys and looks up the few groups that remain:
    faster when values repeat. Otherwise each record is looked up, and memory is bounded by the
    number of cells whatever the values are. The integers are the same.
    """
    partial = _grouped(request, rows, narrow) if grouped_first else _single(request, rows)
    measures = [name("m", index) for index in range(len(request.measures))]
    total, cell = identifier("total"), identifier("cell")
    source = subquery(partial, "p")
    for index, group in enumerate(request.groups):
        if group.edges is None:
            keys = f"keys{index}"
            match = binary(identifier("v", keys), "=", name("g", index))
            source = join(source, "LEFT JOIN", identifier(keys), match)
    cells = select([alias(_cell(request), "cell"), total, *measures], source)
    counted = [cast(call("SUM", total), "BIGINT")]
    for measure, value in zip(request.measures, measures, strict=True):
        counted.append(_sum_of_cell(measure, value, narrow and grouped_first))
    return select([cell, *counted], subquery(cells, "c"), [cell])


def _sum_of_cell(measure: Measure, value: Sql, narrow: bool) -> Sql:
    """The measure of a cell: BIGINT where that holds it, for 128 bits are slow to fetch."""
    if measure.kind is not MeasureKind.SUM:
        return cast(call("SUM", value), "BIGINT")
    # a sum that wraps has no more than 64 bits, so its cast can't fail
    return cast(call("SUM_NO_OVERFLOW", value), "BIGINT") if narrow else call("SUM", value)


def probe(rows: Rows, size: int, everything: bool = True) -> Sql:
    """SQL that counts the distinct keys among ``size`` of the records.

    With ``everything`` it also reads what is added up.
    """
    keys = [identifier(key) for key in rows.groups]
    some = select([STAR], rows.relation, limit=size)
    sums = [call("SUM", identifier(key)) for key in rows.quantities.values() if everything]
    distinct = select([*keys, *sums] or [number(0)], subquery(some, "s"), keys)
    return select([COUNT_ALL], subquery(distinct, "d"))


MANY_RECORDS = 2**40
"""More records than any file will hold."""


def fits_narrow(request: AggregateRequest, records: int = MANY_RECORDS) -> bool:
    """Whether no sum over this many records can leave 64 bits: each record adds at most a bound."""
    sizes = [each.quantity.grid.magnitude for each in request.measures if each.quantity]
    return max(sizes, default=0) * records < 2**63


def _grouped(request: AggregateRequest, rows: Rows, narrow: bool) -> Sql:
    """One row for each combination of key values."""
    keys = [identifier(key) for key in rows.groups]
    columns = [alias(COUNT_ALL, "total")]
    for index, measure in enumerate(request.measures):
        sums = narrow and measure.kind is MeasureKind.SUM
        value = _aggregate(measure, rows, "SUM_NO_OVERFLOW" if sums else "SUM")
        if measure.where is not None:
            value = filtered(value, identifier(rows.conditions[measure.where]))
        columns.append(alias(cast(value, "BIGINT") if sums else value, f"m{index}"))
    return select([*keys, *columns], rows.relation, keys)


def _aggregate(measure: Measure, rows: Rows, total: str) -> Sql:
    if measure.quantity is None:
        return COUNT_ALL
    value = identifier(rows.quantities[measure.quantity])
    return call("COUNT" if measure.kind is MeasureKind.VALUES else total, value)


def _single(request: AggregateRequest, rows: Rows) -> Sql:
    """One row for each record, with what it adds to each measure."""
    columns = [alias(number(1), "total")]
    for index, measure in enumerate(request.measures):
        condition: Sql | None = None
        value = number(1)
        if measure.quantity is not None:
            key = identifier(rows.quantities[measure.quantity])
            condition = no(is_null(key))
            value = key if measure.kind is MeasureKind.SUM else value
        if measure.where is not None:
            where = identifier(rows.conditions[measure.where])
            condition = where if condition is None else binary(condition, "AND", where)
        if condition is not None:
            value = case([(condition, value)])
        columns.append(alias(cast(value, "BIGINT"), f"m{index}"))
    keys = [identifier(key) for key in rows.groups]
    return select([*keys, *columns], rows.relation)


def _cell(request: AggregateRequest) -> Sql:
    """Row-major index of the cell, -1 for none."""
    total = number(0)
    for index, group in enumerate(request.groups):
        scaled = binary(total, "*", number(len(group.labels)))
        total = binary(scaled, "+", _label(index, group))
    return call("COALESCE", cast(total, "BIGINT"), number(-1))


def _label(index: int, group: Group) -> Sql:
    """Position of the record's label in the group, or NULL."""
    value = name("g", index)
    if group.edges is not None:
        return value
    found = identifier("i", f"keys{index}")
    pairs = [(is_null(value), null_label(group)), (no(is_null(found)), found)]
    return case(pairs, other_label(group))
