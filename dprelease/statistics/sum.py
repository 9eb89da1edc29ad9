"""Sum of a bounded column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Read, Reading
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.spec_keys import BOUNDING, ColumnUse, Details, QueryReader
from dprelease.statistics.shared.statistic import (
    Released,
    SharedSums,
    Sharing,
    SpecKeys,
    build_quantity,
    build_weight,
    weight_step,
)
from dprelease.statistics.shared.survey_weights import apply_weight


class Sum(Single):
    """The sum of a column's clamped values on its grid, released as one integer for each cell."""

    name = "sum"
    word = "spec_words.statistic.sum"
    definition = "statistics.sum.definition"
    what = "statistics.sum.what"
    what_weighted = "statistics.sum.what_weighted"
    keys = SpecKeys(column=ColumnUse.NUMBERS, may=(BOUNDING,))
    sharing = Sharing(lead=1, linear=True)
    compared_with = ("statistics.sum.reference", None)
    adds_up = True
    has_feature = True

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read what totals of people are scaled to."""
        return Details(clip=spec.read_clip())

    def define_release(self, query: Query) -> Released:
        """Define one integer for each cell: the sum of grid integers, times weights if present."""
        column_quantity = build_quantity(query.column)
        measure = Measure(
            MeasureKind.SUM, column_quantity, query.where, survey_weight=build_weight(query)
        )
        return Released((measure,), unit=(column_quantity.grid.step * weight_step(query),))

    def describe_row(self, query: Query) -> Scalar:
        """Describe the grid integer that a row adds, times its weight if it has one."""
        grid = build_quantity(query.column).grid
        return apply_weight(Scalar(grid.lower, grid.upper), query)

    def plan_shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Combine the sums of t = k - lower (or its squares) and the number of values."""
        low, span, step = Fraction(sums.grid.lower), Fraction(sums.grid.width), sums.grid.step
        factors: tuple[Fraction, ...] = (step * (1 + low / span), step * low / span)
        if sums.squared:
            part = low / (span * span)
            parts = part, part + 1 / (2 * span), part + 1 / span
            factors = tuple(step * factor for factor in parts)
        return Read(query, sums.step, sums.rows, Reading.LINEAR, factors)
