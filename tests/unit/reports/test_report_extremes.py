"""From how many values on a minimum or maximum says anything: in plan, report and warnings."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from report_specs import PEOPLE, spec

from dprelease.model import Plan
from dprelease.release.bundle import Publication
from dprelease.reports.facts import explanations
from dprelease.reports.facts.explanations import MANY, plan_warnings
from dprelease.reports.plan_facts import describe
from dprelease.specfile import load
from dprelease.statistics.statistic_registry import STATISTICS

TAIL = Fraction(1, 100)
Planned = Callable[..., Plan]
Published = Callable[..., Publication]


def extreme(statistic: str, **more: Any) -> dict[str, Any]:
    return {"statistic": statistic, "column": "days", **more}


def collect_facts(plan: Plan) -> dict[str, Any]:
    """What is stated of each query, by name."""
    steps: Any = describe(plan)["steps"]
    return {step["name"]: step for step in steps}


def get_needed(plan: Plan) -> Any:
    return collect_facts(plan)["q"]["meaningful_from"]


def get_ranks(plan: Plan) -> Any:
    (step,) = plan.steps
    columns = STATISTICS[step.query.statistic].build_columns(step, [(0,)], Fraction(95, 100))
    return next(column.values[0] for column in columns if column.name.endswith("_rank_moe"))


@pytest.mark.parametrize("statistic", ["min", "max"])
@pytest.mark.parametrize("epsilon", [1, 0.05, 10])
@pytest.mark.parametrize("privacy", [{}, PEOPLE], ids=["rows", "people"])
def test_it_is_where_the_rank_error_meets_the_tail(
    planned: Planned, statistic: str, epsilon: float, privacy: dict[str, Any]
) -> None:
    plan = planned(extreme(statistic, epsilon=epsilon), **privacy)
    number, off = get_needed(plan), get_ranks(plan)
    assert off > TAIL * (number - 1)
    assert off <= TAIL * number


@pytest.mark.parametrize(
    "query",
    [
        {"statistic": "median", "column": "days"},
        {"statistic": "quantile", "column": "days", "q": 0.01},
        {"statistic": "count"},
        {"statistic": "mean", "column": "days"},
        {"statistic": "mode", "column": "region"},
    ],
)
def test_other_statistics_have_no_such_number(planned: Planned, query: dict[str, Any]) -> None:
    assert get_needed(planned(query)) is None


@pytest.mark.parametrize(("statistic", "end"), [("min", "minimum"), ("max", "maximum")])
def test_plan_and_report_state_it(
    planned: Planned, published: Published, statistic: str, end: str
) -> None:
    plan = planned(extreme(statistic))
    number = get_needed(plan)
    said = f"In a group of fewer than {number:,} values it may be off by more ranks than lie beyond"
    step = collect_facts(plan)["q"]
    assert said in step["explained"][0]
    assert f"there it says nothing of the {end}" in step["explained"][0]
    made = published(plan)
    assert said in made.report["queries"][0]["explained"][0]
    assert said in made.files["report.md"].decode()
    (hazard,) = [row for row in made.report["hazards"] if row["hazard"] == "minimum and maximum"]
    assert f"q (in groups of fewer than {number:,} values)" in hazard["note"]


def test_a_shorter_list_needs_fewer_values(planned: Planned) -> None:
    every, some = (
        get_needed(planned(extreme("max", **more))) for more in ({}, {"candidates": [0, 90, 180]})
    )
    assert some < every


@pytest.mark.parametrize("statistic", ["min", "max"])
def test_a_large_number_is_a_warning(
    planned: Planned, published: Published, statistic: str
) -> None:
    fine, poor = (
        extreme(statistic, epsilon=0.5),
        extreme(statistic, epsilon=0.1, name="p", where="days > 1"),
    )
    plan = planned(fine, poor)
    steps = collect_facts(plan)
    assert steps["q"]["meaningful_from"] <= MANY < steps["p"]["meaningful_from"]
    (found,) = plan_warnings(plan)
    assert (found.code, found.key) == ("W301", "query[1].statistic")
    assert f"fewer than {steps['p']['meaningful_from']:,} values" in found.message
    assert found.hint
    warned: Any = describe(plan)["warnings"]
    assert warned[-1]["code"] == "W301"
    assert published(plan).report["warnings"][-1] == found.message


def test_the_limit_is_exact(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(extreme("min"))
    for limit, warnings in ((get_needed(plan), 0), (get_needed(plan) - 1, 1)):
        monkeypatch.setattr(explanations, "MANY", limit)
        assert len(plan_warnings(plan)) == warnings


def test_the_warning_stands_where_the_statistic_is_asked_for(tmp_path: Path) -> None:
    import dprelease

    text = """
[release]
name = "r"
[data]
path = "t.csv"
[privacy]
unit = "row"
adjacency = "add-remove"
[columns.x]
type = "integer"
lower = 0
upper = 180
[[query]]
name = "least"
statistic = "min"
column = "x"
epsilon = 0.01
[output]
path = "out"
"""
    (tmp_path / "s.toml").write_text(text)
    (found,) = plan_warnings(dprelease.plan(tmp_path / "s.toml"))
    assert found.place is not None
    assert (found.place.line, found.place.column) == (15, 13)


def test_a_spec_that_is_no_file_has_no_places() -> None:
    import dprelease

    release = load(spec(extreme("min", epsilon=0.01)))
    (found,) = plan_warnings(dprelease.plan(release))
    assert found.place is None
