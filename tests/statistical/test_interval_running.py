"""Intervals of cumulative counts and of the quantiles read from them, by the exact law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
import pytest
import strategy_plans
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from planned_figures import FAMILIES, LEVELS, all_draws, get_law, with_noise

from dprelease.model import AxisMatrix, ColumnType, Group, Noise, NoiseFamily, Query, Step
from dprelease.statistics.cumulative import (
    RunningSums,
    build_matrix,
    build_scaled_matrix,
    choose_reader,
    find_place,
)
from dprelease.statistics.shared.tree_sums import TreeSums
from dprelease.statistics.statistic_registry import get_statistic

EDGES = ("0", "1", "3", "7", "8", "20")
QUANTILES = (Fraction(1, 10), Fraction(1, 2), Fraction(3, 4))


def build_step(labels: int, noise: Noise) -> Step:
    edges = EDGES[: labels + 1]
    names = tuple(map(str, range(labels)))
    group = Group("x", ColumnType.INTEGER, names, edges=edges)
    return with_noise(Query("q", "cumulative", "t", (group,), quantiles=QUANTILES), noise)


def list_column_names(step: Step, integers: list[int], level: Fraction) -> dict[str, list[int]]:
    made = get_statistic("cumulative").build_columns(step, [integers], level)
    return {column.name: list(column.values) for column in made}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("parameter", [Fraction(1, 2), Fraction(3)])
def test_the_interval_of_every_row_covers(family: NoiseFamily, parameter: Fraction) -> None:
    noise = Noise(family, parameter)
    step = build_step(5, noise)
    _, chances = get_law(noise)
    for level in LEVELS:
        halves = list_column_names(step, [9] * 5, level)["q_noise_moe"]
        law = np.array([1.0])
        for half in halves:
            law = np.convolve(law, chances)
            reach = len(law) // 2
            within = law[max(0, reach - half) : reach + half + 1].sum()
            assert within >= float(level) - 1e-9
        assert halves == sorted(halves)
        assert Fraction(halves[-1]) == get_statistic("cumulative").compute_halfwidth(step, level)


TRUE = [(1, 0), (0, 1), (3, 3), (6, 2), (5, 5), (40, 2), (0, 30)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("true", TRUE, ids=str)
def test_the_interval_of_a_quantile_covers(family: NoiseFamily, true: tuple[int, int]) -> None:
    """Two bins and all draws: the quantile is below the edge in the middle, or above it."""
    noise = Noise(family, Fraction(1))
    step, level = build_step(2, noise), Fraction(9, 10)
    draws, chances = all_draws(noise, 2, 1e-6)
    integers = np.stack([true[0] + draws[0], true[1] + draws[1]], axis=1).ravel().tolist()
    made = list_column_names(step, integers, level)
    for q, name in zip(QUANTILES, ("q_q10", "q_q50", "q_q75"), strict=True):
        low, high = (np.array(made[f"{name}_{end}"][::2]) for end in ("low", "high"))
        below = true[0] >= q * sum(true)
        covered = chances[low == 0 if below else high == high.max()].sum()
        assert covered >= float(level) - 1e-5


@given(
    true=st.lists(st.integers(0, 30), min_size=1, max_size=5),
    noise=st.lists(st.integers(-20, 20), min_size=5, max_size=5),
    limits=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    q=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
def test_it_is_missed_only_if_one_of_two_edges_is_off_by_more_than_its_half(
    true: list[int], noise: list[int], limits: list[int], q: Fraction
) -> None:
    n = len(true)
    if not sum(true):
        true[0] = 1
    exact = np.cumsum(true).tolist()
    noisy = np.cumsum([a + b for a, b in zip(true, noise, strict=False)]).tolist()
    place = find_place(noisy, q, limits[: n - 1])
    own = next(j for j in range(1, n + 1) if exact[j - 1] >= q * exact[-1])
    errors = [
        abs(q.denominator * (a - b) - q.numerator * (noisy[-1] - exact[-1])) > h
        for a, b, h in zip(noisy, exact, limits, strict=False)
    ][: n - 1]
    assert 0 <= place.low < place.high <= n
    if not (own < n and errors[own - 1]):
        assert place.low <= own - 1
    if not (own > 1 and errors[own - 2]):
        assert place.high >= own
    assert place.at is None or place.low <= place.at <= place.high
    if place.at is None:
        assert max(noisy) <= 0


def test_without_noise_a_quantile_lies_in_its_bin_where_even_spread_puts_it() -> None:
    for true in product(range(4), repeat=3):
        exact = np.cumsum(true).tolist()
        if not exact[-1]:
            continue
        place = find_place(exact, Fraction(1, 2), [0, 0])
        assert place.at is not None
        own = max(ceil(place.at) - 1, 0)
        before = exact[own - 1] if own else 0
        assert before + (place.at - own) * true[own] == Fraction(exact[-1], 2)


# --- counts that are mixed along the order ------------------------------------------------------


def mix_step(labels: int, noise: Noise, matrix: AxisMatrix, edges: bool = True) -> Step:
    step = build_step(labels, noise) if edges else step_of_keys(labels, noise)
    return replace(step, axes=(matrix,))


def step_of_keys(labels: int, noise: Noise) -> Step:
    keys = tuple(map(str, range(labels)))
    group = Group("x", ColumnType.STRING, keys, keys=keys)
    return with_noise(Query("q", "cumulative", "t", (group,), quantiles=QUANTILES), noise)


Build = Callable[[int], AxisMatrix]
MATRICES = [build_matrix, build_scaled_matrix]


def build_matrix_values(matrix: AxisMatrix, labels: int) -> Any:
    return np.array(strategy_plans.build_matrix(matrix, labels))


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=40), st.sampled_from(MATRICES))
def test_what_is_mixed_is_read_back_exactly(true: list[int], build: Build) -> None:
    cells, matrix = np.array(true, dtype=object), build(len(true))
    released = (build_matrix_values(matrix, len(true)).astype(object) @ cells).tolist()
    sums = choose_reader(len(true), (matrix,))
    assert sums.read(released) == np.cumsum(np.array(true, dtype=object)).tolist()


@pytest.mark.parametrize(
    ("build", "labels", "most"),
    [
        (build_matrix, 100, 2.45),
        (build_matrix, 365, 2.90),
        (build_scaled_matrix, 2, 1.15),
        (build_scaled_matrix, 100, 2.28),
        (build_scaled_matrix, 365, 2.69),
    ],
)
def test_the_error_of_running_sums_is_that_of_the_matrices(
    build: Build, labels: int, most: float
) -> None:
    """At mu = 1: a noise as long as the longest column."""
    matrix = build(labels)
    mixing_matrix = build_matrix_values(matrix, labels).astype(float)
    weights = np.tril(np.ones((labels, labels))) @ np.linalg.inv(mixing_matrix)
    spread = float(RunningSums(labels, *matrix.entries).spread())
    assert spread == pytest.approx((weights**2).sum() / labels, rel=1e-6)
    length = (mixing_matrix**2).sum(axis=0).max()
    assert (length * spread) ** 0.5 <= most


@pytest.mark.parametrize("labels", [*range(1, 60), 100, 365])
def test_factors_make_no_running_sum_err_more(labels: int) -> None:
    """Neither the mean nor the largest variance, at the same loss."""
    errors = []
    for build in MATRICES:
        mixing_matrix = build_matrix_values(build(labels), labels).astype(float)
        weights = np.tril(np.ones((labels, labels))) @ np.linalg.inv(mixing_matrix)
        variances = (weights**2).sum(axis=1) * (mixing_matrix**2).sum(axis=0).max()
        errors.append((variances.sum(), variances.max()))
    (mean, worst), (mean_with_factors, worst_with_factors) = errors
    assert mean_with_factors <= 0.94 * mean or labels == 1
    assert worst_with_factors <= 0.9 * worst or labels == 1


@pytest.mark.parametrize("q", [Fraction(0), *QUANTILES])
def test_rows_with_factors_are_measured_rightly(q: Fraction) -> None:
    labels, noise = 9, Noise(NoiseFamily.GAUSSIAN, Fraction(10**13))
    matrix = build_scaled_matrix(labels)
    inverse = np.linalg.inv(build_matrix_values(matrix, labels).astype(float))
    weights = np.tril(np.ones((labels, labels))) @ inverse
    weights -= float(q) * weights[-1]
    reader = RunningSums(labels, *matrix.entries)
    for place, row in enumerate(weights[:-1]):
        half = reader.balance_half(noise, place + 1, q, Fraction(1, 20))
        deviation = float(row @ row * 10**13) ** 0.5
        assert float(half) == pytest.approx(1.96 * deviation + float(1 + q) / 2, rel=1e-3)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("build", MATRICES)
@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_mixed_counts_and_their_quantiles_cover(level: Fraction, build: Build) -> None:
    labels, runs = 12, 4000
    random = np.random.default_rng(3)
    true = random.integers(0, 60, labels)
    matrix = build(labels)
    unit = prod(row[0] for row in matrix.entries)
    noise = Noise(NoiseFamily.GAUSSIAN, Fraction(3 * unit**2))
    # So wide a discrete law is that of a rounded normal draw.
    draws = np.rint(random.normal(0, float(noise.parameter) ** 0.5, (runs, labels))).astype(int)
    step = mix_step(labels, noise, matrix, edges=False)
    integers = (build_matrix_values(matrix, labels) @ true + draws).ravel().tolist()
    made = list_column_names(step, integers, level)
    exact = np.cumsum(true)
    errors = np.abs(np.array(made["q"]).reshape(runs, labels) - exact)
    halves = np.array(made["q_noise_moe"]).reshape(runs, labels)
    spare = 4 * (0.25 / runs) ** 0.5
    covered = (errors <= halves).mean(axis=0)
    assert (covered >= float(level) - spare).all()
    assert (errors <= 0.8 * halves).mean() < float(level)
    for q, name in zip(QUANTILES, ("q_q10", "q_q50", "q_q75"), strict=True):
        own = int(np.argmax(exact >= q * exact[-1]))
        low, high = (
            np.array(made[f"{name}_{end}"][::labels], dtype=int) for end in ("low", "high")
        )
        assert ((low <= own) & (own <= high)).mean() >= float(level) - spare


# --- counts that are released as a tree -----------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_a_tree_cover(family: NoiseFamily, level: Fraction) -> None:
    """By the law of all draws together, of few labels and little noise."""
    reader, noise = TreeSums(3, (1, 2)), Noise(family, Fraction(3, 5))
    draws, chances = all_draws(noise, reader.outputs, 1e-4)
    # Weights are thirds and halves: six times each is a whole number.
    units = [reader.read([6 * (row == place) for row in range(5)]) for place in range(5)]
    totals = (np.stack(draws, axis=1) @ np.array(units) + 3) // 6
    for count in range(1, 4):
        half = reader.compute_halfwidth(noise, count, 1 - level)
        assert chances[abs(totals[:, count - 1]) <= half].sum() >= float(level) - 1e-3
    for q in QUANTILES:
        for count in (1, 2):
            half = reader.balance_half(noise, count, q, 1 - level)
            balance = abs(totals[:, count - 1] - float(q) * totals[:, 2])
            assert chances[balance <= float(half) + 1e-9].sum() >= float(level) - 1e-3


def test_only_gaussian_noise_has_intervals_of_mixed_counts() -> None:
    step = mix_step(3, Noise(NoiseFamily.LAPLACE, Fraction(1)), build_matrix(3))
    with pytest.raises(ValueError, match="Gaussian"):
        list_column_names(step, [1, 2, 3], Fraction(1, 2))
