"""What a report says of finished figures: the bias that it names is never exceeded."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import builders
import numpy as np
import pytest

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


def test_nothing_is_said_where_nothing_is_done():
    plan = builders.plan(query=[{"name": "n", "statistic": "count"}])
    assert all("finishing" not in step for step in describe(plan)["steps"])
    assert not any(key.startswith("query.") for key in describe(plan)["approval"]["holds"])
