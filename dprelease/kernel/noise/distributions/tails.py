"""Probabilities of the exact laws, enclosed in integer arithmetic (standard library only).

All enclosures are ``Interval`` at the ``bits`` asked for. Gaussians with sigma^2 up to 2500 are
summed term by term; wider ones are compared with the normal law:

    With f(k) = exp(-k^2/(2 sigma^2)), Poisson's formula gives the sum of all f(k) as
    Z = sqrt(2 pi sigma^2) (1 + 2 sum_n q^(n n)), q = exp(-2 pi^2 sigma^2), n >= 1, so
    sqrt(2 pi sigma^2) <= Z <= sqrt(2 pi sigma^2) (1 + 4 q). f falls for k >= 0, so
    the sum from t >= 1 lies between the integrals from t and from t - 1, and, f being convex
    beyond sigma, below the integral from t - 1/2 once t - 1/2 >= sigma (each f(k) is at most its
    mean over a unit interval around k). Hence P(|N| >= t)/(1 + 4 q) <= P(|X| >= t) <=
    P(|N| >= t - 1), or t - 1/2.  (Compare proposition 25 of CKS20, arXiv 2004.00010.)
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from dprelease.kernel.noise.distributions.interval_arithmetic import (
    Interval,
    divide,
    enclose,
    exp_negative,
    multiply,
    normal_outside,
    pi,
    square_root,
)
from dprelease.kernel.noise.distributions.survival import gaussian_weights
from dprelease.model import Noise, NoiseFamily

SUMMED = 2500
_GUARD = 64  # extra bits for the rounding of a few thousand operations


def enclose_mass(noise: Noise, value: int, bits: int) -> Interval:
    """P(X = value)."""
    one = 1 << bits
    if noise.family is NoiseFamily.NONE:
        return Interval(one, one) if value == 0 else Interval(0, 0)
    if noise.family is NoiseFamily.LAPLACE:
        ratio = exp_negative(1 / noise.parameter, bits)
        power = exp_negative(abs(value) / noise.parameter, bits)
        zero = divide(
            Interval(one - ratio.high, one - ratio.low),
            Interval(one + ratio.low, one + ratio.high),
            bits,
        )
        return multiply(zero, power, bits)
    work = bits + _GUARD
    weight = exp_negative(Fraction(value * value) / (2 * noise.parameter), work)
    return divide(weight, _enclose_total(noise.parameter, work), work).shifted(_GUARD)


def enclose_outside(noise: Noise, halfwidth: int, bits: int) -> Interval:
    """P(|X| > halfwidth) for halfwidth >= 0. Laplace: 2 a^(h+1)/(1+a) with a = exp(-1/s)."""
    if halfwidth < 0:
        raise ValueError("a half-width is not negative")
    if noise.family is NoiseFamily.NONE:
        return Interval(0, 0)
    if noise.family is NoiseFamily.LAPLACE:
        one = 1 << bits
        ratio = exp_negative(1 / noise.parameter, bits)
        power = exp_negative((halfwidth + 1) / noise.parameter, bits)
        below = Interval(one + ratio.low, one + ratio.high)
        return divide(Interval(2 * power.low, 2 * power.high), below, bits)
    if noise.parameter > SUMMED:
        return _compare_normal(noise.parameter, halfwidth, bits)
    tails = _sum_outside(noise.parameter, bits)
    return tails[halfwidth] if halfwidth < len(tails) else Interval(0, tails[-1].high)


def enclose_pair_outside(scale: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X + Y| > h) for two independent discrete Laplace variables, h >= 0.

    Convolution gives P(X + Y = k) = c^2 a^k (k + 1 + 2 a^2/(1 - a^2)), c = (1-a)/(1+a), k >= 0.
    Summed from t = h + 1 and doubled: 2 a^t (t (1-a) + 1 + 2 a^2/(1+a))/(1+a)^2.
    """
    one, start = 1 << bits, halfwidth + 1
    ratio = exp_negative(1 / scale, bits)
    power = exp_negative(start / scale, bits)
    plus = Interval(one + ratio.low, one + ratio.high)
    extra = divide(multiply(ratio, ratio, bits), plus, bits)
    factor = Interval(
        start * (one - ratio.high) + one + 2 * extra.low,
        start * (one - ratio.low) + one + 2 * extra.high,
    )
    product = multiply(Interval(2 * power.low, 2 * power.high), factor, bits)
    return divide(divide(product, plus, bits), plus, bits)


