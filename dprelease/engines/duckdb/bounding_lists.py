"""Bounding of units by lists: one group a unit, with the integers of all its rows.

All that is counted of a row is packed into the bits of one integer: each column is a field, the
first ones in the highest bits, nulls as 0. So the order of the integers is the canonical order of
the rows (``request_content``), and a sorted list is in that order. The rows of the sample are
places that functions of lists compute by ``bounding_rule``: of the unit's rows, of the cells in
them, and of the rows in each cell.

Guarantee. Units are told apart by their value itself. The lists hold nothing but the unit's own
rows, and their order in a list that isn't sorted decides nothing: there, all are in the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from dprelease.engines.common.request_content import leading_of
from dprelease.engines.duckdb.bounding_rule import Cut, digest_of, places, start_of
from dprelease.engines.duckdb.cells import Cells, public_cells
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    Kind,
    Sql,
    alias,
    binary,
    call,
    case,
    cast,
    filtered,
    identifier,
    is_null,
    lambda_of,
    layer,
    negative,
    no,
    number,
    replaced,
    select,
    subquery,
)
from dprelease.model import AggregateRequest, Bound, Expression, MeasureKind

NARROW, WIDE = 63, 127  # bits of a BIGINT and of a HUGEINT beside the sign
WIDEST = 62  # bits of a field


@dataclass(frozen=True, slots=True)
class Field:
    """A column whose values are ``lowest`` and the ``size`` - 1 integers after it, or null."""

    column: str
    lowest: int
    size: int
    nullable: bool = True
    truth: bool = False  # a condition: 1 where it is true, else 0

    @property
    def bits(self) -> int:
        """The width of the field."""
        return (self.size + self.nullable - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Packing:
    """The fields in canonical order: the cell, and its place among later groups if there are any.

    The integer of a row is never negative.
    """

    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        """The width of all fields."""
        return sum(field.bits for field in self.fields)

    @property
    def kind(self) -> Kind:
        """The type of the integers."""
        return "BIGINT" if self.bits <= NARROW else "HUGEINT"

    @property
    def lows(self) -> dict[str, int]:
        """The lowest bit of each column's field."""
        ends = accumulate(field.bits for field in self.fields)
        return {f.column: self.bits - end for f, end in zip(self.fields, ends, strict=True)}

    def packed(self) -> Sql:
        """The integer of a row; null where the cell is."""
        lows, whole = self.lows, cast(number(0), self.kind)
        for field in self.fields:
            value = cast(encoded(field), self.kind)
            if lows[field.column]:
                value = binary(value, "<<", number(lows[field.column]))
            whole = binary(whole, "|", value)
        return whole

    def above(self, column: str, value: Sql) -> Sql:
        """The bits of an integer from the field of a column upwards."""
        low = self.lows[column]
        return binary(value, ">>", number(low)) if low else value

    def decoded(self, field: Field, value: Sql) -> Sql:
        """The column that a field was made of."""
        bits = binary(self.above(field.column, value), "&", number((1 << field.bits) - 1))
        bits = cast(bits, "BIGINT")
        if field.truth:
            return binary(bits, "=", number(1))
        if not field.nullable:
            return bits
        return binary(call("NULLIF", bits, number(0)), "+", number(field.lowest - 1))


def encoded(field: Field) -> Sql:
    """The bits of a field, as a number that is never negative."""
    value = identifier(field.column)
    if field.truth:
        return case([(value, number(1))], number(0))
    if not field.nullable:
        return value
    above = binary(value, "-", number(field.lowest))
    return call("COALESCE", binary(above, "+", number(1)), number(0))


def packing_of(request: AggregateRequest, rows: Rows) -> Packing | None:
    """How the rows of the request are packed, or None if they can't be."""
    if request.private or rows.values:
        return None
    leading, end = leading_of(request), len(request.groups)
    fields = [Field("c", 0, public_cells(request, 0, leading), nullable=False)]
    if leading < end:
        fields.append(Field("a", 0, public_cells(request, leading, end)))
    for quantity, key in rows.quantities.items():
        fields.append(Field(key, quantity.grid.lower, quantity.grid.width + 1))
    for key in rows.conditions.values():
        fields.append(Field(key, 0, 2, nullable=False, truth=True))
    packing = Packing(tuple(fields))
    fits = packing.bits <= WIDE and max(field.bits for field in fields) <= WIDEST
    return packing if fits else None


