"""Median of a bounded column by cell."""

from __future__ import annotations

from dprelease.statistics.quantile import Quantile


class Median(Quantile):
    """The quantile 1/2."""

    name = "median"
