"""Number of different values of a column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Sensitivity
from dprelease.model.sentences import Sentence, sentence
from dprelease.privacy.sensitivity import DISTINCT
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import (
    Hazard,
    Neighbours,
    Released,
    SpecKeys,
    bound_change,
)


class CountDistinct(Single):
    """The number of different values that a column has in the cell, nulls not counted."""

    name = "count_distinct"
    word = "spec_words.statistic.count_distinct"
    definition = "statistics.count_distinct.definition"
    keys = SpecKeys(column=ColumnUse.ANY)
    counts = "words.different_values"
    compared_with = ("statistics.count_distinct.reference", Fraction(1))
    overlaps = True
    hazard = Hazard(
        3,
        Sentence("statistics.count_distinct.hazard.title"),
        Sentence("statistics.count_distinct.hazard.note"),
    )

    def describe_meaning(self, query: Query) -> Sentence:
        """Name the column whose values are counted."""
        return sentence("sensitivity.noun.distinct_of", column=_name_column(query))

    def define_release(self, query: Query) -> Released:
        """Define one integer for each cell: its number of different values."""
        return Released((Measure(MeasureKind.DISTINCT, None, query.where, _name_column(query)),))

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all per-cell counts of values together; tight (see ``DISTINCT``)."""
        # A row's value can be new where the other's was not, so even a single cell can move.
        return bound_change(query, neighbours, DISTINCT, outside=True)


def _name_column(query: Query) -> str:
    if query.column is None:
        raise ValueError("different values are those of a column")
    return query.column.name
