"""Where a staircase takes the place of Laplace noise, what it gains there, and that it may."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import builders
import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease import Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.composition.confirm import collect_events
from dprelease.kernel.distributions.laws import compute_noise_variance, find_halfwidth
from dprelease.mechanisms.mechanism_registry import get_law
from dprelease.mechanisms.staircase import STAIRCASE, choose_staircase, iter_stairs
from dprelease.model import Noise, NoiseFamily, Plan, Sensitivity
from dprelease.model.privacy_events import Pure
from dprelease.planning.planner import make_plan
from dprelease.planning.shared_releases import build_drafts

SUM = {"name": "q", "statistic": "sum", "column": "x"}
PEOPLE = {"unit": "column", "unit_column": "p"}
STEPS = Noise(NoiseFamily.STAIRCASE, Fraction(25), 100, 20)


def spec(*queries: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    return builders.spec(
        privacy={"epsilon": 4} | privacy,
        columns={
            "g": {"type": "string", "keys": ["a", "b"]},
            "h": {"type": "string", "keys": ["u", "v", "w"]},
            "s": {"type": "string"},
            "x": {"type": "integer", "lower": 0, "upper": 100},
            "y": {"type": "integer", "lower": -30, "upper": 100, "nulls": 0},
        },
        query=list(queries),
    )


def planned(*queries: dict[str, Any], **privacy: Any) -> Plan:
    """A plan that is certified."""
    made = make_plan(load(spec(*queries, **privacy)))
    assert certify(made).plan is made
    return made


def noises(*queries: dict[str, Any], **privacy: Any) -> list[Noise]:
    return [step.noise for step in planned(*queries, **privacy).steps]


def bounded(rows: int, groups: int, **more: Any) -> dict[str, Any]:
    limits = {"max_rows_per_unit": rows, "max_groups_per_unit": groups}
    return PEOPLE | {"bounding": limits} | more


@pytest.mark.parametrize(
    ("epsilon", "at_most"), [(1, 0.98), (2, 0.92), (3, 0.83), (4, 0.722), (8, 0.33)]
)
def test_what_a_sum_gains(epsilon: int, at_most: float) -> None:
    (noise,) = noises(SUM, epsilon=epsilon)
    laplace = Noise(NoiseFamily.LAPLACE, Fraction(100, epsilon))
    assert noise.family is NoiseFamily.STAIRCASE
    assert (noise.parameter, noise.stair) == (laplace.parameter, 100)
    assert sqrt(compute_noise_variance(noise) / compute_noise_variance(laplace)) <= at_most
    assert find_halfwidth(noise, Fraction(1, 20)) <= find_halfwidth(laplace, Fraction(1, 20))
    others = (replace(noise, first=first) for first in range(1, 101))
    assert compute_noise_variance(noise) == min(map(compute_noise_variance, others))


def test_a_plan_costs_and_claims_what_it_did() -> None:
    plain, fine = (planned(SUM | more) for more in ({"mechanism": "laplace"}, {}))
    assert plain.steps[0].noise == Noise(NoiseFamily.LAPLACE, Fraction(25))
    assert fine.steps[0].noise == STEPS
    assert (fine.loss, fine.method, fine.steps[0].loss) == (
        plain.loss, plain.method, plain.steps[0].loss,
    )  # fmt: skip
    assert collect_events(fine) == [(Pure(Fraction(4)), 1)]


@pytest.mark.parametrize(
    ("query", "privacy"),
    [
        (SUM, {"epsilon": 0.5}),
        ({"name": "q", "statistic": "count", "by": ["g"]}, {"epsilon": 8}),
        ({"name": "q", "statistic": "mean", "column": "x"}, {}),
        ({"name": "q", "statistic": "variance", "column": "x"}, {}),
        (SUM | {"mechanism": "laplace"}, {}),
        (SUM | {"accuracy": {"within": 100}}, {}),
        (SUM | {"by": ["g", "h"]}, bounded(3, 3, epsilon=8)),
        ({"name": "q", "statistic": "top_k", "column": "h", "k": 2}, {"epsilon": 9}),
    ],
)
def test_where_it_stays_as_it_was(query: dict[str, Any], privacy: dict[str, Any]) -> None:
    assert not any(noise.stair for noise in noises(query, **privacy))


def test_keys_are_selected_as_before_and_sums_of_them_are_fine() -> None:
    selection = {"by": ["s"], "partition_selection": {"delta": 1e-8}}
    count = {"name": "n", "statistic": "count"} | selection
    first, second = noises(count, SUM | selection, epsilon=8, delta=1e-6, accounting="auto")
    assert first.family is NoiseFamily.LAPLACE
    assert second.stair == 100


def test_counts_of_people_with_several_rows_gain_too() -> None:
    (noise,) = noises({"name": "q", "statistic": "count", "by": ["g"]}, **bounded(3, 1))
    assert (noise.family, noise.stair, noise.parameter) == (
        NoiseFamily.STAIRCASE, 3, Fraction(3, 4),
    )  # fmt: skip


def test_what_is_added_up_needs_a_law_whose_sums_are_known() -> None:
    fine = {"name": "a", "statistic": "count", "by": ["g", "k"]}
    given = spec(fine, {"name": "b", "statistic": "count", "by": ["g"]}, SUM)
    given["columns"]["k"] = {"type": "string", "keys": ["c"], "other": "rest", "nulls": "rest"}
    added_up, single = build_drafts(load(given))
    assert any(read.merged for read in added_up.reads)
    assert not added_up.one_draw
    assert single.one_draw


@for_each("adjacency", ["add-remove", "replace-one"])
@for_each("by", [[], ["g"], ["g", "h"]])
@for_each("column", ["x", "y"])
@for_each("bounds", [{}, bounded(1, 1), bounded(4, 1), bounded(3, 2), bounded(4, 2)])
def test_the_planner_and_certify_agree_on_the_stairs(
    adjacency: str, by: list[str], column: str, bounds: dict[str, Any]
) -> None:
    """Certify counts crossings by its own shapes: what the planner takes, it confirms."""
    query = SUM | {"by": by, "column": column}
    made = planned(query, epsilon=12, adjacency=adjacency, **bounds)
    (step,) = made.steps
    assert step.loss.epsilon == step.sensitivity.l1 / step.noise.parameter == 12
    events = collect_events(made)
    assert sum((count * event.epsilon for event, count in events if step.noise.stair), 0) \
        in {0, 12}  # fmt: skip
    if not step.noise.stair:
        return
    for bad in (
        replace(step.noise, parameter=step.noise.parameter * Fraction(99, 100)),
        replace(step.noise, stair=step.noise.stair - 1),
        replace(step.noise, stair=step.noise.stair + 1),
        replace(step.noise, first=0),
        replace(step.noise, first=step.noise.stair + 1),
    ):
        with pytest.raises(Failure, match="could not be certified"):
            certify(replace(made, steps=(replace(step, noise=bad),)))


def test_stairs_are_those_at_which_no_change_costs_more() -> None:
    def found(l1: int, *shapes: tuple[int, ...]) -> list[int]:
        return sorted(iter_stairs(Sensitivity(l1, l1 * l1, 2, shapes)))

    assert found(100, (100,)) == [100]
    assert found(200, (100, 100), (130,)) == [100]
    assert found(30, (20, 10)) == [10]
    assert found(10, (10,), (7, 3)) == []
    assert found(10) == []


def test_a_staircase_is_taken_for_a_hundredth_of_the_error() -> None:
    sensitivity = Sensitivity(100, 100**2, 1, ((100,),))
    for epsilon, family in (("0.69", NoiseFamily.LAPLACE), ("0.7", NoiseFamily.STAIRCASE)):
        laplace = Noise(NoiseFamily.LAPLACE, 100 / Fraction(epsilon))
        assert choose_staircase(laplace, sensitivity).family is family
    wide = Sensitivity(1 << 62, 1 << 124, 1, ((1 << 62,),))
    laplace = Noise(NoiseFamily.LAPLACE, Fraction(1 << 60))
    assert choose_staircase(laplace, wide) == laplace


def test_with_a_delta_the_better_kind_is_taken_by_what_it_will_be() -> None:
    """Two sums: at 2 each a staircase errs less than Laplace noise that composes tightly."""
    queries = (SUM, SUM | {"name": "r", "column": "y", "where": "y > 0"})
    made = planned(*queries, delta=1e-9)
    assert made.method == "basic"
    assert all(step.noise.stair for step in made.steps)
    many = [SUM | {"name": f"q{place}", "where": f"y > {place}"} for place in range(12)]
    assert not any(noise.stair for noise in noises(*many, epsilon=4, delta=1e-6))


def test_it_is_calibrated_as_any_mechanism() -> None:
    (draft,) = build_drafts(load(spec(SUM)))
    choice = STAIRCASE.calibrate(draft, Fraction(4), Fraction(0))
    assert choice.noise == STEPS
    assert get_law(NoiseFamily.STAIRCASE) is STAIRCASE
    assert STAIRCASE.calibrate_rho(draft, choice.loss.rho or Fraction(1), Fraction(0)).noise.stair
    assert (
        float(STAIRCASE.compute_variance(STEPS))
        <= STAIRCASE.estimate_error(draft, Fraction(4)) * 100**2
    )
