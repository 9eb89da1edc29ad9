"""Mean of a bounded column by cell, with the number of values for free.

Two sums are released instead of a sum and a count: A = sum(k - lower) and B = sum(upper - k) over
the records with a value. One record adds exactly K = upper - lower to A and B together, so both
get the whole budget at once. A + B = n K gives the count, lower + K A / (A + B) the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprelease.finish.columns import Layout, estimate_columns
from dprelease.finish.decimals import decimals_of, fixed_point, places_for
from dprelease.finish.shares import quantile_of_mix, shares
from dprelease.finish.text import percent, plus_minus
from dprelease.model import Adjacency, Measure, MeasureKind, OutputColumn, Query, Sensitivity, Step
from dprelease.noise.laws import sum_halfwidth
from dprelease.privacy.shift import replaced_split, split
from dprelease.statistics.base import Released, bounded, quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECORDS_FOR_EXAMPLE = 1000


class Mean:
    """The mean of a column's clamped values, from two complementary sums."""

    name = "mean"
    suffixes: tuple[str, ...] = ("", "_noise_moe", "_flag", "_count", "_count_noise_moe")

    def released(self, query: Query) -> Released:
        """Two integers for each cell: sum(k - lower) and sum(upper - k)."""
        wanted = quantity(query.column)
        grid = wanted.grid
        return Released(
            (
                Measure(MeasureKind.VALUES, wanted, query.where),
                Measure(MeasureKind.SUM, wanted, query.where),
            ),
            ((-grid.lower, 1), (grid.upper, -1)),
            (grid.step, grid.step),
        )

    def sensitivity(self, query: Query, adjacency: Adjacency) -> Sensitivity:
        """Bound the change of all pairs of sums together, in grid integers.

        A record adds (t, K - t) with 0 <= t <= K: L1 = K, L2 at most K. A replaced record changes
        (t, K - t) into (u, K - u) in its cell, or takes one pair from a cell and adds one to
        another: L1 at most 2K, L2^2 at most 2K^2.
        """
        width = quantity(query.column).grid.width
        if adjacency is Adjacency.ADD_REMOVE:
            return bounded(
                width,
                split(width),
                "one record adds exactly upper - lower to the two sums together",
            )
        return bounded(
            2 * width,
            replaced_split(width, query.cells),
            "a replaced record moves upper - lower between the two sums, or between two cells",
        )

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Publish the mean, its noise interval, and the number of values."""
        import numpy as np

        grid = quantity(step.query.column).grid
        places = max(decimals_of(grid.step), places_for(grid.width * grid.step))
        low = fixed_point(grid.lower * grid.step, places)
        span = fixed_point(grid.width * grid.step, places)
        first, second = (_lanes(each, grid.width) for each in noisy)
        share, half = shares(first, second, step.noise, interval)
        # The lower bound is added in integers: a double would lose digits of a distant one.
        values = _integers(np.rint(float(span) * share), low)
        # The half-width covers the rounding of the value, and of the doubles.
        slack = 1 + (span >> 50)
        halves = _integers(np.ceil(float(span) * half), slack)
        layout = Layout(step.query.name, places, "mean of the clamped values, with noise", interval)
        return [
            *estimate_columns(layout, values, halves),
            *self._count_columns(step, first + second, interval),
        ]

    def _count_columns(
        self, step: Step, totals: NDArray[Any], interval: Fraction
    ) -> list[OutputColumn]:
        name, width = step.query.name, quantity(step.query.column).grid.width
        half = (2 * sum_halfwidth(step.noise, 2, 1 - interval) + width) // (2 * width)
        counts: list[int] = ((2 * totals + width) // (2 * width)).tolist()
        return [
            OutputColumn(
                f"{name}_count",
                "integer",
                counts,
                f"number of values behind {name}, with noise",
                0,
                name,
            ),
            OutputColumn(
                f"{name}_count_noise_moe",
                "integer",
                [half] * len(counts),
                f"half-width of the {percent(interval)} noise interval of {name}_count",
                0,
                name,
            ),
        ]

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise on the mean of a cell with 1,000 values, at the worst."""
        worst = Fraction(quantile_of_mix(step.noise, 1 - interval, 1.0))
        half = step.unit[0] * worst / RECORDS_FOR_EXAMPLE
        return f"{plus_minus(half)} at {RECORDS_FOR_EXAMPLE:,} values"

    def example(self, step: Step, interval: Fraction) -> dict[str, float | int] | None:
        """Half-width of the noise on the mean of a cell with 1,000 values, at the worst."""
        worst = quantile_of_mix(step.noise, 1 - interval, 1.0) * float(step.unit[0])
        return {"values": RECORDS_FOR_EXAMPLE, "halfwidth": worst / RECORDS_FOR_EXAMPLE}

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Differs from cell to cell: it depends on the noisy number of values."""
        return None


_WIDEST = 1 << 59  # sums of a few such integers fit 64 bits


def _lanes(integers: Sequence[int], width: int) -> NDArray[Any]:
    """The integers on lanes of 64 bits, or as Python integers where a count might not fit."""
    import numpy as np

    fits = width < _WIDEST and min(integers) > -_WIDEST and max(integers) < _WIDEST
    return np.array(integers, dtype=np.int64 if fits else object)


def _integers(whole: NDArray[np.float64], offset: int) -> list[int]:
    """The whole numbers that the doubles hold, each plus the offset, exactly."""
    fits = abs(offset) < _WIDEST and bool((whole < _WIDEST).all())  # none is negative
    if fits:
        lanes: list[int] = (whole.astype("int64") + offset).tolist()
        return lanes
    return [int(each) + offset for each in whole.tolist()]
