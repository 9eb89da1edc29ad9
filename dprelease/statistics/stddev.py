"""Standard deviation of a bounded column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Grid
from dprelease.postprocess.intervals.moment_intervals import Estimates, compute_deviations
from dprelease.statistics.shared.statistic import Sharing
from dprelease.statistics.spread import ThreeSums


class Stddev(ThreeSums):
    """The root of the population variance, with the roots of its interval's ends."""

    name = "stddev"
    word = "spec_words.statistic.stddev"
    definition = "statistics.stddev.definition"
    what = "statistics.stddev.what"
    sharing = Sharing(lead=3, squared=True)
    largest = Fraction(1, 2)

    def compute_figure(self, variance: Estimates) -> Estimates:
        """Compute roots, which keep the order of a value and its interval's ends."""
        return compute_deviations(variance)

    def compute_span(self, grid: Grid) -> Fraction:
        """Compute the distance from the lower bound to the upper one."""
        return grid.width * grid.step
