"""Minimum of a bounded column by cell, approximated by a low quantile."""

from __future__ import annotations

from fractions import Fraction

from dprelease.statistics.quantile import OF_VALUES, Quantile


class Min(Quantile):
    """A low quantile: the true minimum is one record's value, and can't be released."""

    name = "min"
    word = "spec_words.statistic.min"
    keys = OF_VALUES
    fixed_quantile = Fraction(1, 100)
    remark = "statistics.min.remark"
    end = "statistics.min.end"
    what_weighted = ""
