"""Sentences that may be quoted: chosen by the noisy figures, and true together.

A family of statements is fixed before any figure is seen: that each cell lies within its interval,
and that each difference of two linear cells of a column does. Each of n statements has alpha/n, so
that all hold with 1 - alpha (Bonferroni); what is said follows from them. That two groups can't be
told apart says nothing of the truth. Labels of a column are alike to noise, so one half-width
serves for all its cells, and one for all its differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import Interval, bound_error, mean_interval
from dprelease.language import say, word
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.sections.document import Bullets, Paragraph, Section

MOST_COLUMNS = 12
MOST_CELLS = 40
MOST_ALIKE = 3


class Ranked(NamedTuple):
    """A column's cells with their intervals, and how far two must be apart; None of means."""

    figures: Figures
    cells: tuple[Interval, ...]
    apart_from: Fraction | None

    def differ(self, higher: int, lower: int) -> bool:
        """Check whether the first cell is clearly more than the second."""
        higher_cell, lower_cell = self.cells[higher], self.cells[lower]
        if self.apart_from is None:
            return higher_cell.low > lower_cell.high
        return higher_cell.value - lower_cell.value > self.apart_from


def build_quotable_section(published: Published, level: float) -> Section | None:
    """Lay out sentences on the figures; None where there is nothing to say."""
    sentences = tuple(iter_quotable(published, 1 - Fraction(str(level)) / 100))
    if not sentences:
        return None
    lead = say("quotable.note", level=level)
    name = say("quotable.title")
    return Section("quotable", name, name, (Paragraph(lead), Bullets(sentences)))


def iter_quotable(published: Published, alpha: Fraction) -> Iterator[str]:
    """Say which groups have most and least; all is true together but for a chance of alpha."""
    columns = [figures for figures in published.figures if _is_subject(figures)][:MOST_COLUMNS]
    # a statement on each cell, and of linear figures on each two
    statements = sum(
        len(figures.rows) + (comb(len(figures.rows), 2) if figures.terms else 0)
        for figures in columns
    )
    for figures in columns:
        ranked = _rank_cells(published, figures, alpha / statements)
        if ranked is not None:
            yield from _iter_sentences(ranked)


def _is_subject(figures: Figures) -> bool:
    """Check, by the plan alone, whether statements are made about the column."""
    groups = len(figures.groups) <= 1 and 0 < len(figures.rows) <= MOST_CELLS
    as_released = figures.query.finishing is None
    return groups and as_released and not figures.is_behind and bool(figures.terms or figures.share)


def _rank_cells(published: Published, figures: Figures, alpha: Fraction) -> Ranked | None:
    if any(value is None for value in figures.values):
        return None
    if figures.terms is None:
        means = [mean_interval(published, figures, [p], alpha) for p in range(len(figures.rows))]
        cells = tuple(mean for mean in means if mean is not None)
        return Ranked(figures, cells, None) if len(cells) == len(means) else None
    difference = {0: Fraction(1), 1: Fraction(-1)}
    wide = Fraction(0)
    try:
        half = bound_error(alpha, (published, [(figures, {0: Fraction(1)})]))
        if len(figures.rows) > 1:
            wide = bound_error(alpha, (published, [(figures, difference)]))
    except ValueError:  # too large
        return None
    values = [value for value in figures.values if value is not None]
    cells = tuple(Interval(value, value - half, value + half) for value in values)
    return Ranked(figures, cells, wide)


def _iter_sentences(ranked: Ranked) -> Iterator[str]:
    figures, cells = ranked.figures, ranked.cells
    if len(cells) == 1:
        value, _, low, high = write_interval(cells[0])
        yield say(
            "quotable.figure",
            figure=figures.title, value=_format_with_unit(value, figures), low=low, high=high
        )  # fmt: skip
        return
    order = sorted(range(len(cells)), key=lambda place: (-cells[place].value, place))
    yield from _word_extreme(ranked, order, highest=True)
    if len(cells) > 2:
        yield from _word_extreme(ranked, order[::-1], highest=False)


def _word_extreme(ranked: Ranked, order: Sequence[int], *, highest: bool) -> Iterator[str]:
    first, *rest = order
    figures = ranked.figures
    alike = [
        place
        for place in rest
        if not (ranked.differ(first, place) if highest else ranked.differ(place, first))
    ]
    keys = [figures.rows[place][0] for place in (first, *alike)]
    labels = [figures.labels.get(key, key) for key in keys]
    value, _, low, high = write_interval(ranked.cells[first])
    words = {
        "figure": figures.title, "group": figures.group_title, "label": labels[0],
        "value": _format_with_unit(value, figures), "low": low, "high": high,
    }  # fmt: skip
    if not alike and highest:
        yield say("quotable.highest", **words)
    elif not alike:
        yield say("quotable.lowest", **words)
    elif len(alike) < MOST_ALIKE:
        words["label"] = word(join_names(labels))
        if highest:
            yield say("quotable.highest_unknown", **words)
        else:
            yield say("quotable.lowest_unknown", **words)


def _format_with_unit(value: str, figures: Figures) -> str:
    unit = figures.unit_text
    return value if unit is None else say("quotable.with_unit", value=value, unit=unit)
