"""Which count selects private keys: a mean's own, if no other is asked for and nothing is worse."""

from __future__ import annotations

from typing import Any

import builders
import pytest
from msgspec.structs import replace

from dprelease import Failure, load
from dprelease.kernel.certification import certify
from dprelease.model import Plan
from dprelease.model.key_thresholds import compute_least_units
from dprelease.planning.planner import make_plan

MEAN = {"name": "m", "statistic": "mean", "column": "x"}
BOUNDS = {"max_rows_per_unit": 3, "max_groups_per_unit": 3, "max_rows_per_unit_per_group": 1}
PEOPLE = {"unit": "column", "unit_column": "p", "bounding": BOUNDS}


def plan(*queries: dict[str, Any], privacy: dict[str, Any] | None = None, **make: Any) -> Plan:
    release = load(
        builders.spec(
            data={"path": "t.csv"},
            privacy={"epsilon": 1, "delta": 2e-6} | (privacy or {}),
            columns={
                "s": {"type": "string"},
                "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
            },
            query=[
                {"by": ["s"], "partition_selection": {"delta": 1e-6}} | query for query in queries
            ],
        )
    )
    return certify(make_plan(release, **make)).plan


def list_least(made: Plan) -> list[tuple[str, int]]:
    return [(step.query.name, compute_least_units(step)) for step in made.steps]


@pytest.mark.parametrize(("epsilon", "least", "before"), [(1, 17, 28), (0.1, 154, 264)], ids=str)
def test_a_mean_selects_with_the_budget_of_both(epsilon: float, least: int, before: int) -> None:
    made = plan(MEAN, privacy={"epsilon": epsilon})
    earlier = plan(MEAN, privacy={"epsilon": epsilon}, as_version_02=True)
    assert list_least(made) == [("m", least)]
    assert list_least(earlier) == [("by_s_rows", before), ("m", 0)]
    assert 2 * made.steps[0].noise.parameter == earlier.steps[1].noise.parameter
    assert [read.query.name for read in made.reads] == ["m"]


def test_gaussian_noise_beside_keys_that_take_the_whole_delta_is_refused_by_its_reason() -> None:
    count, total = {"name": "n", "statistic": "count"}, {"name": "z", "statistic": "count"}
    plain: dict[str, Any] = {"by": [], "mechanism": "laplace"}
    for spare, accounting in ((0, "auto"), (0, "pld"), (1e-7, "auto")):
        release = load(
            builders.spec(
                data={"path": "t.csv"},
                privacy={"epsilon": 1, "delta": 1e-6 + spare, "accounting": accounting},
                columns={"s": {"type": "string"}},
                query=[
                    count | {"by": ["s"], "partition_selection": {"delta": 1e-6}},
                    total | plain | {"name": "y"},
                    total | plain | {"mechanism": "gaussian"},
                ],
            )
        )
        if spare:
            certify(make_plan(release))
            continue
        with pytest.raises(Failure) as refused:
            make_plan(release)
        (complaint,) = refused.value.complaints
        assert (complaint.code, complaint.key) == ("E313", "query[2]")
        assert '"z" has no delta left for its gaussian noise: the selections' in complaint.message


def test_people_of_one_row_in_each_key_are_counted_by_values() -> None:
    made = plan(MEAN, privacy=PEOPLE | {"adjacency": "add-remove"})
    earlier = plan(MEAN, privacy=PEOPLE | {"adjacency": "add-remove"}, as_version_02=True)
    ((name, least),) = list_least(made)
    assert name == "m"
    assert 0 < least < compute_least_units(earlier.steps[0])


OTHERS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a count is asked for": ([MEAN, {"name": "n", "statistic": "count"}], {}),
    "the mean is of some rows": ([MEAN | {"where": "x > 1"}], {}),
    "the mean has Gaussian noise": ([MEAN | {"mechanism": "gaussian"}], {}),
    "the selection has a budget of its own": (
        [MEAN | {"partition_selection": {"delta": 1e-6, "epsilon": 0.5}}], {},
    ),
    "the mean has a budget of its own": (
        [MEAN | {"epsilon": 0.5}, {"name": "t", "statistic": "sum", "column": "x"}], {},
    ),
    "the mean has a target": (
        [MEAN | {"accuracy": {"within": 1, "records": 1000},
                 "partition_selection": {"delta": 1e-6, "epsilon": 0.5}}], {},
    ),
    "units have several rows in a key": (
        [MEAN], PEOPLE | {"bounding": BOUNDS | {"max_rows_per_unit_per_group": 2}}
    ),
    "no mean is asked for": ([{"name": "t", "statistic": "sum", "column": "x"}], {}),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", list(OTHERS))
def test_a_count_selects_as_before(case: str) -> None:
    queries, privacy = OTHERS[case]
    made, earlier = (plan(*queries, privacy=privacy, as_version_02=old) for old in (False, True))
    # The count's noise may be cut, which is newer.
    steps = [
        step if step.threshold is None else replace(step, noise=old.noise, threshold=old.threshold)
        for step, old in zip(made.steps, earlier.steps, strict=True)
    ]
    assert steps == list(earlier.steps)
    assert made.release == earlier.release
    assert sum(step.threshold is not None for step in made.steps) == 1


def test_other_queries_of_the_table_keep_their_share() -> None:
    queries = [MEAN, {"name": "t", "statistic": "median", "column": "x"}]
    made, earlier = (plan(*queries, as_version_02=old) for old in (False, True))
    (mean, other), (count, mean_before, other_before) = made.steps, earlier.steps
    assert mean.threshold is not None
    assert compute_least_units(mean) < compute_least_units(count)
    assert mean.noise.parameter < mean_before.noise.parameter
    assert other.loss.epsilon >= other_before.loss.epsilon
