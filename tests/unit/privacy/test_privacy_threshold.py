"""Thresholds for keys from the data: known values, the exact law on tiny tables, the verifier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace
from scipy import stats

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.private_keys import key_loss as threshold_verifier
from dprelease.kernel.chapters.private_keys.key_loss import (
    Selection,
    is_approximately_confirmed,
    is_confirmed,
)
from dprelease.kernel.core.additive_loss import bound_pure_rho, bound_zcdp_delta
from dprelease.model import Adjacency, Noise, NoiseFamily
from dprelease.privacy.partition_selection import (
    NewKeys,
    bound_tail,
    calibrate_gaussian,
    find_hiding_threshold,
    find_laplace_threshold,
)
from dprelease.privacy.sensitivity import Contribution

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
LAPLACE, GAUSSIAN = NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN
FAR = 90  # beyond which no law of these tests has more than 1e-15


def people(groups: int) -> Contribution:
    return Contribution(groups, groups, 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1", "1e-5"), ("0.5", "1e-6")])
def test_gaussian_noise_needs_fewer_people_from_three_groups_on(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    fewer = [
        calibrate_gaussian(people(groups), e, d)[1]
        < find_laplace_threshold(groups / e, people(groups), d)
        for groups in (1, 2, 3, 4, 16)
    ]
    assert fewer == [False, False, True, True, True]


def test_sixteen_groups_ask_for_few_people() -> None:
    million = Fraction(1, 10**6)
    assert calibrate_gaussian(people(16), Fraction(1), million)[1] <= 91
    assert calibrate_gaussian(people(16), Fraction(1), million, REPLACE)[1] <= 128


# --- the exact law of the whole release on tiny tables ------------------------------------------

Key = tuple[int, int, int]  # what others, the first unit, the second unit add to its count
Law = npt.NDArray[np.float64]


def compute_masses(noise: Noise, reach: int) -> Law:
    steps = np.abs(np.arange(-reach, reach + 1)).astype(float)
    size = float(noise.parameter)
    weights = np.exp(-steps / size if noise.family is LAPLACE else -steps * steps / (2 * size))
    return np.asarray(weights / weights.sum())


def law(noise: Noise, threshold: int, count: int, top: int) -> Law:
    """Chances of: hidden, shown with T, T + 1, ... for a key of this count; hidden if 0."""
    chances = np.zeros(top - threshold + 2)
    if count == 0:
        chances[0] = 1
        return chances
    reach = top - count
    every = compute_masses(noise, reach)
    first = threshold - count + reach
    chances[0] = every[:first].sum()
    chances[1:] = every[first:]
    return chances


def merge(one: Law, other: Law) -> tuple[Law, Law]:
    """Put outcomes of (nearly) the same ratio together: that leaves the divergence as it is."""
    ratios = np.full(len(one), 1e9)
    with np.errstate(divide="ignore"):
        logs = np.log(one) - np.log(np.where(other > 0, other, 1))
    np.copyto(ratios, np.round(logs, 12), where=other > 0)
    _, places = np.unique(ratios, return_inverse=True)
    return np.bincount(places, one), np.bincount(places, other)


def compute_divergence(
    noise: Noise, threshold: int, keys: Sequence[Key], epsilon: float
) -> tuple[float, float]:
    """The least delta at this epsilon for two tables, both ways round."""
    top = threshold + max(others for others, _, _ in keys) + FAR
    one, other = np.ones(1), np.ones(1)
    for others, first, second in keys:
        laws = merge(
            law(noise, threshold, others + first, top), law(noise, threshold, others + second, top)
        )
        one, other = np.outer(one, laws[0]).ravel(), np.outer(other, laws[1]).ravel()
        kept = (one > 1e-17) | (other > 1e-17)
        one, other = one[kept], other[kept]
    growth = math.exp(epsilon)
    return (
        float(np.maximum(0, one - growth * other).sum()),
        float(np.maximum(0, other - growth * one).sum()),
    )


def ways(limits: Contribution, counts: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every way a unit can add to keys, as (others, its own)."""
    kinds = [(others, own) for others in counts for own in range(1, limits.per_group + 1)]
    for groups in range(limits.groups + 1):
        for way in combinations_with_replacement(kinds, groups):
            if sum(own for _, own in way) <= limits.rows:
                yield way


