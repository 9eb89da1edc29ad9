"""Which figures of a table are drawn, in which form, and what is said of the picture.

The form follows the keys: an ordered key makes a line with a band, two keys without order a heat
table or facets, quantiles a range plot, all else dots with intervals. Many rows without an order
have no chart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.language import number_text, say
from dprelease.model import OutputColumn, OutputTable
from dprelease.model.outputs import BESIDE, is_weak, place_columns
from dprelease.postprocess.intervals.fixed_point import write_fixed_point
from dprelease.postprocess.intervals.number_text import Rounding, choose_decimals, write_rounded
from dprelease.reports.charts.forms import (
    Band,
    Estimate,
    draw_estimates_across,
    draw_estimates_together,
    draw_line_with_band,
    heat_grid,
    place_keys,
)
from dprelease.reports.charts.svg import (
    Chart,
    Drawing,
    HeatTable,
    Scale,
    VegaLite,
    build_chart,
    fit_linear_scale,
    isolate,
    write_short,
)
from dprelease.reports.charts.vega_lite import Layers, build_specification, name_vega_file
from dprelease.reports.text.shown_names import get_column_title, title_with_unit, write_key

MOST_LINES = 40
"""Up to so many rows each gets a line of its own, with its label, in a chart or in a facet."""
MOST_POINTS = 750
"""Up to so many points are on a line: two years of days."""
MOST_FACETS, MOST_IN_FACETS = 12, 2000
MOST_CELLS = 600
MOST_TOGETHER = 3
"""Facets of up to so many rows are one picture, with a mark for each."""
MOST_ACROSS = 16
MOST_NUMBERS = 120
"""Up to so many rows the numbers stand beside a chart; of more they are in the file alone."""
ORDERED = frozenset({"integer", "float", "decimal", "date", "timestamp"})
Values = Sequence[float | None]
Orders = Mapping[str, frozenset[str]]
"""The columns whose keys have an order, each with those of its labels that stand outside it."""


class Figure(NamedTuple):
    """A column of numbers with what stands beside it; several columns are quantiles of one."""

    columns: tuple[OutputColumn, ...]
    besides: tuple[Mapping[str, OutputColumn], ...]  # by ending, of each column

    @property
    def companions(self) -> Mapping[str, OutputColumn]:
        """What stands beside the first column."""
        return self.besides[0]

    def list_beside(self, ending: str) -> list[OutputColumn]:
        """List the columns that are named as one of these with this ending."""
        return [beside[ending] for beside in self.besides if ending in beside]

    @property
    def name(self) -> str:
        """The column's name, or that of the query of several."""
        first = self.columns[0]
        return first.name if len(self.columns) == 1 else first.query or first.name

    @property
    def title(self) -> str:
        """What people read: a title with its unit, or the name."""
        first = self.columns[0]
        if len(self.columns) == 1:
            return title_with_unit(first)
        return title_with_unit(replace(first, name=self.name))

    def build_estimates(self, labels: Sequence[str]) -> list[Estimate]:
        """Give each row as it is drawn."""
        values = list(zip(*map(_convert_to_floats, self.columns), strict=True))
        flags = self.list_beside("_flag")
        hollow = [any(is_weak(flag.values[row]) for flag in flags) for row in range(len(values))]
        if len(self.columns) > 1:
            return [
                Estimate(label, None, None, flagged, tuple(v for v in row if v is not None))
                for label, row, flagged in zip(labels, values, hollow, strict=True)
            ]
        return [
            Estimate(label, value, interval, flagged)
            for label, (value,), interval, flagged in zip(
                labels,
                values,
                self._list_intervals([row[0] for row in values]),
                hollow,
                strict=True,
            )
        ]

    def _list_intervals(self, values: Values) -> list[tuple[float, float] | None]:
        low, high = self.companions.get("_low"), self.companions.get("_high")
        if low and high:
            ends = list(zip(_convert_to_floats(low), _convert_to_floats(high), strict=True))
        elif halves := self.companions.get("_noise_moe"):
            ends = [
                (None, None) if value is None or half is None else (value - half, value + half)
                for value, half in zip(values, _convert_to_floats(halves), strict=True)
            ]
        else:
            return [None] * len(values)
        return [
            (low, high) if value is not None and low is not None and high is not None else None
            for value, (low, high) in zip(values, ends, strict=True)
        ]

    def describe_ranks(self) -> str:
        """Say within how many ranks the values are right, if that is all that is known."""
        columns = self.list_beside("_rank_moe")
        values = [value for column in columns for value in column.values if isinstance(value, int)]
        decimals = columns[0].decimals if columns else 0
        places = choose_decimals(values, decimals) if decimals else 0  # weight has decimals
        ranks = [Decimal(write_rounded(value, decimals, places, Rounding.UP)) for value in values]
        if not ranks or "_noise_moe" in self.companions:
            return ""
        lowest, highest = min(ranks), max(ranks)
        if lowest < highest:
            return say("charts.figures.ranks.from_to", least=lowest, most=highest)
        return say("charts.figures.ranks.up_to", most=highest)


