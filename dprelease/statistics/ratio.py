"""Ratio of two figures of the same records: sums of columns, or counts, each with a condition.

Each of the two is multiplied by a positive integer, and both are released with noise of one law:
the factors split the budget between them. One row moves the numerator by at most M and the
denominator by at most W grid integers (1, if it is a count). With factors a and b the scale of the
noise is in proportion to a M + b W: that is (1 + bW/aM) M in steps of the numerator and
(1 + aM/bW) W in those of the denominator. If both figures are the same share of the largest
possible ones, n M and n W, their relative errors count alike, and that of the ratio is least where
a M = b W. If one share is twice the other, this error is 7% above the least. Nothing is known in
advance, so a and b are the smallest integers with a M = b W to one part in sixteen. A survey weight
multiplies both figures by the same factor, which changes nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

from dprelease.model import (
    Measure,
    MeasureKind,
    OutputColumn,
    Part,
    Query,
    Sensitivity,
    Step,
)
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.estimate_columns import (
    Layout,
    clip_intervals,
    estimate_columns,
)
from dprelease.postprocess.intervals.fixed_point import choose_places
from dprelease.postprocess.intervals.quotient_intervals import (
    compute_ratio_halfwidths,
    estimate_ratios,
)
from dprelease.privacy.sensitivity import COUNT, Scalar
from dprelease.statistics.shared.spec_keys import (
    PART_OF_RATIO,
    Details,
    OwnKey,
    QueryReader,
)
from dprelease.statistics.shared.statistic import (
    INTERVAL,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Spell,
    Statistic,
    bound_change,
    build_quantity,
    build_weight,
    conjoin,
    find_largest_weight,
    find_null_fill,
    may_be_outside,
    weight_step,
)
from dprelease.statistics.shared.survey_weights import apply_weight

NUMERATOR = OwnKey(
    "numerator",
    PART_OF_RATIO,
    "of a ratio",
    example='write numerator = { column = "..." } for a sum, or a condition for a count',
    has_columns=True,
)
DENOMINATOR = OwnKey(
    "denominator",
    PART_OF_RATIO,
    "of a ratio",
    example='write denominator = { column = "..." } for a sum, or a condition for a count',
    has_columns=True,
)

CLOSE = Fraction(1, 16)


class Ratio(Statistic):
    """A sum or count divided by another; there is no figure where the denominator may well be 0."""

    name = "ratio"
    word = "spec_words.statistic.ratio"
    definition = "statistics.ratio.definition"
    keys = SpecKeys(needs=(NUMERATOR, DENOMINATOR))
    suffixes = INTERVAL
    error_by_records = True
    example_error = "statistics.error.at_largest_values"
    example_error_weighted = "statistics.error.at_weighted_largest_values"
    what = "statistics.ratio.what"
    what_weighted = "statistics.ratio.what_weighted"
    processing = "statistics.ratio.processing"
    explained = "statistics.ratio.explained"
    reading = "statistics.ratio.reading"

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read numerator and denominator."""
        numerator, denominator = spec.read_ratio_part(NUMERATOR), spec.read_ratio_part(DENOMINATOR)
        if numerator is None or denominator is None:
            return None
        return Details(numerator=numerator, denominator=denominator)

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define numerator and denominator."""
        numerator, denominator = (_define_part(part, spell) for part in _get_parts(query))
        return (sentence(self.definition, numerator=numerator, denominator=denominator),)

    def define_release(self, query: Query) -> Released:
        """Define two integers for each cell: numerator and denominator times their factors."""
        factors, parts = balance(query), _get_parts(query)
        return Released(
            tuple(_measure(query, part) for part in parts),
            ((factors[0], 0), (0, factors[1])),
            tuple(_step(query, part) / factor for part, factor in zip(parts, factors, strict=True)),
        )

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all pairs of integers together."""
        factors = balance(query)
        first, second = (
            bound_change(query, neighbours, row, outside=_is_outside(query, part, neighbours))
            for part, row in zip(_get_parts(query), _describe_rows(query, *factors), strict=True)
        )
        shapes: tuple[tuple[int, ...], ...] = ()
        if first.coordinates == 1 == second.coordinates:
            # Each part moves one integer, so both together move a pair.
            shapes = tuple(left + right for left in first.shapes for right in second.shapes)
        # The sum of both bounds is attained where the same neighbours move both furthest, as when
        # units come or go with the largest values.
        return Sensitivity(
            first.l1 + second.l1,
            first.l2_squared + second.l2_squared,
            first.coordinates + second.coordinates,
            shapes,
            sentence(
                "sensitivity.ratio",
                numerator_factor=factors[0],
                numerator=first.derivation,
                denominator_factor=factors[1],
                denominator=second.derivation,
            ),
        )

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the quotient, its noise interval by Fieller's argument, and the flag."""
        # Decimals that suffice for the quotient of one record's largest values.
        largest = [
            row.magnitude * _step(step.query, part)
            for row, part in zip(_describe_rows(step.query), _get_parts(step.query), strict=True)
        ]
        places = choose_places(largest[0] / largest[1])
        scale = step.unit[0] / step.unit[1] * 10**places
        above, below = noisy
        values, halves = estimate_ratios(above, below, step.noise, interval, scale)
        layout = Layout(step.query.name, places, self.describe_meaning(step.query), interval)
        signed = any(row.lower < 0 for row in _describe_rows(step.query))
        ends = clip_intervals(values, halves, None if signed else 0)
        return estimate_columns(layout, values, halves, ends)

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float | None:
        """Compute the half-width for records of the largest values; if weighted, for their sum."""
        query = step.query
        largest = find_largest_weight(query) * weight_step(query)
        both_sums = [
            int(records * row.magnitude / largest) for row in _describe_rows(query, *balance(query))
        ]
        half = compute_ratio_halfwidths(
            [both_sums[0]], [both_sums[1]], step.noise, interval
        ).tolist()[0]
        return float(Fraction(half) * step.unit[0] / step.unit[1]) if isfinite(half) else None


