"""Exact decimal notation of fractions, and floats as fixed-point integers of a public span."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def count_decimals(value: Fraction) -> int:
    """Count the decimal places that write a value exactly; raise ValueError if none do (1/3)."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError("not a finite decimal")
    return max(twos, fives)


def to_fixed_point(value: Fraction, places: int) -> int:
    """Convert a value to units of 10^-places, rounded up."""
    unit: int = 10**places
    scaled = value * unit
    return math.ceil(scaled)


def choose_places(span: Fraction) -> int:
    """Choose the fewest decimal places that resolve a ten-millionth of a positive span."""
    places = 0
    while Fraction(1, 10**places) * 10**7 > span:
        places += 1
    return places


def write_fixed_point(value: int, places: int) -> str:
    """Write an integer in units of 10^-places in plain notation, all places shown, as "-0.50"."""
    if places == 0:
        return str(value)
    digits = f"{abs(value):0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def write_decimal(value: Fraction) -> str:
    """Write a decimal exactly, in as few places as possible; raise ValueError for others (1/3)."""
    places = count_decimals(value)
    return write_fixed_point(to_fixed_point(value, places), places)


_WIDEST = 1 << 59  # sums of a few such integers fit 64 bits


def scale_shares(shares: NDArray[np.float64], span: int, low: int = 0) -> list[int]:
    """Compute ``low`` + share * span for each share in [0, 1], rounded to nearest."""
    import numpy as np

    # The offset is added in integers: a double would lose digits of a large one.
    return _round_to_integers(np.rint(float(span) * shares), low)


def scale_halfwidths(halves: NDArray[np.float64], span: int) -> list[int]:
    """Scale half-widths up, widened by the rounding of ``scale_shares`` and of doubles."""
    import numpy as np

    return _round_to_integers(np.ceil(float(span) * halves), 1 + (span >> 50))


def scale_ends(
    low: NDArray[np.float64], high: NDArray[np.float64], span: int, maximum: int
) -> tuple[list[int], list[int]]:
    """Scale ends of intervals, shares of the span, outward but within 0 and ``maximum``."""
    import numpy as np

    slack = span >> 50  # of the doubles
    lows = _round_to_integers(np.floor(float(span) * low), -slack)
    highs = _round_to_integers(np.ceil(float(span) * high), slack)
    return [max(end, 0) for end in lows], [min(end, maximum) for end in highs]


def pack_lanes(integers: Sequence[int], width: int) -> NDArray[Any]:
    """Pack integers into an array of 64 bits if sums and multiples by ``width`` fit."""
    import numpy as np

    smallest, greatest = min(integers, default=0), max(integers, default=0)
    fits = width < _WIDEST and smallest > -_WIDEST and greatest < _WIDEST
    return np.array(integers, dtype=np.int64 if fits else object)


def _round_to_integers(whole: NDArray[np.float64], offset: int) -> list[int]:
    """Convert whole doubles to integers, each plus the offset, exactly."""
    fits = abs(offset) < _WIDEST and bool((whole < _WIDEST).all())  # none is negative
    if fits:
        integers: list[int] = (whole.astype("int64") + offset).tolist()
        return integers
    return [int(number) + offset for number in whole.tolist()]