def enclose_triple_outside(scale: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X + Y + Z| > h) for three independent discrete Laplace variables, h >= 0.

    Each is the difference of two geometric variables, so that with b = a^2 and k >= 0
    P(X + Y + Z = k) = (1-a)^6 a^k sum over j of C(j+2,2) C(j+k+2,2) b^j
    = a^k (1-a)/(1+a)^5 (1 + 4b + b^2 + 3k (1-b^2)/2 + k^2 (1-b)^2/2).
    Summed from t = h + 1, with x = t (1-a), and doubled it is a^t/(1+a)^5 times
    2 + 8b + 2b^2 + 3 (1+a)(1+b)(x + a) + (1+a)^2 (x^2 + 2ax + a (1+a)).
    """
    one, start = 1 << bits, halfwidth + 1
    ratio = exp_negative(1 / scale, bits)
    power = exp_negative(start / scale, bits)
    plus = Interval(one + ratio.low, one + ratio.high)
    reach = Interval(start * (one - ratio.high), start * (one - ratio.low))
    square = multiply(ratio, ratio, bits)
    more = Interval(one + square.low, one + square.high)
    shifted = Interval(reach.low + ratio.low, reach.high + ratio.high)
    first = multiply(square, square, bits)
    second = multiply(multiply(plus, more, bits), shifted, bits)
    crossed = multiply(ratio, Interval(2 * reach.low + plus.low, 2 * reach.high + plus.high), bits)
    beyond = multiply(reach, reach, bits)
    third = multiply(
        multiply(plus, plus, bits),
        Interval(beyond.low + crossed.low, beyond.high + crossed.high),
        bits,
    )
    enclosure = multiply(
        power,
        Interval(
            2 * one + 8 * square.low + 2 * first.low + 3 * second.low + third.low,
            2 * one + 8 * square.high + 2 * first.high + 3 * second.high + third.high,
        ),
        bits,
    )
    for _ in range(5):
        enclosure = divide(enclosure, plus, bits)
    return enclosure


@lru_cache(maxsize=32)
def _enclose_total(sigma2: Fraction, bits: int) -> Interval:
    """The sum of all weights exp(-k^2/(2 sigma2))."""
    if sigma2 <= SUMMED:
        weights, rest = gaussian_weights(sigma2, bits)
        low = 2 * sum(interval.low for interval in weights) - weights[0].low
        high = 2 * sum(interval.high for interval in weights) - weights[0].high
        return Interval(low, high + 2 * rest)
    root = square_root(multiply(pi(bits), enclose(2 * sigma2, bits), bits), bits)
    return Interval(root.low, multiply(root, _poisson_excess(sigma2, bits), bits).high)


@lru_cache(maxsize=32)
def _sum_outside(sigma2: Fraction, bits: int) -> tuple[Interval, ...]:
    """P(|X| > h) for h = 0, 1, ... up to the last summed weight."""
    work = bits + _GUARD
    total = _enclose_total(sigma2, work)
    weights, rest = gaussian_weights(sigma2, work)
    lows = accumulate((2 * interval.low for interval in reversed(weights[1:])), initial=0)
    highs = accumulate((2 * interval.high for interval in reversed(weights[1:])), initial=2 * rest)
    suffixes = [Interval(low, high) for low, high in zip(lows, highs, strict=True)]
    return tuple(divide(interval, total, work).shifted(_GUARD) for interval in reversed(suffixes))


def _compare_normal(sigma2: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X| > halfwidth) for a large sigma2 from the normal law, see the module."""
    start = Fraction(halfwidth + 1)
    convex = (start - Fraction(1, 2)) ** 2 >= sigma2
    above = start - (Fraction(1, 2) if convex else 1)
    inner = normal_outside(start * start / sigma2, bits)
    low = divide(inner, _poisson_excess(sigma2, bits), bits).low
    return Interval(low, normal_outside(above * above / sigma2, bits).high)


def _poisson_excess(sigma2: Fraction, bits: int) -> Interval:
    """Between 1 and 1 + 4 exp(-19 sigma2), which is above 1 + 4 exp(-2 pi^2 sigma2)."""
    one = 1 << bits
    return Interval(one, one + 4 * exp_negative(19 * sigma2, bits).high)
