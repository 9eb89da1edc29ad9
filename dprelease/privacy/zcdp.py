"""Zero-concentrated differential privacy: conversions, each rounded to the safe side.

Source: Bun and Steinke 2016; Canonne, Kamath and Steinke 2020 (CKS20), Corollary 13. For every
alpha > 1 a rho-zCDP mechanism is (epsilon, delta)-DP with

    epsilon = alpha rho + (ln(1/delta) - ln alpha)/(alpha - 1) + ln(1 - 1/alpha).

Any alpha is valid, so a float search may choose it: the value is then bounded rigorously.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dprelease.privacy.interval_arithmetic import (
    ZERO,
    bound_exp,
    bound_ln,
    bound_tanh,
    round_down,
    round_up,
)

EPSILON_DIGITS = 12
# Reported losses carry this much relative room, so that an independent check which chooses
# another alpha, equal up to float accuracy, confirms them.
ROOM = Fraction(1, 10**13)


@lru_cache(maxsize=1024)  # many queries of one weight have one epsilon
def bound_pure_rho(epsilon: Fraction) -> Fraction:
    """Bound the rho of every epsilon-DP mechanism from above: epsilon tanh(epsilon/2).

    Tight for randomised response and for the discrete Laplace mechanism with sensitivity 1.

    Args:
        epsilon: At least 0.

    Returns:
        rho, rounded up to 15 significant digits.

    Raises:
        ValueError: epsilon is negative.
    """
    if epsilon < 0:
        raise ValueError("epsilon can't be negative")
    return round_up(epsilon * bound_tanh(epsilon / 2)[1])


def compute_gaussian_rho(l2_squared: int, sigma2: Fraction) -> Fraction:
    """Compute the exact rho of (discrete) Gaussian noise (CKS20, Theorem 14).

    Args:
        l2_squared: Squared L2 sensitivity of the released integers.
        sigma2: Sigma squared of the noise on each integer, positive.

    Returns:
        rho = l2_squared/(2 sigma2).

    Raises:
        ValueError: sigma2 is not positive.
    """
    if sigma2 <= 0:
        raise ValueError("sigma squared must be positive")
    return Fraction(l2_squared) / (2 * sigma2)


@lru_cache(maxsize=4096)
def bound_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Bound the epsilon of rho-zCDP at a delta from above.

    Args:
        rho: At least 0.
        delta: Between 0 and 1.

    Returns:
        An epsilon, rounded up to 12 digits, for which rho-zCDP implies (epsilon, delta)-DP.

    Raises:
        ValueError: rho is negative or delta is not between 0 and 1.
    """
    _check(rho, delta)
    if rho == 0:
        return ZERO
    alpha = 1 + Fraction(_minimize(lambda a: _estimate_cost(a, float(rho), delta)))
    value = alpha * rho + _bound_offset(alpha, delta)
    return round_up(value * (1 + ROOM), EPSILON_DIGITS) if value > 0 else ZERO


