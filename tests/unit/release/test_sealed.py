"""Sealed bytes hold integers and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease import Failure
from dprelease.model import CENTRED, EACH, NoisyTable, Plan
from dprelease.planning.planner import make_plan
from dprelease.release.payload import Sealed, from_bytes, to_bytes
from dprelease.specfile import load

SPEC = Path(__file__).parents[3] / "release_specs" / "clinic_visits.toml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load(SPEC))


def draw_sealed(plan: Plan) -> Sealed:
    values = {
        step.query.name: tuple((at, -at, 2**80) for at, _ in enumerate(step.unit))
        for step in plan.steps
    }
    return Sealed(NoisyTable(values), {"a": "1", "b": "2"})


def test_what_is_read_is_what_was_written(plan: Plan) -> None:
    made = draw_sealed(plan)
    assert from_bytes(plan, to_bytes(plan, made)) == made


def test_integers_of_earlier_versions_have_the_first_layout(plan: Plan) -> None:
    content = json.loads(to_bytes(plan, draw_sealed(plan)))
    assert content.pop("layout") == 4
    assert from_bytes(plan, json.dumps(content).encode()).layout == 1


def test_what_was_drawn_for_other_noise_is_not_given_for_this_plan(plan: Plan) -> None:
    first, *others = plan.steps
    noise = replace(first.noise, parameter=2 * first.noise.parameter)
    other = replace(plan, steps=(replace(first, noise=noise), *others))
    with pytest.raises(Failure, match="E610"):
        from_bytes(other, to_bytes(plan, draw_sealed(plan)))


@pytest.mark.parametrize("wrong", ["1", 1.0, True, None, [1]])
def test_what_is_no_integer_is_refused_both_ways(plan: Plan, wrong: Any) -> None:
    made = draw_sealed(plan)
    name = plan.steps[0].query.name
    content = json.loads(to_bytes(plan, made))
    content["values"][name][0][1] = wrong
    with pytest.raises(TypeError):
        from_bytes(plan, json.dumps(content).encode())
    values = {**made.noisy.values, name: ((1, wrong),)}
    with pytest.raises(TypeError):
        to_bytes(plan, Sealed(NoisyTable(values), {}))


def test_what_was_mixed_along_other_axes_is_not_given_for_this_plan(plan: Plan) -> None:
    first, *others = plan.steps
    groups = len(first.query.groups)
    mixed, plain = (
        replace(plan, steps=(replace(first, axes=(axis,) * groups), *others))
        for axis in (CENTRED, EACH)
    )
    assert groups > 0
    payload = to_bytes(mixed, draw_sealed(mixed))
    assert from_bytes(mixed, payload) == draw_sealed(mixed)
    for other in (plain, plan):
        with pytest.raises(Failure, match="released with other noise"):
            from_bytes(other, payload)
