"""zCDP conversions: golden numbers, safe rounding, inverses."""

import math
from fractions import Fraction as F

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from thorough import examples

from dprelease.kernel.core import additive_loss as verifier
from dprelease.privacy import zcdp

SMALL = F("1e-6")
EPSILONS = st.fractions(min_value=F(1, 10**9), max_value=50, max_denominator=10**9)
DELTAS = st.fractions(min_value=F(1, 10**12), max_value=F(1, 2), max_denominator=10**12)


@settings(max_examples=examples(40), deadline=None)
@given(st.fractions(min_value=F(1, 10**6), max_value=40, max_denominator=10**6), DELTAS)
def test_conversion_is_the_infimum(rho: F, delta: F) -> None:
    """Never below the best alpha scipy finds, and within 10^-9 of it."""
    r, log = float(rho), -math.log(delta)

    def cost(t: float) -> float:
        a = 1 + math.exp(t)
        return a * r + (log - math.log(a)) / math.exp(t) + t - math.log(a)

    starts = [minimize_scalar(cost, bounds=(lo, lo + 8), method="bounded") for lo in range(-20, 30)]
    best = max(0.0, min(found.fun for found in starts))
    claimed = float(zcdp.bound_epsilon(rho, delta))
    assert claimed >= best * (1 - 1e-12) - 1e-12
    assert claimed <= best * (1 + 1e-7) + 1e-9


@settings(max_examples=examples(40), deadline=None)
@given(EPSILONS, DELTAS)
def test_rho_for_is_the_inverse(epsilon: F, delta: F) -> None:
    rho = zcdp.find_rho(epsilon, delta)
    assert zcdp.bound_epsilon(rho, delta) <= epsilon
    assert zcdp.bound_epsilon(rho * F("1.00001") + F("1e-12"), delta) > epsilon


@settings(max_examples=examples(40), deadline=None)
@given(EPSILONS)
def test_pure_rho_rounds_up_and_inverts(epsilon: F) -> None:
    rho = zcdp.bound_pure_rho(epsilon)
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        truth = e * mpmath.tanh(e / 2)
        claimed = mpmath.mpf(rho.numerator) / rho.denominator
        assert truth <= claimed <= truth * (1 + mpmath.mpf("1e-14"))
    back = zcdp.find_epsilon_for_rho(rho)
    assert zcdp.bound_pure_rho(back) <= rho
    assert back >= epsilon * (1 - F("1e-13"))


@settings(max_examples=examples(40), deadline=None)
@given(st.fractions(min_value=F(1, 10**6), max_value=40, max_denominator=10**6), DELTAS)
def test_delta_of_matches_epsilon_of(rho: F, delta: F) -> None:
    epsilon = zcdp.bound_epsilon(rho, delta)
    if epsilon > rho:
        assert zcdp.bound_delta(rho, epsilon) <= delta
        assert zcdp.bound_delta(rho, epsilon) >= delta * F("0.9999")
        assert verifier.bound_zcdp_delta(rho, epsilon) <= delta
        assert verifier.bound_zcdp_delta(rho, epsilon * F(99, 100)) > delta


@pytest.mark.parametrize("epsilon", ["1e-9", "1e6"])
@pytest.mark.parametrize("delta", ["1e-12", "0.5", "0.999"])
def test_extremes_stay_consistent(epsilon: str, delta: str) -> None:
    rho = zcdp.find_rho(F(epsilon), F(delta))
    assert rho > 0
    assert zcdp.bound_epsilon(rho, F(delta)) <= F(epsilon)


def test_nonsense_is_refused() -> None:
    for call in (
        lambda: zcdp.bound_epsilon(F(1), F(0)),
        lambda: zcdp.bound_epsilon(F(-1), SMALL),
        lambda: zcdp.find_rho(F(0), SMALL),
        lambda: zcdp.find_rho(F(1), F(1)),
        lambda: zcdp.find_epsilon_for_rho(F(0)),
        lambda: zcdp.bound_pure_rho(F(-1)),
        lambda: zcdp.compute_gaussian_rho(1, F(0)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call()


def test_nothing_costs_nothing() -> None:
    assert zcdp.bound_epsilon(F(0), SMALL) == 0
    assert zcdp.bound_delta(F(0), F(0)) == 0
    assert zcdp.bound_pure_rho(F(0)) == 0


def test_the_rho_of_gaussian_noise_is_exact() -> None:
    assert zcdp.compute_gaussian_rho(3, F(5, 2)) == F(3, 5)
