"""Number of records by cell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.finish.columns import Layout, estimate_columns
from dprelease.finish.text import plus_minus
from dprelease.model import (
    Adjacency,
    Measure,
    MeasureKind,
    NoiseFamily,
    OutputColumn,
    Query,
    Sensitivity,
    Step,
)
from dprelease.noise.laws import halfwidth
from dprelease.privacy.shift import pair, single, zero
from dprelease.statistics.base import Released, bounded, may_be_outside


class Count:
    """The number of records, released as one integer for each cell."""

    name = "count"
    suffixes: tuple[str, ...] = ("", "_noise_moe", "_flag")
    meaning = "number of records, with noise"

    def released(self, query: Query) -> Released:
        """One integer for each cell: its number of records."""
        measure = Measure(MeasureKind.RECORDS, None, query.where)
        return Released((measure,), ((1,),), (Fraction(1),))

    def sensitivity(self, query: Query, adjacency: Adjacency) -> Sensitivity:
        """Bound the change of all counts together.

        Adding or removing a record changes one cell by 1. Replacing a record can take it out of
        one cell and into another: L1 = 2, L2^2 = 2; with a single cell that some records can be
        outside of: 1; with a single cell that holds every record the count never changes: 0.
        """
        if adjacency is Adjacency.ADD_REMOVE:
            return bounded(1, single(1), "one record more or less changes one cell by 1")
        if query.cells > 1:
            return bounded(2, pair(1, 1), "a replaced record leaves one cell and enters another")
        if may_be_outside(query):
            return bounded(1, single(1), "a replaced record enters or leaves the one cell")
        return bounded(0, zero(), "replacing a record leaves the number of records as it is")

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Publish the noisy integers as they are; the half-width comes from the exact law."""
        half = halfwidth(step.noise, 1 - interval)
        exact = step.noise.family is NoiseFamily.NONE
        meaning = "number of records, exact: no neighbour changes it" if exact else self.meaning
        layout = Layout(step.query.name, 0, meaning, interval)
        return estimate_columns(layout, noisy[0], half)

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise on one count."""
        return plus_minus(Fraction(halfwidth(step.noise, 1 - interval)))

    def example(self, step: Step, interval: Fraction) -> dict[str, float | int] | None:
        """No example is needed: the half-width is the same everywhere."""
        return None

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """The same for every cell."""
        return Fraction(halfwidth(step.noise, 1 - interval))
