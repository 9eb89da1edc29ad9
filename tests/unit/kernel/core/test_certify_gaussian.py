"""Plans with Gaussian noise: the planner's calibration is within certification's own bound."""

from __future__ import annotations

from typing import Any

import builders
import pytest
from thorough import for_each

from dprelease import load
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import Plan
from dprelease.release.plan import plan_and_certify

ASKED: dict[str, dict[str, Any]] = {
    "count": {},
    "count_units": {},
    "count_distinct": {"column": "x"},
    "histogram": {"column": "x", "bins": [0, 1, 2]},
    "cumulative": {"column": "x", "bins": [0, 1, 2]},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "stddev": {"column": "x"},
    "proportion": {"where": "x > 1"},
    "ratio": {"numerator": {"column": "x"}, "denominator": {"statistic": "count"}},
    "ratio of counts": {
        "statistic": "ratio",
        "numerator": {"statistic": "count", "where": "x > 1"},
        "denominator": {"statistic": "count"},
    },
    "ratio of sums": {
        "statistic": "ratio",
        "numerator": {"column": "x"},
        "denominator": {"column": "y"},
    },
}
BUDGETS: dict[str, dict[str, Any]] = {
    "rho": {"rho": 0.5},
    "little rho": {"rho": 0.01},
    "delta": {"epsilon": 1, "delta": 1e-6},
    "much epsilon": {"epsilon": 8, "delta": 1e-4},
}
STEPS = [2, 20, 199, 200, 1000, 10**6]


def plan(name: str, budget: str, steps: int, adjacency: str, *by: str) -> Plan:
    query = {"name": "q", "statistic": name, "mechanism": "gaussian"} | ASKED[name]
    nulls = {"nulls": 0, "source": "p"}
    spec: dict[str, Any] = builders.spec(
        privacy={"adjacency": adjacency} | BUDGETS[budget],
        columns={
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": steps} | nulls,
            "y": {"type": "integer", "lower": 0, "upper": 7} | nulls,
        },
        query=[query | ({"by": list(by)} if by else {})],
    )
    return plan_and_certify(load(spec)).plan


@pytest.mark.one_in(20)
@for_each("by", [(), ("g",)])
@for_each("adjacency", ["add-remove", "replace-one"])
@for_each("steps", STEPS)
@for_each("budget", BUDGETS)
@for_each("name", ASKED)
def test_every_statistic_is_certified_on_every_grid(
    name: str, budget: str, steps: int, adjacency: str, by: tuple[str, ...]
) -> None:
    """And no more integers are taken to change than the planner states."""
    made = plan(name, budget, steps, adjacency, *by)
    for step in made.steps:
        worst = bound_step_change(step, made.release.privacy)
        assert worst.shift.coordinates <= step.sensitivity.coordinates


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_count_of_all_records_is_not_taken_to_change(budget: str, steps: int) -> None:
    """Of a ratio by it only the numerator does, where one record replaces another."""
    made = plan("ratio", budget, steps, "replace-one")
    shift = bound_step_change(made.steps[0], made.release.privacy).shift
    assert (shift.coordinates, len(shift.shapes)) == (1, 1)
