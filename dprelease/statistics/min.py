"""Minimum of a bounded column by cell, as far as there can be one."""

from __future__ import annotations

from dprelease.statistics.quantile import Quantile


class Min(Quantile):
    """A low quantile: the true minimum is one record's value, and can't be released."""

    name = "min"
    remark = "; a low quantile, for a true minimum is the value of one record"
    extreme = True
