"""The most often that a key may be shown: the recursion, what it keeps, and where it turns."""

from fractions import Fraction as F
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprelease.privacy.geometric_selection import shown_chance


def step_by_step(units: int, epsilon: F, delta: F) -> mpmath.mpf:
    e = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    d = mpmath.mpf(delta.numerator) / delta.denominator
    chance = mpmath.mpf(0)
    for _ in range(units):
        chance = min(e * chance + d, 1 - (1 - chance - d) / e, mpmath.mpf(1))
    return chance


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 120),
    st.fractions(F(1, 20), 6, max_denominator=1000),
    st.sampled_from(["1e-300", "1e-9", "1e-5", "0.01", "0.3", "0.5", "0.9"]),
)
def test_it_is_the_recursion(units: int, epsilon: F, delta: str) -> None:
    low, high = shown_chance(units, epsilon, F(delta))
    with mpmath.workdps(70):
        truth = step_by_step(units, epsilon, F(delta))
        scale = max(truth, mpmath.mpf("1e-60"))
        assert mpmath.mpf(low.numerator) / low.denominator <= truth + scale * mpmath.mpf("1e-50")
        assert mpmath.mpf(high.numerator) / high.denominator >= truth - scale * mpmath.mpf("1e-50")
    assert high - low <= high * F(1, 10**50)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1e-4"), ("4", "0.01")])
def test_neighbours_differ_by_no_more_than_is_allowed_and_by_that(epsilon: str, delta: str) -> None:
    """One unit more or less, both outcomes: the worst is delta up to where a key is certain."""
    with mpmath.workdps(50):
        e, d = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        bounds = [shown_chance(n, F(epsilon), F(delta)) for n in range(120)]
        chances = [mpmath.mpf(low.numerator) / low.denominator for low, _ in bounds]
        for fewer, more in pairwise(chances):
            excess = max(
                more - e * fewer,
                fewer - e * more,
                e * (more - 1) + 1 - fewer,
                1 - more - e * (1 - fewer),
            )
            assert excess <= d * (1 + mpmath.mpf("1e-40"))
            if more < 1:
                assert excess >= d * (1 - mpmath.mpf("1e-30"))
        assert chances[-1] == 1
        assert sorted(chances) == chances


def test_a_turn_exactly_between_two_terms() -> None:
    """With this delta both terms of the minimum are the same at one unit: delta = 1/(e + 2)."""
    with mpmath.workdps(80):
        close = F(str(1 / (mpmath.e + 2)))
    for delta in (close, close - F(1, 10**79), close + F(1, 10**79)):
        low, high = shown_chance(2, F(1), delta)
        with mpmath.workdps(70):
            truth = step_by_step(2, F(1), delta)
            assert abs(mpmath.mpf(low.numerator) / low.denominator - truth) < mpmath.mpf("1e-55")
        assert high - low < F(1, 10**55)


def test_many_units_are_no_work() -> None:
    assert shown_chance(10**9, F(1, 10**6), F("1e-6")) == (F(1), F(1))
    low, high = shown_chance(10**6, F(1, 10**6), F("1e-9"))
    assert low <= high < F(2, 1000)
    assert low > F(1, 1000)


def test_nonsense_is_refused() -> None:
    for units, epsilon, delta in (
        (-1, F(1), F(1, 9)),
        (1, F(0), F(1, 9)),
        (1, F(101), F(1, 9)),
        (1, F(1), F(0)),
        (1, F(1), F(1)),
    ):
        with pytest.raises(ValueError, match="needs units"):
            shown_chance(units, epsilon, delta)
