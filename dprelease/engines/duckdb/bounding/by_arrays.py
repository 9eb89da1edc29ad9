"""Bounding of units by lists: one group a unit, with the integers of all its rows.

All that is counted of a row is packed into the bits of one integer: each column is a field, the
first ones in the highest bits, nulls as 0. So the order of the integers is the canonical order of
the rows (``request_content``), and a sorted list is in that order. The rows of the sample are
places that functions of lists compute by ``bounding.rule``: of the unit's rows, of the cells in
them, and of the rows in each cell.

Guarantee. Units are told apart by their value itself. The lists hold nothing but the unit's own
rows, and their order in a list that isn't sorted decides nothing: there, all are in the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from dprelease.engines.common.request_content import leading_of
from dprelease.engines.duckdb.bounding.rule import Cut, digest_of, places, start_of
from dprelease.engines.duckdb.cells import Cells, firsts_of, public_cells
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import COUNT_ALL, Kind, Sql, call, case, col, lambda_of, literal
from dprelease.model import AggregateRequest, Bound

NARROW, WIDE = 63, 127  # bits of a BIGINT and of a HUGEINT beside the sign
WIDEST = 62  # bits of a field
MOST_ROWS = 1000  # kept: looking for the first row of a cell takes the square of their number

LIST, DIGEST = col("l"), col("d")
X, PLACE = col("x"), col("i")


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

    def encoded(self) -> Sql:
        """The bits of the field, as a number that is never negative."""
        value = col(self.column)
        if self.truth:
            return case([(value, 1)], 0)
        return call("COALESCE", value - self.lowest + 1, 0) if self.nullable else value


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
        lows, whole = self.lows, literal(0).cast(self.kind)
        for field in self.fields:
            value, low = field.encoded().cast(self.kind), lows[field.column]
            whole = whole.bits_or(value << low if low else value)
        return whole

    def above(self, column: str, value: Sql) -> Sql:
        """The bits of an integer from the field of a column upwards."""
        low = self.lows[column]
        return value >> low if low else value

    def decoded(self, column: str, value: Sql) -> Sql:
        """The column that a field was made of."""
        (field,) = (field for field in self.fields if field.column == column)
        bits = self.above(column, value).bits_and((1 << field.bits) - 1).cast("BIGINT")
        if field.truth:
            return bits.equals(1)
        return call("NULLIF", bits, 0) + (field.lowest - 1) if field.nullable else bits


def packing_for(request: AggregateRequest, rows: Rows) -> Packing | None:
    """How rows are packed for lists; None if that won't do."""
    bounded = request.bound is not None and request.bound.rows <= MOST_ROWS
    return packing_of(request, rows) if bounded else None


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


def listed(
    request: AggregateRequest, bound: Bound, cells: Cells, packing: Packing, everything: bool
) -> Cells:
    """The rows that are kept; with ``everything`` a row of no cell accounts for all records."""
    if bound.groups >= public_cells(request, 0, bound.leading):
        bound = replace(bound, groups=bound.rows)
    source = _cut_rows(_lists(cells, packing, everything), bound, cells.rows.unit)
    if min(bound.groups, bound.per_group) < bound.rows:
        source = _cut_cells(source, bound, packing)
    firsts = firsts_of(request)
    for where, key in firsts.items():
        condition = None if where is None else cells.rows.conditions[where]
        source = _first_rows(source, key, packing, condition)
    own = {key: col(key) for key in firsts.values()}
    # one more element, which is no row: less the number of all the unit's records
    rows = call("LIST_APPEND", LIST, -col("total")) if everything else LIST
    unfolded = {key: call("UNNEST", value) for key, value in {"x": rows, **own}.items()}
    source = source.layer(unfolded, keep=False)
    made = {field.column: packing.decoded(field.column, X) for field in packing.fields} | own
    if everything:
        made["c"] = case([(~(X < 0), made["c"])])
        made["n"] = case([(X < 0, -X)], 0)
    relation = source.layer(made, keep=False)
    return replace(cells, relation=relation, firsts=firsts, weight="n" if everything else None)


def _lists(cells: Cells, packing: Packing, everything: bool) -> Sql:
    """One row a unit: ``u``, list ``l`` of its rows, and the ``total`` number of its records."""
    unit, row = col("u"), col("v")
    columns = [unit, call("LIST", row).alias("l")]
    if everything:
        rows = call("LIST", row).filter(row.not_null())
        columns = [unit, rows.alias("l"), COUNT_ALL.alias("total")]
    source = cells.relation.layer({"u": unit, "v": packing.packed()}, keep=False)
    return source.select(columns, [unit]).subquery("inside")


