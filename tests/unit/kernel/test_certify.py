"""Certification accepts what the planner makes, and refuses whatever claims less than is true.

Here are the plans of every statistic, for rows and for people, by public and by private keys, with
and without survey weights, of each kind of budget: accepted as they are, refused with less noise, a
smaller sensitivity or a smaller loss. What else may change in a plan is in test_certify_fields.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import builders
import pytest
from builders import is_refused, with_step
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from thorough import examples, for_each, is_in_diagonal

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.model import Bounding, Form, Loss, NoiseFamily, Plan, Step
from dprelease.planning.planner import make_plan

NINE_TENTHS, LESS = Fraction(9, 10), Fraction(99, 100)
QUERIES: dict[str, dict[str, Any]] = {
    "count": {},
    "count_units": {},
    "count_distinct": {"column": "h"},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "stddev": {"column": "x"},
    "proportion": {"where": "y > 3"},
    "ratio": {"numerator": {"column": "x", "where": "y > 2"}, "denominator": {}},
    "histogram": {"column": "h"},
    "median": {"column": "x"},
    "quantile": {"column": "x", "q": [0.1, 0.25, 0.5, 0.9]},
    "max": {"column": "x", "where": "y > 3"},
    "mode": {"column": "h"},
    "top_k": {"column": "h", "k": 2, "mechanism": "exponential"},
    "best": {
        "candidates": [1, 2, 3],
        "score": "CASE WHEN x > candidate THEN 1 ELSE 0 END",
        "score_upper": 4,
    },
}
WEIGHTED = {"count", "sum", "mean", "proportion", "ratio", "histogram", "median", "quantile"}
LIMITS = [None, (1, 1, 1), (5, 2, 3), (12, 3, 12), (9, 4, 3)]
BOUNDS = [(-3, 40), (0, 1), (2, 201), (-1000, 10**5)]
BUDGETS: list[dict[str, Any]] = [
    {"epsilon": 1},
    {"epsilon": 0.7, "delta": 1e-6},
    {"rho": 0.1, "delta": 1e-6},
    {"epsilon": 8, "delta": 1e-4, "accounting": "zcdp"},
]
ATTAINED = {
    Form.NUMBERS: ("l1", "l2_squared"),
    Form.CHOICE: ("choice_l1",),
    Form.QUANTILES: ("l1",),
}
ADJACENCIES = ["add-remove", "replace-one"]
KEYS = ["none", "public", "private"]


def plan(
    statistic: str,
    adjacency: str = "add-remove",
    limits: tuple[int, int, int] | None = None,
    keys: str = "none",
    budget: dict[str, Any] = BUDGETS[0],
    bounds: tuple[int, int] = BOUNDS[0],
    weighted: bool = False,
) -> Plan:
    """Plan a query of a statistic."""
    privacy: dict[str, Any] = {"adjacency": adjacency} | budget
    if limits is not None:
        names = ("max_rows_per_unit", "max_groups_per_unit", "max_rows_per_unit_per_group")
        bounding = dict(zip(names, limits, strict=True))
        privacy |= {"unit": "column", "unit_column": "p", "bounding": bounding}
    query = {"name": "q", "statistic": statistic} | QUERIES[statistic]
    if keys != "none":
        query["by"] = ["g"]
    if keys == "private":
        query["partition_selection"] = {"delta": 1e-8}
        privacy.setdefault("delta", 1e-6)
    group = {"keys": ["a", "b", "c"], "source": "p"} if keys != "private" else {}
    columns: dict[str, Any] = {
        "g": {"type": "string"} | group,
        "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
        "x": {"type": "integer", "lower": bounds[0], "upper": bounds[1], "source": "p"},
        "y": {"type": "integer", "lower": 0, "upper": 7, "source": "p", "nulls": 0},
    }
    data: dict[str, Any] = {"path": "t.csv"}
    if weighted:
        columns["w"] = {"type": "integer", "lower": 10, "upper": 500, "source": "p", "nulls": 20}
        data["weight"] = "w"
    return make_plan(
        load(builders.spec(data=data, privacy=privacy, columns=columns, query=[query]))
    )


def with_less_noise(step: Step) -> dict[str, Any]:
    """Give what changes in a step with nine tenths of its noise."""
    if step.scheme is not None:
        rates = tuple(replace(each, rate=each.rate / NINE_TENTHS) for each in step.scheme.steps)
        noise = replace(step.noise, parameter=rates[0].rate)
        return {"scheme": replace(step.scheme, steps=rates), "noise": noise}
    factor = 1 / NINE_TENTHS if step.form is Form.CHOICE else NINE_TENTHS
    return {"noise": replace(step.noise, parameter=step.noise.parameter * factor)}


def understate(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Give the plan with each claim that is less than true, and what was changed."""
    for at, step in enumerate(plan.steps):
        known, loss = step.sensitivity, step.loss
        if step.noise.family is NoiseFamily.NONE:
            continue
        changes = {"noise": with_less_noise(step)}
        if step.query.statistic != "ratio":  # whose sensitivity is an upper bound
            for name in ATTAINED[step.form]:
                less = replace(known, **{name: getattr(known, name) - 1})
                changes[name] = {"sensitivity": less}
        changes["epsilon"] = {"loss": replace(loss, epsilon=loss.epsilon * NINE_TENTHS)}
        if loss.rho is not None and step.query.statistic != "ratio":
            changes["rho"] = {"loss": replace(loss, rho=loss.rho * LESS)}
        if loss.delta:
            changes["delta"] = {"loss": replace(loss, delta=loss.delta / 10)}
        if step.threshold is not None:
            changes["threshold"] = {"threshold": step.threshold - 1}
        for what, change in changes.items():
            yield f"{what} of step {at}", with_step(plan, at=at, **change)
    if plan.loss.epsilon and plan.method == "basic":  # else it is composed, and rounded up
        total = replace(plan.loss, epsilon=plan.loss.epsilon * NINE_TENTHS)
        yield "epsilon of the total", replace(plan, loss=total)
    if plan.loss.delta and plan.method == "basic":
        yield "delta of the total", replace(plan, loss=replace(plan.loss, delta=Fraction(0)))


