"""The report as Markdown, plain words first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dprelease.model import OutputTable
from dprelease.report.markdown import review
from dprelease.report.markdown.escape import cell, grid
from dprelease.report.numbers import shortened, written
from dprelease.report.preview import shown_rows
from dprelease.report.sections.how_to_read import errata_words, reading_words

Facts = Mapping[str, Any]


ROWS_SHOWN = 12


def render(report: Facts, tables: Mapping[str, OutputTable]) -> str:
    """Render the report; ``tables`` holds the published tables by file name."""
    parts = [
        _head(report),
        _guarantee(report),
        _meaning(report),
        *(
            [review.bullets("What is left out of the data", report["bounding"])]
            if report["bounding"]
            else []
        ),
        *([_tables(tables), _reading(report)] if report["queries"] else []),
        *(_records(report) if "perturb" in report else []),
        review.bullets("Errors and corrections", errata_words(report)),
        *([review.queries(report)] if report["queries"] else []),
        review.accounting(report),
        review.columns(report),
        review.bullets("What happens to the data before and after", report["processing"]),
        review.hazards(report),
        review.provenance(report),
    ]
    return "\n".join(line for part in parts for line in (*part, ""))


def _head(report: Facts) -> Iterator[str]:
    basic = report["deployment"]["basic"]
    yield f"# {cell(basic['title'])}"
    yield ""
    yield "Privacy report of a release of noisy statistics."
    yield ""
    yield from grid(
        ("about", "this release"),
        [
            (label, basic[key])
            for label, key in (
                ("Release", "name"),
                ("Curator", "data_curator"),
                ("Contact", "contact"),
                ("Purpose", "intended_use"),
                ("Region", "region"),
                ("Sector", "sector"),
                ("Approved by", "approved_by"),
            )
            if basic[key]
        ]
        + [("Released at", report["provenance"]["released_at"])],
    )


def _guarantee(report: Facts) -> Iterator[str]:
    yield "## The guarantee"
    yield ""
    yield f"**{cell(report['guarantee'])}**"
    yield ""
    private = any(query["threshold"] for query in report["queries"])
    groups = "the groups (but for private keys)" if private else "the groups"
    yield (
        f"The size of the noise, {groups} and the intervals below were fixed before any data was "
        "read; the noise was then drawn once."
    )
    yield ""
    yield "Not protected:"
    yield ""
    for line in report["not_protected"]:
        yield f"- {cell(line)}"


def _meaning(report: Facts) -> Iterator[str]:
    yield "## What that means for a person"
    yield ""
    unit = report["meaning"]["of"]
    yield (
        f"Somebody believes something of a {unit} before the release. After it, whatever else they "
        "know, their belief lies within:"
    )
    for table in report["meaning"]["beliefs"]:
        spared = (
            f", up to a slack of {written(shortened(table['delta'], 2))} in any chance"
            if table["delta"]
            else ""
        )
        yield ""
        yield f"Of {cell(table['about'])} (epsilon {written(table['epsilon'])}{spared}):"
        yield ""
        yield from grid(
            ("belief before", "least belief after", "greatest belief after"),
            (
                (
                    _percent(row["prior"]),
                    _percent(row["posterior_low"]),
                    _percent(row["posterior_high"]),
                )
                for row in table["rows"]
            ),
        )
    yield ""
    several, together = "Several rows of one person, or of one family,", "rows together"
    if unit != "row":
        several, together = "Several people, such as a family,", "people together"
    yield f"{several} are protected together by less:"
    yield ""
    yield from grid(
        (together, "epsilon", "delta"),
        (
            (row["units"], row["epsilon"], shortened(row["delta"]))
            for row in report["meaning"]["groups"]
        ),
    )


def _tables(tables: Mapping[str, OutputTable]) -> Iterator[str]:
    yield "## The tables"
    for file, table in tables.items():
        yield ""
        yield f"### {cell(file)}"
        yield ""
        yield from grid(
            [cell(column.name) for column in table.columns], shown_rows(table.columns, ROWS_SHOWN)
        )
        if not table.rows:
            yield ""
            yield "No key reached the threshold, so that the table is empty."
        if table.rows > ROWS_SHOWN:
            yield ""
            yield f"... and {table.rows - ROWS_SHOWN:,} more rows in the file."


def _reading(report: Facts) -> Iterator[str]:
    yield "## How to read the figures"
    yield ""
    for line in reading_words(report):
        yield f"- {line}"


def _records(report: Facts) -> list[Iterator[str]]:
    # Imported here for start-up: most releases have no table of records.
    from dprelease.report.markdown.local_tables import records

    return [records(report)]


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"
