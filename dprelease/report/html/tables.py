"""Released tables for people: the beginning of each, figures with their noise, and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dprelease.model import OutputColumn, OutputTable
from dprelease.report.charts.drawing import Chart
from dprelease.report.charts.figures import figure_chart, figures_of
from dprelease.report.preview import shown_rows

ROWS_SHOWN = 24
MOST_CHARTS = 24
_ENDINGS = ("_noise_moe", "_rank_moe", "_flag")


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, what the noise does to it, and whether it is flagged."""

    figure: str
    noise: str = ""
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """The beginning of a table: ``keys`` columns of names, then figures."""

    file: str
    head: tuple[tuple[str, str, bool], ...]  # name, description, whether numbers
    keys: int
    rows: tuple[tuple[Cell, ...], ...]
    more: int  # rows that only the file has
    charts: tuple[Chart, ...]


def shown_tables(tables: Mapping[str, OutputTable], level: float) -> tuple[list[Shown], int]:
    """Lay out every table; the second result is how many figures have no chart for want of room."""
    found, drawn, left_out = [], 0, 0
    for number, (file, table) in enumerate(tables.items(), 1):
        charts = []
        for place, figure in enumerate(figures_of(table) if table.rows > 1 else [], 1):
            if drawn >= MOST_CHARTS:
                left_out += 1
                continue
            chart = figure_chart(table, figure, f"chart-{number}-{place}", level)
            if chart is not None:
                charts.append(chart)
                drawn += 1
        found.append(_shown(file, table, tuple(charts)))
    return found, left_out


def _shown(file: str, table: OutputTable, charts: tuple[Chart, ...]) -> Shown:
    columns = table.columns
    main, beside = _places(columns)
    rows = [
        tuple(_cell(row, place, beside.get(place, {}), columns[place]) for place in main)
        for row in shown_rows(columns, ROWS_SHOWN)
    ]
    head = tuple(
        (columns[place].name, columns[place].description, columns[place].kind in _NUMBERS)
        for place in main
    )
    keys = sum(columns[place].kind == "key" for place in main)
    return Shown(file, head, keys, tuple(rows), max(0, table.rows - ROWS_SHOWN), charts)


def _places(columns: Sequence[OutputColumn]) -> tuple[list[int], dict[int, dict[str, int]]]:
    """Find the columns that get one of their own, and of each those that stand beside it."""
    named = {column.name: place for place, column in enumerate(columns)}
    main: list[int] = []
    beside: dict[int, dict[str, int]] = {}
    for place, column in enumerate(columns):
        ending = next((each for each in _ENDINGS if column.name.endswith(each)), None)
        owner = named.get(column.name.removesuffix(ending)) if ending else None
        if ending is None or owner is None or column.kind == "key":
            main.append(place)
        else:
            beside.setdefault(owner, {})[ending] = place
    return main, beside


def _cell(
    row: Sequence[object], place: int, beside: Mapping[str, int], column: OutputColumn
) -> Cell:
    said = row[place]
    figure = _grouped(said) if column.kind in _NUMBERS else said
    half = _grouped(row[beside["_noise_moe"]]) if "_noise_moe" in beside else None
    ranks = _grouped(row[beside["_rank_moe"]]) if "_rank_moe" in beside else None
    flag = row[beside["_flag"]] if "_flag" in beside else None
    noise = ""
    if half is not None and said is not None:
        noise = f"± {half}"
        if column.kind == "text":
            noise = f"score up to {half} short of the best one's"
    elif ranks is not None:
        noise = f"± {ranks} ranks"
    return Cell(
        "-" if figure is None else str(figure),
        noise,
        "" if flag in (None, "ok") else str(flag).replace("_", " "),
    )


_NUMBERS = frozenset({"integer", "number"})


def _grouped(said: object) -> str | None:
    """Separate the thousands of a plain number."""
    if said is None:
        return None
    whole, point, rest = str(said).partition(".")
    sign = "\u2212" if whole.startswith("-") else ""
    return f"{sign}{int(whole.removeprefix('-')):,}{point}{rest}"
