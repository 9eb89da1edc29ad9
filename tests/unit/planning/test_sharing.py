"""Which queries share a release, what it has of the budget, and how each is read from it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from builders import spec

import dprelease
from dprelease.language import word
from dprelease.model import Reading
from dprelease.planning.budgets import Demand
from dprelease.planning.shared_releases import build_drafts, compute_fractions
from dprelease.release.plan import ReleasePlan

COUNT = {"statistic": "count", "by": ["g"]}
SUM = {"statistic": "sum", "column": "x", "by": ["g"]}
MEAN = {"statistic": "mean", "column": "x", "by": ["g"]}
VARIANCE = {"statistic": "variance", "column": "x", "by": ["g"]}
BY_BOTH = {"statistic": "count", "by": ["g", "s"]}


def plan_queries(*queries: dict[str, Any], columns: Any = None, **privacy: Any) -> ReleasePlan:
    return dprelease.plan(
        spec(
            release={"name": "shared"},
            privacy={"epsilon": 1} | privacy,
            columns={
                "g": {"type": "string", "keys": ["a", "b"]},
                "s": {"type": "string", "keys": ["m", "f"], "other": "other", "nulls": "other"},
                "x": {"type": "integer", "lower": 0, "upper": 100},
                "y": {"type": "integer", "lower": 10, "upper": 20, "nulls": 10},
            }
            | (columns or {}),
            query=[{"name": f"q{place}", **query} for place, query in enumerate(queries)],
        )
    )


def list_shares(made: ReleasePlan) -> list[tuple[str, ...]]:
    return [tuple(query.name for query in made.list_readers(step)) for step in made.steps]


def test_count_sum_and_mean_of_a_column_are_one_release_at_the_whole_budget() -> None:
    made = plan_queries(COUNT, SUM, MEAN)
    assert list_shares(made) == [("q0", "q1", "q2")]
    (step,) = made.steps
    assert step.query.name == "q2"
    assert step.loss.epsilon == 1
    # two sums, and one for records without a value: a record adds exactly 100 to one or two
    assert step.sensitivity.l1 == 100
    assert step.transform == ((0, 1, 0), (100, -1, 0), (-100, 0, 100))
    assert step.noise.parameter == 100
    count, total, mean = made.reads
    assert (count.rows, count.factors) == ((0, 1, 2), (Fraction(1, 100),) * 3)
    assert count.screened
    assert (total.rows, total.factors) == ((0, 1), (1, 0))
    assert (mean.reading, mean.rows) == (Reading.OWN, (0, 1))


def test_a_column_without_nulls_needs_no_sum_for_them() -> None:
    made = plan_queries(COUNT, {**MEAN, "column": "y"}, {**SUM, "column": "y"})
    (step,) = made.steps
    assert step.transform == ((-10, 1), (20, -1))
    count, _, total = made.reads
    assert (count.rows, count.screened) == ((0, 1), False)
    assert total.factors == (2, 1)  # sum = A + 10 (A + B)/10


def test_nulls_that_are_expected_are_counted_without_a_screen() -> None:
    column = {"type": "integer", "lower": 0, "upper": 100, "nulls": "drop"}
    made = plan_queries(COUNT, MEAN, columns={"x": column})
    assert made.reads[0].rows == (0, 1, 2)
    assert not made.reads[0].screened


def test_all_four_come_from_the_three_sums_of_a_variance() -> None:
    made = plan_queries(COUNT, SUM, MEAN, VARIANCE)
    (step,) = made.steps
    assert step.query.statistic == "variance"
    assert step.sensitivity.l1 == 100**2
    readings = [read.reading for read in made.reads]
    assert readings == [Reading.LINEAR, Reading.LINEAR, Reading.MOMENTS, Reading.OWN]
    assert made.reads[1].factors == (0, Fraction(1, 200), Fraction(1, 100))


def test_equal_queries_are_released_once() -> None:
    other_rows = {**COUNT, "where": "x > 1", "mechanism": "laplace"}
    made = plan_queries(COUNT, COUNT, {**COUNT, "table": "again"}, other_rows)
    assert list_shares(made) == [("q0", "q1", "q2"), ("q3",)]


@pytest.mark.parametrize(
    "other",
    [
        {**MEAN, "by": []},
        {**MEAN, "where": "x > 3"},
        {**MEAN, "mechanism": "laplace"},
        {**MEAN, "epsilon": 0.5},
    ],
)
def test_other_rows_groups_noise_or_terms_are_not_shared(other: dict[str, Any]) -> None:
    assert len(plan_queries(COUNT, other).steps) == 2


def test_stated_budgets_add_up() -> None:
    made = plan_queries({**COUNT, "epsilon": 0.25}, {**MEAN, "epsilon": 0.75})
    (step,) = made.steps
    assert step.loss.epsilon == 1
    assert made.epsilon == 1


def test_a_count_goes_with_one_column_only() -> None:
    laplace = {"mechanism": "laplace"}
    made = plan_queries(COUNT | laplace, MEAN | laplace, {**MEAN, "column": "y"} | laplace)
    assert sorted(list_shares(made)) == [("q0", "q2"), ("q1",)]  # y needs no sum for nulls


def test_a_sum_far_from_zero_is_shared_only_where_it_gains() -> None:
    column = {"type": "integer", "lower": 990, "upper": 1000, "nulls": 990}
    lopsided = plan_queries(
        {**COUNT, "weight": 0.001}, {**SUM, "column": "z", "weight": 10}, columns={"z": column}
    )
    assert len(lopsided.steps) == 2


def test_a_coarser_count_is_added_up_from_a_finer_one() -> None:
    made = plan_queries(COUNT, BY_BOTH)
    (step,) = made.steps
    assert step.query.name == "q1"
    assert step.loss.epsilon == 1
    coarse = made.reads[0]
    assert (coarse.reading, coarse.merged) == (Reading.LINEAR, (1,))


def test_a_finer_count_that_drops_records_is_no_source() -> None:
    column = {"type": "string", "keys": ["m", "f"]}
    release = plan_queries(COUNT, BY_BOTH, columns={"s": column}).release
    assert len(build_drafts(release)) == 2


def test_many_finer_cells_are_noisier_than_a_share_of_its_own() -> None:
    column = {"type": "string", "keys": [f"k{i}" for i in range(40)], "other": "o", "nulls": "o"}
    assert len(plan_queries(COUNT, BY_BOTH, columns={"s": column}).steps) == 2


def test_people_have_other_rows_in_other_groups() -> None:
    made = plan_queries(
        COUNT,
        BY_BOTH,
        unit="column",
        unit_column="p",
        bounding={"max_rows_per_unit": 2, "max_groups_per_unit": 1},
        columns={"p": {"type": "string"}},
    )
    assert len(made.steps) == 2
    assert made.strategies == ()


def test_shares_of_the_joint_intensity() -> None:
    half = Fraction(1, 2)
    assert compute_fractions([Demand()] * 2, pure=True) == [half, half]
    budgets = [Demand(epsilon=Fraction(1, 4)), Demand(epsilon=Fraction(3, 4))]
    quarter, rest = compute_fractions(budgets, pure=True)
    assert (quarter, rest) == (Fraction(1, 4), Fraction(3, 4))
    squares = [each**2 for each in compute_fractions([Demand()] * 4, pure=False)]
    assert all(float(each) == pytest.approx(1 / 4) for each in squares)
    small, large = compute_fractions([Demand(), Demand(weight=Fraction(8))], pure=True)
    assert (small, large) == (Fraction(1, 3), Fraction(2, 3))


def test_equal_queries_in_different_terms_are_told_of() -> None:
    made = plan_queries(COUNT | {"epsilon": 0.5}, COUNT | {"accuracy": {"within": 10}}, SUM)
    assert any(word(note).startswith("q0 and q1 ask the same") for note in made.notes)
    assert not any("ask the same" in word(note) for note in plan_queries(COUNT, COUNT, SUM).notes)
