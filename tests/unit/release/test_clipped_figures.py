"""A release whose people are scaled to a norm: its figures, and what is said of them."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dprelease

# Ann has 30 and 40 in two groups, and 8 rows; Bob 3 in one.
ROWS = [("ann", "a", 10)] * 3 + [("ann", "b", 8)] * 5 + [("bob", "b", 3), ("cy", "z", 5)]


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    lines = "".join(f"{person},{group},{value}\n" for person, group, value in ROWS)
    (tmp_path / "t.csv").write_text(f"p,g,x\n{lines}")
    return {
        "release": {"name": "r"},
        "data": {"path": str(tmp_path / "t.csv")},
        "privacy": {
            "unit": "column",
            "unit_column": "p",
            "adjacency": "add-remove",
            "delta": Decimal("1e-6"),
            "bounding": {"max_rows_per_unit": 1, "max_groups_per_unit": 1},
        },
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d"},
        "columns": {
            "g": {"type": "string", "keys": ["a", "b", "c"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
        },
        "query": [
            {
                "name": name,
                "statistic": statistic,
                "by": ["g"],
                "epsilon": 1000,
                "bounding": {"clip": clip, "bound": bound},
                **({"column": "x"} if statistic == "sum" else {}),
            }
            for name, statistic, clip, bound in (
                ("l1", "sum", "l1", 7),
                ("l2", "sum", "l2", 5),
                ("rows", "count", "l1", 4),
            )
        ],
        "output": {"path": str(tmp_path / "out")},
        "report": {"formats": ["json", "md"]},
    }


def test_figures_are_those_of_scaled_people(spec: dict[str, Any], tmp_path: Path) -> None:
    dprelease.run(spec)
    with open(tmp_path / "out" / "by_g.csv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    # Ann's 30 and 40 become 3 and 4 in either norm, and her 3 and 5 rows 1 and 2.
    assert [(row["l1"], row["l2"], row["rows"]) for row in rows] == [
        ("3", "3", "1"),
        ("7", "7", "3"),
        ("0", "0", "0"),
    ]
    assert {row["l1_flag"].split()[0] for row in rows} == {"bounded"}


def test_the_report_says_what_is_scaled_and_that_it_biases(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    dprelease.run(spec)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    clippings = [query["clipping"] for query in report["queries"]]
    assert clippings == [
        {"norm": "l1", "bound": 7}, {"norm": "l2", "bound": 5}, {"norm": "l1", "bound": 4}
    ]  # fmt: skip
    said = " ".join(report["bounding"])
    assert "In l2 all rows of a person count" in said
    assert "an L2 norm of at most 5" in said
    assert "no noise interval covers it" in said
    assert "At most 1 row of one person" not in said
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "what a unit adds is scaled down to a norm in l1, l2 and rows" in text
    assert "where rows beyond the limits" not in text


def test_where_others_limit_rows_both_are_said(spec: dict[str, Any], tmp_path: Path) -> None:
    spec["query"].append({"name": "n", "statistic": "count", "by": ["g"], "epsilon": 1})
    dprelease.run(spec)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    said = " ".join(report["bounding"])
    assert "At most 1 row of one person" in said
    assert "In l1 all rows of a person count" in said
    assert "clipping" not in report["queries"][3]


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_it_is_said_in_each_language(spec: dict[str, Any], tmp_path: Path, language: str) -> None:
    spec["report"]["language"] = language
    dprelease.run(spec)
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "L2" in text


def test_the_report_says_which_rows_of_a_person_count(spec: dict[str, Any], tmp_path: Path) -> None:
    spec["query"] = [spec["query"][0] | {"where": "x > 4"}]
    dprelease.run(spec)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    (sentence,) = (line for line in report["bounding"] if line.startswith("In l1"))
    assert sentence.startswith("In l1 all rows of a person count for which x > 4, whatever")
