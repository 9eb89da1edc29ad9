"""From the value of a group's column to the position of its label.

Declared keys are looked up in tables ``keys0..`` (columns ``v``, ``i``), bins by halving steps over
the lists of edges in tables ``edges0..``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dprelease.engines.duckdb.group_keys import key_of
from dprelease.engines.duckdb.subqueries import layer, name, replaced
from dprelease.expressions.sql import SQL_TYPES
from dprelease.expressions.sqltext import (
    NULL,
    Sql,
    between,
    binary,
    call,
    case,
    cast,
    identifier,
    is_null,
    join,
    no,
    number,
    try_cast,
)
from dprelease.model import NUMERIC_TYPES, Group

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def put_labels(connection: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Tables of declared keys and edges, typed."""
    for index, group in enumerate(groups):
        if group.edges is not None:
            kind = "DOUBLE" if group.type in NUMERIC_TYPES else SQL_TYPES[group.type]
            connection.execute(
                f"CREATE TEMP TABLE edges{index} AS SELECT CAST($1 AS {kind}[]) AS e{index}",
                [list(group.edges)],
            )
        elif not group.private:
            # Two texts of one key would count a record twice: the first one has it.
            key = key_of(group, try_cast(identifier("t"), SQL_TYPES[group.type]))
            connection.execute(
                f"CREATE TEMP TABLE keys{index} AS SELECT v, MIN(i) AS i FROM ("  # noqa: S608
                f"SELECT {key} AS v, i FROM ("
                "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE($2)) AS i)"
                ") GROUP BY v",
                [list(group.keys or ()), len(group.keys or ())],
            )


def look_up(source: Sql, groups: Sequence[Group]) -> Sql:
    """The rows beside what the tables of keys say of them."""
    for index, group in enumerate(groups):
        if group.edges is None and not group.private:
            keys = f"keys{index}"
            match = binary(identifier("v", keys), "=", name("g", index))
            source = join(source, "LEFT JOIN", identifier(keys), match)
    return source


def numbered(groups: Sequence[Group], places: Sequence[int]) -> Sql:
    """Row-major number of the labels of the groups at ``places``; NULL if one has none.

    A private group adds nothing to the number, but it has no label for a null without a null label.
    """
    total = number(0)
    present: Sql | None = None
    for index in places:
        group = groups[index]
        if group.private:
            if group.null_label is None:
                some = name("s", index)
                present = some if present is None else binary(present, "AND", some)
            continue
        scaled = binary(total, "*", number(len(group.labels)))
        total = binary(scaled, "+", place_of_label(index, group))
    total = cast(total, "BIGINT")
    return total if present is None else case([(present, total)])


def place_of_label(index: int, group: Group) -> Sql:
    """Position of the record's label in the group, or NULL."""
    value = name("g", index)
    if group.edges is not None:
        return value
    found = identifier("i", f"keys{index}")
    pairs = [(is_null(value), _null_label(group)), (no(is_null(found)), found)]
    return case(pairs, _other_label(group))


def binned(query: Sql, index: int, group: Group, place: int) -> Sql:
    """Add ``b``: the label's position of the bin, ``other`` or null label that a value takes.

    Binary search by halving steps over the list of lower edges, which ``edges<index>`` holds.
    """
    letter = "n" if group.type in NUMERIC_TYPES else "v"
    value, bins = name(letter, place), len(group.edges or ()) - 1
    query = layer(join(query, "CROSS JOIN", identifier(f"edges{index}")), {})
    query = layer(query, {f"b{index}": number(0)})
    edges, found = name("e", index), name("b", index)
    step = 1 << max(bins - 1, 0).bit_length()
    while step := step // 2:
        ahead = binary(found, "+", number(step))
        edge = call("LIST_EXTRACT", edges, binary(ahead, "+", number(1)))
        further = binary(binary(ahead, "<", number(bins)), "AND", binary(value, ">=", edge))
        query = replaced(query, f"b{index}", case([(further, ahead)], found))
    first = call("LIST_EXTRACT", edges, number(1))
    last = call("LIST_EXTRACT", edges, number(bins + 1))
    pairs = [(is_null(value), _null_label(group)), (between(value, first, last), found)]
    return replaced(query, f"b{index}", case(pairs, _other_label(group)))


def _null_label(group: Group) -> Sql:
    """Position of the label that nulls take, or NULL."""
    label = group.null_label
    return NULL if label is None else number(group.labels.index(label))


def _other_label(group: Group) -> Sql:
    """Position of the label that undeclared values take, or NULL."""
    return NULL if group.other is None else number(group.labels.index(group.other))
