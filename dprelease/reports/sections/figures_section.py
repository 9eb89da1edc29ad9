"""The published figures: the beginning of each table, with its noise, and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from urllib.parse import quote

from dprelease.language import number_text, say, say_count, word
from dprelease.model import OutputColumn, OutputTable
from dprelease.model.outputs import (
    BOUNDED,
    SUPPRESSED,
    UNRELIABLE,
    is_weak,
    place_columns,
    split_flag,
)
from dprelease.model.queries import name_column
from dprelease.postprocess.intervals.number_text import (
    Rounding,
    choose_decimals,
    join_few_names,
    join_names,
    write_rounded,
)
from dprelease.reports.charts.figure_charts import (
    ORDERED,
    choose_form,
    draw_figure_chart,
    find_figures,
    list_unranked_quantiles,
)
from dprelease.reports.charts.svg import Chart, HeatTable
from dprelease.reports.model.report_model import Column, Query
from dprelease.reports.sections.definitions_part import build_definitions
from dprelease.reports.sections.document import (
    Details,
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
    Tile,
)
from dprelease.reports.text.shown_names import get_column_title, title_with_unit, write_key

ROWS_SHOWN = 24
ROWS_BESIDE_CHARTS = 8
"""A table of more rows is folded up where charts show its figures."""
COLUMNS_BESIDE_CHARTS = 4
ROWS_TURNED, COLUMNS_TURNED = 2, 4
"""A table of so few rows is turned if it has more figures: each has a row then."""
MOST_NAMED = 3
MOST_CHARTS = 24
_PACKAGE = "datapackage.json"
_NUMBERS = frozenset({"integer", "number"})


def build_figures_section(
    tables: Mapping[str, OutputTable],
    level: float,
    title: str,
    columns: Sequence[Column],
    queries: Sequence[Query] = (),
) -> Section:
    """Lay out every published table, by file name; ``title`` is the release's.

    ``columns`` are those of the spec: they tell which keys have an order. ``queries`` define the
    figures, and tell which of them scale what a unit adds, instead of limiting its rows.
    """
    clipped = {name_column(query.name) for query in queries if query.clipping}
    parts: list[Part] = [Paragraph(say("figures.note", level=f"{level:g}"))]
    orders = {
        column.name: frozenset(
            str(label) for label in (column.other, column.nulls) if label is not None
        )
        for column in columns
        if column.type in ORDERED
    }
    chart_count, undrawn, has_pale = 0, 0, False
    for number, (file, table) in enumerate(tables.items(), 1):
        figures = find_figures(table)
        form = choose_form(table, orders) if table.rows > 1 else None
        charts: list[Chart | HeatTable] = []
        for place, figure in enumerate(figures if form else [], 1):
            if form is None or chart_count >= MOST_CHARTS:
                undrawn += 1
                continue
            chart = draw_figure_chart(
                table,
                figure,
                form,
                orders,
                (f"chart-{number}-{place}", file),
                level,
                partial(list_shown_texts, table),
                table.rows > ROWS_SHOWN,
            )
            if chart is not None:
                charts.append(chart)
                chart_count += 1
        figure_table = _build_figure_table(file, table, number)
        has_pale = has_pale or any(cell.pale for row in figure_table.rows for cell in row)
        parts += [
            Heading(
                _write_table_title(table) if table.title == title else table.title,
                Link(file, quote(file)),
                f"table-{number}",
            ),
            *_lay_out(figure_table, file, table, charts, clipped),
        ]
        if form is None and table.rows > 1 and figures:
            parts.append(
                Paragraph(
                    say("figures.no_chart", file=file, rows=table.rows),
                    "small",
                )
            )
    if has_pale:
        parts.insert(1, Paragraph(say("figures.pale"), "looks"))
    if undrawn:
        text = say_count(undrawn, "figures.more_without_chart")
        parts.append(Paragraph(text, "small"))
    definitions = build_definitions(queries)
    parts += [] if definitions is None else [definitions]
    parts += _iter_worse(tables)
    parts.append(Paragraph(say("figures.files.metadata"), "small", Link(_PACKAGE, _PACKAGE)))
    return Section("tables", say("figures.title"), say("figures.short_title"), tuple(parts))


def iter_totals(tables: Mapping[str, OutputTable]) -> Iterator[Tile]:
    """Iterate over the figures of tables without groups, as the page shows them.

    Of each query the first figure that is not empty; the others stand in its table.
    """
    for table in tables.values():
        columns = table.columns
        if table.rows != 1 or any(column.kind == "key" for column in columns):
            continue
        beside = place_columns([(column.name, column.query) for column in columns])
        (row,) = iter_first_rows(columns, 1)
        told: set[str | None] = set()
        for place in beside:
            column = columns[place]
            figure = _build_figure(row, place, beside[place], columns, 0)
            if column.kind in _NUMBERS and column.query not in told and row[place] is not None:
                told.add(column.query)
                unit = "" if column.names.unit is None else f" {column.names.unit}"
                title = get_column_title(column)
                yield Tile(f"{figure.figure}{unit}", title, noise=figure.noise)


def _write_table_title(table: OutputTable) -> str:
    """Write a title for a table that has none of its own: its figures, and what they are by."""
    beside = place_columns([(column.name, column.query) for column in table.columns])
    columns = [table.columns[place] for place in beside]
    keys = [get_column_title(column) for column in columns if column.kind == "key"]
    main = {column.query: column for column in reversed(columns) if column.query is not None}
    figures = word(join_few_names([get_column_title(column) for column in reversed(main.values())]))
    if not keys:
        return say("figures.of_all", figures=figures)
    title = say("figures.by_keys", figures=figures, keys=word(join_names(keys)))
    # A figure may be called "Visits by age" already.
    by_keys = title.removeprefix(figures).casefold()
    return figures if figures.casefold().endswith(by_keys) else title


def _iter_worse(tables: Mapping[str, OutputTable]) -> Iterator[Part]:
    """Say which groups get the worse figures, by the flags of published figures."""
    cells: dict[tuple[str, str], list[int]] = {}
    for table in tables.values():
        judged = [
            column.values
            for column in table.columns
            if column.aspect == "_flag" and UNRELIABLE in word(column.description)
        ]
        for key in (column for column in table.columns if column.kind == "key"):
            if judged and len(set(key.values)) > 1:
                pairs = (zip(key.values, flags, strict=True) for flags in judged)
                weak = Counter(value for value, flag in chain(*pairs) if is_weak(flag))
                for value, often in Counter(key.values).items():
                    totals = cells.setdefault((title_with_unit(key), write_key(key, value)), [0, 0])
                    totals[:] = totals[0] + weak[value], totals[1] + often * len(judged)
    ordered = sorted(cells.items(), key=lambda group: -group[1][0] / group[1][1])
    ordered = [group for group in ordered if group[1][0]]
    if not ordered:
        return
    rows = tuple(
        (
            *group,
            say("figures.weak.of_judged", weak=weak, judged=judged),
            say("words.percent", share=f"{100 * weak / judged:.0f}"),
        )
        for group, (weak, judged) in ordered[:ROWS_SHOWN]
    )
    caption = say("figures.weak.caption", shown=len(rows), groups=len(ordered))
    head = (
        say("words.column"),
        say("figures.weak.group"),
        say("figures.weak.low_or_hidden"),
        say("words.share"),
    )
    worst = [(f"{group} ({column})", share) for column, group, share, _ in rows[:MOST_NAMED]]
    named = "; ".join(say("words.labelled", label=name, text=share) for name, share in worst)
    title = say("words.labelled", label=say("figures.weak.title"), text=named)
    yield Details(title, (Table("worse", caption, head, rows),))


def _lay_out(
    figure_table: FigureTable,
    file: str,
    table: OutputTable,
    charts: Sequence[Chart | HeatTable],
    clipped: Collection[str],
) -> Iterator[Part]:
    notes = [Paragraph(text) for text in _iter_once(table)]
    if not table.rows:
        notes.append(Paragraph(say("figures.no_keys")))
    # figures that the limits on a unit's rows can cut, or that lack what scaling takes off
    flagged = [
        column
        for column in table.columns
        if column.aspect == "_flag" and any(BOUNDED in split_flag(flag) for flag in column.values)
    ]
    for words, scales in (("figures.bounded", False), ("figures.clipped", True)):
        names = [c.figure for c in flagged if (c.figure in clipped) is scales]
        if names:
            notes.append(Paragraph(say(words, names=join_few_names(names)), "small"))
    # Charts show what a long table holds; its rows are behind them.
    folded = bool(charts) and table.rows > ROWS_BESIDE_CHARTS
    narrow_charts = tuple(chart for chart in charts if _is_narrow(chart))
    if not folded:
        rows = Group("", (figure_table, *notes))
        if len(figure_table.head) <= COLUMNS_BESIDE_CHARTS:
            yield Group("pair", (rows, *narrow_charts))
            narrow_charts = ()
        else:
            yield rows
    if narrow_charts:
        yield Group("charts", narrow_charts)
    yield from (chart for chart in charts if not _is_narrow(chart))
    if folded:
        yield Details(say("figures.rows_of", file=file), (figure_table, *notes))


def _is_narrow(chart: Chart | HeatTable) -> bool:
    """Check for a chart of one drawing, which needs only a part of the width."""
    return isinstance(chart, Chart) and chart.svg.count("<svg") == 1


def list_shown_texts(table: OutputTable, column: OutputColumn) -> list[tuple[str, int]]:
    """Give all figures of a column as the page shows them, each with its number of pale letters."""
    columns = table.columns
    places = place_columns([(other.name, other.query) for other in columns])
    names = [other.name for other in columns]
    beside = places.get(names.index(column.name), {}) if column.kind in _NUMBERS else {}
    decimals = _choose_decimals(column, _find_half_widths(columns), table.rows)
    return [
        (
            _group_thousands(value) or "-",
            _count_pale(value, _find_halfwidth(column, beside, columns, row)),
        )
        for row, value in enumerate(_write_texts(column, decimals, table.rows))
    ]


def _find_halfwidth(
    column: OutputColumn, beside: Mapping[str, int], columns: Sequence[OutputColumn], row: int
) -> Fraction | None:
    """Find how far the noise interval of a figure reaches, on its longer side; None if unknown."""
    value = column.values[row]
    ends = [ending for ending in ("_low", "_high") if ending in beside] or ["_noise_moe"]
    reaches = []
    for end in (columns[beside[ending]] for ending in ends if ending in beside):
        reach = end.values[row]
        if isinstance(value, int) and isinstance(reach, int):
            centre = Fraction(value, 10**column.decimals) if end.aspect != "_noise_moe" else 0
            reaches.append(abs(Fraction(reach, 10**end.decimals) - centre))
    return max(reaches, default=None)


_SEPARATORS = ",. \u202f\u00a0"


def _count_pale(value: object, half: Fraction | None) -> int:
    """Count the last letters of a shown figure whose digits are worth no more than the noise.

    A digit is pale if a unit of its place is at most the half-width: noise within its interval can
    turn it into any other. Letters are those of ``_group_thousands``.
    """
    shown = None if half is None else _group_thousands(value)
    if half is None or shown is None:
        return 0
    worth = Fraction(1, 10 ** len(str(value).partition(".")[2]))
    pale = 0
    for letter in reversed(shown):
        if letter.isdigit():
            if worth > half:
                break
            worth *= 10
        pale += letter.isdigit() or pale > 0
    # A separator before pale digits stays with the firm ones.
    return len(shown[len(shown) - pale :].lstrip(_SEPARATORS))


def _build_figure_table(file: str, table: OutputTable, number: int) -> FigureTable:
    columns = table.columns
    beside = place_columns([(column.name, column.query) for column in columns])
    once = {column.name for column in _list_once(table)}
    # The bin beside an edge says it in words.
    main = [
        place
        for place in beside
        if columns[place].kind != "edge" and columns[place].name not in once
    ]
    caption = ""
    if table.rows > ROWS_SHOWN:
        caption = say("figures.first_rows", shown=ROWS_SHOWN, rows=table.rows, file=file)
    figure_columns = [
        [
            _build_figure(row, place, beside[place], columns, at)
            for at, row in enumerate(iter_first_rows(columns, ROWS_SHOWN))
        ]
        for place in main
    ]
    head = []
    for place, figures in zip(main, figure_columns, strict=True):
        is_number = columns[place].kind in _NUMBERS
        noises = {figure.noise for figure in figures}
        remark = ""
        if not is_number and len(figures) > 1 and len(noises) == 1:
            (remark,) = noises  # of all choices alike: said once
            figures[:] = [figure._replace(noise="") for figure in figures]
        title, description = title_with_unit(columns[place]), word(columns[place].description)
        head.append(FigureColumn(title, description, is_number, remark))
    keys = sum(columns[place].kind == "key" for place in main)
    rows = tuple(zip(*figure_columns, strict=True))
    wide = FigureTable(f"table-{number}", caption, tuple(head), keys, rows)
    is_turned = len(rows) <= ROWS_TURNED and len(main) - keys > COLUMNS_TURNED
    return _turn(wide) if is_turned and table.rows else wide


def _turn(table: FigureTable) -> FigureTable:
    """Turn a table of many figures and few rows: each figure has a row."""
    names = [" · ".join(cell.figure for cell in row[: table.keys]) for row in table.rows]
    head = (
        FigureColumn(say("changes.table.figure"), "", number=False),
        *(FigureColumn(name or say("words.value"), "", number=True) for name in names),
    )
    turned = zip(*(row[table.keys :] for row in table.rows), strict=True)
    rows = (
        (Figure(column.name, number=False), *cells)
        for column, cells in zip(table.head[table.keys :], turned, strict=True)
    )
    return FigureTable(table.name, table.caption, head, 1, tuple(rows))


def _iter_once(table: OutputTable) -> Iterator[str]:
    """Say once, below the table, what all of its rows have alike."""
    columns = table.columns
    beside = place_columns([(column.name, column.query) for column in columns])
    once = _list_once(table)
    (row,) = iter_first_rows(columns, 1) if once else ((),)
    for column in once:
        place = columns.index(column)
        figure = _build_figure(row, place, beside[place], columns, 0)
        text = f"{figure.figure} {figure.noise}".strip()
        yield say("words.labelled", label=title_with_unit(column), text=text)


def _list_once(table: OutputTable) -> list[OutputColumn]:
    """List the quantiles that are read from running counts, and so are the same in all rows."""
    if table.rows < 2:
        return []
    return [
        column
        for column, named in list_unranked_quantiles(table)
        if all(len(set(other.values)) == 1 for other in (column, *named.values()))
    ]


def _build_figure(
    row: Sequence[object],
    place: int,
    beside: Mapping[str, int],
    columns: Sequence[OutputColumn],
    at: int,
) -> Figure:
    """Build the figure of row ``at``, with what stands ``beside`` it."""
    value, column = row[place], columns[place]
    figure = _group_thousands(value) if column.kind in _NUMBERS else value
    notes = {
        ending: _group_thousands(row[other]) if columns[other].kind in _NUMBERS else row[other]
        for ending, other in beside.items()
        if ending != "_flag"
    }
    half, noise = notes.get("_noise_moe"), ""
    exact = {ending: columns[other].values[at] for ending, other in beside.items()}
    if value is not None and "_low" in notes and not _is_even(column.values[at], exact):
        noise = say("figures.interval", low=notes["_low"], high=notes["_high"])
    elif half is not None and value is not None:
        noise = f"± {half}"
        if column.kind == "text":
            noise = say("figures.score", distance=half)
    elif notes.get("_rank_moe") is not None:
        noise = say("figures.ranks", ranks=notes["_rank_moe"])
    flag = row[beside["_flag"]] if "_flag" in beside else None
    return Figure(
        "-" if figure is None else str(figure),
        noise,
        next((say(mark) for weak, mark in _MARKS.items() if weak in split_flag(flag)), ""),
        _count_pale(value, _find_halfwidth(column, beside, columns, at))
        if column.kind in _NUMBERS
        else 0,
        column.kind in _NUMBERS,
    )


_MARKS = {UNRELIABLE: "figures.flag.low_reliability", SUPPRESSED: "figures.flag.suppressed"}
"""Of flags that a figure bears by itself; ``bounded`` holds for a whole column."""


def _is_even(value: object, beside: Mapping[str, str | int | None]) -> bool:
    """Check whether an interval reaches as far below the figure as above it."""
    ends = [beside.get(ending) for ending in ("_noise_moe", "_low", "_high")]
    if not isinstance(value, int):
        return False
    half, low, high = ends
    return isinstance(half, int) and (low, high) == (value - half, value + half)


def _group_thousands(value: object) -> str | None:
    """Separate the thousands of a plain number."""
    if value is None:
        return None
    whole, point, rest = str(value).partition(".")
    sign = "\u2212" if whole.startswith("-") else ""
    return number_text(f"{sign}{int(whole.removeprefix('-')):,}{point}{rest}")


def iter_first_rows(columns: Sequence[OutputColumn], limit: int) -> Iterator[tuple[object, ...]]:
    """Give the first rows, figures as texts, rounded to what the noise leaves of them."""
    half_widths = _find_half_widths(columns)  # once: a table may have thousands of columns
    texts = [
        _write_texts(column, _choose_decimals(column, half_widths, limit), limit)
        for column in columns
    ]
    yield from zip(*texts, strict=True)


def _write_texts(column: OutputColumn, places: int, limit: int) -> list[object]:
    if column.kind not in _NUMBERS:
        values = column.values[:limit]
        return [None if value is None else write_key(column, value) for value in values]
    # a half-width is rounded up, an interval outward: they must not look smaller than they are
    rounding = _OUTWARD.get(column.aspect, Rounding.NEAREST)
    return [
        write_rounded(value, column.decimals, places, rounding) if isinstance(value, int) else value
        for value in column.values[:limit]
    ]


_OUTWARD = {
    "_noise_moe": Rounding.UP,
    "_rank_moe": Rounding.UP,
    "_low": Rounding.DOWN,
    "_high": Rounding.UP,
}


def _find_half_widths(columns: Sequence[OutputColumn]) -> dict[str, OutputColumn]:
    """Find the half-widths of figures by the names of these."""
    return {half.figure: half for half in columns if half.aspect == "_noise_moe"}


def _choose_decimals(
    column: OutputColumn, half_widths: Mapping[str, OutputColumn], limit: int
) -> int:
    """Choose decimals worth showing beside the noise of a figure, by the half-widths shown."""
    if column.aspect == "_rank_moe" and column.decimals:  # of weight
        return choose_decimals(column.values[:limit], column.decimals)
    if column.names.decimals is not None and not column.suffix.endswith("_count"):
        return min(column.decimals, column.names.decimals)
    own = half_widths.get(column.figure)
    return column.decimals if own is None else choose_decimals(own.values[:limit], column.decimals)
