"""From values to places, and the ticks of an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dprelease.report.numbers import written


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values between ``low`` and ``high`` lie between two places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Place a value; what is outside stays outside."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


def linear(values: list[float], start: float, end: float, most: int = 5) -> tuple[Scale, list[int]]:
    """Fit an axis from tick to tick around 0 and all values; ticks are whole ``unit`` counts.

    Ticks come as values in the second result's place: see ``ticks_of``.
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    if low == high:
        high = 1.0
    unit = step_of(high - low, most)
    first, last = math.floor(low / unit), math.ceil(high / unit)
    return Scale(first * unit, last * unit, start, end), list(range(first, last + 1))


def step_of(span: float, most: int) -> float:
    """Find the 1, 2 or 5 times a power of ten that cuts a span into at most ``most`` parts."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * times for times in (1, 2, 5, 10, 20) if power * times * most >= span)


def ticks_of(scale: Scale, counts: list[int]) -> list[tuple[float, str]]:
    """Give value and label of each tick of ``linear``."""
    unit = (scale.high - scale.low) / (counts[-1] - counts[0])
    return [(count * unit, short(count * unit)) for count in counts]


_UNITS = ((1e12, "T"), (1e9, "bn"), (1e6, "M"), (1e4, "k"))


def short(value: float) -> str:
    """Write a number so that it fits beside an axis."""
    for least, name in _UNITS:
        if abs(value) >= least:
            divisor = 1e3 if name == "k" else least
            return f"{_plain(value / divisor)}{name}" if abs(value) < 1e16 else f"{value:.0e}"
    return _plain(value)


def _plain(value: float) -> str:
    said = written(float(f"{value:.4g}"))
    return said.replace("-", "\u2212")


def fraction_of(value: int, decimals: int) -> float | None:
    """Read a fixed-point figure as a float for drawing; None beyond what can be drawn."""
    if abs(value) >= 10 ** (decimals + 100):
        return None
    return float(Fraction(value, 10**decimals))
