"""Exact decimal notation of fractions."""

from __future__ import annotations

import math
from fractions import Fraction


def decimals_of(value: Fraction) -> int:
    """Count the decimal places that write the value exactly.

    Raises ValueError when no finite number of places does (1/3).
    """
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError("not a finite decimal")
    return max(twos, fives)


def fixed_point(value: Fraction, places: int) -> int:
    """Write the value as an integer count of 10^-places, rounded up when it does not divide."""
    unit: int = 10**places
    scaled = value * unit
    return math.ceil(scaled)


def places_for(span: Fraction) -> int:
    """Choose the decimal places that resolve a ten-millionth of the span."""
    places = 0
    while Fraction(1, 10**places) * 10**7 > span:
        places += 1
    return places


def placed(value: int, places: int) -> str:
    """Write a fixed-point integer (value * 10^-places) in plain notation, all places shown."""
    if places == 0:
        return str(value)
    digits = f"{abs(value):0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
