"""A small writer of SVG: the same calls give the same bytes.

Colours are classes, so that the page decides them, for light, dark and paper. A drawing is 360
units wide: on a phone a unit is about a pixel, and a text of 11 units can be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH = 360
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DIRECTED = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with its text alternative: a title, a sentence, and a table of its numbers."""

    name: str  # unique on a page, and safe in an id
    title: str
    description: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(slots=True)
class Drawing:
    """Shapes in the order of drawing."""

    height: float
    parts: list[str] = field(default_factory=list)

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
        self.parts.append(f'<path class="{style}" d="M{steps}{"Z" if closed else ""}"/>')

    def shape(self, outline: str, style: str) -> None:
        """Draw an outline in path notation."""
        self.parts.append(f'<path class="{style}" d="{outline}"/>')

    def text(self, x: float, y: float, said: str, style: str = "t", anchor: str = "") -> None:
        """Write one line; ``anchor`` is "middle" or "end" where it isn't its start."""
        placed = f' text-anchor="{anchor}"' if anchor else ""
        self.parts.append(
            f'<text class="{style}" x="{near(x)}" y="{near(y)}"{placed}>{clean(said)}</text>'
        )

    def finish(self, name: str, title: str, description: str) -> str:
        """Close the picture, named for readers that can't see it."""
        return (
            f'<svg role="img" viewBox="0 0 {WIDTH} {near(self.height)}" '
            f'aria-labelledby="{name}-t {name}-d">'
            f'<title id="{name}-t">{clean(title)}</title>'
            f'<desc id="{name}-d">{clean(description)}</desc>{"".join(self.parts)}</svg>'
        )


def near(value: float) -> str:
    """Write a coordinate to a tenth."""
    said = f"{value:.1f}"
    said = said.removesuffix(".0")
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
