"""The verifier's own arithmetic: exp, ln and the normal tail in plain integers.

Shares nothing with the enclosures that calibration uses: exp by halving, Taylor and squaring;
ln by one verified Newton step; the normal tail by the alternating Maclaurin series near zero and
Laplace's continued fraction far out. Every answer is a pair (low, high) around the truth.
"""

from __future__ import annotations

import math
from fractions import Fraction

BITS = 512
ONE = 1 << BITS
Pair = tuple[Fraction, Fraction]

# 2 pi between two decimals of 60 places.
TWO_PI: Pair = (
    Fraction("6.283185307179586476925286766559005768394338798750211641949889"),
    Fraction("6.283185307179586476925286766559005768394338798750211641949890"),
)
_LEVELS = 240  # of the continued fraction; at x = 4 its ends agree to 10^-50
_NEAR = 4


def divide_up(value: int) -> int:
    """Divide ``value`` by 2^BITS, rounded up."""
    return -(-value >> BITS)


def enclose_exp_minus(y: Fraction) -> tuple[int, int]:
    """Enclose e^-y for y >= 0, times 2^BITS; below the resolution the answer is (0, 2)."""
    if y >= BITS:  # e^-512 > 2^-739, but nothing that small is ever told apart
        return 0, 1 + (ONE >> BITS - 1)
    halvings = max(0, int(y).bit_length() + 8)
    z_low = (y.numerator << BITS) // (y.denominator << halvings)
    z_high = z_low + 1
    low, high = _enclose_taylor(z_high)[0], _enclose_taylor(z_low)[1]
    for _ in range(halvings):
        low, high = low * low >> BITS, divide_up(high * high)
    return low, high


def _enclose_taylor(z: int) -> tuple[int, int]:
    """Enclose e^-z for 0 <= z < 2^-7 in fixed point: an alternating series of falling terms.

    Each product is rounded down, so that k terms are at most k units off in all.
    """
    total, term, k = ONE, ONE, 0
    while term:
        k += 1
        term = (term * z >> BITS) // k
        total += -term if k % 2 else term
    return total - 2 * k - 2, total + 2 * k + 2


def enclose_exp(y: Fraction) -> Pair:
    """Enclose e^y; below -10^4 between 0 and e^-10^4, above 10^4 a ValueError.

    Large arguments are split into equal parts, so that no digits are lost.
    """
    if y > 10_000:
        raise ValueError("the exponential is out of the verifier's range")
    if y < -10_000:
        return Fraction(0), enclose_exp(Fraction(-10_000))[1]
    parts = int(abs(y)) // 128 + 1
    low, high = enclose_exp_minus(abs(y) / parts)
    lower, upper = Fraction(low, ONE) ** parts, Fraction(high, ONE) ** parts
    return (1 / upper, 1 / lower) if y > 0 else (lower, upper)


def enclose_ln(x: Fraction) -> Pair:
    """Enclose ln x for x > 0, to about 30 digits.

    With a float guess g and d = x e^-g - 1, ln x = g + ln(1 + d), and for |d| < 1/2
    d - d^2 <= ln(1 + d) <= d.
    """
    guess = Fraction(math.log(x.numerator) - math.log(x.denominator))
    low, high = enclose_exp(-guess)
    d_low, d_high = x * low - 1, x * high - 1
    if max(abs(d_low), abs(d_high)) >= Fraction(1, 2):
        raise ValueError("the logarithm is out of the verifier's range")
    return guess + d_low - d_low * d_low, guess + d_high


def enclose_sqrt(x: Fraction) -> Pair:
    """Enclose the square root, by the integer root."""
    root = math.isqrt((x.numerator << 2 * BITS) // x.denominator)
    return Fraction(root, ONE), Fraction(root + 1, ONE)


def _split_float(x: Fraction) -> tuple[int, int]:
    low = (x.numerator << BITS) // x.denominator
    return low, low + 1


def enclose_normal_tail(x: Fraction) -> Pair:
    """Enclose P(N > x) for a standard normal N and any x."""
    if x < 0:
        low, high = enclose_normal_tail(-x)
        return 1 - high, 1 - low
    root_low, root_high = enclose_sqrt(TWO_PI[0])[0], enclose_sqrt(TWO_PI[1])[1]
    if x <= _NEAR:
        low, high = _enclose_middle(x)
        half = Fraction(1, 2)
        return half - high / root_low, half - low / root_high
    mills_low, mills_high = _enclose_mills(x)
    density_low, density_high = enclose_exp(-x * x / 2)
    return density_low * mills_low / root_high, density_high * mills_high / root_low


def _enclose_middle(x: Fraction) -> Pair:
    """Enclose the integral of e^(-t^2/2) from 0 to x, 0 <= x <= 4, by its alternating series.

    Terms x^(2n+1)/(2^n n! (2n+1)) fall from n = 8 on, so the error of stopping is below the
    first one left out; rounding adds at most a few thousand units per step before that.
    """
    point, _ = _split_float(x)
    square = point * point >> BITS
    power, total, n = point, 0, 0
    while power or n < 12:
        part = power // (2 * n + 1)
        total += -part if n % 2 else part
        n += 1
        power = (power * square >> BITS) // (2 * n)
    slack = n << 20
    return Fraction(total - slack, ONE), Fraction(total + slack, ONE)


def _enclose_mills(x: Fraction) -> Pair:
    """Mills' ratio 1/(x + 1/(x + 2/(x + 3/...))) as an interval run backwards.

    The part from level n on lies in [x, x + n/x].
    """
    x_low, x_high = _split_float(x)
    low, high = x_low, x_high + ((_LEVELS + 1) << 2 * BITS) // x_low + 1
    for level in range(_LEVELS, 0, -1):
        scaled = level << 2 * BITS
        low, high = x_low + scaled // high, x_high + scaled // low + 1
    return Fraction(ONE, high), Fraction(ONE, low)
