"""How far neighbours can move a query's cells: the rules of ``privacy.sensitivity`` applied."""

from __future__ import annotations

from dprelease.model import Adjacency, Query, Sensitivity
from dprelease.privacy.sensitivity import Row, added, replaced
from dprelease.statistics.base import Neighbours

UNKNOWN_CELLS = 1 << 62
"""Private keys: as many cells as units can reach."""


def cells_of(query: Query) -> int:
    """Give the number of cells, or one that no unit can exceed where keys are private."""
    return UNKNOWN_CELLS if query.private else query.cells


def may_be_outside(query: Query, neighbours: Neighbours) -> bool:
    """Say whether some unit can have no row in any cell of the query.

    True when a filter, an undeclared group value or a null in a group can drop a row (unreadable
    values are nulls). Where the unit is a column's value also because rows without one are dropped.
    """
    return (
        neighbours.people
        or query.where is not None
        or any(group.other is None or group.null_label is None for group in query.groups)
    )


def moved(query: Query, neighbours: Neighbours, row: Row, *, outside: bool) -> Sensitivity:
    """Bound the change of all cells together, each row adding a ``row`` to its cell.

    ``outside``: whether a unit can have no row with a value in a cell.
    """
    cells, limits, noun = cells_of(query), neighbours.contribution, neighbours.noun
    if neighbours.adjacency is Adjacency.ADD_REMOVE:
        return added(limits, row, cells, noun)
    return replaced(limits, row, cells, outside=outside, unit=noun)
