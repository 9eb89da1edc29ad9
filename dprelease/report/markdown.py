"""The report as Markdown, plain words first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dprelease.finish.decimals import placed
from dprelease.model import OutputColumn, OutputTable
from dprelease.report import markdown_review as review
from dprelease.report.markup import cell, grid

Facts = Mapping[str, Any]


ROWS_SHOWN = 12


def render(report: Facts, tables: Mapping[str, OutputTable]) -> str:
    """Render the report; ``tables`` holds the published tables by file name."""
    parts = [
        _head(report),
        _guarantee(report),
        _meaning(report),
        _tables(tables),
        _reading(report),
        review.queries(report),
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
        ("", ""),
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
    yield (
        "The size of the noise, the groups and the intervals below were fixed before any data was "
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
    spared = " (but for a probability of about delta)"
    yield (
        "Somebody believes, before the release, that a row is in the table or says a certain "
        "thing. After the release, whatever else they know, their belief lies within"
        f"{spared if report['deployment']['privacy_loss']['delta'] else ''}:"
    )
    yield ""
    yield from grid(
        ("belief before", "least belief after", "greatest belief after"),
        (
            (
                _percent(row["prior"]),
                _percent(row["posterior_low"]),
                _percent(row["posterior_high"]),
            )
            for row in report["meaning"]["beliefs"]
        ),
    )
    yield ""
    yield "Several rows of one person, or of one family, are protected together by less:"
    yield ""
    yield from grid(
        ("rows together", "epsilon", "delta"),
        ((row["units"], row["epsilon"], row["delta"]) for row in report["meaning"]["groups"]),
    )


def _tables(tables: Mapping[str, OutputTable]) -> Iterator[str]:
    yield "## The tables"
    for file, table in tables.items():
        yield ""
        yield f"### {cell(file)}"
        yield ""
        shown = [column for column in table.columns if not column.name.endswith("_flag")]
        yield from grid([cell(column.name) for column in shown], islice(_rows(shown), ROWS_SHOWN))
        if table.rows > ROWS_SHOWN:
            yield ""
            yield f"... and {table.rows - ROWS_SHOWN:,} more rows in the file."


def _rows(columns: Sequence[OutputColumn]) -> Iterator[Sequence[object]]:
    texts = [
        [
            placed(value, column.decimals) if isinstance(value, int) else value
            for value in column.values[:ROWS_SHOWN]
        ]
        for column in columns
    ]
    yield from zip(*texts, strict=True)


def _reading(report: Facts) -> Iterator[str]:
    level = float(report["provenance"]["interval"]) * 100
    yield "## How to read the figures"
    yield ""
    for line in (
        f"`_noise_moe` is the half-width of the noise interval: in at least {level:g} of 100 "
        "releases the figure without noise lies within it. It does not cover sampling, coverage "
        "or measurement error, nor what clamping to the bounds does.",
        "A count can be negative: noise was added to a small number.",
        "Cells do not add up to totals released by another query: each has noise of its own.",
        "To combine cells, add the values; the half-width of a sum of n cells is about the "
        "half-width of one cell times the square root of n.",
        "`_flag` is `low_reliability` where the noise is large beside the figure, else `ok`.",
    ):
        yield f"- {line}"


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"
