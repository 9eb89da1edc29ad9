"""Intervals as people read them: two digits of the half-width, and the figure to that place."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from dprelease.combination.combined_intervals import Interval
from dprelease.language import number_text

PLACES = 6
"""So many decimals at most has a figure without noise."""


def write_interval(interval: Interval, shown: Fraction | None = None) -> tuple[str, str, str, str]:
    """Write an interval with two digits of its half-width.

    Args:
        interval: Exact numbers.
        shown: The half-width whose digits count, if not that of the interval.

    Returns:
        Value, half-width, low end and high end, with the separators of the language. The
        half-width and the ends are rounded outward.
    """
    places = 0
    half = interval.half if shown is None else shown
    if half:
        # Two digits of the half-width; whole numbers below 1,000 keep all of theirs.
        places = 1 - Decimal(float(half)).adjusted()
        places = places if places > 0 else min(0, places + 1)
    else:
        # Without noise there is nothing to round by: a share of 0.73 is not "1 ± 0".
        exact = (place for place in range(PLACES) if interval.value * 10**place % 1 == 0)
        places = next(exact, PLACES)
    if all(end.denominator == 1 for end in interval):
        places = min(0, places)
    return (
        _write_value(round(interval.value * Fraction(10) ** places), places),
        _write_value(-(-interval.half * Fraction(10) ** places // 1), places),
        _write_value(interval.low * Fraction(10) ** places // 1, places),
        _write_value(-(-interval.high * Fraction(10) ** places // 1), places),
    )


def _write_value(value: int, places: int) -> str:
    number = Decimal(value).scaleb(-places, Context(prec=200))
    text = f"{number:,.{max(0, places)}f}"
    return number_text(text.replace("-", "\u2212"))
