"""Estimates as text: each with the ends of its interval, rounded outward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import floor, log10
from shutil import get_terminal_size

from dprelease.cli.views.console import make_printable
from dprelease.cli.views.text_layout import (
    format_count,
    pad_cells,
    round_up,
    rule_lines,
    shorten_text,
)
from dprelease.local.estimation.answer_intervals import Figure
from dprelease.local.estimation.estimates import Cross, Estimates, Mean, Shares
from dprelease.local.estimation.table_estimates import Stated
from dprelease.model.record_tables import RecordStep
from dprelease.reports.text.shown_numbers import to_json_number

MOST_PLACES = 9
MOST_LABELS = 200


def build_heading(facts: Stated, estimates: Estimates) -> str:
    """Write the name of the table, its records and the loss of each."""
    loss = f"epsilon {round_up(to_json_number(facts.step.loss.epsilon))}"
    if facts.step.loss.delta:
        loss += f", delta {round_up(to_json_number(facts.step.loss.delta))}"
    records = format_count(estimates.rows, "record")
    return make_printable(f"{facts.step.perturb.name}: {records}, perturbed one by one ({loss})")


def build_sections(
    estimates: Estimates, crosses: Sequence[Cross], *, only_crosses: bool = False
) -> Iterator[str]:
    """Write the tables of all estimates, or of cross tables alone."""
    level = _format_percent(estimates.interval)
    if not only_crosses:
        for shares in estimates.shares:
            yield _build_share_table(shares, estimates.rows, level)
        if estimates.means:
            yield _build_mean_table(estimates.means, estimates.rows, level)
    for cross in crosses:
        yield _cross(cross, estimates.rows, level)


def build_notes(step: RecordStep, estimates: Estimates, *, only_crosses: bool = False) -> str:
    """Write how the figures are to be understood."""
    level = _format_percent(estimates.interval)
    sentences = [
        f"{level} interval: noise only, for the records of this table",
        "shares below 0 or above 100% are due to noise; cutting them off would bias sums",
    ]
    columns = [response.column for response in step.responses]
    groups = [column.group for column in columns if column.group is not None]
    if any(group.other is None or group.null_label is None for group in groups):
        sentences += [
            "a record without a label was given a random one, each equally likely",
            "the intervals are for the labels after that step",
        ]
    if only_crosses:
        return "\n".join(sentences)
    if estimates.means:
        sentences.append("means are of values clamped to the declared bounds")
    for column in columns:
        quantity = column.quantity
        if quantity is not None and quantity.null_fill is not None:
            fill = _format_plain(quantity.null_fill * quantity.grid.step)
            sentences.append(f"a record without {make_printable(column.name)} counts as {fill}")
    return "\n".join(sentences)


def _build_share_table(shares: Shares, rows: int, level: str) -> str:
    cells = [
        (_label(label), *_format_counts(figure, rows))
        for label, figure in zip(shares.labels, shares.figures, strict=True)
    ]
    return _build_table([make_printable(shares.column), *_list_headings(level)], cells, 1)


def _build_mean_table(means: Sequence[Mean], rows: int, level: str) -> str:
    cells = []
    for mean in means:
        total = mean.figure.scale(rows)
        cells.append(
            (make_printable(mean.column), *_format_estimate(mean.figure), *_format_estimate(total))
        )
    heads = ["column", "mean", f"{level} interval", "sum", f"{level} interval"]
    return _build_table(heads, cells, 1)


def _cross(cross: Cross, rows: int, level: str) -> str:
    cells = [
        (_label(row_label), _label(column_label), *_format_counts(figure, rows))
        for row_label, row in zip(cross.labels[0], cross.figures, strict=True)
        for column_label, figure in zip(cross.labels[1], row, strict=True)
    ]
    return _build_table([*map(make_printable, cross.columns), *_list_headings(level)], cells, 2)


def _list_headings(level: str) -> list[str]:
    return ["share", f"{level} interval", "number", f"{level} interval"]


def _format_counts(figure: Figure, rows: int) -> tuple[str, ...]:
    value, interval = _format_estimate(figure.scale(100), "%")
    return value, interval, *_format_estimate(figure.scale(rows))


def _format_estimate(figure: Figure, unit: str = "") -> tuple[str, str]:
    """Format an estimate and its interval, with two digits of the half-width."""
    half = (figure.upper - figure.lower) / 2
    places = min(max(1 - floor(log10(half)), 0), MOST_PLACES) if half > 0 else MOST_PLACES
    value = Decimal(figure.value.numerator) / Decimal(figure.value.denominator)
    ends = (Decimal(figure.lower), ROUND_FLOOR), (Decimal(figure.upper), ROUND_CEILING)
    low, high = (f"{_round(end, places, way)}{unit}" for end, way in ends)
    return f"{_round(value, places, ROUND_HALF_EVEN)}{unit}", f"{low} to {high}"


def _round(value: Decimal, places: int, rounding: str) -> str:
    from decimal import localcontext

    with localcontext(prec=400):
        rounded = value.quantize(Decimal(1).scaleb(-places), rounding)
    return f"{abs(rounded) if rounded == 0 else rounded:,f}"


def _build_table(heads: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> str:
    width = max(8, (max(60, get_terminal_size((80, 24)).columns) - 50) // keys)
    columns = [
        pad_cells(
            [shorten_text(cell, width) for cell in cells] if place < keys else cells,
            number=place >= keys,
        )
        for place, cells in enumerate(zip(heads, *rows[:MOST_LABELS], strict=True))
    ]
    lines = [*rule_lines(columns)]
    if len(rows) > MOST_LABELS:
        lines.append(f"... and {len(rows) - MOST_LABELS:,} more; use --json for all")
    return "\n".join(lines)


def _format_percent(share: Fraction) -> str:
    return f"{float(share * 100):.12g}%"


def _format_plain(value: Fraction) -> str:
    return f"{float(value):,.12g}"


def _label(text: str) -> str:
    return make_printable(text) or '""'
