"""What two neighbouring tables can differ in: the rows that one unit can have, and in which cells.

Read from ``[privacy]`` and from what will be executed, for a plan that is executable.
"""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.model import Adjacency, Group, MeasureKind, Privacy, Query, Step


@dataclass(frozen=True, slots=True)
class Limits:
    """A unit has at most ``rows`` rows in all, in at most ``groups`` cells, ``per_cell`` in one.

    Of ``cells`` cells there are. ``certain``: a unit has exactly one row, and that in the only
    cell; otherwise it may have fewer rows than it could. ``replaced``: neighbours have another
    unit in its place; otherwise one of them has nobody there.
    """

    rows: int
    groups: int
    per_cell: int
    cells: int
    certain: bool
    replaced: bool

    @property
    def touched(self) -> int:
        """How many cells can change."""
        return min(2 * self.groups, self.cells) if self.replaced else self.groups


def limits_of(step: Step, privacy: Privacy) -> Limits:
    """Give the limits in the cells whose integers a step releases.

    Units that are counted are in their cells once, whatever the number of their rows. A cell of
    the query may hold all labels of the axis: a unit is in up to as many of these finer cells as it
    has rows.
    """
    query = step.query
    coarse = coarse_limits(query, privacy)
    groups, cells = coarse.groups, coarse.cells
    if query.axis is not None:
        labels = len(query.axis.labels)
        groups, cells = groups * min(coarse.per_cell, labels), cells * labels
    if all(measure.kind is MeasureKind.UNITS for measure in step.measures):
        groups = min(groups, coarse.rows)
        return _limits(groups, groups, 1, cells, coarse)
    return _limits(coarse.rows, groups, coarse.per_cell, cells, coarse)


def coarse_limits(query: Query, privacy: Privacy) -> Limits:
    """Give the limits in the cells of the query's groups, all labels of an axis together."""
    bounding = privacy.bounding
    rows, groups, per_cell = 1, 1, 1
    if bounding is not None:
        rows, groups, per_cell = bounding.rows, bounding.groups, bounding.per_group
    # Nobody knows how many private keys there are: enough for two units that share none.
    cells = 2 * groups
    if not query.private:
        cells = query.cells
    groups = min(groups, cells)
    everywhere = all(map(_total, _groups_of(query))) and query.where is None
    certain = bounding is None and everywhere and not query.private
    replaced = privacy.adjacency is Adjacency.REPLACE_ONE
    start = Limits(rows, groups, per_cell, cells, certain, replaced)
    return _limits(rows, groups, per_cell, cells, start)


def _limits(rows: int, groups: int, per_cell: int, cells: int, other: Limits) -> Limits:
    """Lower each limit to what the others let a unit reach."""
    per_cell, groups = min(per_cell, rows), min(groups, rows, cells)
    rows = min(rows, groups * per_cell)
    return Limits(rows, groups, per_cell, cells, other.certain and cells == 1, other.replaced)


def _groups_of(query: Query) -> tuple[Group, ...]:
    return query.groups if query.axis is None else (*query.groups, query.axis)


def _total(group: Group) -> bool:
    """Whether a group has a label for every record."""
    return group.other in group.labels and group.null_label in group.labels
