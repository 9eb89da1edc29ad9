"""Half-widths of sums of noise, held against the exact laws, convolved one draw after another."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from thorough import examples, for_each

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.combined_noise import (
    LEAST_ALPHA,
    SLACK,
    Part,
    combine_parts,
    compute_combined_halfwidth,
    compute_lattice_step,
)

Floats = NDArray[np.float64]
F = Fraction
LAPLACE, GAUSSIAN, STAIRCASE = NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN, NoiseFamily.STAIRCASE
ALPHAS = (F(1, 2), F(1, 20), F(1, 100), F(1, 10**6))
ROUNDING = 1e-12
"""Chances that are added up in floats are right up to this part."""


def laplace(scale: Fraction | int | str, weight: Fraction | int = 1, draws: int = 1) -> Part:
    return Part(Noise(LAPLACE, F(scale)), F(weight), draws)


def gaussian(sigma2: Fraction | int | str, weight: Fraction | int = 1, draws: int = 1) -> Part:
    return Part(Noise(GAUSSIAN, F(sigma2)), F(weight), draws)


def staircase(
    scale: Fraction | int | str, stair: int, first: int, weight: Fraction | int = 1, draws: int = 1
) -> Part:
    return Part(Noise(STAIRCASE, F(scale), stair, first), F(weight), draws)


# --- the exact law -------------------------------------------------------------------------------


def one_draw(noise: Noise, least: float) -> Floats:
    """Probabilities of -n, ..., n by the law's definition, cut where they are below ``least``."""
    parameter = float(noise.parameter)

    def size(k: Floats) -> Floats:
        if noise.family is STAIRCASE:
            level = (k + noise.stair - noise.first) // noise.stair
            return np.exp(-level * noise.stair / parameter)
        return np.exp(-k / parameter if noise.family is LAPLACE else -(k**2) / (2 * parameter))

    logs = -math.log(least)
    reach = math.sqrt(2 * parameter * logs) if noise.family is GAUSSIAN else parameter * logs
    reach += 2 * noise.stair
    side = size(np.arange(0, 2 + reach, dtype=float))
    total = side[0] + 2 * math.fsum(side[1:])
    side = side[side / total >= least] / total
    return np.concatenate([side[:0:-1], side])


def cut_tail(law: Floats, least: float) -> Floats:
    places = np.flatnonzero(law >= least)
    beyond = min(places[0], len(law) - 1 - places[-1])
    return law[beyond : len(law) - beyond]


def several(law: Floats, draws: int, least: float) -> Floats:
    """The law of a sum of so many draws, by doubling."""
    total = np.ones(1)
    while draws:
        if draws % 2:
            total = cut_tail(np.convolve(total, law), least)
        law, draws = cut_tail(np.convolve(law, law), least) if draws > 1 else law, draws // 2
    return total


def compute_exact_law(parts: tuple[Part, ...], least: float = 1e-22) -> tuple[Floats, Fraction]:
    """The law on multiples of a unit, and the unit. What is cut off is missing from its tails."""
    unit = F(1, math.lcm(*(part.weight.denominator for part in parts)))
    total = np.ones(1)
    for part in sorted(parts, key=lambda part: part.weight):
        law = several(one_draw(part.noise, least), part.draws, least)
        every = int(part.weight / unit)
        spread = np.zeros((len(law) - 1) * every + 1)
        spread[::every] = law
        if len(law) < len(total):
            sums = np.zeros(len(spread) + len(total) - 1)
            for place in np.flatnonzero(spread):
                sums[place : place + len(total)] += spread[place] * total
            total = cut_tail(sums, least)
        else:
            total = cut_tail(np.convolve(spread, total), least)
    return total, unit


