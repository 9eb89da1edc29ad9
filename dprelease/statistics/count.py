"""Number of records by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Read, Reading, Sensitivity
from dprelease.privacy.sensitivity import COUNT
from dprelease.statistics.base import Neighbours, Released, SharedSums, Sharing
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.sensitivity import may_be_outside, moved


class Count(Single):
    """The number of records, released as one integer for each cell."""

    name = "count"
    what = "number of records"
    sharing: Sharing | None = Sharing(lead=0, linear=True, counts_rows=True)
    counts = "records"
    selects_keys = True

    def released(self, query: Query) -> Released:
        """One integer for each cell: its number of records."""
        measure = Measure(MeasureKind.RECORDS, None, query.where)
        return Released((measure,), ((1,),), (Fraction(1),))

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all counts together.

        Each row of a unit that comes or goes changes one cell by 1. A replaced record can leave
        one cell and enter another: L1 = 2, L2^2 = 2; with a single cell that some records can be
        outside of: 1; with a single cell that holds every record the count never changes: 0.
        """
        return moved(query, neighbours, COUNT, outside=may_be_outside(query, neighbours))

    def shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Add up the sums of values, and of nulls: each record adds the same to all together."""
        rows = (*sums.rows, len(sums.rows)) if sums.counts_nulls else sums.rows
        factors = (Fraction(1, sums.width),) * len(rows)
        screened = sums.counts_nulls and sums.screens
        return Read(query, sums.step, rows, Reading.LINEAR, factors, screened=screened)
