"""Few tables for the steps of strategies, in the cells of which those of each step are parts.

Steps that were planned together count the same rows, and every row has a cell in each. So a table
with the groups of several of them has the cells of each as sums, and the data is read once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from dprelease.model import Expression, Group, MeasureKind, Step

MOST_CELLS = 1 << 16
"""Of a table with the groups of several steps."""

Groups = tuple[Group, ...]


def joined_groups(steps: Iterable[Step], *, people: bool) -> Mapping[str, Groups]:
    """Give for each step of a strategy, by name, the groups of the table that it is a part of.

    Larger tables take in smaller ones while they hold at most ``MOST_CELLS``. Of ``people`` which
    rows are kept depends on the filter and the cells: all steps with one filter are parts of one
    table, so that they count the same rows.
    """
    alike: dict[Expression | None, list[Step]] = {}
    for step in filter(_adds_up, steps):
        alike.setdefault(step.query.where if people else None, []).append(step)
    made: dict[str, Groups] = {}
    for members in alike.values():
        tables = _tables(dict.fromkeys(step.query.groups for step in members), whole=people)
        for step in members:
            own = set(step.query.groups)
            made[step.query.name] = next(table for table in tables if own <= set(table))
    return made


def _tables(sets: Iterable[Groups], *, whole: bool) -> list[Groups]:
    """Tables that have the groups of each set; ``whole``: one, however large."""
    tables: list[Groups] = []
    for groups in sorted(sets, key=_cells, reverse=True):
        fitting = (at for at, table in enumerate(tables) if whole or _fits(table, groups))
        place = next(fitting, None)
        if place is None:
            tables.append(groups)
        else:
            tables[place] = _union(tables[place], groups)
    return tables


def _adds_up(step: Step) -> bool:
    """Whether it is of a strategy: every record has one cell, and adds to the integers of that."""
    query = step.query
    return (
        query.implied
        and not query.private
        and all(group.total for group in query.groups)
        and all(measure.kind is MeasureKind.RECORDS for measure in step.measures)
    )


def _fits(groups: Groups, more: Groups) -> bool:
    """Whether a table may have the groups of both, or has them all as it is."""
    union = _union(groups, more)
    return len(union) == len(groups) or _cells(union) <= MOST_CELLS


def _union(groups: Groups, more: Groups) -> Groups:
    return tuple(dict.fromkeys((*groups, *more)))


def _cells(groups: Groups) -> int:
    return prod(len(group.labels) for group in groups)
