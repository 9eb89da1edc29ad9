"""Few tables for the steps of strategies, in the cells of which those of each step are parts.

Steps that were planned together count the same rows, and every row has a cell in each. So a table
with the groups of several of them has the cells of each as sums, and the data is read once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from dprelease.model import Group, MeasureKind, Step

MOST_CELLS = 1 << 16
"""Of a table with the groups of several steps."""

Groups = tuple[Group, ...]


def joined_groups(steps: Iterable[Step]) -> Mapping[str, Groups]:
    """Give for each step of a strategy, by name, the groups of the table that it is a part of.

    Larger tables take in smaller ones while they hold at most ``MOST_CELLS``. Only of rows that are
    units, each for itself: which rows are kept of a unit with many depends on the cells.
    """
    sets = dict.fromkeys(step.query.groups for step in steps if _adds_up(step))
    tables: list[Groups] = []
    for groups in sorted(sets, key=_cells, reverse=True):
        place = next((at for at, table in enumerate(tables) if _fits(table, groups)), None)
        if place is None:
            tables.append(groups)
        else:
            tables[place] = _union(tables[place], groups)
    return {
        step.query.name: next(table for table in tables if set(step.query.groups) <= set(table))
        for step in steps
        if _adds_up(step)
    }


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
