"""From noisy integers to published tables: one wide table for each set of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from math import prod

from dprelease.model import Group, NoisyTable, OutputColumn, OutputTable, Plan, Read
from dprelease.statistics.shared.read_release import columns_of


def tables_of(plan: Plan, noisy: NoisyTable) -> list[OutputTable]:
    """Lay out every table: group columns in declared order, then the queries' columns."""
    by_table: dict[str, list[Read]] = {}
    for read in plan.reads:
        by_table.setdefault(read.query.table, []).append(read)
    return [_table(plan, name, reads, noisy) for name, reads in by_table.items()]


def _table(plan: Plan, name: str, reads: Sequence[Read], noisy: NoisyTable) -> OutputTable:
    interval = plan.release.output.interval
    groups = reads[0].query.groups
    private = reads[0].query.private
    columns = list(_selected_columns(groups, noisy.keys[name]) if private else _key_columns(groups))
    for read in reads:
        columns.extend(columns_of(read, plan.step(read), noisy.values[read.step], interval))
    about = plan.release.about
    return OutputTable(name, tuple(columns), about.title or about.name)


def _selected_columns(
    groups: Sequence[Group], keys: Sequence[Sequence[str]]
) -> Iterator[OutputColumn]:
    """Columns of the private keys that were selected."""
    for place, group in enumerate(groups):
        typed = group.edges is None and group.other is None and group.null_label is None
        yield OutputColumn(
            group.column,
            "key",
            [key[place] for key in keys],
            f"values of {group.column} whose noisy count reached the threshold",
            type=group.type if typed else None,
        )


def _key_columns(groups: Sequence[Group]) -> Iterator[OutputColumn]:
    """Columns of the cross product of the labels: the last group moves fastest."""
    rows = prod(len(group.labels) for group in groups)
    inner = rows
    for group in groups:
        inner //= len(group.labels)
        once = list(chain.from_iterable(repeat(label, inner) for label in group.labels))
        typed = group.edges is None and group.other is None
        yield OutputColumn(
            group.column,
            "key",
            once * (rows // len(once)),
            f"bins of {group.column}" if group.edges else f"declared values of {group.column}",
            type=group.type if typed else None,
        )
