"""Ranks of quantiles hold for the worst data, and nothing much less would.

By the exact laws, computed here from the definition: P proportional to exp(-rate distance), the
distance in ranks, where a value's records are spread evenly over its slots if a part may end there.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from planned_figures import (
    LEVELS,
    NEIGHBOURS,
    Floats,
    build_query,
    build_step,
    neighbours_name,
)

from dprelease.kernel.chapters.choices.quantile_sampler import count_slots
from dprelease.mechanisms.quantile_error import rank_halfwidth
from dprelease.mechanisms.quantiles import plan_levels
from dprelease.model import NoiseFamily, QuantileScheme, QuantileStep, Step
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

EPSILONS = [Fraction(3), Fraction(1, 3)]
WIDE = 10**6


def find_stated_halfwidth(step: Step, at: int, level: Fraction) -> int:
    """The published rank half-width of a quantile."""
    cell = [[0] for _ in step.query.quantiles]
    columns = get_statistic(step.query.statistic).build_columns(step, cell, level)
    ranks = [each for each in columns if each.name.endswith("_rank_moe")]
    assert all(each.values == [None] for each in columns if each.name.endswith("_noise_moe"))
    (half,) = ranks[at].values
    assert isinstance(half, int)
    return half


def compute_errors(counts: Floats, q: float) -> Floats:
    """How far the rank interval of each value is from the target."""
    upto = np.cumsum(counts)
    target = q * upto[-1]
    found: Floats = np.maximum(0.0, np.maximum(upto - counts - target, target - upto))
    return found


# --- one quantile -------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", ["median", "min", "max"])
def test_one_quantile_of_records_that_are_all_alike(name: str, known: Neighbours) -> None:
    """All lie at one bound, the rest of the grid is one gap: there the half-width is reached."""
    for epsilon in EPSILONS:
        step = build_step(build_query(name, WIDE), known, NoiseFamily.LAPLACE, epsilon)
        assert step.scheme is not None
        (selection,) = step.scheme.steps
        target = float(selection.target)
        rate = float(selection.rate) * selection.target.denominator
        for level in LEVELS:
            half = find_stated_halfwidth(step, 0, level)
            wrong = {half: 0.0, half - 1: 0.0}
            for share in {target, 1 - target}:  # all at the upper bound, or all at the lower one
                for records in range(1, 2 + int((half + 2) / share)):
                    gap = WIDE * math.exp(-rate * share * records)
                    for least, found in wrong.items():
                        if share * records > least + 1e-9:
                            wrong[least] = max(found, gap / (1 + gap))
            assert wrong[half] <= float(1 - level)
            assert wrong[half - 1] > float(1 - level)


@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", ["median", "min", "max"])
def test_one_quantile_of_any_records(name: str, known: Neighbours) -> None:
    """Spread, heaped, in two clusters; there the half-width is more than is needed."""
    rng, width = np.random.default_rng(11), 4000
    for epsilon in EPSILONS:
        step = build_step(build_query(name, width - 1), known, NoiseFamily.LAPLACE, epsilon)
        assert step.scheme is not None
        (selection,) = step.scheme.steps
        rate = float(selection.rate) * selection.target.denominator
        for records in (3, 50, 2000):
            for places in (
                rng.integers(0, width, records),
                rng.integers(0, 5, records) * 900,
                rng.integers(0, 20, records) + width // 2 * rng.integers(0, 2, records),
            ):
                off = compute_errors(np.bincount(places, minlength=width).astype(float),
                             float(selection.target))  # fmt: skip
                chances = np.exp(-rate * off)
                for level in LEVELS:
                    wrong = (
                        chances[off > find_stated_halfwidth(step, 0, level) + 1e-9].sum()
                        / chances.sum()
                    )
                    assert wrong <= float(1 - level)


# --- several ------------------------------------------------------------------------------------


@cache
def quartile_of_like_records(scheme: QuantileScheme, records: int) -> tuple[float, float]:
    """P(the lower quartile is in the gap), all records at the lower bound, and its error then.

    The median is at the bound in one of its slots, or in the gap. If at the bound, so is the
    quartile. If at the x-th value above it, the quartile is one of x + 1 values, and of all
    records: x of them have the distance of half the records.
    """
    first, second = (step for step in scheme.steps if step.index in {1, 2})
    slots = count_slots(WIDE + 1, parted=True)
    rate = float(first.rate) * first.target.denominator
    edges = np.arange(slots + 1) / slots * records
    distance = np.maximum(0, np.maximum(edges[:-1] - records / 2, records / 2 - edges[1:]))
    inside = np.exp(-rate * distance).sum()
    gap = WIDE * slots * math.exp(-rate * records / 2)
    above = np.arange(1, WIDE + 1, 50, dtype=float)
    weight = above * math.exp(-float(second.rate) * second.target.denominator * records / 2)
    missed = gap / (gap + inside) * float((weight / (1 + weight)).mean())
    return missed, 0.75 * records


@pytest.mark.one_in(2)
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
def test_quartiles_of_records_that_are_all_alike(known: Neighbours) -> None:
    """The error of the median adds to that of the quartile: no bound could leave that out."""
    for epsilon in EPSILONS:
        step = build_step(build_query("quantile", WIDE), known, NoiseFamily.LAPLACE, epsilon)
        assert step.scheme is not None
        for level in LEVELS:
            half = find_stated_halfwidth(step, 0, level)
            wrong, wrong_of_less = 0.0, 0.0
            for records in np.unique(np.linspace(1, 2 * half + 2, 400).astype(int)).tolist():
                chance, error = quartile_of_like_records(step.scheme, records)
                wrong = max(wrong, chance if error > half else 0.0)
                wrong_of_less = max(wrong_of_less, chance if error > half * 0.65 else 0.0)
            assert wrong <= float(1 - level)
            assert wrong_of_less > float(1 - level)


def law_of_two(
    counts: Floats, scheme: QuantileScheme
) -> list[tuple[npt.NDArray[np.int64], Floats]]:
    """For each of two quantiles its values and their chances, every slot gone through."""
    root, leaf = scheme.steps
    width = len(counts)
    slots = count_slots(width, parted=True)
    edges = np.concatenate(([0.0], np.cumsum(np.repeat(counts / slots, slots))))
    total = edges[-1]
    weight = weights(edges[:-1], edges[1:], float(root.target) * total, root)
    chances = weight / weight.sum()
    upto = np.cumsum(counts)
    law = np.zeros((2, width))
    law[root.index - 1] = chances.reshape(width, slots).sum(axis=1)
    for slot in np.flatnonzero(chances > 1e-9).tolist():
        value, cut = slot // slots, edges[slot]
        low, high = (cut, total) if leaf.index > root.index else (0.0, cut)
        span = slice(value, width) if leaf.index > root.index else slice(0, value + 1)
        target = low + float(leaf.target) * (high - low)
        inner = weights((upto - counts)[span], upto[span], target, leaf)
        law[leaf.index - 1, span] += chances[slot] * inner / inner.sum()
    return [(np.arange(width), each) for each in law]


def weights(below: Floats, upto: Floats, target: float, step: QuantileStep) -> Floats:
    distance = np.maximum(0.0, np.maximum(below - target, target - upto))
    found: Floats = np.exp(-float(step.rate * step.target.denominator) * distance)
    return found


@pytest.mark.thorough
def test_two_quantiles_of_any_records_of_a_small_grid() -> None:
    rng = np.random.default_rng(3)
    for quantiles in ((Fraction(1, 4), Fraction(1, 2)), (Fraction(3, 10), Fraction(4, 5))):
        scheme = plan_levels(quantiles, Fraction(2), 1, False)
        for most in (2, 40):
            counts = rng.integers(0, most, 6).astype(float)
            laws = law_of_two(counts, scheme)
            for at, (values, chances) in enumerate(laws):
                off = compute_errors(counts, float(quantiles[at]))[values]
                assert math.isclose(chances.sum(), 1, abs_tol=1e-3)
                for level in LEVELS:
                    half = rank_halfwidth(scheme, at, 0, 5, 1 - level)
                    assert chances[off > half + 1e-9].sum() <= float(1 - level)
