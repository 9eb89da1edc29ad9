"""Units bounded by windows: for everything that can't be packed into integers.

Each unit's rows are put in order by a hash of unit and row, then by all that is counted of the row,
and the first are kept; then the cells least by their own hash; in each cell the first rows.

Guarantee: as for heaps. Units are told apart by their value itself, rows by all that is counted of
them. The order of a unit's rows is a function of these and the salt: nothing that other people's
rows have a part in, such as places in files or numbers of keys, decides it. Rows alike in all that
is counted are interchangeable, and stand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dprelease.engines.duckdb_cells import Cells
from dprelease.engines.duckdb_layers import layer, only, replaced
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    NULL,
    Sql,
    alias,
    array,
    binary,
    call,
    case,
    cast,
    filtered,
    identifier,
    is_null,
    no,
    number,
    over,
    select,
    struct,
    subquery,
    text,
)
from dprelease.model import AggregateRequest, Bound, Expression, MeasureKind

ROW_NUMBER, DENSE_RANK = call("ROW_NUMBER"), call("DENSE_RANK")
MOST_AT_ONCE = 999_999  # elements that DuckDB keeps by MIN


def windowed(
    request: AggregateRequest, bound: Bound, cells: Cells, everything: bool, frugal: bool = False
) -> Cells:
    """The rows that are kept; with ``everything`` also the others, in no cell.

    ``frugal`` makes the first cut without holding all rows of a unit in memory. It is slower.
    """
    content = ("c", *(("a",) if cells.later else ()), *cells.keys, *cells.counted)
    place = ("c", *cells.leading)
    source = layer(cells.relation, {"h": _mixed(bound.salt, content)})
    unit = [identifier("u"), *([is_null(identifier("c"))] if everything else [])]
    order = [identifier("h"), *map(identifier, content)]
    weight = None
    if frugal and bound.rows <= MOST_AT_ONCE:
        source = _least(source, bound, ("h", *content), everything)
        weight = "n" if everything else None
    else:
        source = layer(source, {"first": over(ROW_NUMBER, unit, order)})
        source = _cut(source, "first", bound.rows, everything)
    if bound.groups < bound.rows:
        ranks = [_mixed((bound.salt + 1) % 2**64, place), *map(identifier, place)]
        source = layer(source, {"second": over(DENSE_RANK, unit, ranks)})
        source = _cut(source, "second", bound.groups, everything)
    if bound.per_group < bound.rows:
        own = [*unit, *map(identifier, place)]
        source = layer(source, {"third": over(ROW_NUMBER, own, order)})
        source = _cut(source, "third", bound.per_group, everything)
    firsts: dict[Expression | None, str] = {}
    whole = [identifier("u"), *map(identifier, ("c", *content[1 : 1 + cells.later], *cells.keys))]
    for measure in request.measures:
        if measure.kind is MeasureKind.UNITS and measure.where not in firsts:
            key = firsts[measure.where] = f"z{len(firsts)}"
            where = None
            if measure.where is not None:
                where = identifier(cells.rows.conditions[measure.where])
            own = whole if where is None else [*whole, where]
            first = binary(over(ROW_NUMBER, own, order), "=", number(1))
            first = first if where is None else binary(first, "AND", where)
            source = layer(source, {key: first})
    return replace(cells, relation=source, firsts=firsts, weight=weight)


def _mixed(salt: int, columns: Sequence[str]) -> Sql:
    """A hash of unit, salt and columns.

    One column after the other is mixed in: the function itself, of several arguments, does not mix
    the last one well.
    """
    mixed = call("HASH", identifier("u"), cast(number(salt), "UBIGINT"))
    for each in columns:
        mixed = call("HASH", call("XOR", mixed, call("HASH", identifier(each))))
    return mixed


def _cut(source: Sql, rank: str, most: int, everything: bool) -> Sql:
    """The rows up to a rank; with ``everything`` the others too, in no cell."""
    within = binary(identifier(rank), "<=", number(most))
    if everything:
        return replaced(source, "c", case([(within, identifier("c"))]))
    return only(source, within)


def _least(source: Sql, bound: Bound, content: Sequence[str], everything: bool) -> Sql:
    """The first rows of each unit, in room for these alone; what is left out adds up to one row."""
    row = struct((each, identifier(each)) for each in content)
    inside = no(is_null(identifier("c")))
    least = filtered(call("MIN", row, number(bound.rows)), inside)
    if everything:
        least = call("LIST_APPEND", call("COALESCE", least, array([])), NULL)
    unit = identifier("u")
    made = [unit, alias(COUNT_ALL, "total"), alias(least, "rows")]
    units = subquery(select(made, source, [unit]), "inside")
    source = layer(units, {"row": call("UNNEST", identifier("rows"))})
    columns = {each: call("STRUCT_EXTRACT", identifier("row"), text(each)) for each in content}
    other = is_null(identifier("row"))
    columns = {"u": unit, **columns, "n": case([(other, identifier("total"))], number(0))}
    return layer(source, columns, keep=False)
