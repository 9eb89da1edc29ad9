"""Share of a cell's records for which a condition is true, with their number for free.

A mean of noughts and ones, with K = 1: released are how many records fulfil the condition and how
many don't (or can't tell: a condition that is null isn't true). Every record is in exactly one of
the two, so both counts get the whole budget at once: see ``two_sums``. With survey weights both
are sums of weights.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.language import template
from dprelease.model import Measure, MeasureKind, Query
from dprelease.postprocess.fixed_point import places_for
from dprelease.statistics.base import OF_PARTS, Released, SpecKeys, both, weight_of, weight_step
from dprelease.statistics.shared.two_sums import Scale, TwoSums

_ONE = Fraction(1)


class Proportion(TwoSums):
    """The share of records of the cell that fulfil the numerator's condition."""

    name = "proportion"
    what = template("share of the records that fulfil the condition, with noise")
    what_weighted = template("weighted share of the records that fulfil the condition, with noise")
    keys = SpecKeys(where_is_numerator=True)
    processing = OF_PARTS
    example_error = template("{error} at {n:,} records")
    behind = template("number of records behind {name}, with noise")
    behind_weighted = template("weighted number of records behind {name}, with noise")
    compared_with = (template("a share of one half"), Fraction(1, 2))

    def scale(self, query: Query) -> Scale:
        """From 0 to 1."""
        return Scale(Fraction(0), _ONE, 1, places_for(_ONE), self.meaning(query))

    def released(self, query: Query) -> Released:
        """Two integers for each cell: records that fulfil the condition, and all others."""
        if query.numerator is None:
            raise ValueError("a proportion has a condition")
        weight, unit = weight_of(query), weight_step(query)
        met = both(query.where, query.numerator.where)
        true = Measure(MeasureKind.RECORDS, None, met, survey_weight=weight)
        records = Measure(MeasureKind.RECORDS, None, query.where, survey_weight=weight)
        return Released((true, records), ((1, 0), (-1, 1)), (unit, unit))
