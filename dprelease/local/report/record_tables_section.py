"""Record-level tables: how records are perturbed, what estimates tell, and how to read them.

Names of commands and columns stand between backticks in sentences about reading.

Charts show what an answer errs beside what it must, and estimates with their intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from dprelease.language import number_text, say, say_count
from dprelease.local.report.record_wording import (
    describe_answer,
    format_expected_errors,
    list_halfwidth_heads,
    list_halfwidth_rows,
)
from dprelease.model import ColumnNames, OutputColumn, OutputTable
from dprelease.reports.charts.forms import Estimate, draw_estimates_across
from dprelease.reports.charts.svg import (
    Chart,
    VegaLite,
    build_chart,
    cut,
    draw_bars,
    fit_linear_scale,
    isolate,
)
from dprelease.reports.charts.vega_lite import Layers, build_specification, name_vega_file
from dprelease.reports.model.record_model import (
    AnswerError,
    CrossCell,
    Estimates,
    Frequencies,
    LabelEstimate,
    MeanEstimate,
    Number,
    RecordColumn,
    RecordTable,
)
from dprelease.reports.model.report_model import PlanFacts
from dprelease.reports.sections.document import (
    Bullets,
    Details,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.reports.text.shown_numbers import format_number, shorten, write_percent

Row = tuple[str, ...]

ROWS_SHOWN = 100
MOST_CHARTS = 12
MOST_PLACES = 9
HEAD = (
    "words.column",
    "words.mechanism",
    "records.columns.answer",
    "records.columns.truth",
    "words.expected_error",
    "words.least_possible",
    "records.columns.classical",
    "words.epsilon",
    "words.delta",
)
TRUST = (
    "records.local_model",
    "records.trusted_run",
    "records.random_order",
    "records.later_questions",
)
"""Who need not be trusted, who must, and what the random order is not claimed for."""
FIGURES = (
    "words.share", "records.columns.interval", "records.columns.number", "records.columns.interval"
)  # fmt: skip
"""An estimate as a share with its interval, and as a number with the same."""


def build_records_section(facts: PlanFacts, level: str) -> Section:
    """Say how records were perturbed, what is estimated from them, and how to read that."""
    people = say("words.people") if facts.meaning.of == "person" else say("words.rows")
    parts: list[Part] = [Paragraph(say(sentence, people=people)) for sentence in TRUST]
    for number, table in enumerate(facts.perturb, 1):
        parts += _iter_table_parts(table, number, level)
    parts.append(Heading(say("records.reading.title")))
    parts.append(Bullets(tuple(_explain_reading(facts, level)), code=True))
    return Section("records", say("records.title"), say("records.short_title"), tuple(parts))


def _explain_reading(facts: PlanFacts, level: str) -> Iterator[str]:
    """Say what rows and estimates are, and how to make more of them; only what applies."""
    columns = [column for table in facts.perturb for column in table.columns]
    yield say("records.reading.random_answer")
    yield say("records.reading.right_on_average", level=level)
    if any(column.labels for column in columns):
        yield say("records.reading.negative")
        yield say("records.reading.without_label")
    if any(column.truth and column.truth.labels_in_answer > 1 for column in columns):
        yield say("records.reading.several_labels")
    if any(column.grid for column in columns):
        yield say("records.reading.outside_bounds")
    file = next((table.file for table in facts.perturb if table.file is not None), "TABLE")
    yield say("records.reading.estimate", file=file)


def _iter_table_parts(table: RecordTable, number: int, level: str) -> Iterator[Part]:
    """Lay out one table: how it is perturbed, what it is worth, and what it tells."""
    rows = [] if table.rows is None else [say_count(table.rows, "records.counted")]
    yield Heading(table.file or table.name)
    yield Paragraph(" ".join([*rows, *table.explained]))
    yield Table(
        f"perturbed-{number}",
        say("records.columns.title", name=table.name),
        tuple(map(say, HEAD)),
        tuple(map(_build_column_row, table.columns)),
        (3, 4, 5, 6, 7, 8),
    )
    yield Paragraph(say("records.columns.note"))
    for column in table.columns:
        yield Details(column.mechanism, tuple(map(Paragraph, column.explained)), column.name)
    head = list_halfwidth_heads(table)
    yield Table(
        f"halves-{number}",
        say("records.halfwidths", level=level),
        head,
        tuple(list_halfwidth_rows(table)),
        tuple(range(2, len(head))),
    )
    floors = draw_floor_chart(table, f"chart-floors-{number}")
    if floors is not None:
        yield floors
    if table.rows == 0:
        yield Paragraph(say("records.no_records"))
    elif table.estimates is not None:
        yield Heading(say("records.estimates.title", file=table.file))
        yield from _iter_estimate_parts(table.estimates, number, level, table.name)


def _build_column_row(column: RecordColumn) -> Row:
    """Give a row of ``HEAD``."""
    return (
        column.name,
        column.mechanism,
        describe_answer(column),
        "-" if column.truth is None else write_percent(column.truth.own),
        *format_expected_errors(column),
        _scale(column.error),
        format_number(shorten(column.epsilon)),
        format_number(shorten(column.delta)),
    )


def _scale(error: AnswerError) -> str:
    if error.classical_scale is None:
        return "-"
    own = "-" if error.scale is None else _write_roughly(error.scale)
    return f"{own} ({_write_roughly(error.classical_scale)})"


def _write_roughly(value: float) -> str:
    return format_number(float(f"{value:.5g}"))


def _iter_estimate_parts(
    estimates: Estimates, number: int, level: str, table: str
) -> Iterator[Part]:
    """Lay out means and frequencies with their charts, and cross tables folded up."""
    place = 0
    if estimates.means:
        interval = say("records.columns.interval")
        head: Row = (say("words.column"), say("words.mean"), interval, say("words.sum"), interval)
        place += 1
        rows = tuple(map(_mean, estimates.means))
        yield Group(
            "",
            tuple(
                _iter_first_rows(
                    f"estimates-{number}-{place}", say("records.estimates.means"), head, rows
                )
            ),
        )
    for count, frequencies in enumerate(estimates.frequencies):
        rows = tuple((_name_label(cell.label), *_build_row(cell)) for cell in frequencies.labels)
        title, head = (
            say("records.estimates.frequencies", column=frequencies.column),
            (frequencies.column, *map(say, FIGURES)),
        )
        place += 1
        group = Group("", tuple(_iter_first_rows(f"estimates-{number}-{place}", title, head, rows)))
        chart = None
        if count < MOST_CHARTS:
            name = f"chart-shares-{number}-{place - 1}"
            chart = draw_frequency_chart(frequencies, head, rows, (name, table), level)
        yield group if chart is None else Group("told", (group, Group("stack", (chart,))))
    for count, cross in enumerate(estimates.crosses, 1):
        title, head = (
            say("records.estimates.cross", rows=cross.columns[0], columns=cross.columns[1]),
            (*cross.columns, *map(say, FIGURES)),
        )
        rows = tuple((*map(_name_label, cell.labels), *_build_row(cell)) for cell in cross.cells)
        parts = tuple(_iter_first_rows(f"crosses-{number}-{count}", title, head, rows, keys=2))
        yield Details(say("records.estimates.cross_table", title=title), parts)


def _iter_first_rows(
    name: str, title: str, head: Row, rows: tuple[Row, ...], keys: int = 1
) -> Iterator[Part]:
    """Give the first rows, and say how many more there are; figures follow ``keys`` columns."""
    hidden_count = len(rows) - ROWS_SHOWN
    caption = (
        say("records.estimates.first", title=title, rows=ROWS_SHOWN) if hidden_count > 0 else title
    )
    yield Table(name, caption, head, rows[:ROWS_SHOWN], tuple(range(keys, len(head))))
    if hidden_count > 0:
        yield Paragraph(say("records.estimates.more", number=hidden_count), "small")


def _name_label(label: str) -> str:
    return label or say("words.empty_label")


def _mean(mean: MeanEstimate) -> Row:
    return (
        mean.column,
        *_build_figure_row((mean.mean, mean.mean_lower, mean.mean_upper)),
        *_build_figure_row((mean.sum, mean.sum_lower, mean.sum_upper)),
    )


def _build_row(cell: LabelEstimate | CrossCell) -> Row:
    shares = [100 * share for share in (cell.share, cell.share_lower, cell.share_upper)]
    numbers = (cell.number, cell.number_lower, cell.number_upper)
    return *_build_figure_row(shares, "words.percent"), *_build_figure_row(numbers)


def _build_figure_row(values: Sequence[Number], form: str = "") -> Row:
    """Build a row: a figure to two digits of its half-width, the ends rounded outward."""
    value, lower, upper = (Decimal(repr(float(end))) for end in values)
    wide = (upper - lower) / 2
    places = min(MOST_PLACES, max(0, 1 - wide.adjusted())) if wide > 0 else MOST_PLACES
    unit_of_last = Decimal(1).scaleb(-places)
    numbers = [
        number_text(
            f"{end.quantize(unit_of_last, rounding) or Decimal(0).scaleb(-places):,f}".replace(
                "-", "\u2212"
            )
        )
        for end, rounding in (
            (value, ROUND_HALF_EVEN),
            (lower, ROUND_FLOOR),
            (upper, ROUND_CEILING),
        )
    ]
    texts = [say(form, share=number) for number in numbers] if form else numbers
    return texts[0], say("records.estimates.range", low=texts[1], high=texts[2])


MOST_BARS = 12
MOST_LABELS = 40
DIGITS = 10  # after the point, of a share in percent


def draw_floor_chart(part: RecordTable, name: str) -> Chart | None:
    """Draw of each column which part of an answer's error no mechanism can avoid; None if none."""
    columns = [column for column in part.columns if column.error.expected > 0]
    if not columns:
        return None
    shares = [
        (column.name, min(1.0, float(column.error.floor) / float(column.error.expected)))
        for column in columns[:MOST_BARS]
    ]
    drawing = draw_bars(
        [
            (cut(label, 30), say("charts.unavoidable.share", share=share * 100), share)
            for label, share in shares
        ],
        "interval",
    )
    description = say("charts.unavoidable.description")
    rest = len(columns) - len(shares)
    return build_chart(
        (("", drawing),),
        name,
        say("charts.unavoidable.title", name=part.name),
        description,
        (say("words.column"), say("words.expected_error"), say("words.least_possible")),
        [(column.name, *format_expected_errors(column)) for column in columns],
        say("charts.unavoidable.more_columns", description=description, number=rest)
        if rest
        else "",
    )


