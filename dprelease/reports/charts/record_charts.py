"""Record-level tables: what an answer errs beside what it must, and estimates with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.language import say
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
from dprelease.reports.model.record_model import Frequencies, RecordTable
from dprelease.reports.record_level.column_facts import format_expected_errors

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
