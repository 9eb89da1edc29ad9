"""What changed since the last release: its guarantee, its tables, their noise and their figures.

Two figures are compared where both releases state the law of their noise, which is independent:
of linear figures the difference has an exact law, of means and proportions the half-width is about
the root of the sum of the squared ones. Each difference is judged on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.combination.combination_wording import interval_text
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import Interval, half_of, mean_interval, rounding_of
from dprelease.model import OutputTable
from dprelease.reports.model.report_model import Changed, Changes, FigureChange, Query, ReportFacts
from dprelease.reports.text.shown_numbers import shortened, written

MOST_FIGURES = 100
ONE = {0: Fraction(1)}
_FINE = 10**12


class PreviousRelease(NamedTuple):
    """A published release: its report, and its figures."""

    facts: ReportFacts
    published: Published


def with_changes(
    facts: ReportFacts, previous: PreviousRelease, tables: Mapping[str, OutputTable]
) -> ReportFacts:
    """Give the report that says what changed, too; ``tables`` are the published ones by file."""
    published = Published(facts, tables)
    return replace(facts, changes=changes_of(previous, facts, published))


def changes_of(previous: PreviousRelease, facts: ReportFacts, published: Published) -> Changes:
    """State what changed, of two published releases alone."""
    before, now = ({t.name for t in report.tables} for report in (previous.facts, facts))
    alpha = 1 - Fraction(facts.provenance.interval)
    redefined = dict(_redefined(previous.facts, facts))
    compared = [
        change
        for figures, change in _figures(previous.published, published, alpha)
        if redefined.get(figures.query.name, True)
    ]
    return Changes(
        run_id=previous.facts.provenance.run_id,
        released_at=previous.facts.provenance.released_at,
        guarantee=tuple(_guarantee(previous.facts, facts)),
        new_tables=tuple(sorted(now - before)),
        missing_tables=tuple(sorted(before - now)),
        redefined=tuple(redefined),
        noise=tuple(_noise(previous.facts, facts)),
        compared=len(compared),
        real=sum(change.real for change in compared),
        figures=tuple(compared[:MOST_FIGURES]),
    )


def _guarantee(previous: ReportFacts, facts: ReportFacts) -> Iterator[Changed]:
    pairs: Mapping[str, tuple[object, object]] = {
        what: (_guarantee_of(previous)[what], value) for what, value in _guarantee_of(facts).items()
    }
    for what, (before, now) in pairs.items():
        if before != now:
            yield Changed(what=what, before=_text(before), now=_text(now))


def _guarantee_of(facts: ReportFacts) -> dict[str, object]:
    unit = facts.deployment.privacy_unit
    limits = unit.bounding
    return {
        "epsilon": facts.accounting.epsilon,
        "delta": facts.accounting.delta,
        "unit": unit.unit_column or unit.unit,
        "adjacency": unit.adjacency,
        "max_rows_per_unit": None if limits is None else limits.max_rows_per_unit,
    }


def _redefined(previous: ReportFacts, facts: ReportFacts) -> Iterator[tuple[str, bool]]:
    """Name the queries that no longer ask what they asked, and whether but the condition moved.

    Other conditions are compared, such as one year with another.
    """
    before = {query.name: (query, _definition(query, previous)) for query in previous.queries}
    for query in facts.queries:
        now = _definition(query, facts)
        old, earlier = before.get(query.name, (query, now))
        if (old.where, earlier) != (query.where, now):
            yield query.name, earlier == now


def _definition(query: Query, facts: ReportFacts) -> object:
    """State what a query asks of the data: bounds of columns and limits of a unit included."""
    parts = query.numerator, query.denominator_part
    named = {
        query.column,
        query.survey_weight,
        *(part.column for part in parts if part is not None),
        *query.by,
    }
    columns = tuple(
        (column.name, column.lower, column.upper, column.nulls, column.expression)
        for column in facts.columns
        if column.name in named
    )
    unit = facts.deployment.privacy_unit
    said = (
        query.statistic,
        query.column,
        query.by,
        query.quantiles,
        query.survey_weight,
        query.among,
        *parts,
    )
    return said, columns, unit.unit_column, unit.bounding


def _noise(previous: ReportFacts, facts: ReportFacts) -> Iterator[Changed]:
    """Half-widths of queries of one name, where each has one for all of its cells."""
    before = {query.name: query.noise_halfwidth for query in previous.queries}
    for query in facts.queries:
        earlier, now = before.get(query.name), query.noise_halfwidth
        if earlier is not None and now is not None and earlier != now:
            yield Changed(what=query.name, before=_text(earlier), now=_text(now))


def _text(value: object) -> str:
    return written(shortened(value, 3)) if isinstance(value, int | float) else str(value or "-")


def _figures(
    before: Published, now: Published, alpha: Fraction
) -> Iterator[tuple[Figures, FigureChange]]:
    earlier = {(figures.table, figures.name): figures for figures in before.figures}
    for figures in now.figures:
        old = earlier.get((figures.table, figures.name))
        if old is None or old.groups != figures.groups or _is_behind(figures):
            continue
        common = _half(before, old, now, figures, alpha)
        places = {row: place for place, row in enumerate(old.rows)}
        for place, row in enumerate(figures.rows):
            if row not in places:
                continue
            one, other = old.values[places[row]], figures.values[place]
            half = common
            if half is None and figures.share is not None and old.share is not None:
                half = _root(before, old, places[row], now, figures, place, alpha)
            if one is None or other is None or half is None:
                continue
            difference = other - one
            value, width, _, _ = interval_text(
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


def _is_behind(figures: Figures) -> bool:
    return figures.name != figures.query.name.partition(":")[0]


def _half(
    before: Published, old: Figures, now: Published, figures: Figures, alpha: Fraction
) -> Fraction | None:
    """The half-width of every difference of two linear figures; labels are alike to noise."""
    if old.terms is None or figures.terms is None or not old.rows or not figures.rows:
        return None
    try:
        parts = (*before.noise_of([(old, ONE)]), *now.noise_of([(figures, ONE)]))
    except ValueError:  # too large
        return None
    return half_of(parts, alpha) + rounding_of([(old, ONE)]) + rounding_of([(figures, ONE)])


def _root(  # noqa: PLR0913, PLR0917 - a cell of each release
    before: Published, old: Figures, there: int, now: Published, figures: Figures, here: int,
    alpha: Fraction,
) -> Fraction | None:  # fmt: skip
    one, other = (
        mean_interval(before, old, [there], alpha),
        mean_interval(now, figures, [here], alpha),
    )
    if one is None or other is None:
        return None
    square = (one.half**2 + other.half**2) * _FINE**2
    return Fraction(isqrt(int(square)) + 1, _FINE)
