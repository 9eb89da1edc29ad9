"""Charts as SVG: shapes, scales and the axes that several charts have; equal calls, equal bytes.

Colours are classes, so that the page decides them, for light, dark and paper. A drawing is 360
units wide: on a phone a unit is about a pixel, and a text of 11 units can be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from dprelease.report.numbers import written

WIDTH = 360
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DIRECTED = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]"
)


class Chart(NamedTuple):
    """A picture with its text alternative: a title, a sentence, and a table of its numbers."""

    name: str  # unique on a page, and safe in an id
    title: str
    description: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Scale(NamedTuple):
    """Where values between ``low`` and ``high`` lie between two places; ticks with their labels."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[tuple[float, str]] = ()

    def at(self, value: float) -> float:
        """Place a value; what is outside stays outside."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


class Drawing:
    """Shapes in the order of drawing."""

    def __init__(self, height: float) -> None:
        """Begin an empty picture of a height in units."""
        self.height = height
        self.parts: list[str] = []

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self.parts.append(
            f'<line class="{style}" x1="{near(x1)}" y1="{near(y1)}" '
            f'x2="{near(x2)}" y2="{near(y2)}"/>'
        )

    def box(self, corner: tuple[float, float], size: tuple[float, float], style: str) -> None:
        """Fill a rectangle."""
        x, y = corner
        width, height = size
        self.parts.append(
            f'<rect class="{style}" x="{near(x)}" y="{near(y)}" '
            f'width="{near(max(width, 0))}" height="{near(max(height, 0))}"/>'
        )

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        """Fill a circle."""
        self.parts.append(
            f'<circle class="{style}" cx="{near(x)}" cy="{near(y)}" r="{near(radius)}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], style: str, closed: bool = False) -> None:
        """Draw through points; ``closed`` fills what they enclose."""
        steps = "L".join(f"{near(x)} {near(y)}" for x, y in points)
        self.shape(f"M{steps}{'Z' if closed else ''}", style)

    def shape(self, outline: str, style: str) -> None:
        """Draw an outline in path notation."""
        self.parts.append(f'<path class="{style}" d="{outline}"/>')

    def text(self, x: float, y: float, said: str, style: str = "t s", anchor: str = "") -> None:
        """Write one line; ``anchor`` is "middle" or "end" where it isn't its start."""
        placed = f' text-anchor="{anchor}"' if anchor else ""
        self.parts.append(
            f'<text class="{style}" x="{near(x)}" y="{near(y)}"{placed}>{clean(said)}</text>'
        )

    def axis_up(self, up: Scale, x_start: float, x_end: float, zero: str = "zero") -> None:
        """Draw a line across for each tick, the one at 0 in the style ``zero``."""
        for value, label in up.ticks:
            style = zero if value == 0 else "grid"
            self.line((x_start, up.at(value)), (x_end, up.at(value)), style)
            self.text(x_start - 6, up.at(value) + 4, label, anchor="end")

    def chart(  # noqa: PLR0913, PLR0917 - all that a chart is
        self,
        name: str,
        title: str,
        description: str,
        head: tuple[str, ...],
        rows: Sequence[tuple[str, ...]],
        note: str = "",
    ) -> Chart:
        """Close the picture, named for readers that can't see it."""
        svg = (
            f'<svg role="img" viewBox="0 0 {WIDTH} {near(self.height)}" '
            f'aria-labelledby="{name}-t {name}-d">'
            f'<title id="{name}-t">{clean(title)}</title>'
            f'<desc id="{name}-d">{clean(description)}</desc>{"".join(self.parts)}</svg>'
        )
        return Chart(name, title, description, svg, head, tuple(rows), note)


def bars(rows: Sequence[tuple[str, str, float]], track: str) -> Drawing:
    """Draw a bar under each label and what is said of it, as a share of the whole width."""
    drawing = Drawing(34 * len(rows) + 4)
    for place, (label, said, share) in enumerate(rows):
        y = 34.0 * place
        drawing.text(0, y + 14, label, "t")
        drawing.text(WIDTH, y + 14, said, anchor="end")
        drawing.box((0, y + 20), (WIDTH, 8), track)
        drawing.box((0, y + 20), (WIDTH * share, 8), "bar")
    return drawing


class Estimate(NamedTuple):
    """A value with its interval; both may be missing."""

    label: str
    value: float | None
    interval: tuple[float, float] | None


def estimates_across(estimates: Sequence[Estimate], mark: str, unit: str = "") -> Drawing:
    """Draw a line for each estimate: its label, its interval, and a dot in the style ``mark``."""
    x_start, top, row = 124.0, 8.0, 16.0
    ends = [end for _, value, interval in estimates if value is not None
            for end in interval or (value,)]  # fmt: skip
    across = linear(ends, x_start, WIDTH - 20.0, 4)
    bottom = top + row * len(estimates)
    drawing = Drawing(bottom + 22)
    for tick, label in across.ticks:
        x, style = across.at(tick), "zero" if tick == 0 else "grid"
        drawing.line((x, top), (x, bottom + 3), style)
        drawing.text(x, bottom + 16, f"{label}{unit}", anchor="middle")
    for place, (label, value, interval) in enumerate(estimates):
        y = top + row * (place + 0.5)
        drawing.text(0, y + 4, label)
        if value is None:
            drawing.text(x_start + 4, y + 4, "empty")
            continue
        if interval is not None:
            low, high = map(across.at, interval)
            drawing.box((low, y - 2.5), (max(high - low, 1.0), 5), "interval")
        drawing.dot(across.at(value), y, 3, mark)
    return drawing


def linear(values: Sequence[float], start: float, end: float, most: int = 5) -> Scale:
    """Fit an axis of at most ``most`` + 1 parts, from tick to tick, around 0 and all values."""
    low, high = min([0.0, *values]), max([0.0, *values])
    if low == high:
        high = 1.0
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    unit = next(power * n for n in (1, 2, 5, 10, 20) if power * n * most >= high - low)
    counts = range(math.floor(low / unit), math.ceil(high / unit) + 1)
    ticks = [(count * unit, short(count * unit)) for count in counts]
    return Scale(ticks[0][0], ticks[-1][0], start, end, ticks)


_UNITS = ((1e12, "T"), (1e9, "bn"), (1e6, "M"), (1e4, "k"))


def short(value: float) -> str:
    """Write a number so that it fits beside an axis."""
    for least, name in _UNITS:
        if abs(value) >= least:
            divisor = 1e3 if name == "k" else least
            return f"{_plain(value / divisor)}{name}" if abs(value) < 1e16 else f"{value:.0e}"
    return _plain(value)


def _plain(value: float) -> str:
    return written(float(f"{value:.4g}")).replace("-", "\u2212")


def near(value: float) -> str:
    """Write a coordinate to a tenth."""
    said = f"{value:.1f}".removesuffix(".0")
    return "0" if said == "-0" else said


def clean(said: str) -> str:
    """Escape a text, without characters that no document may hold."""
    return escape(_CONTROL.sub("\ufffd", said))


def isolated(said: str) -> str:
    """Keep marks of direction in a key from turning what stands beside it."""
    return f"\u2068{said}\u2069" if _DIRECTED.search(said) else said


def cut(said: str, most: int) -> str:
    """Shorten a label that has no room; the whole of it is in the table beside the chart."""
    said = " ".join(said.split())
    return said if len(said) <= most else f"{said[: most - 1].rstrip()}…"
