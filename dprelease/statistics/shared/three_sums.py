"""What variance and standard deviation have in common: three sums that pin both moments down.

With t = k - lower and s = upper - k on a grid of K = upper - lower steps, released are the sums of
s^2, 2ts and t^2 over the records with a value. As (s + t)^2 = K^2, one record adds exactly K^2 to
all three together, so that each has the whole budget instead of a third of it. Together they are
n K^2, which gives the number of values for free; mean and variance follow as in
``postprocess.moment_intervals``. The variance is that of the population, the mean squared distance
from the mean: no n - 1.

A mean can be read from the same three sums, and is published like any other mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.model import Grid, Measure, MeasureKind, OutputColumn, Query, Sensitivity, Step
from dprelease.postprocess.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.fixed_point import (
    decimals_of,
    fixed_point,
    halves_on_scale,
    lanes,
    on_scale,
    places_for,
)
from dprelease.postprocess.moment_intervals import Estimates, Sums, means, variances
from dprelease.postprocess.number_text import plus_minus
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.base import (
    ESTIMATE,
    RECORDS_FOR_EXAMPLE,
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Statistic,
    quantity,
)
from dprelease.statistics.mean import Mean
from dprelease.statistics.shared.sensitivity import may_be_outside, moved
from dprelease.statistics.shared.two_sums import COUNT_SUFFIXES, count_columns, half_column


def three_sums(query: Query) -> Released:
    """Three integers for each cell: sums of s^2, 2ts and t^2, from counts and sums of k, k^2.

    s^2 = upper^2 - 2 upper k + k^2, and so on.
    """
    wanted = quantity(query.column)
    low, high = wanted.grid.lower, wanted.grid.upper
    kinds = (MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES)
    return Released(
        tuple(Measure(kind, wanted, query.where) for kind in kinds),
        (
            (high * high, -2 * high, 1),
            (-2 * low * high, 2 * (low + high), -2),
            (low * low, -2 * low, 1),
        ),
        (wanted.grid.step**2,) * 3,
    )


class ThreeSums(Statistic):
    """A function of the variance, with the mean and the number of values beside it."""

    suffixes = (*ESTIMATE, "_mean", "_mean_noise_moe", *COUNT_SUFFIXES)
    what = ""
    keys = SpecKeys(column=True, numeric=True, squares=True)
    error_by_records = True
    processing = (
        "Variances and standard deviations are those of the population (divided by the number "
        "of values), read with the mean and that number from three noisy sums."
    )

    def hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Spreads within their noise of 0."""
        yield Hazard(
            2,
            "spread close to 0",
            "a variance within its noise of 0 says nothing but that it is small, and its standard "
            "deviation has the wider interval",
            step.query.name,
        )

    def figure(self, variance: Estimates) -> Estimates:
        """What is published of the variance on a range of length 1."""
        return variance

    def span(self, grid: Grid) -> Fraction:
        """The value of a figure of 1."""
        return (grid.width * grid.step) ** 2

    def released(self, query: Query) -> Released:
        """Three integers for each cell: sums of s^2, 2ts and t^2."""
        return three_sums(query)

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all sums together, in squared grid integers.

        A row adds three integers >= 0 that are K^2 together: L1 = K^2, L2 at most K^2; replaced,
        L1 at most 2 K^2 and L2^2 at most 2 K^4, as the smallest and the largest value attain.
        """
        row = Vector((size := quantity(query.column).grid.width ** 2), size**2, 3)
        return moved(query, neighbours, row, outside=may_be_outside(query, neighbours))

    def columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the figure, the mean, and the number of values, with their noise intervals."""
        import numpy as np

        grid, name = quantity(step.query.column).grid, step.query.name
        first, second, third = (np.array(row, dtype=np.float64) for row in noisy)
        sums = Sums(first, second, third, step.noise)
        figure = self.figure(variances(sums, 1 - interval))
        places = places_for(self.span(grid))
        span = fixed_point(self.span(grid), places)
        layout = Layout(name, places, f"{self.what}, with noise", interval)
        size = grid.width**2
        exact = [lanes(row, size) for row in noisy]
        return [
            *estimate_columns(
                layout, on_scale(figure.value, span), halves_on_scale(figure.half, span)
            ),
            *_mean_columns(step, grid, means(sums, 1 - interval), interval),
            *count_columns(step, exact[0] + exact[1] + exact[2], size, interval),
        ]

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise for 1,000 values evenly spread between the bounds."""
        half = self._example(step, interval)
        return f"{plus_minus(half)} at {RECORDS_FOR_EXAMPLE:,} values evenly spread"

    def example(
        self, step: Step, interval: Fraction, records: int = RECORDS_FOR_EXAMPLE
    ) -> dict[str, float | int] | None:
        """Half-width of the noise for so many values evenly spread between the bounds."""
        half = self._example(step, interval, records)
        return {"values": records, "halfwidth": float(half)}

    def _example(
        self, step: Step, interval: Fraction, records: int = RECORDS_FOR_EXAMPLE
    ) -> Fraction:
        """The half-width where all three sums are the same."""
        import numpy as np

        grid = quantity(step.query.column).grid
        third = np.array([float(records * grid.width**2) / 3])
        figure = self.figure(variances(Sums(third, third, third, step.noise), 1 - interval))
        return Fraction(float(figure.half[0])) * self.span(grid)


def _mean_columns(
    step: Step, grid: Grid, mean: Estimates, interval: Fraction
) -> list[OutputColumn]:
    name = f"{step.query.name}_mean"
    width = grid.width * grid.step
    places = max(decimals_of(grid.step), places_for(width))
    low, span = fixed_point(grid.lower * grid.step, places), fixed_point(width, places)
    kind = "number" if places else "integer"
    halves = halves_on_scale(mean.half, span)
    return [
        OutputColumn(
            name,
            kind,
            on_scale(mean.value, span, low),
            "mean of the clamped values, with noise",
            places,
            step.query.name,
        ),
        half_column(name, kind, halves, places, step, interval),
    ]


def mean_columns(step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
    """Publish the mean, its noise interval and flag, and the number of values."""
    import numpy as np

    scale = Mean().scale(step.query)
    low, span = fixed_point(scale.lower, scale.places), fixed_point(scale.span, scale.places)
    first, second, third = (np.array(row, dtype=np.float64) for row in noisy)
    mean = means(Sums(first, second, third, step.noise), 1 - interval)
    layout = Layout(step.query.name, scale.places, scale.meaning, interval)
    width = scale.width**2
    totals = [lanes(row, width) for row in noisy]
    return [
        *estimate_columns(
            layout, on_scale(mean.value, span, low), halves_on_scale(mean.half, span)
        ),
        *count_columns(step, totals[0] + totals[1] + totals[2], width, interval),
    ]


def mean_example(step: Step, interval: Fraction, records: int) -> Fraction:
    """The half-width for so many values, all at the middle of the bounds."""
    import numpy as np

    grid = quantity(step.query.column).grid
    width = grid.width**2
    quarter = np.array([records * width / 4])
    sums = Sums(quarter, 2 * quarter, quarter, step.noise)
    half = float(means(sums, 1 - interval).half[0])
    return Fraction(half) * grid.width * grid.step