def tables(limits: Contribution, adjacency: Adjacency, counts: Sequence[int]) -> list[list[Key]]:
    """Every pair of neighbours, up to order, by the keys in which they differ."""
    every = list(ways(limits, counts))
    if adjacency is ADD:
        return [[(others, own, 0) for others, own in way] for way in every if way]
    apart = [
        [*((others, own, 0) for others, own in one), *((others, 0, own) for others, own in other)]
        for index, one in enumerate(every)
        for other in every[: index + 1]
        if one or other
    ]
    sizes = range(1, limits.per_group + 1)
    shared = [[(others, a, b)] for others in counts for a in sizes for b in sizes]
    return apart + shared


def worst(
    noise: Noise, threshold: int, limits: Contribution, adjacency: Adjacency, epsilon: Fraction
) -> float:
    counts = (0, 1, 2, 3, threshold + 12)
    if adjacency is REPLACE and limits.groups > 1:
        counts = (0, 1, threshold + 12)
    return max(
        max(compute_divergence(noise, threshold, keys, float(epsilon)))
        for keys in tables(limits, adjacency, counts)
    )


def selection(
    noise: Noise, threshold: int, limits: Contribution, adjacency: Adjacency
) -> Selection:
    return Selection(noise, threshold, limits.rows, limits.groups, limits.per_group, adjacency)


