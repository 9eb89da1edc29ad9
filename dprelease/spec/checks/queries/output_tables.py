"""Which table each query is published in, and that the tables' names and columns are clear."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dprelease.model import Group, Query
from dprelease.spec.complaints.places import Path
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import show
from dprelease.statistics.registry import statistic_of

OVERALL = "overall"
RESERVED = frozenset({"report", "datapackage"})
_LONGEST = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def default_table(groups: Sequence[Group]) -> str:
    """Name the table of a group-by set: ``overall`` or ``by_<column>_<column>``."""
    if not groups:
        return OVERALL
    return "by_" + "_".join(_UNSAFE.sub("_", group.column) for group in groups)


def check_tables(queries: Sequence[Query], explicit: set[int], reporter: Reporter) -> None:
    """Check the names of tables, their groups and their columns over all queries together.

    ``explicit`` holds the numbers of the queries that name their table themselves.
    """
    first: dict[str, Query] = {}
    columns: dict[str, dict[str, str]] = {}
    for query in queries:
        path = _path(query, "table" if query.number in explicit else "name")
        folded = query.table.casefold()
        if not _check_name(query, path, reporter):
            continue
        before = first.setdefault(folded, query)
        if _agrees(query, before, path, reporter):
            _check_columns(query, columns.setdefault(folded, {}), reporter)


def _path(query: Query, key: str) -> Path:
    return "query", query.number, "partition_selection" if query.implied else key


def _check_name(query: Query, path: Path, reporter: Reporter) -> bool:
    folded = query.table.casefold()
    if folded in RESERVED:
        message = f"{show(query.table)} is the name of a report, not of a table"
        reporter.complain("E220", message, path, "choose another name for the table")
    elif folded == OVERALL and query.groups:
        message = f"table {show(query.table)} is for queries without groups"
        reporter.complain("E220", message, path, "choose another name for the table")
    elif len(query.table) > _LONGEST:
        message = f"the table's name would be longer than {_LONGEST} characters"
        reporter.complain("E220", message, path, 'name it: table = "..."')
    else:
        return True
    return False


def _agrees(query: Query, before: Query, path: Path, reporter: Reporter) -> bool:
    if query.table != before.table:
        message = f"tables {show(before.table)} and {show(query.table)} differ only in case"
        reporter.complain("E220", message, path, "their files would overwrite each other: rename")
    elif _shape(query) != _shape(before):
        message = (
            f"queries {show(before.name)} and {show(query.name)} share the table "
            f"{show(query.table)}, but not the same groups in the same order"
        )
        reporter.complain(
            "E221", message, path, 'give one of them a table of its own: table = "..."'
        )
    else:
        return True
    return False


def _shape(query: Query) -> tuple[tuple[str, tuple[str, ...]], ...]:
    # Private groups have no labels, and public ones at least one.
    return tuple((group.column, group.labels) for group in query.groups)


def _check_columns(query: Query, taken: dict[str, str], reporter: Reporter) -> None:
    for group in query.groups:
        taken.setdefault(group.column.casefold(), f"the groups of {show(group.column)}")
    wanted = [query.name + suffix for suffix in statistic_of(query.statistic).suffixes_of(query)]
    for column in wanted:
        if column.casefold() in taken:
            owner = taken[column.casefold()]
            message = f"its column {show(column)} is already that of {owner}"
            reporter.complain("E219", message, _path(query, "name"), "rename the query")
            return
    for column in wanted:
        taken[column.casefold()] = f"query {show(query.name)}"
