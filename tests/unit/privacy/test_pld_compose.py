"""Composition by transform: exact sums, the error bound, aliases and truncated tails."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest

from dprelease.privacy import pld_compose
from dprelease.privacy.pld_compose import Composed, compose
from dprelease.privacy.pld_grid import Grid, Piece

GRID = Grid(F(1, 8), 1.5, -45.0, -45.0)


def piece(masses: list[F], top: int, grid: Grid = GRID) -> Piece:
    """A piece with just these masses at depths 0, 1, ..., up to float accuracy above."""
    depth = np.arange(len(masses), dtype=np.float64)
    tilted = [float(m) * math.exp(-grid.tilt * k * float(grid.step)) for k, m in enumerate(masses)]
    total = sum(tilted)
    return Piece(
        top << 40, depth, np.array(tilted) * (1 + 1e-14) / total, math.log(total) + 1e-14, 0.0
    )


def exactly(parts: list[tuple[list[F], int, int]], epsilon: F) -> F:
    """The composed delta by enumeration; (masses, top in steps, times)."""
    law = {0: F(1)}
    for masses, top, times in parts:
        for _ in range(times):
            joint: dict[int, F] = {}
            for (z, p), (k, q) in itertools.product(law.items(), enumerate(masses)):
                joint[z + top - k] = joint.get(z + top - k, F(0)) + p * q
            law = joint
    mp.mp.dps = 30
    e = mp.mpf(epsilon.numerator) / epsilon.denominator
    result = mp.fsum(
        mp.mpf(p.numerator) / p.denominator * -mp.expm1(e - mp.mpf(z) / 8)
        for z, p in law.items()
        if F(z, 8) > epsilon
    )
    return F(str(result))


def some_parts(dice: random.Random) -> list[tuple[list[F], int, int]]:
    parts = []
    for _ in range(dice.choice([1, 2, 3])):
        size = dice.choice([2, 3, 7])
        weights = [F(dice.randrange(1, 50)) for _ in range(size)]
        masses = [w / sum(weights) for w in weights]
        parts.append((masses, dice.randrange(0, 9), dice.choice([1, 2, 5])))
    return parts


def composed(parts: list[tuple[list[F], int, int]], size: int, high: float = math.inf) -> Composed:
    top = sum(times * t for _, t, times in parts) / 8
    pieces = [(piece(masses, t), times) for masses, t, times in parts]
    return compose(pieces, GRID, size, min(high, top), 2 * GRID.tilt)


def test_enumeration_is_never_exceeded_and_nearly_met() -> None:
    dice = random.Random(2)
    for _ in range(25):
        parts = some_parts(dice)
        result = composed(parts, 256)
        for units in (-9, 0, 3, 10, 25):
            epsilon = F(units, 8) + F(dice.randrange(8), 77)
            exact, found = exactly(parts, epsilon), result.delta(epsilon)
            assert found >= exact
            assert found <= float(exact) * (1 + 1e-6) + 1e-11


def test_a_window_of_few_points_only_adds() -> None:
    """Everything lower falls onto the same circle; nothing is lost."""
    dice = random.Random(3)
    for _ in range(25):
        parts = some_parts(dice)
        result = composed(parts, 8)
        top = sum(times * t for _, t, times in parts)
        for units in range(8):
            epsilon = F(top - units, 8) - F(1, 50)
            assert result.delta(epsilon) >= exactly(parts, epsilon)


def test_what_lies_above_the_window_is_added() -> None:
    dice = random.Random(4)
    for _ in range(25):
        parts = some_parts(dice)
        top = sum(times * t for _, t, times in parts)
        result = composed(parts, 256, high=(top - 6) / 8)
        assert result.beside > 0
        for units in range(12):
            epsilon = F(top - units, 8) - F(1, 50)
            assert result.delta(epsilon) >= exactly(parts, epsilon)


def test_below_the_window_nothing_is_claimed() -> None:
    parts = [([F(1, 2), F(1, 2)], 3, 1)]
    assert composed(parts, 8).delta(F(-10)) == 1.0


def test_infinity_is_added() -> None:
    one = replace(piece([F(1, 2), F(1, 2)], 3), infinity=1e-3)
    plain = composed([([F(1, 2), F(1, 2)], 3, 4)], 64).delta(F(1, 4))
    lossy = compose([(one, 4)], GRID, 64, 12 / 8, 3.0).delta(F(1, 4))
    assert plain + 4e-3 <= lossy <= plain + 5e-3


def test_the_tilt_keeps_tiny_deltas_exact() -> None:
    """Without a tilt the transform's rounding, 1e-16, would hide this one."""
    masses, times = [F(1, 100), F(99, 100)], 12
    grid = replace(GRID, tilt=40.0)
    parts = [(masses, 1, times)]
    result = compose([(piece(masses, 1, grid), times)], grid, 64, 12 / 8, 80.0)
    exact = exactly(parts, F(19, 16))
    assert exact < F(1, 10**18)
    assert exact <= result.delta(F(19, 16)) <= float(exact) * 1.001


@pytest.mark.parametrize("size", [1 << 8, 3 << 9, 1 << 13])
@pytest.mark.parametrize("times", [1, 2, 7, 40])
def test_the_rounding_of_transforms_is_bounded(size: int, times: int) -> None:
    """Against convolution in extended precision."""
    dice = random.Random(size + times)
    weights = np.array([dice.random() ** 4 for _ in range(size // (2 * times) + 1)])
    weights /= weights.sum()
    exact = np.ones(1, dtype=np.longdouble)
    for _ in range(times):
        exact = np.convolve(exact, weights.astype(np.longdouble))
    depth = np.arange(len(weights), dtype=np.float64)
    result = compose(
        [(Piece(0, depth, weights, 0.0, 0.0), times)], replace(GRID, tilt=0.0), size, 0.0, 1.0
    )
    raised = (1 + 2.0**-52 * len(weights)) ** times  # what folding adds on purpose
    wrong = result.tilted[: len(exact)] - exact * raised
    assert float(np.sqrt((wrong**2).sum())) <= result.error / 4
    assert result.error < 1e-10


def test_too_many_laws_are_refused() -> None:
    with pytest.raises(OverflowError):
        compose([(piece([F(1)], 0), 10**8)], GRID, 64, 1.0, 3.0)
    with pytest.raises(OverflowError):
        compose([], GRID, 64, 1.0, 3.0)


def test_nothing_is_multiplied_by_denormal_numbers() -> None:
    small = np.full(8, 1e-80 + 1e-80j)
    product = pld_compose._times(small, small)
    assert not product.any()
