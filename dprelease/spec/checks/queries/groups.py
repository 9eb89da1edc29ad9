"""Makes the public groups of a query from its `by` columns and its histogram column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dprelease.model import Column, ColumnType, Group
from dprelease.spec.checks.columns.column import Known
from dprelease.spec.checks.columns.domains import bin_label, bin_labels
from dprelease.spec.complaints.did_you_mean import nearest
from dprelease.spec.complaints.quoting import show
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.toml.tree import Path, dotted

_LONGEST = 80  # of a header that is shown


def find_column(
    name: str, columns: Mapping[str, Known | None], path: Path, reporter: Reporter
) -> Known | None:
    """Look a declared column up; complain and give None when there is none."""
    if name not in columns:
        close = nearest(name, columns)
        header = dotted(("columns", name))
        hint = f"declare it: [{header if len(header) <= _LONGEST else 'columns.NAME'}]"
        if close:
            hint = f"did you mean {show(close)}?"
        reporter.complain("E216", f"column {show(name)} is not declared", path, hint)
        return None
    return columns[name]


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
