"""Record-level tables in the Markdown report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dprelease.report.markdown.escape import cell, grid
from dprelease.report.sections.record_tables import (
    COLUMNS_HEAD,
    column_rows,
    estimated,
    halfwidth_head,
    halfwidth_rows,
    record_reading,
    trust_words,
)

Facts = Mapping[str, Any]

ROWS_SHOWN = 40
PAIRS_SHOWN = 12


def records(report: Facts) -> Iterator[str]:
    """Say how records were perturbed, what is estimated from them, and how to read that."""
    level = f"{float(report['provenance']['interval']) * 100:g}"
    yield "## Records, perturbed one by one"
    for line in trust_words(report):
        yield ""
        yield line
    for part in report["perturb"]:
        yield ""
        yield from _part(part, level)
    yield ""
    yield "### How to read records and estimates"
    yield ""
    for line in record_reading(report, level):
        yield f"- {line}"


def _part(part: Facts, level: str) -> Iterator[str]:
    yield f"### {cell(part['file'])}"
    yield ""
    yield f"{part['rows']:,} {'record' if part['rows'] == 1 else 'records'}."
    for line in part["explained"]:
        yield cell(line)
    yield ""
    yield from grid(COLUMNS_HEAD, column_rows(part))
    yield ""
    yield (
        "The expected error is that of one answer, for the true value where it is largest: the "
        "chance that it is wrong (of several labels, that one picked from them is), or how far a "
        "number is off on average. Beside it stands the least that any mechanism with the same "
        "epsilon and delta can have."
    )
    yield ""
    for column in part["columns"]:
        for line in column["explained"]:
            yield f"- {cell(column['name'])}: {cell(line)}"
    yield ""
    yield f"Half-widths of the {level}% intervals of estimates from n records, about and at most:"
    yield ""
    yield from grid(halfwidth_head(part), halfwidth_rows(part))
    if not part["rows"]:
        yield ""
        yield "The table has no records: there is nothing to estimate."
        return
    for table in estimated(part):
        yield ""
        yield f"#### {cell(table.title)}"
        yield ""
        most = ROWS_SHOWN if table.keys == 1 else PAIRS_SHOWN
        yield from grid([cell(each) for each in table.head], table.rows[:most])
        if len(table.rows) > most:
            yield ""
            yield f"... and {len(table.rows) - most:,} more in report.json."
