"""Which way the top k are found, and that it errs less than the plain way."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hashed_bytes import Hashed

from dprelease.kernel.chapters.choices.choice_sampler import (
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.mechanisms import exponential, laplace
from dprelease.mechanisms import permute_and_flip as top


@pytest.mark.parametrize(
    ("k", "l_infinity", "l1", "monotone", "one_shot"),
    [
        (1, 1, 1, True, False),
        (1, 1, 1, False, True),
        (10, 1, 1, True, True),
        (10, 1, 8, True, True),
        (10, 1, 9, True, False),
        (10, 1, 9, False, True),
        (10, 7, 70, True, False),
        (200, 1, 500, True, False),
    ],
)
def test_the_way_taken(k: int, l_infinity: int, l1: int, monotone: bool, one_shot: bool) -> None:
    assert top.is_one_shot_better(k, l_infinity, l1, F(1), monotone=monotone) is one_shot


@pytest.mark.parametrize("arguments", [
    (0, 1, 1, F(1)), (1, 0, 1, F(1)), (1, 2, 1, F(1)), (1, 1, 1, F(0)),
])  # fmt: skip
def test_what_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"at least|epsilon"):
        top.is_one_shot_better(*arguments, monotone=True)


def test_noisy_top_breaks_ties_by_position() -> None:
    assert top.find_noisy_top([5, 9, 9, -3, 9], 2) == [1, 2]
    assert top.find_noisy_top(np.array([5, 9, 9, -3, 9]), 4) == [1, 2, 4, 0]
    assert top.find_noisy_top([2**80, 1, 2**80 + 1], 9) == [2, 0, 1]
    with pytest.raises(ValueError, match="at least one"):
        top.find_noisy_top([1], 0)


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

        plain += regret(select_in_turn(counts, 10, rate, draw_exponential, entropy))
        assert top.is_one_shot_better(10, 1, 1, F(1, 2), monotone=True)
        noise = laplace.calibrate(1, F(1, 2))
        one_shot += regret(top.find_noisy_top(counts + sample(noise, 1000, entropy), 10))
        assert not top.is_one_shot_better(10, 1, 100, F(1, 2), monotone=True)
        pick_rate = exponential.calibrate(F(1, 20), 1, True)
        chosen = select_in_turn(counts, 10, pick_rate, draw_permute_and_flip, entropy)
        flips += regret(chosen)
    assert one_shot <= plain / 2
    assert flips <= plain / 2
