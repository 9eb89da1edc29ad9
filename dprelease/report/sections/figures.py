"""The published figures: the beginning of each table, with its noise, and charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

from dprelease.language import counted, say
from dprelease.model import OutputColumn, OutputTable
from dprelease.postprocess.fixed_point import placed
from dprelease.report.charts.figures import ORDERED, figure_chart, figures_of, form_of
from dprelease.report.charts.svg import Chart, HeatTable
from dprelease.report.document import (
    Figure,
    FigureColumn,
    FigureTable,
    Group,
    Heading,
    Link,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.report.facts.model import Column
from dprelease.report.names import key_text, title_with_unit

ROWS_SHOWN = 24
MOST_CHARTS = 24
_PACKAGE = "datapackage.json"
_ENDINGS = ("_noise_moe", "_rank_moe", "_flag")
_NUMBERS = frozenset({"integer", "number"})


def figures_section(
    tables: Mapping[str, OutputTable], level: float, title: str, columns: Sequence[Column]
) -> Section:
    """Lay out every published table, by file name; ``title`` is the release's.

    ``columns`` are those of the spec: they tell which keys have an order.
    """
    parts: list[Part] = [
        Paragraph(
            say(
                "Each figure holds noise; what stands after ± is the half-width of its "
                "{level:g}% noise interval. The files hold all rows and all digits.",
                level=level,
            )
        )
    ]
    orders = {
        column.name: frozenset(
            str(label) for label in (column.other, column.nulls) if label is not None
        )
        for column in columns
        if column.type in ORDERED
    }
    drawn, undrawn = 0, 0
    for number, (file, table) in enumerate(tables.items(), 1):
        figures = figures_of(table)
        form = form_of(table, orders) if table.rows > 1 else None
        charts: list[Chart | HeatTable] = []
        for place, figure in enumerate(figures if form else [], 1):
            if form is None or drawn >= MOST_CHARTS:
                undrawn += 1
                continue
            chart = figure_chart(
                table,
                figure,
                form,
                orders,
                (f"chart-{number}-{place}", file),
                level,
                partial(shown_texts, table),
                table.rows > ROWS_SHOWN,
            )
            if chart is not None:
                charts.append(chart)
                drawn += 1
        parts += [
            Heading(file if table.title == title else table.title),
            *_laid_out(_figure_table(file, table, number), file, table, charts),
        ]
        if form is None and table.rows > 1 and figures:
            parts.append(
                Paragraph(
                    say(
                        "There is no chart of {file}: no chart suits {rows:,} rows of such keys.",
                        file=file,
                        rows=table.rows,
                    ),
                    "small",
                )
            )
    if undrawn:
        text = counted(
            undrawn,
            "{n} more figure has no chart here.",
            "{n} more figures have no chart here.",
        )
        parts.append(Paragraph(text, "small"))
    files = [(Link(file, quote(file)), table.title) for file, table in tables.items()]
    described = (Link(_PACKAGE, _PACKAGE), say("what every file is, its columns and its hash"))
    head = (say("file"), say("what it holds"))
    parts.append(Table("files", say("Files with these figures"), head, (*files, described)))
    return Section("tables", "The figures", "Figures", tuple(parts))


def _laid_out(
    shown: FigureTable, file: str, table: OutputTable, charts: Sequence[Chart | HeatTable]
) -> Iterator[Part]:
    notes: list[Paragraph] = []
    if not table.rows:
        notes.append(Paragraph(say("No key reached the threshold, so that the table is empty.")))
    if table.rows > ROWS_SHOWN:
        more = counted(
            table.rows - ROWS_SHOWN,
            "{n:,} more row is in the file {file}.",
            "{n:,} more rows are in the file {file}.",
            file=file,
        )
        notes.append(Paragraph(more, "small"))
    with_notes = Group("", (shown, *notes))
    if len(charts) == 1 and len(shown.head) <= 3 and _is_narrow(charts[0]):
        yield Group("beside", (with_notes, charts[0]))
        return
    yield with_notes
    drawn = tuple(chart for chart in charts if _is_narrow(chart))
    if drawn:
        yield Group("charts", drawn)
    yield from (chart for chart in charts if not _is_narrow(chart))


def _is_narrow(chart: Chart | HeatTable) -> bool:
    """Whether a chart is one drawing, which needs no more than a part of the width."""
    return isinstance(chart, Chart) and chart.svg.count("<svg") == 1


def shown_texts(table: OutputTable, column: OutputColumn) -> list[str]:
    """Give all figures of a column as the page shows them."""
    decimals = _decimals(column, table.columns, table.rows)
    return [
        "-" if value is None else _grouped(value) or "-"
        for value in _texts(column, decimals, table.rows)
    ]


def _figure_table(file: str, table: OutputTable, number: int) -> FigureTable:
    columns = table.columns
    main, beside = _places(columns)
    caption = say("All rows of {file}", file=file)
    if table.rows > ROWS_SHOWN:
        caption = say(
            "The first {shown} of {rows:,} rows of {file}",
            shown=ROWS_SHOWN,
            rows=table.rows,
            file=file,
        )
    return FigureTable(
        f"table-{number}",
        caption,
        tuple(
            FigureColumn(
                title_with_unit(columns[place]),
                columns[place].description,
                columns[place].kind in _NUMBERS,
            )
            for place in main
        ),
        sum(columns[place].kind == "key" for place in main),
        tuple(
            tuple(_figure(row, place, beside.get(place, {}), columns[place]) for place in main)
            for row in first_rows(columns, ROWS_SHOWN)
        ),
    )


def _places(columns: Sequence[OutputColumn]) -> tuple[list[int], dict[int, dict[str, int]]]:
    """Find the columns that get one of their own, and of each those that stand beside it."""
    named = {column.name: place for place, column in enumerate(columns)}
    main: list[int] = []
    beside: dict[int, dict[str, int]] = {}
    for place, column in enumerate(columns):
        if column.kind == "edge":  # the bin beside it says so in words
            continue
        ending = next((ending for ending in _ENDINGS if column.name.endswith(ending)), None)
        owner = named.get(column.name.removesuffix(ending)) if ending else None
        if ending is None or owner is None or column.kind == "key":
            main.append(place)
        else:
            beside.setdefault(owner, {})[ending] = place
    return main, beside


def _figure(
    row: Sequence[object], place: int, beside: Mapping[str, int], column: OutputColumn
) -> Figure:
    value = row[place]
    figure = _grouped(value) if column.kind in _NUMBERS else value
    half = _grouped(row[beside["_noise_moe"]]) if "_noise_moe" in beside else None
    ranks = _grouped(row[beside["_rank_moe"]]) if "_rank_moe" in beside else None
    flag = row[beside["_flag"]] if "_flag" in beside else None
    noise = ""
    if half is not None and value is not None:
        noise = f"± {half}"
        if column.kind == "text":
            noise = f"score up to {half} short of the best one's"
    elif ranks is not None:
        noise = say("(within {ranks} ranks)", ranks=ranks)
    return Figure(
        "-" if figure is None else str(figure),
        noise,
        "" if flag in (None, "ok") else str(flag).replace("_", " "),
    )


def _grouped(value: object) -> str | None:
    """Separate the thousands of a plain number."""
    if value is None:
        return None
    whole, point, rest = str(value).partition(".")
    sign = "\u2212" if whole.startswith("-") else ""
    return f"{sign}{int(whole.removeprefix('-')):,}{point}{rest}"


def first_rows(columns: Sequence[OutputColumn], most: int) -> Iterator[tuple[object, ...]]:
    """Give the first rows, figures as texts, rounded to what the noise leaves of them."""
    texts = [_texts(column, _decimals(column, columns, most), most) for column in columns]
    yield from zip(*texts, strict=True)


def _texts(column: OutputColumn, decimals: int, most: int) -> list[object]:
    if column.kind not in _NUMBERS:
        shown = column.values[:most]
        return [None if value is None else key_text(column, value) for value in shown]
    unit: int = 10 ** (column.decimals - decimals)
    is_half = column.name.endswith("_noise_moe")
    return [
        # a half-width is rounded up: it must not look smaller than it is
        placed(-(-value // unit) if is_half else (2 * value + unit) // (2 * unit), decimals)
        if isinstance(value, int)
        else value
        for value in column.values[:most]
    ]


def _decimals(column: OutputColumn, columns: Sequence[OutputColumn], most: int) -> int:
    """Decimals worth showing beside the noise: two digits of the smallest half-width shown.

    The half-width is the column's own, or else that of the query's first figure.
    """
    halves = {half.name: half for half in columns if half.name.endswith("_noise_moe")}
    if column.names.decimals is not None and not column.name.endswith("_count"):
        return min(column.decimals, column.names.decimals)
    near = (column.name, f"{column.name}_noise_moe", f"{column.query or ''}_noise_moe")
    nearest = next((halves[name] for name in near if name in halves), None)
    values = nearest.values[:most] if nearest is not None else []
    smallest = min((half for half in values if isinstance(half, int) and half > 0), default=0)
    if not smallest or not column.decimals:
        return column.decimals
    return min(column.decimals, max(0, column.decimals - len(str(smallest)) + 2))
