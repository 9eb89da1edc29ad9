"""Units bounded by windows: for everything that can't be packed into integers.

Each unit's rows are put in canonical order (``contents``), and the rule of ``sampling`` is applied
row by row: to all of them, then to the cells of those that are left, then to the rows in each cell.

Guarantee: as for lists. Units are told apart by their value itself, and the place of a row in the
order is a function of its unit's rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dprelease.engines.duckdb.bounding_rule import Cut, digest_of, is_kept, start_of
from dprelease.engines.duckdb.cells import Cells
from dprelease.engines.duckdb.subqueries import layer, only, replaced
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    TRUE,
    Sql,
    binary,
    call,
    case,
    identifier,
    is_null,
    nulls_first,
    number,
    over,
)
from dprelease.model import AggregateRequest, Bound, Expression, MeasureKind

ROW_NUMBER, DENSE_RANK = call("ROW_NUMBER"), call("DENSE_RANK")


def windowed(request: AggregateRequest, bound: Bound, cells: Cells, everything: bool) -> Cells:
    """The rows that are kept; with ``everything`` also the others, in no cell."""
    unit = [identifier("u"), *([is_null(identifier("c"))] if everything else [])]
    place = [*unit, *map(identifier, cells.place)]
    order = ordered(cells.content)
    few = min(bound.rows, bound.groups, bound.per_group)
    first = {"p0": over(ROW_NUMBER, unit, order), "n0": over(COUNT_ALL, unit)}
    source = layer(cells.relation, first)
    digest = digest_of(bound.salt, cells.rows.unit)
    some = binary(identifier("n0"), ">", number(few))
    source = layer(source, {"d": case([(some, digest)])})
    source = _cut(source, Cut.ROWS, bound.rows, everything)
    if bound.groups < bound.rows:
        source = layer(source, {"p1": over(DENSE_RANK, unit, ordered(cells.place))})
        source = layer(source, {"n1": over(call("MAX", identifier("p1")), unit)})
        source = _cut(source, Cut.CELLS, bound.groups, everything)
    if bound.per_group < bound.rows:
        within = {"p2": over(ROW_NUMBER, place, order), "n2": over(COUNT_ALL, place)}
        source = _cut(layer(source, within), Cut.WITHIN, bound.per_group, everything)
    firsts = dict(firsts_of(request, cells))
    source = layer(source, dict(firsts.values()))
    return replace(
        cells, relation=source, firsts={where: key for where, (key, _) in firsts.items()}
    )


def ordered(columns: tuple[str, ...]) -> list[Sql]:
    """What to order by, for the canonical order of these columns."""
    return [nulls_first(identifier(each)) for each in columns]


def firsts_of(
    request: AggregateRequest, cells: Cells
) -> Iterator[tuple[Expression | None, tuple[str, Sql]]]:
    """Name and value of the column that is true for one row of each unit in each cell.

    For each condition under which units are counted: a row for which it holds.
    """
    whole = ("u", *cells.place, *(("a",) if cells.later else ()), *cells.keys)
    conditions = dict.fromkeys(
        measure.where for measure in request.measures if measure.kind is MeasureKind.UNITS
    )
    for index, where in enumerate(conditions):
        holds = None if where is None else identifier(cells.rows.conditions[where])
        own = [*map(identifier, whole), *([] if holds is None else [holds])]
        first = binary(over(ROW_NUMBER, own), "=", number(1))
        yield where, (f"z{index}", first if holds is None else binary(first, "AND", holds))


def _cut(source: Sql, cut: Cut, most: int, everything: bool) -> Sql:
    """The rows that are kept of ``n`` at the places ``p`` from 1; all where no more are there."""
    place, count = identifier(f"p{cut:d}"), identifier(f"n{cut:d}")
    start = start_of(identifier("d"), cut, count)
    chosen = is_kept(binary(place, "-", number(1)), count, most, start)
    kept = case([(binary(count, ">", number(most)), chosen)], TRUE)
    if everything:
        return replaced(source, "c", case([(kept, identifier("c"))]))
    return only(source, kept)