CASES = [
    (statistic, adjacency, limits, keys, budget, BOUNDS[place // 8 % 4], weighted)
    for place, (statistic, adjacency, limits, keys, budget, weighted) in enumerate(
        product(QUERIES, ADJACENCIES, LIMITS, KEYS, BUDGETS, [False, True])
    )
    if not weighted or statistic in WEIGHTED
    if (keys != "private" or budget in BUDGETS[:2]) and is_in_diagonal(place, 6)
]


@pytest.mark.one_in(18)
@for_each(
    ("statistic", "adjacency", "limits", "keys", "budget", "bounds", "weighted"),
    CASES,
)
def test_plans_are_certified_and_no_understatement_is(
    statistic: str,
    adjacency: str,
    limits: tuple[int, int, int] | None,
    keys: str,
    budget: dict[str, Any],
    bounds: tuple[int, int],
    weighted: bool,
) -> None:
    """Sensitivities are attained, so that one less is wrong, and losses are spent in full."""
    made = plan(statistic, adjacency, limits, keys, budget, bounds, weighted)
    assert certify(made).plan is made
    assert [what for what, changed in understate(made) if not is_refused(changed)] == []


@given(
    statistic=st.sampled_from(sorted(QUERIES)),
    adjacency=st.sampled_from(ADJACENCIES),
    rows=st.integers(1, 30),
    share=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    keys=st.sampled_from(KEYS[:2]),
    low=st.integers(-1000, 1000),
    width=st.sampled_from([1, 2, 5, 40, 199, 200, 10**5, 10**6]),
    budget=st.sampled_from(BUDGETS),
    people=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_every_plan_is_certified_and_none_with_less_noise(
    statistic: str,
    adjacency: str,
    rows: int,
    share: tuple[int, int],
    keys: str,
    low: int,
    width: int,
    budget: dict[str, Any],
    people: bool,
) -> None:
    limits = (rows, min(share[0], rows), min(share[1], rows)) if people else None
    made = plan(statistic, adjacency, limits, keys, budget, (low, low + width))
    assert certify(made).plan is made
    if made.steps[0].noise.family is not NoiseFamily.NONE:
        assert is_refused(with_step(made, **with_less_noise(made.steps[0])))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("statistic", QUERIES)
@pytest.mark.parametrize("keys", ["public", "private"])
def test_a_plan_is_refused_for_wider_limits_or_for_people(statistic: str, keys: str) -> None:
    rows, people = (plan(statistic, limits=limits, keys=keys) for limits in (None, (6, 2, 3)))
    assert is_refused(replace(rows, release=people.release))
    for wider in (Bounding(20, 3, 20), Bounding(20, 20, 3)):
        privacy = replace(people.release.privacy, bounding=wider)
        assert is_refused(replace(people, release=replace(people.release, privacy=privacy)))


def test_a_number_of_all_rows_is_no_secret_of_rows_but_of_people() -> None:
    """A unit may have no row, so that even the number of all rows tells of it."""
    free = plan("count", "replace-one")
    assert certify(free).plan is free
    assert free.steps[0].loss == Loss(Fraction(0), Fraction(0), Fraction(0))
    people = plan("count", "replace-one", limits=(1, 1, 1))
    assert is_refused(replace(free, release=people.release))
