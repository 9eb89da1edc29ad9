"""Variance and standard deviation: exact formulas, from records to published figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import pstdev, pvariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.model import (
    Column,
    ColumnType,
    Grid,
    MeasureKind,
    Noise,
    NoiseFamily,
    Query,
    Step,
)
from dprelease.postprocess.intervals.moment_intervals import (
    Sums,
    compute_deviations,
    estimate_means,
    estimate_variances,
)
from dprelease.statistics.shared.statistic import Released
from dprelease.statistics.statistic_registry import STATISTICS

Planned = Callable[..., Step]
LEVEL = Fraction(95, 100)
QUIET = Noise(NoiseFamily.LAPLACE, Fraction(1, 10**9))
POWERS = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}


def integers(released: Released, values: list[int]) -> list[int]:
    measures = [sum(k ** POWERS[each.kind] for k in values) for each in released.measures]
    return [sum(c * m for c, m in zip(row, measures, strict=True)) for row in released.transform]


@given(
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
    st.lists(st.fractions(0, 1, max_denominator=1000), min_size=1, max_size=20),
)
def test_the_three_sums_are_those_of_the_distances_from_both_bounds(
    lower: int, width: int, shares: list[Fraction]
) -> None:
    grid = Grid(Fraction(1), lower, lower + width)
    values = [lower + round(share * width) for share in shares]
    query = Query("q", "variance", "t", column=Column("x", ColumnType.INTEGER, grid))
    found = integers(STATISTICS["variance"].define_release(query), values)
    below, above = [k - lower for k in values], [lower + width - k for k in values]
    assert found == [
        sum(s * s for s in above),
        sum(2 * t * s for t, s in zip(below, above, strict=True)),
        sum(t * t for t in below),
    ]
    assert sum(found) == len(values) * width**2


@pytest.mark.parametrize(
    ("step", "lower", "upper", "values"),
    [
        ("1", 0, 10, [0, 10, 5, 5, 7]),
        ("0.01", -500, 1500, [-500, 1500, 33, 71, 80, 80]),
        ("1", 10**12, 10**12 + 1000, [10**12, 10**12 + 1000, 10**12 + 500]),
        ("1000", 0, 5, [1, 1, 1]),
        ("1", 0, 1, [0, 1, 1, 1]),
    ],
)
def test_without_noise_the_figures_are_those_of_the_records(
    planned: Planned, step: str, lower: int, upper: int, values: list[int]
) -> None:
    grid = Grid(Fraction(step), lower, upper)
    records = [k * grid.step for k in values]
    # many copies: the width of a draw on the lattice is divided by their number
    copies = 10**9
    for name, truth in (("variance", pvariance(records)), ("stddev", pstdev(records))):
        query = Query("q", name, "t", column=Column("x", ColumnType.DECIMAL, grid))
        made = planned(query, QUIET)
        noisy = [
            [copies * each] for each in integers(STATISTICS[name].define_release(query), values)
        ]
        columns = {each.name: each for each in STATISTICS[name].build_columns(made, noisy, LEVEL)}
        for column, wanted, span in (
            ("q", truth, (grid.width * grid.step) ** (2 if name == "variance" else 1)),
            ("q_mean", sum(records) / len(records), grid.width * grid.step),
        ):
            value = columns[column].values[0]
            half = columns[f"{column}_noise_moe"].values[0]
            assert isinstance(value, int)
            assert isinstance(half, int)
            unit = Fraction(1, 10 ** columns[column].decimals)
            assert abs(value * unit - Fraction(wanted)) <= half * unit
            # the root of a variance of 0 has an error like the root of the variance's
            assert half * unit <= span * Fraction(1, 10**4) + 2 * unit
        assert columns["q_count"].values == [len(values) * copies]
        assert columns["q_count_noise_moe"].values == [0]


def test_nothing_is_known_where_the_total_is_not_positive() -> None:
    none = np.array([-5.0, 0.0])
    sums = Sums(none, none, none, Noise(NoiseFamily.LAPLACE, Fraction(10)))
    variance, mean = (
        estimate_variances(sums, Fraction(1, 20)),
        estimate_means(sums, Fraction(1, 20)),
    )
    assert variance.value.tolist() == [1 / 8] * 2
    assert variance.half.tolist() == [1 / 8] * 2
    assert mean.value.tolist() == [0.5] * 2
    assert mean.half.tolist() == [0.5] * 2
    spread = compute_deviations(variance)
    assert spread.low.tolist() == [0.0] * 2
    assert spread.high.tolist() == [0.5] * 2


def test_figures_stay_within_what_is_possible() -> None:
    rng = np.random.default_rng(5)
    draws = [rng.normal(0, 50, 2000) for _ in range(3)]
    sums = Sums(*draws, Noise(NoiseFamily.LAPLACE, Fraction(40)))  # type: ignore[arg-type]
    for found, top in (
        (estimate_variances(sums, Fraction(1, 20)), 0.25),
        (estimate_means(sums, Fraction(1, 20)), 1.0),
        (compute_deviations(estimate_variances(sums, Fraction(1, 20))), 0.5),
    ):
        for each in (found.value, found.low, found.high):
            assert each.min() >= 0
            assert each.max() <= top
        assert (found.half <= top).all()
        assert not np.isnan(found.half).any()


def test_the_identity_that_the_interval_rests_on() -> None:
    """M_a = V + (m - a)^2, exactly, whatever the noise is."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        b = [Fraction(int(each)) for each in rng.integers(-50, 500, 3)]
        total = sum(b)
        if total == 0:
            continue
        a = Fraction(int(rng.integers(0, 100)), 100)
        mean = (b[1] / 2 + b[2]) / total
        variance = (b[0] * b[2] - b[1] ** 2 / 4) / total**2
        estimate = (a**2 * b[0] - a * (1 - a) * b[1] + (1 - a) ** 2 * b[2]) / total
        assert estimate == variance + (mean - a) ** 2
        assert variance == b[2] / total - mean**2


def test_the_expected_error_is_what_an_interval_turns_out_to_be(planned: Planned) -> None:
    grid = Grid(Fraction(1), 0, 999)
    query = Query("q", "stddev", "t", column=Column("x", ColumnType.INTEGER, grid))
    step = planned(query)
    stddev = STATISTICS["stddev"]
    noisy = [[each] for each in integers(stddev.define_release(query), list(range(1000)))]
    columns = stddev.build_columns(step, noisy, LEVEL)
    half = columns[1].values[0]
    assert isinstance(half, int)
    example = stddev.compute_halfwidth_at(step, LEVEL, 1000)
    assert example is not None
    assert math.isclose(half / 10 ** columns[1].decimals, example, rel_tol=0.02)
