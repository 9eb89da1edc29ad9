"""Quantiles of weighted sums of three draws: never too small, and close."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from thorough import for_each

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import LATTICE_SLACK, mix_quantiles

WEIGHTS = [
    (1.0, 1.0, 1.0),
    (0.5, 0.25, 0.5),
    (1.0, 0.0, 0.0),
    (0.0, 0.0, 0.7),
    (0.9, 0.9, 0.01),
    (1 / 3, 1 / 6, 1 / 7),
    (1e-12, 0.3, 0.30001),
]
WIDE = Fraction(10**9)  # so wide that the slack for the lattice does not count


def solve_halfwidth(family: NoiseFamily, alpha: Fraction, weights: tuple[float, ...]) -> float:
    noise = Noise(family, WIDE if family is NoiseFamily.LAPLACE else WIDE**2)
    arrays = [np.array([weight]) for weight in weights]
    return float(mix_quantiles(noise, alpha, *arrays)[0] / WIDE)  # type: ignore[arg-type]


def compute_laplace_outside(at: float, weights: tuple[float, ...]) -> mpmath.mpf:
    """P(abs(sum) > at), with weights taken apart by so little that 60 digits don't mind."""
    with mpmath.workdps(60):
        scales = [mpmath.mpf(w) + mpmath.mpf(10) ** -12 * (i + 1) for i, w in enumerate(weights)]
        total = mpmath.mpf(0)
        for i, one in enumerate(scales):
            part = mpmath.mpf(1)
            for j, other in enumerate(scales):
                if j != i:
                    part *= one**2 / (one**2 - other**2)
            total += part * mpmath.exp(-at / one)
        return total


@for_each("weights", WEIGHTS)
@for_each("alpha", ["0.5", "0.05", "0.005", "0.0000001"])
def test_laplace(weights: tuple[float, ...], alpha: str) -> None:
    at = solve_halfwidth(NoiseFamily.LAPLACE, Fraction(alpha), weights)
    assert compute_laplace_outside(at, weights) <= float(alpha) * (1 + 1e-9)
    assert compute_laplace_outside(at * 0.97, weights) >= float(alpha)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("alpha", ["0.5", "0.05", "0.0000001"])
def test_gaussian(weights: tuple[float, ...], alpha: str) -> None:
    at = solve_halfwidth(NoiseFamily.GAUSSIAN, Fraction(alpha), weights)
    length = np.linalg.norm(weights)
    assert mpmath.erfc(at / length / mpmath.sqrt(2)) <= float(alpha)
    assert mpmath.erfc(at * 0.999 / length / mpmath.sqrt(2)) >= float(alpha)


def test_discrete_draws_have_their_slack() -> None:
    one = np.array([1.0])
    noise = Noise(NoiseFamily.LAPLACE, Fraction(1, 10**9))
    assert mix_quantiles(noise, Fraction(1, 20), one, one, one)[0] >= 3 * LATTICE_SLACK
    silent = Noise(NoiseFamily.NONE, Fraction(0))
    assert mix_quantiles(silent, Fraction(1, 20), one, one, one)[0] == 0


def test_larger_weights_never_give_less() -> None:
    rng = np.random.default_rng(3)
    noise = Noise(NoiseFamily.LAPLACE, Fraction(1000))
    low = rng.uniform(0, 1, (3, 2000))
    high = low + rng.uniform(0, 0.2, (3, 2000)) * rng.integers(0, 2, (3, 2000))
    less, more = (mix_quantiles(noise, Fraction(1, 20), *each) for each in (low, high))
    assert (less <= more * (1 + 1e-2)).all()
