"""What changed since the last release: its guarantee, its tables, their noise and their figures.

Two figures are compared where both releases state the law of their noise, which is independent:
of linear figures the difference has an exact law, of means and proportions the bound of
``combination.combined_intervals``. Each difference is judged on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import (
    Interval,
    MeanTerm,
    bound_error,
    bound_mean_errors,
    mean_interval,
)
from dprelease.model import OutputTable
from dprelease.reports.model.report_model import Changed, Changes, FigureChange, Query, ReportFacts
from dprelease.reports.text.shown_numbers import format_number, shorten

MOST_FIGURES = 100
ONE = {0: Fraction(1)}


class PreviousRelease(NamedTuple):
    """A published release: its report, and its figures."""

    facts: ReportFacts
    published: Published


def add_changes(
    facts: ReportFacts, previous: PreviousRelease, tables: Mapping[str, OutputTable]
) -> ReportFacts:
    """Add to a report what changed since the previous release."""
    published = Published(facts, tables)
    before, now = ({t.name for t in report.tables} for report in (previous.facts, facts))
    alpha = 1 - Fraction(facts.provenance.interval)
    redefined = dict(_find_redefined(previous.facts, facts))
    compared = [
        change
        for figures, change in _pair_figures(previous.published, published, alpha)
        if redefined.get(figures.query.name, True)
    ]
    changes = Changes(
        run_id=previous.facts.provenance.run_id,
        released_at=previous.facts.provenance.released_at,
        guarantee=tuple(_compare_guarantees(previous.facts, facts)),
        new_tables=tuple(sorted(now - before)),
        missing_tables=tuple(sorted(before - now)),
        redefined=tuple(redefined),
        noise=tuple(_compare_noise(previous.facts, facts)),
        compared=len(compared),
        real=sum(change.real for change in compared),
        figures=tuple(compared[:MOST_FIGURES]),
    )
    return replace(facts, changes=changes)


def _compare_guarantees(previous: ReportFacts, facts: ReportFacts) -> Iterator[Changed]:
    before = _describe_guarantee(previous)
    for subject, now in _describe_guarantee(facts).items():
        if before[subject] != now:
            was = _write_value(before[subject])
            yield Changed(what=subject, before=was, now=_write_value(now))


def _describe_guarantee(facts: ReportFacts) -> dict[str, object]:
    unit = facts.deployment.privacy_unit
    limits = unit.bounding
    return {
        "epsilon": facts.accounting.epsilon,
        "delta": facts.accounting.delta,
        "unit": unit.unit_column or unit.unit,
        "adjacency": unit.adjacency,
        "max_rows_per_unit": None if limits is None else limits.max_rows_per_unit,
    }


def _find_redefined(previous: ReportFacts, facts: ReportFacts) -> Iterator[tuple[str, bool]]:
    """Name the queries that no longer ask what they asked, and whether but the condition moved.

    Other conditions are compared, such as one year with another.
    """
    before = {
        query.name: (query, _describe_definition(query, previous)) for query in previous.queries
    }
    for query in facts.queries:
        now = _describe_definition(query, facts)
        old, earlier = before.get(query.name, (query, now))
        if (old.where, earlier) != (query.where, now):
            yield query.name, earlier == now


def _describe_definition(query: Query, facts: ReportFacts) -> object:
    """State what a query asks of the data: bounds of columns and limits of a unit included."""
    parts = query.numerator, query.denominator_part
    names = {
        query.column,
        query.survey_weight,
        *(part.column for part in parts if part is not None),
        *query.by,
    }
    columns = tuple(
        (column.name, column.lower, column.upper, column.nulls, column.expression)
        for column in facts.columns
        if column.name in names
    )
    unit = facts.deployment.privacy_unit
    sentence = (
        query.statistic,
        query.column,
        query.by,
        query.quantiles,
        query.survey_weight,
        query.among,
        query.clipping,
        *parts,
    )
    return sentence, columns, unit.unit_column, unit.bounding


def _compare_noise(previous: ReportFacts, facts: ReportFacts) -> Iterator[Changed]:
    """Compare half-widths of queries of one name, where each has one for all of its cells."""
    before = {query.name: query.noise_halfwidth for query in previous.queries}
    for query in facts.queries:
        earlier, now = before.get(query.name), query.noise_halfwidth
        if earlier is not None and now is not None and earlier != now:
            yield Changed(what=query.name, before=_write_value(earlier), now=_write_value(now))


def _write_value(value: object) -> str:
    return format_number(shorten(value, 3)) if isinstance(value, int | float) else str(value or "-")


def _pair_figures(
    before: Published, now: Published, alpha: Fraction
) -> Iterator[tuple[Figures, FigureChange]]:
    earlier = {(figures.table, figures.name): figures for figures in before.figures}
    for figures in now.figures:
        old = earlier.get((figures.table, figures.name))
        if old is None or old.groups != figures.groups or figures.is_behind:
            continue
        # All cells of a column share one law, so one half-width serves every difference.
        common = _compute_difference_halfwidth(before, old, now, figures, alpha)
        places = {row: place for place, row in enumerate(old.rows)}
        for place, row in enumerate(figures.rows):
            if row not in places:
                continue
            old_value, new_value = old.values[places[row]], figures.values[place]
            half = common
            if half is None and figures.share is not None and old.share is not None:
                half = _bound_means(before, old, places[row], now, figures, place, alpha)
            if old_value is None or new_value is None or half is None:
                continue
            difference = new_value - old_value
            value, width, _, _ = write_interval(
                Interval(difference, difference - half, difference + half)
            )
            change = FigureChange(
                table=figures.table,
                column=figures.name,
                labels=row,
                difference=value,
                noise_halfwidth=width,
                real=abs(difference) > half,
            )
            yield figures, change


def _compute_difference_halfwidth(
    before: Published, old: Figures, now: Published, figures: Figures, alpha: Fraction
) -> Fraction | None:
    """Compute the half-width of every difference of two linear figures; all cells share one law."""
    if old.terms is None or figures.terms is None or not old.rows or not figures.rows:
        return None
    try:
        return bound_error(alpha, (before, [(old, ONE)]), (now, [(figures, ONE)]))
    except ValueError:  # too large
        return None


def _bound_means(  # noqa: PLR0913, PLR0917 - a cell of each release
    before: Published, old: Figures, old_row: int, now: Published, figures: Figures, new_row: int,
    alpha: Fraction,
) -> Fraction | None:  # fmt: skip
    """Bound the error of a difference of two means or proportions."""
    means = [
        MeanTerm(now, figures, [new_row], Fraction(1)),
        MeanTerm(before, old, [old_row], Fraction(-1)),
    ]
    try:
        joint = bound_mean_errors(means, alpha)
        if joint is not None:
            return joint
        cells = [mean_interval(*mean[:3], alpha / 2) for mean in means]
    except ValueError:  # too large
        return None
    halves = [cell.half for cell in cells if cell is not None]
    return sum(halves, Fraction(0)) if len(halves) == len(cells) else None
