"""Intervals of counts that are seen only from a threshold on: shapes and limits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from dprelease.kernel.distributions.laws import find_halfwidth
from dprelease.language import word
from dprelease.model import Noise, NoiseFamily, Query, Step
from dprelease.statistics.shared.one_integer import compute_shown_halfwidth
from dprelease.statistics.statistic_registry import STATISTICS

ALPHA = Fraction(1, 20)
NOISES = [Noise(NoiseFamily.LAPLACE, Fraction(4)), Noise(NoiseFamily.GAUSSIAN, Fraction(3000))]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_they_reach_down_to_1_at_the_threshold_and_are_plain_far_above(noise: Noise) -> None:
    plain = find_halfwidth(noise, ALPHA)
    assert compute_shown_halfwidth(noise, 500, 500, ALPHA) == 499
    assert compute_shown_halfwidth(noise, 500, 500 + 20 * plain, ALPHA) == plain
    lowest = [
        k - compute_shown_halfwidth(noise, 500, k, ALPHA) for k in range(500, 500 + 4 * plain, 7)
    ]
    assert lowest == sorted(lowest)
    assert lowest[0] == 1


def test_of_laplace_noise_the_end_is_where_it_is_expected() -> None:
    """While exp(-(k - t)/s) > alpha/2, any true count is possible; 4 ln 40 = 14.76."""
    noise = NOISES[0]
    assert compute_shown_halfwidth(noise, 100, 114, ALPHA) == 113
    assert compute_shown_halfwidth(noise, 100, 115, ALPHA) < 20


def test_a_low_threshold_does_not_make_the_interval_narrower_than_the_noise() -> None:
    noise = Noise(NoiseFamily.LAPLACE, Fraction(50))
    assert compute_shown_halfwidth(noise, 3, 3, ALPHA) == find_halfwidth(noise, ALPHA)


def test_the_columns_have_a_half_width_for_each_key(planned: Callable[..., Step]) -> None:
    step = planned(Query("q", "count", "t"), NOISES[0], threshold=100)
    value, half, flag = STATISTICS["count"].build_columns(step, [(100, 130, 5000)], 1 - ALPHA)
    assert value.values == (100, 130, 5000)
    assert half.values == [99, compute_shown_halfwidth(NOISES[0], 100, 130, ALPHA), 12]
    assert flag.values == ["low_reliability", "ok", "ok"]
    assert "near that" in word(value.description)
    assert (
        word(STATISTICS["count"].describe_expected_error(step, 1 - ALPHA))
        == "± 12; more near the threshold"
    )