def _cut_rows(source: Sql, bound: Bound, unit: Sql) -> Sql:
    """No more than ``rows`` of each unit; in order where a further cut may follow.

    Adds ``d``, the unit's digest, where there is something to cut.
    """
    count = col("n")
    some = count > min(bound.groups, bound.per_group, bound.rows)
    many, ordered = count > bound.rows, call("LIST_SORT", LIST)
    source = source.layer({"n": call("LEN", LIST)})
    source = source.layer({"d": case([(some, digest_of(bound.salt, unit))])})
    source = source.layer({"s": case([(many, start_of(DIGEST, Cut.ROWS, count))])})
    sample = call("LIST_SELECT", ordered, places(count, bound.rows, col("s")))
    return source.replaced("l", case([(many, sample), (some, ordered)], LIST))


def _cut_cells(source: Sql, bound: Bound, packing: Packing) -> Sql:
    """No more than ``groups`` cells of each unit, and ``per_group`` rows in each.

    The rows of a cell stand together in the list ``l``. With k cells of n rows, no cell has more
    than n - k + 1.
    """
    count, k = col("n"), col("k")
    before = packing.above("c", _at(PLACE - 1))
    first = PLACE.equals(1) | packing.above("c", X).differs(before)
    firsts = call("LEN", call("LIST_FILTER", LIST, lambda_of("xi", first)))
    # the places where cells begin, and the one after the last row
    begins = PLACE.equals(1) | (count < PLACE) | packing.above("c", _at(PLACE)).differs(before)
    beginnings = call("LIST_FILTER", call("RANGE", 1, count + 2), lambda_of("i", begins))
    too_many = k > bound.groups
    crowded = count - k >= bound.per_group
    single = k.equals(count) & too_many
    mixed = (k < count) & (too_many | crowded)
    chosen = places(k, bound.groups, start_of(DIGEST, Cut.CELLS, k))
    source = source.replaced("n", call("LEN", LIST))
    source = source.layer({"k": case([(count > min(bound.groups, bound.per_group), firsts)])})
    source = source.layer({"p": case([(too_many, chosen)])})
    source = source.layer({"b": case([(mixed, beginnings)])})
    taken = [(single, call("LIST_SELECT", LIST, col("p"))), (mixed, _of_cells(bound))]
    return source.replaced("l", case(taken, LIST))


def _of_cells(bound: Bound) -> Sql:
    """The rows that are kept of a list with beginnings ``b``, in the cells at ``p``, null for all.

    A cell of fewer rows than may be kept is a sample of all its rows, by the same formula.
    """
    begin, end = (call("LIST_EXTRACT", col("b"), place) for place in (col("y"), col("y") + 1))
    rows = end - begin
    most = call("LEAST", rows, bound.per_group)
    place = (col("t") * rows + start_of(DIGEST, Cut.WITHIN, rows)) // most
    own = call("LIST_TRANSFORM", call("RANGE", most), lambda_of("t", begin + place))
    cells = call("COALESCE", col("p"), call("RANGE", 1, col("k") + 1))
    kept_places = call("FLATTEN", call("LIST_TRANSFORM", cells, lambda_of("y", own)))
    return call("LIST_SELECT", LIST, kept_places)


def _first_rows(source: Sql, key: str, packing: Packing, condition: str | None) -> Sql:
    """Add list ``key``: whether the row is the first of its cell for which the condition holds."""
    cell = packing.above("c", X)
    if "a" in packing.lows:
        cell = case([(packing.decoded("a", X).not_null(), packing.above("a", X))])
    if condition is not None:
        cell = case([(packing.decoded(condition, X), cell)])
    seen = col(f"{key}_cells")
    source = source.layer({f"{key}_cells": call("LIST_TRANSFORM", LIST, lambda_of("x", cell))})
    first = col("y").not_null() & call("LIST_POSITION", seen, col("y")).equals(PLACE)
    return source.layer({key: call("LIST_TRANSFORM", seen, lambda_of("yi", first))})


def _at(place: Sql) -> Sql:
    return call("LIST_EXTRACT", LIST, place)
