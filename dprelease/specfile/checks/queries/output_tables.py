"""Which table each query is published in, and that the tables' names and columns are clear."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dprelease.model import Group, Query
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.statistic_registry import get_statistic

OVERALL = "overall"
RESERVED = frozenset({"report", "datapackage"})
_LONGEST = 100
_APART = 'leave the table out here, and add a separate query for it, with table = "..."'
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def name_default_table(groups: Sequence[Group]) -> str:
    """Name the table of a group-by set: ``overall`` or ``by_<column>_<column>``."""
    if not groups:
        return OVERALL
    return "by_" + "_".join(_UNSAFE.sub("_", group.column) for group in groups)


def is_one_of_several(query: Query) -> bool:
    """Say whether the query is one table of several."""
    return query.name != query.column_name


def check_tables(queries: Sequence[Query], parts: Parts) -> None:
    """Check the names of tables, their groups and their columns over all queries together."""
    first: dict[str, Query] = {}
    columns: dict[str, dict[str, str]] = {}
    for query in queries:
        part, folded = parts.queries[query.number], query.table.casefold()
        key = next(iter(part.list_given("table", "levels", "attributes", "columns")), "name")
        try:
            _check_name(query)
            _check_groups(query, first.setdefault(folded, query))
            key = "name"
            _check_columns(query, columns.setdefault(folded, {}))
        except Refused as refused:
            path = (*part.path, "partition_selection" if query.implied else key)
            part.reporter.refuse(refused, path)


def _check_name(query: Query) -> None:
    folded = query.table.casefold()
    if folded in RESERVED:
        message = f"{show(query.table)} is the name of a report, not of a table"
        raise Refused(message, code="E220")
    if folded == OVERALL and query.groups:
        message = f"table {show(query.table)} is for queries without groups"
        raise Refused(message, code="E220")
    if len(query.table) > _LONGEST:
        message = f"the table's name would be longer than {_LONGEST} characters"
        hint = 'name it: table = "..."'
        raise Refused(message, _APART if is_one_of_several(query) else hint, "E220")


def _check_groups(query: Query, before: Query) -> None:
    if query.table != before.table:
        message = f"tables {show(before.table)} and {show(query.table)} differ only in case"
        raise Refused(message, "rename one of them: their files would overwrite each other", "E220")
    if _identify_shape(query) != _identify_shape(before):
        message = (
            f"queries {show(before.name)} and {show(query.name)} share the table "
            f"{show(query.table)}, but have different groups, or another order of groups"
        )
        raise Refused(
            message,
            _APART if is_one_of_several(query) and is_one_of_several(before) else "",
            "E221",
        )


def _identify_shape(query: Query) -> tuple[tuple[str, tuple[str, ...]], ...]:
    # Private groups have no labels, and public ones at least one.
    groups = get_statistic(query.statistic).list_published_groups(query)
    return tuple((group.column, group.labels) for group in groups)


def _check_columns(query: Query, names: dict[str, str]) -> None:
    for group in query.groups:
        names.setdefault(group.column.casefold(), f"the groups of {show(group.column)}")
    columns = [
        query.column_name + suffix for suffix in get_statistic(query.statistic).list_suffixes(query)
    ]
    for column in columns:
        if owner := names.get(column.casefold()):
            message = f"its column {show(column)} is already that of {owner}"
            raise Refused(message, code="E219")
    names |= {column.casefold(): f"query {show(query.name)}" for column in columns}
