"""Errors of variances, against an even split of the budget over count, sum and sum of squares.

Values are spread evenly over [0, U]; epsilon is 1, and one record more or less what it protects.
Target: the root mean square error is at most half of what three released figures with a third of
epsilon each would give, with the variance worked out of them. Noise intervals hold the true figure
as often as they say, and are at most 1.5 times as wide as the errors are.

Run: python benchmarks/variance.py [DRAWS]
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Grid,
    Loss,
    Noise,
    NoiseFamily,
    Query,
    Step,
)
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

UPPER = 10_000  # grid steps, of one unit each
RECORDS = (100, 1_000, 10_000)
LEVEL = Fraction(95, 100)

Floats = np.ndarray[Any, np.dtype[np.float64]]


def draws(scale: Fraction, number: int) -> Floats:
    """Real discrete Laplace noise."""
    noise = Noise(NoiseFamily.LAPLACE, scale)
    return sample(noise, number, SystemEntropy()).astype(np.float64)


def published(name: str, values: Floats, number: int) -> dict[str, Floats]:
    """The columns that many releases with epsilon 1 would publish."""
    grid = Grid(Fraction(1), 0, UPPER)
    query = Query("q", name, "t", column=Column("x", ColumnType.INTEGER, grid))
    statistic = get_statistic(name)
    released = statistic.define_release(query)
    known = statistic.bound_sensitivity(query, Neighbours(Adjacency.ADD_REMOVE))
    noise = Noise(NoiseFamily.LAPLACE, Fraction(known.l1))
    step = Step(
        query, released.measures, released.transform, released.unit, known, noise, Loss(Fraction(1))
    )
    whole = [int(each) for each in values]
    measures = [len(whole), sum(whole), sum(each * each for each in whole)]
    exact = [sum(c * m for c, m in zip(row, measures, strict=True)) for row in released.transform]
    noisy = [(sample(noise, number, SystemEntropy()) + each).tolist() for each in exact]
    return {
        column.name: np.array(column.values, dtype=np.float64) / 10.0**column.decimals
        for column in statistic.build_columns(step, noisy, LEVEL)
        if column.kind != "text"
    }


def split(values: Floats, number: int) -> Floats:
    """Variances of a count, a sum and a sum of squares, each with a third of epsilon.

    Kept between 0 and U^2/4, as the others are.
    """
    count = np.maximum(len(values) + draws(Fraction(3), number), 1)
    total = values.sum() + draws(Fraction(3 * UPPER), number)
    squares = (values**2).sum() + draws(Fraction(3 * UPPER**2), number)
    found: Floats = np.clip(squares / count - (total / count) ** 2, 0, UPPER**2 / 4)
    return found


def rms(errors: Floats) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def main() -> None:
    """Print one line for each number of records and statistic."""
    number = int(sys.argv[1]) if sys.argv[1:] else 20_000
    print(f"values spread over [0, {UPPER:,}], epsilon 1, {number:,} draws; errors in shares of")
    print("U^2 (variance) and of U (standard deviation)")
    print(
        f"{'':9} {'records':>8} {'RMSE':>10} {'split':>10} {'ratio':>7}  {'<= 0.5':7}"
        f"{'interval':>10} {'errors':>10} {'ratio':>7}  {'<= 1.5':7}{'coverage':>9}"
    )
    for records in RECORDS:
        values = np.rint(np.linspace(0, UPPER, records))
        usual = split(values, number)
        for name in ("variance", "stddev"):
            truth, unit, beside = float(values.var()), float(UPPER) ** 2, usual
            if name == "stddev":
                truth, unit, beside = math.sqrt(truth), float(UPPER), np.sqrt(usual)
            found = published(name, values, number)
            errors, half = found["q"] - truth, found["q_noise_moe"]
            error, other = rms(errors) / unit, rms(beside - truth) / unit
            wide = float(np.median(half)) / unit
            at = float(np.quantile(np.abs(errors), float(LEVEL))) / unit
            covered = float(np.mean(np.abs(errors) <= half))
            print(
                f"{name:9} {records:8,} {error:10.6f} {other:10.6f} {error / other:7.3f}  "
                f"{'ok' if error <= other / 2 else 'MISSED':7}"
                f"{wide:10.6f} {at:10.6f} {wide / at:7.3f}  "
                f"{'ok' if wide <= 1.5 * at else 'MISSED':7}{covered:9.4f}"
            )


if __name__ == "__main__":
    main()
