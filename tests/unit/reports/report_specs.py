"""Specs of a few queries, as mappings, for tests of what reports say."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import builders

from dprelease.local.store.tally import choose_pairs
from dprelease.model import RecordStep, StoredTable, SubsetLaw, Tally

PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "patient",
    "bounding": {"max_rows_per_unit": 4, "max_groups_per_unit": 2},
}
DELTA = Decimal("1e-8")
SELECTED: dict[str, Any] = {"by": ["town"], "partition_selection": {"delta": DELTA}}
BEST: dict[str, Any] = {
    "statistic": "best",
    "candidates": [100, 101, 401, 402],
    "score": "CASE WHEN days >= candidate THEN candidate ELSE 0 END",
    "score_upper": 402,
}
EVERY: dict[str, dict[str, Any]] = {
    "count": {},
    "count_units": {},
    "count_distinct": {"column": "town"},
    "sum": {"column": "days"},
    "mean": {"column": "days"},
    "variance": {"column": "days"},
    "stddev": {"column": "days"},
    "proportion": {"where": "urgent"},
    "ratio": {"numerator": {"column": "days"}, "denominator": "urgent"},
    "histogram": {"column": "region"},
    "cumulative": {"column": "days", "bins": [0, 10, 100], "q": [Decimal("0.25"), Decimal("0.5")]},
    "density": {"column": "days", "points": 5},
    "quantile": {"column": "days", "q": [Decimal("0.25"), Decimal("0.5")]},
    "median": {"column": "days"},
    "min": {"column": "days"},
    "max": {"column": "days"},
    "mode": {"column": "region"},
    "top_k": {"column": "region", "k": 2},
    "best": {key: value for key, value in BEST.items() if key != "statistic"},
}
"""Every statistic that is no list of tables, with what it needs of a spec."""


def spec(*queries: Mapping[str, Any], **privacy: Any) -> dict[str, Any]:
    """A spec with these queries, each of epsilon 1 and named q unless it says otherwise."""
    return builders.spec(
        release={"name": "small"},
        privacy=privacy,
        ledger={"epsilon_cap": 1000},
        columns={
            "region": {"type": "string", "keys": ["north", "south"], "source": "map"},
            "town": {"type": "string"},
            "days": {"type": "integer", "lower": 0, "upper": 180, "source": "rule"},
            "stars": {"type": "integer", "lower": 1, "upper": 5, "source": "rule"},
            "urgent": {"type": "boolean"},
        },
        query=[{"name": "q", "epsilon": 1} | dict(query) for query in queries],
    )


def records_spec(
    *perturbs: Mapping[str, Any], queries: tuple[Mapping[str, Any], ...] = (), **privacy: Any
) -> dict[str, Any]:
    """A spec with these record-level tables, of epsilon 3 unless it says otherwise."""
    made = spec(*queries, **{"adjacency": "replace-one"} | privacy)
    made["columns"] |= {
        "job": {"type": "string", "keys": [f"job {n}" for n in range(30)], "source": "list"},
        "age": {"type": "integer", "bins": [0, 18, 65, 120], "other": "older", "source": "law"},
    }
    if not queries:
        del made["query"]
    made["perturb"] = [
        ({"epsilon": 3} if "truth" not in perturb else {}) | {"name": "records"} | dict(perturb)
        for perturb in perturbs
    ]
    return made


def draw_records(step: RecordStep, rows: int) -> StoredTable:
    """A table of so many records, as it is remembered: the first label is commonest."""
    labels, sums = {}, {}
    for response in step.responses:
        name, law = response.column.name, response.law
        if isinstance(law, SubsetLaw):
            left = rows * law.size
            counts = [left // 2 // law.labels] * law.labels
            counts[0] += min(rows - counts[0], left - sum(counts))
            labels[name] = tuple(counts)
        else:
            sums[name] = Fraction(70 * rows)
    pairs = {
        (one, other): tuple(
            tuple(a * b // max(rows, 1) for b in labels[other]) for a in labels[one]
        )
        for one, other in choose_pairs(step)
    }
    tally = Tally(rows, labels, sums, pairs)
    return StoredTable("/nowhere/records.csv", "csv", "0" * 64, 12345, tally)
