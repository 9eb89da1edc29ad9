"""What reports say of one answer's error, from the exact law of answers, and its floors."""

import math
from fractions import Fraction as F

import pytest
from thorough import for_each

from dprelease.local.randomizers.calibrate import calibrate_response
from dprelease.local.randomizers.expected_error import (
    bound_distance,
    bound_wrong_label,
    compute_expected,
)
from dprelease.local.randomizers.subset_response import keep
from dprelease.model import Grid
from dprelease.model.columns import ColumnType
from dprelease.model.queries import Group
from dprelease.model.record_tables import Mechanism, PerturbedColumn, Response, WindowLaw
from dprelease.model.requests import Quantity

BUDGETS = [(F("0.1"), F("0.1")), (F(1), F(0)), (F(4), F("1e-6")), (F(11), F("0.7"))]


def labelled(count: int, mechanism: Mechanism = Mechanism.AUTO) -> PerturbedColumn:
    labels = tuple(f"label {i}" for i in range(count))
    group = Group("region", ColumnType.STRING, labels, keys=labels)
    return PerturbedColumn("region", group=group, mechanism=mechanism)


def numeric(
    width: int, mechanism: Mechanism = Mechanism.AUTO, step: F = F(1), lower: int = 0
) -> PerturbedColumn:
    quantity = Quantity("age", Grid(step, lower, lower + width), lower)
    return PerturbedColumn("age", quantity=quantity, mechanism=mechanism)


def answers(law: WindowLaw, number: int, width: int) -> list[tuple[F, F]]:
    """What is answered for a number from 0 to ``width``, in grid integers, and its chance."""
    found = []
    for window, share in ((law.first, law.share), (law.second, 1 - law.share)):
        if window is None:
            continue
        starts = window.levels - window.width
        start, part = divmod(F(number * starts, width), 1)
        total = starts + window.ratio * window.width
        for j in range(window.levels):
            low, high = start <= j < start + window.width, start < j <= start + window.width
            weight = 1 + (window.ratio - 1) * ((1 - part) * low + part * high)
            value = F(width, 2) * (1 + F(2 * j - (window.levels - 1), 2) * window.gap)
            found.append((value, share * weight / total))
    return found


@pytest.mark.parametrize("width", [1, 2, 5, 23])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_windows_number_by_number(width: int, epsilon: F, delta: F) -> None:
    response = calibrate_response(numeric(width, Mechanism.PIECEWISE, F(1, 4), -7), epsilon, delta)
    assert isinstance(response.law, WindowLaw)
    distances, spreads = [], []
    for k in range(width + 1):
        law = answers(response.law, k, width)
        assert sum(value * chance for value, chance in law) == k
        distances.append(sum(abs(value - k) * chance for value, chance in law) / 4)
        spreads.append(sum((value - k) ** 2 * chance for value, chance in law) / 16)
    found = compute_expected(response)
    assert found.error == pytest.approx(float(max(distances)), rel=1e-9)
    assert found.variance == pytest.approx(float(max(spreads)), rel=1e-9)
    assert found.typical == pytest.approx(float(sum(spreads) / len(spreads)), rel=1e-9)
    assert found.scale is None


@for_each("width", [1, 2, 2996, 2**53 - 1])
@for_each("kind", [Mechanism.LAPLACE, Mechanism.PIECEWISE])
@for_each(("epsilon", "delta"), BUDGETS)
def test_nothing_is_below_its_floor(width: int, kind: Mechanism, epsilon: F, delta: F) -> None:
    found = compute_expected(calibrate_response(numeric(width, kind), epsilon, delta))
    assert 0 < found.floor <= found.error
    assert found.error**2 <= found.variance * (1 + 1e-9) or kind is Mechanism.PIECEWISE
    assert 0 < found.typical <= found.variance * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("labels", [2, 3, 10, 48, 500])
def test_no_answer_of_labels_is_below_its_floor(labels: int, epsilon: F, delta: F) -> None:
    for kind in (Mechanism.AUTO, Mechanism.RANDOMIZED_RESPONSE):
        found = compute_expected(calibrate_response(labelled(labels, kind), epsilon, delta))
        assert 0 < found.floor <= found.error * (1 + 1e-12)
        if kind is Mechanism.RANDOMIZED_RESPONSE:
            assert found.floor == pytest.approx(found.error, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "classical", "floor"),
    [
        ("0.1", "0.1", "14588.98", "640.42"),
        ("2", "0.5", "1112.45", "89.28"),
        ("11", "0.7", "245.49", "0.0075"),
    ],
)
def test_known_numbers(epsilon: str, delta: str, classical: str, floor: str) -> None:
    fine = numeric(299600, Mechanism.LAPLACE, F(1, 100))
    found = compute_expected(calibrate_response(fine, F(epsilon), F(delta)))
    assert found.classical is not None
    assert found.scale is not None
    assert f"{found.classical:.2f}" == classical
    assert f"{found.floor:.{len(floor.split('.')[1])}f}" == floor
    least = 2996 / (float(epsilon) - 2 * math.log1p(-float(delta)))
    assert found.scale == pytest.approx(least, rel=1e-6)
    assert found.scale < found.classical
    assert found.error == pytest.approx(found.scale, rel=1e-6)  # E|X| of the continuous law
    assert found.variance == pytest.approx(2 * found.scale**2, rel=1e-6)


def test_what_must_be_reached() -> None:
    assert compute_expected(calibrate_response(labelled(10), F(1), F(0))).typical <= 3.0
    response = calibrate_response(numeric(2 * 10**6, step=F(1, 10**6), lower=-(10**6)), F(1), F(0))
    assert response.mechanism is Mechanism.PIECEWISE
    assert 4.2 < compute_expected(response).variance <= 4.4


def test_frequencies_of_ten_labels() -> None:
    """By p and q: a share f has the variance (f p (1-p) + (1-f) q (1-q))/(p-q)^2."""
    response: Response = calibrate_response(labelled(10), F(1), F(0))
    p = 3 * math.e / (3 * math.e + 7)
    q = (2 * p + 3 * (1 - p)) / 9
    found = compute_expected(response)
    spread = [p * (1 - p), q * (1 - q)]
    assert found.typical == pytest.approx((spread[0] + 9 * spread[1]) / 10 / (p - q) ** 2)
    assert found.variance == pytest.approx(max(spread) / (p - q) ** 2)
    assert found.error == pytest.approx(1 - p / 3)


def test_one_label_is_never_wrong() -> None:
    found = compute_expected(calibrate_response(labelled(1), F(1), F(0)))
    assert (found.error, found.floor, found.variance, found.typical) == (0, 0, 0, 0)


def test_a_law_of_numbers_needs_numbers() -> None:
    response = calibrate_response(numeric(4), F(1), F(0))
    with pytest.raises(ValueError, match="grid"):
        compute_expected(Response(labelled(4), response.mechanism, response.law, response.loss))


# --- floors ---------------------------------------------------------------------------------------

CHANCES = [("0.1", "0.1", "0.8793"), ("2", "0.5", "0.4321"), ("7", "0.6", "0.0164")]


@pytest.mark.parametrize(("epsilon", "delta", "golden"), CHANCES)
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
