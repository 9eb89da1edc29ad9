"""Half-widths of sums of integers whose noise is drawn together, against their exact law."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals import cube_noise
from dprelease.postprocess.intervals.combined_figure import sum_variance
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
    tabulate_tails,
)

F = Fraction
Floats = np.ndarray
ALPHAS = (F(1, 2), F(1, 10), F(1, 20), F(1, 100), F(1, 10**4), F(1, 10**6))


def cube(scale: Fraction | int | str, integers: int) -> Noise:
    return Noise(NoiseFamily.CUBE, F(scale), integers=integers)


def weigh(noise: Noise, *weights: Fraction | int, draws: int = 1) -> Part:
    first, *others = map(F, weights)
    return Part(noise, first, draws, tuple(others))


def compute_law(noise: Noise, weights: Sequence[int]) -> Floats:
    """P(w_1 z_1 + w_2 z_2 + ... = k) for integer weights, k from the middle of the array on.

    By its definition: every shell of the cube, cell by cell, as a difference of two full cubes.
    """
    scale, size = float(noise.parameter), noise.integers
    reach = int(scale * (size + 40 * (size + 1) ** 0.5)) + 10
    top = reach * sum(map(abs, weights))
    total = np.zeros(2 * top + 1)
    inner = np.zeros(2 * top + 1)
    for radius in range(reach + 1):
        law = np.ones(1)
        for weight in weights:
            comb = np.zeros(2 * radius * abs(weight) + 1)
            comb[:: abs(weight)] = 1 / (2 * radius + 1)
            law = np.convolve(law, comb)
        side = (law.size - 1) // 2
        # In units of all points of the largest cube, so that nothing overflows.
        share = ((2 * radius + 1) / (2 * reach + 1)) ** size
        whole = np.zeros_like(total)
        whole[top - side : top + side + 1] = law * share
        total += np.exp(-(radius - size * scale) / scale) * (whole - inner)
        inner = whole
    return total / total.sum()


def find_least(law: Floats, alpha: float) -> int:
    top = law.size // 2
    inside = np.cumsum(np.concatenate([law[top : top + 1], 2 * law[top + 1 :]]))
    return int(np.argmax(1 - inside <= alpha))


@pytest.mark.parametrize("weights", [(1,), (1, 1), (1, -1)])
@pytest.mark.parametrize(
    "noise", [cube(1, 2), cube("5/2", 3), cube(1, 11), cube("1/3", 4)], ids=repr
)
def test_one_integer_and_two_of_like_weight_have_their_least_half_width(
    noise: Noise, weights: tuple[int, ...]
) -> None:
    law = compute_law(noise, weights)
    for alpha in ALPHAS:
        half = compute_combined_halfwidth(combine_parts([weigh(noise, *weights)]), alpha)
        assert find_least(law, float(alpha)) <= half
        assert half <= find_least(law, float(alpha) * (1 - 1e-3))


@pytest.mark.parametrize("weights", [(1, 2), (1, 1, 1), (1, 1, 2), (3, 1, 1, 2), (1,) * 6])
def test_any_sum_of_a_cell_has_its_least_half_width(weights: tuple[int, ...]) -> None:
    noise = cube("3/2", 6)
    law = compute_law(noise, weights)
    for alpha in ALPHAS[:-1]:
        half = compute_combined_halfwidth(combine_parts([weigh(noise, *weights)]), alpha)
        assert find_least(law, float(alpha)) <= half
        assert half <= find_least(law, float(alpha) * (1 - 1e-3))


def test_integers_of_a_cell_are_not_taken_for_independent() -> None:
    """Two integers of one cell are large together: far out their sum has more than two draws."""
    noise = cube(1, 2)
    together = (Part(noise, F(1), 1, (F(1),)),)
    apart = (Part(noise, F(1), 2),)
    assert sum_variance(together) == sum_variance(apart)
    law = compute_law(noise, (1,))
    both = np.convolve(law, law)
    for alpha in (F(1, 20), F(1, 10**4)):
        assert compute_combined_halfwidth(apart, alpha) == find_least(both, float(alpha))
    assert compute_combined_halfwidth(together, F(1, 10**4)) > compute_combined_halfwidth(
        apart, F(1, 10**4)
    )


def compute_sum(parts: Sequence[Part]) -> tuple[Floats, Fraction]:
    """The law of a sum of parts on their lattice, and its step."""
    weights = [weight for part in parts for weight in part.weights]
    step = F(
        gcd(*(weight.numerator for weight in weights)),
        lcm(*(weight.denominator for weight in weights)),
    )
    laws = []
    for part in parts:
        whole = [int(weight / step) for weight in part.weights]
        if part.noise.family is NoiseFamily.CUBE:
            law = compute_law(part.noise, whole)
        else:
            top = int(45 * float(part.noise.parameter)) + 10
            masses = np.exp(-np.abs(np.arange(-top, top + 1)) / float(part.noise.parameter))
            law = np.zeros(2 * top * whole[0] + 1)
            law[:: whole[0]] = masses / masses.sum()
        laws += [law] * part.draws
    return reduce(np.convolve, laws), step


WEIGHTS = st.sampled_from([F(1, 2), F(1), F(3, 2), F(2), F(-1), F(1, 3)])


@st.composite
def draw_parts(draw: st.DrawFn) -> tuple[Part, ...]:
    size = draw(st.integers(2, 4))
    noise = cube(draw(st.sampled_from(["1/2", "1", "2"])), size)
    weights = draw(st.lists(WEIGHTS, min_size=1, max_size=min(size, 3)))
    parts = [weigh(noise, *weights, draws=draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        laplace = Noise(NoiseFamily.LAPLACE, draw(st.sampled_from([F(1), F(1, 2)])))
        parts.append(Part(laplace, draw(st.sampled_from([F(1, 2), F(1)])), 1))
    return combine_parts(parts)


@settings(max_examples=25, deadline=None)
@given(draw_parts(), st.sampled_from([F(1, 10), F(1, 20), F(1, 100)]))
def test_no_half_width_understates_a_sum(parts: tuple[Part, ...], alpha: Fraction) -> None:
    law, step = compute_sum(parts)
    half = compute_combined_halfwidth(parts, alpha)
    assert find_least(law, float(alpha)) * step <= half
    assert half <= find_least(law, float(alpha) * (1 - 1e-3)) * step


@pytest.mark.one_in(2)
@pytest.mark.parametrize("alpha", [F(1, 20), F(1, 100)])
@pytest.mark.parametrize("scale", [40, 10**6])
def test_sums_of_wide_cubes_are_bounded_closely(
    scale: int, alpha: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By groups of reaches and smoothed, against the law that is written out for two integers."""
    part = weigh(cube(scale, 5), 1, 1)
    known = cube_noise.find_cube_halfwidth(part.noise, 2, alpha)
    monkeypatch.setattr(cube_noise, "MOST_KNOWN", 0)
    compute_combined_halfwidth.cache_clear()
    half = compute_combined_halfwidth((part,), alpha)
    compute_combined_halfwidth.cache_clear()
    assert known * (1 - 1e-6) - 1 <= half <= 1.05 * known


