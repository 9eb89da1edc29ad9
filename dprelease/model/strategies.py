"""What figures planned together are made of: integers of several steps, mixed along axes.

A *strategy* releases other integers than those that are published. Each step mixes the cells of a
table along its axes by integer matrices; a figure is a fixed combination of the integers of some
steps, the best linear unbiased one where their noise is as planned.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct


class AxisKind(StrEnum):
    """Kind of matrix that turns the labels of one axis into released integers.

    EACH: the cell of each label as it is. CENTRED: of n labels n times the cell less the sum of
    all, so that these add up to 0. RUNNING: a lower triangular Toeplitz matrix, given by its first
    column. SCALED: such a matrix with each column multiplied by a factor of its own. BASIS: any
    integer matrix, given by its rows. TREE: sums of so many labels in order, one level after the
    other, given by the number of labels of a node of each level.
    """

    EACH = "each"
    CENTRED = "centred"
    RUNNING = "running"
    SCALED = "scaled"
    BASIS = "basis"
    TREE = "tree"


class AxisMatrix(Struct, frozen=True):
    """An integer matrix with a column for each label of an axis.

    ``entries``: of RUNNING one row, the first column of the matrix; of SCALED that column and the
    factors of all columns; of BASIS the rows; of TREE one row, the widths of its levels; else none.
    """

    kind: AxisKind
    entries: tuple[tuple[int, ...], ...] = ()

    def count_outputs(self, labels: int) -> int:
        """Compute the number of integers released for so many labels."""
        if self.kind is AxisKind.TREE:
            return sum(-(-labels // width) for width in self.entries[0])
        return len(self.entries) if self.kind is AxisKind.BASIS else labels


EACH = AxisMatrix(AxisKind.EACH)
CENTRED = AxisMatrix(AxisKind.CENTRED)


class Term(Struct, frozen=True):
    """Summand of a figure: ``factor`` times its released integer ``row``.

    ``part``: which of the integers that the figure's statistic would release by itself it is a
    summand of; a count or sum has one, a mean or share has two.

    ``groups`` are places of the step's groups: there its cells are those with the labels of the
    figure's cell; over all other groups of the step its cells are added up. A group of the step is
    one of the figure where it is that group, completed (``Group.completed``); what else the figure
    is grouped by changes nothing. Before that the integers are centred once more along each CENTRED
    axis, n times each less the sum of all: true ones add up to 0 there, so that of them nothing is
    lost, but some of the noise is.
    """

    step: str
    factor: Fraction
    row: int = 0
    groups: tuple[int, ...] = ()
    part: int = 0


class Strategy(Struct, frozen=True):
    """Queries planned together, by name, and the steps that their figures are combined from."""

    queries: tuple[str, ...]
    steps: tuple[str, ...]


def group_strategies(figures: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[Strategy, ...]:
    """Gather queries that have steps in common.

    Args:
        figures: Names of queries, each with the names of its steps.

    Returns:
        Strategies without a common step, in the order of their last query.
    """
    queries_of: dict[int, list[str]] = {}  # in the order of their last query
    steps_of: dict[int, dict[str, None]] = {}
    last: dict[int, int] = {}
    owner: dict[str, int] = {}
    for number, (query, steps) in enumerate(figures):
        # A query may tie several earlier strategies together.
        tied = sorted({owner[step] for step in steps if step in owner}, key=last.__getitem__)
        if len(tied) == 1:
            (own,) = tied
            queries, own_steps = queries_of.pop(own), steps_of[own]
        else:
            own, queries, own_steps = number, [], {}
            for other in reversed(tied):
                queries += queries_of.pop(other)
                own_steps |= steps_of.pop(other)
            owner |= dict.fromkeys(own_steps, own)
        queries.append(query)
        own_steps |= dict.fromkeys(steps)
        owner |= dict.fromkeys(steps, own)
        queries_of[own], steps_of[own], last[own] = queries, own_steps, number
    return tuple(
        Strategy(tuple(queries), tuple(steps_of[own])) for own, queries in queries_of.items()
    )
