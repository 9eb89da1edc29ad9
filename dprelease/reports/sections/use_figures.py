"""How to use the figures, with this release's own: sums, differences, shares and weighted means.

Each is an expression that ``dprelease combine`` takes, with what it gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.expression import combine
from dprelease.errors import Failure
from dprelease.language import say, say_count
from dprelease.model.outputs import get_ending
from dprelease.reports.model.report_model import ReportFacts
from dprelease.reports.sections.document import Bullets, Paragraph, Section, Table
from dprelease.statistics.statistic_registry import get_statistic

MOST_ROWS = 1000  # of a table that examples are made of: their exact sums take 0.1 s for so many


def use_section(facts: ReportFacts, published: Published, level: float) -> Section | None:
    """Lay out examples of use; None where no figure has a noise interval."""
    misses = tuple(_describe_misses(facts, level))
    if not misses:
        return None
    alpha = 1 - Fraction(facts.provenance.interval)
    rows = tuple(_iter_rows(published, alpha))
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
        parts = [Paragraph(lead), Table("use-table", caption, head, rows)]
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
        expected = halves * (100 - level) / 100
        yield say_count(
            halves,
            "use.intervals",
            share=round(100 - level, 6),
            level=level,
            expected=max(expected, 1),
        )


def _iter_rows(published: Published, alpha: Fraction) -> Iterator[tuple[str, str, str, str]]:
    names: dict[str, str] = {}
    for figures in published.figures:
        if 1 < len(figures.rows) <= MOST_ROWS and not any(
            value is None for value in figures.values
        ):
            adds_up = get_statistic(figures.query.statistic).adds_up and figures.terms
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
        first_sum, second_sum = (f'sum({name}[{group}="{_escape(label)}"])' for label in labels[:2])
        examples[f"{first_sum} - {second_sum}"] = say("use.example.difference")
        examples[f"100 * {first_sum} / {cells}"] = say("use.example.share")
    return examples


def _escape(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"')
