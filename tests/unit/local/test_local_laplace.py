"""Laplace noise on one record: the exact delta from the law itself, and no scale that is less."""

import math
from collections.abc import Iterator
from fractions import Fraction as F

import mpmath
import pytest
from thorough import for_each

from dprelease.local.randomizers.local_laplace import (
    bound_delta,
    compute_classical_scale,
    compute_variance,
    find_least_scale,
    mean_distance,
)

GOLDEN = [("0.1", "0.1", "14588.98"), ("2", "0.5", "1112.45"), ("11", "0.7", "245.49")]
CASES = [
    (width, epsilon, delta)
    for width in (1, 2, 3, 7, 40)
    for epsilon in ("0.001", "0.5", "3", "20")
    for delta in ("1e-9", "0.01", "0.6")
]


@pytest.fixture(autouse=True)
def fifty_digits() -> Iterator[None]:
    """Whatever other tests have left."""
    with mpmath.workdps(50):
        yield


def number(value: F | str) -> mpmath.mpf:
    value = F(value)
    return mpmath.mpf(value.numerator) / value.denominator


def realised(scale: F, width: int, epsilon: str) -> mpmath.mpf:
    """The largest delta of all pairs of values, summed over the integers one by one.

    Beyond the two values the ratio no longer changes: what lies there is two tails.
    """
    a, factor = mpmath.exp(-1 / number(scale)), mpmath.exp(number(epsilon))
    norm = (1 - a) / (1 + a)
    mass = {x: norm * a ** abs(x) for x in range(-width, width + 1)}
    tail = {x: a ** abs(x) / (1 + a) for x in range(1, width + 2)}  # P(X >= x)
    worst = mpmath.mpf(0)
    for shift in range(1, width + 1):
        left = max(0, tail[1] - factor * tail[shift + 1])
        inner = sum(max(0, mass[x] - factor * mass[x - shift]) for x in range(shift + 1))
        beyond = max(0, tail[shift + 1] - factor * tail[1])
        worst = max(worst, left + inner + beyond)
    return worst


@pytest.mark.one_in(3)
@for_each(("width", "epsilon", "delta"), CASES)
def test_the_least_scale_is_valid_and_nothing_less_is(width: int, epsilon: str, delta: str) -> None:
    scale = find_least_scale(width, F(epsilon), F(delta))
    found = realised(scale, width, epsilon)
    assert found <= number(delta)
    assert abs(number(bound_delta(scale, width, F(epsilon))) - found) < mpmath.mpf(10) ** -40
    assert scale <= width / F(epsilon)
    less = scale * (1 - F(1, 10**9))
    assert realised(less, width, epsilon) > number(delta)
    assert found >= number(delta) - mpmath.mpf(10) ** -9


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "3", "20"])
def test_without_delta_it_is_the_width_over_epsilon(epsilon: str) -> None:
    scale = find_least_scale(7, F(epsilon))
    assert scale == 7 / F(epsilon)
    assert bound_delta(scale, 7, F(epsilon)) == 0
    assert realised(scale, 7, epsilon) < mpmath.mpf(10) ** -30
    assert bound_delta(scale * (1 - F(1, 10**9)), 7, F(epsilon)) > 0


@pytest.mark.parametrize(("epsilon", "delta", "golden"), GOLDEN)
def test_the_scale_that_is_often_quoted_is_larger(epsilon: str, delta: str, golden: str) -> None:
    classical = compute_classical_scale(2996, F(epsilon), F(delta))
    assert f"{float(classical):.2f}" == golden
    for steps in (1, 10**4, 10**9):
        scale = find_least_scale(2996 * steps, F(epsilon), F(delta)) / steps
        continuous = 2996 / (float(epsilon) - 2 * math.log1p(-float(delta)))
        assert scale < classical * F(19, 20)
        assert float(scale) == pytest.approx(continuous, rel=1e-7)


def test_fine_grids_have_a_scale_too() -> None:
    for width in (2**53 - 1, 2**60):
        for epsilon, delta, _ in GOLDEN:
            scale = find_least_scale(width, F(epsilon), F(delta))
            assert 0 < F(delta) - bound_delta(scale, width, F(epsilon)) < F(1, 10**10)


def test_more_noise_is_never_worse() -> None:
    for width in (1, 5, 12):
        deltas = [bound_delta(F(n, 40), width, F(2)) for n in range(1, 400)]
        assert deltas == sorted(deltas, reverse=True)
        assert deltas[0] > deltas[-1] == 0


def test_deltas_too_small_to_be_summed_give_the_pure_scale_or_hardly_less() -> None:
    assert F(10) * (1 - F(1, 10**9)) < find_least_scale(10, F(1), F(1, 10**30)) <= 10
    assert find_least_scale(10, F(1), F(1, 10**200)) == 10
    assert bound_delta(find_least_scale(10, F(10**4), F(1, 2)), 10, F(10**4)) <= F(1, 2)


@pytest.mark.parametrize("scale", [F(1, 50), F(1, 3), F(1), F(10), F(10**15)])
def test_moments(scale: F) -> None:
    a = mpmath.exp(-1 / number(scale))
    assert compute_variance(scale) == pytest.approx(float(2 * a / (1 - a) ** 2), rel=1e-12)
    assert mean_distance(scale) == pytest.approx(float(2 * a / (1 - a**2)), rel=1e-12)


def test_moments_of_hardly_any_noise() -> None:
    assert compute_variance(F(1, 10**4)) == 0 == mean_distance(F(1, 10**4))


def test_nonsense_is_refused() -> None:
    for width, epsilon, delta in ((0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 1, -1)):
        with pytest.raises(ValueError, match="positive width"):
            find_least_scale(width, F(epsilon), F(delta))
    for scale, width, epsilon in ((0, 1, 1), (1, -1, 1), (1, 1, -1)):
        with pytest.raises(ValueError, match="positive scale"):
            bound_delta(F(scale), width, F(epsilon))
