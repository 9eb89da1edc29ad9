"""Which way the top k are found, what it costs, and that it errs less than the plain way."""

import hashlib
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from dprelease.kernel.noise.additive.sample import sample
from dprelease.kernel.noise.selection.exponential import (
    draw_exponential,
    draw_permute_and_flip,
    peel,
)
from dprelease.mechanisms import exponential
from dprelease.mechanisms import top_k as top
from dprelease.mechanisms.top_k import Way
from dprelease.model import Noise, NoiseFamily
from dprelease.privacy import zcdp


class Hashed:
    def __init__(self, label: str) -> None:
        self.label, self.reads = label, 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return hashlib.shake_128(f"{self.label}/{self.reads}".encode()).digest(size)


@pytest.mark.parametrize(
    ("k", "l_infinity", "l1", "delta", "monotone", "way"),
    [
        (1, 1, 1, F(0), True, Way.PERMUTE_AND_FLIP),
        (1, 1, 1, F(0), False, Way.ONE_SHOT),
        (10, 1, 1, F(0), True, Way.ONE_SHOT),
        (10, 1, 8, F(0), True, Way.ONE_SHOT),
        (10, 1, 9, F(0), True, Way.PERMUTE_AND_FLIP),
        (10, 1, 9, F(0), False, Way.ONE_SHOT),
        (10, 7, 70, F(0), True, Way.PERMUTE_AND_FLIP),
        (200, 1, 500, F(1, 10**6), True, Way.EXPONENTIAL),
        (200, 1, 500, F(0), True, Way.PERMUTE_AND_FLIP),
        (2, 1, 500, F(1, 10**6), True, Way.PERMUTE_AND_FLIP),
    ],
)
def test_the_way_taken(
    k: int, l_infinity: int, l1: int, delta: F, monotone: bool, way: Way
) -> None:
    found = top.method(k, l_infinity, l1, F(1), delta, monotone)
    assert found.way is way
    assert found.loss.epsilon <= 1
    assert found.loss.delta <= delta
    assert (found.noise is None) == (found.rate is not None) == (way is not Way.ONE_SHOT)


def test_losses_are_those_of_all_selections() -> None:
    one_shot, flips, chosen = top.methods(10, 2, 6, F(1), F(1, 10**6), False)
    assert one_shot.noise == Noise(NoiseFamily.LAPLACE, F(6))
    assert one_shot.loss.epsilon == flips.loss.epsilon == 1
    assert one_shot.loss.delta == flips.loss.delta == 0
    assert flips.rate == F(1, 40)
    assert flips.loss.rho == 10 * zcdp.rho_of_pure(F(1, 10))
    assert chosen.rate is not None
    rho = 10 * (exponential.loss(chosen.rate, 2, False).rho or 0)
    assert chosen.loss.rho == rho <= zcdp.rho_for(F(1), F(1, 10**6))
    assert F(999, 1000) < chosen.loss.epsilon <= 1
    assert chosen.loss.delta == F(1, 10**6)


@pytest.mark.parametrize("arguments", [
    (0, 1, 1, F(1), F(0)), (1, 0, 1, F(1), F(0)), (1, 2, 1, F(1), F(0)),
    (1, 1, 1, F(0), F(0)), (1, 1, 1, F(1), F(1)), (1, 1, 1, F(1), F(-1)),
])  # fmt: skip
def test_what_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"at least|epsilon"):
        top.method(*arguments, True)


def test_noisy_top_breaks_ties_by_position() -> None:
    assert top.noisy_top([5, 9, 9, -3, 9], 2) == [1, 2]
    assert top.noisy_top(np.array([5, 9, 9, -3, 9]), 4) == [1, 2, 4, 0]
    assert top.noisy_top([2**80, 1, 2**80 + 1], 9) == [2, 0, 1]
    with pytest.raises(ValueError, match="at least one"):
        top.noisy_top([1], 0)


def test_the_top_ten_have_at_most_half_the_regret_of_plain_selections() -> None:
    """Ten counts 200 above the rest, epsilon 1/2; one person in one group, and in many."""
    counts = np.full(1000, 1000, dtype=np.int64)
    counts[:10] += 200
    rate = exponential.calibrate(F(1, 20), 1, False)
    plain = one_shot = flips = 0
    for turn in range(6):
        entropy = Hashed(f"regret {turn}")

        def regret(positions: list[int]) -> int:
            return 12_000 - int(counts[positions].sum())

        plain += regret([i for i, _ in peel(counts, 10, rate, draw_exponential, entropy)])
        found = top.method(10, 1, 1, F(1, 2), F(0), True)
        assert found.noise is not None
        one_shot += regret(top.noisy_top(counts + sample(found.noise, 1000, entropy), 10))
        found = top.method(10, 1, 100, F(1, 2), F(0), True)
        assert found.rate is not None
        chosen = peel(counts, 10, found.rate, draw_permute_and_flip, entropy)
        flips += regret([i for i, _ in chosen])
    assert one_shot <= plain / 2
    assert flips <= plain / 2
