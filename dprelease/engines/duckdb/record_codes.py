"""The codes of records in SQL: ``x0..``, one column for each that is asked for, never null.

Bounded rows are put in order by their codes, those of the first column first: all records lie in
one cell, and a code is all that is counted of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dprelease.engines.common.record_requests import NO_LABEL, aggregate_of
from dprelease.engines.duckdb.group_labels import look_up, place_of_label
from dprelease.engines.duckdb.subqueries import layer
from dprelease.engines.duckdb.typed_rows import Fields, Rows, build_rows
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    Sql,
    alias,
    call,
    cast,
    identifier,
    number,
    select,
)
from dprelease.model import AggregateRequest, Grid, Group, Quantity, RecordRequest

INTEGER = 2**31  # magnitudes below it are four bytes wide


def coded(request: RecordRequest, fields: Fields) -> Rows:
    """One row a record: the codes, as quantities on their grids, and the unit ``u`` if bounded."""
    asked = aggregate_of(request)
    rows = build_rows(asked, fields)
    columns: dict[str, Sql] = {}
    labelled = 0
    for index, column in enumerate(request.columns):
        if isinstance(column, Group):
            label = place_of_label(labelled, column)
            columns[f"x{index}"] = call("COALESCE", label, number(NO_LABEL))
            labelled += 1
        else:
            columns[f"x{index}"] = identifier(rows.quantities[column])
    if asked.bound is not None:
        columns["u"] = identifier("u")
    relation = layer(look_up(rows.relation, asked.groups), columns, keep=False)
    quantities = {
        Quantity(f"x{index}", grid): f"x{index}" for index, grid in enumerate(_grids(request))
    }
    return Rows(relation, (), quantities, {}, unit=rows.unit)


def in_one_cell(request: RecordRequest) -> AggregateRequest:
    """The request by which rows that are ``coded`` are bounded."""
    return replace(aggregate_of(request), groups=(), measures=())


def codes(request: RecordRequest, relation: Sql) -> Sql:
    """The query of the codes, no wider than they have to be."""
    wide = [grid.magnitude >= INTEGER for grid in _grids(request)]
    columns = [
        alias(cast(identifier(f"x{index}"), "BIGINT" if each else "INTEGER"), f"x{index}")
        for index, each in enumerate(wide)
    ]
    return select(columns, relation)


def totals(request: RecordRequest, relation: Sql) -> Sql:
    """The query of the number of records and of the sum of each code, which reads all of them."""
    sums = [call("SUM", identifier(f"x{index}")) for index in range(len(request.columns))]
    units = [call("COUNT", identifier("u"))] if request.bound is not None else []
    return select([COUNT_ALL, *sums, *units], relation)


def _grids(request: RecordRequest) -> Sequence[Grid]:
    """The bounds of each code."""
    return [
        Grid(Fraction(1), NO_LABEL, len(each.labels) - 1) if isinstance(each, Group) else each.grid
        for each in request.columns
    ]
