"""Variance of a bounded column by cell."""

from __future__ import annotations

from dprelease.statistics.shared.statistic import Sharing
from dprelease.statistics.spread import ThreeSums


class Variance(ThreeSums):
    """The population variance of a column's clamped values, at most (upper - lower)^2 / 4."""

    name = "variance"
    word = "spec_words.statistic.variance"
    definition = "statistics.variance.definition"
    what = "statistics.variance.what"
    sharing = Sharing(lead=4, squared=True)
