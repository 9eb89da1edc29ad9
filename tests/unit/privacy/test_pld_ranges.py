"""Many bounded ranges as one normal law: the lemma, and against the worst adversary."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import norm

from dprelease.privacy.pld_ranges import normal_of, small_ones


def normal_delta(m: float, g: np.ndarray) -> np.ndarray:
    if m == 0:
        return np.asarray(np.maximum(0.0, -np.expm1(g)))
    mu = math.sqrt(m)
    return np.asarray(norm.sf(g / mu - mu / 2) - np.exp(g) * norm.sf(g / mu + mu / 2))


def worst_step(e: float, m: float, g: np.ndarray, shares: int = 801) -> np.ndarray:
    """(T V)(g) for V the delta of the normal law of variance m."""
    t = np.linspace(0, e, shares)[:, None]
    p = np.expm1(t - e) / np.expm1(-e)
    both = p * normal_delta(m, g - t) + (1 - p) * normal_delta(m, g - t + e)
    return np.asarray(both.max(axis=0))


@pytest.mark.one_in(7)
@pytest.mark.parametrize("e", [0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("units", [0.2, 0.5, 1, 2, 6, 30])
def test_the_lemma(e: float, units: float) -> None:
    m = units * e * e / 4
    g = np.linspace(-6, 6, 961) * math.sqrt(m + e * e)
    after = m * (1 + e * e / (6 * m)) ** 1.5
    assert np.all(worst_step(e, m, g) <= normal_delta(after, g) * (1 + 1e-9) + 1e-15)


@pytest.mark.parametrize("e", [0.01, 0.3, 1.0, 3.0])
def test_the_first_step(e: float) -> None:
    g = np.linspace(-1.2 * e, 1.2 * e, 961)
    bound = normal_delta(math.pi * e * e / 8, g)
    worst = worst_step(e, 0, g)
    assert np.all(worst <= bound + 1e-15)
    # At 0 it is tight for small ranges: nothing less would do.
    assert worst[480] >= bound[480] * (1 - 0.1 * e)


def test_the_lemma_is_not_far_from_the_least() -> None:
    e, m = 0.01, 10 * 0.01**2 / 4
    g = np.linspace(-1, 1, 401) * math.sqrt(m)
    less = m + e * e / 4 * (1 + 0.9 / 60)
    assert np.any(worst_step(e, m, g) > normal_delta(less, g))


@pytest.mark.parametrize(("c", "d"), [(0.0, 0.1), (0.3, 0.01), (1, 1), (5, 0.2), (30, 3)])
def test_moments_of_the_third_step(c: float, d: float) -> None:
    u = np.linspace(-1, 1, 200_001)
    weight = np.exp(-c * u - d * u * u)
    first, second = (float((u**k * weight).sum() / weight.sum()) for k in (1, 2))
    assert second - 1 / 3 <= 2 / 3 * first**2 + 1e-5


def adversary(spans: list[float], cells: int) -> tuple[np.ndarray, np.ndarray]:
    """At least some, on a grid at most, of what adaptive choices of intervals can do.

    Losses move by whole cells, so these are choices that an adversary has: a lower bound.
    """
    h = spans[0] / cells
    reach = sum(round(span / h) for span in spans)
    g = np.arange(-2 * reach, 2 * reach + 1) * h
    value = np.maximum(0.0, -np.expm1(g))
    for span in reversed(spans):
        width = round(span / h)
        best = value.copy()
        for t in range(1, width):
            p = math.expm1((t - width) * h) / math.expm1(-width * h)
            up = np.concatenate((np.full(t, np.nan), value[:-t]))
            down = np.concatenate((value[width - t :], np.zeros(width - t)))
            best = np.fmax(best, p * up + (1 - p) * down)
        value = best
    inner = slice(reach, 3 * reach + 1)
    return g[inner], value[inner]


@pytest.mark.parametrize(
    "spans", [[0.2] * 12, [1.0] * 6, [0.5, 0.5, 0.1, 0.1], [0.1, 0.1, 0.5, 0.5]]
)
def test_no_adversary_does_more(spans: list[float]) -> None:
    cells = 5 if spans[0] == min(spans) else 25
    g, reached = adversary(spans, cells)
    exact = [(F(str(span)), 1) for span in spans]
    bound = normal_delta(float(normal_of(exact)), g)
    assert np.all(reached <= bound + 1e-14)
    # And it is not far away.
    assert normal_delta(0.75 * float(normal_of(exact)), g[len(g) // 2 :]).max() < reached.max()


def test_the_normal_law_is_smaller_than_what_each_alone_would_need() -> None:
    # 1/4 per square, where the laws of single ranges have 1/3.
    assert normal_of([(F(1, 10), 1000)]) < F(1, 100) * 1000 * F(26, 100)
    assert normal_of([(F(1, 10), 1)]) == pytest.approx(math.pi * 0.01 / 8)


def test_order_and_grouping_are_nothing() -> None:
    spans = [(F(1, 7), 3), (F(1, 3), 1), (F(1, 9), 4)]
    single = [(span, 1) for span, times in spans for _ in range(times)]
    assert float(normal_of(spans)) == pytest.approx(float(normal_of(single[::-1])), rel=1e-20)


def test_few_ranges_keep_their_own_laws() -> None:
    assert small_ones([(F(1), 1)]) == 0
    assert small_ones([(F(1), 100)]) == 1
    assert small_ones([(F(1, 10), 100), (F(3), 1)]) == 1
