"""A hundred people in a square, some of them marked."""

from __future__ import annotations

from dprelease.report.charts.drawing import Drawing, near

SIDE = 10.4  # from one person to the next


def hundred(drawing: Drawing, corner: tuple[float, float], marked: int) -> None:
    """Draw a hundred people, row by row; the first ``marked`` stand out, by size too."""
    left, top = corner
    for style, places in (("p-on", range(marked)), ("p-off", range(marked, 100))):
        outlines = [
            _person(left + SIDE * (place % 10), top + SIDE * (place // 10), style == "p-on")
            for place in places
        ]
        if outlines:
            drawing.shape("".join(outlines), style)


def _person(x: float, y: float, marked: bool) -> str:
    """Draw a head and shoulders, or a dot of the same place."""
    cx, cy = near(x + SIDE / 2), y + 2.8
    if not marked:
        return f"M{cx} {near(cy + 2.2)}m-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0z"
    head = f"M{cx} {near(cy)}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z"
    return f"{head}M{near(x + SIDE / 2 - 3.6)} {near(y + 9.6)}v-1.4a3.6 2.8 0 0 1 7.2 0v1.4z"
