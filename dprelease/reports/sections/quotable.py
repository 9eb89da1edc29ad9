"""Sentences that may be quoted: chosen by the noisy figures, and true together.

A family of statements is fixed before any figure is seen: that each cell lies within its interval,
and that each difference of two cells of a column does. Each of n statements has alpha/n, so
that all hold with 1 - alpha (Bonferroni); what is said follows from them. That two groups can't be
told apart says nothing of the truth. Labels of a column are alike to noise, so one half-width
serves for all its cells, and one for all its differences; those of means have their own.

A quotation carries no caveat, so there is none on figures that need one: of people whose rows are
limited, of a weighted survey, of data quality, and on the highest of bins that are not equally wide
(``_is_subject``). Values that the spec's bounds may have moved are said to be counted within them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import (
    Interval,
    MeanTerm,
    bound_error,
    bound_mean_errors,
    mean_interval,
)
from dprelease.language import say, word
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.model.report_model import Column, ReportFacts
from dprelease.reports.sections.document import Bullets, Paragraph, Section
from dprelease.reports.text.shown_names import have_equal_widths
from dprelease.reports.text.shown_numbers import format_number
from dprelease.statistics.statistic_registry import STATISTICS

MOST_COLUMNS = 12
MOST_CELLS = 40
MOST_ALIKE = 3
"""So many groups that can't be told apart are named."""

TRUTH_VALUES = {"true", "false"}


class Quotation(NamedTuple):
    """A sentence to quote, and the column of a published table that it is about."""

    table: str
    column: str
    text: str


class Ranked(NamedTuple):
    """A column's cells with their intervals, and how far two must be apart; None of means.

    ``shown``: half-width that the figures are rounded by, which is that of the published table.
    ``part``: the chance that a statement fails.
    """

    published: Published
    figures: Figures
    cells: tuple[Interval, ...]
    apart_from: Fraction | None
    shown: Fraction
    part: Fraction

    def differ(self, higher: int, lower: int) -> bool:
        """Check whether the first cell is clearly more than the second."""
        higher_cell, lower_cell = self.cells[higher], self.cells[lower]
        difference = higher_cell.value - lower_cell.value
        if self.apart_from is not None:
            return difference > self.apart_from
        if higher_cell.low > lower_cell.high:
            return True
        # A difference errs about as the root of both squares: of less nothing is computed.
        if difference**2 <= higher_cell.half**2 + lower_cell.half**2:
            return False
        one = Fraction(1)
        means = [
            MeanTerm(self.published, self.figures, [place], weight)
            for place, weight in ((higher, one), (lower, -one))
        ]
        apart = bound_mean_errors(means, self.part)
        return apart is not None and difference > apart


def build_quotable_section(quotations: Sequence[Quotation], level: float) -> Section | None:
    """Lay out sentences on the figures; None where there is nothing to say."""
    sentences = tuple(said.text for said in quotations)
    if not sentences:
        return None
    lead = say("quotable.note", level=level)
    name = say("quotable.title")
    return Section("quotable", name, name, (Paragraph(lead), Bullets(sentences)))


def iter_quotable(facts: ReportFacts, published: Published, alpha: Fraction) -> Iterator[Quotation]:
    """Say which groups have most and least; all is true together but for a chance of alpha."""
    declared = {column.name: column for column in facts.columns}
    columns = [figures for figures in published.figures if _is_subject(facts, declared, figures)]
    # Totals first: they are what readers look for.
    columns = sorted(columns, key=lambda figures: len(figures.rows) > 1)[:MOST_COLUMNS]
    # a statement on each cell, and on each two
    statements = sum(len(figures.rows) + comb(len(figures.rows), 2) for figures in columns)
    for figures in columns:
        ranked = _rank_cells(published, figures, alpha, statements)
        if ranked is not None:
            for text in _iter_sentences(ranked, declared):
                yield Quotation(figures.table, figures.name, text)


def _is_subject(facts: ReportFacts, declared: Mapping[str, Column], figures: Figures) -> bool:
    """Check, by the plan alone, whether statements are made about the column."""
    query = figures.query
    grouping = [declared.get(name) for name in query.by]
    statistic = STATISTICS[query.statistic]
    has_few_cells = len(figures.groups) <= 1 and 0 < len(figures.rows) <= MOST_CELLS
    is_known = bool(figures.terms or figures.share) and not figures.is_behind
    # What a person adds is limited, but to a total of people, in which each is counted once.
    is_limited = facts.deployment.privacy_unit.unit_column is not None and (
        not statistic.counts_units or bool(figures.groups)
    )
    return (
        has_few_cells
        and is_known
        and not is_limited
        and query.finishing is None
        and query.survey_weight is None
        and (statistic.adds_up or bool(figures.share) or not figures.groups)
        and not any(column is not None and column.state_of is not None for column in grouping)
        and have_equal_widths([row[0] for row in figures.rows if row])
    )


