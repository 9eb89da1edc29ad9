"""Sum of a bounded column by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Read, Reading, Sensitivity
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.base import Neighbours, Released, SharedSums, Sharing, SpecKeys, quantity
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.sensitivity import may_be_outside, moved


class Sum(Single):
    """The sum of a column's clamped values on its grid, released as one integer for each cell."""

    name = "sum"
    what = "sum of the clamped values"
    keys = SpecKeys(column=True, numeric=True)
    sharing = Sharing(lead=1, linear=True)

    def released(self, query: Query) -> Released:
        """One integer for each cell: the sum of the records' grid integers."""
        wanted = quantity(query.column)
        measure = Measure(MeasureKind.SUM, wanted, query.where)
        return Released((measure,), ((1,),), (wanted.grid.step,))

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all sums together, in grid integers.

        With M = max(abs(lower), abs(upper)) and K = upper - lower (K <= 2M): each row of a unit
        that comes or goes changes one cell by at most M. Replacing a record changes one cell by at
        most K, or by M when the record gains or loses its value, or two cells by M each.
        """
        wanted = quantity(query.column)
        row = Scalar(wanted.grid.lower, wanted.grid.upper)
        outside = may_be_outside(query, neighbours) or wanted.null_fill is None
        return moved(query, neighbours, row, outside=outside)

    def shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Combine the sums of t = k - lower (or its squares) and the number of values."""
        low, span, step = Fraction(sums.grid.lower), Fraction(sums.grid.width), sums.grid.step
        factors: tuple[Fraction, ...] = (step * (1 + low / span), step * low / span)
        if sums.squared:
            part = low / (span * span)
            parts = part, part + 1 / (2 * span), part + 1 / span
            factors = tuple(step * factor for factor in parts)
        return Read(query, sums.step, sums.rows, Reading.LINEAR, factors)

    def relative_error(
        self, half: float | None, at_one: float | None, middle: float | None, units: str
    ) -> tuple[float, str] | None:
        """Beside one value at the middle."""
        return (half / middle, "of the sum") if half is not None and middle else None
