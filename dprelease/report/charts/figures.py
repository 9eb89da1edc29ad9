"""Released values with their noise intervals, in the order of the keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dprelease.model import OutputColumn, OutputTable
from dprelease.postprocess.fixed_point import placed
from dprelease.report.charts.svg import (
    WIDTH,
    Chart,
    Drawing,
    Estimate,
    Scale,
    cut,
    estimates_across,
    isolated,
    linear,
)
from dprelease.report.numbers import written

MOST_LINES = 40
"""Up to so many rows each gets a line of its own, with its label."""
UPRIGHT = 120
"""Up to so many rows each is drawn, side by side; more are put together in bands."""
BANDS = 40
Values = Sequence[float | None]


class Figure(NamedTuple):
    """A column of numbers with its half-widths, or ranks it may be off, if it has any."""

    column: OutputColumn
    halves: OutputColumn | None
    ranks: OutputColumn | None = None

    @property
    def mark(self) -> str:
        """How a released value is drawn: hollow where how far off it may be can't be."""
        return "bar" if self.ranks is None else "hollow"

    def in_ranks(self) -> str:
        """Say within how many ranks the values are right, if that is all that is known."""
        ranks = [] if self.ranks is None else [v for v in self.ranks.values if isinstance(v, int)]
        if not ranks:
            return ""
        least, most = min(ranks), max(ranks)
        span = f"{least:,} to {most:,}" if least < most else f"{most:,}"
        return f" Hollow marks may be off by ± {span} ranks; no interval in values can be given."

    def chart(self, drawing: Drawing, name: str, description: str, labels: Sequence[str]) -> Chart:
        """Close a drawing of every row, with the released numbers beside it."""
        beside = self.halves or self.ranks
        values = _written(self.column)
        errors = ["-"] * len(values) if beside is None else _written(beside)
        head = "noise half-width" if self.ranks is None else "ranks it may be off"
        return drawing.chart(
            name,
            self.column.name,
            f"{description}; the line at 0 is shown.{self.in_ranks()}",
            ("key", self.column.name, head),
            list(zip(labels, values, errors, strict=True)),
        )


def figures_of(table: OutputTable) -> list[Figure]:
    """Find the columns of numbers that are figures of their own, not beside another one."""
    named = {column.name: column for column in table.columns}
    figures = []
    for column in table.columns:
        if column.kind not in {"integer", "number"} or is_beside(column.name, named):
            continue
        halves = named.get(f"{column.name}_noise_moe")
        if halves is not None and all(half is None for half in halves.values):
            halves = None
        ranks = named.get(f"{column.name}_rank_moe") if halves is None else None
        figures.append(Figure(column, halves, ranks))
    return figures


def is_beside(name: str, named: dict[str, OutputColumn]) -> bool:
    """Whether a column says something of another one: its half-width, ranks, flag or count."""
    for ending in ("_noise_moe", "_rank_moe", "_flag", "_low", "_high", "_count", "_mean"):
        if name.endswith(ending) and name.removesuffix(ending) in named:
            return True
    return name.endswith(("_noise_moe", "_rank_moe", "_flag"))


def label_of(table: OutputTable, row: int) -> str:
    """Name a row by its keys."""
    keys = [column.values[row] for column in table.columns if column.kind == "key"]
    if not keys:
        return "all"
    return " · ".join("(none)" if key is None else isolated(str(key)) for key in keys)


def figure_chart(table: OutputTable, figure: Figure, name: str, level: float) -> Chart | None:
    """Draw a figure of a table; None where there is nothing to draw."""
    values, title = _floats(figure.column), figure.column.name
    if all(value is None for value in values):
        return None
    halves: Values = [None] * len(values) if figure.halves is None else _floats(figure.halves)
    if len(values) > UPRIGHT:
        return _bands(table, figure, name, values, halves)
    labels = [label_of(table, row) for row in range(table.rows)]
    intervals = [
        (value - half, value + half) if value is not None and half else None
        for value, half in zip(values, halves, strict=True)
    ]
    if len(values) <= MOST_LINES:
        rows = zip((cut(label, 21) for label in labels), values, intervals, strict=True)
        drawing = estimates_across([Estimate(*row) for row in rows], figure.mark)
        said = f", each with its {level:g}% noise interval" if figure.halves is not None else ""
        description = f"Released values of {title} by key, in the order of the spec{said}"
        return figure.chart(drawing, name, description, labels)
    frame = _frame(_ends(values, halves), len(values), labels, "")
    for place, (value, half) in enumerate(zip(values, halves, strict=True)):
        if value is None:
            continue
        x, y = frame.x_start + frame.width * (place + 0.5), frame.up.at(value)
        if half:
            reach = abs(frame.up.at(half) - frame.up.at(0))
            frame.drawing.box((x - 1, y - reach), (2, 2 * reach), "interval")
        frame.drawing.dot(x, y, min(2.4, frame.width / 2), figure.mark)
    said = ", each with its noise interval" if figure.halves is not None else ""
    description = f"{table.rows:,} released values of {title}, in the order of the keys{said}"
    return figure.chart(frame.drawing, name, description, labels)


