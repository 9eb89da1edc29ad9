"""Number of different values of a column by cell."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.model import Adjacency, Measure, MeasureKind, Query, Sensitivity, Step
from dprelease.privacy.sensitivity import added_distinct, replaced_distinct
from dprelease.statistics.base import Hazard, Neighbours, Released, SpecKeys
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.sensitivity import cells_of


class CountDistinct(Single):
    """How many different values a column has in the cell, nulls not counted."""

    name = "count_distinct"
    keys = SpecKeys(column=True)
    counts = "different values"
    overlaps = True

    def meaning(self, query: Query) -> str:
        """Name the column whose values are counted."""
        return f"number of different values of {_column(query)}"

    def hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Spellings and overlaps."""
        yield Hazard(
            3,
            "different values counted",
            "each spelling of a value counts as a value of its own, and cells do not add up: a "
            "value can be in several",
            step.query.name,
        )

    def released(self, query: Query) -> Released:
        """One integer for each cell: its number of different values."""
        measure = Measure(MeasureKind.DISTINCT, None, query.where, _column(query))
        return Released((measure,), ((1,),), (Fraction(1),))

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
