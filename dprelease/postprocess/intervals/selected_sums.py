"""Intervals of a mean whose own number of values selects private keys.

A key is shown only if the sum V = K n + X of its two noisy sums reaches a threshold T; X is the sum
of two Laplace draws. Among the keys shown, those near the threshold have more noise than average.
So intervals must hold with the stated probability 1 - alpha among the keys shown, whatever a key's
true sums are.

*Number of values.* As for counts (``one_integer``), with the law of X, of one draw: n is possible
if P(X >= V - K n) > alpha/2 P(X >= T - K n). X is log-concave as its draws are.

*Mean.* The interval (``quotient_intervals``) of the level 1 - PART alpha is too narrow with a
chance of at most PART alpha, for any true sums. Among the keys shown that is at most
PART alpha/P(X >= T - K n): at most alpha for every n with P(X >= T - K n) >= PART. Let y be the
least integer with P(X >= y) < PART. All other n have T - K n >= y. Let u be the least integer with
P(X >= y + u) <= alpha P(X >= y). Where V < T + u, the interval is that of all values within the
bounds, and never too narrow. So it is too narrow with a chance of at most
P(X >= T - K n + u)/P(X >= T - K n), which falls with T - K n, as X is log-concave, and is at most
alpha for n like that.

In floats, for laws that are known by their formula to 14 digits; a part of 10^-9 is left for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = Fraction(4, 5)
"""The part of alpha for the interval of the mean; the rest is for the selection."""

_ROOM = 1e-9


def compute_pair_tail(scale: Fraction, start: int) -> float:
    """Compute P(X >= start) for the sum X of two Laplace draws."""
    if start < 1:
        return 1 - compute_pair_tail(scale, 1 - start)
    s = float(scale)
    a, kept = math.exp(-1 / s), -math.expm1(-1 / s)
    spread = start * kept + (1 + a + 2 * a * a) / (1 + a)
    return math.exp(-start / s) * spread / (1 + a) ** 2


def compute_shown_halfwidth(  # noqa: PLR0913, PLR0917 - what a key's count is known by
    scale: Fraction, threshold: int, total: int, width: int, half: int, alpha: Fraction
) -> int:
    """Compute the half-width of the number of values of a key that is shown.

    Args:
        scale: The scale of the Laplace noise on each of the two sums.
        threshold: The sum of both from which a key is shown.
        total: The sum of both, with noise.
        width: What one value adds to it.
        half: The half-width of the noise alone, in values.
        alpha: One less the level of the interval.

    Returns:
        ``half``, or more near the threshold.
    """
    number = (2 * total + width) // (2 * width)

    def is_possible(n: int) -> bool:
        reached = compute_pair_tail(scale, total - n * width)
        shown = compute_pair_tail(scale, threshold - n * width)
        return 2 * reached > float(alpha) * shown * (1 - _ROOM)

    high = number - half - 1
    if high < 0 or not is_possible(high):
        return half
    least = _find_least(is_possible, -1, high)
    return number - max(least, 0)


@lru_cache(maxsize=64)
def find_settled_total(scale: Fraction, threshold: int, alpha: Fraction) -> int:
    """Find the sum T + u from which on the interval of a mean is that of its own level.

    The arguments are those of ``compute_shown_halfwidth``.
    """
    reach = 64 * (int(scale) + 1)
    part = float(PART) * (1 + _ROOM)
    start = _find_least(lambda y: compute_pair_tail(scale, y) < part, -reach, reach)
    shown = compute_pair_tail(scale, start)
    most = float(alpha) * shown * (1 - _ROOM)
    further = _find_least(lambda u: compute_pair_tail(scale, start + u) <= most, 0, reach)
    return threshold + further


def widen_unsettled(
    first: Sequence[int],
    second: Sequence[int],
    settled: int,
    share: NDArray[np.float64],
    half: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Widen the intervals of shares of keys whose sum is below ``settled`` to all shares."""
    import numpy as np

    is_settled = [one + other >= settled for one, other in zip(first, second, strict=True)]
    widened: NDArray[np.float64] = np.where(is_settled, half, np.maximum(share, 1.0 - share))
    return widened


def _find_least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Find the least integer above ``low`` that holds; ``high`` does, and all above it."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
