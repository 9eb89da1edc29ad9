"""Quality first: how the total is split, and that noise alone stops no run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from dprelease import load
from dprelease.release.quality_first import run_quality_first, split

COLUMNS = [f"c{place}" for place in range(8)]


def spec(folder: Path, **quality: Any) -> dict[str, Any]:
    rows = "\n".join(["a"] * 40)
    lines = [",".join(row.split() * len(COLUMNS)) for row in rows.split("\n")]
    (folder / "t.csv").write_text("\n".join([",".join(COLUMNS), *lines, ""]))
    column = {"type": "string", "keys": ["a", "b"], "source": "p"}
    checks = {"name": "checks", "statistic": "quality", "epsilon": 0.5} | quality
    return {
        "release": {"name": "r"},
        "data": {"path": str(folder / "t.csv")},
        "ledger": {"path": str(folder / "ledger.sqlite"), "dataset": "d", "epsilon_cap": 5},
        "output": {"path": str(folder / "out"), "interval": 0.999999},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 2},
        "columns": dict.fromkeys(COLUMNS, column),
        "query": [checks, {"name": "n", "statistic": "count"}],
    }


def test_what_quality_costs_is_taken_off_the_total(tmp_path: Path) -> None:
    made = spec(tmp_path)
    made["query"].insert(1, made["query"][0] | {"name": "more", "columns": ["c0"], "epsilon": 0.25})
    first, rest = split(load(made))
    stated = sum(query.epsilon for query in first.queries if query.epsilon is not None)
    assert first.privacy.epsilon is None
    assert stated == Fraction(3, 4)
    assert rest.privacy.epsilon == 2 - stated


def test_noise_alone_stops_no_run(tmp_path: Path) -> None:
    """No field is unreadable or undeclared; of sixteen noisy counts, half are above 0."""
    checked, rest = run_quality_first(load(spec(tmp_path, max_unreadable=0.01)))
    assert (checked.charged, rest.charged) == (True, True)