MOST_ROWS = 1000  # kept: looking for the first row of a cell takes the square of their number

LIST, COUNT, DIGEST = identifier("l"), identifier("n"), identifier("d")
X, PLACE = identifier("x"), identifier("i")


def packing_for(request: AggregateRequest, rows: Rows) -> Packing | None:
    """How rows are packed for lists; None if that won't do."""
    bounded = request.bound is not None and request.bound.rows <= MOST_ROWS
    return packing_of(request, rows) if bounded else None


def listed(
    request: AggregateRequest, bound: Bound, cells: Cells, packing: Packing, everything: bool
) -> Cells:
    """The rows that are kept; with ``everything`` a row of no cell accounts for all records."""
    groups = bound.groups
    if groups >= public_cells(request, 0, bound.leading):
        groups = bound.rows
    bound = replace(bound, groups=groups)
    source = _cut_rows(_lists(cells, packing, everything), bound, cells.rows.unit)
    if min(bound.groups, bound.per_group) < bound.rows:
        source = _cut_cells(source, bound, packing)
    firsts: dict[Expression | None, str] = {}
    for measure in request.measures:
        if measure.kind is MeasureKind.UNITS and measure.where not in firsts:
            firsts[measure.where] = f"z{len(firsts)}"
            condition = None
            if measure.where is not None:
                condition = cells.rows.conditions[measure.where]
            source = _first_rows(source, firsts[measure.where], packing, condition)
    unfolded = {"x": LIST, **{key: identifier(key) for key in firsts.values()}}
    summary = binary(X, "<", number(0))
    if everything:
        # one more element, which is no row: less the number of all the unit's records
        unfolded["x"] = call("LIST_APPEND", LIST, negative(identifier("total")))
    columns = {key: call("UNNEST", value) for key, value in unfolded.items()}
    source = layer(source, columns, keep=False)
    made = {field.column: packing.decoded(field, X) for field in packing.fields}
    made.update({key: identifier(key) for key in firsts.values()})
    if everything:
        made["c"] = case([(no(summary), made["c"])])
        made["n"] = case([(summary, negative(X))], number(0))
    relation = layer(source, made, keep=False)
    return replace(cells, relation=relation, firsts=firsts, weight="n" if everything else None)


def _lists(cells: Cells, packing: Packing, everything: bool) -> Sql:
    """One row a unit: ``u``, list ``l`` of its rows, and the ``total`` number of its records."""
    unit, row = identifier("u"), identifier("v")
    source = layer(cells.relation, {"u": unit, "v": packing.packed()}, keep=False)
    made = call("LIST", row)
    if everything:
        made = filtered(made, no(is_null(row)))
    columns = [unit, alias(made, "l"), *([alias(COUNT_ALL, "total")] if everything else [])]
    return subquery(select(columns, source, [unit]), "inside")


def _cut_rows(source: Sql, bound: Bound, unit: Sql) -> Sql:
    """No more than ``rows`` of each unit; in order where a further cut may follow.

    Adds ``d``, the unit's digest, where there is something to cut.
    """
    few = min(bound.groups, bound.per_group, bound.rows)
    source = layer(source, {"n": call("LEN", LIST)})
    some = binary(COUNT, ">", number(few))
    source = layer(source, {"d": case([(some, digest_of(bound.salt, unit))])})
    ordered = call("LIST_SORT", LIST)
    start = start_of(DIGEST, Cut.ROWS, COUNT)
    source = layer(source, {"s": case([(binary(COUNT, ">", number(bound.rows)), start)])})
    sample = call("LIST_SELECT", ordered, places(COUNT, number(bound.rows), identifier("s")))
    many = binary(COUNT, ">", number(bound.rows))
    return replaced(source, "l", case([(many, sample), (some, ordered)], LIST))


