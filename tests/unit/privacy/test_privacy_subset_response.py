"""Subset response: the chances are a law, and exactly as private as they are said to be."""

from fractions import Fraction as F

import mpmath
import pytest

from dprelease.privacy.subset_response import chances


@pytest.mark.parametrize("categories", [2, 3, 4, 50])
@pytest.mark.parametrize("epsilon", ["0", "1e-9", "0.5", "1", "8", "300"])
@pytest.mark.parametrize("delta", ["0", "1e-6", "0.2"])
def test_the_enclosed_law_is_exactly_private(categories: int, epsilon: str, delta: str) -> None:
    true, wrong = chances(categories, F(epsilon), F(delta))
    assert 0 < wrong[0] <= wrong[1]
    assert 0 < true[0] <= true[1] <= 1
    assert true[0] + (categories - 1) * wrong[1] == 1
    assert true[1] + (categories - 1) * wrong[0] == 1
    assert wrong[1] - wrong[0] <= wrong[1] / 10**75
    with mpmath.workdps(120):
        e, d = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        q = (1 - d) / (categories - 1 + e)
        p = (e + d * (categories - 1)) / (categories - 1 + e)
        for low, high, truth in ((*true, p), (*wrong, q)):
            assert mpmath.mpf(low.numerator) / low.denominator <= truth
            assert mpmath.mpf(high.numerator) / high.denominator >= truth
        assert abs(p - e * q - d) < mpmath.mpf("1e-100") * (1 + e)


def test_no_epsilon_is_a_fair_draw_and_a_large_one_tells_the_truth() -> None:
    assert chances(4, F(0)).true == (F(1, 4), F(1, 4))
    low, high = chances(3, F(10**6)).wrong
    assert low == 0
    assert 0 < high < F(1, 10**2000)


def test_nonsense_is_refused() -> None:
    for categories, epsilon, delta in ((1, 1, 0), (2, -1, 0), (2, 1, 1), (2, 1, -1)):
        with pytest.raises(ValueError, match="two answers"):
            chances(categories, F(epsilon), F(delta))
