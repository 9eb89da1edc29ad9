"""Intervals of figures that are shown only where they are large enough.

A figure Y = n + X, X symmetric noise, is shown if Y >= b, or also if Y <= a. Among the figures that
are shown, those near a limit have more noise than average: of a figure far below, hardly any but
the worst missed are shown. So the interval must hold n with the stated probability among the
releases that show it, for every n:

    P(n in interval | Y is shown) >= 1 - alpha.

*From above*, for Y >= b, the interval ends at Y + h, where h is the half-width of the noise alone.
This misses n with a probability of m(n) = P(b <= Y < n - h)/s(n), where s(n) = P(X >= b - n) +
P(X <= a - n) is the chance that n is shown. It is at most alpha/2, since to leave out smaller Y
leaves out misses first; and 0 for n < b + h.

*From below.* Among the figures shown, n gives Y or more with probability P(X >= Y - n)/s(n). It
rises with n, because X is log-concave. So the least n for which it exceeds alpha - m(n), or if
there are two limits alpha/2, bounds n from below, except with that probability. The interval begins
there, or at Y - h if this is smaller. m(n) rises with n, so all larger n are possible too.

A figure Y <= a is the mirror image.

*Without an end.* If only Y >= b is shown and X is Laplace noise, Y little above b says nothing of
how small n is: the quotient does not fall below exp(-(Y - b)/scale). Then the interval begins at
the least possible n. Chances below ``LEAST_CHANCE`` are not told from 0 and count as such cases.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dprelease.postprocess.intervals.combined_noise import Part, tabulate_tails

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_HALVINGS = 60


class Limits(NamedTuple):
    """A figure is shown from ``upper`` on, and up to ``lower`` if that is not None."""

    upper: Fraction
    lower: Fraction | None = None


def bound_distances(
    noise: tuple[Part, ...], excess: Floats, width: float | None, alpha: Fraction
) -> Floats:
    """Bound how far below the limit the true figure may lie.

    Args:
        noise: The noise of the figure, as ``combine_parts`` gives it.
        excess: How far shown figures lie above the limit, from 0 on.
        width: The distance to the limit on the other side; None if there is none.
        alpha: The chance that an interval misses.

    Returns:
        For each figure the largest b - n that is possible; negative where n lies above the limit,
        infinite where none is too large.
    """
    import numpy as np

    tails, chance = tabulate_tails(noise), float(alpha / 2)

    def find_possible(below: Floats) -> NDArray[np.bool_]:
        shown = tails.bound_below(below)
        if width is not None:
            left = chance * (shown + tails.bound_below(width - below))
        else:
            # Both chances of a miss, less that from above, all times the chance to be shown.
            left = 2 * chance * shown - np.maximum(chance - (1 - tails.bound_above(below)), 0)
        possible: NDArray[np.bool_] = tails.bound_above(below + excess) > left
        return possible

    far = tails.reach
    low = -(excess + far)  # a true figure that far above the limit can give any that is shown
    high = np.full_like(excess, far if width is None else width + far)
    endless = find_possible(high) if width is None else np.zeros(len(excess), dtype=bool)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        possible = find_possible(middle)
        low, high = np.where(possible, middle, low), np.where(possible, high, middle)
    distances: Floats = np.where(endless, np.inf, high)
    return distances
