"""Published noise intervals hold the figure without noise as often as they say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Grid,
    Group,
    Loss,
    Noise,
    NoiseFamily,
    OutputColumn,
    Query,
    Step,
)
from dprelease.postprocess.intervals.noise_mixture import bound_mix_quantile
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

CELLS = 6000
LEVEL = Fraction(95, 100)
LOWEST = 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / CELLS)  # a fair 95% falls below once in 4,000


def build_step(statistic: str, grid: Grid, noise: Noise) -> Step:
    labels = tuple(f"k{i}" for i in range(CELLS))
    group = Group("g", ColumnType.STRING, labels, keys=labels)
    column = None if statistic == "count" else Column("x", ColumnType.INTEGER, grid=grid)
    query = Query("q", statistic, "t", (group,), column)
    described = get_statistic(statistic)
    released = described.define_release(query)
    return Step(
        query,
        released.measures,
        released.transform,
        released.unit,
        described.bound_sensitivity(query, Neighbours(Adjacency.ADD_REMOVE)),
        noise,
        Loss(Fraction(1)),
    )


def publish(step: Step, exact: list[int], entropy: Any) -> dict[str, OutputColumn]:
    noisy = [(sample(step.noise, CELLS, entropy) + value).tolist() for value in exact]
    columns = get_statistic(step.query.statistic).build_columns(step, noisy, LEVEL)
    return {column.name: column for column in columns}


def compute_coverage(value: OutputColumn, half: OutputColumn, truth: float) -> float:
    ulp = 10.0**-value.decimals
    values = np.array(value.values, dtype=float) * ulp
    halves = np.array(half.values, dtype=float) * ulp
    return float(np.mean(np.abs(values - truth) <= halves * (1 + 1e-12) + 1e-12))


NOISES = [
    (NoiseFamily.LAPLACE, 1.0),
    (NoiseFamily.LAPLACE, 0.1),
    (NoiseFamily.GAUSSIAN, 1.0),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("family", "epsilon"), NOISES)
@pytest.mark.parametrize("width", [1, 10, 5000])
@pytest.mark.parametrize(("records", "share"), [(3, 0.0), (30, 0.5), (200, 0.1), (5000, 0.9)])
def test_mean_intervals_cover(
    family: NoiseFamily, epsilon: float, width: int, records: int, share: float, entropy: Any
) -> None:
    grid = Grid(Fraction(1), -2, width - 2)
    scale = Fraction(width) / Fraction(str(epsilon))
    noise = Noise(family, scale if family is NoiseFamily.LAPLACE else scale**2)
    step = build_step("mean", grid, noise)
    first = round(share * width * records)
    columns = publish(step, [first, width * records - first], entropy)
    truth = -2 + first / records
    assert compute_coverage(columns["q"], columns["q_noise_moe"], truth) >= LOWEST
    assert compute_coverage(columns["q_count"], columns["q_count_noise_moe"], records) >= LOWEST


@pytest.mark.parametrize(("family", "epsilon"), NOISES)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_mean_intervals_are_not_wasteful(
    family: NoiseFamily, epsilon: float, share: float, entropy: Any
) -> None:
    width, records = 5000, 100_000
    scale = Fraction(width) / Fraction(str(epsilon))
    noise = Noise(family, scale if family is NoiseFamily.LAPLACE else scale**2)
    step = build_step("mean", Grid(Fraction(1), 0, width), noise)
    first = round(share * width * records)
    columns = publish(step, [first, width * records - first], entropy)
    # at the bound half of the draws are clamped to the truth itself
    assert compute_coverage(columns["q"], columns["q_noise_moe"], first / records) <= 0.98


@pytest.mark.parametrize(("family", "epsilon"), NOISES)
@pytest.mark.parametrize("statistic", ["count", "sum"])
def test_count_and_sum_intervals_cover_tightly(
    family: NoiseFamily, epsilon: float, statistic: str, entropy: Any
) -> None:
    width = 1 if statistic == "count" else 700
    scale = Fraction(width) / Fraction(str(epsilon))
    noise = Noise(family, scale if family is NoiseFamily.LAPLACE else scale**2)
    step = build_step(statistic, Grid(Fraction(1, 100), 0, width), noise)
    columns = publish(step, [1234], entropy)
    truth = 1234 * float(step.unit[0])
    found = compute_coverage(columns["q"], columns["q_noise_moe"], truth)
    assert found >= LOWEST
    if scale > 5:  # a lattice of few points can't meet the level closely
        assert found <= 0.97


def test_the_mix_quantile_is_largest_at_unequal_weights() -> None:
    for family in (NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN):
        noise = Noise(family, Fraction(400))
        found = [bound_mix_quantile(noise, Fraction(1, 20), 0.5 + i / 40) for i in range(21)]
        assert found == sorted(found)


def test_too_narrow_an_interval_would_be_caught(entropy: Any) -> None:
    step = build_step("count", Grid(Fraction(1), 0, 1), Noise(NoiseFamily.LAPLACE, Fraction(10)))
    columns = publish(step, [50], entropy)
    half = columns["q_noise_moe"]
    narrow = OutputColumn("h", "integer", [int(h * 0.85) for h in half.values], "")  # type: ignore[operator]
    assert compute_coverage(columns["q"], narrow, 50) < LOWEST
