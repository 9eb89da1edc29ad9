"""What a report says of finished figures: the bias that it names is never exceeded."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import builders
import numpy as np
import pytest

import dprelease
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.kernel.distributions.laws import bound_tail, compute_noise_variance
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.finishing.agreement import (
    Counts,
    Wanted,
    make_agree,
    solve_least_squares,
)
from dprelease.reports.facts.finished import UPWARD
from dprelease.reports.plan_facts import describe

NOISES = [
    Noise(NoiseFamily.LAPLACE, Fraction(1, 2)),
    Noise(NoiseFamily.LAPLACE, Fraction(10)),
    Noise(NoiseFamily.GAUSSIAN, Fraction(1, 2)),
    Noise(NoiseFamily.GAUSSIAN, Fraction(90)),
]


@pytest.mark.parametrize("noise", NOISES)
def test_noise_above_0_is_no_larger_on_average_than_is_said(noise):
    mean = float(sum(bound_tail(noise, value)[1] for value in range(1, 400)))
    said = UPWARD[noise.family] * sqrt(compute_noise_variance(noise))
    assert mean <= said * 1.0001
    if noise.parameter > 1:
        assert mean > 0.8 * said


def test_an_empty_cell_is_biased_by_less_and_the_total_by_nothing():
    noise, cells, draws = Noise(NoiseFamily.LAPLACE, Fraction(10)), 200, 200
    truth = np.where(np.arange(cells) % 2, 60, 0)
    off = []
    for _ in range(draws):
        noisy = (truth + sample(noise, cells, SystemEntropy())).tolist()
        fit = solve_least_squares([(0,)], [Counts((0,), noisy, Fraction(200))], [cells])
        off.append(make_agree(fit, Wanted(0, 0, nonnegative=True))[0] - truth)
    empty = np.mean(off, axis=0)[::2].mean()
    assert 0 < empty <= UPWARD[noise.family] * sqrt(compute_noise_variance(noise))
    # a total has the noise of its cells: a standard deviation of 200
    assert abs(np.sum(off, axis=1).mean()) < 6 * 200 / sqrt(draws)


def spec(**finish: object) -> dict[str, object]:
    return builders.spec(
        columns={"on": {"type": "boolean"}, "days": {"type": "integer", "lower": 0, "upper": 9}},
        query=[
            {"name": "n", "statistic": "count", "by": ["on"], "epsilon": 0.1},
            {"name": "all", "statistic": "sum", "column": "days", "epsilon": 0.9},
        ],
        postprocess=finish,
    )


def describe_finishing(**finish: object) -> dict[str, str]:
    plan = dprelease.plan(dprelease.load(spec(**finish)))
    steps = describe(plan)["steps"]
    return {
        step["name"]: " ".join(step.get("finishing", {}).get("explained", ())) for step in steps
    }


def test_the_bias_of_a_count_and_of_a_figure_alone_are_named():
    said = describe_finishing(nonnegative=True)
    assert "a cell without records by at most 5.64 on average" in said["n"]  # 0.399 of 14.14
    assert "one that is truly 0 by at most" in said["all"]


def test_nothing_is_said_where_nothing_is_done():
    plan = dprelease.plan(dprelease.load(spec()))
    assert all("finishing" not in step for step in describe(plan)["steps"])
    assert not any(key.startswith("query.") for key in describe(plan)["approval"]["holds"])


def test_rounding_and_hiding_say_by_how_much_and_what_they_do_not_do():
    said = describe_finishing(round_to=5, hide_below=20)["n"]
    assert "nearest multiple of 5 at last" in said
    assert "larger by 2.5" in said
    assert "Shown only where value >= 20; else it is empty, and its flag is suppressed." in said
    assert "It protects nobody" in said
