"""Enclosures in integers: what is known for certain about a real number.

An ``Interval`` (low, high) at ``bits`` stands for low <= 2^bits * x <= high. Every operation rounds
low down and high up, so the true value never leaves. Exponentials and logarithms come from
``decimal``, whose ``exp`` and ``ln`` are correctly rounded (error at most half a unit in the last
place, Python library reference) and are widened here by a whole unit on both sides.
``privacy.interval_arithmetic`` gives the same as fractions of so many digits.
"""

from __future__ import annotations

from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple


class Interval(NamedTuple):
    """low <= 2^bits * x <= high, for a number of bits that the function at hand states."""

    low: int
    high: int

    def shift(self, by: int) -> Interval:
        """Shift by ``by`` bits to fewer, rounded outward."""
        return Interval(self.low >> by, -(-self.high >> by))

    def to_fractions(self, bits: int) -> tuple[Fraction, Fraction]:
        """Convert both ends to exact numbers."""
        return Fraction(self.low, 1 << bits), Fraction(self.high, 1 << bits)


def enclose(value: Fraction, bits: int) -> Interval:
    """Enclose a rational number within one unit."""
    scaled = value.numerator << bits
    return Interval(scaled // value.denominator, -(-scaled // value.denominator))


def multiply(left: Interval, right: Interval, bits: int) -> Interval:
    """Multiply two numbers >= 0."""
    return Interval(left.low * right.low, left.high * right.high).shift(bits)


def divide(dividend: Interval, divisor: Interval, bits: int) -> Interval:
    """Divide a number >= 0 by one that is certainly > 0."""
    return Interval(
        (dividend.low << bits) // divisor.high, -(-(dividend.high << bits) // divisor.low)
    )


def enclose_sqrt(value: Interval, bits: int) -> Interval:
    """Enclose the root of a number >= 0: isqrt(n) <= sqrt(n) < isqrt(n) + 1."""
    return Interval(isqrt(value.low << bits), isqrt(value.high << bits) + 1)


def enclose_exp_negative(exponent: Fraction, bits: int) -> Interval:
    """Enclose exp(-exponent) for exponent >= 0 within a few units."""
    if exponent < 0:
        raise ValueError("the exponent must not be negative")
    if exponent == 0:
        return Interval(1 << bits, 1 << bits)
    if exponent >= bits:
        return Interval(0, 1)  # exp(-bits) < 2^-bits
    return _scale(*bound_exp(-exponent, _count_digits(bits)), bits)


def enclose_log(value: Fraction, bits: int) -> Interval:
    """Enclose ln(value) for value > 0 within a few units."""
    return _scale(*bound_log(value, _count_digits(bits)), bits)


@lru_cache(maxsize=64)
def enclose_pi(bits: int) -> Interval:
    """Enclose pi by Machin's formula: pi = 16 atan(1/5) - 4 atan(1/239)."""
    guard = bits + 32
    fifth, small = _enclose_arctangent(5, guard), _enclose_arctangent(239, guard)
    quarter = Interval(16 * fifth.low - 4 * small.high, 16 * fifth.high - 4 * small.low)
    return quarter.shift(32)


def enclose_normal_outside(squared: Fraction, bits: int) -> Interval:
    """Enclose P(N^2 >= squared) for a standard normal N.

    With y = squared it is 1 - sqrt(2 y/pi) exp(-y/2) sum over n of y^n/(1 3 5 ... (2n+1)), a series
    of positive terms that is cut once its terms halve (the rest is at most the last term).
    """
    if squared >= 2 * bits:
        return Interval(0, 1)  # at most exp(-y/2) <= exp(-bits) < 2^-bits
    guard = 64 + int(squared)  # the sum grows like exp(y/2) and so do its errors
    work = bits + guard
    one = 1 << work
    y = enclose(squared, work)
    low = high = total_low = total_high = one
    odd = 1
    while high > 1 or 2 * squared > odd:
        odd += 2
        low = low * y.low // (odd << work)
        high = -(-high * y.high // (odd << work))
        total_low += low
        total_high += high
    total = Interval(total_low, total_high + high)
    front = enclose_sqrt(divide(Interval(2 * y.low, 2 * y.high), enclose_pi(work), work), work)
    inside = multiply(multiply(front, enclose_exp_negative(squared / 2, work), work), total, work)
    outside = Interval(max(one - inside.high, 0), min(max(one - inside.low, 1), one))
    return outside.shift(guard)


def _enclose_arctangent(inverse: int, bits: int) -> Interval:
    """Enclose atan(1/inverse): alternating terms, each off by less than a unit, as is the rest."""
    power = (1 << bits) // inverse
    total, odd, error = 0, 1, 1
    while power:
        total += power // odd if odd % 4 == 1 else -(power // odd)
        power //= inverse * inverse
        odd += 2
        error += 2
    return Interval(total - error, total + error)


# --- decimals -------------------------------------------------------------------------------------


def bound_exp(exponent: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Bound e^exponent by two decimals of so many digits."""
    down, up = build_contexts(digits)
    low, high = down.exp(divide_out(exponent, down)), up.exp(divide_out(exponent, up))
    return down.next_minus(low), up.next_plus(high)


def bound_log(value: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Bound ln(value) by two decimals of so many digits; ValueError unless value > 0."""
    if value <= 0:
        raise ValueError("only positive numbers have a logarithm")
    down, up = build_contexts(digits)
    below, above = divide_out(value, down), divide_out(value, up)
    # Rounded to 1 the logarithm is 0 exactly; the decimal next to 0 has a billion digits.
    low = Decimal(0) if below == 1 else down.next_minus(down.ln(below))
    high = Decimal(0) if above == 1 else up.next_plus(up.ln(above))
    return low, high


def bound_sqrt(value: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Bound the root of value > 0 by two decimals of so many digits."""
    down, up = build_contexts(digits)
    low, high = down.sqrt(divide_out(value, down)), up.sqrt(divide_out(value, up))
    return down.next_minus(low), up.next_plus(high)


@lru_cache(maxsize=64)
def build_contexts(digits: int) -> tuple[Context, Context]:
    """Build decimal contexts that round down and up."""
    down, up = (
        Context(
            prec=digits,
            rounding=rounding,
            Emin=MIN_EMIN,
            Emax=MAX_EMAX,
            traps=[InvalidOperation, DivisionByZero, Overflow],
        )
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    )
    return down, up


def divide_out(value: Fraction, context: Context) -> Decimal:
    """Divide numerator by denominator, rounded the way the context says."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _count_digits(bits: int) -> int:
    """Count the decimal digits that hold ``bits``, and ten to spare."""
    return bits * 3 // 10 + bits // 100 + 12  # log10(2) < 0.31


def _scale(low: Decimal, high: Decimal, bits: int) -> Interval:
    """Scale two decimals to integers at ``bits``, rounded outward; the arithmetic here is exact."""
    (a, b), (c, d) = low.as_integer_ratio(), high.as_integer_ratio()
    return Interval((a << bits) // b, -(-(c << bits) // d))
