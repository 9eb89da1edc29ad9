"""Record-level tables: how records are perturbed, what estimates tell, and how to read them.

Names of commands and columns stand between backticks in sentences about reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from dprelease.language import counted, number_text, say, template
from dprelease.report.charts.record_tables import floor_chart, frequency_chart
from dprelease.report.document import (
    Bullets,
    Details,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.report.facts.model import PlanFacts
from dprelease.report.facts.record_level.columns import (
    answer_of,
    expected_and_floor,
    halfwidth_head,
    halfwidth_rows,
)
from dprelease.report.facts.record_level.model import (
    AnswerError,
    CrossCell,
    Estimates,
    LabelEstimate,
    MeanEstimate,
    Number,
    RecordColumn,
    RecordTable,
)
from dprelease.report.numbers import percent, shortened, written

Row = tuple[str, ...]

ROWS_SHOWN = 100
MOST_CHARTS = 12
MOST_PLACES = 9
HEAD = (
    template("column"),
    template("mechanism"),
    template("an answer is"),
    template("it holds the truth"),
    template("expected error"),
    template("least possible"),
    template("scale (classical)"),
    template("epsilon"),
    template("delta"),
)
TRUST = (
    template(
        "This is the local model: every record is perturbed on its own, cell by cell, before "
        "anything is counted. What a row says of its record is uncertain by the same measure "
        "whatever the other rows are, and whoever reads, keeps or analyses the table need not be "
        "trusted."
    ),
    template(
        "The true table was read by this run: whoever ran it is trusted with that. For the "
        "{people} in the table it is as if each had perturbed its own record, but only if the true "
        "table stays where it is."
    ),
    template(
        "Rows are in a random order, so that none can be found by its place. No smaller epsilon is "
        "claimed for that."
    ),
    template(
        "Whatever is computed from the table later costs nothing more: no question to it can "
        "weaken the guarantee."
    ),
)
"""Who need not be trusted, who must, and what the random order is not claimed for."""
FIGURES = (template("share"), template("interval"), template("number"))
"""An estimate as a share with its interval, and as a number with the same."""


def records_section(facts: PlanFacts, level: str) -> Section:
    """Say how records were perturbed, what is estimated from them, and how to read that."""
    people = say("people") if facts.meaning.of == "person" else say("rows")
    parts: list[Part] = [Paragraph(say(sentence, people=people)) for sentence in TRUST]
    for number, table in enumerate(facts.perturb, 1):
        parts += _table(table, number, level)
    parts.append(Heading(say("How to read records and estimates")))
    parts.append(Bullets(tuple(_how_to_read(facts, level)), code=True))
    return Section("records", say("Records, perturbed one by one"), say("Records"), tuple(parts))


def _how_to_read(facts: PlanFacts, level: str) -> Iterator[str]:
    """Say what rows and estimates are, and how to make more of them; only what applies."""
    columns = [column for table in facts.perturb for column in table.columns]
    yield say(
        "A row of a record-level table is an answer at random, not a fact about anybody. What many "
        "rows say together is known well: read estimates."
    )
    yield say(
        "Estimates are right on average, and an interval holds the figure of these records in "
        "about {level} of 100 releases. It is about the noise alone: not about other people for "
        "whom these may stand, nor about what bounds and labels do to values.",
        level=level,
    )
    if any(column.labels for column in columns):
        yield say(
            "A share or a number can be negative, or larger than the whole: that is noise around a "
            "small, or a large, figure. Leave it so before you add figures up, for what is cut off "
            "biases the sum."
        )
        yield say(
            "A record that has none of the labels counts as the one that was drawn for it, evenly: "
            "intervals are about the labels so given."
        )
    if any(column.truth and column.truth.labels_in_answer > 1 for column in columns):
        yield say(
            "An answer of several labels says of each of them a little: the true label is among "
            "them more often than any other. Never count such an answer as that many records."
        )
    if any(column.grid for column in columns):
        yield say(
            "A number in a row can lie far outside the bounds. Means and sums of many rows are "
            "right on average; a median, a maximum or a spread of the rows is that of the noise."
        )
    file = next((table.file for table in facts.perturb if table.file is not None), "TABLE")
    yield say(
        "To estimate yourself: `dprelease estimate {file}` makes frequencies, means and cross "
        "tables from the table and `report.json` beside it, nothing else; `--cross A,B` crosses "
        "any two columns with labels.",
        file=file,
    )


def _table(table: RecordTable, number: int, level: str) -> Iterator[Part]:
    """Lay out one table: how it is perturbed, what it is worth, and what it tells."""
    rows = ""
    if table.rows is not None:
        rows = counted(table.rows, "{n:,} record. ", "{n:,} records. ")
    yield Heading(table.file or table.name)
    yield Paragraph(rows + " ".join(table.explained))
    yield Table(
        f"perturbed-{number}",
        say("How each column of {name} is perturbed", name=table.name),
        tuple(map(say, HEAD)),
        tuple(map(_column, table.columns)),
        (3, 4, 5, 6, 7, 8),
    )
    yield Paragraph(
        say(
            "The expected error is that of one answer, for the true value where it is largest: the "
            "chance that it is wrong (of several labels, that one picked from them is), or how far "
            "a number is off on average. Beside it stands the least that any mechanism with the "
            "same epsilon and delta can have."
        )
    )
    for column in table.columns:
        yield Details(column.mechanism, tuple(map(Paragraph, column.explained)), column.name)
    head = halfwidth_head(table)
    yield Table(
        f"halves-{number}",
        say(
            "Half-widths of the {level}% intervals of estimates from n records, about and at most",
            level=level,
        ),
        head,
        tuple(halfwidth_rows(table)),
        tuple(range(2, len(head))),
    )
    floors = floor_chart(table, f"chart-floors-{number}")
    if floors is not None:
        yield floors
    if table.rows == 0:
        yield Paragraph(say("The table has no records: there is nothing to estimate."))
    elif table.estimates is not None:
        yield Heading(say("What {file} tells", file=table.file))
        yield from _estimates(table.estimates, number, level, table.name)


def _column(column: RecordColumn) -> Row:
    """Give a row of ``HEAD``."""
    return (
        column.name,
        column.mechanism,
        answer_of(column),
        "-" if column.truth is None else percent(column.truth.own),
        *expected_and_floor(column),
        _scale(column.error),
        written(shortened(column.epsilon)),
        written(shortened(column.delta)),
    )


def _scale(error: AnswerError) -> str:
    if error.classical_scale is None:
        return "-"
    own = "-" if error.scale is None else _rough(error.scale)
    return f"{own} ({_rough(error.classical_scale)})"


def _rough(value: float) -> str:
    return written(float(f"{value:.5g}"))


def _estimates(estimates: Estimates, number: int, level: str, table: str) -> Iterator[Part]:
    """Lay out means and frequencies with their charts, and cross tables folded up."""
    place = 0
    if estimates.means:
        interval = say("interval")
        head: Row = (say("column"), say("mean"), interval, say("sum"), interval)
        place += 1
        rows = tuple(map(_mean, estimates.means))
        yield Group("", tuple(_first(f"estimates-{number}-{place}", say("Means"), head, rows)))
    for count, frequencies in enumerate(estimates.frequencies):
        rows = tuple((_named(cell.label), *_counted(cell)) for cell in frequencies.labels)
        title, head = (
            say("Frequencies of {column}", column=frequencies.column),
            (frequencies.column, *map(say, FIGURES), say("interval")),
        )
        place += 1
        shown = Group("", tuple(_first(f"estimates-{number}-{place}", title, head, rows)))
        chart = None
        if count < MOST_CHARTS:
            name = f"chart-shares-{number}-{place - 1}"
            chart = frequency_chart(frequencies, head, rows, (name, table), level)
        yield shown if chart is None else Group("told", (shown, Group("stack", (chart,))))
    for count, cross in enumerate(estimates.crosses, 1):
        title, head = (
            say("{columns} by {columns_2}", columns=cross.columns[0], columns_2=cross.columns[1]),
            (*cross.columns, *map(say, FIGURES), say("interval")),
        )
        rows = tuple((*map(_named, cell.labels), *_counted(cell)) for cell in cross.cells)
        parts = tuple(_first(f"crosses-{number}-{count}", title, head, rows, keys=2))
        yield Details(say("Cross table: {title}", title=title), parts)


def _first(
    name: str, title: str, head: Row, rows: tuple[Row, ...], keys: int = 1
) -> Iterator[Part]:
    """Give the first rows, and say how many more there are; figures follow ``keys`` columns."""
    more = len(rows) - ROWS_SHOWN
    caption = (
        say("{title} (the first {rows_shown})", title=title, rows_shown=ROWS_SHOWN)
        if more > 0
        else title
    )
    yield Table(name, caption, head, rows[:ROWS_SHOWN], tuple(range(keys, len(head))))
    if more > 0:
        yield Paragraph(say("{more:,} more are in report.json.", more=more), "small")


def _named(label: str) -> str:
    return label or say("(empty)")


def _mean(mean: MeanEstimate) -> Row:
    return (
        mean.column,
        *_figure((mean.mean, mean.mean_lower, mean.mean_upper)),
        *_figure((mean.sum, mean.sum_lower, mean.sum_upper)),
    )


def _counted(cell: LabelEstimate | CrossCell) -> Row:
    shares = [100 * share for share in (cell.share, cell.share_lower, cell.share_upper)]
    numbers = (cell.number, cell.number_lower, cell.number_upper)
    return *_figure(shares, template("{share}%")), *_figure(numbers)


def _figure(values: Sequence[Number], form: str = "{share}") -> Row:
    """A figure and its interval, to two digits of the half-width; ends are rounded outward."""
    value, lower, upper = (Decimal(repr(float(end))) for end in values)
    wide = (upper - lower) / 2
    places = min(MOST_PLACES, max(0, 1 - wide.adjusted())) if wide > 0 else MOST_PLACES
    unit_of_last = Decimal(1).scaleb(-places)
    texts = [
        say(
            form,
            share=number_text(
                f"{end.quantize(unit_of_last, rounding) or Decimal(0).scaleb(-places):,f}".replace(
                    "-", "\u2212"
                )
            ),
        )
        for end, rounding in (
            (value, ROUND_HALF_EVEN),
            (lower, ROUND_FLOOR),
            (upper, ROUND_CEILING),
        )
    ]
    return texts[0], say("{texts} to {texts_2}", texts=texts[1], texts_2=texts[2])