def _floats(column: OutputColumn) -> Values:
    """Fixed-point figures as floats for drawing; None beyond what can be drawn."""
    unit, most = 10**column.decimals, 10 ** (column.decimals + 100)
    return [
        value / unit if isinstance(value, int) and abs(value) < most else None
        for value in column.values
    ]


def _written(column: OutputColumn) -> list[str]:
    return [
        placed(value, column.decimals) if isinstance(value, int) else "empty"
        for value in column.values
    ]


class Frame(NamedTuple):
    """A frame with the keys across, each ``width`` wide, and the figures up."""

    drawing: Drawing
    up: Scale
    x_start: float
    width: float


def _frame(ends: Sequence[float], places: int, labels: Sequence[str], note: str) -> Frame:
    x_start, x_end, top, bottom = 46.0, WIDTH - 24.0, 10.0, 190.0
    up = linear(ends, bottom, top)
    drawing = Drawing(bottom + (42 if note else 26))
    drawing.axis_up(up, x_start, x_end)
    drawing.text(x_start, bottom + 18, cut(labels[0], 26))
    drawing.text(x_end, bottom + 18, cut(labels[-1], 26), anchor="end")
    if note:
        drawing.text(x_start, bottom + 35, note)
    return Frame(drawing, up, x_start, (x_end - x_start) / places)


def _ends(values: Values, halves: Values) -> list[float]:
    return [
        value + sign * (half or 0.0)
        for value, half in zip(values, halves, strict=True)
        if value is not None
        for sign in (-1, 1)
    ]


def _bands(table: OutputTable, figure: Figure, name: str, values: Values, halves: Values) -> Chart:
    """Put neighbouring rows together: from least to greatest, the middle half, the median."""
    parts = list(pairwise(len(values) * count // BANDS for count in range(BANDS + 1)))
    wide = max((half for half in halves if half is not None), default=0.0)
    note = "line on the right: widest noise half-width" if wide else ""
    ends = [*(value for value in values if value is not None), wide]
    shown = [label_of(table, row) for row in (0, table.rows - 1)]
    drawing, up, x_start, width = _frame(ends, len(parts), shown, note)
    rows: list[tuple[str, ...]] = []
    for place, (first, last) in enumerate(parts):
        part = sorted(value for value in values[first:last] if value is not None)
        keys = f"{label_of(table, first)} to {label_of(table, last - 1)}"
        if not part:
            rows.append((keys, f"{last - first:,}", "empty", "empty", "empty"))
            continue
        least, low, middle, high, most = (
            part[round((len(part) - 1) * share)] for share in (0, 0.25, 0.5, 0.75, 1)
        )
        x = x_start + width * place
        drawing.box((x + 1, up.at(most)), (width - 2, up.at(least) - up.at(most)), "pale")
        drawing.box((x + 1, up.at(high)), (width - 2, up.at(low) - up.at(high)), "interval")
        drawing.box((x + 0.5, up.at(middle) - 1), (width - 1, 2), figure.mark)
        digits = (written(float(f"{value:.6g}")) for value in (least, middle, most))
        rows.append((keys, f"{last - first:,}", *digits))
    if wide:
        x = WIDTH - 12.0
        drawing.line((x, up.at(0)), (x, up.at(wide)), "stroke-2")
    title = figure.column.name
    description = (
        f"{len(values):,} released values of {title} in the order of the keys, put together in "
        f"{len(parts)} runs of neighbouring keys: light from the least to the greatest, dark the "
        "middle half, a bar at the median of the released values; the line at 0 is shown."
        f"{figure.in_ranks()}"
    )
    return drawing.chart(
        name, title, description, ("keys", "rows", "least", "median", "greatest"), rows
    )
