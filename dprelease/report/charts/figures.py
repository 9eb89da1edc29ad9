"""Released values with their noise intervals, in the order of the keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dprelease.model import OutputColumn, OutputTable
from dprelease.postprocess.fixed_point import placed
from dprelease.report.charts.drawing import WIDTH, Chart, Drawing, cut, isolated
from dprelease.report.charts.scales import Scale, fraction_of, linear, ticks_of
from dprelease.report.numbers import written

EACH = 40
"""Up to so many rows each gets a line of its own, with its label."""
UPRIGHT = 120
"""Up to so many rows each is drawn, side by side; more are put together in bands."""
BANDS = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of numbers with its half-widths, or ranks it may be off, if it has any."""

    column: OutputColumn
    halves: OutputColumn | None
    ranks: OutputColumn | None = None

    @property
    def beside(self) -> OutputColumn | None:
        """The column that says how far off it may be."""
        return self.halves or self.ranks

    @property
    def mark(self) -> str:
        """How a released value is drawn: hollow where how far off it may be can't be."""
        return "bar" if self.ranks is None else "hollow"

    @property
    def head(self) -> tuple[str, str, str]:
        """Name the columns of its numbers."""
        beside = "noise half-width" if self.ranks is None else "ranks it may be off"
        return "key", self.column.name, beside

    def in_ranks(self) -> str:
        """Say within how many ranks the values are right, if that is all that is known."""
        known = [] if self.ranks is None else [v for v in self.ranks.values if isinstance(v, int)]
        if not known:
            return ""
        least, most = min(known), max(known)
        span = f"{least:,} to {most:,}" if least < most else f"{most:,}"
        return f" Hollow marks may be off by ± {span} ranks; no interval in values can be given."


def figures_of(table: OutputTable) -> list[Figure]:
    """Find the columns of numbers that are figures of their own, not beside another one."""
    named = {column.name: column for column in table.columns}
    found = []
    for column in table.columns:
        if column.kind not in {"integer", "number"} or is_beside(column.name, named):
            continue
        halves = named.get(f"{column.name}_noise_moe")
        if halves is not None and all(half is None for half in halves.values):
            halves = None
        ranks = named.get(f"{column.name}_rank_moe") if halves is None else None
        found.append(Figure(column, halves, ranks))
    return found


def is_beside(name: str, named: dict[str, OutputColumn]) -> bool:
    """Whether a column says something of another one: its half-width, ranks, flag or count."""
    for ending in ("_noise_moe", "_rank_moe", "_flag", "_count", "_mean"):
        if name.endswith(ending) and name.removesuffix(ending) in named:
            return True
    return name.endswith(("_noise_moe", "_rank_moe", "_flag"))


def labels_of(table: OutputTable) -> list[str]:
    """Name each row by its keys."""
    keys = [column.values for column in table.columns if column.kind == "key"]
    if not keys:
        return ["all"] * table.rows
    return [" · ".join("(none)" if key is None else isolated(str(key)) for key in row)
            for row in zip(*keys, strict=True)]  # fmt: skip


def figure_chart(table: OutputTable, figure: Figure, name: str, level: float) -> Chart | None:
    """Draw a figure of a table; None where there is nothing to draw."""
    values = [_float(value, figure.column) for value in figure.column.values]
    if all(value is None for value in values):
        return None
    halves: list[float | None] = [None] * len(values)
    if figure.halves is not None:
        halves = [_float(half, figure.halves) for half in figure.halves.values]
    if len(values) <= EACH:
        return _each(table, figure, name, level, values, halves)
    draw = _upright if len(values) <= UPRIGHT else _bands
    return draw(table, figure, name, values, halves)


def _float(value: str | int | None, column: OutputColumn) -> float | None:
    return fraction_of(value, column.decimals) if isinstance(value, int) else None


def _said(value: str | int | None, column: OutputColumn) -> str:
    return placed(value, column.decimals) if isinstance(value, int) else "empty"


def _each(  # noqa: PLR0913, PLR0917 - a figure in all its forms
    table: OutputTable,
    figure: Figure,
    name: str,
    level: float,
    values: Sequence[float | None],
    halves: Sequence[float | None],
) -> Chart:
    labels = labels_of(table)
    left, right, top, row = 124.0, WIDTH - 20.0, 8.0, 16.0
    across, counts = linear(_ends(values, halves), left, right, 4)
    bottom = top + row * len(values)
    drawing = Drawing(bottom + 22)
    for value, label in ticks_of(across, counts):
        style = "zero" if value == 0 else "grid"
        drawing.line((across.at(value), top), (across.at(value), bottom + 3), style)
        drawing.text(across.at(value), bottom + 16, label, "t s", "middle")
    for place, (figure_at, half) in enumerate(zip(values, halves, strict=True)):
        y = top + row * (place + 0.5)
        drawing.text(0, y + 4, cut(labels[place], 21), "t s")
        if figure_at is None:
            drawing.text(left + 4, y + 4, "empty", "t s")
            continue
        if half:
            low, high = across.at(figure_at - half), across.at(figure_at + half)
            drawing.box((low, y - 2.5), (max(high - low, 1.0), 5), "interval")
        drawing.dot(across.at(figure_at), y, 3, figure.mark)
    title = figure.column.name
    interval = f", each with its {level:g}% noise interval" if figure.halves is not None else ""
    description = (
        f"Released values of {title} by key, in the order of the spec{interval}; the line at 0 is "
        f"shown.{figure.in_ranks()}"
    )
    cells = zip(labels, _written(figure), strict=True)
    rows = tuple((label, *said) for label, said in cells)
    svg = drawing.finish(name, title, description)
    return Chart(name, title, description, svg, figure.head, rows)


