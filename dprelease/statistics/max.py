"""Maximum of a bounded column by cell, approximated by a high quantile."""

from __future__ import annotations

from fractions import Fraction

from dprelease.statistics.quantile import OF_VALUES, Quantile


class Max(Quantile):
    """A high quantile: the true maximum is one record's value, and can't be released."""

    name = "max"
    word = "spec_words.statistic.max"
    keys = OF_VALUES
    fixed_quantile = Fraction(99, 100)
    remark = "statistics.max.remark"
    end = "statistics.max.end"
    what_weighted = ""
