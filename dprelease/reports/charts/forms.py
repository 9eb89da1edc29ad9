"""The forms of charts: dots with intervals, quantile ranges, lines with bands, heat tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from dprelease.language import say
from dprelease.model import OutputColumn
from dprelease.reports.charts.svg import (
    WIDTH,
    Drawing,
    HeatCell,
    HeatTable,
    Scale,
    VegaLite,
    count_letters,
    cut,
    fix,
    isolate,
)
from dprelease.reports.text.shown_names import get_column_title, write_key


class Estimate(NamedTuple):
    """A value with its interval, or quantiles that rise; all may be missing."""

    label: str
    value: float | None
    interval: tuple[float, float] | None
    flagged: bool = False
    quantiles: tuple[float, ...] = ()

    def list_ends(self) -> tuple[float, ...]:
        """Give what an axis must hold."""
        if self.value is None:
            return self.quantiles
        return self.interval or (self.value,)


LETTERS, LETTER = 24, 6.5  # of a label beside a row, and the width of one
ACROSS = 200.0  # the width beside the labels
ROW, ROW_IN_GROUP = 18.0, 11.0
LEGEND_LETTERS = 40
MOST_DOTS = 40  # on a line; of more points only the flagged ones are marked


def draw_estimates_across(
    estimates: Sequence[Estimate], scale: Scale, form: str = "", *, is_panel: bool = False
) -> Drawing:
    """Draw a line for each estimate: its label, its interval, and a dot; hollow where flagged."""
    labels = [cut(estimate.label, LETTERS) for estimate in estimates]
    x_start, top = 14 + LETTER * max(map(count_letters, labels), default=0), 4.0
    # Short labels leave the room to what is drawn; many small pictures are smaller instead.
    x_end = (x_start + ACROSS if is_panel else WIDTH) - 20.0
    across = scale._replace(start=x_start, end=x_end)
    bottom = top + ROW * len(estimates)
    drawing = Drawing(bottom + 20, x_end + 20)
    _draw_ticks(drawing, across, (top, bottom), form)
    for place, estimate in enumerate(estimates):
        y = top + ROW * (place + 0.5)
        drawing.write_text(0, y + 4, labels[place])
        if not estimate.list_ends():
            drawing.write_text(x_start + 4, y + 4, say("words.empty"))
        elif estimate.value is None:
            # a bar from the lowest to the highest, and a stroke at each
            low, high = across.place(min(estimate.quantiles)), across.place(max(estimate.quantiles))
            style = "hollow" if estimate.flagged else "interval"
            drawing.draw_box((low, y - 3), (max(high - low, 1.0), 6), style)
            for value in estimate.quantiles:
                drawing.draw_box((across.place(value) - 1, y - 6), (2, 12), "bar")
        else:
            if estimate.interval is not None:
                low, high = map(across.place, estimate.interval)
                drawing.draw_box((low, y - 2.5), (max(high - low, 1.0), 5), "interval")
            _draw_dot(drawing, (across.place(estimate.value), y), estimate.flagged)
    return drawing


def draw_estimates_together(
    groups: Sequence[tuple[str, Sequence[Estimate]]], scale: Scale
) -> Drawing:
    """Draw a few estimates in the row of each group, one below the other, each by its own mark."""
    labels = [cut(label, LETTERS) for label, _ in groups]
    names = [cut(estimate.label, LEGEND_LETTERS) for estimate in groups[0][1]]
    x_start, top = 14 + LETTER * max(map(count_letters, labels)), 4.0
    row = ROW_IN_GROUP * len(names) + 8
    bottom = top + row * len(groups)
    drawing = Drawing(bottom + 24 + 16 * len(names))
    across = scale._replace(start=x_start, end=WIDTH - 20.0)
    _draw_ticks(drawing, across, (top, bottom))
    for place, (label, (_, estimates)) in enumerate(zip(labels, groups, strict=True)):
        y = top + row * place + 4
        drawing.write_text(0, y + (row - 8) / 2 + 4, label)
        for number, estimate in enumerate(estimates):
            middle = y + ROW_IN_GROUP * (number + 0.5)
            if estimate.value is None:
                drawing.write_text(x_start + 4, middle + 4, say("words.empty"))
                continue
            if estimate.interval is not None:
                low, high = map(across.place, estimate.interval)
                drawing.draw_box((low, middle - 1.5), (max(high - low, 1.0), 3), "interval")
            spot = across.place(estimate.value), middle
            _draw_mark(drawing, spot, number, estimate.flagged)
    for number, name in enumerate(names):
        y = bottom + 32 + 16 * number
        _draw_mark(drawing, (x_start + 4, y - 4), number, flagged=False)
        drawing.write_text(x_start + 14, y, name)
    return drawing


def _draw_ticks(drawing: Drawing, across: Scale, ends: tuple[float, float], form: str = "") -> None:
    """Draw a line down for each tick, with its label below."""
    top, bottom = ends
    for tick, label in across.ticks:
        x, style = across.place(tick), "zero" if tick == 0 else "grid"
        drawing.draw_line((x, top), (x, bottom + 3), style)
        drawing.write_text(
            x, bottom + 16, say(form, share=label) if form else label, anchor="middle"
        )


def _draw_mark(drawing: Drawing, place: tuple[float, float], number: int, flagged: bool) -> None:
    """Draw a dot, a square or a diamond."""
    x, y = place
    style = "hollow" if flagged else ("bar", "mark-2", "mark-3")[number]
    if number == 0:
        drawing.draw_dot(x, y, 3.2, style)
    elif number == 1:
        drawing.draw_box((x - 2.8, y - 2.8), (5.6, 5.6), style)
    else:
        drawing.draw_path([(x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y)], style, closed=True)


def _draw_dot(drawing: Drawing, place: tuple[float, float], flagged: bool) -> None:
    drawing.draw_dot(*place, 3.2, "hollow" if flagged else "bar")


class Band(NamedTuple):
    """Estimates in order, each at its place from 0 to 1, and those whose keys have no place."""

    inside: Sequence[Estimate]
    places: Sequence[float]
    others: Sequence[Estimate]


def place_keys(labels: Sequence[str]) -> list[float]:
    """Place ordered keys between 0 and 1: numbers and dates by what they say, bins evenly."""
    numbers = [_number(label) for label in labels]
    rising = [number for number in numbers if number is not None]
    if len(rising) < len(labels) or any(b <= a for a, b in pairwise(rising)):
        rising = [float(place) for place in range(len(labels))]
    if len(rising) < 2:
        return [0.5] * len(rising)
    return [(number - rising[0]) / (rising[-1] - rising[0]) for number in rising]


def _number(label: str) -> float | None:
    for read in (float, lambda text: datetime.fromisoformat(text).timestamp()):
        try:
            number = read(label)
        except (ValueError, OverflowError):
            continue
        return number if math.isfinite(number) else None
    return None


def draw_line_with_band(band: Band, scale: Scale) -> Drawing:
    """Draw figures along an ordered key; keys without a place stand apart, on the right."""
    start, right, top, bottom = 46.0, WIDTH - 12.0, 8.0, 158.0
    up = scale._replace(start=bottom, end=top)
    drawing = Drawing(bottom + 22)
    drawing.draw_axis_up(up, start, right)
    end = right - (26 + 52.0 * len(band.others) if band.others else 6)
    spots = [start + 8 + place * (end - start - 8) for place in band.places]
    for run in _iter_runs(band.inside, spots):
        ends = [(x, row.interval) for x, row in run if row.interval is not None]
        if len(ends) > 1:
            above = [(x, up.place(high)) for x, (_, high) in ends]
            below = [(x, up.place(low)) for x, (low, _) in reversed(ends)]
            drawing.draw_path([*above, *below], "interval", closed=True)
    marks = []
    for run in _iter_runs(band.inside, spots):
        points = [(x, up.place(row.value)) for x, row in run if row.value is not None]
        drawing.draw_path(points, "stroke-1")
        for spot, (_, row) in zip(points, run, strict=True):
            if len(spots) <= MOST_DOTS or len(points) == 1:
                _draw_dot(drawing, spot, row.flagged)
            elif row.flagged:
                marks.append(f"M{fix(spot[0])} {fix(spot[1] - 2)}l2 2l-2 2l-2-2z")
    if marks:
        drawing.draw_shape("".join(marks), "hollow")
    for place, row in enumerate(band.others):
        x = end + 26 + 52.0 * (place + 0.5)
        if row.value is not None:
            if row.interval is not None:
                low, high = map(up.place, row.interval)
                drawing.draw_box((x - 2.5, high), (5, max(low - high, 1.0)), "interval")
            _draw_dot(drawing, (x, up.place(row.value)), row.flagged)
        drawing.write_text(x, bottom + 16, cut(row.label, 10), anchor="middle")
    limit = end + 10 if band.others else WIDTH
    _draw_names_below(drawing, [row.label for row in band.inside], spots, (limit, bottom + 16))
    return drawing


def _iter_runs(
    estimates: Sequence[Estimate], spots: Sequence[float]
) -> Iterable[list[tuple[float, Estimate]]]:
    """Cut the line where a figure is missing."""
    run: list[tuple[float, Estimate]] = []
    for spot, estimate in zip(spots, estimates, strict=True):
        if estimate.value is not None:
            run.append((spot, estimate))
        elif run:
            yield run
            run = []
    if run:
        yield run


_LETTER_WIDTH = 6.2  # of a label, in the unit of the drawing


def _draw_names_below(
    drawing: Drawing,
    labels: Sequence[str],
    spots: Sequence[float],
    corner: tuple[float, float],
) -> None:
    """Name the first, the last and as many others as have room, left of a corner."""
    if not labels:
        return
    limit, y = corner
    # Two labels always have room: the first and the last.
    letters = max(16, min(24, int((limit - 8) / 2 / _LETTER_WIDTH)))
    short = [cut(label, letters) for label in labels]
    widths = [_LETTER_WIDTH * count_letters(label) for label in short]

    def find_ends(place: int) -> tuple[float, float]:
        middle = min(max(spots[place], widths[place] / 2), limit - widths[place] / 2)
        return middle - widths[place] / 2, middle + widths[place] / 2

    last = len(labels) - 1
    places = [0]
    for place in range(1, last):
        if (
            find_ends(place)[0] > find_ends(places[-1])[1] + 8
            and find_ends(place)[1] < find_ends(last)[0] - 8
        ):
            places.append(place)
    for place in [*places, last] if last else places:
        low, high = find_ends(place)
        drawing.write_text((low + high) / 2, y, short[place], anchor="middle")


def heat_grid(
    words: tuple[str, str, str, VegaLite],
    keys: Sequence[OutputColumn],
    estimates: Sequence[Estimate],
    texts: Sequence[tuple[str, int]],
) -> HeatTable:
    """Lay out a figure by two keys; the one with fewer values is across.

    ``words`` is the name, the title, the description and the specification, ``texts`` are figures
    as they are shown, each with how many of its last letters are pale.
    """
    values = [list(dict.fromkeys(key.values)) for key in keys]
    down, across = (0, 1) if len(values[0]) >= len(values[1]) else (1, 0)
    largest = max((abs(row.value) for row in estimates if row.value is not None), default=0) or 1
    cells = {
        (keys[down].values[row], keys[across].values[row]): HeatCell(
            texts[row][0],
            0 if estimate.value is None else round(100 * estimate.value / largest),
            estimate.flagged,
            texts[row][1],
        )
        for row, estimate in enumerate(estimates)
    }
    nothing = HeatCell("-", 0, False)
    name, title, description, vega = words
    return HeatTable(
        name,
        title,
        description,
        (
            f"{get_column_title(keys[down])} \\ {get_column_title(keys[across])}",
            *(isolate(write_key(keys[across], key)) for key in values[across]),
        ),
        tuple(
            (
                isolate(write_key(keys[down], key)),
                tuple(cells.get((key, other), nothing) for other in values[across]),
            )
            for key in values[down]
        ),
        vega,
    )
