r"""Piecewise local randomizer: an unbiased answer among levels, by one window or a mix of two.

A window of width w starts at one of the levels 0, ..., P = N - w of N. Levels in it have the chance
r/(P + r w), the others 1/(P + r w) (see ``model.Window``). Two windows that start P apart share
w - min(w, P) levels, and no two share fewer. Since r > 1, with m = min(w, P)

    delta(epsilon) = m (r - e^epsilon)/(P + r w), or 0 if that is negative,

and r = (e^epsilon m + delta P)/(m - delta w) is the largest for (epsilon, delta); both ends of the
column reach it. Between the starts a number draws one of two: a mixture of their laws, and no two
mixtures are further apart than the laws that they are made of. Which of two windows was used is
seen in the answer and drawn without a look at the number: the delta of both is the mean of each.

A window that starts at f has on average the level beta (f - P/2), counted from the middle, with
beta = (r - 1) w/(P + r w). So levels that are gap = 2/(beta P) half ranges apart give, on average,
the number itself. In half ranges, x in [-1, 1], and with h the part of f = (x + 1) P/2 after the
point, the variance is

    gap^2 (A + beta h (1 - h)) + x^2 (1/beta - 1),
    A = (N (N^2 - 1) + (r - 1) w (w^2 - 1))/(12 (P + r w)).

N = 2 is the mechanism of Duchi, Jordan and Wainwright 2018, worst in the middle; many levels are
the piecewise mechanism of Wang et al. 2019, worst at the ends; their mixture the hybrid one. Here
the shapes and the share are searched, in floats: whatever is chosen, r and the gap are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.model.record_tables import Window, WindowLaw
from dprelease.privacy.interval_arithmetic import ZERO, bound_exp, round_down

Floats = npt.NDArray[np.float64]

LEVELS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
MOST = 1 << 62  # what places and chances are counted in stays below
_DIGITS = 10**5  # gaps are multiples of 10^-5
_SHARES = 1 << 16
_FEW = 512  # a grid of at most so many steps is looked at value by value
_HAIR = 1e-6
_TINY = 1e-300
_STEPS = 8
_FACTOR_DIGITS = 30


@lru_cache(maxsize=64)
def _bound_factor(epsilon: Fraction) -> Fraction:
    """Bound e^epsilon from below."""
    return round_down(1 / bound_exp(-epsilon)[1], _FACTOR_DIGITS)


def find_window(
    levels: int, width: int, epsilon: Fraction, delta: Fraction = ZERO
) -> Window | None:
    """Find the window of this shape with the most information at (epsilon, delta).

    Args:
        levels: Number of levels.
        width: Number of levels in the window; at least 1 and below ``levels``.
        epsilon: Positive.
        delta: In [0, 1).

    Returns:
        The window with its gap rounded up; None where delta is so large that values at the ends
        might never share an answer, or where its chances need more than 62 bits.

    Raises:
        ValueError: An argument is out of its range.
    """
    if not 1 <= width < levels or epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError("needs 1 <= width < levels, epsilon > 0 and a delta in [0, 1)")
    starts = levels - width
    disjoint = min(width, starts)
    if disjoint <= delta * width:
        return None
    ratio = (disjoint * _bound_factor(epsilon) + delta * starts) / (disjoint - delta * width)
    if ratio <= 1:  # at an epsilon beyond all digits
        return None
    beta = (ratio - 1) * width / (starts + ratio * width)
    gap = Fraction(math.ceil(2 * _DIGITS / (beta * starts)), _DIGITS)
    # beta < 1 above, so the gap is above 2/P, and this one below 1 too.
    beta = 2 / (gap * starts)
    ratio = (width + beta * starts) / (width * (1 - beta))
    if ratio.denominator * starts + ratio.numerator * width >= MOST:
        return None
    return Window(levels, width, ratio, gap)


def find_best(width: int, epsilon: Fraction, delta: Fraction = ZERO) -> WindowLaw | None:
    """Find the mixture with the least worst-case variance on a grid of ``width`` steps.

    Returns None where no window is possible (see ``find_window``; places of so fine a grid need
    more than 62 bits). Raises ValueError unless the grid has a step, epsilon is positive and delta
    is in [0, 1).
    """
    if width < 1:
        raise ValueError("a grid of one value needs no answer")
    most_starts = min((MOST - 1) // width, LEVELS[-1])
    return _find_best(min(width, _FEW + 1), most_starts, epsilon, delta)


@lru_cache(maxsize=1024)
def _find_best(
    width: int, most_starts: int, epsilon: Fraction, delta: Fraction
) -> WindowLaw | None:
    windows = [
        window
        for levels, size in _iter_shapes(most_starts)
        if (window := find_window(levels, size, epsilon, delta)) is not None
    ]
    if not windows:
        return None
    places = _list_places(width)
    curves = np.array([_compute_curve(window, places) for window in windows])
    useful = _find_undominated(curves)
    windows, curves = [windows[i] for i in useful], curves[useful]
    alone = curves.max(axis=1)
    single = _find_first_least(alone)
    firsts, seconds = np.triu_indices(len(windows), 1)
    if len(firsts):
        shares = _choose_shares(curves, firsts, seconds)
        worst = _mix_curves(curves, firsts, seconds, shares)
        pair = _find_first_least(worst)
        if worst[pair] < alone[single] * (1 - _HAIR):
            share = Fraction(int(shares[pair] * _SHARES), _SHARES)
            return WindowLaw(windows[firsts[pair]], windows[seconds[pair]], share)
    return WindowLaw(windows[single])


def list_parts(law: WindowLaw) -> list[tuple[Fraction, Window]]:
    """List the windows of a law, each with its share."""
    if law.second is None:
        return [(law.share, law.first)]
    return [(law.share, law.first), (1 - law.share, law.second)]


def compute_variances(law: WindowLaw, places: Floats) -> Floats:
    """Compute the variance of an answer for numbers x in [-1, 1], in squared half ranges."""
    curve = _compute_curve(law.first, places)
    if law.second is not None:
        share = float(law.share)
        curve = share * curve + (1 - share) * _compute_curve(law.second, places)
    return curve


def find_worst_variance(law: WindowLaw, width: int) -> float:
    """Find the largest variance over the grid's numbers that the search examines."""
    return float(compute_variances(law, _list_places(width)).max())


