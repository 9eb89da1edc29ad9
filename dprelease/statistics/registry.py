"""The statistics there are: one line each."""

from __future__ import annotations

from dprelease.statistics.base import Statistic
from dprelease.statistics.count import Count
from dprelease.statistics.histogram import Histogram
from dprelease.statistics.mean import Mean
from dprelease.statistics.sum import Sum

STATISTICS: dict[str, Statistic] = {
    statistic.name: statistic for statistic in (Count(), Sum(), Mean(), Histogram())
}


def statistic_of(name: str) -> Statistic:
    """Look a statistic up by its name in the spec; KeyError when there is none."""
    return STATISTICS[name]
