"""Plans for units of several rows: all are certified, and none that is better than true."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import pytest
from builders import is_refused, with_step
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from thorough import examples, for_each

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.model import Bounding, Form, Loss, NoiseFamily, Plan, Sensitivity
from dprelease.planning.planner import make_plan

NINE = Fraction(9, 10)
ADJACENCIES = ["add-remove", "replace-one"]
ASKED: dict[str, dict[str, Any]] = {
    "count": {},
    "count_units": {},
    "count_distinct": {"column": "h"},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "stddev": {"column": "x"},
    "proportion": {"where": "y > 3"},
    "ratio": {
        "numerator": {"statistic": "sum", "column": "x", "where": "y > 2"},
        "denominator": {"statistic": "count"},
    },
    "histogram": {"column": "h"},
    "median": {"column": "x"},
    "quantile": {"column": "x", "q": [0.1, 0.25, 0.5, 0.9]},
    "min": {"column": "x"},
    "mode": {"column": "h"},
    "top_k": {"column": "h", "k": 2},
    "best": {
        "candidates": [1, 2, 3],
        "score": "CASE WHEN x > candidate THEN 1 ELSE 0 END",
        "score_upper": 4,
    },
}
ADDITIVE = {"count", "count_units", "count_distinct", "sum", "mean", "variance", "ratio"}


def plan(
    statistic: str,
    privacy: dict[str, Any],
    bounding: tuple[int, int, int] | None = None,
    bounds: tuple[int, int] = (-3, 40),
    groups: int = 0,
    **query: Any,
) -> Plan:
    rules: dict[str, Any] = {"unit": "row"}
    if bounding is not None:
        keys = ("max_rows_per_unit", "max_groups_per_unit", "max_rows_per_unit_per_group")
        rules = {
            "unit": "column",
            "unit_column": "p",
            "bounding": dict(zip(keys, bounding, strict=True)),
        }
    labels = ["a", "b", "c", "d"][:groups]
    spec: dict[str, Any] = builders.spec(
        privacy=rules | privacy,
        columns={
            "x": {"type": "integer", "lower": bounds[0], "upper": bounds[1], "source": "p"},
            "y": {"type": "integer", "lower": 0, "upper": 7, "source": "p"},
            "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
        },
        query=[{"name": "q", "statistic": statistic} | ASKED[statistic] | query],
    )
    if groups:
        spec["columns"]["g"] = {"type": "string", "keys": labels, "source": "p"}
        spec["query"][0]["by"] = ["g"]
    return make_plan(load(spec))


def with_less_noise(made: Plan) -> Plan:
    step = made.steps[0]
    if step.scheme is not None:
        rates = tuple(replace(each, rate=each.rate / NINE) for each in step.scheme.steps)
        noise = replace(step.noise, parameter=rates[0].rate)
        return with_step(made, scheme=replace(step.scheme, steps=rates), noise=noise)
    factor = 1 / NINE if step.form is Form.CHOICE else NINE
    return with_step(made, noise=replace(step.noise, parameter=step.noise.parameter * factor))


def claims_less(made: Plan, **changes: Any) -> Plan:
    less = with_step(made, loss=replace(made.steps[0].loss, **changes))
    return replace(less, loss=replace(made.loss, **changes))


def smaller(known: Sensitivity, form: Form) -> list[Sensitivity]:
    if form is Form.CHOICE:
        return [replace(known, choice_l1=known.choice_l1 - 1)]
    less = [replace(known, l1=known.l1 - 1)]
    if form is Form.NUMBERS:
        less.append(replace(known, l2_squared=known.l2_squared - 1))
    return less


@given(
    statistic=st.sampled_from(sorted(ASKED)),
    adjacency=st.sampled_from(ADJACENCIES),
    rows=st.integers(1, 30),
    share=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    groups=st.integers(0, 4),
    low=st.integers(-30, 30),
    width=st.sampled_from([1, 2, 5, 40, 10**5]),
    budget=st.sampled_from([{"epsilon": 1}, {"epsilon": 0.2, "delta": 1e-7}, {"rho": 0.1}]),
    people=st.booleans(),
)
@settings(max_examples=examples(30), deadline=None)
def test_every_plan_is_certified_and_none_with_less_noise(
    statistic: str,
    adjacency: str,
    rows: int,
    share: tuple[int, int],
    groups: int,
    low: int,
    width: int,
    budget: dict[str, Any],
    people: bool,
) -> None:
    bounding = (rows, min(share[0], rows), min(share[1], rows)) if people else None
    made = plan(statistic, {"adjacency": adjacency} | budget, bounding, (low, low + width), groups)
    assert certify(made).plan is made
    if made.steps[0].noise.family is not NoiseFamily.NONE:
        assert is_refused(with_less_noise(made))


LIMITS = [(1, 1, 1), (5, 2, 3), (12, 3, 12)]


@pytest.mark.one_in(8)
@for_each("statistic", sorted(set(ASKED) - {"ratio"}))
@for_each("adjacency", ADJACENCIES)
@for_each("groups", [0, 3])
@for_each("limits", LIMITS)
def test_no_understatement_is_certified(
    statistic: str, adjacency: str, groups: int, limits: tuple[int, int, int]
) -> None:
    """Sensitivities are attained, so that one less is wrong, and losses are spent in full."""
    made = plan(statistic, {"adjacency": adjacency, "epsilon": 1}, limits, groups=groups)
    step = made.steps[0]
    assert not is_refused(made)
    for less in smaller(step.sensitivity, step.form):
        assert is_refused(with_step(made, sensitivity=less))
    assert is_refused(claims_less(made, epsilon=step.loss.epsilon * Fraction(99, 100)))
    assert step.loss.rho is not None
    assert is_refused(claims_less(made, rho=step.loss.rho * Fraction(99, 100)))


@pytest.mark.one_in(13)
@for_each("statistic", sorted(ADDITIVE))
@for_each("adjacency", ADJACENCIES)
@for_each("limits", [(5, 1, 5), (5, 2, 3), (9, 4, 3)])
def test_gaussian_noise_for_people(
    statistic: str, adjacency: str, limits: tuple[int, int, int]
) -> None:
    privacy = {"adjacency": adjacency, "epsilon": 0.7, "delta": 1e-6}
    made = plan(statistic, privacy, limits, groups=3, mechanism="gaussian")
    assert not is_refused(made)
    assert is_refused(with_less_noise(made))
    assert is_refused(claims_less(made, epsilon=made.steps[0].loss.epsilon * NINE))


@pytest.mark.parametrize("statistic", sorted(ASKED))
def test_bounds_that_are_wider_than_planned_are_noticed(statistic: str) -> None:
    made = plan(statistic, {"adjacency": "add-remove", "epsilon": 1}, (6, 2, 3), groups=3)
    for wider in (Bounding(20, 3, 20), Bounding(20, 20, 3)):
        privacy = replace(made.release.privacy, bounding=wider)
        assert is_refused(replace(made, release=replace(made.release, privacy=privacy)))


@pytest.mark.parametrize("statistic", sorted(ASKED))
def test_the_plan_for_rows_is_none_for_people(statistic: str) -> None:
    made = plan(statistic, {"adjacency": "add-remove", "epsilon": 1}, groups=3)
    people = plan(statistic, {"adjacency": "add-remove", "epsilon": 1}, (6, 2, 3), groups=3)
    assert not is_refused(made)
    assert is_refused(replace(made, release=people.release))


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "row"},
        {"bounding": None},
        {"unit_column": None},
        {"unit_column": ""},
        {"bounding": Bounding(0, 1, 1)},
        {"unit": "row", "bounding": None},
        {"unit": "row", "unit_column": None},
        {"unit": "person"},
    ],
)
def test_units_are_bounded_where_they_are_a_columns_values(changes: dict[str, Any]) -> None:
    made = plan("count", {"adjacency": "add-remove", "epsilon": 100}, (1, 1, 1))
    assert not is_refused(made)
    privacy = replace(made.release.privacy, **changes)
    assert is_refused(replace(made, release=replace(made.release, privacy=privacy)))


def test_a_plan_without_noise_is_refused_for_people() -> None:
    """A unit may have no row, so that even the number of all rows tells of it."""
    free = plan("count", {"adjacency": "replace-one", "epsilon": 1})
    people = plan("count", {"adjacency": "replace-one", "epsilon": 1}, (1, 1, 1))
    assert not is_refused(free)
    assert free.steps[0].loss == Loss(Fraction(0), Fraction(0), Fraction(0))
    assert is_refused(replace(free, release=people.release))