_BEHIND = ("_count", "_mean")
"""Figures that are published beside that of their query: the numbers behind it."""


def list_unranked_quantiles(
    table: OutputTable,
) -> list[tuple[OutputColumn, Mapping[str, OutputColumn]]]:
    """List quantiles that are read from running counts, each with what stands beside it."""
    places = place_columns([(column.name, column.query) for column in table.columns])
    return [
        (
            table.columns[place],
            {ending: table.columns[other] for ending, other in others.items()},
        )
        for place, others in places.items()
        if table.columns[place].suffix.startswith("_q") and "_rank_moe" not in others
    ]


def find_figures(table: OutputTable) -> list[Figure]:
    """Find the columns of numbers that are figures of their own, not beside another one."""
    figures: dict[str, Figure] = {}
    places = place_columns([(column.name, column.query) for column in table.columns])
    for place, others in places.items():
        column = table.columns[place]
        if column.kind not in {"integer", "number"} or column.aspect or column.suffix in _BEHIND:
            continue
        filled = {
            ending: table.columns[other]
            for ending, other in others.items()
            if any(value is not None for value in table.columns[other].values)
        }
        beside = {ending: filled[ending] for ending in BESIDE if ending in filled}
        query = column.query
        is_quantile = column.suffix.startswith("_q")
        if is_quantile and "_rank_moe" not in beside:
            continue  # read from running counts: the same in all rows
        together = query if is_quantile and query else column.name
        before = figures.get(together, Figure((), ()))
        figures[together] = Figure((*before.columns, column), (*before.besides, beside))
    return list(figures.values())


class Form(NamedTuple):
    """How a table is drawn: "dots", "line" or "heat"; its facets are rows under a title."""

    kind: str
    parts: tuple[tuple[str, tuple[int, ...]], ...]
    keys: tuple[OutputColumn, ...]  # those that name a row inside its facet


def choose_form(table: OutputTable, orders: Orders) -> Form | None:
    """Choose the form for a table by its keys; None where no form suits its rows."""
    keys = tuple(column for column in table.columns if column.kind == "key")
    if not keys or table.rows < 2:
        return None
    is_ordered = keys[-1].name in orders and not _is_code(keys[-1])
    is_line = is_ordered and len(set(keys[-1].values)) > 2
    whole = (("", tuple(range(table.rows))),)
    if len(keys) == 1:
        if is_line and table.rows <= MOST_POINTS:
            return Form("line", whole, keys)
        return Form("dots", whole, keys) if table.rows <= MOST_LINES else None
    if kind := _choose_facets(table, keys, is_line):
        rows_of: dict[str, list[int]] = {}
        for row in range(table.rows):
            rows_of.setdefault(_write_key(keys[0], row), []).append(row)
        parts = tuple((title, tuple(rows)) for title, rows in rows_of.items())
        return Form(kind, parts, keys[1:])
    sizes = [len(set(key.values)) for key in keys]
    is_small = len(keys) == 2 and min(sizes) <= MOST_ACROSS and prod(sizes) <= MOST_CELLS
    return Form("heat", whole, keys) if is_small else None


def _is_code(key: OutputColumn) -> bool:
    """Check for keys that stand for what their labels say: their numbers are no order."""
    names = key.names
    return names.bins is None and all(
        str(value) in names.labels for value in key.values if value is not None
    )