TINY = [Contribution(1, 1, 1), Contribution(2, 1, 2), Contribution(2, 2, 1)]
CLAIMS = [("1", "0.01"), ("2", "0.1"), ("3", "0.001")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("limits", [*TINY, Contribution(3, 2, 2)], ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_laplace_costs_what_it_claims_and_no_less(
    epsilon: str, delta: str, limits: Contribution, adjacency: Adjacency
) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    noise = Noise(LAPLACE, limits.rows * (1 if adjacency is ADD else 2) / e)
    threshold = find_laplace_threshold(noise.parameter, limits, d)
    assert worst(noise, threshold, limits, adjacency, e) <= float(d) + 1e-12
    assert is_confirmed(selection(noise, threshold, limits, adjacency), e, d)
    if threshold > limits.per_group + 1:
        assert worst(noise, threshold - 1, limits, adjacency, e) > float(d)
        assert not is_confirmed(selection(noise, threshold - 1, limits, adjacency), e, d)
    less = Noise(LAPLACE, noise.parameter * Fraction(99, 100))
    assert not is_confirmed(selection(less, threshold, limits, adjacency), e, d)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("limits", TINY, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_gaussian_costs_what_it_claims_and_no_less(
    epsilon: str, delta: str, limits: Contribution, adjacency: Adjacency
) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    sigma2, threshold = calibrate_gaussian(limits, e, d, adjacency)
    noise = Noise(GAUSSIAN, sigma2)
    found = worst(noise, threshold, limits, adjacency, e)
    assert found <= float(d) + 1e-12
    # Four differing keys are beyond what is summed exactly, and their bound is looser.
    is_tight = adjacency is ADD or limits.groups == 1
    assert found > 0.9 * float(d) or not is_tight
    assert is_confirmed(selection(noise, threshold, limits, adjacency), e, d)
    assert not is_confirmed(selection(noise, threshold - 1, limits, adjacency), e, d)
    if threshold > limits.per_group + 1:
        assert worst(noise, threshold - 1, limits, adjacency, e) > float(d)
    less = Noise(GAUSSIAN, sigma2 * Fraction(9, 10))
    assert worst(less, threshold, limits, adjacency, e) > float(d) or not is_tight
    assert not is_confirmed(selection(less, threshold, limits, adjacency), e, d)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("limits", TINY, ids=str)
def test_a_selection_in_rho_is_private_at_every_epsilon_but_for_its_delta(
    limits: Contribution, adjacency: Adjacency, family: NoiseFamily
) -> None:
    """Approximate zCDP: at any epsilon, what rho has there and the delta of keys together."""
    length = (2 if adjacency is REPLACE else 1) * limits.squares
    l1 = (2 if adjacency is REPLACE else 1) * limits.rows
    noise = Noise(family, Fraction(length if family is GAUSSIAN else l1))
    rho = Fraction(1, 2) if family is GAUSSIAN else bound_pure_rho(Fraction(1))
    failure = Fraction(1, 50)
    threshold = find_hiding_threshold(noise, limits, failure)
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)):
        allowed = float(failure + bound_zcdp_delta(rho, epsilon))
        assert worst(noise, threshold, limits, adjacency, epsilon) <= allowed + 1e-12
    assert worst(noise, threshold - 1, limits, adjacency, Fraction(30)) > float(failure)
    chosen = selection(noise, threshold, limits, adjacency)
    assert is_approximately_confirmed(chosen, rho, failure)
    assert not is_approximately_confirmed(chosen, rho * Fraction(99, 100), failure)
    assert not is_approximately_confirmed(chosen, rho, failure / 100)
    lower = selection(noise, threshold - 1, limits, adjacency)
    assert not is_approximately_confirmed(lower, rho, failure)
    for wrong in ({"width": 2}, {"draws": 2}, {"rows": 0}, {"threshold": limits.per_group}):
        assert not is_approximately_confirmed(replace(chosen, **wrong), rho, failure)


def test_a_key_that_stays_hidden_needs_no_condition() -> None:
    """Where 1 - P(shown) is below e^-epsilon, the loss is inside delta all the same."""
    noise, epsilon, delta = Noise(LAPLACE, Fraction(10)), Fraction(1, 10), Fraction(3, 10)
    threshold = find_laplace_threshold(noise.parameter, people(1), delta)
    shown = NewKeys(noise, threshold, people(1)).bound_shown(1)
    assert 1 - float(shown) < math.exp(-0.1)
    both = compute_divergence(Noise(LAPLACE, Fraction(10)), threshold, [(0, 1, 0)], 0.1)
    assert both[0] == pytest.approx(float(shown), abs=1e-3)  # the law is cut at FAR here
    assert 0 < both[1] < both[0]
    assert is_confirmed(selection(noise, threshold, people(1), ADD), epsilon, delta)


# --- searches, arithmetic, refusals -------------------------------------------------------------


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("rules", "adjacency", "epsilon", "delta"),
    [
        ((1, 1, 1), ADD, "1", "1e-6"),
        ((1, 1, 1), REPLACE, "1", "1e-6"),
        ((1, 1, 1), ADD, "0.01", "1e-9"),
        ((1, 1, 1), REPLACE, "8", "1e-30"),
        ((2, 2, 1), REPLACE, "1", "1e-60"),
        ((16, 16, 1), REPLACE, "1", "1e-6"),
        ((300, 300, 1), ADD, "1", "1e-6"),
        ((10, 5, 2), REPLACE, "0.5", "1e-5"),
        ((10, 5, 4), ADD, "1", "1e-6"),
        ((10, 3, 10), REPLACE, "1", "1e-6"),
    ],
    ids=str,
)
def test_the_verifier_confirms_the_least_threshold_only(
    rules: tuple[int, int, int], adjacency: Adjacency, epsilon: str, delta: str
) -> None:
    limits, e, d = Contribution(*rules), Fraction(epsilon), Fraction(delta)
    scale = limits.rows * (1 if adjacency is ADD else 2) / e
    threshold = find_laplace_threshold(scale, limits, d)
    noise = Noise(LAPLACE, scale)
    answers = [
        is_confirmed(selection(noise, t, limits, adjacency), e, d)
        for t in (threshold, threshold - 1)
    ]
    assert answers == [True, False]
    sigma2, threshold = calibrate_gaussian(limits, e, d, adjacency)
    noise = Noise(GAUSSIAN, sigma2)
    answers = [
        is_confirmed(selection(noise, t, limits, adjacency), e, d)
        for t in (threshold, threshold - 1)
    ]
    assert answers == [True, False]


