"""Shares of two sums: what a mean and a proportion have in common.

Two sums are released instead of a sum and a count: A, and B = n K - A, so that every one of n
records adds exactly K to A and B together: both get the whole budget at once. A + B = n K gives
the number of records for free, A / (A + B) the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprelease.model import Measure, MeasureKind, OutputColumn, Query, Sensitivity, Step
from dprelease.postprocess.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.fixed_point import fixed_point, halves_on_scale, lanes, on_scale
from dprelease.postprocess.noise_mixture import quantile_of_mix
from dprelease.postprocess.number_text import percent, plus_minus
from dprelease.postprocess.quotient_intervals import shares
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.base import (
    ESTIMATE,
    RECORDS_FOR_EXAMPLE,
    Neighbours,
    Noisy,
    Released,
    Statistic,
    noise_halfwidth,
    quantity,
)
from dprelease.statistics.shared.sensitivity import may_be_outside, moved

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT_SUFFIXES = ("_count", "_count_noise_moe")


@dataclass(frozen=True, slots=True)
class Scale:
    """How a share s is published: as the value lower + s width_of_values, with ``places``.

    ``width`` is K, what one record adds to both sums; ``noun`` what is counted beside it.
    """

    lower: Fraction
    span: Fraction
    width: int
    places: int
    meaning: str
    noun: str = "values"


def two_sums(query: Query) -> Released:
    """Two integers for each cell: sum(k - lower) and sum(upper - k) of a column's values."""
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


class TwoSums(Statistic):
    """A share of two complementary sums, and the number of records behind it."""

    suffixes = (*ESTIMATE, *COUNT_SUFFIXES)
    error_by_records = True

    def scale(self, query: Query) -> Scale:
        """How the share is published."""
        raise TypeError("a share is published on a scale")

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all pairs of sums together.

        A row adds (t, K - t) with 0 <= t <= K: L1 = K, L2 at most K. A replaced record changes
        (t, K - t) into (u, K - u) in its cell, or takes one pair from a cell and adds one to
        another: L1 at most 2K, L2^2 at most 2K^2.
        """
        width = self.scale(query).width
        row = Vector(width, width**2, 2)
        return moved(query, neighbours, row, outside=may_be_outside(query, neighbours))

    def columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the share on its scale, its noise interval, and the number of records."""
        scale = self.scale(step.query)
        low, span = fixed_point(scale.lower, scale.places), fixed_point(scale.span, scale.places)
        first, second = (lanes(row, scale.width) for row in noisy)
        share, half = shares(first, second, step.noise, interval)
        layout = Layout(step.query.name, scale.places, scale.meaning, interval)
        return [
            *estimate_columns(layout, on_scale(share, span, low), halves_on_scale(half, span)),
            *count_columns(step, first + second, scale.width, interval, scale.noun),
        ]

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise at 1,000 records, at the worst."""
        half = self._worst(step, interval) / RECORDS_FOR_EXAMPLE
        return f"{plus_minus(half)} at {RECORDS_FOR_EXAMPLE:,} {self.scale(step.query).noun}"

    def example(
        self, step: Step, interval: Fraction, records: int = RECORDS_FOR_EXAMPLE
    ) -> dict[str, float | int] | None:
        """Half-width of the noise at so many records, at the worst."""
        half = float(self._worst(step, interval)) / records
        return {"values": records, "halfwidth": half}

    def _worst(self, step: Step, interval: Fraction) -> Fraction:
        """The half-width for one record, if the share is 0 or 1."""
        return step.unit[0] * Fraction(quantile_of_mix(step.noise, 1 - interval, 1))


def count_columns(
    step: Step, totals: NDArray[Any], width: int, interval: Fraction, noun: str = "values"
) -> list[OutputColumn]:
    """Publish the number of values: each added ``width`` to the released integers together.

    ``totals`` are the sums of a cell's noisy integers: the number is total/width, rounded, and
    its error that of the sum of their draws, over width.
    """
    name, draws = step.query.name, len(step.transform)
    half = (2 * noise_halfwidth(step.noise, 1 - interval, draws) + width) // (2 * width)
    counts: list[int] = ((2 * totals + width) // (2 * width)).tolist()
    return [
        OutputColumn(
            f"{name}_count",
            "integer",
            counts,
            f"number of {noun} behind {name}, with noise",
            0,
            name,
        ),
        half_column(f"{name}_count", "integer", [half] * len(counts), 0, step, interval),
    ]


def half_column(  # noqa: PLR0913, PLR0917 - the parts of a column
    name: str, kind: str, halves: list[int], places: int, step: Step, interval: Fraction
) -> OutputColumn:
    """Publish the half-width of the noise interval of another column."""
    return OutputColumn(
        f"{name}_noise_moe",
        kind,
        halves,
        f"half-width of the {percent(interval)} noise interval of {name}",
        places,
        step.query.name,
    )