def _choose_facets(table: OutputTable, keys: Sequence[OutputColumn], is_line: bool) -> str:
    """Say what each facet of the first key holds: "line", "dots"; "" where facets don't suit."""
    rows = Counter(keys[0].values)
    longest = max(rows.values())
    if len(rows) > MOST_FACETS:
        return ""
    if is_line and len(keys) == 2 and table.rows <= MOST_IN_FACETS:
        return "line"
    suits = longest <= MOST_LINES and (len(keys) > 2 or table.rows <= MOST_LINES)
    return "dots" if suits else ""


def draw_figure_chart(  # noqa: PLR0913, PLR0917 - a figure, its table, and where it is published
    table: OutputTable,
    figure: Figure,
    form: Form,
    orders: Orders,
    place: tuple[str, str],
    level: float,
    texts: Callable[[OutputColumn], Sequence[tuple[str, int]]],
    alone: bool = True,
) -> Chart | HeatTable | None:
    """Draw a figure; None where there is nothing to draw.

    ``place`` is the name in the page and the file of the table; ``texts`` gives a column's figures
    as the page shows them, each with how many of its last letters are pale. ``alone`` tells that
    no table on the page holds all of the numbers.
    """
    name, file = place
    labels = [_label(form.keys, row) for row in range(table.rows)]
    rows = figure.build_estimates(labels)
    marks = [row for row in rows if row.list_ends()]
    if not marks:
        return None
    kind = "range" if len(figure.columns) > 1 else form.kind
    if kind == "dots" and _are_few(form, labels):
        kind = "together"
    if kind == "range" and (form.kind == "heat" or max(len(p[1]) for p in form.parts) > MOST_LINES):
        return None
    ends = [end for row in marks for end in row.list_ends()]
    scale = fit_linear_scale(ends, 0, 1, 4, zero=False)
    description = _describe_chart(
        figure, kind, form, table, scale, level, any(row.flagged for row in marks)
    )
    layers = Layers(
        "dots" if kind == "together" else kind,
        table,
        file,
        tuple(column.name for column in figure.columns),
        {ending: column.name for ending, column in figure.companions.items() if ending != "_flag"},
        tuple(flag.name for flag in figure.list_beside("_flag")),
        tuple(key.name for key in form.keys),
        next((key.name for key in table.columns if key.kind == "key" and key not in form.keys), ""),
        orders,
        (scale.low, scale.high),
    )
    content = build_specification(layers, figure.title, description)
    vega = VegaLite(name_vega_file(table.name, figure.name, name), content)
    if kind == "heat":
        told = _describe_heat_table(figure, texts, any(row.flagged for row in marks))
        value_texts = texts(figure.columns[0])
        return heat_grid((name, figure.title, told, vega), form.keys, rows, value_texts)
    parts = [(title, [rows[row] for row in part]) for title, part in form.parts]
    panels: tuple[tuple[str, Drawing], ...]
    if kind == "together":
        panels = (("", draw_estimates_together(parts, scale)),)
    else:
        panels = tuple(
            (title, _draw_panel(kind, drawn, form, part, orders, scale))
            for (title, part), (_, drawn) in zip(form.parts, parts, strict=True)
        )
    head, numbers, note = _list_numbers(table, figure, file, alone)
    return build_chart(panels, name, figure.title, description, head, numbers, note, vega)


def _are_few(form: Form, labels: Sequence[str]) -> bool:
    """Check whether each facet has the same few rows, which one picture can hold together."""
    alike = {tuple(labels[row] for row in rows) for _, rows in form.parts}
    return len(form.parts) > 1 and len(alike) == 1 and len(alike.pop()) <= MOST_TOGETHER


def _draw_panel(  # noqa: PLR0913, PLR0917 - what is drawn, and where
    kind: str,
    rows: Sequence[Estimate],
    form: Form,
    part: Sequence[int],
    orders: Orders,
    scale: Scale,
) -> Drawing:
    if kind != "line":
        return draw_estimates_across(rows, scale, is_panel=len(form.parts) > 1)
    key = form.keys[-1]
    outside = orders[key.name]
    outlying = [str(key.values[row]) in outside or key.values[row] is None for row in part]
    inside = [row for row, is_apart in zip(rows, outlying, strict=True) if not is_apart]
    outliers = [row for row, is_apart in zip(rows, outlying, strict=True) if is_apart]
    keys = [str(key.values[row]) for row, out in zip(part, outlying, strict=True) if not out]
    return draw_line_with_band(Band(inside, place_keys(keys), outliers), scale)


