"""Windows of levels, from the chances of all levels for all numbers of small grids."""

import math
from fractions import Fraction as F
from itertools import permutations

import mpmath
import numpy as np
import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease.local.randomizers.window_response import (
    LEVELS,
    compute_variances,
    find_best,
    find_window,
    find_worst_variance,
)
from dprelease.model.record_tables import Window, WindowLaw

WIDE = 2**40  # steps of a grid so fine that all of [-1, 1] is on it
SHAPES = [(2, 1), (3, 1), (3, 2), (5, 2), (8, 3), (6, 5), (12, 7)]


def factor(epsilon: str) -> F:
    with mpmath.workdps(60):
        return F(str(mpmath.exp(mpmath.mpf(epsilon))))


def chances(window: Window, number: int, width: int) -> list[F]:
    """The chance of each level for one number k - L of a grid, as the model says it."""
    starts = window.levels - window.width
    place = F(number * starts, width)
    start = math.floor(place)
    part = place - start
    total = starts + window.ratio * window.width

    def level(j: int, first: int) -> F:
        return (window.ratio if first <= j < first + window.width else F(1)) / total

    return [
        (1 - part) * level(j, start) + (part * level(j, start + 1) if part else 0)
        for j in range(window.levels)
    ]


def law_chances(law: WindowLaw, number: int, width: int) -> list[tuple[F, F]]:
    """Pairs: what a level stands for in half ranges, and its chance."""
    found = []
    for window, share in ((law.first, law.share), (law.second, 1 - law.share)):
        if window is not None:
            for j, chance in enumerate(chances(window, number, width)):
                found.append((F(2 * j - (window.levels - 1), 2) * window.gap, share * chance))
    return found


def realised(laws: list[list[tuple[F, F]]], bound: F) -> F:
    return max(
        sum((max(F(0), p - bound * q) for (_, p), (_, q) in zip(a, b, strict=True)), F(0))
        for a, b in permutations(laws, 2)
    )


def bound(window: Window, limit: F) -> F:
    """The delta of a window for any two numbers, by its closed form; ``limit`` is e^epsilon."""
    starts = window.levels - window.width
    over = max(F(0), window.ratio - limit)
    return min(window.width, starts) * over / (starts + window.ratio * window.width)


@pytest.mark.one_in(2)
@for_each("shape", SHAPES)
@for_each("epsilon", ["0.01", "1", "4"])
@for_each("delta", ["0", "1e-6", "0.1"])
def test_a_window_loses_what_it_may(shape: tuple[int, int], epsilon: str, delta: str) -> None:
    window = find_window(*shape, F(epsilon), F(delta))
    assert window is not None
    width = 2 * (shape[0] - shape[1]) + 1
    laws = [law_chances(WindowLaw(window), k, width) for k in range(width + 1)]
    lost = realised(laws, factor(epsilon))
    assert lost <= F(delta)
    assert abs(bound(window, factor(epsilon)) - lost) < F(1, 10**25)
    # 10^-5 less of a gap is too little.
    starts, gap = shape[0] - shape[1], window.gap - F(1, 10**5)
    beta = 2 / (gap * starts)
    if beta < 1:
        ratio = (shape[1] + beta * starts) / (shape[1] * (1 - beta))
        assert bound(replace(window, gap=gap, ratio=ratio), factor(epsilon)) > F(delta)


@pytest.mark.parametrize("width", [1, 2, 3, 10])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("1", "0"), ("1", "0.2"), ("5", "0")])
def test_the_best_mixture_is_right_on_average_and_as_private_as_asked(
    width: int, epsilon: str, delta: str
) -> None:
    law = find_best(width, F(epsilon), F(delta))
    assert law is not None
    assert 2**64 % law.share.denominator == 0
    laws = [law_chances(law, k, width) for k in range(width + 1)]
    assert all(sum(chance for _, chance in each) == 1 for each in laws)
    assert realised(laws, factor(epsilon)) <= F(delta)
    lost = law.share * bound(law.first, factor(epsilon))
    if law.second is not None:
        lost += (1 - law.share) * bound(law.second, factor(epsilon))
    assert F(delta) * F(999, 1000) <= lost <= F(delta)
    spreads = []
    for k, each in enumerate(laws):
        x = F(2 * k - width, width)
        assert sum(value * chance for value, chance in each) == x
        spreads.append(sum(value**2 * chance for value, chance in each) - x * x)
    numbers = np.array([2 * k / width - 1 for k in range(width + 1)])
    assert compute_variances(law, numbers) == pytest.approx([float(s) for s in spreads], rel=1e-9)
    assert find_worst_variance(law, width) == pytest.approx(float(max(spreads)), rel=1e-9)


