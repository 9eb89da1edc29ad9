"""How to read the figures, and how errors of a published release are put right.

Sentences for a data user; only what this release has. A release can't know of what comes after it:
who would, is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dprelease.language import say, word
from dprelease.model.queries import name_column
from dprelease.postprocess.intervals.number_text import join_few_names, join_names
from dprelease.reports.charts.noises import join_alternatives
from dprelease.reports.model.report_model import Basic, ReportFacts
from dprelease.reports.sections.document import Bullets, Section
from dprelease.reports.text.shown_numbers import format_number, shorten
from dprelease.statistics.statistic_registry import STATISTICS


def build_reading_section(facts: ReportFacts) -> Section:
    """Say how to read the figures."""
    lines = Bullets(tuple(_iter_reading_words(facts)), code=True)
    return Section("reading", say("reading.title"), say("reading.short_title"), (lines,))


def _iter_reading_words(facts: ReportFacts) -> Iterator[str]:
    """Say what intervals cover, why counts are negative and totals differ, and how to add up.

    Names of columns stand between backticks.
    """
    level = float(facts.provenance.interval) * 100
    yield say("reading.noise_moe", level=level)
    weighted = [name_column(query.name) for query in facts.queries if query.survey_weight]
    if weighted:
        yield say("reading.weighted", names=join_few_names(list(dict.fromkeys(weighted))))
        if facts.data.design_effect is not None:
            yield say("reading.design_effect", effect=facts.data.design_effect)
    if any(query.survey_weight and query.form == "quantiles" for query in facts.queries):
        yield say("reading.weighted_quantile")
    kinds = {query.statistic for query in facts.queries}
    statistics = [statistic for name, statistic in STATISTICS.items() if name in kinds]
    # of names and ranks first, then of what is added up
    words = (word(statistic.explain_reading(f"{level:g}")) for statistic in reversed(statistics))
    yield from filter(None, dict.fromkeys(words))
    yield from _of_shares(facts)
    finishes = [query.finishing for query in facts.queries]
    yield from _explain_negative(facts)
    added = [query for query in facts.queries if STATISTICS[query.statistic].adds_up]
    together = [name_column(query.name) for query in facts.queries if query.together]
    alone = [query.finishing for query in added if not query.together]
    disagreeing = [finish is None or not finish.consistent for finish in alone]
    if any(disagreeing):
        cells = (
            say("reading.add_up.cells_of_other_queries")
            if together
            else say("reading.add_up.cells")
        )
        of = say(
            "reading.add_up.totals_of_other_query"
            if all(disagreeing)
            else "reading.add_up.totals_unless_agreed"
        )
        yield say("reading.add_up.do_not", cells=cells, total=of)
    yield from _explain_finishing(facts)
    if together:
        yield from _explain_strategies(list(dict.fromkeys(together)))
    if alone:
        names = [name_column(query.name) for query in added if not query.together]
        yield say("reading.combine_cells", names=join_few_names(list(dict.fromkeys(names))))
    yield from _explain_additivity(facts)
    plural = say("words.people") if facts.meaning.of == "person" else say("words.rows")
    overlapping = [statistic for statistic in statistics if statistic.overlaps]
    if names := [plural if row.counts_units else say(row.counts) for row in overlapping]:
        yield say("reading.overlap", names=join_alternatives(names))
    yield say("reading.rounded")
    yield say("reading.flag.low_reliability")
    if any("_count" in statistic.suffixes or statistic.in_ranks for statistic in statistics):
        yield say("reading.flag.empty")
    if facts.deployment.privacy_unit.bounding is not None:
        yield say("reading.flag.bounded")
    if any(finish is not None and finish.publish_if for finish in finishes):
        yield say("reading.flag.suppressed")


def _of_shares(facts: ReportFacts) -> Iterator[str]:
    """Say what shares are of: all records, in releases of before."""
    names_by_base: dict[bool, list[str]] = {True: [], False: []}
    for query in facts.queries:
        if STATISTICS[query.statistic].keys.where_is_numerator:
            names_by_base[query.among is None].append(name_column(query.name))
    if names_by_base[False]:
        yield say(
            "reading.shares.of_known",
            names=join_few_names(list(dict.fromkeys(names_by_base[False]))),
        )
    if names_by_base[True]:
        yield say(
            "reading.shares.of_all", names=join_few_names(list(dict.fromkeys(names_by_base[True])))
        )


def _explain_negative(facts: ReportFacts) -> Iterator[str]:
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
        yield say("reading.negative.count")
    elif any(counts):
        yield say("reading.negative.count_unless_moved")
    if any(sums):
        yield say("reading.negative.sum")


def _explain_additivity(facts: ReportFacts) -> Iterator[str]:
    """Say which figures are not for adding up, but for those of which the statistic says more."""
    names = [
        name_column(query.name)
        for query in facts.queries
        for statistic in [STATISTICS[query.statistic]]
        if not (statistic.adds_up or statistic.counts or statistic.names)
    ]
    if names:
        yield say("reading.no_sum", names=join_few_names(list(dict.fromkeys(names))))


def _explain_strategies(names: Sequence[str]) -> Iterator[str]:
    """Say how figures that are planned together add up, and what noise their sums have."""
    yield say("reading.planned_together", names=join_few_names(names))


def _explain_finishing(facts: ReportFacts) -> Iterator[str]:
    """Say which figures agree, are at least 0, whole or rounded."""
    finishings = [
        (name_column(query.name), query.finishing) for query in facts.queries if query.finishing
    ]
    sentences = {
        say("reading.finished.agree"): [n for n, f in finishings if f.consistent],
        say("reading.finished.nonnegative"): [n for n, f in finishings if f.nonnegative],
        say("reading.finished.integer"): [n for n, f in finishings if f.integer],
        say("reading.finished.round"): [n for n, f in finishings if f.round_to],
    }
    for sentence, names in sentences.items():
        if names:
            yield say(
                "reading.finished.figures",
                names=join_names(list(dict.fromkeys(names))),
                change=sentence,
            )
    if any(f.consistent or f.nonnegative or f.integer for _, f in finishings):
        yield say("reading.finished.raw")


def build_errata_section(facts: ReportFacts) -> Section:
    """Say how errors are put right."""
    lines = Bullets(tuple(iter_errata_words(facts)))
    return Section("errata", say("errors.title"), say("errors.short_title"), (lines,))


def iter_errata_words(facts: ReportFacts) -> Iterator[str]:
    """Say what is no error, whom to tell of one, what a correction costs and how to know it."""
    basic, provenance = facts.deployment.basic, facts.provenance
    beyond = 100 * (1 - Decimal(provenance.interval))
    yield say("errors.noise", n=Decimal(f"{beyond.normalize():f}"))
    yield say("errors.ask_there", contact=_name_contact(basic))
    yield say("errors.words")
    yield say("errors.figures", cost=_describe_spent(facts))
    yield say("errors.no_difference")
    yield say("errors.name_the_run", run=provenance.run_id)


def _name_contact(basic: Basic) -> str:
    if basic.contact:
        return say("errors.contact", contact=basic.contact)
    if basic.data_curator:
        return say("errors.contact", contact=basic.data_curator)
    return say("errors.no_contact")


def _describe_spent(facts: ReportFacts) -> str:
    accounting = facts.accounting
    epsilon = format_number(shorten(accounting.epsilon))
    if not accounting.delta:
        return say("words.epsilon_of", epsilon=epsilon)
    return say(
        "words.epsilon_and_delta", epsilon=epsilon, delta=format_number(shorten(accounting.delta))
    )
