"""How to read and use the figures, and how errors of a published release are put right.

Sentences for a data user; only what this release has. A release can't know of what comes after it:
who would, is said here. Examples of use are expressions that ``dprelease combine`` takes, with what
they give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.expression import combine
from dprelease.errors import Failure
from dprelease.language import say, say_count, word
from dprelease.model.outputs import get_ending
from dprelease.model.queries import name_column
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.charts.noises import join_alternatives
from dprelease.reports.model.report_model import Query, ReportFacts
from dprelease.reports.sections.document import Bullets, Paragraph, Section, Table
from dprelease.reports.text.shown_names import join_columns
from dprelease.reports.text.shown_numbers import format_number, shorten
from dprelease.statistics.statistic_registry import STATISTICS

MOST_ROWS = 1000  # of a table that examples are made of: their exact sums take 0.1 s for so many


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
    weighted = [query.name for query in facts.queries if query.survey_weight]
    if weighted:
        yield say("reading.weighted", names=join_columns(weighted))
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
    together = [query.name for query in facts.queries if query.together]
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
    if undeclared := _list_undeclared(facts, added):
        yield say("reading.add_up.left_out", columns=join_names(undeclared))
    yield from _explain_finishing(facts)
    if together:
        yield say("reading.planned_together", names=join_columns(together))
    # Without a law of the noise, `combine` adds up no cells.
    if names := [query.name for query in added if not query.together and query.linear]:
        yield say("reading.combine_cells", names=join_columns(names))
    yield from _explain_additivity(facts)
    plural = say("words.people") if facts.meaning.of == "person" else say("words.rows")
    limit = facts.deployment.privacy_unit.groups_per_unit
    overlapping = [statistic for statistic in statistics if statistic.is_overlapping(limit)]
    if names := [plural if row.counts_units else say(row.counts) for row in overlapping]:
        yield say("reading.overlap", names=join_alternatives(names))
    if any(row.overlaps and row not in overlapping for row in statistics):
        yield say("reading.overlap_of_tables")
    yield say("reading.rounded")
    yield say("reading.flag.low_reliability")
    if any("_count" in statistic.suffixes or statistic.in_ranks for statistic in statistics):
        yield say("reading.flag.empty")
    if facts.deployment.privacy_unit.bounding is not None:
        scales = {query.clipping is not None for query in facts.queries}
        flags = {False: "reading.flag.bounded", True: "reading.flag.clipped"}
        yield from (say(flags[is_scaled]) for is_scaled in sorted(scales))
    if any(finish is not None and finish.publish_if for finish in finishes):
        yield say("reading.flag.suppressed")


def _list_undeclared(facts: ReportFacts, added: Sequence[Query]) -> list[str]:
    """List the columns by which records can be in no row of a table, but in its totals."""
    grouped = {name for query in added for name in query.by}
    if not any(not query.by for query in added):
        return []
    return [
        column.name
        for column in facts.columns
        if column.name in grouped
        and not column.private_keys
        and column.state_of is None
        and (column.nulls == "drop" or (column.other is None and column.type != "boolean"))
    ]


def _of_shares(facts: ReportFacts) -> Iterator[str]:
    """Say what shares are of: all records, in releases of before."""
    names_by_base: dict[bool, list[str]] = {True: [], False: []}
    for query in facts.queries:
        if STATISTICS[query.statistic].keys.where_is_numerator:
            names_by_base[query.among is None].append(query.name)
    if names_by_base[False]:
        yield say("reading.shares.of_known", names=join_columns(names_by_base[False]))
    if names_by_base[True]:
        yield say("reading.shares.of_all", names=join_columns(names_by_base[True]))


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
        query.name
        for query in facts.queries
        for statistic in [STATISTICS[query.statistic]]
        if not (statistic.adds_up or statistic.counts or statistic.names)
    ]
    if names:
        yield say("reading.no_sum", names=join_columns(names))


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


# --- how to use them ------------------------------------------------------------------------------


def build_use_section(facts: ReportFacts, published: Published, level: float) -> Section | None:
    """Lay out examples of use; None where no figure has a noise interval."""
    misses = tuple(_describe_misses(facts, level))
    if not misses:
        return None
    alpha = 1 - Fraction(facts.provenance.interval)
    rows = tuple(_iter_examples(published, alpha))
    name = say("use.title")
    parts: list[Paragraph | Table | Bullets] = []
    if rows:
        lead = say("use.note")
        caption = say("use.table.title")
        head = (
            say("use.table.what"),
            say("use.table.expression"),
            say("use.table.result"),
            say("use.table.interval"),
        )
        parts = [Paragraph(lead), Table("use-table", caption, head, rows, (2, 3))]
    finishings = tuple(query.finishing for query in facts.queries if query.finishing)
    notes = [*misses]
    if rows and any(f.consistent or f.nonnegative or f.integer or f.round_to for f in finishings):
        notes.append(say("use.raw"))
    return Section("use", name, name, (*parts, Bullets(tuple(notes), code=True)))


def _describe_misses(facts: ReportFacts, level: float) -> Iterator[str]:
    """Say how many of the intervals miss, if all are as good as they say."""
    halves = sum(
        table.rows
        for table in facts.tables
        for column in table.columns
        if get_ending(column.name, column.query) == "_noise_moe"
    )
    if halves:
        expected = max(halves * (100 - level) / 100, 1)
        yield say_count(
            halves,
            "use.intervals",
            share=round(100 - level, 6),
            level=level,
            expected=expected,
            # About one release in ten has as many.
            many=math.floor(expected + 1.5 * math.sqrt(expected)),
        )


def _iter_examples(published: Published, alpha: Fraction) -> Iterator[tuple[str, str, str, str]]:
    names: dict[str, str] = {}
    for figures in published.figures:
        if 1 < len(figures.rows) <= MOST_ROWS and not any(
            value is None for value in figures.values
        ):
            adds_up = STATISTICS[figures.query.statistic].adds_up and figures.terms
            if adds_up and "sums" not in names:
                names |= {"sums": "", **_describe_sums(figures)}
            elif figures.share is not None and "means" not in names:
                text = f"mean({figures.table}.{figures.name})"
                names |= {"means": "", text: say("use.example.mean")}
    for text, description in names.items():
        if description:
            try:
                _, interval = combine(published, text, alpha)
            except Failure:  # such as a total that can't be told from 0
                continue
            value, half, low, high = write_interval(interval)
            between = say("use.range", low=low, high=high)
            yield description, text, f"{value} ± {half}", between


def _describe_sums(figures: Figures) -> dict[str, str]:
    name, group = f"{figures.table}.{figures.name}", figures.groups[0]
    labels = list(dict.fromkeys(row[0] for row in figures.rows))
    cells = f"sum({name})"
    examples = {cells: say("use.example.sum")}
    if len(labels) > 1:
        quoted = (label.replace("\\", "\\\\").replace('"', '\\"') for label in labels[:2])
        first_sum, second_sum = (f'sum({name}[{group}="{label}"])' for label in quoted)
        examples[f"{first_sum} - {second_sum}"] = say("use.example.difference")
        examples[f"100 * {first_sum} / {cells}"] = say("use.example.share")
    return examples


# --- errors ---------------------------------------------------------------------------------------


def build_errata_section(facts: ReportFacts) -> Section:
    """Say how errors are put right."""
    lines = Bullets(tuple(iter_errata_words(facts)))
    return Section("errata", say("errors.title"), say("errors.short_title"), (lines,))


def iter_errata_words(facts: ReportFacts) -> Iterator[str]:
    """Say what is no error, whom to tell of one, what a correction costs and how to know it."""
    basic, provenance = facts.deployment.basic, facts.provenance
    beyond = 100 * (1 - Decimal(provenance.interval))
    yield say("errors.noise", n=Decimal(f"{beyond.normalize():f}"))
    contact = basic.contact or basic.data_curator
    known = say("errors.contact", contact=contact) if contact else say("errors.no_contact")
    yield say("errors.ask_there", contact=known)
    yield say("errors.words")
    epsilon, delta = facts.accounting.epsilon, facts.accounting.delta
    spent = {"epsilon": format_number(shorten(epsilon)), "delta": format_number(shorten(delta))}
    cost = say("words.epsilon_and_delta" if delta else "words.epsilon_of", **spent)
    yield say("errors.figures", cost=cost)
    yield say("errors.no_difference")
    yield say("errors.name_the_run", run=provenance.run_id)
