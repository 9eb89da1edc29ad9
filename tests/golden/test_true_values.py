"""With a budget so large that noise all but vanishes, tables hold what plain Python counts."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import dprelease

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "sample_data" / "clinic_visits.csv"
REGIONS = ["north", "south", "east", "west", "central", "islands"]
MISSING = {"", "n/a"}


def spec(tmp_path: Path) -> dict[str, object]:
    return {
        "release": {"name": "true-values"},
        "data": {"path": str(DATA), "null_values": sorted(MISSING)},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 400_000},
        "ledger": {"path": str(tmp_path / "ledger.sqlite")},
        "columns": {
            "region": {"type": "string", "keys": REGIONS, "other": "elsewhere"},
            "waiting_days": {"type": "integer", "lower": 0, "upper": 180},
            "cost": {"type": "decimal", "lower": 0, "upper": 2000, "step": 0.01},
        },
        "query": [
            {"name": "n", "statistic": "count", "by": ["region"], "epsilon": 100_000},
            {
                "name": "wait",
                "statistic": "mean",
                "column": "waiting_days",
                "by": ["region"],
                "epsilon": 100_000,
            },
            {
                "name": "money",
                "statistic": "sum",
                "column": "cost",
                "by": ["region"],
                "epsilon": 100_000,
            },
            {
                "name": "long",
                "statistic": "count",
                "where": "waiting_days > 30 AND region = 'north'",
                "epsilon": 100_000,
            },
        ],
        "output": {"path": str(tmp_path / "out")},
    }


def lines() -> list[dict[str, str]]:
    """The records whose line is well-formed; the others hold no value at all."""
    text = DATA.read_text("utf-8").splitlines()
    head = next(csv.reader([text[0]]))
    rows = []
    for line in text[1:]:
        fields = next(csv.reader([line], strict=False)) if line.count('"') % 2 == 0 else []
        rows.append(dict(zip(head, fields, strict=True)) if len(fields) == len(head) else {})
    return rows


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def test_tables_hold_the_true_values(tmp_path: Path) -> None:
    result = dprelease.run(spec(tmp_path))
    counts: Counter[str] = Counter()
    waits: defaultdict[str, list[float]] = defaultdict(list)
    money: defaultdict[str, float] = defaultdict(float)
    long = 0
    for row in lines():
        region = row.get("region", "")
        if region in MISSING:
            continue
        cell = region if region in REGIONS else "elsewhere"
        counts[cell] += 1
        if (wait := number(row["waiting_days"])) is not None:
            waits[cell].append(min(max(round(wait), 0), 180))
            long += wait > 30 and region == "north"
        if (cost := number(row["cost"])) is not None:
            money[cell] += min(max(round(cost, 2), 0.0), 2000.0)
    table = result.tables["by_region"].to_pydict()
    assert table["region"] == [*REGIONS, "elsewhere"]
    assert table["n"] == [counts[cell] for cell in table["region"]]
    for at, cell in enumerate(table["region"]):
        assert abs(table["wait"][at] - sum(waits[cell]) / len(waits[cell])) < 1e-3
        assert table["wait_count"][at] == len(waits[cell])
        assert abs(table["money"][at] - money[cell]) < 20
    assert result.tables["overall"].to_pydict()["long"] == [long]
