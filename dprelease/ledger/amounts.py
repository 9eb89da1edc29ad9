"""Budget amounts as text: exactly for the file, and safely rounded for people."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

EXACT_DIGITS = 15  # longest decimal that a message shows in full
ROUNDED_DIGITS = 7

_RATIONAL = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")


def rational_text(value: Fraction) -> str:
    """A non-negative amount as "p/q" in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def read_rational(text: object) -> Fraction:
    """The amount written by ``rational_text``. Raises ValueError for any other text."""
    found = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("not a rational")
    value = Fraction(int(found[1]), int(found[2]))
    if rational_text(value) != text:
        raise ValueError("not in lowest terms")
    return value


def shown_up(value: Fraction) -> str:
    """A spent amount for people: the exact decimal when short, else rounded up."""
    return _shown(value, up=True)


def shown_down(value: Fraction) -> str:
    """An amount still to be had, for people: the exact decimal when short, else rounded down."""
    return _shown(value, up=False)


def _shown(value: Fraction, *, up: bool) -> str:
    if value == 0:
        return "0.0"
    top = _leading_exponent(value)
    for digits, exact_only in ((EXACT_DIGITS, True), (ROUNDED_DIGITS, False)):
        exponent = top - digits + 1
        scaled = value / Fraction(10) ** exponent
        if scaled.denominator == 1 or not exact_only:
            whole = -(-scaled.numerator // scaled.denominator) if up else int(scaled)
            return _written(whole, exponent)
    raise ArithmeticError("one of the two roundings applies")


def _leading_exponent(value: Fraction) -> int:
    """The largest e with 10**e <= value."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = bits * 30103 // 100000 - 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def _written(whole: int, exponent: int) -> str:
    number = Decimal((0, tuple(int(each) for each in str(whole)), exponent)).normalize()
    lead = number.adjusted()
    if lead < -4 or lead > EXACT_DIGITS:
        mantissa = number.scaleb(-lead)
        return f"{mantissa:f}e{lead}"
    text = f"{number:f}"
    return text if "." in text else f"{text}.0"
