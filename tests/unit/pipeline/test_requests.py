"""Steps become requests: shared measures once, inputs with what expressions read."""

from __future__ import annotations

from dprelease import load
from dprelease.planning.planner import make_plan
from dprelease.requests import all_inputs, jobs_of

SPEC = {
    "release": {"name": "r"},
    "data": {"path": "t.csv"},
    "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
    "output": {"path": "out/r"},
    "columns": {
        "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
        "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        "y": {"type": "integer"},
        "unused": {"type": "string"},
        "d": {"type": "float", "lower": 0, "upper": 1, "expression": "y / 7", "source": "p"},
    },
    "query": [
        {"name": "n", "statistic": "count", "by": ["g"]},
        {"name": "s", "statistic": "sum", "column": "x", "by": ["g"]},
        {"name": "m", "statistic": "mean", "column": "x", "by": ["g"]},
        {"name": "f", "statistic": "count", "by": ["g"], "where": "y > 3"},
        {"name": "e", "statistic": "mean", "column": "d"},
    ],
}


def test_one_request_for_each_set_of_groups_and_each_measure_once() -> None:
    release = load(SPEC)
    first, second = jobs_of(release, make_plan(release).steps)
    assert [step.query.name for step in first.steps] == ["n", "s", "m", "f"]
    assert len(first.request.measures) == 4  # records, sum(x), values(x), records where
    assert first.positions == ((0,), (1,), (2, 1), (3,))
    assert [step.query.name for step in second.steps] == ["e"]


def test_inputs_hold_what_is_read_and_nothing_else() -> None:
    release = load(SPEC)
    first, second = jobs_of(release, make_plan(release).steps)
    assert [each.name for each in first.request.inputs] == ["g", "x", "y"]
    assert [each.name for each in second.request.inputs] == ["y", "d"]
    assert [each.name for each in all_inputs(release)] == ["g", "x", "y", "unused", "d"]
