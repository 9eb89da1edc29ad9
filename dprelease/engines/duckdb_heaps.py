"""Units bounded by heaps: one group a unit, whose kept rows are its few least ones.

Everything that is counted of a row is packed into an integer below a hash of unit and row, and
``MIN(x, rows)`` keeps the least: no sort, no window, and memory that no unit's number of rows can
exceed. What one integer can't hold is cut into chunks, a heap each, below the same bits of the
hash: the heaps agree on the order, so that equal places of them belong to one row. Then, by
functions of lists, at most ``per_group`` rows of each cell, and the cells least by their own hash.

Guarantee. Units are told apart by their value itself, and what is kept is a function of the unit's
own rows and the salt, whatever the hash does: should two rows of one unit collide in it, their
chunks may change places, but there are no more rows or cells than allowed. Rows alike in all that
is counted are interchangeable. They have one hash, so they stand together: of a hundred rows of one
kind and one of another, which kind comes first is an even chance, and it fills the places first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from dprelease.engines.duckdb_cells import Cells, public_cells
from dprelease.engines.duckdb_layers import layer, name, only, replaced
from dprelease.engines.duckdb_packing import Packing, encoded
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    NULL,
    Sql,
    alias,
    binary,
    call,
    case,
    cast,
    each,
    filtered,
    identifier,
    is_null,
    negative,
    no,
    number,
    select,
    subquery,
    text,
)
from dprelease.model import AggregateRequest, Bound, Expression, MeasureKind

MOST_ROWS = 64  # a heap takes room for all of them at once
SHORT = 32  # up to so many cells kept, whether they differ is looked at one by one


def heaped(
    request: AggregateRequest, bound: Bound, cells: Cells, packing: Packing, everything: bool
) -> Cells:
    """The rows that are kept; with ``everything`` a row of no cell accounts for all records."""
    source = _heaps(bound, cells, packing, everything)
    lists = [f"l{chunk}" for chunk in range(packing.chunks)]
    if bound.per_group < bound.rows:
        source = _cap_rows(source, lists, packing, bound)
    firsts: dict[Expression | None, str] = {}
    for measure in request.measures:
        if measure.kind is MeasureKind.UNITS and measure.where not in firsts:
            firsts[measure.where] = f"z{len(firsts)}"
            condition = None
            if measure.where is not None:
                condition = cells.rows.conditions[measure.where]
            source = _first_rows(source, firsts[measure.where], packing, condition)
    unfolded = {f"x{chunk}": identifier(column) for chunk, column in enumerate(lists)}
    unfolded.update({key: identifier(key) for key in firsts.values()})
    limit: Sql | None = None
    if bound.groups < min(bound.rows, public_cells(request, 0, bound.leading)):
        source = _cap_groups(source, packing, bound)
        unfolded["y"] = identifier("y")
        within = binary(identifier("y"), "<=", identifier("t"))
        limit = binary(is_null(identifier("t")), "OR", within)
    summary = binary(identifier("x0"), "<", number(0))
    if everything:
        # one more element, which is no row: less the number of all the unit's records
        less = negative(identifier("total"))
        unfolded["x0"] = call("LIST_APPEND", identifier("l0"), less)
        limit = limit and binary(limit, "OR", summary)
    columns = {key: call("UNNEST", value) for key, value in unfolded.items()}
    kept = {} if limit is None else {"t": identifier("t")}
    source = only(layer(source, {**columns, **kept}, keep=False), limit)
    chunks = {chunk: name("x", chunk) for chunk in range(packing.chunks)}
    made = {field.column: packing.decoded(field, chunks) for field in packing.fields}
    made.update({key: identifier(key) for key in firsts.values()})
    if everything:
        made["c"] = case([(no(summary), made["c"])])
        made["n"] = case([(summary, negative(identifier("x0")))], number(0))
    relation = layer(source, made, keep=False)
    return replace(cells, relation=relation, firsts=firsts, weight="n" if everything else None)


def _heaps(bound: Bound, cells: Cells, packing: Packing, everything: bool) -> Sql:
    """One row a unit: ``u``, the least rows in order, and the ``total`` number of its records."""
    unit = identifier("u")
    columns = {f"e_{field.column}": encoded(field) for field in packing.fields}
    source = layer(cells.relation, {"u": unit, **columns}, keep=False)
    chunks = {f"v{chunk}": packing.packed(chunk) for chunk in range(packing.chunks)}
    source = layer(source, {"u": unit, "e_c": identifier("e_c"), **chunks}, keep=False)
    mixed = call("HASH", unit, _salt(bound.salt))
    for chunk in range(packing.chunks):
        mixed = call("HASH", call("XOR", mixed, name("v", chunk)))
    bits = 63 - max(packing.used(chunk) for chunk in range(packing.chunks))
    source = layer(source, {"h": binary(mixed, ">>", number(64 - bits))})
    made = [alias(COUNT_ALL, "total")] if everything else []
    for chunk in range(packing.chunks):
        above = binary(identifier("h"), "<<", number(packing.used(chunk)))
        value = cast(binary(above, "|", name("v", chunk)), "BIGINT")
        least = call("MIN", value, number(bound.rows))
        if everything:
            least = filtered(least, no(is_null(identifier("e_c"))))
        made.append(alias(least, f"l{chunk}"))
    return subquery(select([unit, *made], source, [unit]), "inside")


def _cap_rows(source: Sql, lists: list[str], packing: Packing, bound: Bound) -> Sql:
    """At most ``per_group`` rows of each cell: those whose cell is not that of so many before.

    By a list of cell and place, sorted, so that the rows of a cell stand together.
    """
    most = number(bound.per_group)
    bits = number(bound.rows.bit_length())
    x, y, i = identifier("x"), identifier("y"), identifier("i")
    placed = binary(binary(_cell(packing, x), "<<", bits), "|", i)
    long = binary(call("LEN", identifier("l0")), ">", most)
    ordered = call("LIST_SORT", call("LIST_TRANSFORM", identifier("l0"), each(("x", "i"), placed)))
    source = layer(source, {"o": case([(long, ordered)])})
    before = call("LIST_EXTRACT", identifier("o"), binary(i, "-", most))
    other = binary(binary(before, ">>", bits), "<>", binary(y, ">>", bits))
    early = binary(binary(i, "<=", most), "OR", other)
    left = call("LIST_FILTER", identifier("o"), each(("y", "i"), early))
    place = binary(y, "&", number((1 << bound.rows.bit_length()) - 1))
    places = call("LIST_TRANSFORM", left, each(("y",), place))
    source = layer(source, {"keep": case([(long, places)])})
    whole = is_null(identifier("keep"))
    for key in lists:
        some = call("LIST_SELECT", identifier(key), identifier("keep"))
        source = replaced(source, key, case([(whole, identifier(key))], some))
    return source


def _first_rows(source: Sql, key: str, packing: Packing, condition: str | None) -> Sql:
    """Add list ``key``: whether the row is the first of its cell for which the condition holds."""
    x, y, i = identifier("x"), identifier("y"), identifier("i")
    chunks: dict[int, Sql] = {0: x}
    for chunk in range(1, packing.chunks):
        chunks[chunk] = call("LIST_EXTRACT", name("l", chunk), i)
    fields = {field.column: field for field in packing.fields}
    cell = _cell(packing, x)
    needed: list[Sql] = []
    if "a" in fields:
        later = packing.decoded(fields["a"], chunks)
        needed.append(no(is_null(later)))
        cell = binary(binary(cell, "*", number(fields["a"].size)), "+", later)
    if condition is not None:
        needed.append(packing.decoded(fields[condition], chunks))
    for each_needed in needed:
        cell = case([(each_needed, cell)])
    seen = identifier(f"{key}_cells")
    cells = call("LIST_TRANSFORM", identifier("l0"), each(("x", "i"), cell))
    source = layer(source, {f"{key}_cells": cells})
    first = binary(call("LIST_POSITION", seen, y), "=", i)
    first = binary(no(is_null(y)), "AND", first)
    return layer(source, {key: call("LIST_TRANSFORM", seen, each(("y", "i"), first))})


def _cap_groups(source: Sql, packing: Packing, bound: Bound) -> Sql:
    """Add list ``y``: the rank of each row's cell, and ``t``: the rank of the last one to keep.

    Both are null where there are no more rows than cells may be kept, ``t`` also where there are no
    more cells.
    """
    most, bits = bound.groups, packing.cell_bits
    unit_hash = call("HASH", identifier("u"), _salt((bound.salt + 1) % 2**64))
    source = layer(source, {"hu": unit_hash})
    cell = cast(_cell(packing, identifier("x")), "UBIGINT")
    mixed = call("HASH", call("XOR", identifier("hu"), cell))
    above = binary(binary(mixed, ">>", number(bits + 1)), "<<", number(bits))
    rank = cast(binary(above, "|", cell), "BIGINT")
    many = binary(call("LEN", identifier("l0")), ">", number(most))
    ranks = call("LIST_TRANSFORM", identifier("l0"), each(("x",), rank))
    source = layer(source, {"y": case([(many, ranks)])})
    ordered = call("LIST_SORT", call("LIST_DISTINCT", identifier("y")))
    last = call("LIST_EXTRACT", ordered, number(most))
    if most > SHORT:
        return layer(source, {"t": last})
    # usually the first few ranks differ: then there is nothing to sort
    least = call("LIST_AGGREGATE", identifier("y"), text("min"), number(most))
    source = layer(source, {"least": case([(many, least)])})
    at = [call("LIST_EXTRACT", identifier("least"), number(place + 1)) for place in range(most)]
    rising = [binary(one, "<", other) for one, other in pairwise(at)]
    few = is_null(identifier("y"))
    if not rising:
        return layer(source, {"t": at[-1]})
    differ = rising[0]
    for condition in rising[1:]:
        differ = binary(differ, "AND", condition)
    return layer(source, {"t": case([(few, NULL), (differ, at[-1])], last)})


def _cell(packing: Packing, value: Sql) -> Sql:
    """The cell in the lowest bits of an integer."""
    return binary(value, "&", number((1 << packing.cell_bits) - 1))


def _salt(salt: int) -> Sql:
    return cast(number(salt), "UBIGINT")
