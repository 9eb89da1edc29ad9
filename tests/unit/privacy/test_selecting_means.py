"""Private keys that the two sums of a mean select: tails, thresholds, the law on tiny tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from dprelease.kernel.chapters.private_keys.key_loss import Selection, bound_pair_tail, is_confirmed
from dprelease.model import Adjacency, Noise, NoiseFamily
from dprelease.privacy.partition_selection import bound_tail, find_laplace_threshold
from dprelease.privacy.sensitivity import Contribution, Summed

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
LAPLACE, GAUSSIAN = NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN
WIDTH = 2  # of the bounds of a mean: a row adds (0, 2), (1, 1) or (2, 0)
FORM = Summed(WIDTH, 2)
FAR = 26  # scales, beyond which no law of these tests has more than 1e-10


def people(groups: int) -> Contribution:
    return Contribution(groups, groups, 1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("scale", "start"),
    [
        (scale, start)
        for scale in ("0.2", "1", "30", "12345.67", "1e7")
        for start in (1, 2, 37, 10**5)
        if start <= 300 * float(scale)
    ],
)
def test_tails_of_two_draws_are_bounded_from_above(scale: str, start: int) -> None:
    """Calibration and verifier have formulas of their own; here is the sum that both are of."""
    size = Fraction(scale)
    with mpmath.workdps(220):
        a = mpmath.exp(-mpmath.mpf(size.denominator) / size.numerator)

        def tail(least: int) -> mpmath.mpf:
            return a**least / (1 + a) if least >= 1 else 1 - a ** (1 - least) / (1 + a)

        if size < 100:
            ends = start + int(120 * size) + 99
            masses = ((1 - a) / (1 + a) * a ** abs(k) for k in range(-ends, ends + 1))
            shifts = range(-ends, ends + 1)
            truth = mpmath.fsum(p * tail(start - k) for p, k in zip(masses, shifts, strict=True))
        else:  # a sum over all integers by pieces in which it is geometric, once more by hand
            p, t = (1 - a) / (1 + a), mpmath.mpf(start)
            below = p * a**t / (1 + a) * a**2 / (1 - a**2)
            between = p * a**t / (1 + a) * t
            above = mpmath.fsum([p * a**t / (1 - a), -p * a ** (t + 1) / (1 + a) / (1 - a**2)])
            truth = below + between + above
        for bound in (bound_tail(Noise(LAPLACE, size), start, 2), bound_pair_tail(size, start)):
            apart = mpmath.mpf(bound.numerator) / bound.denominator - truth
            assert 0 <= apart <= truth * mpmath.mpf("1e-30")


def test_no_other_sums_select() -> None:
    for noise, draws in ((Noise(GAUSSIAN, Fraction(9)), 2), (Noise(LAPLACE, Fraction(9)), 3)):
        with pytest.raises(ValueError, match="two Laplace draws"):
            bound_tail(noise, 5, draws)


@pytest.mark.parametrize(
    ("epsilon", "width", "least"), [("1", 1, 17), ("1", 30, 17), ("0.1", 1, 155), ("0.1", 30, 154)]
)
def test_known_thresholds(epsilon: str, width: int, least: int) -> None:
    scale = width / Fraction(epsilon)
    form = Summed(width, 2)
    threshold = find_laplace_threshold(scale, people(1), Fraction(1, 10**6), form)
    assert threshold == least * width


# --- the exact law of the whole release on tiny tables ------------------------------------------

Sums = tuple[int, int]
Key = tuple[Sums, Sums]  # the two sums of a key in one table, and in its neighbour; (0, 0) if none
Law = npt.NDArray[np.float64]
NOBODY: Sums = (0, 0)


def law(scale: float, threshold: int, sums: Sums, top: int) -> Law:
    """Chances of: hidden, then each pair of noisy sums that is shown; hidden if nobody is there."""
    values = np.arange(-top, top + 1)
    if sums == NOBODY:
        return np.concatenate(([1.0], np.zeros(len(values) ** 2)))
    a = math.exp(-1 / scale)
    first, second = ((1 - a) / (1 + a) * a ** np.abs(values - each) for each in sums)
    both = np.outer(first, second)
    shown = np.where(np.add.outer(values, values) >= threshold, both, 0.0)
    return np.concatenate(([both.sum() - shown.sum()], shown.ravel()))


def merge(one: Law, other: Law) -> tuple[Law, Law]:
    """Put outcomes of (nearly) the same ratio together: that leaves the divergence as it is."""
    ratios = np.full(len(one), 1e9)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(one) - np.log(np.where(other > 0, other, 1))
    np.copyto(ratios, np.round(logs, 9), where=other > 0)
    _, places = np.unique(ratios, return_inverse=True)
    return np.bincount(places, one), np.bincount(places, other)


def compute_divergence(
    scale: float, threshold: int, keys: Sequence[Key], epsilon: float
) -> tuple[float, float]:
    top = threshold + max(max(sums) for key in keys for sums in key) + int(FAR * scale)
    one, other = np.ones(1), np.ones(1)
    for key in keys:
        laws = merge(*(law(scale, threshold, sums, top) for sums in key))
        one, other = np.outer(one, laws[0]).ravel(), np.outer(other, laws[1]).ravel()
    growth = math.exp(epsilon)
    return (
        float(np.maximum(0, one - growth * other).sum()),
        float(np.maximum(0, other - growth * one).sum()),
    )


ROWS: tuple[Sums, ...] = ((0, 2), (1, 1), (2, 0), (0, 0))  # the last has no value


def add(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1]


def tables(groups: int, adjacency: Adjacency, others: Sequence[Sums]) -> Iterator[list[Key]]:
    """Every pair of neighbours, up to order, by the keys in which they differ."""
    kinds = list(product(others, ROWS))
    units = [
        way for size in range(groups + 1) for way in combinations_with_replacement(kinds, size)
    ]
    for unit in units:
        gone = [(add(there, row), there) for there, row in unit]
        if adjacency is ADD:
            yield gone
            continue
        for new in units:
            yield [*gone, *((there, add(there, row)) for there, row in new)]
    if adjacency is REPLACE:
        for there, row, instead in product(others, ROWS, ROWS):
            yield [(add(there, row), add(there, instead))]


def worst(
    scale: Fraction, threshold: int, groups: int, adjacency: Adjacency, epsilon: Fraction
) -> float:
    others: tuple[Sums, ...] = (NOBODY, (2, 2), (threshold, 4))
    if groups > 1 or adjacency is REPLACE:
        others = (NOBODY, (threshold, 4))
    return max(
        max(compute_divergence(float(scale), threshold, keys, float(epsilon)))
        for keys in tables(groups, adjacency, others)
        if 1 <= len(keys) <= 2
    )


def is_sure(scale: Fraction, threshold: int, groups: int, adjacency: Adjacency,
            epsilon: Fraction, delta: Fraction) -> bool:  # fmt: skip
    chosen = Selection(
        Noise(LAPLACE, scale), threshold, groups, groups, 1, adjacency, width=WIDTH, draws=2
    )
    return is_confirmed(chosen, epsilon, delta)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.01"), ("3", "0.1")])
def test_a_selection_costs_what_it_claims_and_no_less(
    epsilon: str, delta: str, groups: int, adjacency: Adjacency
) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    scale = WIDTH * groups * (1 if adjacency is ADD else 2) / e
    threshold = find_laplace_threshold(scale, people(groups), d, FORM)
    less = threshold - WIDTH
    assert worst(scale, threshold, groups, adjacency, e) <= float(d) + 1e-9
    assert is_sure(scale, threshold, groups, adjacency, e, d)
    assert worst(scale, less, groups, adjacency, e) > float(d)
    assert not is_sure(scale, less, groups, adjacency, e, d)
    assert not is_sure(scale * Fraction(99, 100), threshold, groups, adjacency, e, d)


@pytest.mark.one_in(2)
def test_a_threshold_for_one_draw_is_too_low_for_two() -> None:
    """The law of the sum has a heavier tail than that of a draw: the wrong one is rejected."""
    e, d = Fraction(2), Fraction(1, 1000)
    wrong = find_laplace_threshold(1 / e, people(1), d) * WIDTH
    assert worst(WIDTH / e, wrong, 1, ADD, e) > float(d)
    assert not is_sure(WIDTH / e, wrong, 1, ADD, e, d)


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise": Noise(GAUSSIAN, Fraction(10**6))},
        {"per_key": 2, "rows": 2},
        {"width": 0},
        {"draws": 3},
        {"threshold": WIDTH},
        {"draws": 1},  # one draw by keys that a row adds more than 1 to
        {"adjacency": REPLACE},
    ],
    ids=str,
)
def test_the_verifier_knows_no_other_sums(wrong: dict[str, Any]) -> None:
    fine = Selection(Noise(LAPLACE, Fraction(WIDTH)), 17 * WIDTH, 1, 1, 1, ADD, WIDTH, 2)
    claimed = Fraction(1), Fraction(1, 10**6)
    assert is_confirmed(fine, *claimed)
    assert not is_confirmed(replace(fine, **wrong), *claimed)
