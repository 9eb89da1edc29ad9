"""The zCDP of a loss of bounded range: golden value, tightness, and the way back."""

import math
from fractions import Fraction as F

import pytest
from mpmath import mp, mpf

from dprelease.privacy.bounded_range import bound_range_rho, find_range_for_rho

mp.dps = 40
RANGES = [F(1, 1000), F(1, 10), F(1), F(3), F(20)]


def evaluate_formula(epsilon: F) -> mpf:
    e = mpf(epsilon.numerator) / epsilon.denominator
    shrunk = (1 - mp.exp(-e)) / e
    return mp.log(shrunk) + 1 / shrunk - 1


def compute_divergence(alpha: mpf, low: mpf, epsilon: mpf) -> mpf:
    """Renyi divergence of the pair whose log-ratio is -low or epsilon - low."""
    upper = (mp.exp(low) - 1) / (mp.exp(epsilon) - 1)
    moment = upper * mp.exp(alpha * (epsilon - low)) + (1 - upper) * mp.exp(-alpha * low)
    return mp.log(moment) / (alpha - 1)


@pytest.mark.parametrize("epsilon", [*RANGES, F(1, 10**6), F(5000), F(10**5)])
def test_it_is_the_formula_rounded_up(epsilon: F) -> None:
    exact, found = evaluate_formula(epsilon), bound_range_rho(epsilon)
    value = mpf(found.numerator) / found.denominator
    assert exact <= value <= exact * (1 + mpf(10) ** -14)
    assert found <= epsilon**2 / 8


def test_a_range_so_small_that_digits_run_out() -> None:
    assert bound_range_rho(F(1, 10**60)) == F(1, 8 * 10**120)
    assert bound_range_rho(F(0)) == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("epsilon", RANGES)
def test_no_pair_of_that_range_exceeds_it_and_one_comes_close(epsilon: F) -> None:
    rho = evaluate_formula(epsilon)
    e = mpf(epsilon.numerator) / epsilon.denominator
    closest = mpf(0)
    for alpha in (mpf(1) + mpf(10) ** -8, mpf("1.01"), mpf("1.5"), 2, 3, 10, 100):
        for part in range(1, 200):
            ratio = compute_divergence(mpf(alpha), e * part / 200, e) / alpha
            assert ratio <= rho * (1 + mpf(10) ** -20)
            closest = max(closest, ratio)
    assert closest >= rho * mpf("0.999")


@pytest.mark.parametrize("rho", ["1e-30", "1e-9", "1/8", "1", "100", "100000"])
def test_the_way_back_is_the_largest(rho: str) -> None:
    found = find_range_for_rho(F(rho))
    assert bound_range_rho(found) <= F(rho)
    assert bound_range_rho(found * (1 + F(1, 10**12))) > F(rho)
    assert float(found) >= math.sqrt(8 * F(rho)) * (1 - 1e-14)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        bound_range_rho(F(-1))
    with pytest.raises(ValueError, match="positive"):
        find_range_for_rho(F(0))
