"""Roots of weights, to 15 digits: any rounding is a share as good."""

from __future__ import annotations

from fractions import Fraction

_UNIT = 10**15


def root(value: Fraction, degree: int) -> Fraction:
    """The root of a number >= 0, rounded down to 15 places; exact where it has no more."""
    if value < 0 or degree < 1:
        raise ValueError("roots are taken of numbers that aren't negative")
    whole = value * _UNIT**degree
    wanted = whole.numerator // whole.denominator
    low, high = 0, 1 << -(-wanted.bit_length() // degree) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= wanted else (low, middle)
    return Fraction(low, _UNIT)
