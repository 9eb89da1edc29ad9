"""Record-level tables: what an answer errs beside what it must, and estimates with intervals."""

from __future__ import annotations

from dprelease.report.charts.drawing import WIDTH, Chart, Drawing, cut, isolated
from dprelease.report.charts.scales import linear, ticks_of
from dprelease.report.facts.record_model import Frequencies, RecordColumn, RecordTable
from dprelease.report.facts.record_words import error_of

MOST_BARS = 12
MOST_LABELS = 40


def floor_chart(part: RecordTable, name: str) -> Chart | None:
    """Draw of each column which part of an answer's error no mechanism can avoid; None if none."""
    known = [column for column in part.columns if column.error.expected > 0]
    if not known:
        return None
    shown = known[:MOST_BARS]
    drawing = Drawing(34 * len(shown) + 4)
    for place, column in enumerate(shown):
        y = 34.0 * place
        share = _share(column)
        drawing.text(0, y + 14, cut(column.name, 30), "t")
        drawing.text(WIDTH, y + 14, f"{share * 100:.3g}% unavoidable", "t s", "end")
        drawing.box((0, y + 20), (WIDTH, 8), "interval")
        drawing.box((0, y + 20), (WIDTH * share, 8), "bar")
    title = f"How much of an answer's error is unavoidable: {part.name}"
    description = (
        "The whole bar is the expected error of one answer, for the true value where it is "
        "largest; the dark part is the least that any mechanism with the same epsilon and delta "
        "can have."
    )
    rest = len(known) - len(shown)
    note = f"{description} {rest} more columns are in the table of numbers." if rest else ""
    rows = tuple(
        (column.name, error_of(column, column.error.expected), error_of(column, column.error.floor))
        for column in known
    )
    svg = drawing.finish(name, title, description)
    head = ("column", "expected error", "least possible")
    return Chart(name, title, description, svg, head, rows, note)


def _share(column: RecordColumn) -> float:
    return min(1.0, float(column.error.floor) / float(column.error.expected))


def frequency_chart(
    facts: Frequencies,
    head: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...],
    name: str,
    level: str,
) -> Chart | None:
    """Draw the shares of a column's labels with their intervals; None of very many labels.

    ``head`` and ``rows`` are the same figures in texts.
    """
    labels = facts.labels
    if not 1 < len(labels) <= MOST_LABELS:
        return None
    left, right, top, row = 124.0, WIDTH - 20.0, 8.0, 16.0
    ends = [100 * end for each in labels for end in (each.share_lower, each.share_upper)]
    across, counts = linear(ends, left, right, 4)
    bottom = top + row * len(labels)
    drawing = Drawing(bottom + 22)
    for value, label in ticks_of(across, counts):
        style = "zero" if value == 0 else "grid"
        drawing.line((across.at(value), top), (across.at(value), bottom + 3), style)
        drawing.text(across.at(value), bottom + 16, f"{label}%", "t s", "middle")
    for place, each in enumerate(labels):
        y = top + row * (place + 0.5)
        drawing.text(0, y + 4, isolated(cut(each.label or "(empty)", 21)), "t s")
        low, high = across.at(100 * each.share_lower), across.at(100 * each.share_upper)
        drawing.box((low, y - 2.5), (max(high - low, 1.0), 5), "interval")
        drawing.dot(across.at(100 * each.share), y, 3, "bar")
    title = f"Estimated shares of {facts.column}"
    description = (
        f"Share of the records with each label, estimated, with its {level}% interval, in the "
        "order of the spec; the line at 0 is shown."
    )
    svg = drawing.finish(name, title, description)
    return Chart(name, title, description, svg, head, rows)
