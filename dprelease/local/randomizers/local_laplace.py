r"""Discrete Laplace noise on one record's grid integer: the least scale for (epsilon, delta).

Let X have P(X = x) proportional to a^|x|, a = e^(-1/s), and let two values be K steps apart, as
far as the bounds allow. The ratio of P(X = x) to P(X = x - K) is e^((|x-K| - |x|)/s): it falls in
x, and is e^(K/s) at most. So with K/s <= epsilon the delta is 0, and else the likelier side is
x <= t, where t >= 0 is the last integer with K - 2 t > epsilon s:

    delta = P(X <= t) - e^epsilon P(X <= t - K) = 1 - (a^(t+1) + e^epsilon a^(K-t))/(1 + a).

Values less far apart are closer: for a fixed t the second term only grows. And more noise is more
private: with a < b the noise of b is that of a plus noise of its own, since
(1 - a z)/(1 - b z) = a/b + (1 - a/b)/(1 - b z) is up to a factor the generating function of a law,
and X is the difference of two geometric variables. So the valid scales are all those from a least
one on; at delta = 0 it is K/epsilon. For the continuous law it is K/(epsilon - 2 ln(1 - delta)).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dprelease.privacy.interval_arithmetic import ZERO, bound_exp, bound_ln

_WIDE, _LARGE = 1 << 40, 500  # beyond, the continuous law is a good guess
_BITS = 36  # scales are searched among multiples of a power of two 2^-36 of them or less


def bound_delta(scale: Fraction, width: int, epsilon: Fraction) -> Fraction:
    """Bound the delta at this epsilon from above, for values up to ``width`` steps apart.

    ValueError if the scale is not positive, or the width or epsilon is negative.
    """
    if scale <= 0 or width < 0 or epsilon < 0:
        raise ValueError(
            "noise needs a positive scale, a width and an epsilon that aren't negative"
        )
    if width <= epsilon * scale:
        return ZERO
    last = math.ceil((width - epsilon * scale) / 2) - 1
    common = bound_exp(-(last + 1) / scale)[0] + bound_exp(epsilon - (width - last) / scale)[0]
    return 1 - common / (1 + bound_exp(-1 / scale)[1])


@lru_cache(maxsize=4096)
def find_least_scale(width: int, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Find the least scale for which the noise is (epsilon, delta)-DP.

    Args:
        width: Largest distance of two values, in grid steps; positive.
        epsilon: Positive.
        delta: In [0, 1).

    Returns:
        The scale in grid steps: valid for certain, and the least one up to 2^-35 of it, or exactly
        where delta is 0.

    Raises:
        ValueError: An argument is out of its range.
    """
    if width <= 0 or epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError("needs a positive width and epsilon, and a delta in [0, 1)")
    pure = width / epsilon
    if delta == 0:
        return pure
    guess = _guess(width, epsilon, delta)
    exponent = guess.numerator.bit_length() - guess.denominator.bit_length() - _BITS
    step = Fraction(2) ** exponent

    low, high = 0, math.ceil(pure / step)  # all multiples from the least valid one on are valid
    first = iter((math.floor(guess / step) + 2, math.floor(guess / step) - 2))
    while high - low > 1:
        middle = next(first, (low + high) // 2)
        if low < middle < high:
            enough = bound_delta(middle * step, width, epsilon) <= delta
            low, high = (low, middle) if enough else (middle, high)
    return min(high * step, pure)


def _guess(width: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Approximate the least scale in floats: the exact search starts there."""
    pure = width / epsilon
    continuous = width / (epsilon - 2 * bound_ln(1 - delta)[0])
    if width > _WIDE or epsilon > _LARGE:
        return continuous
    span, loss, target = float(width), float(epsilon), float(delta)
    low, high = float(continuous), float(pure)
    for _ in range(_BITS):
        scale = (low + high) / 2
        last = math.ceil((span - loss * scale) / 2) - 1
        common = math.exp(-(last + 1) / scale) + math.exp(min(0.0, loss - (span - last) / scale))
        enough = span <= loss * scale or 1 - common / (1 + math.exp(-1 / scale)) <= target
        low, high = (low, scale) if enough else (scale, high)
    return Fraction(high)


def compute_variance(scale: Fraction) -> float:
    """Compute the variance in squared grid steps: 2 a/(1-a)^2 = 1/(2 sinh(1/(2 s))^2)."""
    half = float(1 / (2 * scale))
    return 0.0 if half > 350 else 1 / (2 * math.sinh(half) ** 2)


def mean_distance(scale: Fraction) -> float:
    """Compute E|X| in grid steps: 2 a/(1-a^2) = 1/sinh(1/s)."""
    rate = float(1 / scale)
    return 0.0 if rate > 700 else 1 / math.sinh(rate)


def compute_classical_scale(width: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Compute K/(epsilon - ln(1 - delta)), a sufficient scale that is often quoted; rounded up."""
    return width / (epsilon - bound_ln(1 - delta)[1]) if epsilon or delta else ZERO