def _cut_cells(source: Sql, bound: Bound, packing: Packing) -> Sql:
    """No more than ``groups`` cells of each unit, and ``per_group`` rows in each.

    The rows of a cell stand together in the list ``l``. With k cells of n rows, no cell has more
    than n - k + 1.
    """
    few = number(min(bound.groups, bound.per_group))
    source = replaced(source, "n", call("LEN", LIST))
    cell, before = packing.above("c", X), packing.above("c", _at(binary(PLACE, "-", number(1))))
    first = binary(binary(PLACE, "=", number(1)), "OR", binary(cell, "<>", before))
    firsts = call("LEN", call("LIST_FILTER", LIST, lambda_of(("x", "i"), first)))
    source = layer(source, {"k": case([(binary(COUNT, ">", few), firsts)])})
    k, most = identifier("k"), number(bound.groups)
    too_many = binary(k, ">", most)
    crowded = binary(binary(COUNT, "-", k), ">=", number(bound.per_group))
    single = binary(binary(k, "=", COUNT), "AND", too_many)
    mixed = binary(binary(k, "<", COUNT), "AND", binary(too_many, "OR", crowded))
    start = start_of(DIGEST, Cut.CELLS, k)
    source = layer(source, {"p": case([(too_many, places(k, most, start))])})
    source = layer(source, {"b": case([(mixed, _beginnings(packing))])})
    return replaced(
        source,
        "l",
        case(
            [(single, call("LIST_SELECT", LIST, identifier("p"))), (mixed, _of_cells(bound))], LIST
        ),
    )


def _beginnings(packing: Packing) -> Sql:
    """The places where cells begin, and the one after the last row."""
    here, before = (
        packing.above("c", _at(place)) for place in (PLACE, binary(PLACE, "-", number(1)))
    )
    ends = binary(binary(PLACE, "=", number(1)), "OR", binary(PLACE, ">", COUNT))
    begins = binary(ends, "OR", binary(here, "<>", before))
    both = call("RANGE", number(1), binary(COUNT, "+", number(2)))
    return call("LIST_FILTER", both, lambda_of(("i",), begins))


def _of_cells(bound: Bound) -> Sql:
    """The rows that are kept of a list with beginnings ``b``, in the cells at ``p``, null for all.

    A cell of fewer rows than may be kept is a sample of all its rows, by the same formula.
    """
    y, t = identifier("y"), identifier("t")
    begin = call("LIST_EXTRACT", identifier("b"), y)
    end = call("LIST_EXTRACT", identifier("b"), binary(y, "+", number(1)))
    rows = binary(end, "-", begin)
    most = call("LEAST", rows, number(bound.per_group))
    start = start_of(DIGEST, Cut.WITHIN, rows)
    place = binary(binary(binary(t, "*", rows), "+", start), "//", most)
    own = call("LIST_TRANSFORM", call("RANGE", most), lambda_of(("t",), binary(begin, "+", place)))
    every = call("RANGE", number(1), binary(identifier("k"), "+", number(1)))
    cells = call("COALESCE", identifier("p"), every)
    kept_places = call("FLATTEN", call("LIST_TRANSFORM", cells, lambda_of(("y",), own)))
    return call("LIST_SELECT", LIST, kept_places)


def _first_rows(source: Sql, key: str, packing: Packing, condition: str | None) -> Sql:
    """Add list ``key``: whether the row is the first of its cell for which the condition holds."""
    y = identifier("y")
    fields = {field.column: field for field in packing.fields}
    needed: list[Sql] = []
    cell = packing.above("c", X)
    if "a" in fields:
        cell = packing.above("a", X)
        needed.append(no(is_null(packing.decoded(fields["a"], X))))
    if condition is not None:
        needed.append(packing.decoded(fields[condition], X))
    for each_needed in needed:
        cell = case([(each_needed, cell)])
    seen = identifier(f"{key}_cells")
    cells = call("LIST_TRANSFORM", LIST, lambda_of(("x",), cell))
    source = layer(source, {f"{key}_cells": cells})
    first = binary(call("LIST_POSITION", seen, y), "=", PLACE)
    first = binary(no(is_null(y)), "AND", first)
    return layer(source, {key: call("LIST_TRANSFORM", seen, lambda_of(("y", "i"), first))})


def _at(place: Sql) -> Sql:
    return call("LIST_EXTRACT", LIST, place)
