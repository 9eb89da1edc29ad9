"""Columns beside an estimate: the number of values behind it, which comes for free."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprelease.kernel.noise.distributions.laws import sum_halfwidth
from dprelease.model import OutputColumn, Step
from dprelease.postprocess.number_text import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT_SUFFIXES = ("_count", "_count_noise_moe")


def count_columns(
    step: Step, totals: NDArray[Any], width: int, interval: Fraction, noun: str = "values"
) -> list[OutputColumn]:
    """Publish the number of values: each added ``width`` to the released integers together.

    ``totals`` are the sums of a cell's noisy integers: the number is total/width, rounded, and
    its error that of the sum of their draws, over width.
    """
    name, draws = step.query.name, len(step.transform)
    half = (2 * sum_halfwidth(step.noise, draws, 1 - interval) + width) // (2 * width)
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
