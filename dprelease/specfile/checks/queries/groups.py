"""Groups of a query: of its `by` columns, and of the column that it counts or chooses by value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from dprelease.model import Column, ColumnType, Group, KeySelection
from dprelease.specfile.checks.columns.column import DeclaredColumn, attempt_bins
from dprelease.specfile.checks.columns.domains import (
    BINNED,
    build_sort_key,
    find_bin_label,
    write_bin_labels,
)
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import format_count, show
from dprelease.statistics.shared.spec_keys import ColumnUse

MAX_CELLS = 10**6


def make_group(column: Column, edges: tuple[str, ...] | None = None) -> Group | None:
    """Make the group of a column, or of a column with other bins; None without a public domain.

    A boolean column has the keys false and true by itself.
    """
    keys = column.keys if edges is None else None
    edges = edges or column.edges
    if keys is None and edges is None:
        if column.type is not ColumnType.BOOLEAN:
            return None
        keys = ("false", "true")
    labels = keys if keys is not None else write_bin_labels(edges or ())
    if column.other is not None and column.other not in labels:
        labels = (*labels, column.other)
    null_label = _find_null_label(column, keys, edges)
    return Group(column.name, column.type, labels, keys, edges, column.other, null_label)


def _find_null_label(
    column: Column, keys: Sequence[str] | None, edges: Sequence[str] | None
) -> str | None:
    """Find the label of nulls: ``null_value`` replaces them, then they are grouped by it."""
    value = column.null_value
    if value is None or value == column.other:
        return value
    if keys is not None:
        return value  # the column's checks made sure that it is a key
    return find_bin_label(column.type, edges or (), value) or column.other


_PUBLIC = "declare keys, keys_file or bins"
_SELECTED = "partition_selection = { delta = 1e-8 } shows the groups of many units"


def read_groups(query: SpecQuery) -> tuple[Group, ...] | None:
    """Make the groups of `by`; None when one of them is not usable."""
    names = query.model.by or ()
    groups = [
        group
        for number, name in enumerate(names)
        if (declared := query.find_new(name, names[:number], "by", number)) is not None
        and (group := _group(query, declared)) is not None
    ]
    if len(groups) < len(names) or "by" in query.part.bad:
        return None
    if query.model.partition_selection is not None and not any(group.private for group in groups):
        message = "partition_selection has no effect: no group has private keys"
        hint = "leave it out: public keys are always shown"
        query.part.complain("E111", message, "partition_selection", hint=hint)
    return tuple(groups)


def read_selection(query: SpecQuery) -> KeySelection | None:
    """Give what the query says of the selection of private keys."""
    section = query.model.partition_selection
    if section is None or section.delta is None:
        return None
    return KeySelection(section.delta, section.epsilon)


def _group(query: SpecQuery, declared: DeclaredColumn) -> Group | None:
    column = declared.column
    group = make_group(column)
    if group is not None or not declared.keyless:
        return group
    if query.model.partition_selection is not None:
        return Group(column.name, column.type, (), null_label=column.null_value, private=True)
    if query.part.is_sound("partition_selection"):
        message = f"{show(column.name)} has no public keys, so the set of groups would reveal data"
        query.part.complain("E202", message, "by", hint=f"{_PUBLIC}; or {_SELECTED}")
    return None


def build_own_group(query: SpecQuery, column: Column) -> Group | None:
    """Make the group of a query's own column: that of a histogram, or the values to choose from."""
    model = query.model
    if not query.check_shared(column.name, "column"):
        return None
    if column.name in (model.by or ()):
        message = f"{show(column.name)} is in `by` and is also the column of the {model.statistic}"
        query.part.complain("E217", message, "column", hint="remove it from `by`")
        return None
    edges = None
    if model.bins is not None:
        edges = attempt_bins(column.type, model.bins, query.part)
        if edges is None:
            return None
        if column.other in write_bin_labels(edges):
            message = f"other {show(column.other)} of the column is also the label of a bin"
            query.part.complain("E212", message, "bins")
            return None
    if query.statistic is not None and query.statistic.keys.ordered:
        column = _check_order(query, column)
    group = make_group(column, edges)
    declared = query.context.columns[column.name]
    if group is None and declared is not None and declared.keyless and "bins" not in query.part.bad:
        leak = "so the set of groups would reveal data"
        if query.statistic is not None and query.statistic.keys.column is ColumnUse.CHOICES:
            leak = f"so {model.statistic} has nothing public to choose from"
        message = f"{show(column.name)} has no public keys, {leak}"
        query.part.complain(
            "E202", message, "column", hint="declare keys or keys_file, or bins for numbers"
        )
    return group


def _check_order(query: SpecQuery, column: Column) -> Column:
    """Complain of keys that don't rise; those of texts are in the order of the list.

    Give the column without a label of its own for other values: it has no place in the order.
    """
    for before, after in pairwise(column.keys or () if column.type in BINNED else ()):
        if build_sort_key(column.type, before) > build_sort_key(column.type, after):
            message = (
                f"the keys of {show(column.name)} do not increase: {after} comes after {before}"
            )
            query.part.complain("E252", message, "column")
            break
    if query.model.partition_selection is not None:
        message = (
            f"{query.model.statistic} can't use private keys: groups that are not shown would "
            "leave gaps"
        )
        hint = f"declare the keys of every column in by; {query.model.statistic} adds up all rows"
        query.part.complain("E202", message, "partition_selection", hint=hint)
    if column.other in (column.keys or ()):
        return column
    null_value = None if column.null_value == column.other else column.null_value
    return replace(column, other=None, null_value=null_value)


def check_picks(query: SpecQuery, axis: Group, picks: int) -> None:
    """Complain when more values are asked for than there are."""
    if picks > len(axis.labels):
        values = format_count(len(axis.labels), "public value")
        message = f"k is {picks}, but {show(axis.column)} has {values}"
        query.part.complain("E233", message, "k", hint=f"write at most k = {len(axis.labels)}")
