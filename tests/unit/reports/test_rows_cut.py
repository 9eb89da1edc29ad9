"""What limits on a person's rows can cut of each table is said before and after a run."""

from __future__ import annotations

from typing import Any

import pytest
from report_specs import DELTA, PEOPLE, spec

from dprelease.planning.planner import make_plan
from dprelease.reports.facts.unit_facts import list_rows_cut, word_bounding
from dprelease.reports.plan_facts import describe
from dprelease.specfile import load

LIMITS = {"max_rows_per_unit": 12, "max_groups_per_unit": 4, "max_rows_per_unit_per_group": 5}
SUM: dict[str, Any] = {"name": "s", "statistic": "sum", "column": "days"}


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (SUM, {"overall": 5}),
        (SUM | {"by": ["region"]}, {"by_region": 10}),
        (SUM | {"by": ["region", "urgent"]}, {}),
        ({"name": "n", "statistic": "count_units"}, {}),
        (SUM | {"by": ["town"], "partition_selection": {"delta": DELTA, "epsilon": 1}}, {}),
    ],
)
def test_a_table_of_few_groups_counts_fewer_rows(
    query: dict[str, Any], rows: dict[str, int]
) -> None:
    delta = {"delta": DELTA} if "partition_selection" in query else {}
    plan = make_plan(load(spec(query, **PEOPLE | {"bounding": LIMITS} | delta)))
    assert list_rows_cut(plan) == rows
    assert describe(plan).get("rows_of_unit", {}) == rows
    said = " ".join(word_bounding(plan))
    for table, most in rows.items():
        assert f"The table {table} has so few groups that at most {most} rows" in said
    assert ("so few groups" in said) == bool(rows)


def test_rows_are_cut_of_people_alone() -> None:
    assert list_rows_cut(make_plan(load(spec(SUM)))) == {}
