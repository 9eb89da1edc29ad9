"""The report as Markdown, plain words first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dprelease.finish.decimals import placed
from dprelease.model import OutputColumn, OutputTable

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
        _queries(report),
        _accounting(report),
        _columns(report),
        _bullets("What happens to the data before and after", report["processing"]),
        _hazards(report),
        _provenance(report),
    ]
    return "\n".join(line for part in parts for line in (*part, ""))


def cell(value: object) -> str:
    """Write a value so that it can't break a Markdown table or smuggle markup in."""
    if value is None:
        return "-"
    text = re.sub(r"[\\|*`<>\[\]#~]", r"\\\g<0>", str(value))
    # an underscore inside a word is no markup, and names are full of them
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    return " ".join(text.split())


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lay out a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell(value) for value in row) + " |"


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


def _queries(report: Facts) -> Iterator[str]:
    yield "## How the noise was made"
    yield ""
    yield from grid(
        ("query", "statistic", "by", "cells", "noise", "expected error", "epsilon", "delta"),
        (
            (
                query["name"],
                _statistic(query),
                ", ".join(query["by"]) or "overall",
                f"{query['cells']:,}",
                query["mechanism"],
                query["expected_error"],
                query["epsilon"],
                query["delta"],
            )
            for query in report["queries"]
        ),
    )
    yield ""
    level = float(report["provenance"]["interval"]) * 100
    yield f"The expected error is the half-width of the {level:g}% noise interval."
    yield ""
    yield "### Sensitivity and scale"
    yield ""
    yield "How far one row can move all released figures of a query together, and why."
    yield ""
    yield from grid(
        ("query", "L1", "L2", "because", "scale of the noise", "granularity"),
        (
            (
                query["name"],
                query["sensitivity"]["l1"],
                query["sensitivity"]["l2"],
                query["sensitivity"]["derivation"],
                query["scale"],
                query["granularity"],
            )
            for query in report["queries"]
        ),
    )


def _statistic(query: Facts) -> str:
    said = str(query["statistic"])
    if query["column"]:
        said += f" of {query['column']}"
    return f"{said} where {query['where']}" if query["where"] else said


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


def _accounting(report: Facts) -> Iterator[str]:
    accounting, ledger = report["accounting"], report["ledger"]
    yield "## The budget"
    yield ""
    yield (
        f"Composition: {cell(accounting['method'])}. The cells of a table are disjoint: a query "
        "costs what one row can change in them, not a sum over the cells."
    )
    yield ""
    rows = [
        ("this release", accounting["epsilon"], accounting["delta"]),
        ("plain addition would say", accounting["basic_epsilon"], accounting["basic_delta"]),
        ("dataset before", ledger["before"]["epsilon"], ledger["before"]["delta"]),
        ("dataset after", ledger["after"]["epsilon"], ledger["after"]["delta"]),
        ("cap", ledger["cap"]["epsilon"], ledger["cap"]["delta"]),
    ]
    yield from grid(("", "epsilon", "delta"), rows)
    yield ""
    yield f"Dataset in the ledger: {cell(ledger['dataset'])}, entry {ledger['entry']}."


def _columns(report: Facts) -> Iterator[str]:
    yield "## Where bounds and groups come from"
    yield ""
    yield from grid(
        ("column", "type", "lower", "upper", "step", "groups", "nulls", "source"),
        (
            (
                column["name"],
                column["type"],
                column["lower"],
                column["upper"],
                f"{column['step']} (chosen)" if column["step_chosen_by_tool"] else column["step"],
                _groups(column),
                column["nulls"],
                column["source"] or column["expression"],
            )
            for column in report["columns"]
        ),
    )


def _groups(column: Facts) -> str:
    if column["bins"]:
        return f"{len(column['bins']) - 1} bins"
    if column["keys"]:
        other = f", others as {column['other']}" if column["other"] else ""
        return f"{column['keys']} keys{other}"
    return "-"


def _bullets(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for line in lines:
        yield f"- {cell(line)}"


def _hazards(report: Facts) -> Iterator[str]:
    yield "## Hazards gone through"
    yield ""
    yield "After NIST SP 800-226. `attested` rows are outside the tool's reach."
    yield ""
    yield from grid(
        ("hazard", "status", "note"),
        ((row["hazard"], row["status"], row["note"]) for row in report["hazards"]),
    )


def _provenance(report: Facts) -> Iterator[str]:
    known = report["provenance"]
    yield "## Provenance"
    yield ""
    rows: list[tuple[str, object]] = [
        ("run", known["run_id"]),
        ("snapshot", known["snapshot"]),
        ("period", known["period"]),
        *((f"version of {name}", version) for name, version in known["versions"].items()),
        *((f"sha256 of {name}", digest) for name, digest in known["files"].items()),
    ]
    yield from grid(("", ""), rows)
    for note in (*report["notes"], *report["warnings"]):
        yield ""
        yield f"Note: {cell(note)}"


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"
