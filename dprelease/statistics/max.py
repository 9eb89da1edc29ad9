"""Maximum of a bounded column by cell, as far as there can be one."""

from __future__ import annotations

from dprelease.statistics.quantile import Quantile


class Max(Quantile):
    """A high quantile: the true maximum is one record's value, and can't be released."""

    name = "max"
    remark = "; a high quantile, for a true maximum is the value of one record"
    extreme = True