def _describe_chart(  # noqa: PLR0913, PLR0917 - all that a picture needs said
    figure: Figure,
    kind: str,
    form: Form,
    table: OutputTable,
    scale: Scale,
    level: float,
    flagged: bool,
) -> str:
    has_interval = any(ending in figure.companions for ending in ("_noise_moe", "_low"))
    sentences = []
    if kind == "range":
        keys_text = ", ".join(
            say(
                "words.percent",
                share=number_text(column.name.rpartition("_q")[2].replace("_", ".")),
            )
            for column in figure.columns
        )
        sentences.append(say("charts.figures.quantile_bars", quantiles=keys_text))
    elif kind == "heat":
        sentences.append(say("charts.figures.heat_map"))
    elif kind == "line" and has_interval:
        sentences.append(
            say("charts.figures.line",
                level=level)
        )  # fmt: skip
    elif has_interval:
        sentences.append(say("charts.figures.dots", level=level))
    if kind == "together":
        key = get_column_title(form.keys[-1])
        sentences.append(say("charts.figures.together", key=key))
    elif len(form.parts) > 1:
        key = next(get_column_title(column) for column in table.columns if column.kind == "key")
        sentences.append(say("charts.figures.panels", key=key))
    if flagged:
        sentences.append(say("charts.figures.hollow_marks"))
    if kind != "heat" and not scale.low <= 0 <= scale.high:
        sentences.append(say("charts.figures.axis_begins", start=write_short(scale.low)))
    sentences.append(figure.describe_ranks())
    return " ".join(filter(None, sentences))


def _describe_heat_table(
    figure: Figure, texts: Callable[[OutputColumn], Sequence[tuple[str, int]]], flagged: bool
) -> str:
    """Say the noise of all cells once, in place of a half-width in each."""
    sentences = []
    if halves := figure.companions.get("_noise_moe"):
        shown = {
            value: text
            for value, (text, _) in zip(halves.values, texts(halves), strict=True)
            if isinstance(value, int)
        }
        least, most = shown[min(shown)], shown[max(shown)]
        if least == most:
            sentences.append(say("charts.figures.heat_noise", halfwidth=most))
        else:
            sentences.append(say("charts.figures.heat_noises", least=least, most=most))
    sentences.append(say("charts.figures.heat_lines"))
    if flagged:
        sentences.append(say("charts.figures.heat_flagged"))
    return " ".join(sentences)


def _list_numbers(
    table: OutputTable, figure: Figure, file: str, alone: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """Give the numbers for readers who can't see the picture, where no table shows them all."""
    if not alone:
        return (), [], ""
    if table.rows > MOST_NUMBERS:
        return (), [], say("charts.figures.all_rows", rows=table.rows, file=file)
    keys = tuple(column for column in table.columns if column.kind == "key")
    beside = [
        column
        for ending, column in figure.companions.items()
        if ending in {"_noise_moe", "_low", "_high"}
    ]
    columns = [*figure.columns, *beside]
    labels = [_label(keys, row) for row in range(table.rows)]
    rows = list(zip(labels, *map(_write_values, columns), strict=True))
    return (say("charts.figures.columns.key"), *map(get_column_title, columns)), rows, ""


def _write_key(column: OutputColumn, row: int) -> str:
    return isolate(write_key(column, column.values[row]))


def _label(keys: Sequence[OutputColumn], row: int) -> str:
    """Name a row by its keys."""
    return " · ".join(_write_key(column, row) for column in keys)


def _convert_to_floats(column: OutputColumn) -> Values:
    """Fixed-point figures as floats for drawing; None beyond what can be drawn."""
    unit, limit = 10**column.decimals, 10 ** (column.decimals + 100)
    return [
        value / unit if isinstance(value, int) and abs(value) < limit else None
        for value in column.values
    ]


def _write_values(column: OutputColumn) -> list[str]:
    return [
        number_text(write_fixed_point(value, column.decimals))
        if isinstance(value, int)
        else say("words.empty")
        for value in column.values
    ]
