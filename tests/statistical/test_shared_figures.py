"""Figures that are read from a release which others share: their errors and intervals, drawn.

Each case is planned from a spec, its release's noise is drawn many times for one cell whose true
sums are known, and what is published is held against the truth.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import spec
from hashed_bytes import HashedEntropy
from planned_figures import ALARM, Floats
from scipy.stats import binom

import dprelease
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.model import MeasureKind, NoisyTable, Step
from dprelease.release.plan import ReleasePlan
from dprelease.statistics.read_release import build_columns

DRAWS = 20_000
WIDTH = 1000
LEVELS = (Fraction(1, 2), Fraction(95, 100), Fraction(99, 100))
MEMBERS = {
    "count": {"statistic": "count"},
    "sum": {"statistic": "sum", "column": "x"},
    "mean": {"statistic": "mean", "column": "x"},
    "variance": {"statistic": "variance", "column": "x"},
    "stddev": {"statistic": "stddev", "column": "x"},
}


def plan_queries(
    *members: str, lower: int = 0, nulls: object = None, mechanism: str = "laplace"
) -> ReleasePlan:
    delta = {"delta": 1e-6} if mechanism == "gaussian" else {}
    column = {"type": "integer", "lower": lower, "upper": lower + WIDTH}
    queries = [{"name": name, **MEMBERS[name], "mechanism": mechanism} for name in members]
    return dprelease.plan(
        spec(
            release={"name": "shared"},
            privacy={"epsilon": 1, **delta},
            columns={"x": column if nulls is None else column | {"nulls": nulls}},
            query=queries,
        )
    )


def exact(step: Step, values: list[int], missing: int) -> list[int]:
    """The released integers before noise, of one cell."""
    amounts = {
        MeasureKind.RECORDS: len(values) + missing,
        MeasureKind.VALUES: len(values),
        MeasureKind.SUM: sum(values),
        MeasureKind.SQUARES: sum(k * k for k in values),
    }
    return [
        sum(f * amounts[m.kind] for f, m in zip(row, step.measures, strict=True))
        for row in step.transform
    ]


def truth(values: list[int], missing: int) -> dict[str, float]:
    mean = sum(values) / len(values)
    variance = sum((k - mean) ** 2 for k in values) / len(values)
    return {
        "count": len(values) + missing,
        "sum": sum(values),
        "mean": mean,
        "variance": variance,
        "stddev": math.sqrt(variance),
    }


def publish(
    plan: ReleasePlan, values: list[int], missing: int, level: Fraction
) -> dict[str, tuple[Floats, Floats]]:
    """Figures and half-widths of every draw, by query."""
    (step,) = plan.steps
    name = f"{[read.query.name for read in plan.reads]}{values[:2]}{missing}"
    noisy = [
        (sample(step.noise, DRAWS, HashedEntropy(f"{name}{at}")) + whole).tolist()
        for at, whole in enumerate(exact(step, values, missing))
    ]
    found = {}
    for read in plan.reads:
        figure, half, *_ = build_columns(read, plan, NoisyTable({read.step: noisy}), level)
        found[read.query.name] = tuple(
            np.array(each.values, dtype=float) / 10**each.decimals for each in (figure, half)
        )
    return found  # type: ignore[return-value]


CASES = [
    (("count", "sum", "mean"), 0, None),
    (("count", "sum", "mean"), 0, "drop"),
    (("count", "mean"), 0, 0),
    (("count", "sum"), 300, 300),
    (("sum", "mean"), -400, None),
    (("count", "sum", "mean", "variance"), 0, None),
    (("sum", "mean", "stddev"), 200, None),
]


@pytest.mark.one_in(28)
@pytest.mark.parametrize(("members", "lower", "nulls"), CASES)
@pytest.mark.parametrize("missing", [0, 3, 6, 40])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_no_figure_is_missed_more_often_than_its_interval_says(
    members: tuple[str, ...], lower: int, nulls: object, missing: int, mechanism: str
) -> None:
    if missing and isinstance(nulls, int):
        pytest.skip("a null has a value then")
    plan = plan_queries(*members, lower=lower, nulls=nulls, mechanism=mechanism)
    values = [lower + 350 + (i * 37) % 300 for i in range(1000)]
    known = truth(values, missing)
    for level in LEVELS:
        for name, (figure, half) in publish(plan, values, missing, level).items():
            # what is published is rounded; the truth of a mean or variance need not be
            slack = 1e-3 if name in {"mean", "stddev"} else 1e-9 * abs(known[name])
            missed = int((np.abs(figure - known[name]) > half + slack).sum())
            assert binom.sf(missed - 1, DRAWS, float(1 - level)) > ALARM, (name, level)


def test_a_narrower_half_width_would_be_caught() -> None:
    plan = plan_queries("count", "sum", "mean", nulls="drop")
    values = [500] * 1000
    level = LEVELS[1]
    figure, half = publish(plan, values, 0, level)["sum"]
    missed = int((np.abs(figure - 500_000) > half * 0.9).sum())
    assert binom.sf(missed - 1, DRAWS, float(1 - level)) < ALARM


def test_count_sum_and_mean_at_the_whole_budget() -> None:
    plan = plan_queries("count", "sum", "mean")
    assert plan.epsilon == 1
    values = [400 + i % 201 for i in range(1000)]
    known = truth(values, 0)
    found = publish(plan, values, 0, LEVELS[1])
    error = {
        name: math.sqrt(float(((figure - known[name]) ** 2).mean()))
        for name, (figure, _) in found.items()
    }
    # an even three-way split gives 4.2, 4.2 U and 4.7 U/n
    assert error["count"] <= 2.1
    assert error["sum"] <= 1.45 * WIDTH
    assert error["mean"] <= 1.05 * WIDTH / 1000
    bias = float(found["count"][0].mean()) - 1000
    assert abs(bias) < 0.15


def test_many_records_without_a_value_are_all_counted() -> None:
    plan = plan_queries("count", "sum", "mean")
    figure, _ = publish(plan, [500] * 1000, 400, LEVELS[1])["count"]
    assert abs(float(figure.mean()) - 1400) < 0.1