def beyond(law: Floats, unit: Fraction, half: Fraction) -> float:
    """The chance of more than a half-width."""
    middle = len(law) // 2
    return 2 * float(np.sum(law[middle + 1 + half // unit :][::-1]))


def quantile(law: Floats, unit: Fraction, alpha: Fraction) -> Fraction:
    """The least half-width that suffices."""
    more = 2 * np.cumsum(law[::-1])[: len(law) // 2][::-1]  # of 1 and more, 2 and more, ...
    return int(np.sum(more > float(alpha))) * unit


def check_held(parts: tuple[Part, ...], alphas: tuple[Fraction, ...], wider: float) -> None:
    """No half-width is less than needed, nor wider than needed by more than a part of it."""
    parts = combine_parts(parts)
    law, unit = compute_exact_law(parts)
    for alpha in alphas:
        half = compute_combined_halfwidth(parts, alpha)
        assert beyond(law, unit, half) <= float(alpha) * (1 + ROUNDING), alpha
        least = quantile(law, unit, alpha - F(2 * SLACK))
        assert half <= (1 + F(wider)) * least + unit, alpha


# --- half-widths ---------------------------------------------------------------------------------

SMALL = [
    (laplace("0.1"),),
    (laplace("0.2", draws=256),),
    (gaussian("0.01", draws=256),),
    (gaussian("0.04", F(1, 3), 1000),),
    (laplace(1),),
    (gaussian(1),),
    (laplace(2), gaussian(3, F(1, 2), 4)),
    (laplace(5, F(1, 2)), laplace(5, F(1, 3), 7), laplace(4, F(2, 5))),
    (gaussian(20, F(1, 6), 12), laplace("0.7", 2, 3), laplace(3, F(5, 4))),
    (staircase(1, 1, 1),),
    (staircase(4, 9, 3),),
    (staircase(3, 12, 1, 1, 7),),
    (staircase("2.5", 10, 10, F(1, 2), 3), laplace(2, F(1, 3)), gaussian(9, 1, 2)),
    (staircase(40, 40, 17, 1, 12), staircase(5, 20, 4, 3)),
    (staircase("0.5", 20, 1, 1, 30),),
]


@pytest.mark.parametrize("parts", SMALL)
def test_half_widths_on_a_lattice_are_the_least(parts: tuple[Part, ...]) -> None:
    check_held(parts, ALPHAS, 0)


def test_so_many_draws_that_hardly_any_is_not_zero() -> None:
    check_held((gaussian("0.09", draws=10**6),), ALPHAS, 0)
    check_held((laplace("0.08", draws=10**6), laplace("0.5", F(1, 2), 10**4)), ALPHAS, 0)
    assert compute_combined_halfwidth((gaussian("0.0001", draws=10**6),), F(1, 10**6)) == 0


def test_a_law_that_is_a_little_narrower_is_told_from_the_right_one() -> None:
    right, wrong = (gaussian(400, 1, 4),), (gaussian(400, 1, 3), gaussian(350, 1, 1))
    law, unit = compute_exact_law(right)
    assert beyond(law, unit, compute_combined_halfwidth(wrong, F(1, 20))) > 0.05


def list_primes(number: int) -> list[int]:
    return [n for n in range(2, 2000) if all(n % k for k in range(2, n))][:number]


def test_terms_without_a_lattice_are_smoothed() -> None:
    """Of weights with large denominators the multiples are too many: the law is smoothed."""
    close = (laplace(2, F(1, 3), 2), gaussian(9, F(1, 7)), laplace(5, F(1, 11)))
    finer = F(1, 10**9)
    parts = tuple(part._replace(weight=part.weight + finer) for part in close)
    law, unit = compute_exact_law(close, 1e-18)
    for alpha in (F(1, 2), F(1, 20), F(1, 100)):
        half, needed = compute_combined_halfwidth(parts, alpha), quantile(law, unit, alpha)
        assert beyond(law, unit, half + 1000 * finer) <= alpha  # so much the weights move it
        assert half <= needed * F(103, 100) + unit


@pytest.mark.parametrize("sigma", [3, 1000, 10**7])
def test_many_gaussian_terms_are_normal(sigma: int) -> None:
    weights = [F(1, prime) for prime in list_primes(256)]
    parts = tuple(gaussian(sigma**2, weight, 3) for weight in weights)
    spread = sigma * math.sqrt(3 * sum(weight**2 for weight in weights))
    for alpha in ALPHAS[:3]:
        needed = -NormalDist().inv_cdf(float(alpha) / 2) * spread
        assert (
            needed * (1 - 1e-6)
            <= compute_combined_halfwidth(combine_parts(parts), alpha)
            <= needed * 1.01
        )


@pytest.mark.parametrize("scale", [40, 10**4, 10**7])
@pytest.mark.parametrize("draws", [1, 4, 10**6])
def test_wide_laplace_noise(scale: int, draws: int) -> None:
    """Of one law, whatever its scale, half-widths grow with it; of many draws it is normal."""
    part = laplace(scale, F(1, 3), draws)
    for alpha in ALPHAS[:3]:
        half = compute_combined_halfwidth((part,), alpha)
        if draws == 1:
            needed = -scale * math.log(alpha) / 3
        elif draws == 10**6:
            needed = -NormalDist().inv_cdf(float(alpha) / 2) * scale / 3 * math.sqrt(2 * draws)
        else:  # by the law itself, at a scale that is wide enough
            law, unit = compute_exact_law((laplace(40, 1, draws),), 1e-18)
            needed = float(quantile(law, unit, alpha)) * scale / 40 / 3
        around = 1e-4 if draws > 4 else 0.02
        wider = 0.04 if alpha < 0.5 else 0.07
        assert needed * (1 - around) - 1 <= half <= needed * (1 + wider) + 1


def test_very_small_chances_are_bounded() -> None:
    parts = (laplace(2), gaussian(4, F(1, 2), 3))
    law, unit = compute_exact_law(parts, 1e-300)
    for digits in (7, 8, 12, 60, 200):
        alpha = F(1, 10**digits)
        half = compute_combined_halfwidth(parts, alpha)
        assert beyond(law, unit, half) <= alpha
        assert half <= quantile(law, unit, alpha) * F(3, 2)
    assert (
        compute_combined_halfwidth((gaussian(1),), F(1, 10**2000))
        >= math.sqrt(2 * 2000 * math.log(10)) - 3
    )


@pytest.mark.parametrize("scale", [40, 10**4, 10**7])
@pytest.mark.parametrize("steep", [F(1, 2), 1, 4])
def test_wide_staircase_noise(scale: int, steep: Fraction | int) -> None:
    """Half-widths grow with the scale, on a lattice and smoothed."""
    stair, first = int(40 * steep), int(40 * steep) // 3
    times = F(scale, 40)
    law, unit = compute_exact_law((staircase(40, stair, first, 1, 4),), 1e-18)
    wide = staircase(scale, int(stair * times), int(first * times), F(1, 3), 4)
    for alpha in ALPHAS[:3]:
        needed = quantile(law, unit, alpha) * times / 3
        half = compute_combined_halfwidth((wide,), alpha)
        assert needed * F(97, 100) - 1 <= half <= needed * F(106, 100) + 1


def test_half_widths_fall_as_chances_grow() -> None:
    parts = (laplace(7, F(1, 3)), gaussian(50, F(2, 7), 9))
    alphas = [F(1, 10**12), LEAST_ALPHA / 2, LEAST_ALPHA, F(1, 10**4), F(1, 20), F(1, 2), F(1)]
    halves = [compute_combined_halfwidth(parts, alpha) for alpha in alphas]
    assert halves == sorted(halves, reverse=True)
    assert halves[-1] == 0


def test_what_has_no_noise_adds_none() -> None:
    nothing = Part(Noise(NoiseFamily.NONE, F(0)), F(3), 5)
    assert combine_parts([nothing, laplace(1, 0)]) == ()
    assert combine_parts([laplace(1, F(-1, 2)), nothing, laplace(1, F(1, 2), 2)]) == (
        laplace(1, F(1, 2), 3),
    )
    assert compute_combined_halfwidth((), F(1, 20)) == 0


def test_what_is_no_chance_or_another_law_is_refused() -> None:
    for alpha in (F(0), F(-1, 2)):
        with pytest.raises(ValueError, match="alpha is positive"):
            compute_combined_halfwidth((laplace(1),), alpha)
    choice = Part(Noise(NoiseFamily.EXPONENTIAL, F(1)), F(1), 1)
    with pytest.raises(ValueError, match="only noise of numbers"):
        compute_combined_halfwidth((choice,), F(1, 20))


def stairs(size: str, weight: Fraction, draws: int) -> Part:
    stair = 1 + round(3 * F(size))
    return staircase(size, stair, 1 + stair // 3, weight, draws)


@st.composite
def draw_parts(draw: st.DrawFn) -> tuple[Part, ...]:
    weights = st.fractions(F(1, 6), 3, max_denominator=6)
    made = []
    for _ in range(draw(st.integers(1, 4))):
        law = draw(st.sampled_from([laplace, gaussian, stairs]))
        size = draw(st.sampled_from(["0.05", "0.3", "1", "2.5", "6"]))
        made.append(law(size, draw(weights), draw(st.sampled_from([1, 2, 5, 40]))))
    return tuple(made)


@settings(max_examples=examples(600, 24), deadline=None)
@given(draw_parts(), st.sampled_from(ALPHAS) | st.fractions(F(1, 10**7), F(9, 10)))
def test_no_half_width_of_any_sum_is_less_than_needed(
    parts: tuple[Part, ...], alpha: Fraction
) -> None:
    check_held(parts, (alpha,), 0.002)


# --- quantiles and weights ---------------------------------------------------------------------

SMALL = [laplace(scale) for scale in ("1/4", "3/5", "1", "5/2")]
SMALL += [gaussian(sigma2) for sigma2 in ("1/10", "9/25", "1", "5")]


@pytest.mark.one_in(3)
@for_each("part", SMALL)
@for_each("draws", [1, 2, 4])
def test_a_quantile_falls_by_no_more_than_the_lattice_step(part: Part, draws: int) -> None:
    """Of S + w T, as w rises: shares, alone and with a fitted number, and quotients."""
    noise = part.noise

    def weigh(*weights: Fraction) -> tuple[Part, ...]:
        return combine_parts(Part(noise, weight, draws) for weight in weights)

    half = F(1, 2)
    for fixed, sums in (
        (weigh(half, half), lambda w: weigh(half + w / 2, half - w / 2)),
        (weigh(half, half), lambda w: weigh(half + w / 4, half - w / 4, w / 4, w / 4)),
        (weigh(F(1)), lambda w: weigh(F(1), 3 * w)),
    ):
        for alpha in (half, F(1, 10), F(1, 20), F(1, 100)):
            largest = F(0)
            for k in range(25):
                quantile = compute_combined_halfwidth(sums(F(k, 24)), alpha)
                assert largest <= quantile + compute_lattice_step(fixed)
                largest = max(largest, quantile)
