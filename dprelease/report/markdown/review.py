"""The report's parts for a reviewer: noise, budget, bounds, hazards, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dprelease.report.facts.release_facts import HEAD, list_rows
from dprelease.report.markdown.escape import cell, grid
from dprelease.report.numbers import written

Facts = Mapping[str, Any]


def accounting(report: Facts) -> Iterator[str]:
    """Say what was spent, how it adds up, and where the ledger stands."""
    spent, ledger = report["accounting"], report["ledger"]
    yield "## The budget"
    yield ""
    yield " ".join((f"Composition: {cell(spent['method'])}.", *costs(report)))
    yield ""
    rows = [
        ("this release", spent["epsilon"], spent["delta"]),
        ("plain addition would say", spent["basic_epsilon"], spent["basic_delta"]),
        ("dataset before", ledger["before"]["epsilon"], ledger["before"]["delta"]),
        ("dataset after", ledger["after"]["epsilon"], ledger["after"]["delta"]),
        *_composed(ledger["composed"]),
        ("cap", ledger["cap"]["epsilon"], ledger["cap"]["delta"]),
    ]
    yield from grid(("what", "epsilon", "delta"), rows)
    yield ""
    yield (
        f"Dataset in the ledger: {cell(ledger['dataset'])}, entry {ledger['entry']}, "
        f"hash `{ledger['hash']}`."
    )
    if ledger["disjoint_periods"]:
        yield ""
        yield (
            f"Declared: each {report['meaning']['of']} has records in one period only. The "
            "dataset's figures are those of the periods that cost most together."
        )


def costs(report: Facts) -> Iterator[str]:
    """Say what a query costs, and a record-level table."""
    one = report["meaning"]["of"]
    if report["queries"]:
        yield (
            f"The cells of a table are disjoint: a query costs what one {one} can change in them, "
            "not a sum over the cells."
        )
    if "perturb" in report:
        yield (
            f"A record-level table costs what all answers about one {one} lose together: those of "
            f"its columns{' and rows' if one == 'person' else ''} add up, those of others don't."
        )


def _composed(totals: Facts) -> Iterator[tuple[str, object, object]]:
    """What the caps are held against, where it is not the plain sums."""
    if any(total["by"] == "zCDP" for total in totals.values()):
        for when, total in totals.items():
            yield f"dataset {when}, composed", total["epsilon"], total["delta"]


def columns(report: Facts) -> Iterator[str]:
    """Say where bounds and groups come from."""
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
                f"{written(column['step'])} (chosen)"
                if column["step_chosen_by_tool"]
                else column["step"],
                groups_of(column),
                column["nulls"],
                column["source"] or column["expression"],
            )
            for column in report["columns"]
        ),
    )
    if rows := list_rows(report):
        yield ""
        yield "Lists that were read from files:"
        yield ""
        yield from grid(HEAD, rows)


def groups_of(column: Facts) -> str:
    """Say what groups a column has."""
    if column["bins"]:
        return f"{len(column['bins']) - 1} bins"
    if column["private_keys"]:
        return "private keys"
    if column["keys"]:
        other = f", others as {column['other']}" if column["other"] else ""
        return f"{column['keys']} keys{other}"
    return "-"


def hazards(report: Facts) -> Iterator[str]:
    """Go through the hazards."""
    yield "## Hazards gone through"
    yield ""
    yield "After NIST SP 800-226. `attested` rows are outside the tool's reach."
    yield ""
    yield from grid(
        ("hazard", "status", "note"),
        ((row["hazard"], row["status"], row["note"]) for row in report["hazards"]),
    )


def provenance(report: Facts) -> Iterator[str]:
    """Say what made the release, and give the hashes."""
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
    yield from grid(("what", "which"), rows)
    for note in (*report["notes"], *report["warnings"]):
        yield ""
        yield f"Note: {cell(note)}"


def queries(report: Facts) -> Iterator[str]:
    """Say how large the noise is, and why."""
    yield "## How the noise was made"
    yield ""
    yield from grid(
        ("query", "statistic", "by", "cells", "noise", "expected error", "epsilon", "delta"),
        (
            (
                query["name"],
                statistic_words(query),
                ", ".join(query["by"]) or "overall",
                "private" if query["cells"] is None else f"{query['cells']:,}",
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
    said = [(query["name"], line) for query in report["queries"] for line in query["explained"]]
    if said:
        yield "### Choices, quantiles and private keys"
        yield ""
        for name, line in said:
            yield f"- {cell(name)}: {cell(line)}"
        yield ""
    yield "### Sensitivity and scale"
    yield ""
    yield (
        f"How far one {report['meaning']['of']} can move all released figures of a query together, "
        "and why."
    )
    if any(query["form"] != "numbers" for query in report["queries"]):
        yield (
            "Of a choice it is the scores that move, of quantiles the number of values. Their "
            "scale is how far a score, or a rank, must fall behind to become less likely by a "
            "factor of e (2.718)."
        )
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


def statistic_words(query: Facts) -> str:
    """Name what a query computes."""
    said = str(query["statistic"])
    if query["column"]:
        said += f" of {query['column']}"
    return f"{said} where {query['where']}" if query["where"] else said


def bullets(title: str, lines: Iterable[str]) -> Iterator[str]:
    """List sentences under a heading."""
    yield f"## {title}"
    yield ""
    for line in lines:
        yield f"- {cell(line)}"
