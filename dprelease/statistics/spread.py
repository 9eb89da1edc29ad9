"""Common part of variance and standard deviation: three sums that determine both moments.

With t = k - lower and s = upper - k on a grid of K = upper - lower steps, they release the sums of
s^2, 2ts and t^2 over the records with a value. As (s + t)^2 = K^2, one record adds exactly K^2 to
all three together, so that each has the whole budget instead of a third of it. Together they are
n K^2, which gives the number of values for free; mean and variance follow as in
``intervals.moment_intervals``. The variance is that of the population: the mean squared distance
from the mean, with the divisor n, not n - 1.

A mean can be read from the same three sums, and is published like any other mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dprelease.model import Grid, Measure, MeasureKind, OutputColumn, Query, Step
from dprelease.model.sentences import Sentence, sentence
from dprelease.postprocess.intervals.estimate_columns import (
    Ends,
    Layout,
    clip_intervals,
    end_columns,
    estimate_columns,
)
from dprelease.postprocess.intervals.fixed_point import (
    choose_places,
    scale_ends,
    scale_halfwidths,
    scale_shares,
    to_fixed_point,
)
from dprelease.postprocess.intervals.moment_intervals import (
    Estimates,
    Sums,
    estimate_means,
    estimate_variances,
)
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.mean import Mean
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import (
    INTERVAL,
    Hazard,
    Noisy,
    Released,
    SpecKeys,
    Statistic,
    build_quantity,
)
from dprelease.statistics.shared.two_sums import (
    COUNT_SUFFIXES,
    Scale,
    build_halfwidth_column,
    count_columns,
)


def define_three_sums(query: Query) -> Released:
    """Define sums of s^2, 2ts and t^2, by the number of values and the sums of k and k^2."""
    column_quantity = build_quantity(query.column)
    low, high = column_quantity.grid.lower, column_quantity.grid.upper
    kinds = (MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES)
    return Released(
        tuple(Measure(kind, column_quantity, query.where) for kind in kinds),
        (
            # s^2 = upper^2 - 2 upper k + k^2, and so on, with t = k - lower and s = upper - k.
            (high * high, -2 * high, 1),
            (-2 * low * high, 2 * (low + high), -2),
            (low * low, -2 * low, 1),
        ),
        (column_quantity.grid.step**2,) * 3,
    )


def list_count_factors(query: Query) -> Mapping[str, tuple[Fraction, ...]]:
    """List the column of the number of values: all three sums over what one record adds."""
    width = build_quantity(query.column).grid.width
    return {f"{query.column_name}_count": (Fraction(1, width**2),) * 3}


MEAN_PARTS = ("", "_noise_moe", "_low", "_high")


class ThreeSums(Statistic):
    """A function of the variance; the mean and the number of values are published with it."""

    suffixes = (*INTERVAL, *(f"_mean{part}" for part in MEAN_PARTS), *COUNT_SUFFIXES)
    largest = Fraction(1, 4)
    """The largest possible figure on a range of length 1."""
    what = ""
    keys = SpecKeys(column=ColumnUse.NUMBERS, squares=True)
    error_by_records = True
    example_error = "statistics.error.at_even_values"
    processing = "statistics.spread.processing"
    hazard = Hazard(
        2,
        Sentence("statistics.spread.hazard.title"),
        Sentence("statistics.spread.hazard.note"),
    )

    def compute_figure(self, variance: Estimates) -> Estimates:
        """Compute the published figure from the variance on a range of length 1."""
        return variance

    def compute_span(self, grid: Grid) -> Fraction:
        """Compute the value of a figure of 1."""
        return (grid.width * grid.step) ** 2

    def define_release(self, query: Query) -> Released:
        """Define the sums of s^2, 2ts and t^2."""
        return define_three_sums(query)

    def describe_row(self, query: Query) -> Vector:
        """Describe three integers >= 0 that sum to K^2: L1 = K^2, L2 at most K^2."""
        size = build_quantity(query.column).grid.width ** 2
        return Vector(size, size**2, 3)

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the figure, the mean, and the number of values, with their noise intervals."""
        grid, sums = build_quantity(step.query.column).grid, _read_sums(step, noisy)
        figure = self.compute_figure(estimate_variances(sums, 1 - interval))
        places = choose_places(self.compute_span(grid))
        span = to_fixed_point(self.compute_span(grid), places)
        layout = Layout(
            step.query.name,
            places,
            sentence("tables.columns.with_noise", figure=sentence(self.what)),
            interval,
        )
        maximum = to_fixed_point(self.largest * self.compute_span(grid), places)
        ends = Ends(*scale_ends(figure.low, figure.high, span, maximum))
        figures = scale_shares(figure.value, span), scale_halfwidths(figure.half, span)
        scale, values, halves, within = _compute_means(step, sums, interval)
        name, kind = f"{step.query.name}_mean", "number" if scale.places else "integer"
        return [
            *estimate_columns(layout, *figures, ends),
            OutputColumn(name, kind, values, scale.meaning, scale.places, step.query.name),
            build_halfwidth_column(name, kind, halves, scale.places, step, interval),
            *end_columns(name, step.query.name, scale.places, interval, within),
            *count_columns(step, noisy, grid.width**2, interval),
        ]

    def list_linear_factors(self, query: Query) -> Mapping[str, tuple[Fraction, ...]]:
        """List the column of the number of values."""
        return list_count_factors(query)

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float:
        """Compute the half-width for evenly spread values, for which all three sums are equal."""
        import numpy as np

        grid = build_quantity(step.query.column).grid
        third = np.array([float(records * grid.width**2) / 3])
        figure = self.compute_figure(
            estimate_variances(Sums(third, third, third, step.noise), 1 - interval)
        )
        return float(Fraction(float(figure.half[0])) * self.compute_span(grid))


def _read_sums(step: Step, noisy: Noisy) -> Sums:
    import numpy as np

    first, second, third = (np.array(row, dtype=np.float64) for row in noisy)
    return Sums(first, second, third, step.noise)


def _compute_means(
    step: Step, sums: Sums, interval: Fraction
) -> tuple[Scale, list[int], list[int], Ends]:
    """Compute the means on their scale, their half-widths, and the ends of their intervals."""
    scale, mean = Mean().scale(step.query), estimate_means(sums, 1 - interval)
    low, span = to_fixed_point(scale.lower, scale.places), to_fixed_point(scale.span, scale.places)
    values, halves = scale_shares(mean.value, span, low), scale_halfwidths(mean.half, span)
    return scale, values, halves, clip_intervals(values, halves, low, low + span)


def mean_columns(step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
    """Publish the mean, its noise interval and flag, and the number of values."""
    scale, values, halves, within = _compute_means(step, _read_sums(step, noisy), interval)
    layout = Layout(step.query.name, scale.places, scale.meaning, interval)
    return [
        *estimate_columns(layout, values, halves, within),
        *count_columns(step, noisy, scale.width**2, interval),
    ]


def mean_half(step: Step, interval: Fraction, records: int) -> float:
    """Compute the half-width for values that are all at the middle of the bounds."""
    import numpy as np

    grid = build_quantity(step.query.column).grid
    quarter = np.array([records * grid.width**2 / 4])
    half = float(
        estimate_means(Sums(quarter, 2 * quarter, quarter, step.noise), 1 - interval).half[0]
    )
    return float(Fraction(half) * grid.width * grid.step)
