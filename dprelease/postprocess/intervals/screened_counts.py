"""A count of records of which some may lack a value, though usually none do.

A release of sums counts the records with a value by S = s + (noise), in units in which a record
adds ``width``, and those without one by M = m + X. S + M counts them all, and has the noise of
one sum more. In a column without nulls M adds nothing but noise. So M is left out if it is below a
threshold t that noise alone reaches with a probability of 1/400: the count is
S + (M if M >= t else 0).

*Error.* With m known, the error is (noise of S) + X where m + X >= t, and (noise of S) - m
otherwise. It is worst for m near t. The half-width is that of the worst m, whatever the data are,
so it covers with the requested probability in every cell. It is computed by numerical integration
over the continuous laws on a fine lattice of m and X, and widened by more than values between the
points of the lattice can add.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dprelease.model import Noise, NoiseFamily

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CHANCE = Fraction(1, 400)
"""Probability that noise alone is taken for records without a value."""

_SPACING = 0.25  # of m, in scales
_FINE = 0.05  # of X
_FAR = 22.0  # scales beyond which nothing of X matters
_SLACK = 2.0  # steps: discrete draws are within 1 of continuous ones, each


def compute_screened_halfwidth(
    noise: Noise, draws: int, threshold: int, interval: Fraction
) -> Fraction:
    """Compute the half-width of a screened count, for every number of records without a value.

    S has two or three ``draws``, and M is counted from ``threshold`` on. In steps of the noise.
    """
    if noise.family is NoiseFamily.NONE:
        return Fraction(0)
    normal = noise.family is NoiseFamily.GAUSSIAN
    scale = math.sqrt(noise.parameter) if normal else float(noise.parameter)
    worst = _find_worst(normal, draws, math.ceil(threshold / scale * 64) / 64, 1 - interval)
    return Fraction((worst + _SPACING) * scale + _SLACK * (draws + 1))


@lru_cache(maxsize=64)
def _find_worst(normal: bool, draws: int, threshold: float, alpha: Fraction) -> float:
    """Find the least h, in scales, with P(|error| > h) <= alpha for every m."""
    import numpy as np

    target = float(alpha) * (1 - 1e-3)  # the integral's own error is far smaller
    missing = np.arange(0.0, threshold + 10.0, _SPACING)[:, None]
    draw = np.arange(-_FAR, _FAR, _FINE)[None, :] + _FINE / 2
    density = np.exp(-draw * draw / 2) if normal else np.exp(-np.abs(draw))
    mass = density / density.sum()
    is_shown = missing + draw >= threshold
    low, high = 0.0, threshold + _FAR
    for _ in range(24):
        middle = (low + high) / 2
        # the error is the draw where it was seen, else what is missing
        of_seen, of_rest = (
            _compute_above(middle - error, draws, normal)
            + _compute_above(middle + error, draws, normal)
            for error in (draw, -missing)
        )
        outside = (mass * np.where(is_shown, of_seen, of_rest)).sum(axis=1)
        low, high = (middle, high) if float(outside.max()) > target else (low, middle)
    return high


def _compute_above(at: Floats, draws: int, normal: bool) -> Floats:
    """Compute P(S > at) for the sum S of two or three standard draws."""
    import numpy as np

    if normal:
        chance: Floats = np.interp(at / math.sqrt(draws), *_compute_normal_tails())
        return chance
    size = np.abs(at)
    shape = (2 + size) / 4 if draws == 2 else (8 + 5 * size + size * size) / 16
    tail = np.exp(-size) * shape
    tails: Floats = np.where(at >= 0, tail, 1 - tail)
    return tails


@cache
def _compute_normal_tails() -> tuple[Floats, Floats]:
    """Tabulate the chance of a standard normal draw beyond each of many places."""
    import numpy as np

    grid = np.linspace(-12.0, 12.0, 4801)
    return grid, np.array([math.erfc(point / math.sqrt(2)) / 2 for point in grid])
