"""Quantiles that are read from cumulative counts of keys and bins which are no numbers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dprelease

TEXTS = {"type": "string", "keys": ["primary", "second", "third"]}
CASES: dict[str, tuple[dict[str, Any], Sequence[str], Sequence[str], str]] = {
    "texts": (TEXTS, ["primary", "second", "second", "third"], ["second"] * 3, "second"),
    "labels": (
        {**TEXTS, "labels": {"second": "The second"}},
        ["primary", "second", "second", "third"],
        ["second"] * 3,
        "The second",
    ),
    "days": (
        {"type": "date", "keys": ["2025-12-01", "2025-12-02"]},
        ["2025-12-02"] * 3,
        ["2025-12-02"] * 3,
        "2025-12-02",
    ),
    "bins of days": (
        {"type": "date", "bins": ["2025-12-01", "2025-12-15", "2026-01-01"]},
        ["2025-12-01", "2025-12-20", "2025-12-21", "2026-01-01"],
        ["[2025-12-15, 2026-01-01]"] * 3,
        "15 Dec 2025 to 1 Jan 2026",
    ),
    "bins of moments": (
        {"type": "timestamp", "bins": ["2025-12-01 00:00:00", "2025-12-01 12:00:00"]},
        ["2025-12-01 11:00:00"],
        ["[2025-12-01 00:00:00, 2025-12-01 12:00:00]"] * 3,
        "2025-12-01 00:00:00 to 2025-12-01 12:00:00",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("case", CASES)
def test_the_quantile_is_named_by_its_row(tmp_path: Path, case: str, format: str) -> None:
    column, values, wanted, words = CASES[case]
    with (tmp_path / "d.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["at"], *([value] for value in values)])
    spec = {
        "schema": 1,
        "release": {"name": "case"},
        "data": {"path": str(tmp_path / "d.csv")},
        "privacy": {
            "unit": "row",
            "unit_description": "one record",
            "adjacency": "add-remove",
            "epsilon": 10_000,
        },
        "columns": {"at": {**column, "source": "p"}},
        "query": [{"name": "upto", "statistic": "cumulative", "column": "at", "q": [0.5]}],
        "report": {"formats": ["html", "md", "json", "registry", "dcat"]},
        "output": {"path": str(tmp_path / "out"), "format": format},
    }
    (table,) = dprelease.run(spec).tables.values()
    row = table.to_pylist()[0]
    assert [row[f"upto_q50{end}"] for end in ("", "_low", "_high")] == list(wanted)
    rows = dprelease.show(str(tmp_path / "out"))[next(iter(dprelease.show(str(tmp_path / "out"))))]
    assert rows.rows[0]["upto_q50"] == wanted[0]
    assert f"{words} ({words} to {words})" in dprelease.report(str(tmp_path / "out")).text