def test_known_variances() -> None:
    for epsilon, most in ((1, 4.29), (2, 0.99), (4, 0.16)):
        law = find_best(WIDE, F(epsilon))
        assert law is not None
        assert most * 0.95 < find_worst_variance(law, WIDE) <= most


def duchi(epsilon: float) -> float:
    return ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2


def piecewise(epsilon: float) -> float:
    """Wang et al. 2019: worst at the ends."""
    half = math.expm1(epsilon / 2)
    return 1 / half + (half + 4) / (3 * half**2)


@pytest.mark.parametrize(
    "epsilon", ["0.001", "0.1", "0.5", "1", "1.5", "2", "3", "4", "6", "8", "10", "12", "14"]
)
def test_it_is_no_worse_than_what_is_known(epsilon: str) -> None:
    law = find_best(WIDE, F(epsilon))
    assert law is not None
    e = float(epsilon)
    assert find_worst_variance(law, WIDE) <= min(duchi(e), piecewise(e)) * (1 + 1e-5)
    # At two numbers only it is randomised response, but for the rounded gap.
    ends = find_best(1, F(epsilon))
    assert ends is not None
    assert find_worst_variance(ends, 1) <= (duchi(e) - 1) * (1 + 1e-5) + 1e-4


def test_no_other_share_and_no_single_window_is_better() -> None:
    for epsilon in (F(1, 2), F(1), F(2), F(4)):
        law = find_best(WIDE, epsilon)
        assert law is not None
        least = find_worst_variance(law, WIDE)
        for levels in LEVELS:
            for width in range(1, levels):
                window = find_window(levels, width, epsilon)
                assert window is not None
                assert find_worst_variance(WindowLaw(window), WIDE) >= least
        if law.second is not None:
            for change in (F(-1, 100), F(1, 100), F(-1, 2000), F(1, 2000)):
                other = replace(law, share=law.share + change)
                assert find_worst_variance(other, WIDE) >= least * (1 - 1e-6)


def test_every_width_has_a_law() -> None:
    for n in range(10):
        assert find_best(WIDE + n, F(1) + F(n, 7), F(n, 1000)) is not None
    for n in range(1000):
        assert find_best(WIDE + n, F(8, 7), F(1, 1000)) is not None


def test_places_stay_within_62_bits() -> None:
    for width in (2**57, 2**58, 2**60, 2**62 - 1):
        law = find_best(width, F(1))
        assert law is not None
        for window in (law.first, law.second):
            if window is not None:
                assert width * (window.levels - window.width) < 2**62
                total = window.ratio * window.width + window.levels - window.width
                assert total.numerator < 2**62
    assert find_best(2**62, F(1)) is None


def test_what_can_not_be_had() -> None:
    assert find_window(6, 5, F(1), F(1, 5)) is None  # ends may then never share an answer
    assert find_window(2, 1, F(1, 10**40)) is None
    assert find_best(8, F(1, 10**40)) is None
    far = find_window(2, 1, F(10**6))
    assert far is not None
    assert far.ratio < F(10) ** 2172  # that is e^5000: larger ones are not resolved
    for levels, width, epsilon, delta in ((2, 2, 1, 0), (2, 0, 1, 0), (2, 1, 0, 0), (2, 1, 1, 1)):
        with pytest.raises(ValueError, match="needs 1 <= width"):
            find_window(levels, width, F(epsilon), F(delta))
    with pytest.raises(ValueError, match="one value"):
        find_best(0, F(1))
