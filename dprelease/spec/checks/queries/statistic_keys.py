"""What each statistic takes in the spec, and which columns it publishes."""

from __future__ import annotations

from typing import NamedTuple

from dprelease.model import Query
from dprelease.spec.schema.fields import quantile_suffix

ESTIMATE = ("", "_noise_moe", "_flag")
_COUNT = ("_count", "_count_noise_moe")
_COUNTED = (*ESTIMATE, *_COUNT)
_SPREAD = (*ESTIMATE, "_mean", "_mean_noise_moe", *_COUNT)
_RANKED = (*ESTIMATE, "_rank_moe")

# What can be given by another key instead.
INSTEAD = {"candidates": "candidates_file"}

# Keys that only some statistics take, with an example of each.
OWN_KEYS = {
    "q": "q = 0.5, or a list such as q = [0.25, 0.5, 0.75]",
    "k": "how many values to name, such as k = 3",
    "candidates": "the values to choose from: numbers or texts; or candidates_file",
    "candidates_file": "a file with one candidate a line",
    "score": 'score = "...": what a record adds to the score of `candidate`',
    "score_upper": "the most that one record can add to a score",
    "score_step": "leave it out",
    "numerator": 'numerator = { column = "..." } for a sum, or a condition for a count',
    "denominator": 'denominator = { column = "..." } for a sum, or a condition for a count',
}


class StatisticKeys(NamedTuple):
    """``column``: it needs one; ``numeric``: with bounds; ``groups``: its column is a group.

    ``chooses``: among the public values of its column. Of ``OWN_KEYS`` it ``needs`` some and
    ``may`` take others. ``mechanisms`` are those it can use. ``suffixes`` are those of the
    published columns, after the query's name, unless ``suffixes_of`` says more.
    """

    column: bool = False
    numeric: bool = False
    groups: bool = False
    chooses: bool = False
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ("auto", "laplace", "gaussian")
    suffixes: tuple[str, ...] = ESTIMATE


_CHOICE = ("auto", "exponential")
_LISTS = ("candidates", "candidates_file")
_SUM = StatisticKeys(column=True, numeric=True)
_QUANTILE = StatisticKeys(
    column=True, numeric=True, may=_LISTS, mechanisms=_CHOICE, suffixes=_RANKED
)

STATISTICS: dict[str, StatisticKeys] = {
    "count": StatisticKeys(),
    "count_units": StatisticKeys(),
    "count_distinct": StatisticKeys(column=True),
    "sum": _SUM,
    "mean": _SUM._replace(suffixes=_COUNTED),
    "variance": _SUM._replace(suffixes=_SPREAD),
    "stddev": _SUM._replace(suffixes=_SPREAD),
    "ratio": StatisticKeys(needs=("numerator", "denominator")),
    "proportion": StatisticKeys(suffixes=_COUNTED),
    "histogram": StatisticKeys(column=True, groups=True),
    "quantile": _QUANTILE._replace(needs=("q",)),
    "median": _QUANTILE,
    "min": _QUANTILE,
    "max": _QUANTILE,
    "mode": StatisticKeys(column=True, chooses=True, mechanisms=_CHOICE),
    "top_k": StatisticKeys(
        column=True,
        chooses=True,
        needs=("k",),
        mechanisms=("auto", "laplace", "exponential"),
        suffixes=("_1", "_noise_moe", "_flag"),
    ),
    "best": StatisticKeys(
        needs=("candidates", "score", "score_upper"),
        may=(*_LISTS, "score_step"),
        mechanisms=_CHOICE,
    ),
}

LATER_STATISTICS = frozenset({"marginals", "density"})


def suffixes_of(query: Query) -> tuple[str, ...]:
    """Give the suffixes of the columns that a query publishes, in order."""
    suffixes = STATISTICS[query.statistic].suffixes
    if query.statistic == "top_k":
        return (*(f"_{rank}" for rank in range(1, query.picks + 1)), *suffixes[1:])
    if len(query.quantiles) < 2:
        return suffixes
    names = [quantile_suffix(quantile) for quantile in query.quantiles]
    return tuple(name + suffix for name in names for suffix in suffixes)
