"""What each statistic takes in the spec, and which columns it publishes."""

from __future__ import annotations

from typing import NamedTuple


class StatisticKeys(NamedTuple):
    """``column``: it needs one; ``numeric``: with bounds; ``groups``: its column is a group.

    ``suffixes`` are those of the published columns, after the query's name.
    """

    column: bool = False
    numeric: bool = False
    groups: bool = False
    suffixes: tuple[str, ...] = ("", "_noise_moe", "_flag")


STATISTICS: dict[str, StatisticKeys] = {
    "count": StatisticKeys(),
    "sum": StatisticKeys(column=True, numeric=True),
    "mean": StatisticKeys(
        column=True,
        numeric=True,
        suffixes=("", "_noise_moe", "_flag", "_count", "_count_noise_moe"),
    ),
    "histogram": StatisticKeys(column=True, groups=True),
}

LATER_STATISTICS = frozenset(
    {
        "count_units", "count_distinct", "variance", "stddev", "ratio", "quantile", "median",
        "min", "max", "mode", "top_k", "best", "marginals", "density",
    }
)  # fmt: skip