@pytest.mark.parametrize("noise", [Noise(LAPLACE, Fraction(3)), Noise(GAUSSIAN, Fraction(5, 2))])
def test_the_worst_number_of_new_keys_is_among_those_tried(noise: Noise) -> None:
    for rows in range(1, 7):
        for groups in range(1, rows + 1):
            for most in range(1, rows + 1):
                limits = Contribution(rows, groups, most)
                keys = NewKeys(noise, limits.per_group + 1 + rows % 3, limits)
                each = [keys.bound_exactly(new) for new in range(1, limits.groups + 1)]
                for new in range(1, limits.groups + 1):
                    assert keys.bound_shown(new) == max(each[:new])


def test_delta_is_divided_where_noise_takes_too_much_of_it() -> None:
    limits, epsilon, delta = people(4), Fraction(1, 10), Fraction(3, 10)
    sigma2, threshold = calibrate_gaussian(limits, epsilon, delta)
    noise = Noise(GAUSSIAN, sigma2)
    assert NewKeys(noise, threshold, limits).bound_shown(limits.groups) < delta
    assert is_confirmed(selection(noise, threshold, limits, ADD), epsilon, delta)
    assert not is_confirmed(selection(noise, threshold - 1, limits, ADD), epsilon, delta)


def test_the_verifier_refuses_what_makes_no_sense() -> None:
    fine = Selection(Noise(LAPLACE, Fraction(1)), 15, 1, 1, 1, ADD)
    million = Fraction(1, 10**6)
    assert is_confirmed(fine, Fraction(1), million)
    for wrong in (
        Selection(Noise(NoiseFamily.NONE, Fraction(0)), 15, 1, 1, 1, ADD),
        Selection(Noise(LAPLACE, Fraction(0)), 15, 1, 1, 1, ADD),
        Selection(fine.noise, 1, 1, 1, 1, ADD),
        Selection(fine.noise, 15, 0, 1, 1, ADD),
        Selection(fine.noise, 15, 2, 2, 1, ADD),
        Selection(fine.noise, 15, 2, 1, 2, ADD),
        Selection(fine.noise, 15, 1, 1, 1, REPLACE),
    ):
        assert not is_confirmed(wrong, Fraction(1), million)
    assert not is_confirmed(fine, Fraction(99, 100), million)
    assert not is_confirmed(fine, Fraction(1), million / 2)
    assert not is_confirmed(fine, Fraction(1), Fraction(0))


@pytest.mark.parametrize("noise", [Noise(LAPLACE, Fraction(9)), Noise(GAUSSIAN, Fraction(81))])
@pytest.mark.parametrize(("rows", "per_key"), [(3, 3), (3, 5), (1, 1)])
def test_a_threshold_is_above_all_that_one_unit_adds_to_a_key(
    noise: Noise, rows: int, per_key: int
) -> None:
    """The proof is for noise of at least 1: else the chances of keys are not convex in its rows.

    Where the threshold is what a unit adds at most, a key of one unit is shown without any noise;
    no delta makes up for a proof that does not hold.
    """
    epsilon, delta, most = Fraction(3), Fraction(99, 100), min(rows, per_key)
    limits = Contribution(rows, 1, per_key)
    assert is_confirmed(selection(noise, most + 1, limits, ADD), epsilon, delta)
    assert not is_confirmed(selection(noise, most, limits, ADD), epsilon, delta)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sigma2", ["0.4", "3.9", "4.1", "70"])
