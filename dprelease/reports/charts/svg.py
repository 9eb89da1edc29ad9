"""Charts as SVG: shapes, scales and the axes that several charts have; equal calls, equal bytes.

Colours are classes, so that the page decides them, for light, dark and paper. A drawing is 360
units wide or less: on a phone a unit is about a pixel, and a text of 11 units can be read. A
picture may have several drawings, which stand side by side where there is room.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width

from dprelease.reports.text.shown_numbers import format_number

WIDTH, NARROW = 360, 270
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

    There are none in it where the sentence or a table beside it says them.

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
    """A figure as text; its size is from -100 to 100, a share of the largest of the table.

    ``pale`` is how many of its last letters are worth no more than the noise.
    """

    text: str
    size: int
    flagged: bool
    pale: int = 0


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

    def place(self, value: float) -> float:
        """Place a value; what is outside stays outside."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


class Drawing:
    """Shapes in the order of drawing."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        """Begin an empty picture of a size in units."""
        self.height, self.width = height, width
        self.parts: list[str] = []

    def draw_line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self.parts.append(
            f'<line class="{style}" x1="{fix(x1)}" y1="{fix(y1)}" x2="{fix(x2)}" y2="{fix(y2)}"/>'
        )

    def draw_box(self, corner: tuple[float, float], size: tuple[float, float], style: str) -> None:
        """Fill a rectangle."""
        x, y = corner
        width, height = size
        self.parts.append(
            f'<rect class="{style}" x="{fix(x)}" y="{fix(y)}" '
            f'width="{fix(max(width, 0))}" height="{fix(max(height, 0))}"/>'
        )

    def draw_dot(self, x: float, y: float, radius: float, style: str) -> None:
        """Fill a circle."""
        self.parts.append(
            f'<circle class="{style}" cx="{fix(x)}" cy="{fix(y)}" r="{fix(radius)}"/>'
        )

    def draw_path(
        self, points: Sequence[tuple[float, float]], style: str, closed: bool = False
    ) -> None:
        """Draw through points; ``closed`` fills what they enclose."""
        steps = "L".join(f"{fix(x)} {fix(y)}" for x, y in points)
        self.draw_shape(f"M{steps}{'Z' if closed else ''}", style)

    def draw_shape(self, outline: str, style: str) -> None:
        """Draw an outline in path notation."""
        self.parts.append(f'<path class="{style}" d="{outline}"/>')

    def write_text(self, x: float, y: float, text: str, style: str = "s", anchor: str = "") -> None:
        """Write one line; ``anchor`` is "middle" or "end" where it isn't its start."""
        placed = f' text-anchor="{anchor}"' if anchor else ""
        self.parts.append(
            f'<text class="{style}" x="{fix(x)}" y="{fix(y)}"{placed}>{clean(text)}</text>'
        )

    def draw_axis_up(self, up: Scale, x_start: float, x_end: float, zero: str = "zero") -> None:
        """Draw a line across for each tick, the one at 0 in the style ``zero``."""
        for value, label in up.ticks:
            style = zero if value == 0 else "grid"
            self.draw_line((x_start, up.place(value)), (x_end, up.place(value)), style)
            self.write_text(x_start - 6, up.place(value) + 4, label, anchor="end")

    def close(self) -> str:
        """Close the picture; what it shows is said by the text around it."""
        return (
            f'<svg viewBox="0 0 {fix(self.width)} {fix(self.height)}">{"".join(self.parts)}</svg>'
        )


def build_chart(  # noqa: PLR0913, PLR0917 - all that a chart is
    panels: Sequence[tuple[str, Drawing]],
    name: str,
    title: str,
    description: str,
    head: tuple[str, ...] = (),
    rows: Sequence[tuple[str, ...]] = (),
    note: str = "",
    vega: VegaLite | None = None,
) -> Chart:
    """Give a chart of drawings that are read together, each under its title; "" has none.

    It is hidden from readers to whom its description is told.
    """
    role = f'role="img" aria-label="{clean(description)}"' if note else 'aria-hidden="true"'
    body = "".join(
        f"<div>{f'<p><bdi>{clean(panel)}</bdi></p>' if panel else ''}{drawing.close()}</div>"
        for panel, drawing in panels
    )
    style = "panels" if len(panels) > 1 else "panel"
    if len(panels) > 1 and all(drawing.width <= NARROW for _, drawing in panels):
        style += " narrow"
    svg = f'<div class="{style}" {role}>{body}</div>'
    return Chart(name, title, description, svg, head, tuple(rows), note, vega)


