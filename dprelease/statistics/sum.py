"""Sum of a bounded column by cell."""

from __future__ import annotations

from dprelease.model import Measure, MeasureKind, Query, Sensitivity
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.base import Neighbours, Released, quantity
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.sensitivity import may_be_outside, moved


class Sum(Single):
    """The sum of a column's clamped values on its grid, released as one integer for each cell."""

    name = "sum"
    what = "sum of the clamped values"

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
