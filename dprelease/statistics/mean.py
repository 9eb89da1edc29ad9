"""Mean of a bounded column by cell, with the number of values for free.

The two sums are A = sum(k - lower) and B = sum(upper - k) over the records with a value: see
``define_two_sums``. The mean is lower + K A / (A + B), K = upper - lower. With survey weights both
sums count each record as often as its weight says: see ``survey_weights``.
"""

from __future__ import annotations

from dprelease.model import Query, Read, Reading
from dprelease.postprocess.intervals.fixed_point import choose_places, count_decimals
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import (
    Released,
    SharedSums,
    Sharing,
    SpecKeys,
    build_quantity,
)
from dprelease.statistics.shared.two_sums import Scale, TwoSums, define_two_sums


class Mean(TwoSums):
    """The mean of a column's clamped values, from two complementary sums."""

    name = "mean"
    word = "spec_words.statistic.mean"
    definition = "statistics.mean.definition"
    what = "statistics.mean.what"
    what_weighted = "statistics.mean.what_weighted"
    keys = SpecKeys(column=ColumnUse.NUMBERS)
    sharing = Sharing(lead=2)
    has_feature = True
    compared_with = ("statistics.mean.reference", None)
    processing = "statistics.mean.processing"
    selects_keys_by_sums = True

    def scale(self, query: Query) -> Scale:
        """Return the scale from the lower bound to the upper one."""
        grid = build_quantity(query.column).grid
        span = grid.width * grid.step
        places = max(count_decimals(grid.step), choose_places(span))
        lower = grid.lower * grid.step
        return Scale(lower, span, grid.width, places, self.describe_meaning(query))

    def define_release(self, query: Query) -> Released:
        """Define sum(k - lower) and sum(upper - k) for each cell, times weights if present."""
        return define_two_sums(query)

    def plan_shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Read from two sums like its own release, or from three as moments of a variance."""
        return Read(query, sums.step, sums.rows, Reading.MOMENTS if sums.squared else Reading.OWN)
