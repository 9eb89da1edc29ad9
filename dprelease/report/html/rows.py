"""Rows of the report's tables in HTML, as plain values: the page escapes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dprelease.report.markdown.review import groups_of, statistic_words
from dprelease.report.numbers import shortened, written

Facts = Mapping[str, Any]
Row = tuple[object, ...]


def query_rows(report: Facts) -> list[Row]:
    """Give one row for each query: what, in how many cells, how noisy, at what cost."""
    return [
        (
            query["name"],
            statistic_words(query),
            ", ".join(query["by"]) or "overall",
            "private" if query["cells"] is None else f"{query['cells']:,}",
            query["mechanism"],
            query["expected_error"],
            *_paid(query),
        )
        for query in report["queries"]
    ]


def _paid(query: Facts) -> tuple[str, str]:
    """Epsilon and delta; of a shared release that is told once, with the query that lends it."""
    shares = query["shares"]
    if shares is not None and shares["release"] != query["name"]:
        return f"as {shares['release']}", ""
    return written(shortened(query["epsilon"])), written(shortened(query["delta"]))


def accounting_rows(report: Facts, ledger: Facts | None) -> list[Row]:
    """Give epsilon and delta of this release, by plain addition, and of the ledger."""
    spent = report["accounting"]
    rows: list[tuple[str, Any, Any]] = [
        ("this release", spent["epsilon"], spent["delta"]),
        ("plain addition would say", spent["basic_epsilon"], spent["basic_delta"]),
    ]
    if ledger is not None:
        rows += [
            (f"dataset {when} this release", ledger[when]["epsilon"], ledger[when]["delta"])
            for when in ("before", "after")
        ]
        composed = ledger.get("composed") or {}
        rows += [
            (f"dataset {when}, composed", total["epsilon"], total["delta"])
            for when, total in composed.items()
        ]
        rows.append(("cap", ledger["cap"]["epsilon"], ledger["cap"]["delta"]))
    return [(label, _loss(epsilon), _loss(delta)) for label, epsilon, delta in rows]


def _loss(value: float | None) -> str:
    return "no cap" if value is None else written(shortened(value, 6))


def column_rows(report: Facts) -> list[Row]:
    """Say where bounds and groups of each column come from."""
    return [
        (
            column["name"],
            column["type"],
            _bounds(column),
            groups_of(column),
            column["nulls"],
            column["source"] or column["expression"] or "no source given",
        )
        for column in report["columns"]
    ]


def _bounds(column: Facts) -> str:
    if column["lower"] is None:
        return "-"
    chosen = ", chosen by the tool" if column["step_chosen_by_tool"] else ""
    step = f"in steps of {written(column['step'])}{chosen}"
    return f"{written(column['lower'])} to {written(column['upper'])}, {step}"


def data_rows(report: Facts) -> list[Row]:
    """Say how the file was read."""
    return [
        (
            name.replace("_", " "),
            ", ".join(map(repr, told)) if isinstance(told, list) else str(told),
        )
        for name, told in report["data"].items()
    ]


def provenance_rows(report: Facts) -> list[Row]:
    """Say what made the release, with versions and hashes."""
    known, ledger = report["provenance"], report["ledger"]
    rows: list[Row] = [("run", known["run_id"])]
    rows += [(name, known[name]) for name in ("snapshot", "period") if known[name]]
    rows.append(("dataset in the ledger", ledger["dataset"]))
    rows.append(("entry in the ledger", str(ledger["entry"])))
    if "hash" in ledger:
        rows.append(("hash of the entry", ledger["hash"]))
    rows += [(f"version of {name}", version) for name, version in known["versions"].items()]
    rows += [(f"SHA-256 of {name}", digest) for name, digest in known["files"].items()]
    return rows
