"""The share A / (A + B) of two noisy sums, with an honest noise interval.

With A = a + X and B = b + Y, X and Y independent draws of the same noise, and the true share
m = a / (a + b): A - m (A + B) = (1 - m) X - m Y whatever a and b are. So with q(m) the quantile
of abs((1 - m) X - m Y), the share lies within q(m) / (A + B) of A / (A + B) with at least the
asked probability, whenever A + B > 0 (Fieller's argument). q is largest at m = 0 and m = 1; the
first, widest interval bounds m, and the quantile at the worst m inside it gives the final one.

Where A + B <= 0 nothing is known: the share is given as 1/2 with half-width 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dprelease.model import Noise, NoiseFamily

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KNOTS = 256
LATTICE_SLACK = 1.0
"""A discrete draw and its continuous counterpart can be coupled within 1 of each other."""


def shares(
    first: NDArray[Any] | Sequence[int],
    second: NDArray[Any] | Sequence[int],
    noise: Noise,
    interval: Fraction,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate A / (A + B) for each cell: the shares, inside [0, 1], and their half-widths.

    Post-processing, in floats. Coverage is at least ``interval`` for every cell with a record.
    """
    import numpy as np

    a = np.asarray(first, dtype=np.float64)
    total = a + np.asarray(second, dtype=np.float64)
    known = total > 0
    safe = np.where(known, total, 1.0)
    raw = np.where(known, a / safe, 0.5)
    off_centre = np.abs(raw - 0.5) + _quantile(noise, interval, KNOTS) / safe
    knots = np.ceil(np.minimum(off_centre, 0.5) * 2 * KNOTS).astype(np.int64)
    table = np.zeros(KNOTS + 1)
    for knot in np.flatnonzero(np.bincount(knots)).tolist():
        table[knot] = _quantile(noise, interval, knot)
    half = np.where(known, table[knots] / safe, 0.5)
    share = np.clip(raw, 0.0, 1.0)
    return share, np.minimum(half, np.maximum(share, 1.0 - share))


@lru_cache(maxsize=64 * KNOTS)
def _quantile(noise: Noise, interval: Fraction, knot: int) -> float:
    """q(m) at abs(m - 1/2) = knot / (2 KNOTS): larger for a larger knot."""
    return quantile_of_mix(noise, 1 - interval, 0.5 + knot / (2 * KNOTS))


def quantile_of_mix(noise: Noise, alpha: Fraction, larger: float) -> float:
    """Bound the 1 - alpha quantile of abs(w X - (1 - w) Y), w = ``larger`` in [1/2, 1]."""
    smaller = 1.0 - larger
    if noise.family is NoiseFamily.NONE:
        return 0.0
    tail, scale = (
        (_laplace_tail, float(noise.parameter))
        if noise.family is NoiseFamily.LAPLACE
        else (_gaussian_tail, math.sqrt(noise.parameter))
    )
    target = float(alpha)
    low, high = 0.0, 1.0
    while tail(high, larger, smaller) > target:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if tail(middle, larger, smaller) > target:
            low = middle
        else:
            high = middle
    return high * scale + LATTICE_SLACK


def _laplace_tail(at: float, larger: float, smaller: float) -> float:
    """P(abs(larger L - smaller L') > at) for standard Laplace L, L'."""
    if larger - smaller < 1e-6:  # the limit of equal weights, at the larger one: never less
        return (1 + at / (2 * larger)) * math.exp(-at / larger)
    if smaller == 0.0:
        return math.exp(-at / larger)
    first = larger**2 * math.exp(-at / larger) - smaller**2 * math.exp(-at / smaller)
    return first / (larger**2 - smaller**2)


def _gaussian_tail(at: float, larger: float, smaller: float) -> float:
    """P(abs(larger N - smaller N') > at) for standard normal N, N'."""
    return math.erfc(at / math.sqrt(2 * (larger**2 + smaller**2)))
