"""Groups of a query: of its `by` columns, and of the column that it counts or chooses by value."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Column, ColumnType, Group, KeySelection
from dprelease.spec.checks.columns.domains import bin_label, bin_labels, read_bins
from dprelease.spec.checks.queries.query_context import SpecQuery
from dprelease.spec.complaints.reporter import Refused
from dprelease.spec.complaints.wording import counted, show
from dprelease.statistics.registry import STATISTICS


def make_group(column: Column, edges: tuple[str, ...] | None = None) -> Group | None:
    """Make the group of a column, or of a column with other bins; None without a public domain.

    A boolean column has the keys false and true by itself.
    """
    keys = column.keys
    if edges is not None:
        keys = None
    else:
        edges = column.edges
        if keys is None and edges is None and column.type is ColumnType.BOOLEAN:
            keys = ("false", "true")
    if keys is None and edges is None:
        return None
    labels = keys if keys is not None else bin_labels(edges or ())
    if column.other is not None:
        labels = (*labels, column.other)
    null_label = _null_label(column, keys, edges)
    return Group(column.name, column.type, labels, keys, edges, column.other, null_label)


def _null_label(
    column: Column, keys: Sequence[str] | None, edges: Sequence[str] | None
) -> str | None:
    """Nulls are replaced by ``null_value`` and then grouped as if the record had held it."""
    value = column.null_value
    if value is None or value == column.other:
        return value
    if keys is not None:
        return value  # the column's checks made sure that it is a key
    return bin_label(column.type, edges or (), value) or column.other


_PUBLIC = "keys, keys_file or bins"
_SELECTED = "partition_selection = { delta = 1e-8 } shows those of many units"


def read_groups(query: SpecQuery) -> tuple[Group, ...] | None:
    """Make the groups of `by`; None when one of them is not usable."""
    groups: list[Group] = []
    usable = "by" not in query.part.bad
    seen: set[str] = set()
    for number, name in enumerate(query.model.by or ()):
        if name in seen:
            path = query.path("by", number)
            query.context.reporter.complain(
                "E231", f"{show(name)} is named twice", path, "keep one"
            )
            usable = False
            continue
        seen.add(name)
        group = _group(query, name, number)
        if group is None:
            usable = False
        else:
            groups.append(group)
    if not usable:
        return None
    if query.model.partition_selection is not None and not any(made.private for made in groups):
        message = "partition_selection, but no group has private keys"
        hint = "leave it out: public keys are shown, whoever has them"
        query.complain("partition_selection", "E111", message, hint)
    return tuple(groups)


def read_selection(query: SpecQuery) -> KeySelection | None:
    """Give what the query says of the selection of private keys."""
    section = query.model.partition_selection
    if section is None or section.delta is None:
        return None
    return KeySelection(section.delta, section.epsilon)


def _group(query: SpecQuery, name: str, number: int) -> Group | None:
    if not query.check_shared(name, "by", number):  # before it is asked to be declared
        return None
    declared = query.find(name, "by", number)
    if declared is None:
        return None
    group = make_group(declared.column)
    if group is not None or not declared.keyless:
        return group
    if query.model.partition_selection is not None:
        column = declared.column
        return Group(name, column.type, (), null_label=column.null_value, private=True)
    if query.part.sound("partition_selection"):
        message = f"{show(name)} has no public keys, so which groups appear would leak"
        query.complain("by", "E202", message, f"{_PUBLIC}; or {_SELECTED}")
    return None


def own_group(query: SpecQuery, column: Column) -> Group | None:
    """Make the group of a query's own column: that of a histogram, or the values to choose from."""
    model = query.model
    if not query.check_shared(column.name, "column"):
        return None
    if column.name in (model.by or ()):
        message = f"{show(column.name)} is in by and the column of the {model.statistic}"
        query.complain("column", "E217", message, "take it out of by")
        return None
    edges = None
    if model.bins is not None:
        try:
            edges = read_bins(column.type, model.bins)
        except Refused as refused:
            query.context.reporter.refuse(refused, query.path("bins"))
            return None
        if column.other in bin_labels(edges):
            message = f"other {show(column.other)} of the column is also a bin"
            query.complain("bins", "E212", message, "choose another label")
            return None
    group = make_group(column, edges)
    declared = query.context.columns[column.name]
    if group is None and declared is not None and declared.keyless and "bins" not in query.part.bad:
        leak = "so which groups appear would leak"
        if STATISTICS[model.statistic or ""].keys.chooses:
            leak = f"so {model.statistic} has nothing public to choose from"
        message = f"{show(column.name)} has no public keys, {leak}"
        query.complain("column", "E202", message, "keys or keys_file, or bins for numbers")
    return group


def check_picks(query: SpecQuery, axis: Group) -> None:
    """Complain when more values are asked for than there are."""
    picks = query.model.k
    takes = STATISTICS[query.model.statistic or ""].keys
    if "k" in takes.needs and picks is not None and picks > len(axis.labels):
        values = counted(len(axis.labels), "public value")
        message = f"k is {picks}, but {show(axis.column)} has {values}"
        query.complain("k", "E233", message, f"at most k = {len(axis.labels)}")
