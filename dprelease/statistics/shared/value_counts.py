"""Counts of the public values of a column, of which the largest are named: mode and top_k."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dprelease.model import (
    Adjacency,
    Form,
    Group,
    Measure,
    MeasureKind,
    Query,
    Sensitivity,
)
from dprelease.privacy.sensitivity.contribution import COUNT, Contribution
from dprelease.statistics.base import Neighbours, Released
from dprelease.statistics.shared.choices import Choices
from dprelease.statistics.shared.sensitivity import cells_of, may_be_outside, moved


class AxisChoice(Choices):
    """Chooses among the labels of the query's axis by the number of records with each."""

    def candidates(self, query: Query) -> tuple[str, ...]:
        """The labels of the axis."""
        return _axis(query).labels

    def released(self, query: Query) -> Released:
        """The score: the number of records of a cell with a label, for each label of the axis."""
        measure = Measure(MeasureKind.RECORDS, None, query.where)
        return Released((measure,), ((1,),), (Fraction(1),), Form.CHOICE)

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of the counts: of all of them, and of those a choice depends on.

        *Of all.* A unit's rows in a cell may have any labels: it is in up to as many cells of the
        table by groups and axis as it has rows, with no more in one of them than in a cell.

        *Of a choice* (``choice_l1``). What a choice in one cell costs is in proportion to the range
        of its changes, the largest less the smallest, and cells add up. Rows that come move the
        counts of a cell by between 0 and their number: ranges of no more than the unit's rows
        together, attained if all have one label; all move in one direction (``monotone``). Of
        rows that are replaced, those that leave add as much to the ranges as those that enter, so
        that the ranges are at most twice that: what choice_l1 means if not monotone.
        """
        limits = neighbours.contribution.within(cells_of(query))
        wide = Contribution(limits.rows, limits.rows, limits.per_group)
        fine = replace(query, groups=(*query.groups, _axis(query)))
        counts = moved(
            fine,
            replace(neighbours, contribution=wide),
            COUNT,
            outside=may_be_outside(fine, neighbours),
        )
        return replace(
            counts,
            monotone=neighbours.adjacency is Adjacency.ADD_REMOVE,
            choice_l1=limits.rows if counts.l1 else 0,
        )


def _axis(query: Query) -> Group:
    if query.axis is None or query.axis.private:
        raise ValueError("a value is chosen among public ones")
    return query.axis
