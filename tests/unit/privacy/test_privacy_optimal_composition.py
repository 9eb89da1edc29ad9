"""Optimal composition of alike losses: against every outcome written out, and its own inverse."""

import itertools
from fractions import Fraction as F

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprelease.privacy import optimal_composition, zcdp

D6 = F("1e-6")


def number(value: F) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def written_out(times: int, epsilon: F, total: F, each: F) -> mpmath.mpf:
    """Delta of ``times`` responses of four outcomes, two of which tell the truth openly."""
    e, g, d = mpmath.exp(number(epsilon)), mpmath.exp(number(total)), number(each)
    one = [d, (1 - d) * e / (1 + e), (1 - d) / (1 + e), mpmath.mpf(0)]
    delta = mpmath.mpf(0)
    for outcome in itertools.product(range(4), repeat=times):
        mine = mpmath.fprod(one[each] for each in outcome)
        other = mpmath.fprod(one[3 - each] for each in outcome)
        delta += max(mpmath.mpf(0), mine - g * other)
    return delta


@pytest.mark.parametrize("times", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "7"])
@pytest.mark.parametrize("each", ["0", "0.01"])
@pytest.mark.parametrize("share", ["0", "0.13", "0.5", "0.9", "1.1"])
def test_delta_is_that_of_all_outcomes(times: int, epsilon: str, each: str, share: str) -> None:
    total = F(share) * times * F(epsilon)
    found = optimal_composition.delta_of(times, F(epsilon), total, F(each))
    with mpmath.workdps(50):
        truth = written_out(times, F(epsilon), total, F(each))
        assert truth <= number(found) + mpmath.mpf("1e-45")
        assert number(found) <= truth * (1 + mpmath.mpf("1e-30")) + mpmath.mpf("1e-39")


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 80),
    st.fractions(F(1, 100), 4, max_denominator=100),
    st.integers(1, 12),
    st.sampled_from([F(0), F(1, 10**15)]),
)
def test_epsilon_is_the_inverse_of_delta(times: int, epsilon: F, digits: int, each: F) -> None:
    delta = F(1, 10**digits)
    total = optimal_composition.epsilon_of(times, epsilon, delta, each)
    assert total <= times * epsilon
    if total < times * epsilon:
        assert optimal_composition.delta_of(times, epsilon, total, each) <= delta
    if total > 0:
        less = total * (1 - F(1, 10**10))
        assert optimal_composition.delta_of(times, epsilon, less, each) > delta
    assert total <= optimal_composition.epsilon_of(times + 1, epsilon, delta, each)


@pytest.mark.parametrize("times", [10, 1000, 20_000])
def test_it_is_below_other_accounting_and_quick(times: int) -> None:
    epsilon = F(1, 100)
    found = optimal_composition.epsilon_of(times, epsilon, D6)
    assert found <= min(times * epsilon, zcdp.epsilon_of(times * zcdp.rho_of_pure(epsilon), D6))
    assert found >= optimal_composition.epsilon_of(times - 1, epsilon, D6)


def test_extremes() -> None:
    assert optimal_composition.epsilon_of(0, F(1), D6) == 0
    assert optimal_composition.epsilon_of(9, F(0), D6) == 0
    assert optimal_composition.epsilon_of(9, F(1, 7), F(0)) == F(9, 7)
    assert optimal_composition.epsilon_of(2, F(10**6), D6) == 2 * 10**6
    assert optimal_composition.epsilon_of(1, F(1, 10**9), F(1, 2)) == 0
    assert optimal_composition.epsilon_of(30, F(900), D6) <= 27000
    assert optimal_composition.delta_of(2, F(10**6), F(1)) == 1
    assert optimal_composition.delta_of(2, F(1), F(2)) == 0
    assert optimal_composition.delta_of(50, F(900), F(40_000)) > F(99, 100)
    assert optimal_composition.epsilon_of(1, F(1), F("1e-9"), F("1e-9")) == 1


def test_nonsense_is_refused() -> None:
    for arguments in ((-1, F(1), D6), (1, F(-1), D6), (1, F(1), F(1)), (1, F(1), D6, F(1))):
        with pytest.raises(ValueError, match="deltas lie"):
            optimal_composition.epsilon_of(*arguments)
    with pytest.raises(ValueError, match="fit"):
        optimal_composition.epsilon_of(3, F(1), D6, F("5e-7"))
    for total in (F(-1), F(-1, 10)):
        with pytest.raises(ValueError, match="negative"):
            optimal_composition.delta_of(1, F(1), total)