@pytest.mark.parametrize("start", [1, 2, 9])
def test_tails_of_little_noise_are_bounded_from_above(sigma2: str, start: int) -> None:
    """By what follows the last term that is summed, 10^-35: beside it no rounding counts."""
    noise = Noise(GAUSSIAN, Fraction(sigma2))
    with mpmath.workdps(450):
        s2 = mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator
        weights = [mpmath.exp(-k * k / (2 * s2)) for k in range(400)]
        truth = mpmath.fsum(weights[start:]) / (2 * mpmath.fsum(weights) - 1)
        for bound in (bound_tail(noise, start), threshold_verifier.bound_noise_tail(noise, start)):
            above = mpmath.mpf(bound.numerator) / bound.denominator - truth
            assert 0 <= above <= truth * mpmath.mpf("1e-30")


@pytest.mark.parametrize("sigma2", ["10001", "12345.6", "1e8"])
@pytest.mark.parametrize("deviations", [0, 1, 5, 20])
def test_tails_of_much_noise_are_bounded_from_above(sigma2: str, deviations: int) -> None:
    """By the normal law's from half a step before, in calibration and in the verifier.

    That half step is far more than any rounding of where the tail begins.
    """
    noise = Noise(GAUSSIAN, Fraction(sigma2))
    start = 1 + math.ceil(deviations * math.sqrt(noise.parameter))
    with mpmath.workdps(450):
        sigma = mpmath.sqrt(mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator)
        inner = start - mpmath.mpf(1 if deviations == 0 else 0.5)
        normal = mpmath.erfc(inner / sigma / mpmath.sqrt(2)) / 2
        for bound in (bound_tail(noise, start), threshold_verifier.bound_noise_tail(noise, start)):
            above = mpmath.mpf(bound.numerator) / bound.denominator - normal
            assert 0 <= above <= normal * mpmath.mpf("1e-25")


def test_calibration_refuses_what_makes_no_sense() -> None:
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="delta"):
            find_laplace_threshold(Fraction(1), people(1), delta)
        with pytest.raises(ValueError, match="delta"):
            calibrate_gaussian(people(1), Fraction(1), delta)
    with pytest.raises(ValueError, match="positive parameter"):
        find_laplace_threshold(Fraction(0), people(1), Fraction(1, 10))
    with pytest.raises(ValueError, match="epsilon"):
        calibrate_gaussian(people(1), Fraction(0), Fraction(1, 10))


# --- singletons ---------------------------------------------------------------------------------

SINGLETONS, ALARM = 100_000, 1e-6


def is_plausible(shown: int, chance: float) -> bool:
    law = stats.binom(SINGLETONS, chance)
    return bool(law.cdf(shown) > ALARM / 2 and law.sf(shown - 1) > ALARM / 2)


@pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN])
def test_singletons_are_shown_with_the_chance_that_is_claimed(
    family: NoiseFamily, entropy: object
) -> None:
    delta = Fraction(1, 1000)
    if family is LAPLACE:
        noise = Noise(LAPLACE, Fraction(2))
        threshold = find_laplace_threshold(noise.parameter, people(1), delta)
    else:
        sigma2, threshold = calibrate_gaussian(people(1), Fraction(1, 2), delta)
        noise = Noise(GAUSSIAN, sigma2)
    chance = NewKeys(noise, threshold, people(1)).bound_shown(1)
    assert delta / 2 < chance <= delta
    drawn = [1 + int(each) for each in sample(noise, SINGLETONS, entropy)]  # type: ignore[arg-type]
    assert is_plausible(sum(each >= threshold for each in drawn), float(chance))
    assert not is_plausible(sum(each >= threshold - 3 for each in drawn), float(chance))
