"""Charts as SVG: shapes, scales and the axes that several charts have; equal calls, equal bytes.

Colours are classes, so that the page decides them, for light, dark and paper. A drawing is 360
units wide: on a phone a unit is about a pixel, and a text of 11 units can be read. A picture may
have several drawings, which stand side by side where there is room.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width

from dprelease.reports.text.shown_numbers import written

WIDTH = 360
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DIRECTED = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]"
)


class VegaLite(NamedTuple):
    """A chart as a Vega-Lite specification, with the file that it is published in."""

    file: str
    content: Mapping[str, Any]


class Chart(NamedTuple):
    """A picture with its text alternative: a title, a sentence, and a table of its numbers.

    ``note`` is shown in place of the description. ``vega`` is the same chart in Vega-Lite.
    """

    name: str  # unique on a page, and safe in an id
    title: str
    description: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    vega: VegaLite | None = None


class HeatCell(NamedTuple):
    """A figure as text; its shade is from -5 to 5, strongest at the ends; flagged is hollow."""

    text: str
    shade: int
    flagged: bool


class HeatTable(NamedTuple):
    """A table whose cells are shaded by their figures: one key down, another across."""

    name: str
    title: str
    description: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    vega: VegaLite | None = None


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

    def svg(self) -> str:
        """Close the picture; what it shows is said by the text around it."""
        return f'<svg viewBox="0 0 {WIDTH} {near(self.height)}">{"".join(self.parts)}</svg>'


def chart_of(  # noqa: PLR0913, PLR0917 - all that a chart is
    panels: Sequence[tuple[str, Drawing]],
    name: str,
    title: str,
    description: str,
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    note: str = "",
    vega: VegaLite | None = None,
) -> Chart:
    """Give a chart of drawings that are read together, each under its title; "" has none.

    It is hidden from readers to whom its description is told.
    """
    heard = f'role="img" aria-label="{clean(description)}"' if note else 'aria-hidden="true"'
    drawn = "".join(
        f"<div>{f'<p><bdi>{clean(panel)}</bdi></p>' if panel else ''}{drawing.svg()}</div>"
        for panel, drawing in panels
    )
    style = "panels" if len(panels) > 1 else "panel"
    svg = f'<div class="{style}" {heard}>{drawn}</div>'
    return Chart(name, title, description, svg, head, tuple(rows), note, vega)


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


def linear(
    values: Sequence[float], start: float, end: float, most: int = 5, *, zero: bool = True
) -> Scale:
    """Fit an axis of at most ``most`` + 1 parts, from tick to tick, around all values.

    With ``zero`` it holds 0 too; else it ends where the values do, where the next tick is far.
    """
    low, high = (min([0.0, *values]), max([0.0, *values])) if zero else (min(values), max(values))
    if low == high:
        low, high = (low, high + 1.0) if zero else (low - 0.5, high + 0.5)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    unit = next(power * n for n in (1, 2, 5, 10, 20) if power * n * most >= high - low)
    counts = range(math.floor(low / unit), math.ceil(high / unit) + 1)
    # as many digits as tell one tick from the next
    digits = max(4, math.ceil(math.log10(max(abs(low), abs(high)) / unit)) + 2)
    ticks = [(count * unit, short(count * unit, digits)) for count in counts]
    first, last, part = ticks[0][0], ticks[-1][0], unit / 5
    if not zero and low - first > FAR * unit:
        ticks, first = ticks[1:], math.floor(low / part) * part
    if not zero and last - high > FAR * unit:
        ticks, last = ticks[:-1], math.ceil(high / part) * part
    return Scale(first, last, start, end, ticks)


FAR = 0.75
_UNITS = ((1e12, "T"), (1e9, "bn"), (1e6, "M"), (1e4, "k"))


def short(value: float, digits: int = 4) -> str:
    """Write a number so that it fits beside an axis."""
    for least, name in _UNITS:
        if abs(value) >= least:
            divisor = 1e3 if name == "k" else least
            return (
                f"{_plain(value / divisor, digits)}{name}" if abs(value) < 1e16 else f"{value:.0e}"
            )
    return _plain(value, digits)


def _plain(value: float, digits: int) -> str:
    return written(float(f"{value:.{digits}g}")).replace("-", "\u2212")


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
    """Shorten a label that has no room for more letters; letters of East Asia are wide."""
    said = " ".join(said.split())
    if room(said) <= most:
        return said
    letters = 0
    width = 1
    while width + room(said[letters]) <= most:
        width += room(said[letters])
        letters += 1
    return f"{said[:letters].rstrip()}…"


def room(said: str) -> int:
    """Count the letters that a text has room for, marks above and below letters left out."""
    if said.isascii():
        return len(said)
    widths = {"W": 2, "F": 2}
    return sum(
        widths.get(east_asian_width(letter), 1)
        for letter in said
        if category(letter) not in {"Mn", "Me", "Cf"}
    )