def balance(query: Query) -> tuple[int, int]:
    """Choose positive factors of numerator and denominator, without a common divisor."""
    first, second = (row.magnitude for row in _describe_rows(query))
    larger, smaller = max(first, second), min(first, second)
    factor = 1
    while True:
        small_factor = round(Fraction(larger * factor, smaller))
        # Both parts then move by nearly the same when multiplied; see the module.
        if abs(Fraction(small_factor * smaller, larger * factor) - 1) <= CLOSE:
            break
        factor += 1
    return (factor, small_factor) if first >= second else (small_factor, factor)


def _get_parts(query: Query) -> tuple[Part, Part]:
    if query.numerator is None or query.denominator is None:
        raise ValueError("a ratio has a numerator and a denominator")
    return query.numerator, query.denominator


def _define_part(part: Part, spell: Spell) -> Text:
    """Define a sum or count, with its condition."""
    figure = (
        sentence("statistics.ratio.count")
        if part.column is None
        else sentence("statistics.ratio.sum", column=part.column.name)
    )
    if part.where is None:
        return figure
    return sentence("statistics.ratio.where", figure=figure, condition=spell(part.where))


def _is_outside(query: Query, part: Part, neighbours: Neighbours) -> bool:
    """Check if some unit can have no row that adds to the part in any cell."""
    drops_nulls = part.column is not None and find_null_fill(part.column) is None
    return part.where is not None or drops_nulls or may_be_outside(query, neighbours)


def _describe_rows(query: Query, above: int = 1, below: int = 1) -> tuple[Scalar, Scalar]:
    """Describe what one row adds to numerator and denominator, as grid integers times factors."""
    numerator, denominator = _get_parts(query)
    return apply_weight(_describe_row(numerator, above), query), apply_weight(
        _describe_row(denominator, below), query
    )


def _describe_row(part: Part, factor: int) -> Scalar:
    """Describe what one row adds, as a grid integer times the factor."""
    if part.column is None:
        return COUNT if factor == 1 else Scalar(factor, factor, "words.count")
    grid = build_quantity(part.column).grid
    return Scalar(factor * grid.lower, factor * grid.upper)


def _step(query: Query, part: Part) -> Fraction:
    own = Fraction(1) if part.column is None else build_quantity(part.column).grid.step
    return own * weight_step(query)


def _measure(query: Query, part: Part) -> Measure:
    where, weight = conjoin(query.where, part.where), build_weight(query)
    if part.column is None:
        return Measure(MeasureKind.RECORDS, None, where, survey_weight=weight)
    return Measure(MeasureKind.SUM, build_quantity(part.column), where, survey_weight=weight)
