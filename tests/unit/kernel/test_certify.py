"""The second opinion accepts what the planner makes and refuses what is better than true."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import pytest
from builders import is_refused, with_step
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from thorough import examples

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import (
    Loss,
    Noise,
    NoiseFamily,
    Plan,
)
from dprelease.planning.planner import make_plan

NINE = Fraction(9, 10)


def make(
    statistic: str,
    adjacency: str,
    privacy: dict[str, Any],
    bounds: tuple[int, int] = (-3, 40),
    by: bool = True,
    mechanism: str = "auto",
) -> Plan:
    column = {} if statistic == "count" else {"column": "x"}
    spec: dict[str, Any] = builders.spec(
        privacy={"adjacency": adjacency} | privacy,
        columns={
            "g": {"type": "string", "keys": ["a", "b", "c"], "source": "public"},
            "x": {"type": "integer", "lower": bounds[0], "upper": bounds[1], "source": "p"},
        },
        query=[
            {
                "name": "q",
                "statistic": statistic,
                "by": ["g"] if by else [],
                "mechanism": mechanism,
            }
            | column
        ],
    )
    return make_plan(load(spec))


CASES = [
    (statistic, adjacency, by)
    for statistic in ("count", "sum", "mean")
    for adjacency in ("add-remove", "replace-one")
    for by in (True, False)
    if (statistic, adjacency, by) != ("count", "replace-one", False)
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("statistic", "adjacency", "by"), CASES)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_planned_noise_is_certified_and_less_noise_is_refused(
    statistic: str, adjacency: str, by: bool, mechanism: str
) -> None:
    privacy = {"epsilon": 0.7} if mechanism == "laplace" else {"epsilon": 0.7, "delta": 1e-6}
    made = make(statistic, adjacency, privacy, by=by, mechanism=mechanism)
    assert certify(made).plan is made
    noise = made.steps[0].noise
    assert is_refused(with_step(made, noise=replace(noise, parameter=noise.parameter * NINE)))


@given(
    low=st.integers(-1000, 1000),
    width=st.integers(1, 10**6),
    adjacency=st.sampled_from(["add-remove", "replace-one"]),
    statistic=st.sampled_from(["sum", "mean"]),
    by=st.booleans(),
    delta=st.sampled_from([0, 1e-9, 1e-5]),
)
@settings(max_examples=examples(40), deadline=None)
def test_every_plan_is_certified(
    low: int, width: int, adjacency: str, statistic: str, by: bool, delta: float
) -> None:
    mechanism = "gaussian" if delta else "laplace"
    privacy = {"epsilon": 1, "delta": delta}
    certify(make(statistic, adjacency, privacy, (low, low + width), by, mechanism))


def test_the_enumeration_finds_the_sensitivities_by_itself() -> None:
    made = make("mean", "replace-one", {"epsilon": 1})
    worst = bound_step_change(made.steps[0], made.release.privacy)
    assert (worst.l1, worst.shift.l2_squared) == (86, 2 * 43**2)


def test_a_wrong_adjacency_is_noticed() -> None:
    made = make("sum", "add-remove", {"epsilon": 1})
    release = make("sum", "replace-one", {"epsilon": 1}).release
    assert is_refused(replace(made, release=release))


def test_a_wider_transform_is_noticed() -> None:
    made = make("sum", "add-remove", {"epsilon": 1})
    assert is_refused(with_step(made, transform=((2,),)))


def test_a_query_without_noise_is_refused_unless_nothing_can_change() -> None:
    made = make("count", "add-remove", {"epsilon": 1})
    nothing = Noise(NoiseFamily.NONE, Fraction(0))
    assert is_refused(with_step(made, noise=nothing, loss=Loss(Fraction(0))))
    free = make("count", "replace-one", {"epsilon": 1}, by=False)
    assert certify(free).plan is free


def test_a_total_that_is_too_good_is_refused() -> None:
    made = make("count", "add-remove", {"epsilon": 1})
    assert is_refused(replace(made, loss=replace(made.loss, epsilon=Fraction(99, 100))))


def test_a_total_without_the_delta_of_its_parts_is_refused() -> None:
    """Although the epsilons add up."""
    made = make("count", "add-remove", {"epsilon": 1, "delta": 1e-6}, mechanism="gaussian")
    assert made.loss.delta > 0
    assert is_refused(replace(made, loss=replace(made.loss, delta=Fraction(0))))


def test_an_understated_rho_of_gaussian_noise_is_refused() -> None:
    """Though its epsilon and delta are right: later runs are added to its rho."""
    made = make("sum", "add-remove", {"epsilon": 1, "delta": 1e-6}, mechanism="gaussian")
    loss = made.steps[0].loss
    assert loss.rho is not None
    assert is_refused(with_step(made, loss=replace(loss, rho=loss.rho * Fraction(999, 1000))))
    assert is_refused(with_step(made, loss=replace(loss, rho=None)))
