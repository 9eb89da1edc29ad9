"""Intervals around unbiased estimates, and variances and tails of numeric answers behind them.

A score interval holds every share x with which the estimate would be no surprise: the noise is
taken as it were at x. Its quantiles are normal ones, corrected by half a count, as counts are
whole, and by the terms of Cornish and Fisher: for the third cumulant on its longer side, for the
fourth by at most one count. Corrections only ever make it longer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import floor, sqrt

from msgspec import Struct

from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.local.randomizers.window_response import list_parts
from dprelease.model import Noise, NoiseFamily
from dprelease.model.record_tables import LaplaceLaw, Window, WindowLaw
from dprelease.postprocess.intervals.combined_noise import Part, compute_combined_halfwidth

LEAST_TAIL = 1e-300
_STEPS = 100
_CLOSE = 1e-13

Cumulants = tuple[float, float, float]  # the second, third and fourth


class Figure(Struct, frozen=True):
    """An unbiased estimate, and ends of an interval around it."""

    value: Fraction
    lower: float
    upper: float

    def scale(self, factor: int) -> Figure:
        """Multiply the estimate and the ends of its interval."""
        return Figure(self.value * factor, self.lower * factor, self.upper * factor)


def compute_quantile(interval: Fraction) -> float:
    """Compute the normal quantile of a two-sided interval.

    Args:
        interval: Coverage, between 0 and 1.

    Returns:
        The z with P(|Z| <= z) = interval; never beyond a tail of 1e-300.

    Raises:
        ValueError: ``interval`` is not between 0 and 1.
    """
    # Imported here for start-up: it brings much along that only it needs.
    from statistics import NormalDist

    if not 0 < interval < 1:
        raise ValueError("an interval covers between 0 and 1")
    return -NormalDist().inv_cdf(max(float((1 - interval) / 2), LEAST_TAIL))


def build_interval(
    value: Fraction, rows: int, z: float, law: Callable[[float], Cumulants], unit: float
) -> Figure:
    """Compute the interval around an estimate that is a mean over the records.

    ``law`` returns the mean cumulants of one record if the share were its argument, from 0 to 1;
    ``unit`` is how far the sum over the records moves when one count moves by 1.
    """
    at = float(value)
    third, fourth = max(z * z - 1, 0.0) / 6, max(z**3 - 3 * z, 0.0) / 24

    def compute_excess(share: float) -> float:
        """Compute how much farther away it is than it may be, times the records."""
        spread, skew, tails = law(min(max(share, 0.0), 1.0))
        away = abs(at - share) * rows - unit / 2
        if spread <= 0:
            return away
        longer = max(skew if at > share else -skew, 0.0) / spread
        heavy = max(tails, 0.0) / (spread * sqrt(rows * spread))
        return away - z * sqrt(rows * spread) - third * longer - min(fourth * heavy, unit)

    wide = (1.2 * z * sqrt(rows * law(min(max(at, 0.0), 1.0))[0]) + unit) / rows
    return Figure(value, _end(compute_excess, at, wide, -1), _end(compute_excess, at, wide, 1))


def _end(excess: Callable[[float], float], at: float, wide: float, sign: int) -> float:
    while excess(at + sign * wide) <= 0:
        wide = 2 * wide
    end = _find_crossing(excess, at, at + sign * wide)
    near, far = (0.0, 1.0) if sign > 0 else (1.0, 0.0)
    if sign * (near - end) > 0:  # shares may fit though what lies before them does not
        best = _find_least(excess, near, far)
        if excess(best) <= 0:
            return _find_crossing(excess, best, far) if excess(far) > 0 else far
    return end


def _find_crossing(excess: Callable[[float], float], inner: float, outer: float) -> float:
    """Find where the excess turns positive, by the Illinois variant of regula falsi."""
    low, high = excess(inner), excess(outer)
    side = 0
    for _ in range(_STEPS):
        middle = outer - high * (outer - inner) / (high - low)
        value = excess(middle)
        if value > 0:
            outer, high, low = middle, value, low / 2 if side > 0 else low
            side = 1
        else:
            inner, low, high = middle, value, high / 2 if side < 0 else high
            side = -1
        if abs(outer - inner) <= _CLOSE * abs(outer) or abs(value) <= _CLOSE:
            break
    return outer if side > 0 else inner


def _find_least(excess: Callable[[float], float], low: float, right: float) -> float:
    """Find where the excess is least, by ternary search."""
    for _ in range(60):
        lower, upper = low + (right - low) / 3, right - (right - low) / 3
        low, right = (low, upper) if excess(lower) <= excess(upper) else (lower, right)
    return low


def compute_cumulants(raw: tuple[Fraction, Fraction, Fraction, Fraction]) -> Cumulants:
    """Compute the second to fourth cumulant from the first four moments."""
    m1, m2, m3, m4 = raw
    return (
        float(m2 - m1**2),
        float(m3 - 3 * m2 * m1 + 2 * m1**3),
        float(m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4),
    )


FEW = 3


def approximate_laplace_halfwidth(law: LaplaceLaw, rows: int, interval: Fraction) -> float:
    """Approximate the half-width of the sum of the Laplace noise of all records, in grid steps.

    Exact for up to three records. Beyond, the normal quantile of ``interval``, plus half a step
    and, where that is longer, the Cornish-Fisher term of the fourth cumulant. It can cover slightly
    less than ``interval``: by the exact laws of up to 20 records 0.9499 where 0.95 is asked. Where
    hardly any record has noise, that term has no bound, and Chebyshev's inequality is the narrower
    one. With a = exp(-1/s) the variance is v = 2 a/(1 - a)^2, and the fourth moment
    2 a (1 + 10 a + a^2)/(1 - a)^4 = v (1 + 6 v), so the excess kurtosis is 3 + 1/v.
    """
    noise = Noise(NoiseFamily.LAPLACE, law.scale)
    if rows <= FEW:
        return float(compute_combined_halfwidth((Part(noise, Fraction(1), rows),), 1 - interval))
    z, spread = compute_quantile(interval), compute_noise_variance(noise)
    kurtosis = 3 + 1 / spread if spread else 0.0
    fourth = max(z**3 - 3 * z, 0.0) / 24
    half = (z + fourth * kurtosis / rows) * sqrt(rows * spread) + 0.5
    return min(half, sqrt(rows * spread / float(1 - interval)))


@lru_cache(maxsize=64)
def compute_window_variance(law: WindowLaw) -> Fraction:
    """Compute the largest variance of an answer over all values, exactly, in squared half ranges.

    The mean square of an answer is linear in the value between the places where a window moves by
    a whole level. Less the square of the value, it is a parabola on each such piece.
    """
    breaks = _list_breaks(law)
    squares = [_compute_moment(law, at, 2) for at in breaks]
    largest = Fraction(0)
    for (start, low), (right, high) in pairwise(zip(breaks, squares, strict=True)):
        slope = (high - low) / (right - start)
        top = min(max(slope / 2, start), right)
        largest = max(largest, low + slope * (top - start) - top * top)
    return largest


@lru_cache(maxsize=64)
def compute_window_tails(law: WindowLaw) -> tuple[float, float, float]:
    """Compute how far answers are from normal: distance of levels, skewness and tails, at worst.

    In half ranges of the column: the largest gap, the largest of abs(third cumulant)/variance, and
    of the fourth cumulant over the variance to the power 3/2, at the places where a window starts.
    """
    gap = max(window.gap for _, window in list_parts(law))
    skew = tails = 0.0
    for at in _list_breaks(law):
        spread, third, fourth = compute_cumulants(
            (at, *(_compute_moment(law, at, power) for power in (2, 3, 4)))  # type: ignore[arg-type]
        )
        if spread > 0:
            skew, tails = max(skew, abs(third) / spread), max(tails, fourth / spread**1.5)
    return float(gap), skew, tails


def _list_breaks(law: WindowLaw) -> list[Fraction]:
    """List the values, from -1 to 1, for which a window starts at a level."""
    values = {
        Fraction(2 * place, window.levels - window.width) - 1
        for _, window in list_parts(law)
        for place in range(window.levels - window.width + 1)
    }
    return sorted(values)


def _compute_moment(law: WindowLaw, at: Fraction, power: int) -> Fraction:
    """Compute the mean power of what an answer stands for, for a value at -1 <= at <= 1."""
    return sum(
        (share * _compute_window_moment(window, at, power) for share, window in list_parts(law)),
        Fraction(0),
    )


def _compute_window_moment(window: Window, at: Fraction, power: int) -> Fraction:
    moves = window.levels - window.width
    place = (at + 1) / 2 * moves
    start = min(floor(place), moves - 1)
    further = place - start
    first, second = _integrate_from(window, start, power), _integrate_from(window, start + 1, power)
    return first * (1 - further) + second * further


def _integrate_from(window: Window, start: int, power: int) -> Fraction:
    """Compute the mean power for a window that starts at that level."""
    total = Fraction(0)
    for level in range(window.levels):
        stands = Fraction(2 * level - (window.levels - 1), 2) * window.gap
        inside = start <= level < start + window.width
        total += stands**power * (window.ratio if inside else 1)
    return total / (window.levels - window.width + window.ratio * window.width)
