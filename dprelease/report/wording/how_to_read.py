"""How to read the figures, in sentences for a data user; only what this release has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]


def reading_words(report: Facts) -> Iterator[str]:
    """Say what intervals cover, why counts are negative and totals differ, and how to add up.

    Names of columns stand between backticks.
    """
    level = float(report["provenance"]["interval"]) * 100
    yield (
        f"`_noise_moe` is the half-width of the noise interval: in at least {level:g} of 100 "
        "releases the figure without noise lies within it. It does not cover sampling, coverage "
        "or measurement error, nor what clamping to the bounds does."
    )
    yield from _choices(report["queries"], level)
    yield "A count can be negative: noise was added to a small number."
    yield "Cells do not add up to totals released by another query: each has noise of its own."
    yield (
        "To combine cells, add the values; the half-width of a sum of n cells is about the "
        "half-width of one cell times the square root of n."
    )
    yield from _units(report)
    yield "The tables above show the beginning, rounded; the files hold all."
    yield "`_flag` is `low_reliability` where the noise is large beside the figure, else `ok`."


def _choices(queries: Sequence[Facts], level: float) -> Iterator[str]:
    if any(query["statistic"] in {"mode", "top_k", "best"} for query in queries):
        yield (
            "Beside a name that was chosen, `_noise_moe` is by how much its score may fall short "
            f"of the best one's (of its rank's, if several are named), with {level:g}% certainty; "
            "its `_flag` is empty where nothing but the name was released."
        )
    if any(query["form"] == "quantiles" for query in queries):
        yield (
            "Beside a quantile, `_rank_moe` says within how many ranks it is right: if 1,000 "
            "values are put in order, a median is right where number 500 stands. Its `_noise_moe` "
            "and `_flag` are empty, for how far a rank is in values is private."
        )
    if any(query["statistic"] == "ratio" for query in queries):
        yield (
            "A ratio is empty where its denominator can't be told from 0. Its interval holds as "
            "stated over all cells, empty ones counted as held: of ratios that are shown with a "
            "denominator near its noise, more are wrong."
        )


def _units(report: Facts) -> Iterator[str]:
    counted = {query["statistic"] for query in report["queries"]}
    many = "people" if report["meaning"]["of"] == "person" else "rows"
    names = {"count_units": f"of {many}", "count_distinct": "of different values"}
    found = [named for statistic, named in names.items() if statistic in counted]
    if found:
        yield (
            f"Numbers {' or '.join(found)} are not for adding up: one that is in two cells counts "
            "in both."
        )
