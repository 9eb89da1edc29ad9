"""Record-level tables on the HTML page: what ``page/records.html.j2`` shows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dprelease.report.charts.drawing import Chart
from dprelease.report.charts.records import floor_chart, frequency_chart
from dprelease.report.sections.record_tables import (
    COLUMNS_HEAD,
    Estimated,
    Row,
    column_rows,
    estimated,
    halfwidth_head,
    halfwidth_rows,
    record_reading,
    trust_words,
)

Facts = Mapping[str, Any]

ROWS_SHOWN = 100
MOST_CHARTS = 12


@dataclass(frozen=True, slots=True)
class ShownEstimates:
    """A table of estimates as far as it is shown, and its chart if it has one."""

    table: Estimated
    chart: Chart | None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that are shown."""
        return self.table.rows[:ROWS_SHOWN]

    @property
    def more(self) -> int:
        """How many are not."""
        return len(self.table.rows) - len(self.rows)

    @property
    def numbers(self) -> range:
        """Which columns hold figures."""
        return range(self.table.keys, len(self.table.head))


@dataclass(frozen=True, slots=True)
class ShownRecords:
    """A record-level table: ``file`` and ``rows`` are None where nothing was drawn yet."""

    name: str
    file: str | None
    rows: int | None
    explained: tuple[str, ...]
    columns: tuple[Row, ...]
    details: tuple[tuple[str, str, tuple[str, ...]], ...]  # name, mechanism, sentences
    halves: tuple[Row, ...]
    halves_head: Row
    floors: Chart | None
    main: tuple[ShownEstimates, ...]  # means and frequencies
    crosses: tuple[ShownEstimates, ...]


@dataclass(frozen=True, slots=True)
class RecordsSection:
    """All record-level tables, with what is said of them."""

    trust: tuple[str, ...]
    reading: tuple[str, ...]
    tables: tuple[ShownRecords, ...]
    head: Row = COLUMNS_HEAD


def records_section(report: Facts, level: str) -> RecordsSection | None:
    """Lay out the section; None where there is no record-level table."""
    if "perturb" not in report:
        return None
    return RecordsSection(
        tuple(trust_words(report)),
        tuple(record_reading(report, level)),
        tuple(_shown(part, place, level) for place, part in enumerate(report["perturb"], 1)),
    )


def _shown(part: Facts, place: int, level: str) -> ShownRecords:
    drawn = "estimates" in part and part["rows"] > 0
    found = _estimates(part, place, level) if drawn else []
    return ShownRecords(
        name=part["name"],
        file=part.get("file"),
        rows=part.get("rows"),
        explained=tuple(part["explained"]),
        columns=tuple(column_rows(part)),
        details=tuple(
            (column["name"], column["mechanism"], tuple(column["explained"]))
            for column in part["columns"]
        ),
        halves=tuple(halfwidth_rows(part)),
        halves_head=halfwidth_head(part),
        floors=floor_chart(part, f"chart-floors-{place}"),
        main=tuple(each for each in found if each.table.keys == 1),
        crosses=tuple(each for each in found if each.table.keys > 1),
    )


def _estimates(part: Facts, place: int, level: str) -> list[ShownEstimates]:
    tables = estimated(part)
    frequencies = part["estimates"]["frequencies"]
    first = len(tables) - len(frequencies) - len(part["estimates"]["crosses"])
    found = []
    for number, table in enumerate(tables):
        chart = None
        if 0 <= number - first < min(len(frequencies), MOST_CHARTS):
            name = f"chart-shares-{place}-{number}"
            chart = frequency_chart(frequencies[number - first], table, name, level)
        found.append(ShownEstimates(table, chart))
    return found
