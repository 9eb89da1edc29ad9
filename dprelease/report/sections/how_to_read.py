"""How to read the figures, and how errors of a published release are put right.

Sentences for a data user; only what this release has. A release can't know of what comes after it:
who would, is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dprelease.report.document import Bullets, Section
from dprelease.report.facts.model import Basic, Query, ReportFacts
from dprelease.report.numbers import shortened, written


def how_to_read_section(facts: ReportFacts) -> Section:
    """Say how to read the figures."""
    lines = Bullets(tuple(reading_words(facts)), code=True)
    return Section("reading", "How to read the figures", "How to read them", (lines,))


def errata_section(facts: ReportFacts) -> Section:
    """Say how errors are put right."""
    lines = Bullets(tuple(errata_words(facts)))
    return Section("errata", "Errors and corrections", "Errors", (lines,))


def reading_words(facts: ReportFacts) -> Iterator[str]:
    """Say what intervals cover, why counts are negative and totals differ, and how to add up.

    Names of columns stand between backticks.
    """
    level = float(facts.provenance.interval) * 100
    yield (
        f"`_noise_moe` is the half-width of the noise interval: in at least {level:g} of 100 "
        "releases the figure without noise lies within it. It does not cover sampling, coverage "
        "or measurement error, nor what clamping to the bounds does."
    )
    yield from _choices(facts.queries, level)
    yield "A count can be negative: noise was added to a small number."
    yield "Cells do not add up to totals released by another query: each has noise of its own."
    yield (
        "To combine cells, add the values; the half-width of a sum of n cells is about the "
        "half-width of one cell times the square root of n."
    )
    yield from _units(facts)
    yield "The tables above show the beginning, rounded; the files hold all."
    yield "`_flag` is `low_reliability` where the noise is large beside the figure, else `ok`."


def _choices(queries: Sequence[Query], level: float) -> Iterator[str]:
    if any(query.statistic in {"mode", "top_k", "best"} for query in queries):
        yield (
            "Beside a name that was chosen, `_noise_moe` is by how much its score may fall short "
            f"of the best one's (of its rank's, if several are named), with {level:g}% certainty; "
            "its `_flag` is empty where nothing but the name was released."
        )
    if any(query.form == "quantiles" for query in queries):
        yield (
            "Beside a quantile, `_rank_moe` says within how many ranks it is right: if 1,000 "
            "values are put in order, a median is right where number 500 stands. Its `_noise_moe` "
            "and `_flag` are empty, for how far a rank is in values is private."
        )
    if any(query.statistic == "ratio" for query in queries):
        yield (
            "A ratio is empty where its denominator can't be told from 0. Its interval holds as "
            "stated over all cells, empty ones counted as held: of ratios that are shown with a "
            "denominator near its noise, more are wrong."
        )


def _units(facts: ReportFacts) -> Iterator[str]:
    counted = {query.statistic for query in facts.queries}
    many = "people" if facts.meaning.of == "person" else "rows"
    names = {"count_units": f"of {many}", "count_distinct": "of different values"}
    units = [unit for statistic, unit in names.items() if statistic in counted]
    if units:
        yield (
            f"Numbers {' or '.join(units)} are not for adding up: one that is in two cells counts "
            "in both."
        )


def errata_words(facts: ReportFacts) -> Iterator[str]:
    """Say what is no error, whom to tell of one, what a correction costs and how to know it."""
    basic, provenance = facts.deployment.basic, facts.provenance
    beyond = 100 * (1 - Decimal(provenance.interval))
    yield (
        "Noise is no error, and is never corrected: in up to "
        f"{beyond.normalize():f} of 100 releases a figure is off by more than its noise interval."
    )
    yield (
        f"{_whom(basic)} Ask there too whether there are corrections, and where they are listed: "
        "this report was written with the release, and nothing is added to it later."
    )
    yield (
        "Wrong words, such as a title or the source of a bound, are put right at no cost: the "
        "report is written again, with the same run and the same figures."
    )
    yield (
        "Wrong figures (wrong data, bounds, groups or conditions) can only be put right by another "
        "release: it is a run of its own, draws new noise, and spends again, on top of the "
        f"{_spent(facts)} of this one. What was published stays known: also when it is withdrawn, "
        "none of that is given back."
    )
    yield (
        "A figure and its correction hold noise of their own, each: how far they are apart does "
        "not say how large the error was."
    )
    yield (
        f"Where figures of this release are used, name its run, {provenance.run_id}, so that it "
        "can be told from a correction."
    )


def _whom(basic: Basic) -> str:
    if basic.contact:
        return f"Errors are to be told to {basic.contact}, the contact of this release."
    if basic.data_curator:
        return f"The spec names no contact: errors are to be told to {basic.data_curator}."
    return "The spec names no contact: errors are to be told to whoever published these files."


def _spent(facts: ReportFacts) -> str:
    spent = facts.accounting
    delta = f" and delta {written(shortened(spent.delta))}" if spent.delta else ""
    return f"epsilon {written(shortened(spent.epsilon))}{delta}"
