"""Specs of a few queries, as mappings, for tests of what reports say."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "patient",
    "bounding": {"max_rows_per_unit": 4, "max_groups_per_unit": 2},
}
DELTA = Decimal("1e-8")
SELECTED: dict[str, Any] = {"by": ["town"], "partition_selection": {"delta": DELTA}}


def spec(*queries: Mapping[str, Any], **privacy: Any) -> dict[str, Any]:
    """A spec with these queries, each of epsilon 1 and named q unless it says otherwise."""
    return {
        "release": {"name": "small"},
        "data": {"path": "small.csv"},
        "privacy": {"unit": "row", "adjacency": "add-remove"} | privacy,
        "ledger": {"epsilon_cap": 1000},
        "columns": {
            "region": {"type": "string", "keys": ["north", "south"], "source": "map"},
            "town": {"type": "string"},
            "days": {"type": "integer", "lower": 0, "upper": 180, "source": "rule"},
            "stars": {"type": "integer", "lower": 1, "upper": 5, "source": "rule"},
            "urgent": {"type": "boolean"},
        },
        "query": [{"name": "q", "epsilon": 1} | dict(query) for query in queries],
        "output": {"path": "out"},
    }
