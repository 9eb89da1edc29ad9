"""Number of units (people, say) by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Adjacency, Measure, MeasureKind, Query, Sensitivity
from dprelease.privacy.sensitivity import bound_unit_addition, bound_unit_replacement
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.statistic import Neighbours, Released, count_cells, may_be_outside


class CountUnits(Single):
    """The number of different units with a record in the cell.

    If a record is the unit, this is a count: every record is a unit of its own.
    """

    name = "count_units"
    word = "spec_words.statistic.count_units"
    definition = "statistics.count_units.definition"
    what = "statistics.count_units.what"
    counts = "words.units"
    compared_with = ("statistics.count_units.reference", Fraction(1))
    overlaps = True
    counts_units = True
    selects_keys = True

    def define_release(self, query: Query) -> Released:
        """Define one integer for each cell: its number of units."""
        return Released((Measure(MeasureKind.UNITS, None, query.where),))

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all per-cell unit counts together."""
        # A unit counts once in each cell that it is in, however many rows it has there.
        cells, limits, noun = count_cells(query), neighbours.contribution, neighbours.noun
        if neighbours.adjacency is Adjacency.ADD_REMOVE:
            return bound_unit_addition(limits, cells, noun)
        outside = may_be_outside(query, neighbours)
        return bound_unit_replacement(limits, cells, outside=outside, unit=noun)
