"""The exact JSON form of a plan, from which charges, seals and saved plans take what they hold.

Amounts are texts "p/q" in lowest terms: no floats, one text for one value.
"""

from __future__ import annotations

import re
from fractions import Fraction

_RATIONAL = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")


def exact(value: Fraction) -> str:
    """An amount as "p/q" in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def read_exact(text: object) -> Fraction:
    """The non-negative amount that ``exact`` wrote. Raises ValueError for any other text."""
    parts = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        raise ValueError("not a rational")
    value = Fraction(int(parts[1]), int(parts[2]))
    if exact(value) != text:
        raise ValueError("not in lowest terms")
    return value
