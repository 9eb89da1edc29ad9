"""Sums of errors of selections: never too small, and close to their exact laws."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from dprelease.mechanisms.quantile_error import Selection, bound_several, bound_single

ALPHAS = [F(1, 2), F(1, 20), F(1, 100), F(1, 10**6)]
LAWS = [
    Selection(10**6 - 1, F(1), False),
    Selection(4096 * 10**6 - 1, F(1, 4), True),
    Selection(9, F(1, 3), False),
    Selection(99, F(3), True),
    Selection((1 << 60) - 1, F(1, 100), True),
]


def beyond(law: Selection, at: np.ndarray) -> np.ndarray:
    """P(error >= at), as it is stated, in floats."""
    rate = float(law.rate)
    far = law.others * np.exp(-rate * at)
    near = np.maximum(1.0, -np.expm1(-rate * at) / rate) if law.dense else 1.0
    return far / (near + far)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_of_one_selection_the_least_number_is_found(law: Selection, alpha: F) -> None:
    for apart in (F(0), F(1, 2)):
        found = bound_single(law, apart, alpha)
        at = np.array([found + float(apart), found - 1 + float(apart)])
        assert beyond(law, at)[0] <= float(alpha) * (1 + 1e-12)
        assert found == 0 or beyond(law, at)[1] > float(alpha)


@pytest.mark.parametrize("alpha", ALPHAS[:3])
def test_sums_are_bounded_closely(alpha: F) -> None:
    """Against a convolution in floats on a fine lattice; wrong by less than 2% of the width."""
    parts = [(F(1, 4), LAWS[1]), (F(1, 2), LAWS[1]), (F(1), LAWS[0])]
    found = float(bound_several(parts, alpha))
    fine = 0.02
    ends = np.arange(0, 4000) * fine
    law = np.array([1.0])
    for weight, each in parts:
        tails = np.concatenate(([1.0], beyond(each, ends / float(weight)), [0.0]))
        law = np.convolve(law, -np.diff(tails))
    above = 1 - np.cumsum(law)  # of the sum, each error rounded up by less than a point
    exact = fine * float(np.argmax(above <= float(alpha)))
    assert exact - 3 * fine <= found <= 1.02 * exact


def test_a_sum_of_one_is_that_one_and_weights_of_nothing_count_for_nothing() -> None:
    for law in LAWS:
        alone = bound_single(law, F(0), F(1, 20))
        together = bound_several([(F(1), law), (F(0), LAWS[1])], F(1, 20))
        assert alone - 1 < together <= alone * 1.02 + 1


def test_independent_errors_that_follow_the_bound_are_covered() -> None:
    rng, size = np.random.default_rng(7), 200_000
    parts = [(F(1, 3), LAWS[1]), (F(2, 3), LAWS[1]), (F(1), LAWS[0])]
    total = np.zeros(size)
    for weight, law in parts:
        grid = np.linspace(0, 200, 40_001)
        falling = beyond(law, grid)[::-1]
        total += float(weight) * np.interp(rng.uniform(size=size), falling, grid[::-1])
    for alpha in ALPHAS[:3]:
        share = float(np.mean(total > float(bound_several(parts, alpha))))
        room = 5 * math.sqrt(float(alpha) / size)
        assert share <= float(alpha) + room
        assert share >= 0.6 * float(alpha)
