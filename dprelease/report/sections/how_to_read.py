"""How to read the figures, and how errors of a published release are put right.

Sentences for a data user; only what this release has. A release can't know of what comes after it:
who would, is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dprelease.language import say
from dprelease.model.queries import column_name
from dprelease.postprocess.number_text import few, listing
from dprelease.report.document import Bullets, Section
from dprelease.report.facts.model import Basic, ReportFacts
from dprelease.report.numbers import shortened, written
from dprelease.statistics.registry import STATISTICS


def how_to_read_section(facts: ReportFacts) -> Section:
    """Say how to read the figures."""
    lines = Bullets(tuple(_reading_words(facts)), code=True)
    return Section("reading", say("How to read the figures"), say("How to read them"), (lines,))


def _reading_words(facts: ReportFacts) -> Iterator[str]:
    """Say what intervals cover, why counts are negative and totals differ, and how to add up.

    Names of columns stand between backticks.
    """
    level = float(facts.provenance.interval) * 100
    yield say(
        "`_noise_moe` is the half-width of the noise interval: in at least {level:g} of 100 "
        "releases the figure without noise lies within it. It does not cover sampling, coverage or "
        "measurement error, nor what clamping to the bounds does.",
        level=level,
    )
    weighted = [column_name(query.name) for query in facts.queries if query.survey_weight]
    if weighted:
        yield say(
            "Figures of {names} are weighted estimates for those whom the sample stands for. Their "
            "noise intervals do not hold the sampling error, which is a property of the survey's "
            "design and is to be added: see the survey's own documentation.",
            names=few(list(dict.fromkeys(weighted))),
        )
        if facts.data.design_effect is not None:
            yield say(
                "The survey's design effect is {effect:g}, as the spec states: the sampling "
                "variance of its estimates is so many times that of a simple random sample of as "
                "many records. What the noise adds is not in it.",
                effect=facts.data.design_effect,
            )
    if any(query.survey_weight and query.form == "quantiles" for query in facts.queries):
        yield say("Of a weighted quantile, a record takes as many ranks as its weight says.")
    used = {query.statistic for query in facts.queries}
    statistics = [statistic for name, statistic in STATISTICS.items() if name in used]
    # of names and ranks first, then of what is added up
    words = (statistic.how_to_read(f"{level:g}") for statistic in reversed(statistics))
    yield from filter(None, dict.fromkeys(words))
    yield from _of_shares(facts)
    finishes = [query.finishing for query in facts.queries]
    yield from _of_negative(facts)
    added = [query for query in facts.queries if STATISTICS[query.statistic].adds_up]
    together = [column_name(query.name) for query in facts.queries if query.together]
    alone = [query.finishing for query in added if not query.together]
    disagreeing = [finish is None or not finish.consistent for finish in alone]
    if any(disagreeing):
        cells = say("Cells of other queries") if together else say("Cells")
        unless = "" if all(disagreeing) else say(", unless both were made to agree")
        of = say("totals released by another query{unless}", unless=unless)
        yield say("{cells} do not add up to {of}: each has noise of its own.", cells=cells, of=of)
    yield from _of_finishing(facts)
    if together:
        yield from _of_strategies(list(dict.fromkeys(together)))
    if alone:
        names = [column_name(query.name) for query in added if not query.together]
        yield say(
            "To combine cells of {names}, add the values. The half-width of a sum of n cells is "
            "about the half-width of one cell times the square root of n.",
            names=few(list(dict.fromkeys(names))),
        )
    yield from _of_others(facts)
    many = say("people") if facts.meaning.of == "person" else say("rows")
    overlapping = (statistic.counts for statistic in statistics if statistic.overlaps)
    if names := [say(noun, units=many) for noun in overlapping]:
        yield say(
            "Numbers of {names} are not for adding up: one that is in two cells counts in both.",
            names=say(" or ").join(names),
        )
    yield say(
        "The tables above are rounded, and of long ones they show the beginning; the files hold "
        "all."
    )
    yield say("`_flag` is `low_reliability` where the noise is large beside the figure, else `ok`.")
    if any("_count" in statistic.suffixes or statistic.in_ranks for statistic in statistics):
        yield say(
            "A share, mean, spread or quantile is empty, and `low_reliability`, where the count of "
            "its records is within its noise of 0: there may be none."
        )
    if facts.deployment.privacy_unit.bounding is not None:
        yield say(
            "`bounded` stands in place of `ok` or of an empty flag, and before `low_reliability`, "
            "where rows beyond the limits of a unit are cut."
        )
    if any(finish is not None and finish.publish_if for finish in finishes):
        yield say(
            "`_flag` is `suppressed` where a figure is not shown. That is for reliability, not for "
            "privacy: totals and other tables may tell it."
        )


def _of_shares(facts: ReportFacts) -> Iterator[str]:
    """Say what shares are of: all records, in releases of before."""
    every: dict[bool, list[str]] = {True: [], False: []}
    for query in facts.queries:
        if query.statistic == "proportion":
            every[query.among is None].append(column_name(query.name))
    if every[False]:
        yield say(
            "Shares of {names} are of the records for which it is known whether they fulfil the "
            "condition. `_count` tells their number, or the sum of their weights, with noise.",
            names=few(list(dict.fromkeys(every[False]))),
        )
    if every[True]:
        yield say(
            "Shares of {names} are of all records. `_count` tells their number, or the sum of "
            "their weights, with noise.",
            names=few(list(dict.fromkeys(every[True]))),
        )


def _of_negative(facts: ReportFacts) -> Iterator[str]:
    """Say which figures can be negative by their noise; means and shares stay in their bounds."""
    counts: list[bool] = []
    sums: list[bool] = []
    for query in facts.queries:
        statistic, moved = STATISTICS[query.statistic], query.finishing
        signed = moved is None or not moved.nonnegative
        if statistic.counts or "_count" in statistic.suffixes:
            counts.append(signed)
        elif statistic.adds_up:
            sums.append(signed)
    if any(counts) and all(counts):
        yield say("A count can be negative: noise was added to a small number.")
    elif any(counts):
        yield say(
            "A count can be negative, unless it was moved to 0 or more: noise was added to a small "
            "number."
        )
    if any(sums):
        yield say("A sum of positive values can be negative: noise was added to a small number.")


def _of_others(facts: ReportFacts) -> Iterator[str]:
    """Say which figures are not for adding up, but for those of which the statistic says more."""
    names = [
        column_name(query.name)
        for query in facts.queries
        for statistic in [STATISTICS[query.statistic]]
        if not (statistic.adds_up or statistic.counts or statistic.names)
    ]
    if names:
        yield say(
            "Figures of {names} are not for adding up: those of several cells together are no sum.",
            names=few(list(dict.fromkeys(names))),
        )


def _of_strategies(names: Sequence[str]) -> Iterator[str]:
    """Say how figures that are planned together add up, and what noise their sums have."""
    yield say(
        "Planned together: {names}. Those over the same records add up to each other, but for "
        "records in no published group. Their noise is not independent: a sum over all labels of a "
        "group that leaves no record out has the noise of the table without it. The half-width of "
        "a sum of n cells is at most n times that of one; report.json tells it exactly "
        "(`strategies`).",
        names=few(names),
    )


def _of_finishing(facts: ReportFacts) -> Iterator[str]:
    """Say which figures agree, are at least 0, whole or rounded."""
    done = [
        (column_name(query.name), query.finishing) for query in facts.queries if query.finishing
    ]
    said = {
        say("agree with each other: cells add up to totals"): [n for n, f in done if f.consistent],
        say("were moved to 0 or more, and keep their total"): [n for n, f in done if f.nonnegative],
        say("were made whole so that totals are kept"): [n for n, f in done if f.integer],
        say("are rounded for display"): [n for n, f in done if f.round_to],
    }
    for what, names in said.items():
        if names:
            yield say(
                "Figures of {names} {what}.", names=listing(list(dict.fromkeys(names))), what=what
            )
    if any(f.consistent or f.nonnegative or f.integer for _, f in done):
        yield say(
            "Where figures were changed after the noise, `_noise_moe` is that of the noisy figure, "
            "which report.json holds as `raw`."
        )


def errata_section(facts: ReportFacts) -> Section:
    """Say how errors are put right."""
    lines = Bullets(tuple(errata_words(facts)))
    return Section("errata", say("Errors and corrections"), say("Errors"), (lines,))


def errata_words(facts: ReportFacts) -> Iterator[str]:
    """Say what is no error, whom to tell of one, what a correction costs and how to know it."""
    basic, provenance = facts.deployment.basic, facts.provenance
    beyond = 100 * (1 - Decimal(provenance.interval))
    yield say(
        "The added noise is deliberate. It is not an error and will not be corrected: in up to {n} "
        "of 100 releases a figure is off by more than its noise interval.",
        n=Decimal(f"{beyond.normalize():f}"),
    )
    yield say(
        "{basic} Ask there too whether there are corrections, and where they are listed: this "
        "report was written with the release, and nothing is added to it later.",
        basic=_whom(basic),
    )
    yield say(
        "Wrong words, such as a title or the source of a bound, are put right at no cost: the "
        "report is written again, with the same run and the same figures."
    )
    yield say(
        "Wrong figures (wrong data, bounds, groups or conditions) can only be put right by another "
        "release: it is a run of its own, draws new noise, and spends again, on top of the {facts} "
        "of this one. What was published stays known: also when it is withdrawn, none of that is "
        "given back.",
        facts=_spent(facts),
    )
    yield say(
        "A figure and its correction hold noise of their own, each: how far they are apart does "
        "not say how large the error was."
    )
    yield say(
        "Where figures of this release are used, name its run, {run_id}, so that it can be told "
        "from a correction.",
        run_id=provenance.run_id,
    )


def _whom(basic: Basic) -> str:
    if basic.contact:
        return say("Report errors to {contact}.", contact=basic.contact)
    if basic.data_curator:
        return say("Report errors to {contact}.", contact=basic.data_curator)
    return say("The spec names no contact. Report errors to whoever published these files.")


def _spent(facts: ReportFacts) -> str:
    spent = facts.accounting
    delta = say(" and delta {delta}", delta=written(shortened(spent.delta))) if spent.delta else ""
    return say("epsilon {epsilon}{delta}", epsilon=written(shortened(spent.epsilon)), delta=delta)
