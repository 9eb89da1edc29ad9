"""The registry of statistics: one line for each."""

from __future__ import annotations

from typing import Any

from dprelease.statistics.best import Best
from dprelease.statistics.count import Count
from dprelease.statistics.count_distinct import CountDistinct
from dprelease.statistics.count_units import CountUnits
from dprelease.statistics.cumulative import Cumulative
from dprelease.statistics.density import Density
from dprelease.statistics.histogram import Histogram
from dprelease.statistics.marginals import Marginals
from dprelease.statistics.max import Max
from dprelease.statistics.mean import Mean
from dprelease.statistics.median import Median
from dprelease.statistics.min import Min
from dprelease.statistics.mode import Mode
from dprelease.statistics.proportion import Proportion
from dprelease.statistics.quality import Quality
from dprelease.statistics.quantile import Quantile
from dprelease.statistics.ratio import Ratio
from dprelease.statistics.shared.spec_keys import OwnKey
from dprelease.statistics.shared.statistic import Statistic
from dprelease.statistics.stddev import Stddev
from dprelease.statistics.sum import Sum
from dprelease.statistics.top_k import TopK
from dprelease.statistics.variance import Variance

_ALL: tuple[Statistic, ...] = (
    Count(),
    CountUnits(),
    CountDistinct(),
    Sum(),
    Mean(),
    Variance(),
    Stddev(),
    Ratio(),
    Proportion(),
    Histogram(),
    Density(),
    Marginals(),
    Quality(),
    Cumulative(),
    Quantile(),
    Median(),
    Min(),
    Max(),
    Mode(),
    TopK(),
    Best(),
)

STATISTICS: dict[str, Statistic] = {statistic.name: statistic for statistic in _ALL}


def list_own_keys() -> dict[str, OwnKey[Any]]:
    """List the keys of a query that only some statistics take, by name."""
    return {key.name: key for statistic in STATISTICS.values() for key in statistic.keys.own}


def get_key_selector(*, of_units: bool) -> str:
    """Look up the statistic that selects private keys.

    Args:
        of_units: True if the unit is a person, so that people are counted; else rows are.

    Returns:
        The statistic's name in the spec.
    """
    return next(
        name
        for name, statistic in STATISTICS.items()
        if statistic.selects_keys and statistic.counts_units is of_units
    )


def get_statistic(name: str) -> Statistic:
    """Look up a statistic.

    Args:
        name: Its name in the spec.

    Returns:
        The statistic.

    Raises:
        KeyError: There is no statistic of this name.
    """
    return STATISTICS[name]
