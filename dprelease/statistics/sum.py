"""Sum of a bounded column by cell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.finish.columns import Layout, estimate_columns
from dprelease.finish.decimals import decimals_of, fixed_point
from dprelease.finish.text import plus_minus
from dprelease.model import Adjacency, Measure, MeasureKind, OutputColumn, Query, Sensitivity, Step
from dprelease.noise.laws import halfwidth
from dprelease.privacy.shift import Shift, single
from dprelease.statistics.base import Released, bounded, may_be_outside, quantity


class Sum:
    """The sum of a column's clamped values on its grid, released as one integer for each cell."""

    name = "sum"
    suffixes: tuple[str, ...] = ("", "_noise_moe", "_flag")

    def released(self, query: Query) -> Released:
        """One integer for each cell: the sum of the records' grid integers."""
        wanted = quantity(query.column)
        measure = Measure(MeasureKind.SUM, wanted, query.where)
        return Released((measure,), ((1,),), (wanted.grid.step,))

    def sensitivity(self, query: Query, adjacency: Adjacency) -> Sensitivity:
        """Bound the change of all sums together, in grid integers.

        With M = max(abs(lower), abs(upper)) and K = upper - lower (K <= 2M): adding or removing
        a record changes one cell by at most M. Replacing one changes one cell by at most K, or
        by M when the record gains or loses its value, or two cells by M each.
        """
        wanted = quantity(query.column)
        width, magnitude = wanted.grid.width, wanted.grid.magnitude
        if adjacency is Adjacency.ADD_REMOVE:
            return bounded(
                magnitude,
                single(magnitude),
                "one record changes one cell by max(|lower|, |upper|)",
            )
        if query.cells > 1:
            return bounded(
                2 * magnitude,
                Shift(max(2 * magnitude**2, width**2), 2, ((magnitude, magnitude), (width,))),
                "a replaced record changes two cells by max(|lower|, |upper|) each",
            )
        if may_be_outside(query) or wanted.null_fill is None:
            worst = max(width, magnitude)
            return bounded(
                worst,
                single(worst),
                "a replaced record moves the sum by upper - lower, or brings or takes a value",
            )
        return bounded(width, single(width), "a replaced record moves the sum by upper - lower")

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Publish the noisy integers times the grid step."""
        unit = step.unit[0]
        places = decimals_of(unit)
        half = fixed_point(unit * halfwidth(step.noise, 1 - interval), places)
        factor = fixed_point(unit, places)
        layout = Layout(step.query.name, places, "sum of the clamped values, with noise", interval)
        values = noisy[0] if factor == 1 else [k * factor for k in noisy[0]]
        return estimate_columns(layout, values, half)

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise on one sum."""
        return plus_minus(step.unit[0] * halfwidth(step.noise, 1 - interval))

    def example(self, step: Step, interval: Fraction) -> dict[str, float | int] | None:
        """No example is needed: the half-width is the same everywhere."""
        return None

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """The same for every cell."""
        return step.unit[0] * halfwidth(step.noise, 1 - interval)
