"""Many queries: how the work to plan, to certify and to describe them grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders import spec
from operations import count_operations

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.model import Release
from dprelease.planning.planner import make_plan
from dprelease.release.plan import build_release_plan
from dprelease.reports.plan_facts import describe

Json = dict[str, Any]
FEW = 120
MOST = 2.5
"""From twice to four times as many queries, work in proportion grows twice as much as from as many
to twice as many; work with their square four times as much."""


def ask_mixed(number: int) -> list[Json]:
    """Counts, sums, means and medians by a group, each for rows of its own."""
    kinds: list[Json] = [
        {"statistic": "count"},
        *({"statistic": name, "column": "x"} for name in ("sum", "mean", "median")),
    ]
    return [
        kinds[place % 4] | {"by": [f"g{place // 4 % 3}"], "where": f"x > {place // 12}"}
        for place in range(number)
    ]


def ask_groups(number: int) -> list[Json]:
    """Counts of all rows and sums, by two groups each."""
    pairs = [[f"g{one}", f"g{two}"] for two in range(60) for one in range(two)]
    return [{"statistic": "count", "by": pairs[place]} for place in range(number)]


def ask_conditions(number: int) -> list[Json]:
    return [{"statistic": "count", "where": f"x > {place}"} for place in range(number)]


def load_many(queries: list[Json]) -> Release:
    columns: Json = {"x": {"type": "integer", "lower": 0, "upper": 1000}}
    for place in range(60):
        columns[f"g{place}"] = {"type": "string", "keys": ["a", "b"], "other": "c", "nulls": "c"}
    return load(
        spec(
            data={"path": "t.csv"},
            privacy={"adjacency": "add-remove", "epsilon": 1, "delta": 1e-6},
            columns=columns,
            query=[{"name": f"q{place}"} | query for place, query in enumerate(queries)],
        )
    )


@pytest.mark.parametrize(
    "ask",
    [
        ask_mixed,
        *(pytest.param(ask, marks=pytest.mark.thorough) for ask in (ask_groups, ask_conditions)),
    ],
)
def test_plans_of_many_queries_take_work_in_proportion(ask: Callable[[int], list[Json]]) -> None:
    def count(number: int) -> int:
        release = load_many(ask(number))

        def work() -> None:
            describe(build_release_plan(certify(make_plan(release)).plan))

        work()  # what is kept once computed does not depend on what ran before
        return count_operations(work)

    few, more, many = count(FEW), count(2 * FEW), count(4 * FEW)
    assert many - more <= MOST * (more - few)
