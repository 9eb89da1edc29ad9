"""Accuracy targets: the least budget that meets them all, and what is said where none does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import pytest
from thorough import some

import dprelease
from dprelease import Failure
from dprelease.kernel.distributions.laws import find_halfwidth
from dprelease.model import Accuracy, NoiseFamily
from dprelease.planning.demanded_noise import compute_error
from dprelease.planning.planner import make_plan
from dprelease.release.plan import ReleasePlan
from dprelease.statistics.read_release import compute_constant_halfwidth


def spec(*queries: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    return builders.spec(
        release={"name": "targets"},
        privacy=privacy,
        columns={
            "g": {"type": "string", "keys": ["a", "b"]},
            "x": {"type": "integer", "lower": 0, "upper": 100, "nulls": 0},
        },
        query=[{"name": f"q{place}", "by": ["g"], **query} for place, query in enumerate(queries)],
    )


def plan_queries(*queries: dict[str, Any], **privacy: Any) -> ReleasePlan:
    return dprelease.plan(spec(*queries, **privacy))


def count(within: float, place: int = 0, **more: Any) -> dict[str, Any]:
    where = {"where": f"x > {place}"} if place else {}
    return {"statistic": "count", "accuracy": {"within": within}, **where, **more}


def test_a_count_takes_the_widest_noise_that_is_within() -> None:
    made = plan_queries(count(10))
    noise = made.steps[0].noise
    assert find_halfwidth(noise, Fraction(1, 20)) == 10
    wider = type(noise)(noise.family, noise.parameter * Fraction(1001, 1000))
    assert find_halfwidth(wider, Fraction(1, 20)) > 10
    assert made.epsilon == made.steps[0].loss.epsilon < Fraction(3, 10)


def test_the_confidence_is_that_of_the_target() -> None:
    sure = plan_queries({"statistic": "count", "accuracy": {"within": 10, "confidence": 0.99}})
    assert find_halfwidth(sure.steps[0].noise, Fraction(1, 100)) == 10
    assert sure.epsilon > plan_queries(count(10)).epsilon


@pytest.mark.parametrize(
    "query",
    [
        {"statistic": "sum", "column": "x", "accuracy": {"within": 500}},
        {"statistic": "mean", "column": "x", "accuracy": {"within": 2, "records": 1000}},
        {"statistic": "variance", "column": "x", "accuracy": {"within": 40, "records": 1000}},
        {"statistic": "proportion", "where": "x > 3", "accuracy": {"within": 0.1, "records": 200}},
        {"statistic": "mode", "column": "g", "by": [], "accuracy": {"within": 12}},
    ],
    ids=lambda query: query["statistic"],
)
def test_every_kind_of_figure_meets_its_target(query: dict[str, Any]) -> None:
    made = plan_queries(query)
    (read,) = made.reads
    wanted = read.query.accuracy
    assert isinstance(wanted, Accuracy)
    error = compute_error(read, made.step(read), wanted)
    assert error is not None
    assert error <= wanted.within
    weaker = plan_queries(
        {
            **{key: value for key, value in query.items() if key != "accuracy"},
            "epsilon": round(float(made.epsilon) * 0.9, 6),
        }
    )
    worse = compute_error(weaker.reads[0], weaker.steps[0], wanted)
    assert worse is not None
    assert worse > wanted.within


def test_what_is_left_goes_to_the_others() -> None:
    stated = {"statistic": "count", "where": "x > 1", "epsilon": 0.25}
    made = plan_queries(count(10), stated, {"statistic": "mean", "column": "x"}, epsilon=1)
    target, own, other = made.steps
    assert target.loss.epsilon + other.loss.epsilon == Fraction(3, 4)
    assert own.loss.epsilon == Fraction(1, 4)
    assert target.loss == plan_queries(count(10)).steps[0].loss


def test_many_targets_take_gaussian_noise_where_a_delta_allows_it() -> None:
    queries = [count(50, place) for place in range(1, 31)]
    pure = plan_queries(*queries)
    made = plan_queries(*queries, delta=1e-6, epsilon=10)
    assert {step.noise.family for step in made.steps} == {NoiseFamily.GAUSSIAN}
    assert made.epsilon < pure.epsilon * Fraction(6, 10)


def test_targets_share_a_release_only_if_that_costs_less() -> None:
    alone = plan_queries(
        count(10), {"statistic": "mean", "column": "x", "accuracy": {"within": 20, "records": 1000}}
    )
    assert len(alone.steps) == 2
    together = plan_queries(
        count(10),
        {"statistic": "mean", "column": "x", "accuracy": {"within": 0.4, "records": 1000}},
    )
    assert len(together.steps) == 1
    assert all(
        (error := compute_error(read, together.step(read), read.query.accuracy)) is not None
        and error <= read.query.accuracy.within
        for read in together.reads
        if read.query.accuracy is not None
    )


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"statistic": "count", "accuracy": {"within": 0}}, "E240"),
        ({"statistic": "count", "accuracy": {"within": -1}}, "E240"),
        ({"statistic": "count", "accuracy": {"within": 10, "confidence": 1}}, "E240"),
        ({"statistic": "count", "accuracy": {"within": 10, "confidence": 0.2}}, "E240"),
        ({"statistic": "count", "accuracy": {"within": 10, "records": 5}}, "E240"),
        ({"statistic": "mean", "column": "x", "accuracy": {"within": 1}}, "E240"),
        ({"statistic": "count", "accuracy": {"confidence": 0.9}}, "E110"),
        ({"statistic": "count", "accuracy": {"within": 10}, "epsilon": 1}, "E224"),
        ({"statistic": "count", "accuracy": {"within": 10}, "weight": 1}, "E224"),
        ({"statistic": "count", "accuracy": {"with": 10}}, "E102"),
        ({"statistic": "count", "accuracy": 10}, "E103"),
    ],
)
def test_targets_that_mean_nothing_are_refused(query: dict[str, Any], code: str) -> None:
    with pytest.raises(Failure) as caught:
        dprelease.load(spec(query, epsilon=1))
    assert code in {complaint.code for complaint in caught.value.complaints}


# --- what a target is of ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {"statistic": "median", "column": "x", "accuracy": {"within": 50}},
        {"statistic": "quantile", "column": "x", "q": [0.1, 0.5], "accuracy": {"within": 50}},
        {"statistic": "max", "column": "x", "accuracy": {"within": 50}},
    ],
    ids=lambda query: query["statistic"],
)
def test_targets_of_quantiles_are_in_ranks(query: dict[str, Any]) -> None:
    made = plan_queries(query)
    (read,) = made.reads
    wanted = read.query.accuracy
    assert isinstance(wanted, Accuracy)
    assert compute_error(read, made.step(read), wanted) == 50
    less = {"epsilon": round(float(made.epsilon) * 0.99, 6)}
    with pytest.raises(Failure, match="E318"):
        plan_queries(query, **less)


@pytest.mark.thorough
def test_a_count_that_selects_private_keys_meets_its_target() -> None:
    def selecting(**privacy: Any) -> ReleasePlan:
        query = {
            "statistic": "count",
            "by": ["z"],
            "accuracy": {"within": 10},
            "partition_selection": {"delta": 1e-8},
        }
        named = spec(query, **privacy)
        named["columns"]["z"] = {"type": "string"}
        return dprelease.plan(named)

    made = selecting()
    assert find_halfwidth(made.steps[0].noise, Fraction(1, 20)) == 10
    assert made.steps[0].threshold is not None
    assert selecting(epsilon=5, delta=1e-8).epsilon == made.epsilon
    with pytest.raises(Failure, match="E311"):
        selecting(epsilon=0.01, delta=1e-8)


def test_under_a_rho_targets_take_the_least_rho() -> None:
    made = plan_queries(count(10), rho=0.03, delta=1e-6)
    gaussian = plan_queries(count(10, mechanism="gaussian"), rho=1, delta=1e-6)
    assert made.loss.rho is not None
    assert gaussian.loss.rho == made.loss.rho < Fraction(2, 100)


@pytest.mark.parametrize("budget", ["epsilon", "rho"])
def test_the_total_that_a_refusal_names_will_do(budget: str) -> None:
    queries = [count(10), count(3, 5), {**count(10, 7), "mechanism": "laplace"}]
    total: dict[str, Any] = {budget: 0.001, "delta": 1e-7}
    with pytest.raises(Failure, match="E318") as refused:
        plan_queries(*queries, **total)
    (complaint,) = refused.value.complaints
    needed = str(complaint.hint).split()[3]
    assert f"take {budget} {needed} together" in complaint.message
    assert f"a total of {needed} meets them" in str(complaint.hint)
    plan_queries(*queries, **total | {budget: float(needed)})
    with pytest.raises(Failure, match="E318"):
        plan_queries(*queries, **total | {budget: 0.998 * float(needed)})


def test_beside_weights_more_than_the_named_total_is_needed() -> None:
    queries = [count(10), {"statistic": "sum", "column": "x"}]
    with pytest.raises(Failure, match=r"a total of more than 0\.284349 meets them"):
        plan_queries(*queries, epsilon=0.1, delta=1e-6)
    for more in ("0.284351", "0.2845", "0.3"):
        made = plan_queries(*queries, epsilon=float(more), delta=1e-6)
        assert Fraction("0.2843") < made.epsilon <= Fraction(more)


def test_deltas_of_queries_may_use_up_the_total() -> None:
    stated = {"statistic": "sum", "column": "x", "epsilon": 0.2, "delta": 1e-7}
    for accounting in some(("auto", "zcdp", "pld"), 3):
        weighted = [{"statistic": "count", "where": f"x > {place}"} for place in range(20)]
        made = plan_queries(stated, *weighted, epsilon=3, delta=1e-7, accounting=accounting)
        assert Fraction(299, 100) < made.epsilon <= 3
        targeted = [count(100, place) for place in range(20)]
        plan_queries(stated, *targeted, epsilon=20, delta=1e-7, accounting=accounting)


def test_each_set_of_targets_shares_if_it_gains_by_that() -> None:
    alike = [
        count(10),
        {"statistic": "sum", "column": "x", "accuracy": {"within": 600}},
        {"statistic": "mean", "column": "x", "accuracy": {"within": 0.6, "records": 1000}},
    ]
    unlike = [
        {"statistic": "count", "by": [], "accuracy": {"within": 100}},
        {"statistic": "sum", "column": "x", "by": [], "accuracy": {"within": 100}},
    ]
    first, second, both = plan_queries(*alike), plan_queries(*unlike), plan_queries(*alike, *unlike)
    assert {read.step for read in first.reads} != {read.query.name for read in first.reads}
    assert both.epsilon <= first.epsilon + second.epsilon


@pytest.mark.parametrize(
    ("queries", "spent"),
    [
        ([{"by": ["k"], "accuracy": {"within": 400}}, {"accuracy": {"within": 700}}], "0.011757"),
        (
            [
                {
                    "statistic": "mean",
                    "column": "y",
                    "accuracy": {"within": 5000, "records": 10000},
                },
                {"statistic": "sum", "column": "y", "accuracy": {"within": 20_000_000}},
            ],
            "0.205650",
        ),
    ],
)
def test_targets_of_sums_take_the_noise_that_they_took(
    queries: list[dict[str, Any]], spent: str
) -> None:
    """So runs that version 0.2 charged are found again."""
    release = dprelease.load(
        builders.spec(
            data={"path": "t.csv"},
            privacy={"epsilon": 2},
            columns={
                "k": {
                    "type": "string",
                    "keys": ["p", "q", "r"],
                    "other": "other",
                    "nulls": "other",
                },
                "y": {"type": "integer", "lower": -(10**6), "upper": 10**6},
            },
            query=[
                {"name": f"q{place}", "statistic": "count"} | query
                for place, query in enumerate(queries)
            ],
        )
    )
    plan = make_plan(release)
    assert f"{float(plan.loss.epsilon):.6f}" == spent
    for read in plan.reads:
        half = compute_constant_halfwidth(read, plan, Fraction(95, 100))
        assert read.query.accuracy is not None
        assert half is None or half <= read.query.accuracy.within
