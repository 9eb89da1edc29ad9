"""Median of a bounded column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.statistics.quantile import OF_VALUES, Quantile


class Median(Quantile):
    """The quantile 1/2."""

    name = "median"
    word = "spec_words.statistic.median"
    keys = OF_VALUES
    fixed_quantile = Fraction(1, 2)