def _rank_cells(
    published: Published, figures: Figures, alpha: Fraction, statements: int
) -> Ranked | None:
    """Give the cells their intervals, each of which fails with a chance of alpha/statements."""
    if any(value is None for value in figures.values):
        return None
    part = alpha / statements
    if figures.terms is None:
        means = [mean_interval(published, figures, [p], part) for p in range(len(figures.rows))]
        cells = tuple(mean for mean in means if mean is not None)
        if len(cells) < len(means):
            return None
        own = [mean_interval(published, figures, [p], alpha) for p in range(len(figures.rows))]
        shown = max(mean.half for mean in own if mean is not None)
        return Ranked(published, figures, cells, None, shown, part)
    difference = {0: Fraction(1), 1: Fraction(-1)}
    wide = Fraction(0)
    try:
        shown, half = (
            bound_error(chance, (published, [(figures, {0: Fraction(1)})]))
            for chance in (alpha, part)
        )
        if len(figures.rows) > 1:
            wide = bound_error(part, (published, [(figures, difference)]))
    except ValueError:  # too large
        return None
    values = [value for value in figures.values if value is not None]
    cells = tuple(Interval(value, value - half, value + half) for value in values)
    return Ranked(published, figures, cells, wide, shown, part)


def _iter_sentences(ranked: Ranked, declared: Mapping[str, Column]) -> Iterator[str]:
    cells = ranked.cells
    column = declared.get(ranked.figures.query.column or "")
    if len(cells) == 1:
        yield say("quotable.figure", **_write_words(ranked, 0, column))
        return
    order = sorted(range(len(cells)), key=lambda place: (-cells[place].value, place))
    yield _word_extreme(ranked, order, column, highest=True)
    if len(cells) > 2:
        yield _word_extreme(ranked, order[::-1], column, highest=False)


def _word_extreme(
    ranked: Ranked, order: Sequence[int], column: Column | None, *, highest: bool
) -> str:
    first, *rest = order
    figures = ranked.figures
    alike = [
        place
        for place in rest
        if not (ranked.differ(first, place) if highest else ranked.differ(place, first))
    ]
    if not alike:
        words = _write_words(ranked, first, column)
        return say("quotable.highest", **words) if highest else say("quotable.lowest", **words)
    unknown = {"figure": figures.title, "group": figures.group_title}
    if len(alike) < MOST_ALIKE:
        labels = word(join_names([_name_group(figures, place) for place in (first, *alike)]))
        if highest:
            return say("quotable.highest_of", **unknown, labels=labels)
        return say("quotable.lowest_of", **unknown, labels=labels)
    return say("quotable.no_highest" if highest else "quotable.no_lowest", **unknown)


def _name_group(figures: Figures, place: int) -> str:
    key = figures.rows[place][0]
    return figures.labels[0].get(key, key)


def _write_words(ranked: Ranked, place: int, column: Column | None) -> dict[str, str]:
    """Write a cell for a sentence, cut to what is possible, with the bounds of its values."""
    figures = ranked.figures
    statistic = STATISTICS[figures.query.statistic]
    least, most = _bound_figure(figures, column)
    ends_and_value: Iterable[Fraction] = ranked.cells[place]
    if least is not None:
        ends_and_value = [max(end, least) for end in ends_and_value]
    if most is not None:
        ends_and_value = [min(end, most) for end in ends_and_value]
    interval = Interval(*ends_and_value)
    shown, percent = ranked.shown, statistic.keys.where_is_numerator
    if percent:
        # A tenth of a percent is as much as a sentence carries.
        interval = Interval(*(100 * end for end in interval))
        shown = max(100 * shown, Fraction(1))
    value, _, *ends = write_interval(interval, shown)
    if percent:
        value, *ends = (say("words.percent", share=number) for number in (value, *ends))
    elif figures.unit_text is not None:
        value = say("quotable.with_unit", value=value, unit=figures.unit_text)
    remark = ""
    if statistic.keys.column.is_numeric and column is not None and column.lower is not None:
        bounds = format_number(column.lower), format_number(column.upper or 0)
        remark = say("quotable.within", lower=bounds[0], upper=bounds[1])
    words = {"figure": figures.title, "value": value, "remark": remark}
    words |= {"low": ends[0], "high": ends[1]}
    if figures.groups:
        label = _name_group(figures, place)
        # "urgent true" reads as a name.
        group = "quotable.truth" if label in TRUTH_VALUES else "quotable.group"
        words["group"] = say(group, group=figures.group_title, label=label)
    return words


def _bound_figure(
    figures: Figures, column: Column | None
) -> tuple[Fraction | None, Fraction | None]:
    """Give what the figure without noise can't be below or above, whatever the data."""
    if figures.share is not None:
        return figures.share.low, figures.share.high
    if STATISTICS[figures.query.statistic].counts:
        return Fraction(0), None
    if column is None or column.lower is None or column.upper is None:
        return None, None
    return (
        Fraction(0) if column.lower >= 0 else None,
        Fraction(0) if column.upper <= 0 else None,
    )
