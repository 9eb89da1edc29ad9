"""Sum of a bounded column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Read, Reading
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import (
    Released,
    SharedSums,
    Sharing,
    SpecKeys,
    quantity,
    weight_of,
    weight_step,
)
from dprelease.statistics.shared.survey_weights import weighted


class Sum(Single):
    """The sum of a column's clamped values on its grid, released as one integer for each cell."""

    name = "sum"
    what = "statistics.sum.what"
    what_weighted = "statistics.sum.what_weighted"
    keys = SpecKeys(column=ColumnUse.NUMBERS)
    sharing = Sharing(lead=1, linear=True)
    compared_with = ("statistics.sum.reference", None)
    adds_up = True

    def released(self, query: Query) -> Released:
        """One integer for each cell: the sum of the records' grid integers, times their weights."""
        wanted = quantity(query.column)
        measure = Measure(MeasureKind.SUM, wanted, query.where, survey_weight=weight_of(query))
        return Released((measure,), unit=(wanted.grid.step * weight_step(query),))

    def row(self, query: Query) -> Scalar:
        """Each row adds its grid integer, between the bounds, or that times its weight."""
        grid = quantity(query.column).grid
        return weighted(Scalar(grid.lower, grid.upper), query)

    def shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Combine the sums of t = k - lower (or its squares) and the number of values."""
        low, span, step = Fraction(sums.grid.lower), Fraction(sums.grid.width), sums.grid.step
        factors: tuple[Fraction, ...] = (step * (1 + low / span), step * low / span)
        if sums.squared:
            part = low / (span * span)
            parts = part, part + 1 / (2 * span), part + 1 / span
            factors = tuple(step * factor for factor in parts)
        return Read(query, sums.step, sums.rows, Reading.LINEAR, factors)