def draw_frequency_chart(
    facts: Frequencies,
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    place: tuple[str, str],
    level: str,
) -> Chart | None:
    """Draw the shares of a column's labels with their intervals; None of very many labels.

    ``head`` and ``rows`` are the same figures in texts, ``place`` is the name in the page, and the
    table.
    """
    if not 1 < len(facts.labels) <= MOST_LABELS:
        return None
    estimates = [
        Estimate(
            isolate(cell.label or say("words.empty_label")),
            100 * cell.share,
            (100 * cell.share_lower, 100 * cell.share_upper),
        )
        for cell in facts.labels
    ]
    scale = fit_linear_scale(
        [end for estimate in estimates for end in estimate.list_ends()], 0, 1, 4
    )
    drawing = draw_estimates_across(estimates, scale, "words.percent")
    description = say("charts.shares.description", level=level)
    title = say("charts.shares.title", column=facts.column)
    layers = Layers(
        "dots", _tabulate(facts), "", ("share",), {"_low": "share_low", "_high": "share_high"}, (),
        ("label",), "", {}, (scale.low, scale.high),
    )  # fmt: skip
    name, table = place
    file = name_vega_file(table, facts.column, name)
    vega = VegaLite(file, build_specification(layers, title, description))
    return build_chart((("", drawing),), name, title, description, head, rows, "", vega)


def _tabulate(facts: Frequencies) -> OutputTable:
    """Give the shares in percent as a table: the published file holds records."""
    names = ColumnNames(title=facts.column, labels={"": say("words.empty_label")})
    labels = OutputColumn("label", "key", [cell.label for cell in facts.labels], "", names=names)
    unit = ColumnNames(title=say("words.share"), unit="%")
    shares = {
        "share": [cell.share for cell in facts.labels],
        "share_low": [cell.share_lower for cell in facts.labels],
        "share_high": [cell.share_upper for cell in facts.labels],
    }
    columns = [
        OutputColumn(
            name, "number", [round(Fraction(str(share)) * 10 ** (DIGITS + 2)) for share in values],
            "", DIGITS, names=unit,
        )
        for name, values in shares.items()
    ]  # fmt: skip
    return OutputTable("", (labels, *columns))