def _iter_shapes(most_starts: int) -> Iterator[tuple[int, int]]:
    for levels in LEVELS:
        for width in range(1, levels):
            if levels - width <= most_starts:
                yield levels, width


def _list_places(width: int) -> Floats:
    """List numbers x >= 0 of the grid (variances are even in x), or of one of 512 steps."""
    # Between places a variance is concave with second derivative -2, so that no more than 4e-6 is
    # missed by looking there only.
    steps = width if width <= _FEW else _FEW
    numbers: Floats = np.arange(steps % 2, steps + 1, 2) / steps
    return numbers


def _compute_curve(window: Window, places: Floats) -> Floats:
    levels, width, starts = window.levels, window.width, window.levels - window.width
    gap, above = float(window.gap), float(window.ratio - 1)
    inside = levels + above * width
    beta = above * width / inside
    level = (levels * (levels**2 - 1) + above * width * (width**2 - 1)) / (12 * inside)
    start = (places + 1) * starts / 2
    part: Floats = start - np.floor(start)
    curve: Floats = gap**2 * (level + beta * part * (1 - part)) + places**2 * levels / (
        above * width
    )
    return curve


def _find_undominated(curves: Floats) -> list[int]:
    """Drop windows that a better one beats everywhere; the best first."""
    best: list[int] = []
    for i in np.argsort(curves.max(axis=1), kind="stable"):
        if not any((curves[j] <= curves[i]).all() for j in best):
            best.append(int(i))
    return best


def _mix_curves(curves: Floats, firsts: Any, seconds: Any, shares: Floats) -> Floats:
    mixed = shares[:, None] * curves[firsts] + (1 - shares[:, None]) * curves[seconds]
    worst: Floats = mixed.max(axis=1)
    return worst


def _choose_shares(curves: Floats, firsts: Any, seconds: Any) -> Floats:
    """Choose the best share of the first of each pair, a multiple of 2^-16."""
    # The worst case is the upper end of lines in the share, one for each place: a falling and a
    # rising one are kept, and where they meet the uppermost takes the place of one of them.
    pairs = np.arange(len(firsts))
    none, whole = curves[seconds], curves[firsts]
    falling, rising = none.argmax(axis=1), whole.argmax(axis=1)
    meeting = np.zeros(len(firsts))
    for _ in range(_STEPS):
        low, high = none[pairs, falling], none[pairs, rising]
        steep = (whole[pairs, rising] - high) - (whole[pairs, falling] - low)
        meeting = np.clip(np.where(steep > 0, (low - high) / np.maximum(steep, _TINY), 0), 0, 1)
        top = (none + meeting[:, None] * (whole - none)).argmax(axis=1)
        rises = whole[pairs, top] > none[pairs, top]
        falling, rising = np.where(rises, falling, top), np.where(rises, top, rising)
    rounded: Floats = np.round(meeting * _SHARES) / _SHARES
    return rounded


def _find_first_least(values: Floats) -> int:
    """Return the first value that is least up to 1e-9, the same on every machine."""
    return int(np.flatnonzero(values <= values.min() * (1 + 1e-9))[0])
