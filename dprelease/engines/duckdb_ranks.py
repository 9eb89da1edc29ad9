"""Private keys and counted values as integers: their places among those that occur, in order.

So rows with them can be packed, which is quicker than windows. Which integer stands for a value
depends on what else occurs; which of two values has the smaller one does not, and nothing else of
the integers is used. Tables ``rank_<column>`` hold the values ``v`` and their places ``i``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dprelease.engines.duckdb_cells import Cells
from dprelease.engines.duckdb_layers import layer
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    Sql,
    alias,
    binary,
    call,
    create,
    identifier,
    is_null,
    join,
    no,
    number,
    over,
    select,
    subquery,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST = 1_000_000  # values of one column: they stay in memory


def ranks_of(run: Callable[[Sql], DuckDBPyConnection], cells: Cells) -> Mapping[str, int] | None:
    """How many values each column has, with its table made; None if they are too many."""
    import duckdb

    sizes: dict[str, int] = {}
    for key in cells.ranked:
        value = identifier(key)
        there = no(is_null(value))
        some = select([alias(value, "v")], cells.relation, [value], limit=MOST + 1, where=there)
        place = binary(over(call("ROW_NUMBER"), (), [identifier("v")]), "-", number(1))
        values = select([identifier("v"), alias(place, "i")], subquery(some, "some"))
        try:
            run(create(_table(key), values))
        except duckdb.OutOfMemoryException:
            return None
        (sizes[key],) = run(select([COUNT_ALL], identifier(_table(key)))).fetchone() or (0,)
        if sizes[key] > MOST:
            return None
    return sizes


def ranked(cells: Cells) -> Cells:
    """The rows with places instead of values."""
    return _looked_up(cells, "v", "i", ("u", *cells.content))


def unranked(cells: Cells) -> Cells:
    """Such rows with values again."""
    weight = () if cells.weight is None else (cells.weight,)
    return _looked_up(cells, "i", "v", (*cells.content, *cells.firsts.values(), *weight))


def _looked_up(cells: Cells, known: str, wanted: str, kept: tuple[str, ...]) -> Cells:
    source = layer(cells.relation, {})
    columns = {key: identifier(key, "inside") for key in kept}
    for key in cells.ranked:
        table = _table(key)
        match = binary(identifier(key, "inside"), "=", identifier(known, table))
        source = join(source, "LEFT JOIN", identifier(table), match)
        columns[key] = identifier(wanted, table)
    return replace(cells, relation=layer(source, columns, keep=False))


def _table(key: str) -> str:
    return f"rank_{key}"
