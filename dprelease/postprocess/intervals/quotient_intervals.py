"""Intervals of shares A / (A + B) and ratios N / D of noisy integers, by Fieller's argument.

*Share.* With A = a + X and B = b + Y, X and Y independent draws of the same noise, and the true
share m = a / (a + b): A - m (A + B) = (1 - m) X - m Y whatever a and b are. So with q(m) the
quantile of abs((1 - m) X - m Y), the share lies within q(m) / (A + B) of A / (A + B) with at least
the requested probability, if A + B > 0 (Fieller's argument). q is largest at m = 0 and m = 1; the
first, widest interval bounds m, and the quantile at the worst m inside it gives the final one.

Where A + B <= 0 nothing is known: the share is published as 1/2 with half-width 1/2.

*Ratio.* With N = n + X and D = d + Y, X and Y independent draws of the same noise, and the true
ratio rho = n/d, d not 0: N - rho D = X - rho Y whatever n and d are, of whatever sign. So with
q(rho) the quantile of abs(X - rho Y), the ratio lies among the numbers with abs(N - rho D) <=
q(rho) with at least the requested probability (Fieller). That is abs(rho - N/D) <= q(rho)/abs(D).

*Bounded or not.* q(rho) grows like abs(rho) times the quantile of abs(Y). Where abs(D) is no larger
than that, the sign of d can't be told from noise, and arbitrarily large ratios can't be ruled out:
then there is no interval, and the ratio is meaningless.

*Half-width.* q rises with abs(rho) (Birnbaum 1948), and q(rho) <= (1 + abs(rho)) times its value at
0, since the quantile of a mix w X - (1-w) Y is largest at w = 1. So all of the set
lies within h of N/D with h = q(0) (1 + abs(N/D))/(abs(D) - q(0)); and if it lies within h, then
within q(abs(N/D) + h)/abs(D) as well, which is repeated. The limit is the distance to the end of
the set that lies further from 0, and so from N/D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from dprelease.model import Noise
from dprelease.postprocess.intervals.noise_mixture import bound_mix_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KNOTS = 256
_ROUNDS = 12


def estimate_shares(
    first: NDArray[Any] | Sequence[int],
    second: NDArray[Any] | Sequence[int],
    noise: Noise,
    interval: Fraction,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate A / (A + B) for each cell by Fieller's argument, in floats; both have this noise.

    Returns shares in [0, 1] and half-widths, whose coverage is at least ``interval`` for every cell
    with a record.
    """
    import numpy as np

    a = np.asarray(first, dtype=np.float64)
    total = a + np.asarray(second, dtype=np.float64)
    return _estimate_shares(a, total, partial(_look_up_quantile, noise, interval), KNOTS)


def divide_by_totals(
    parts: Sequence[int],
    totals: Sequence[int],
    unit: int,
    quantile: Callable[[int], Fraction],
    knots: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate shares of noisy totals, and their half-widths, for each cell.

    Args:
        parts: The noisy parts, one for each cell, times ``unit``.
        totals: What they are parts of, times ``unit``, with noise that both may have in common.
        unit: What both are multiplied by.
        quantile: For the k-th knot what the noise of part - p total exceeds too seldom to count, at
            abs(p - 1/2) of at most k/(2 knots).
        knots: The number of the last knot.

    """
    import numpy as np

    above, below = (np.asarray(row, dtype=np.float64) / unit for row in (parts, totals))
    return _estimate_shares(above, below, lambda knot: float(quantile(knot)), knots)


def _estimate_shares(
    parts: NDArray[np.float64],
    totals: NDArray[np.float64],
    quantile: Callable[[int], float],
    knots: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np

    positive = totals > 0
    safe = np.where(positive, totals, 1.0)
    raw = np.where(positive, parts / safe, 0.5)
    # The widest interval bounds the true share, and the quantile rises with its distance from 1/2.
    off_centre = np.abs(raw - 0.5) + quantile(knots) / safe
    places = np.ceil(np.minimum(off_centre, 0.5) * 2 * knots).astype(np.int64)
    half = np.where(positive, _look_up_quantiles(quantile, places, knots) / safe, 0.5)
    share = np.clip(raw, 0.0, 1.0)
    return share, np.minimum(half, np.maximum(share, 1.0 - share))


def estimate_ratios(
    above: Sequence[int], below: Sequence[int], noise: Noise, interval: Fraction, scale: Fraction
) -> tuple[list[int | None], list[int | None]]:
    """Estimate ratios of integers that have this noise, for each cell, times ``scale``.

    They are rounded, and half-widths widened by that; None where the denominator can't be told from
    0.
    """
    factor = float(scale)
    halves = [
        math.ceil(half * factor * (1 + 2.0**-50)) + 1 if math.isfinite(half) else None
        for half in compute_ratio_halfwidths(above, below, noise, interval).tolist()
    ]
    top, bottom = scale.numerator, scale.denominator
    values = [
        None if half is None else (2 * n * top + d * bottom) // (2 * d * bottom)
        for n, d, half in zip(above, below, halves, strict=True)
    ]
    return values, halves


def compute_ratio_halfwidths(
    above: Sequence[int], below: Sequence[int], noise: Noise, interval: Fraction
) -> NDArray[np.float64]:
    """Compute the half-widths of above/below by cell, infinite where there is no interval."""
    import numpy as np

    size = abs(np.asarray(below, dtype=np.float64))
    widest = _look_up_quantile(noise, interval, KNOTS)
    bounded = size > widest
    safe = np.where(bounded, size, 1.0)
    ratio = abs(np.asarray(above, dtype=np.float64)) / safe
    spare = np.where(bounded, size - widest, 1.0)
    # The first, widest interval; each round takes the quantile at its furthest ratio.
    half = widest * (1 + ratio) / spare
    for _ in range(_ROUNDS):
        furthest = ratio + half
        larger = np.maximum(furthest, 1.0) / (1 + furthest)
        knots = np.minimum(np.ceil((larger - 0.5) * 2 * KNOTS), KNOTS).astype(np.int64)
        bounds = _look_up_quantiles(partial(_look_up_quantile, noise, interval), knots, KNOTS)
        half = np.minimum(half, (1 + furthest) * bounds / safe)
    # doubles hold the ratio itself to one part in 2^52
    halves: NDArray[np.float64] = np.where(bounded, half + ratio * 2.0**-50, np.inf)
    return halves


def _look_up_quantiles(
    quantile: Callable[[int], float], places: NDArray[Any], knots: int
) -> NDArray[np.float64]:
    """Look up the quantiles at these knots, each knot once."""
    import numpy as np

    table = np.zeros(knots + 1)
    for knot in np.flatnonzero(np.bincount(places)).tolist():
        table[knot] = quantile(knot)
    quantiles: NDArray[np.float64] = table[places]
    return quantiles


@lru_cache(maxsize=64 * KNOTS)
def _look_up_quantile(noise: Noise, interval: Fraction, knot: int) -> float:
    """Bound the quantile of abs(w X - (1 - w) Y) at w = 1/2 + knot / (2 KNOTS)."""
    return bound_mix_quantile(noise, 1 - interval, 0.5 + knot / (2 * KNOTS))
