"""Queries that scale what a person adds are planned alone, with the noise of their norm."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import pytest
from msgspec.structs import replace

from dprelease.kernel.certification import certify
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.model import Bound, Clip, ClipNorm, NoiseFamily, Plan

PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "p",
    "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 3},
    "epsilon": 1,
    "delta": 1e-6,
}
COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b", "c"], "source": "s"},
    "x": {"type": "decimal", "lower": 0, "upper": 50, "step": 0.5, "source": "s"},
}
SUM: dict[str, Any] = {"statistic": "sum", "column": "x", "by": ["g"]}
COUNT: dict[str, Any] = {"statistic": "count", "by": ["g"]}


def bounding(norm: str, bound: float) -> dict[str, Any]:
    return {"bounding": {"clip": norm, "bound": bound}}


def plan(*queries: dict[str, Any], **privacy: Any) -> Plan:
    named = [{"name": f"q{number}"} | query for number, query in enumerate(queries)]
    made = builders.plan(privacy=PEOPLE | privacy, columns=COLUMNS, query=named)
    assert certify(made).plan is made
    return made


def test_the_bound_is_in_the_unit_of_the_figure_and_rounded_down() -> None:
    made = plan(SUM | bounding("l1", 20.7), COUNT | bounding("l1", 2.5))
    clips = [query.clip for query in made.release.queries]
    assert clips == [Clip(ClipNorm.L1, 41), Clip(ClipNorm.L1, 2)]


@pytest.mark.parametrize(("adjacency", "l1", "l2_squared"), [
    ("add-remove", 10, 100), ("replace-one", 20, 200),
])  # fmt: skip
def test_limits_on_rows_and_bounds_of_values_decide_nothing(
    adjacency: str, l1: int, l2_squared: int
) -> None:
    for limits in (1, 1000):
        rows = {"max_rows_per_unit": limits, "max_groups_per_unit": limits}
        made = plan(SUM | bounding("l1", 5), bounding=rows, adjacency=adjacency)
        (step,) = made.steps
        assert (step.sensitivity.l1, step.sensitivity.l2_squared) == (l1, l2_squared)


def test_an_l2_norm_has_gaussian_noise() -> None:
    (step,) = plan(SUM | bounding("l2", 5), adjacency="add-remove").steps
    assert step.noise.family is NoiseFamily.GAUSSIAN
    assert step.sensitivity.l2_squared == 100
    (pure,) = plan(SUM | bounding("l1", 5), delta=0).steps
    assert pure.noise.family is NoiseFamily.LAPLACE


def test_clipped_figures_share_no_release_with_others() -> None:
    """Sums, means and counts of the same rows and groups do, without them."""
    others = [SUM, COUNT, SUM | {"statistic": "mean"}, COUNT | {"by": []}]
    alone = [SUM | bounding("l1", 5), COUNT | bounding("l1", 5), SUM | bounding("l1", 6)]
    made = plan(*others, *alone, bounding={"max_rows_per_unit": 1, "max_groups_per_unit": 1})
    for number in (4, 5, 6):
        read = made.reads[number]
        assert read.steps == (f"q{number}",)
        assert [query.name for query in made.list_readers(made.step(read))] == [f"q{number}"]
    mates = {name for read in made.reads[:4] for name in read.steps}
    assert mates.isdisjoint({"q4", "q5", "q6"})


def test_equal_clipped_queries_share_theirs() -> None:
    made = plan(SUM | bounding("l1", 5), SUM | bounding("l1", 5))
    assert [step.query.name for step in made.steps] == ["q0"]


def test_engines_are_asked_to_scale_and_to_keep_all_rows() -> None:
    made = plan(SUM | bounding("l2", 5) | {"where": "x > 1"}, SUM | bounding("l1", 5), SUM)
    requests = {
        step.query.name: job.request
        for job in build_jobs(made.release, made.steps, salt=7)
        for step in job.steps
    }
    assert len({id(request) for request in requests.values()}) == 3
    assert requests["q0"].bound == Bound("p", 0, 0, 0, 1, salt=7, clip=Clip(ClipNorm.L2, 10))
    assert requests["q0"].where == made.release.queries[0].where
    assert requests["q0"].measures[0].where is None
    assert requests["q1"].bound == Bound("p", 0, 0, 0, 1, salt=7, clip=Clip(ClipNorm.L1, 10))
    assert requests["q2"].bound == Bound("p", 3, 3, 3, 1, salt=7)


def test_less_noise_than_the_norm_asks_for_is_refused() -> None:
    made = plan(SUM | bounding("l1", 5))
    (step,) = made.steps
    less = replace(step.noise, parameter=step.noise.parameter * Fraction(99, 100))
    assert builders.is_refused(replace(made, steps=(replace(step, noise=less),)))
    larger = replace(made.release.queries[0].clip or Clip(ClipNorm.L1, 1), bound=11)
    assert builders.is_refused(builders.with_step(made, {"clip": larger}))