def test_chances_far_below_any_float_are_bounded() -> None:
    part = weigh(cube(1, 3), F(1, 2), F(1, 2))
    three = weigh(cube(1, 3), 1, 1, 2)
    for parts in ((part,), (three,), (part, three)):
        sizes = [compute_combined_halfwidth(parts, F(1, 10**n)) for n in (5, 9, 15, 30)]
        assert sizes == sorted(sizes)
        assert sizes[-1] > 30


@pytest.mark.parametrize(
    "noise", [cube(1, 2), cube("7/2", 11), cube("1/5", 3), cube(10**6, 2)], ids=repr
)
def test_reaches_have_the_variance_of_the_law(noise: Noise) -> None:
    for most in (1 << 17, 1 << 11):
        reaches = cube_noise.list_reaches(noise, 1e-20, most)
        assert reaches.chances.sum() == pytest.approx(1)
        spread = (reaches.chances * reaches.values * (reaches.values + 1)).sum() / 3
        expected = compute_noise_variance(noise)
        assert spread == pytest.approx(expected, rel=1e-9 if reaches.exact else 0.03)
        assert spread >= expected * (1 - 1e-9)


def test_parts_of_a_cell_are_multiplied_and_merged() -> None:
    noise = cube(1, 3)
    one = weigh(noise, F(1, 2), F(-1, 2))
    assert one.multiply(F(2), 3) == Part(noise, F(1), 3, (F(-1),))
    merged = combine_parts([one, weigh(noise, F(1, 2), F(1, 2), draws=2), weigh(noise, 0, 0)])
    assert merged == (Part(noise, F(1, 2), 3, (F(1, 2),)),)
    assert combine_parts([weigh(noise, 0, 3)]) == (Part(noise, F(3), 1),)
    assert float(sum_variance(merged)) == pytest.approx(1.5 * compute_noise_variance(noise))


@pytest.mark.parametrize("noise", [cube(1, 3), cube("5/2", 11)], ids=repr)
def test_tails_are_those_of_the_law_of_a_cell(noise: Noise) -> None:
    law = compute_law(noise, (1, 1))
    tails = tabulate_tails((weigh(noise, F(1, 2), F(1, 2)),))
    top = law.size // 2
    at = np.arange(-20, 21)
    exact = np.array([law[top + place :].sum() for place in at])
    assert (tails.bound_below(at / 2) <= exact + 1e-12).all()
    assert (tails.bound_above(at / 2) >= exact - 1e-12).all()
    assert (tails.bound_above(at / 2) - tails.bound_below(at / 2) < 1e-7).all()
