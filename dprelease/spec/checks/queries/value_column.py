"""The column that a query counts or chooses by value: a histogram's, or the values of a choice."""

from __future__ import annotations

from dprelease.model import Column, Group
from dprelease.spec.checks.columns.domains import bin_labels, read_bins
from dprelease.spec.checks.queries.groups import make_group
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.spec.complaints.quoting import counted, show
from dprelease.spec.toml.numbers import Refused
from dprelease.statistics.registry import STATISTICS


def own_group(asked: Asked, column: Column) -> Group | None:
    """Make the group of a query's own column: that of a histogram, or the values to choose from."""
    model = asked.model
    if not asked.check_shared(column.name, "column"):
        return None
    if column.name in (model.by or ()):
        message = f"{show(column.name)} is in by and the column of the {model.statistic}"
        asked.complain("column", "E217", message, "take it out of by")
        return None
    edges = None
    if model.bins is not None:
        try:
            edges = read_bins(column.type, model.bins)
        except Refused as refused:
            asked.complain("bins", refused.code, refused.message, refused.hint)
            return None
        if column.other in bin_labels(edges):
            message = f"other {show(column.other)} of the column is also a bin"
            asked.complain("bins", "E212", message, "choose another label")
            return None
    group = make_group(column, edges)
    known = asked.context.columns[column.name]
    if group is None and known is not None and known.keyless and "bins" not in asked.part.bad:
        leak = "so which groups appear would leak"
        if STATISTICS[model.statistic or ""].keys.chooses:
            leak = f"so {model.statistic} has nothing public to choose from"
        message = f"{show(column.name)} has no public keys, {leak}"
        asked.complain("column", "E202", message, "keys or keys_file, or bins for numbers")
    return group


def check_picks(asked: Asked, axis: Group) -> None:
    """Complain when more values are asked for than there are."""
    picks = asked.model.k
    takes = STATISTICS[asked.model.statistic or ""].keys
    if "k" in takes.needs and picks is not None and picks > len(axis.labels):
        values = counted(len(axis.labels), "public value")
        message = f"k is {picks}, but {show(axis.column)} has {values}"
        asked.complain("k", "E233", message, f"at most k = {len(axis.labels)}")
