"""Intervals of densities, and the quantiles of sums of many draws that they are made of."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from builders import spec
from planned_figures import get_law

import dprelease
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.strategies.mixed_cells import mix_cells
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import bound_quantile_per_length
from dprelease.statistics.statistic_registry import get_statistic

WEIGHTS = [(1,), (1, 1), (3, 2, 1), (1,) * 12, (10, 1, 1, 1, 1), (5, 4, 3, 2, 1, -1, -2, -3)]


def chance_beyond(noise: Noise, weights: tuple[int, ...], half: float) -> float:
    """By the exact law: sums of whole multiples of draws are whole."""
    _, chances = get_law(noise)
    law = np.array([1.0])
    for weight in weights:
        spread = np.zeros(abs(weight) * (len(chances) - 1) + 1)
        spread[:: abs(weight)] = chances
        law = np.convolve(law, spread)
    values = np.arange(len(law)) - len(law) // 2
    return float(law[abs(values) > half].sum())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("scale", [Fraction(1, 8), Fraction(1, 2), Fraction(2), Fraction(7)])
def test_a_sum_of_draws_is_beyond_its_quantile_as_seldom_as_it_says(
    weights: tuple[int, ...], scale: Fraction
) -> None:
    noise = Noise(NoiseFamily.LAPLACE, scale)
    length = math.sqrt(sum(weight * weight for weight in weights))
    rows = np.array([weights], dtype=float)
    for alpha in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**6)):
        half = bound_quantile_per_length(noise, rows, alpha) * length
        assert chance_beyond(noise, weights, half) <= alpha + 1e-9
        if alpha > Fraction(1, 10**4):
            deviation = length * math.sqrt(2) * float(scale)
            assert chance_beyond(noise, weights, half - 0.05 * deviation - 1) > alpha / 2


def test_gaussian_noise_is_scaled_and_other_noise_refused() -> None:
    rows = np.array([[3.0, 4.0]])
    noise = Noise(NoiseFamily.GAUSSIAN, Fraction(400))
    assert abs(bound_quantile_per_length(noise, rows, Fraction(1, 20)) - 20 * 1.959964) < 1e-4
    assert (
        bound_quantile_per_length(Noise(NoiseFamily.NONE, Fraction(0)), rows, Fraction(1, 20)) == 0
    )
    with pytest.raises(ValueError, match="Laplace"):
        bound_quantile_per_length(
            Noise(NoiseFamily.EXPONENTIAL, Fraction(1)), rows, Fraction(1, 20)
        )


def load_query(query: dict[str, Any], epsilon: Fraction, level: Fraction) -> dprelease.Release:
    return dprelease.load(
        spec(
            privacy={"epsilon": epsilon, "delta": Fraction(1, 10**6)},
            columns={name: {"type": "float", "lower": 0, "upper": 20} for name in "xy"},
            query=[{"name": "q", "statistic": "density", **query}],
            output={"path": "out", "interval": level},
        )
    )


ONE: dict[str, Any] = {"column": "x", "points": 15}
TWO: dict[str, Any] = {"columns": ["x", "y"], "points": 5}
CASES = [
    (ONE | {"mechanism": mechanism}, epsilon, records, Fraction(95, 100))
    for mechanism in ("laplace", "gaussian")
    for epsilon, records in ((1, 150), (1, 5000), (Fraction(1, 10), 5000), (4, 300))
]
CASES += [(TWO | {"mechanism": mechanism}, 1, 2000, Fraction(9, 10)) for mechanism in
          ("laplace", "gaussian")]  # fmt: skip
CASES += [(ONE | {"bandwidth": 10}, 1, 400, Fraction(1, 2)), (ONE, 1, 400, Fraction(99, 100))]


@pytest.mark.parametrize("case", [0, 5, pytest.param(slice(None), marks=pytest.mark.thorough)])
def test_intervals_hold_the_smooth_curve(case: int | slice, entropy: Any) -> None:
    for query, epsilon, records, level in CASES[case] if isinstance(case, slice) else [CASES[case]]:
        runs = 400 if isinstance(case, slice) else 150
        plan = dprelease.plan(load_query(query, Fraction(epsilon), level))
        (step,) = plan.steps
        sizes = [len(group.labels) for group in step.query.groups]
        rng = np.random.default_rng(records)
        places = [(rng.beta(2, 3, records) * size).astype(int) for size in sizes]
        cells = np.zeros(sizes, dtype=int)
        np.add.at(cells, tuple(places), 1)
        exact = mix_cells(cells.ravel().tolist(), sizes, step.axes)
        statistic = get_statistic("density")
        scale = 10**6  # so that the number of records can be told from 0, and noise is none
        many = statistic.build_columns(step, [[scale * value for value in exact]], level)
        true = np.array(many[0].values, dtype=float)
        missed = np.zeros(len(true))
        drawn = 0
        for _ in range(runs):
            noise = sample(step.noise, len(exact), entropy).tolist()
            noisy = [value + draw for value, draw in zip(exact, noise, strict=True)]
            curve, halves, _ = statistic.build_columns(step, [noisy], level)
            if curve.values[0] is None:
                continue
            drawn += 1
            missed += abs(np.array(curve.values) - true) > np.array(halves.values, dtype=float) + 1
        assert drawn > 0.9 * runs
        alpha = float(1 - level)
        # at the worst of 25 points 5 deviations, which happens less than once in 10^4 times
        assert missed.max() <= runs * alpha + 5 * math.sqrt(runs * alpha)
        assert missed.mean() <= runs * alpha + 3 * math.sqrt(runs * alpha)


@pytest.mark.parametrize("bandwidth", [1, 3])
def test_hardly_any_noise_leaves_the_curve_of_the_values(bandwidth: int, entropy: Any) -> None:
    """The error that is left is that of bins, which the intervals allow for."""
    level, epsilon = Fraction(95, 100), Fraction(200)
    query = ONE | {"bandwidth": bandwidth, "mechanism": "laplace"}
    (step,) = dprelease.plan(load_query(query, epsilon, level)).steps
    (axis,) = step.query.curve
    rng = np.random.default_rng(bandwidth)
    values = np.concatenate([rng.normal(5, 0.3, 20_000), rng.gamma(2, 3, 30_000)])
    values = np.round(np.clip(values, 0, 20), 4)
    ends = np.cumsum(axis.values)
    place = np.searchsorted(ends, np.rint(values / float(axis.step)), side="right")
    exact = mix_cells(np.bincount(place, minlength=256).tolist(), [256], step.axes)
    points = np.array(list(map(float, axis.points)))[:, None]
    turns = [sign * values + 40 * turn for sign in (1, -1) for turn in (-1, 0, 1)]
    true = sum(np.exp(-(((points - turn) / bandwidth) ** 2) / 2).mean(axis=1) for turn in turns)
    true /= bandwidth * math.sqrt(2 * math.pi)
    missed, runs = np.zeros(len(true)), 60
    for _ in range(runs):
        noise = sample(step.noise, len(exact), entropy).tolist()
        noisy = [value + draw for value, draw in zip(exact, noise, strict=True)]
        curve, halves, _ = get_statistic("density").build_columns(step, [noisy], level)
        unit = 10.0**-curve.decimals
        off = abs(np.array(curve.values, dtype=float) * unit - true)
        missed += off > np.array(halves.values, dtype=float) * unit
        assert off.max() < 0.002 * true.max()
    assert missed.max() <= 0.05 * runs + 5 * math.sqrt(0.05 * runs)
