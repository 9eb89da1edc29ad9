"""Number of different values of a column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Adjacency, Measure, MeasureKind, Query, Sensitivity
from dprelease.privacy.sensitivity import added_distinct, replaced_distinct
from dprelease.statistics.base import Hazard, Neighbours, Released, SpecKeys, cells_of
from dprelease.statistics.shared.one_integer import Single


class CountDistinct(Single):
    """How many different values a column has in the cell, nulls not counted."""

    name = "count_distinct"
    keys = SpecKeys(column=True)
    counts = "different values"
    compared_with = ("the count of different values", Fraction(1))
    overlaps = True
    hazard = Hazard(
        3,
        "different values counted",
        "each spelling of a value counts as a value of its own, and cells do not add up: a "
        "value can be in several",
    )

    def meaning(self, query: Query) -> str:
        """Name the column whose values are counted."""
        return f"number of different values of {_column(query)}"

    def released(self, query: Query) -> Released:
        """One integer for each cell: its number of different values."""
        return Released((Measure(MeasureKind.DISTINCT, None, query.where, _column(query)),))

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all numbers of values together.

        A row that comes brings one value at most, and takes none away.
        """
        cells, limits, noun = cells_of(query), neighbours.contribution, neighbours.noun
        if neighbours.adjacency is Adjacency.ADD_REMOVE:
            return added_distinct(limits, cells, noun)
        return replaced_distinct(limits, cells, noun)


def _column(query: Query) -> str:
    if query.column is None:
        raise ValueError("different values are those of a column")
    return query.column.name