def bound_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Bound the delta of rho-zCDP at an epsilon from above.

    For every alpha > 1 it is e^((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1).
    """
    if rho == 0:
        return ZERO
    if rho >= epsilon:  # the formula may give nothing here, and 1 is always valid
        return Fraction(1)
    r, e = float(rho), float(epsilon)

    def compute_cost(above_one: float) -> float:
        alpha = 1 + above_one
        return (
            above_one * (alpha * r - e)
            + alpha * (math.log(above_one) - math.log1p(above_one))
            - math.log(above_one)
        )

    alpha = 1 + Fraction(_minimize(compute_cost))
    exponent = (alpha - 1) * (alpha * rho - epsilon)
    exponent += alpha * bound_ln(1 - 1 / alpha)[1] - bound_ln(alpha - 1)[0]
    return min(Fraction(1), bound_exp(exponent)[1]) if exponent < 0 else Fraction(1)


def bound_surcharge(alpha: Fraction, delta: Fraction) -> Fraction:
    """Bound from above what the conversion at order alpha adds to alpha rho.

    A rho-zCDP mechanism is (alpha rho + surcharge, delta)-DP. Where several releases compose, rho
    is their sum and the surcharge is added once.

    Args:
        alpha: The order, above 1.
        delta: Between 0 and 1.

    Returns:
        The surcharge, rounded up to 15 digits; it may be negative.

    Raises:
        ValueError: alpha is not above 1 or delta is not between 0 and 1.
    """
    _check(ZERO, delta)
    if alpha <= 1:
        raise ValueError("the order must be above 1")
    return round_up(_bound_offset(alpha, delta))


def order_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose the order alpha at which (epsilon, delta) allows the largest rho.

    Args:
        epsilon: The epsilon to be met.
        delta: Between 0 and 1.

    Returns:
        alpha, to 6 digits. It is a hint: every order above 1 is valid.

    Raises:
        ValueError: delta is not between 0 and 1.
    """
    return 1 + round_up(_order(epsilon, delta) - 1, 6)


def _order(epsilon: Fraction, delta: Fraction) -> Fraction:
    _check(ZERO, delta)
    e = float(epsilon)
    return 1 + Fraction(_minimize(lambda a: -(e - _estimate_cost(a, 0.0, delta)) / (1 + a)))


@lru_cache(maxsize=256)  # every mix that the planner tries asks for that of the same total
def find_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find the largest rho for which rho-zCDP implies (epsilon, delta)-DP, by ``bound_epsilon``.

    Args:
        epsilon: Positive.
        delta: Between 0 and 1.

    Returns:
        rho, rounded down to 13 digits.

    Raises:
        ValueError: epsilon or delta is out of range, or no rho was found.
    """
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    alpha = _order(epsilon, delta)
    # For a fixed alpha the formula is linear in rho, so it is solved for rho.
    rho = round_down((epsilon - _bound_offset(alpha, delta)) / alpha, 13)
    loosened = Fraction(1, 10**12)
    while rho > 0 and loosened < 1:
        if bound_epsilon(rho, delta) <= epsilon:
            return rho
        rho = round_down(rho * (1 - loosened), 13)
        loosened *= 2
    raise ValueError("no rho meets this epsilon and delta")


def find_epsilon_for_rho(rho: Fraction) -> Fraction:
    """Find the largest pure epsilon whose rho, by ``bound_pure_rho``, is at most ``rho``.

    Args:
        rho: The zCDP budget, positive.

    Returns:
        epsilon, rounded down to 15 digits.

    Raises:
        ValueError: rho is not positive.
    """
    if rho <= 0:
        raise ValueError("rho must be positive")
    target = float(rho)
    low, high = math.sqrt(2 * target), target + math.sqrt(2 * target) + 1
    low = min(low, high) / 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) <= target else (low, middle)
    # The search was in floats; lower its result until the exact bound confirms it.
    epsilon = round_down(Fraction(low))
    loosened = Fraction(1, 10**15)
    while bound_pure_rho(epsilon) > rho:
        epsilon = round_down(epsilon * (1 - loosened))
        loosened *= 2
    return epsilon


def _check(rho: Fraction, delta: Fraction) -> None:
    if rho < 0:
        raise ValueError("rho can't be negative")
    if not 0 < delta < 1:
        raise ValueError("zCDP needs a delta between 0 and 1")


def _bound_offset(alpha: Fraction, delta: Fraction) -> Fraction:
    """Bound from above what the formula adds to alpha rho."""
    numerator = -bound_ln(delta)[0] - bound_ln(alpha)[0]
    return numerator / (alpha - 1) + bound_ln(1 - 1 / alpha)[1]


def _estimate_cost(above_one: float, rho: float, delta: Fraction) -> float:
    log = math.log(delta.numerator) - math.log(delta.denominator)
    grown = math.log1p(above_one)
    return (1 + above_one) * rho + (-log - grown) / above_one + math.log(above_one) - grown


def _minimize(cost: Callable[[float], float]) -> float:
    """Find the argument in 1e-9..1e15 with the least cost: golden section over its logarithm."""
    # A float search for a hint: nothing but tightness rests on its accuracy.
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(1e-9), math.log(1e15)
    lower, upper = high - ratio * (high - low), low + ratio * (high - low)
    low_cost, high_cost = cost(math.exp(lower)), cost(math.exp(upper))
    for _ in range(85):
        if low_cost <= high_cost:
            high, upper, high_cost = upper, lower, low_cost
            lower = high - ratio * (high - low)
            low_cost = cost(math.exp(lower))
        else:
            low, lower, low_cost = lower, upper, high_cost
            upper = low + ratio * (high - low)
            high_cost = cost(math.exp(upper))
    return math.exp((low + high) / 2)
