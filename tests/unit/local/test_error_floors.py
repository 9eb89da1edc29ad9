"""Error floors of one answer: known numbers, and mechanisms that reach one of them."""

import math
from fractions import Fraction as F

import pytest

from dprelease.local.randomizers.expected_error import bound_distance, bound_wrong_label
from dprelease.local.randomizers.subset_response import keep

NUMBERS = [("0.1", "0.1", "640.42"), ("2", "0.5", "89.28"), ("11", "0.7", "0.0075")]
LABELS = [("0.1", "0.1", "0.8793"), ("2", "0.5", "0.4321"), ("7", "0.6", "0.0164")]


@pytest.mark.parametrize(("epsilon", "delta", "golden"), NUMBERS)
def test_known_distances(epsilon: str, delta: str, golden: str) -> None:
    digits = len(golden.split(".")[1])
    assert f"{float(bound_distance(F(2996), F(epsilon), F(delta))):.{digits}f}" == golden


@pytest.mark.parametrize(("epsilon", "delta", "golden"), LABELS)
def test_known_chances(epsilon: str, delta: str, golden: str) -> None:
    assert f"{float(bound_wrong_label(48, F(epsilon), F(delta))):.4f}" == golden


@pytest.mark.parametrize("labels", [2, 5, 48])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "0.1"), ("2", "0"), ("7", "0.6")])
def test_randomised_response_is_at_the_floor(labels: int, epsilon: str, delta: str) -> None:
    wrong = 1 - keep(labels, 1, F(epsilon), F(delta))
    floor = bound_wrong_label(labels, F(epsilon), F(delta))
    assert floor <= wrong
    assert float(wrong) == pytest.approx(float(floor), rel=1e-12)


def test_two_numbers_are_two_labels() -> None:
    assert 2 * bound_distance(F(1), F(1), F(1, 10)) == pytest.approx(
        bound_wrong_label(2, F(1), F(1, 10))
    )


def test_ends() -> None:
    assert bound_wrong_label(1, F(1)) == 0 == bound_distance(F(0), F(1))
    assert bound_wrong_label(4, F(0)) == F(3, 4)
    assert bound_distance(F(8), F(0)) == 2
    assert bound_wrong_label(4, F(1), F(1)) == 0
    assert 0 <= bound_distance(F(1), F(10**6)) < F(1, 10**1000)
    assert float(bound_distance(F(1), F(700))) == pytest.approx(math.exp(-700) / 2)


def test_nonsense_is_refused() -> None:
    for labels, epsilon, delta in ((0, 1, 0), (2, -1, 0), (2, 1, 2)):
        with pytest.raises(ValueError, match="domain"):
            bound_wrong_label(labels, F(epsilon), F(delta))
    with pytest.raises(ValueError, match="domain"):
        bound_distance(F(-1), F(1))
