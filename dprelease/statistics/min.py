"""Minimum of a bounded column by cell, as far as there can be one."""

from __future__ import annotations

from fractions import Fraction

from dprelease.language import template
from dprelease.statistics.quantile import OF_VALUES, Quantile


class Min(Quantile):
    """A low quantile: the true minimum is one record's value, and can't be released."""

    name = "min"
    keys = OF_VALUES
    fixed_quantile = Fraction(1, 100)
    remark = template("; a low quantile, for a true minimum is the value of one record")
    end = template("minimum")
    what_weighted = ""
