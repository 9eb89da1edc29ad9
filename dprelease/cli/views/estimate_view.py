"""Estimates as text: each with the ends of its interval, rounded outward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import floor, log10
from shutil import get_terminal_size

from dprelease.cli.views.console import printable
from dprelease.cli.views.text_layout import counted, padded, rounded_up, ruled, shortened
from dprelease.local.estimates import Cross, Estimates, Mean, Shares
from dprelease.local.share_intervals import Figure
from dprelease.model.record_tables import RecordStep
from dprelease.reports.record_level.response_laws import Stated
from dprelease.reports.text.shown_numbers import to_json_number

MOST_PLACES = 9
MOST_LABELS = 200


def heading(facts: Stated, estimates: Estimates) -> str:
    """Which table, and what each of its cells was worth."""
    loss = f"epsilon {rounded_up(to_json_number(facts.step.loss.epsilon))}"
    if facts.step.loss.delta:
        loss += f", delta {rounded_up(to_json_number(facts.step.loss.delta))}"
    records = counted(estimates.rows, "record")
    return printable(f"{facts.step.perturb.name}: {records}, perturbed one by one ({loss})")


def sections(
    estimates: Estimates, crosses: Sequence[Cross], *, only_crosses: bool = False
) -> Iterator[str]:
    """The tables of all estimates, or of cross tables alone."""
    level = _percent(estimates.interval)
    if not only_crosses:
        for shares in estimates.shares:
            yield _shares(shares, estimates.rows, level)
        if estimates.means:
            yield _means(estimates.means, estimates.rows, level)
    for cross in crosses:
        yield _cross(cross, estimates.rows, level)


def notes(step: RecordStep, estimates: Estimates, *, only_crosses: bool = False) -> str:
    """What the figures are, and what they are not."""
    level = _percent(estimates.interval)
    said = [
        f"{level} interval: of the noise alone, for the records of this table",
        "a share below 0 or above 100% comes of the noise: cutting it off would bias sums",
    ]
    columns = [response.column for response in step.responses]
    groups = [column.group for column in columns if column.group is not None]
    if any(group.other is None or group.null_label is None for group in groups):
        said += [
            "records without a label were given one at random, each as likely",
            "an interval is for the labels so given",
        ]
    if only_crosses:
        return "\n".join(said)
    if estimates.means:
        said.append("means are of values clamped to the declared bounds")
    for column in columns:
        quantity = column.quantity
        if quantity is not None and quantity.null_fill is not None:
            fill = _plain(quantity.null_fill * quantity.grid.step)
            said.append(f"a record without {printable(column.name)} counts as {fill}")
    return "\n".join(said)


def _shares(shares: Shares, rows: int, level: str) -> str:
    cells = [
        (_label(label), *_counted(figure, rows))
        for label, figure in zip(shares.labels, shares.figures, strict=True)
    ]
    return _table([printable(shares.column), *_headings(level)], cells, 1)


def _means(means: Sequence[Mean], rows: int, level: str) -> str:
    cells = []
    for mean in means:
        total = mean.figure.scale(rows)
        cells.append((printable(mean.column), *_told(mean.figure), *_told(total)))
    heads = ["column", "mean", f"{level} interval", "sum", f"{level} interval"]
    return _table(heads, cells, 1)


def _cross(cross: Cross, rows: int, level: str) -> str:
    cells = [
        (_label(one), _label(other), *_counted(figure, rows))
        for one, row in zip(cross.labels[0], cross.figures, strict=True)
        for other, figure in zip(cross.labels[1], row, strict=True)
    ]
    return _table([*map(printable, cross.columns), *_headings(level)], cells, 2)


def _headings(level: str) -> list[str]:
    return ["share", f"{level} interval", "number", f"{level} interval"]


def _counted(figure: Figure, rows: int) -> tuple[str, ...]:
    value, interval = _told(figure.scale(100), "%")
    return value, interval, *_told(figure.scale(rows))


def _told(figure: Figure, unit: str = "") -> tuple[str, str]:
    """The estimate and its interval, with two digits of what the noise leaves open."""
    half = (figure.upper - figure.lower) / 2
    places = min(max(1 - floor(log10(half)), 0), MOST_PLACES) if half > 0 else MOST_PLACES
    value = Decimal(figure.value.numerator) / Decimal(figure.value.denominator)
    ends = (Decimal(figure.lower), ROUND_FLOOR), (Decimal(figure.upper), ROUND_CEILING)
    low, high = (f"{_rounded(end, places, way)}{unit}" for end, way in ends)
    return f"{_rounded(value, places, ROUND_HALF_EVEN)}{unit}", f"{low} to {high}"


def _rounded(value: Decimal, places: int, rounding: str) -> str:
    from decimal import localcontext

    with localcontext(prec=400):
        rounded = value.quantize(Decimal(1).scaleb(-places), rounding)
    return f"{abs(rounded) if rounded == 0 else rounded:,f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> str:
    most = max(8, (max(60, get_terminal_size((80, 24)).columns) - 50) // keys)
    columns = [
        padded(
            [shortened(cell, most) for cell in cells] if place < keys else cells,
            number=place >= keys,
        )
        for place, cells in enumerate(zip(heads, *rows[:MOST_LABELS], strict=True))
    ]
    lines = [*ruled(columns)]
    if len(rows) > MOST_LABELS:
        lines.append(f"... and {len(rows) - MOST_LABELS:,} more; --json has them all")
    return "\n".join(lines)


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.12g}%"


def _plain(value: Fraction) -> str:
    return f"{float(value):,.12g}"


def _label(text: str) -> str:
    return printable(text) or '""'
