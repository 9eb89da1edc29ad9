r"""Where to look: tilt, window and grid for a composition, in floats without any guarantee.

Whatever is chosen here, ``pld_compose`` gives a valid bound; only its tightness depends on it.

With K(t) = ln E e^(t Z) for the composed loss Z, ln delta(epsilon) is at most
K(t) - t epsilon + ln c(t) for every t > 0, c(t) = t^t/(1+t)^(1+t), and near it for the best t: the
law tilted by e^(t z) has its mass around epsilon. K is written as t top + J(t), top being the
sum of the largest losses (of Gaussian ones: 0), since for large t both are large.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dprelease.privacy.pld_laws import (
    Bell,
    Ladder,
    Law,
    Normal,
    Slope,
    Two,
    Widest,
    spacing_of,
)

Floats = npt.NDArray[np.float64]

TAIL = 1e-9  # what the window may lose, as a part of delta
_ACCURACY = 1e-5  # aimed at: what the grid may add, as a part of epsilon
_SMALLEST, _LARGEST = 1 << 12, 1 << 17  # points of a grid
_WORK = 1 << 24  # points of a grid times laws, at most
_LATTICES = 8  # spacings that are tried to be put on the grid
_PER_DECADE, _DECADES = 10, 22


@dataclass(frozen=True, slots=True)
class Aim:
    """Tilt of the laws and the window: losses from ``high - width`` to ``high``.

    ``tilt_high`` is a tilt that bounds the mass above ``high``; ``log_delta`` and ``epsilon`` say
    around which point all this is made.
    """

    tilt: float
    high: float
    tilt_high: float
    width: float
    epsilon: float
    log_delta: float


class Hints:
    """The cumulants of composed laws."""

    def __init__(self, laws: tuple[tuple[Law, int], ...]) -> None:
        two: list[tuple[float, int]] = []
        slope: list[tuple[float, int]] = []
        ends: list[tuple[float, int]] = []
        self.laws = laws
        self.mu2 = 0.0
        for law, times in laws:
            match law:
                case Two(span):
                    two.append((float(span), times))
                case Ladder(scale, 1):
                    two.append((float(1 / scale), times))
                case Ladder(scale, l1):
                    ends.append((float(l1 / scale), times))
                case Slope(span, has_ends):
                    (ends if has_ends else slope).append((float(span), times))
                case Bell(sigma2, step):
                    self.mu2 += times * float(step * step / sigma2)
                case Widest(sigma2, shapes):
                    longest = max(sum(v * v for v in shape) for shape in shapes)
                    self.mu2 += times * float(longest / sigma2)
                case Normal(mu2):
                    self.mu2 += times * float(mu2)
        self._two, self._slope, self._ends = _columns(two), _columns(slope), _columns(ends)
        groups = (self._two, self._slope, self._ends)
        self.top = math.fsum(float((spans * times).sum()) for spans, times in groups)
        self.bounded = self.mu2 == 0
        square = math.fsum(float((spans * spans * times).sum()) for spans, times in groups)
        self.deviation = math.sqrt(square + self.mu2)
        weights: Counter[Fraction] = Counter()
        spacings = [spacing_of(law) for law, _ in laws]
        for spacing, (_, times) in zip(spacings, laws, strict=True):
            if spacing is not None:
                weights[spacing] += times
        self._spacings = [spacing for spacing, _ in weights.most_common(_LATTICES)]
        number = {spacing: place for place, spacing in enumerate(self._spacings)}
        self._spacing = np.array([number.get(each or Fraction(0), -1) for each in spacings])
        self._times = np.array([times for _, times in laws], dtype=np.float64)
        self._reach = np.array([_reach(law) for law, _ in laws])
        steps = np.arange(_PER_DECADE * _DECADES)
        self._tilts = 10 ** (steps / _PER_DECADE - 3) / self.deviation
        self._cumulants = self.cumulant(self._tilts)

    def cumulant(self, tilts: Floats) -> Floats:
        """J at these tilts."""
        result = self.mu2 * tilts * (1 + tilts) / 2
        spans, times = self._two
        if len(spans):
            low = np.log1p(np.exp(-np.outer(1 + 2 * tilts, spans)))
            result += _sums(low - np.log1p(np.exp(-spans)), times)
        for (spans, times), has_ends in ((self._slope, False), (self._ends, True)):
            if len(spans):
                reach = -np.expm1(-np.outer(1 + 2 * tilts, spans))
                inside = reach / (1 + 2 * tilts)[:, None]
                if has_ends:
                    result += _sums(np.log((inside + 2 - reach) / 2), times)
                else:
                    result += _sums(np.log(inside / -np.expm1(-spans)), times)
        return np.asarray(result, dtype=np.float64)

    def aim_at_delta(self, log_delta: float) -> Aim:
        """Around the epsilon at which delta is this."""
        costs = (self._cumulants + _log_share(self._tilts) - log_delta) / self._tilts
        best = int(np.argmin(costs))
        return self._aim(float(self._tilts[best]), self.top + float(costs[best]), log_delta)

    def aim_at_epsilon(self, epsilon: float, log_delta: float = 0.0) -> Aim:
        """Around this epsilon; delta may be known to be smaller than it seems."""
        values = self._cumulants + self._tilts * (self.top - epsilon) + _log_share(self._tilts)
        best = int(np.argmin(values))
        return self._aim(float(self._tilts[best]), epsilon, min(log_delta, float(values[best])))

    def _aim(self, tilt: float, epsilon: float, log_delta: float) -> Aim:
        budget = -log_delta - math.log(TAIL)
        costs = (self._cumulants + budget) / self._tilts  # above the top, with this probability
        best = int(np.argmin(costs))
        high = self.top + float(costs[best])
        if self.bounded:
            high = min(high, self.top)
        # What lies lower by the width of the window is counted within it, e^(-tilt width) times;
        # and the losses below -z have e^-z times the probability of those above z.
        width = min(budget / tilt, 2.05 * abs(high))
        width = max(width, 1.25 * (high - epsilon), 1e-3 * self.deviation)
        return Aim(tilt, high, float(self._tilts[best]), width, epsilon, log_delta)

    def grid(self, aim: Aim) -> tuple[Fraction, int]:
        """The step of the grid and its number of points: coarse, but accurate.

        Splitting a mass between neighbouring points of a grid of step h adds h^2/6 to the
        variance on the average and half as much to the mean, or less where the loss itself is
        less than h: epsilon rises by (1 + tilt) h^2/12. Points that are on the grid cost nothing.
        """
        wanted = _ACCURACY * max(abs(aim.epsilon), self.deviation / 10) / (1 + aim.tilt)
        most = max(_SMALLEST, min(_LARGEST, _WORK // max(1, len(self.laws))))
        size = _SMALLEST
        while True:
            step, aligned = self._aligned(Fraction(aim.width / size))
            h = float(step)
            rises = np.minimum(h * h / 12, self._reach * h / 2) * self._times
            if size * 3 // 2 > most or rises[~np.isin(self._spacing, aligned)].sum() <= wanted:
                return step, size
            size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3

    def _aligned(self, least: Fraction) -> tuple[Fraction, list[int]]:
        """A step from ``least`` to twice that, such that the commonest lattices lie on the grid.

        And the numbers of the spacings that do.
        """
        common = Fraction(0)
        aligned: list[int] = []
        for number, spacing in enumerate(self._spacings):
            both = _divisor(common, spacing) if common else spacing
            if both >= least:
                common = both
                aligned.append(number)
        return (common / (common // least), aligned) if common else (least, [])


def _sums(table: Floats, times: Floats) -> Floats:
    # Not by matrix multiplication, whose threads take longer to start than this takes.
    return np.asarray((table * times).sum(axis=1), dtype=np.float64)


def _columns(pairs: list[tuple[float, int]]) -> tuple[Floats, Floats]:
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _log_share(tilts: Floats) -> Floats:
    return np.asarray(-tilts * np.log1p(1 / tilts) - np.log1p(tilts), dtype=np.float64)


def _reach(law: Law) -> float:
    """The largest loss of a law, or infinity."""
    match law:
        case Two(span) | Slope(span, _):
            return float(span)
        case Ladder(scale, l1):
            return float(l1 / scale)
        case _:
            return math.inf


def _divisor(first: Fraction, second: Fraction) -> Fraction:
    """The greatest number of which both are multiples."""
    numerator = math.gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Fraction(numerator, first.denominator * second.denominator)
