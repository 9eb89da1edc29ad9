"""Fieller's interval of a ratio: its shape, its signs, and where there is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from thorough import for_each

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import bound_mix_quantile
from dprelease.postprocess.intervals.quotient_intervals import (
    compute_ratio_halfwidths,
    estimate_ratios,
)

LEVEL = Fraction(95, 100)
LAPLACE = Noise(NoiseFamily.LAPLACE, Fraction(40))
NOISES = [LAPLACE, Noise(NoiseFamily.GAUSSIAN, Fraction(1600))]


def quantile(noise: Noise, rho: float) -> float:
    size = abs(rho)
    return (1 + size) * bound_mix_quantile(noise, 1 - LEVEL, max(size, 1) / (1 + size))


@for_each("noise", NOISES)
@for_each("above", [0, 100, -100, 5000, -5000, 10**6])
@for_each("below", [200, -200, 3000, -3000, 10**7])
def test_the_ends_solve_the_equation(noise: Noise, above: int, below: int) -> None:
    half = float(compute_ratio_halfwidths([above], [below], noise, LEVEL)[0])
    ratio = above / below
    far = ratio + half if ratio >= 0 else ratio - half
    # at the far end, and beyond it, abs(N - rho D) is no smaller than q(rho)
    for rho in (far, 1.5 * far, 10 * far, ratio - half if ratio >= 0 else ratio + half):
        assert abs(above - rho * below) >= quantile(noise, rho) * (1 - 1e-9)
    inside = ratio + 0.95 * (far - ratio)
    assert abs(above - inside * below) <= quantile(noise, inside)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_there_is_none_where_the_denominator_may_be_of_either_sign(noise: Noise) -> None:
    widest = bound_mix_quantile(noise, 1 - LEVEL, 1.0)
    for below in (0, int(widest), -int(widest)):
        assert np.isinf(compute_ratio_halfwidths([100], [below], noise, LEVEL)).all()
    for below in (int(widest) + 1, -int(widest) - 1):
        assert np.isfinite(compute_ratio_halfwidths([100], [below], noise, LEVEL)).all()


def test_signs_do_not_matter() -> None:
    found = [
        float(compute_ratio_halfwidths([above], [below], LAPLACE, LEVEL)[0])
        for above in (-700, 700)
        for below in (-900, 900)
    ]
    assert len(set(found)) == 1


def test_values_are_rounded_and_half_widths_widened() -> None:
    silent = Noise(NoiseFamily.NONE, Fraction(0))
    above, below = [1, -1, 10**30, 5, 7], [3, 3, 3 * 10**30, 0, -2]
    values, halves = estimate_ratios(above, below, silent, LEVEL, Fraction(1000))
    assert values == [333, -333, 333, None, -3500]
    assert halves[3] is None
    for n, d, value, half in zip(above, below, values, halves, strict=True):
        if value is not None and half is not None:
            assert abs(value - Fraction(1000 * n, d)) <= half <= 2
