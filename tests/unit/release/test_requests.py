"""Steps become requests: shared measures once, inputs with what expressions read."""

from __future__ import annotations

from builders import spec

from dprelease import load
from dprelease.kernel.core.engine_requests import build_jobs, list_all_inputs
from dprelease.planning.planner import make_plan

SPEC = spec(
    columns={
        "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
        "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        "y": {"type": "integer"},
        "unused": {"type": "string"},
        "d": {"type": "float", "lower": 0, "upper": 1, "expression": "y / 7", "source": "p"},
    },
    query=[
        {"name": "n", "statistic": "count", "by": ["g"]},
        {"name": "s", "statistic": "sum", "column": "x", "by": ["g"], "mechanism": "laplace"},
        {"name": "m", "statistic": "mean", "column": "x", "by": ["g"], "epsilon": 0.1},
        {"name": "f", "statistic": "count", "by": ["g"], "where": "y > 3", "mechanism": "laplace"},
        {"name": "e", "statistic": "mean", "column": "d"},
        {"name": "q", "statistic": "median", "column": "x", "by": ["g"]},
    ],
)


def test_one_request_for_all_that_adds_up_and_each_measure_once() -> None:
    release = load(SPEC)
    job, ranks = build_jobs(release, make_plan(release).steps)
    assert [step.query.name for step in job.steps] == ["n", "s", "m", "f", "e"]
    assert len(job.request.measures) == 6  # records, sum(x), values(x), records where, two of d
    assert job.positions == ((0,), (1,), (2, 1), (3,), (4, 5))
    assert [group.labels for group in job.request.groups] == [("a", "b", "(in no group)")]
    assert job.places == ((0,), (0,), (0,), (0,), ())
    assert [step.query.name for step in ranks.steps] == ["q"]
    assert ranks.places == (None,)


def test_inputs_hold_what_is_read_and_nothing_else() -> None:
    release = load(SPEC)
    job, ranks = build_jobs(release, make_plan(release).steps)
    assert [each.name for each in job.request.inputs] == ["g", "x", "y", "d"]
    assert [each.name for each in ranks.request.inputs] == ["g", "x"]
    assert [each.name for each in list_all_inputs(release)] == ["g", "x", "y", "unused", "d"]


def private(**query: object) -> dict[str, object]:
    return {"by": ["t"], "partition_selection": {"delta": 1e-7}, **query}


def test_by_private_keys_choices_and_quantiles_ask_after_the_count_that_selects() -> None:
    queries = [
        private(name="median", statistic="median", column="x", where="y > 3"),
        private(name="mode", statistic="mode", column="g"),
        private(name="top", statistic="top_k", column="g", k=2, mechanism="laplace"),
        private(name="best", statistic="best", candidates=[1, 2], score="candidate * x",
                score_upper=9),
        private(name="n", statistic="count_units"),
    ]  # fmt: skip
    bounds = {"max_rows_per_unit": 4, "max_groups_per_unit": 2}
    people = {"unit": "column", "unit_column": "p", "bounding": bounds, "delta": 1e-6}
    columns = SPEC["columns"] | {"t": {"type": "string"}}  # type: ignore[operator]
    privacy = SPEC["privacy"] | people  # type: ignore[operator]
    release = load(SPEC | {"columns": columns, "privacy": privacy, "query": queries})
    jobs = build_jobs(release, make_plan(release).steps, salt=7)
    assert [[step.query.name for step in job.steps] for job in jobs] == [
        ["n"], ["median"], ["mode", "top"], ["best"],
    ]  # fmt: skip
    assert all(job.request.private for job in jobs)
    asked = [[group.column for group in job.request.groups] for job in jobs]
    assert asked == [["t"], ["t"], ["t", "g"], ["t"]]
    # what is kept of a person goes by the keys alone, not by what is chosen among
    bound = {(job.request.bound.leading, job.request.bound.salt) for job in jobs
             if job.request.bound is not None}  # fmt: skip
    assert bound == {(1, 7)}
    median, best = jobs[1].request, jobs[3].request
    assert (median.points is not None, median.measures) == (True, ())
    assert (best.scores is not None, best.measures) == (True, ())
    assert median.where is not None
