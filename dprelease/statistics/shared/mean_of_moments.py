"""A mean from the three sums of a variance, published like any other mean."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.model import OutputColumn, Step
from dprelease.postprocess.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.fixed_point import fixed_point
from dprelease.postprocess.intervals.moments import Sums, means
from dprelease.postprocess.scales import halves_on_scale, lanes, on_scale
from dprelease.statistics.base import quantity
from dprelease.statistics.mean import Mean
from dprelease.statistics.shared.count_columns import count_columns


def mean_columns(
    step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
) -> list[OutputColumn]:
    """Publish the mean, its noise interval and flag, and the number of values."""
    import numpy as np

    scale = Mean().scale(step.query)
    low, span = fixed_point(scale.lower, scale.places), fixed_point(scale.span, scale.places)
    first, second, third = (np.array(each, dtype=np.float64) for each in noisy)
    mean = means(Sums(first, second, third, step.noise), 1 - interval)
    layout = Layout(step.query.name, scale.places, scale.meaning, interval)
    width = scale.width**2
    totals = [lanes(each, width) for each in noisy]
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
