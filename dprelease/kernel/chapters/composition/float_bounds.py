"""Floats whose errors are known: only sums, products and quotients, which IEEE 754 rounds well.

No library's exponential is trusted: e^-y is a product of two table entries, made of rigorous
fractions, and of a short series. Everything here is positive, so relative errors just add up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dprelease.kernel.core import numerics as numbers

Floats = NDArray[np.float64]

LAST = 346  # e^-346 < 2^-499: from here on e^-y is 0 for us
_PARTS = 64
_BITS = 1100
_HAIR = 1 + 2.0**-38
_SHORT = 2.0**-4


def round_up(x: Fraction) -> float:
    """Return the least float above ``x``, or the one after it."""
    return math.nextafter(float(x), math.inf)


def round_down(x: Fraction) -> float:
    """Return the largest float below ``x``, or the one before it."""
    return math.nextafter(float(x), -math.inf)


def list_steps(count: int, first: int = 0) -> Floats:
    """List ``count`` consecutive numbers from ``first``."""
    return np.arange(first, first + count, dtype=np.float64)


@lru_cache(maxsize=1)
def _build_tables() -> tuple[Floats, Floats]:
    """Tabulate e^-k for k < 346, then 0, and e^-(j/64) for j < 64, right to 2^-52 of each."""
    one = 1 << _BITS
    factor, power, whole = numbers.enclose_exp_minus(Fraction(1))[0], one, []
    for _ in range(LAST):
        whole.append(power / one)  # a quotient of integers is rounded well
        power = power * factor >> numbers.BITS
    parts = [numbers.enclose_exp_minus(Fraction(j, _PARTS))[0] / numbers.ONE for j in range(_PARTS)]
    return np.array([*whole, 0.0]), np.array(parts)


def compute_fall(y: Floats) -> Floats:
    """Compute e^-y for y >= 0, to 2^-45 of itself; 0 instead of what is below 2^-498.

    y less its whole part and less its 64ths is r < 1/64, without rounding, and
    |1 - r + r^2/2 - ... + r^6/720 - e^-r| < r^7/5040 < 2^-54.
    """
    whole, parts = _build_tables()
    k = np.floor(y)
    scaled = (y - k) * _PARTS
    j = np.floor(scaled)
    r = (scaled - j) / _PARTS
    series = 1 - r / 6
    for n in (5, 4, 3, 2, 1):
        series = 1 - r / n * series
    first: Floats = whole[np.minimum(k, LAST).astype(np.int64)]
    return first * parts[j.astype(np.int64)] * series


def bound_rise(z: Floats) -> Floats:
    """Bound 1 - e^-z from above for z >= 0, too large by at most 2^-36 of itself.

    Holds for the true z if the given one is off by 2^-40 of itself at most. Below 1/16 the series
    ends with +z^7/5040, so it is too large, by less than z^8/40320; beyond, 1 - e^-z > 2^-4.1, so
    that what ``compute_fall`` is off is 2^-40.9 of it.
    """
    series = 1 - z / 7
    for n in (6, 5, 4, 3, 2):
        series = 1 - z / n * series
    short = z <= _SHORT
    bounds: Floats = np.where(short, z * series, 1 - compute_fall(z)) * _HAIR
    return bounds
