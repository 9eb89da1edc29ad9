"""The outer half of the statement: counts and sums, then cells.

Group keys are looked up in tables ``keys0..`` (columns ``v``, ``i``). The answer has one row for
each cell that occurs, and cell -1 for records that belong to none: the cell, the number of records,
then the measures. Sums are 128-bit integers.
"""

from __future__ import annotations

from sqlglot import exp

from dprelease.engines.duckdb_rows import Rows, name, null_label, other_label
from dprelease.expressions.sql import call, cast, number, paren
from dprelease.model import AggregateRequest, Group, Measure, MeasureKind


def statement(
    request: AggregateRequest, rows: Rows, grouped_first: bool, narrow: bool = False
) -> str:
    """The SQL of the answer.

    ``narrow`` adds up in 64 bits, which is quicker and wraps: see ``fits_narrow``.

    ``grouped_first`` aggregates by the values of the keys and looks up the few groups that remain:
    faster when values repeat. Otherwise each record is looked up, and memory is bounded by the
    number of cells whatever the values are. The integers are the same.
    """
    partial = _grouped(request, rows, narrow) if grouped_first else _single(request, rows)
    cells = exp.select(exp.alias_(_cell(request), "cell"), exp.column("total"))
    cells = cells.select(*(name("m", index) for index in range(len(request.measures))))
    cells = cells.from_(partial.subquery("p"))
    for index, group in enumerate(request.groups):
        if group.edges is None:
            match = exp.EQ(this=exp.column("v", f"keys{index}"), expression=name("g", index))
            cells = cells.join(exp.to_table(f"keys{index}"), on=match, join_type="left")
    sums = [call("SUM", exp.column("total"))]
    sums += [call("SUM", name("m", index)) for index in range(len(request.measures))]
    answer = exp.select(exp.column("cell"), *sums).from_(cells.subquery("c"))
    return _render(answer.group_by(exp.column("cell")))


def probe(rows: Rows, size: int) -> str:
    """SQL that counts the distinct keys among ``size`` of the records, reading all they hold."""
    keys = [exp.column(key) for key in rows.groups]
    some = exp.select(exp.Star()).from_(rows.query.subquery("r")).limit(size)
    sums = [call("SUM", exp.column(key)) for key in rows.quantities.values()]
    distinct = exp.select(*keys, *sums).from_(some.subquery("s"))
    distinct = distinct.group_by(*(key.copy() for key in keys)) if keys else distinct
    return _render(exp.select(exp.Count(this=exp.Star())).from_(distinct.subquery("d")))


def _render(query: exp.Select) -> str:
    return query.sql(dialect="duckdb", normalize_functions=False, copy=False)


MANY_RECORDS = 2**40
"""More records than any file will hold."""


def fits_narrow(request: AggregateRequest, records: int = MANY_RECORDS) -> bool:
    """Whether no sum over this many records can leave 64 bits: each record adds at most a bound."""
    sizes = [each.quantity.grid.magnitude for each in request.measures if each.quantity]
    return max(sizes, default=0) * records < 2**63


def _grouped(request: AggregateRequest, rows: Rows, narrow: bool) -> exp.Select:
    """One row for each combination of key values."""
    keys = [exp.column(key) for key in rows.groups]
    columns = [exp.alias_(_count_all(), "total")]
    for index, measure in enumerate(request.measures):
        value = _aggregate(measure, rows, "SUM_NO_OVERFLOW" if narrow else "SUM")
        if measure.where is not None:
            condition = exp.Where(this=exp.column(rows.conditions[measure.where]))
            value = exp.Filter(this=value, expression=condition)
        columns.append(exp.alias_(value, f"m{index}"))
    query = exp.select(*keys, *columns).from_(rows.query.subquery("r"))
    return query.group_by(*(key.copy() for key in keys)) if keys else query


def _count_all() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _aggregate(measure: Measure, rows: Rows, total: str) -> exp.Expr:
    if measure.quantity is None:
        return _count_all()
    value = exp.column(rows.quantities[measure.quantity])
    return call("COUNT" if measure.kind is MeasureKind.VALUES else total, value)


def _single(request: AggregateRequest, rows: Rows) -> exp.Select:
    """One row for each record, with what it adds to each measure."""
    columns = [exp.alias_(number(1), "total")]
    for index, measure in enumerate(request.measures):
        conditions: list[exp.Expr] = []
        value: exp.Expr = number(1)
        if measure.quantity is not None:
            key = exp.column(rows.quantities[measure.quantity])
            present = exp.Not(this=paren(exp.Is(this=key, expression=exp.Null())))
            conditions.append(present)
            value = key.copy() if measure.kind is MeasureKind.SUM else value
        if measure.where is not None:
            conditions.append(exp.column(rows.conditions[measure.where]))
        if conditions:
            value = exp.Case(ifs=[exp.If(this=exp.and_(*conditions), true=value)])
        columns.append(exp.alias_(cast(value, "BIGINT"), f"m{index}"))
    keys = [exp.column(key) for key in rows.groups]
    return exp.select(*keys, *columns).from_(rows.query.subquery("r"))


def _cell(request: AggregateRequest) -> exp.Expr:
    """Row-major index of the cell, -1 for none."""
    total: exp.Expr = number(0)
    for index, group in enumerate(request.groups):
        scaled = exp.Mul(this=paren(total), expression=number(len(group.labels)))
        total = exp.Add(this=scaled, expression=_label(index, group))
    return call("COALESCE", cast(paren(total), "BIGINT"), number(-1))


def _label(index: int, group: Group) -> exp.Expr:
    """Position of the record's label in the group, or NULL."""
    value = name("g", index)
    if group.edges is not None:
        return value
    found = exp.column("i", f"keys{index}")
    ifs = [
        exp.If(this=exp.Is(this=value, expression=exp.Null()), true=null_label(group)),
        exp.If(
            this=exp.Not(this=paren(exp.Is(this=found, expression=exp.Null()))), true=found.copy()
        ),
    ]
    return exp.Case(ifs=ifs, default=other_label(group))
