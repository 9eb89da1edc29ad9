"""Exact decimals: Fractions rounded half to even to a fixed number of places, without floats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction


def rounded(value: int | Fraction, places: int) -> int:
    """``value * 10**places`` rounded to an integer, half to even."""
    unit: int = 10**places
    scaled, below = value.numerator * unit, value.denominator
    whole, rest = divmod(scaled, below)
    twice = 2 * rest
    return whole + (twice > below or (twice == below and whole & 1 == 1))


def decimal_text(value: int | Fraction, places: int) -> str:
    """Plain decimal notation with exactly ``places`` places: no exponent, no minus zero."""
    return _placed(rounded(value, places), places)


def decimal_texts(values: Iterable[int | Fraction | None], places: int) -> Iterator[str]:
    """``decimal_text`` of many values, None as the empty text; runs of one object are cheap."""
    last: object = None
    text = ""
    for value in values:
        if value is not last:
            last = value
            text = "" if value is None else decimal_text(value, places)
        yield text


def _placed(whole: int, places: int) -> str:
    if places == 0:
        return str(whole)
    digits = f"{abs(whole):0{places + 1}d}"
    sign = "-" if whole < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
