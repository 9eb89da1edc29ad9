"""Statistics of several tables in one request: each has the integers of a request of its own."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from oracle.engine import get
from tables import ENGINES, FORMS, T, written

from dprelease import load
from dprelease.kernel.core import joined_tables
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.privatization import privatize
from dprelease.model import Noise, NoiseFamily, Plan
from dprelease.planning.planner import make_plan

TYPES = {"g": T.STRING, "k": T.INTEGER, "b": T.BOOLEAN, "d": T.DATE, "x": T.FLOAT, "y": T.INTEGER}
COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b", "(in no group)"]},
    "k": {"type": "integer", "keys": [1, 2], "other": "rest"},
    "b": {"type": "boolean", "keys": [True, False]},
    "d": {"type": "date", "bins": ["2025-01-01", "2025-02-01", "2025-03-01"]},
    "x": {"type": "float", "bins": [0, 1, 5]},
    "y": {"type": "integer", "lower": -3, "upper": 10},
}
STATISTICS: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "where": "y > 2"},
    {"statistic": "count_units"},
    {"statistic": "sum", "column": "y"},
    {"statistic": "mean", "column": "y"},
    {"statistic": "variance", "column": "y"},
    {"statistic": "proportion", "where": "y > 4"},
    {"statistic": "ratio", "numerator": {"column": "y", "where": "y > 2"}, "denominator": "y < 9"},
    {"statistic": "histogram", "column": "x"},
    {"statistic": "cumulative", "column": "x"},
    {"statistic": "count_distinct", "column": "y"},
    {"statistic": "median", "column": "y"},
]
TABLES = [[], ["g"], ["k"], ["b", "g"], ["d"], ["g", "k", "d"]]


def rows(number: int) -> list[tuple[object, ...]]:
    """Rows with values of all labels, with others, and with none."""
    draw = Random(number)
    return [
        (
            draw.choice(["a", "b", "c", "(in no group)", None]),
            draw.choice([1, 2, 3, None]),
            draw.choice([True, False, None]),
            draw.choice([*(date(2025, month, 1) for month in range(1, 5)), None]),
            draw.choice([0.0, 0.5, 1.0, 5.0, 7.5, -1.0, None]),
            draw.choice([*range(-5, 12), None]),
        )
        for _ in range(number)
    ]


def plan_of(folder: Path, form: str) -> Plan:
    """Every statistic, each in two of the tables, without noise."""
    written(folder / "t", TYPES, rows(200), form)
    asked = [
        {"name": f"q{at}_{by}", "by": TABLES[by], "epsilon": 1, **statistic}
        for at, statistic in enumerate(STATISTICS)
        for by in (at % len(TABLES), (at * at + 3) % len(TABLES))
    ]
    release = load(
        {
            "release": {"name": "r"},
            "data": {"path": str(folder / "t"), "format": form.partition(" ")[0]},
            "output": {"path": str(folder / "out")},
            "privacy": {"unit": "row", "adjacency": "add-remove"},
            "columns": {name: {"source": "public"} | rest for name, rest in COLUMNS.items()},
            "query": list({query["name"]: query for query in asked}.values()),
        }
    )
    plan = make_plan(release)
    none = Noise(NoiseFamily.NONE, plan.steps[0].noise.parameter)
    numbers = [step for step in plan.steps if not step.points]
    return replace(plan, steps=tuple(replace(step, noise=none) for step in numbers))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", FORMS)
def test_steps_of_a_joined_table_have_the_integers_of_requests_of_their_own(
    form: str, tmp_path: Path, entropy: Any
) -> None:
    plan = plan_of(tmp_path, form)
    jobs = build_jobs(plan.release, plan.steps)
    assert len(jobs) < len({step.query.groups for step in plan.steps})
    alone = {}
    for step in plan.steps:
        (job,) = build_jobs(plan.release, [step])
        assert job.places == (None,)
        alone |= privatize(get("reference").aggregate(job.request), job, entropy, {}).values
    for engine in ENGINES:
        joined = {}
        for job in jobs:
            joined |= privatize(get(engine).aggregate(job.request), job, entropy, {}).values
        assert joined == alone


def test_every_table_is_joined_that_is_small_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(tmp_path, "csv")
    most = []
    for cells in (1, 30, 1000):
        monkeypatch.setattr(joined_tables, "MOST_CELLS", cells)
        most.append(len(build_jobs(plan.release, plan.steps)))
    assert most == sorted(most, reverse=True)
    assert most[0] > most[1] > most[2]
