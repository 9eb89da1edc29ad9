"""Queries that make several tables: marginals, counts by levels, and quality.

Each becomes one count for each table. What the spec states of it holds for all tables together:
its budget and its weight are divided evenly, or the weight by the numbers of cells. An accuracy
holds in every table.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import comb, prod
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.model import Column, ColumnType, Expression, Group, Query
from dprelease.specfile.checks.queries.groups import MAX_CELLS, make_group
from dprelease.specfile.checks.queries.output_tables import name_default_table
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import format_count, show
from dprelease.specfile.complaints.places import Path
from dprelease.statistics.count import LEVELS
from dprelease.statistics.marginals import ATTRIBUTES, TABLE_WAYS
from dprelease.statistics.shared.spec_keys import COLUMNS_OF_TABLES

MAX_TABLES = 1_000
MAX_ALL_CELLS = 10**8
_ALONE = {"table": "leave it out: each table is named by its columns, such as by_sex_age"}
_PUBLIC = "declare keys, keys_file or bins; several tables can't have private keys"


class GroupSet(NamedTuple):
    """The groups of one table, and where the spec asks for them."""

    path: Path
    groups: tuple[Group, ...]

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return prod(len(group.labels) for group in self.groups)


def read_sets(query: SpecQuery, by: tuple[Group, ...]) -> list[GroupSet] | None:
    """Make the groups of each table of a query, that of ``levels`` behind those of ``by``.

    None where a table can't be made, with a complaint.
    """
    part, levels = query.part, query.part.value(LEVELS)
    usable = True
    subject = "a count with levels" if levels is not None else query.model.statistic
    alone = _ALONE if levels is not None else {"by": "name its columns in each set", **_ALONE}
    for key in part.list_given(*alone):
        part.complain(
            "E111",
            f"{subject} makes several tables, so it can't have `{key}`",
            key,
            hint=alone[key],
        )
        usable = False
    for group in by:
        if group.private:
            message = f"{subject} makes several tables, so {show(group.column)} needs public keys"
            part.complain("E202", message, "by", hint=_PUBLIC)
            usable = False
    sets = _read_sets(query, by)
    if (
        not usable
        or sets is None
        or not _is_named_once(query, sets)
        or not _has_few_cells(query, sets)
    ):
        return None
    return sets


def build_counts(
    query: Query, sets: Sequence[GroupSet], *, by_cells: bool = False
) -> tuple[Query, ...]:
    """Make the count of each table of a query, with an even part of its budget and weight.

    ``by_cells``: a table has as large a part of the weight as it has of all cells.
    """

    def compute_part(amount: Fraction | None) -> Fraction | None:
        return None if amount is None else amount / len(sets)

    sizes = [group_set.cells if by_cells else 1 for group_set in sets]

    names = [name_default_table(group_set.groups) for group_set in sets]
    return tuple(
        replace(
            query,
            name=f"{query.name}:{table}",
            table=table,
            groups=group_set.groups,
            epsilon=compute_part(query.epsilon),
            delta=compute_part(query.delta),
            rho=compute_part(query.rho),
            weight=query.weight * size / sum(sizes),
        )
        for table, group_set, size in zip(names, sets, sizes, strict=True)
    )


def _read_sets(query: SpecQuery, by: tuple[Group, ...]) -> list[GroupSet] | None:
    part, levels, attributes = query.part, query.part.value(LEVELS), query.part.value(ATTRIBUTES)
    if query.statistic is not None and query.statistic.keys.states:
        return _build_state_tables(query)
    if levels is not None:
        rest = _build_groups(query, levels, ("levels",), [group.column for group in by])
        places = range(len(rest or ()))
        return [GroupSet(("levels", at), (*by, *(rest or ())[: at + 1])) for at in places] or None
    if attributes is None:
        return _combine_columns(query)
    keys = part.list_given("columns", "ways")
    for key in keys:
        part.complain(
            "E111",
            f"the query has both attributes and {key}",
            key,
            hint="keep the sets, or leave them out",
        )
    paths: list[Path] = [("attributes", at) for at in range(len(attributes))]
    group_sets = [
        _build_groups(query, *attribute) for attribute in zip(attributes, paths, strict=True)
    ]
    sets = [
        GroupSet(path, attribute)
        for path, attribute in zip(paths, group_sets, strict=True)
        if attribute is not None
    ]
    return sets if len(sets) == len(group_sets) and not keys else None


def state_column(column: Column) -> Column:
    """Build the column that holds the state of a record in another one, as ``STATES`` has it."""
    state = Expression(f"the state of {column.name}", (column.name,), column)
    return Column(f"{column.name}_state", ColumnType.STRING, keys=column.states, expression=state)


def _build_state_tables(query: SpecQuery) -> list[GroupSet] | None:
    """Make a table of the states in each column that is named, or in all of the file."""
    context, part = query.context, query.part
    names = stated = part.value(COLUMNS_OF_TABLES)
    if names is None:
        names = tuple(name for name in context.base_types if name != context.unit_column)
    sets = []
    for at, name in enumerate(names):
        path: Path = ("columns", at) if stated is not None else ("statistic",)
        declared = query.find(name, *path) if query.check_shared(name, *path) else None
        if declared is None:
            continue
        if name in names[:at]:
            part.complain("E231", f"{show(name)} is named twice", *path)
        elif f"{name}_state" in context.columns:
            message = (
                f'"{name}_state" is a declared column, and also the name of the quality column '
                f"for {show(name)}"
            )
            part.complain("E231", message, *path, hint="rename that column")
        else:
            group = make_group(state_column(declared.column))
            sets += [] if group is None else [GroupSet(path, (group,))]
    return sets if len(sets) == len(names) and sets else None


def _combine_columns(query: SpecQuery) -> list[GroupSet] | None:
    """Combine `columns`, by size and then in their order."""
    part, ways = query.part, query.part.value(TABLE_WAYS)
    names = part.value(COLUMNS_OF_TABLES)
    columns = _build_groups(query, names, ("columns",)) if names is not None else None
    for key, other, example in (
        ("columns", "ways", "add ways, for example ways = 2"),
        ("ways", "columns", 'add columns, for example columns = ["sex", "age"]'),
    ):
        if part.list_given(key) and not part.list_given(other) and part.is_sound(other):
            part.complain(
                "E110", f"the query has {key}, but no `{other}`", key, hint=example, at="key"
            )
    if ways is None or columns is None:
        return None
    tables = sum(comb(len(columns), size) for size in ways)
    if ways[-1] > len(columns):
        message = f"ways is {ways[-1]}, but there are {format_count(len(columns), 'column')}"
        part.complain("E233", message, "ways", hint=f"write at most ways = {len(columns)}")
    elif tables > MAX_TABLES:
        message = f"the query makes {tables:,} tables, more than {MAX_TABLES:,}"
        part.complain("E222", message, "ways", hint="fewer ways, or fewer columns")
    else:
        chosen = chain.from_iterable(combinations(columns, size) for size in ways)
        return [GroupSet(("ways",), groups) for groups in chosen]
    return None


def _build_groups(
    query: SpecQuery, names: Sequence[str], path: Path, before: Sequence[str] = ()
) -> tuple[Group, ...] | None:
    """Make the groups of some columns; None, with complaints, if one is not usable."""
    groups = [
        _group(query, name, (*before, *names[:at]), (*path, at)) for at, name in enumerate(names)
    ]
    usable = tuple(group for group in groups if group is not None)
    return usable if len(usable) == len(groups) else None


def _group(query: SpecQuery, name: str, before: Sequence[str], path: Path) -> Group | None:
    declared = query.find_new(name, before, *path)
    group = make_group(declared.column) if declared is not None else None
    if group is None and declared is not None and declared.keyless:
        message = f"{show(name)} has no public keys, so the set of groups would reveal data"
        query.part.complain("E202", message, *path, hint=_PUBLIC)
    return group


def _is_named_once(query: SpecQuery, sets: Sequence[GroupSet]) -> bool:
    """Complain of a set of columns that is named before, in whatever order."""
    seen: set[frozenset[str]] = set()
    for group_set in sets:
        names = frozenset(group.column for group in group_set.groups)
        if names in seen:
            subject = " and ".join(show(group.column) for group in group_set.groups) or "the total"
            message = f"the table of {subject} is named twice"
            query.part.complain(
                "E231",
                message,
                *group_set.path,
                hint="keep one of them: the order of columns only sorts rows",
            )
        seen.add(names)
    return len(seen) == len(sets)


def _has_few_cells(query: SpecQuery, sets: Sequence[GroupSet]) -> bool:
    """Complain of the largest table if it has too many cells, or if all have together."""
    largest = max(sets, key=lambda group_set: group_set.cells)
    name, cells = name_default_table(largest.groups), sum(group_set.cells for group_set in sets)
    if largest.cells > MAX_CELLS:
        longest = max(largest.groups, key=lambda group: len(group.labels))
        message = f"the table {name} has {largest.cells:,} cells, more than {MAX_CELLS:,}"
        hint = f"leave {show(longest.column)} out of it, which has {len(longest.labels):,} labels"
    elif cells > MAX_ALL_CELLS or len(sets) > MAX_TABLES:
        message = (
            f"{len(sets):,} tables with {cells:,} cells; the most are {MAX_TABLES:,} with "
            f"{MAX_ALL_CELLS:,}"
        )
        hint = f"leave tables out, first {name}, which has {largest.cells:,} cells"
    else:
        return True
    query.part.complain("E222", message, *largest.path, hint=hint)
    return False
