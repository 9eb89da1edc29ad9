"""Subset response: the chances are a law, and exactly as private as they are said to be."""

import math
from fractions import Fraction as F
from itertools import combinations, permutations

import mpmath
import pytest
from oracle.local_deltas import subset_delta
from thorough import for_each

from dprelease.local.randomizers.subset_response import (
    choose_size,
    compute_truth_epsilon,
    enclose_chances,
    keep,
)


@for_each("categories", [2, 3, 4, 50])
@for_each("epsilon", ["0", "1e-9", "0.5", "1", "8", "300"])
@for_each("delta", ["0", "1e-6", "0.2"])
def test_the_enclosed_law_is_exactly_private(categories: int, epsilon: str, delta: str) -> None:
    true, wrong = enclose_chances(categories, F(epsilon), F(delta))
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
    assert enclose_chances(4, F(0)).true == (F(1, 4), F(1, 4))
    low, high = enclose_chances(3, F(10**6)).wrong
    assert low == 0
    assert 0 < high < F(1, 10**2000)


def test_nonsense_is_refused() -> None:
    for categories, epsilon, delta in ((1, 1, 0), (2, -1, 0), (2, 1, 1), (2, 1, -1)):
        with pytest.raises(ValueError, match="two answers"):
            enclose_chances(categories, F(epsilon), F(delta))


# --- sets ---------------------------------------------------------------------------------------

LAWS = [
    (labels, size, epsilon, delta)
    for labels in (2, 3, 4, 6)
    for size in range(1, labels)
    for epsilon in ("0.001", "0.7", "3", "8")
    for delta in ("0", "1e-9", "0.03", "0.3")
]


def answers(labels: int, size: int, keep: F) -> list[dict[frozenset[int], F]]:
    """The exact law of every label's answer: each possible set, one by one."""
    found = []
    for true in range(labels):
        sets = [frozenset(s) for s in combinations(range(labels), size)]
        holding = sum(true in s for s in sets)
        found.append(
            {s: keep / holding if true in s else (1 - keep) / (len(sets) - holding) for s in sets}
        )
    return found


def excess(first: dict[frozenset[int], F], second: dict[frozenset[int], F], factor: F) -> F:
    return sum((max(F(0), first[s] - factor * second[s]) for s in first), F(0))


@pytest.mark.one_in(5)
@for_each(("labels", "size", "epsilon", "delta"), LAWS)
def test_a_set_loses_what_it_may_and_no_less(
    labels: int, size: int, epsilon: str, delta: str
) -> None:
    kept = keep(labels, size, F(epsilon), F(delta))
    assert 2**64 % kept.denominator == 0
    with mpmath.workdps(60):
        e = mpmath.exp(mpmath.mpf(epsilon))
        factor = F(str(e))
    laws = answers(labels, size, kept)
    assert all(sum(law.values()) == 1 for law in laws)
    realised = max(excess(a, b, factor) for a, b in permutations(laws, 2))
    assert realised <= F(delta)
    bound = subset_delta(labels, size, kept, F(epsilon))
    assert abs(bound - realised) < F(1, 10**50)
    if kept < 1:
        # One notch more truth is too much, and what is lost is all that was there to lose.
        more = answers(labels, size, kept + F(1, 2**64))
        assert max(excess(a, b, factor) for a, b in permutations(more, 2)) > F(delta)
        assert realised >= F(delta) - factor / 2**63
    if delta == "0":
        ratio = max(a[s] / b[s] for a, b in permutations(laws, 2) for s in a)
        assert math.log(ratio) == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "golden"),
    [("0.1", "0.1", "0.1207"), ("2", "0.5", "0.5679"), ("7", "0.6", "0.9836")],
)
def test_how_often_one_of_48_tells_the_truth(epsilon: str, delta: str, golden: str) -> None:
    assert f"{float(keep(48, 1, F(epsilon), F(delta))):.4f}" == golden


@pytest.mark.parametrize("truth", ["0.5001", "0.75", "0.3", "0.999999", "1e-6"])
def test_a_binary_truth_costs_its_log_odds(truth: str) -> None:
    g = F(truth)
    with mpmath.workdps(60):
        cost = abs(mpmath.log(mpmath.mpf(g.numerator) / (g.denominator - g.numerator)))
        found = compute_truth_epsilon(2, g)
        found = mpmath.mpf(found.numerator) / found.denominator
        assert cost <= found <= cost * (1 + mpmath.mpf("1e-13"))


def test_a_truth_among_many() -> None:
    assert compute_truth_epsilon(4, F(1, 4)) == 0
    assert float(compute_truth_epsilon(4, F(1, 2))) == pytest.approx(math.log(3), rel=1e-13)
    for labels, truth in ((1, F(1, 2)), (2, F(0)), (2, F(1))):
        with pytest.raises(ValueError, match="two labels"):
            compute_truth_epsilon(labels, truth)


def mean_variance(labels: int, size: int, epsilon: F, delta: F) -> F:
    """By the exact covariances of the answers, label by label."""
    kept = enclose_chances(labels, epsilon, delta, size).true[0]
    laws, total = answers(labels, size, kept), F(0)
    for law in laws:
        for label in range(labels):
            p = sum((chance for s, chance in law.items() if label in s), F(0))
            total += p * (1 - p) / labels
    own, other = (sum((chance for s, chance in laws[0].items() if i in s), F(0)) for i in (0, 1))
    return total / (own - other) ** 2 / labels


@pytest.mark.parametrize("labels", [2, 3, 5, 7])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.01", "0"), ("1", "0"), ("1", "0.1"), ("4", "0")]
)
def test_the_size_is_the_best_of_all(labels: int, epsilon: str, delta: str) -> None:
    found = [mean_variance(labels, d, F(epsilon), F(delta)) for d in range(1, labels)]
    best = choose_size(labels, F(epsilon), F(delta))
    assert found[best - 1] == pytest.approx(min(found), rel=1e-8)
    assert all(value > found[best - 1] * (1 + F(1, 10**10)) for value in found[: best - 1])


def test_ten_labels_at_epsilon_one() -> None:
    assert choose_size(10, F(1)) == 3
    assert 2.90 < mean_variance(10, 3, F(1), F(0)) < 2.92


def test_sets_are_not_too_large_and_budgets_not_too_small() -> None:
    assert choose_size(10**6, F(1, 100)) == 32
    assert choose_size(10**6, F(20)) == 1
    assert choose_size(2, F(10**6)) == 1
    with pytest.raises(ValueError, match="no answer"):
        keep(3, 1, F(1, 10**30))
    for size in (0, 3):
        with pytest.raises(ValueError, match="at least one label"):
            enclose_chances(3, F(1), F(0), size)
    assert keep(3, 2, F(1), F(9, 10)) == 1  # delta pays for the label that is never named
    assert keep(3, 1, F(10**6)) == 1 - F(1, 2**64)