def _written(figure: Figure) -> Iterator[tuple[str, str]]:
    beside = figure.beside
    for place, value in enumerate(figure.column.values):
        half = "-" if beside is None else _said(beside.values[place], beside)
        yield _said(value, figure.column), half


@dataclass(slots=True)
class Upright:
    """A frame with the keys across and the figures up."""

    drawing: Drawing
    up: Scale
    left: float
    width: float  # of one place

    def middle(self, place: int) -> float:
        """Find the middle of a place."""
        return self.left + self.width * (place + 0.5)


def _frame(ends: list[float], places: int, labels: Sequence[str], note: str) -> Upright:
    left, right, top, bottom = 46.0, WIDTH - 24.0, 10.0, 190.0
    up, counts = linear(ends, bottom, top)
    drawing = Drawing(bottom + (42 if note else 26))
    for value, label in ticks_of(up, counts):
        style = "zero" if value == 0 else "grid"
        drawing.line((left, up.at(value)), (right, up.at(value)), style)
        drawing.text(left - 6, up.at(value) + 4, label, "t s", "end")
    drawing.text(left, bottom + 18, cut(labels[0], 26), "t s")
    drawing.text(right, bottom + 18, cut(labels[-1], 26), "t s", "end")
    if note:
        drawing.text(left, bottom + 35, note, "t s")
    return Upright(drawing, up, left, (right - left) / places)


def _upright(
    table: OutputTable,
    figure: Figure,
    name: str,
    values: Sequence[float | None],
    halves: Sequence[float | None],
) -> Chart:
    """Draw each row as a point with its interval, side by side."""
    labels = labels_of(table)
    frame = _frame(_ends(values, halves), len(values), labels, "")
    for place, (value, half) in enumerate(zip(values, halves, strict=True)):
        if value is None:
            continue
        x, y = frame.middle(place), frame.up.at(value)
        if half:
            reach = abs(frame.up.at(half) - frame.up.at(0))
            frame.drawing.box((x - 1, y - reach), (2, 2 * reach), "interval")
        frame.drawing.dot(x, y, min(2.4, frame.width / 2), figure.mark)
    title = figure.column.name
    interval = ", each with its noise interval" if figure.halves is not None else ""
    description = (
        f"{table.rows:,} released values of {title}, in the order of the keys{interval}; the line "
        f"at 0 is shown.{figure.in_ranks()}"
    )
    rows = tuple((label, *said) for label, said in zip(labels, _written(figure), strict=True))
    svg = frame.drawing.finish(name, title, description)
    return Chart(name, title, description, svg, figure.head, rows)


def _ends(values: Sequence[float | None], halves: Sequence[float | None]) -> list[float]:
    return [
        value + sign * (half or 0.0)
        for value, half in zip(values, halves, strict=True)
        if value is not None
        for sign in (-1, 1)
    ]


def _bands(
    table: OutputTable,
    figure: Figure,
    name: str,
    values: Sequence[float | None],
    halves: Sequence[float | None],
) -> Chart:
    """Put neighbouring rows together: from least to greatest, the middle half, the median."""
    labels = labels_of(table)
    cuts = [len(values) * count // BANDS for count in range(BANDS + 1)]
    parts = list(pairwise(cuts))
    wide = max((half for half in halves if half is not None), default=0.0)
    note = "line on the right: widest noise half-width" if wide else ""
    known = [value for value in values if value is not None]
    frame = _frame([*known, wide], len(parts), labels, note)
    drawing, up, width = frame.drawing, frame.up, frame.width
    rows: list[tuple[str, ...]] = []
    for place, (first, last) in enumerate(parts):
        part = sorted(value for value in values[first:last] if value is not None)
        keys = f"{labels[first]} to {labels[last - 1]}"
        if not part:
            rows.append((keys, f"{last - first:,}", "empty", "empty", "empty"))
            continue
        least, low, middle, high, most = (
            part[round((len(part) - 1) * share)] for share in (0, 0.25, 0.5, 0.75, 1)
        )
        x = frame.left + width * place
        drawing.box((x + 1, up.at(most)), (width - 2, up.at(least) - up.at(most)), "pale")
        drawing.box((x + 1, up.at(high)), (width - 2, up.at(low) - up.at(high)), "interval")
        drawing.box((x + 0.5, up.at(middle) - 1), (width - 1, 2), figure.mark)
        rows.append((keys, f"{last - first:,}", *(_short(each) for each in (least, middle, most))))
    if wide:
        x = WIDTH - 12.0
        drawing.line((x, up.at(0)), (x, up.at(wide)), "stroke-2")
    title = figure.column.name
    description = (
        f"{table.rows:,} released values of {title} in the order of the keys, put together in "
        f"{len(parts)} runs of neighbouring keys: light from the least to the greatest, dark the "
        "middle half, a bar at the median of the released values; the line at 0 is shown."
        f"{figure.in_ranks()}"
    )
    svg = drawing.finish(name, title, description)
    head = ("keys", "rows", "least", "median", "greatest")
    return Chart(name, title, description, svg, head, tuple(rows))


def _short(value: float) -> str:
    return written(float(f"{value:.6g}"))