def draw_bars(rows: Sequence[tuple[str, str, float]], track: str) -> Drawing:
    """Draw a bar under each label and what is said of it, as a share of the whole width."""
    drawing = Drawing(34 * len(rows) + 4)
    for place, (label, text, share) in enumerate(rows):
        y = 34.0 * place
        drawing.write_text(0, y + 14, label, "t")
        drawing.write_text(WIDTH, y + 14, text, anchor="end")
        drawing.draw_box((0, y + 20), (WIDTH, 8), track)
        drawing.draw_box((0, y + 20), (WIDTH * share, 8), "bar")
    return drawing


def fit_linear_scale(
    values: Sequence[float], start: float, end: float, limit: int = 5, *, zero: bool = True
) -> Scale:
    """Fit an axis of at most ``most`` + 1 parts, from tick to tick, around all values.

    With ``zero`` it holds 0 too; else it ends where the values do, where the next tick is far.
    """
    low, high = (min([0.0, *values]), max([0.0, *values])) if zero else (min(values), max(values))
    if low == high:
        low, high = (low, high + 1.0) if zero else (low - 0.5, high + 0.5)
    power = 10.0 ** math.floor(math.log10((high - low) / limit))
    unit = next(power * n for n in (1, 2, 5, 10, 20) if power * n * limit >= high - low)
    counts = range(math.floor(low / unit), math.ceil(high / unit) + 1)
    # as many digits as tell one tick from the next
    digits = max(4, math.ceil(math.log10(max(abs(low), abs(high)) / unit)) + 2)
    ticks = [(count * unit, write_short(count * unit, digits)) for count in counts]
    first, last, part = ticks[0][0], ticks[-1][0], unit / 5
    if not zero and low - first > FAR * unit:
        ticks, first = ticks[1:], math.floor(low / part) * part
    if not zero and last - high > FAR * unit:
        ticks, last = ticks[:-1], math.ceil(high / part) * part
    return Scale(first, last, start, end, ticks)


FAR = 0.75
_UNITS = ((1e12, "T"), (1e9, "bn"), (1e6, "M"), (1e4, "k"))


def write_short(value: float, digits: int = 4) -> str:
    """Write a number so that it fits beside an axis."""
    for least, name in _UNITS:
        if abs(value) >= least:
            divisor = 1e3 if name == "k" else least
            return (
                f"{_write_plain(value / divisor, digits)}{name}"
                if abs(value) < 1e16
                else f"{value:.0e}"
            )
    return _write_plain(value, digits)


def _write_plain(value: float, digits: int) -> str:
    return format_number(float(f"{value:.{digits}g}")).replace("-", "\u2212")


def fix(value: float) -> str:
    """Write a coordinate to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def clean(text: str) -> str:
    """Escape a text, without characters that no document may hold."""
    return escape(_CONTROL.sub("\ufffd", text))


def isolate(text: str) -> str:
    """Keep marks of direction in a key from turning what stands beside it."""
    return f"\u2068{text}\u2069" if _DIRECTED.search(text) else text


def cut(text: str, limit: int) -> str:
    """Shorten a label that has no room for more letters; letters of East Asia are wide."""
    text = " ".join(text.split())
    if count_letters(text) <= limit:
        return text
    letters = 0
    width = 1
    while width + count_letters(text[letters]) <= limit:
        width += count_letters(text[letters])
        letters += 1
    return f"{text[:letters].rstrip()}…"


def count_letters(text: str) -> int:
    """Count the letters that a text has room for, marks above and below letters left out."""
    if text.isascii():
        return len(text)
    widths = {"W": 2, "F": 2}
    return sum(
        widths.get(east_asian_width(letter), 1)
        for letter in text
        if category(letter) not in {"Mn", "Me", "Cf"}
    )
