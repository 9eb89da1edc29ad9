"""The continuous Gaussian mechanism: its exact delta, enclosed, and float hints for searches.

Source: Balle and Wang 2018. For noise N(0, sigma^2 I) and a shift of length mu sigma,

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),

which holds for every real epsilon and rises in mu.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.privacy.interval_arithmetic import (
    DIGITS,
    ZERO,
    exp_floor,
    ln_bounds,
    normal_bounds,
    round_down,
    round_up,
    sqrt_bounds,
)

_ONE = Fraction(1)


def delta_of(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Upper bound of delta, within about 10^-70. ``epsilon`` may be negative."""
    if mu_squared <= 0:
        return max(ZERO, 1 - exp_floor(epsilon))
    # delta rises in mu, so the upper end of its enclosure is a mu of its own right.
    mu = sqrt_bounds(mu_squared)[1]
    near = normal_bounds(round_up(mu / 2 - epsilon / mu, DIGITS))[1]
    far = normal_bounds(round_down(-mu / 2 - epsilon / mu, DIGITS))[0]
    return min(_ONE, max(ZERO, near - exp_floor(epsilon) * far))


def epsilon_of(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """The epsilon at this delta: upper bound, 12 digits.

    No more than mu^2/2 + mu sqrt(2 ln(1/delta)), since delta <= P(N > epsilon/mu - mu/2) and
    P(N > x) <= e^(-x^2/2). ValueError if delta is not between 0 and 1.
    """
    if not 0 < delta < 1:
        raise ValueError("the Gaussian mechanism needs a delta between 0 and 1")
    if mu_squared <= 0 or delta_of(mu_squared, ZERO) <= delta:
        return ZERO
    low = ZERO
    high = mu_squared / 2 + sqrt_bounds(-2 * mu_squared * ln_bounds(delta)[0])[1]
    while high - low > high / 10**13:
        middle = round_up((low + high) / 2, 17)
        if delta_of(mu_squared, middle) <= delta:
            high = middle
        else:
            low = middle
    return round_up(high, 12)


# --- floats: where to look, never what to claim ------------------------------------------------


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def guess_delta(mu: float, epsilon: float) -> float:
    """Delta in floats, for searches only."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if epsilon > 500:
        return _tail(near)
    return max(0.0, _tail(near) - math.exp(epsilon) * _tail(far))


def guess_mu(epsilon: float, delta: float) -> float:
    """The largest mu with delta(epsilon) <= delta, in floats, for searches only."""
    low, high = math.log(1e-40), math.log(1e10)
    for _ in range(100):
        middle = (low + high) / 2
        small = guess_delta(math.exp(middle), epsilon) <= delta
        low, high = (middle, high) if small else (low, middle)
    return math.exp(low)
