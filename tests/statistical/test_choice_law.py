"""Selections follow their laws, and laws that are off by a twentieth or a factor 2 are caught.

The exponential mechanism's law in closed form; permute-and-flip's by going through all orders of
the candidates, as it was published, on a deterministic stream of bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction as F
from itertools import permutations

import pytest
from drawn_laws import judge_outcomes
from hashed_bytes import Hashed

from dprelease.kernel.chapters.choices.choice_sampler import (
    Draw,
    choose,
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.kernel.chapters.choices.weights import WeightBuckets

ALARM = 1e-6
DRAWS = 5000

Law = Mapping[Hashable, float]


def exponential_law(distances: list[int], rate: float, sizes: list[int]) -> Law:
    weights = [n * math.exp(-rate * d) for d, n in zip(distances, sizes, strict=True)]
    return {i: weight / math.fsum(weights) for i, weight in enumerate(weights)}


def flip_law(distances: list[int], rate: float, sizes: list[int]) -> Law:
    """By all orders of all candidates."""
    owners = [i for i, n in enumerate(sizes) for _ in range(n)]
    heads = [math.exp(-rate * distances[i]) for i in owners]
    law = dict.fromkeys(range(len(sizes)), 0.0)
    for order in permutations(range(len(owners))):
        still = 1.0
        for each in order:
            law[owners[each]] += still * heads[each]
            still *= 1 - heads[each]
    return {i: share / math.factorial(len(owners)) for i, share in law.items()}


def draw_choices(
    draw: Draw, distances: list[int], rate: F, sizes: list[int], draws: int = DRAWS
) -> Counter[Hashable]:
    entropy = Hashed(f"{draw.__name__} {distances} {rate} {sizes}")
    buckets = WeightBuckets(distances, rate, sizes)
    return Counter(draw(buckets, entropy)[0] for _ in range(draws))


GROWING = [round(math.exp(8 * i)) for i in range(6)]  # so that all buckets weigh about the same
CHOICES = [
    ([0, 1, 2, 3, 4, 5, 6, 7], F(1, 3), [1] * 8),
    ([40, 0, 7, 7, 13, 90], F(1, 30), [1] * 6),
    ([0, 3], F(50, 49), [1, 1]),
    ([0, 2, 4, 6, 8, 10], F(4), GROWING),
    ([10**9, 0, 7 * 10**8, 3 * 10**9], F(1, 10**9), [1, 2, 3, 4]),
]
FLIPS = [
    ([0, 1, 2, 3, 4, 5], F(1, 3), [1] * 6),
    ([0, 0, 1, 30], F(1, 30), [1, 1, 2, 2]),
    ([0, 3], F(1, 2), [1, 1]),
    ([1, 0, 3], F(2, 3), [3, 1, 3]),
    ([10**9, 0, 7 * 10**8], F(1, 10**9), [1, 2, 3]),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("distances", "rate", "sizes"), CHOICES)
def test_the_exponential_mechanism(distances: list[int], rate: F, sizes: list[int]) -> None:
    found = draw_choices(draw_exponential, distances, rate, sizes)
    assert judge_outcomes(found, exponential_law(distances, float(rate), sizes)) > ALARM
    assert judge_outcomes(found, exponential_law(distances, float(rate) * 2, sizes)) < ALARM
    assert judge_outcomes(found, exponential_law(distances, float(rate) / 2, sizes)) < ALARM


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("distances", "rate", "sizes"), FLIPS)
def test_permute_and_flip(distances: list[int], rate: F, sizes: list[int]) -> None:
    found = draw_choices(draw_permute_and_flip, distances, rate, sizes)
    assert judge_outcomes(found, flip_law(distances, float(rate), sizes)) > ALARM
    assert judge_outcomes(found, flip_law(distances, float(rate) * 2, sizes)) < ALARM


@pytest.mark.thorough
def test_a_rate_off_by_a_twentieth_is_caught() -> None:
    for draw, law, (distances, rate, sizes) in (
        (draw_exponential, exponential_law, CHOICES[3]),
        (draw_permute_and_flip, flip_law, ([0, 1], F(2), [1, 6])),
    ):
        found = draw_choices(draw, distances, rate, sizes, 4 * DRAWS)
        assert judge_outcomes(found, law(distances, float(rate), sizes)) > ALARM
        for factor in (0.95, 1.05):
            assert judge_outcomes(found, law(distances, float(rate) * factor, sizes)) < ALARM


@pytest.mark.thorough
def test_permute_and_flip_with_more_candidates_than_could_be_flipped() -> None:
    """2^60 coins of e^-41 show a Poisson number of heads, to within 10^-17: mean 1.8."""
    mean = 2.0**60 * math.exp(-41)
    best = (1 - math.exp(-mean)) / mean  # the mean of 1/(1 + heads)
    found = draw_choices(draw_permute_and_flip, [0, 41], F(1), [1, 1 << 60])
    assert judge_outcomes(found, {0: best, 1: 1 - best}) > ALARM
    plain = exponential_law([0, 41], 1.0, [1, 1 << 60])
    assert judge_outcomes(found, plain) < ALARM
    chosen = draw_choices(draw_exponential, [0, 41], F(1), [1, 1 << 60])
    assert judge_outcomes(chosen, plain) > ALARM


@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [5, 1 << 60])
@pytest.mark.parametrize("draw", [draw_exponential, draw_permute_and_flip])
def test_offsets_are_all_alike(draw: Draw, size: int) -> None:
    entropy = Hashed(f"offsets {draw.__name__} {size}")
    buckets = WeightBuckets([0, 1, 0], F(1, 2), [size, size, 1])
    found = [draw(buckets, entropy) for _ in range(4000)]
    parts = Counter[Hashable](offset * 5 // size for index, offset in found if index < 2)
    assert judge_outcomes(parts, dict.fromkeys(range(5), 1 / 5)) > ALARM
    skewed = Counter[Hashable](offset * 4 // size for index, offset in found if index < 2)
    assert size == 5 or judge_outcomes(skewed, dict.fromkeys(range(4), 1 / 4)) > ALARM


def test_the_short_call_draws_the_same_law() -> None:
    entropy = Hashed("short choose")
    found = Counter[Hashable](choose([0, 1, 1], F(1), entropy)[0] for _ in range(2000))
    assert judge_outcomes(found, exponential_law([0, 1, 1], 1.0, [1, 1, 1])) > ALARM
    assert judge_outcomes(found, flip_law([0, 1, 1], 1.0, [1, 1, 1])) < ALARM


@pytest.mark.parametrize("draw", [draw_exponential, draw_permute_and_flip])
def test_selecting_in_turn_selects_among_those_left(draw: Draw) -> None:
    scores, rate = [9, 7, 6], F(1, 3)
    one_law = exponential_law if draw is draw_exponential else flip_law

    def left_law(left: list[int]) -> Law:
        best = max(scores[i] for i in left)
        one = one_law([best - scores[i] for i in left], float(rate), [1] * len(left))
        return {left[i]: share for i, share in one.items()}

    first = left_law([0, 1, 2])
    law = {
        (i, j): first[i] * share
        for i in range(3)
        for j, share in left_law([o for o in range(3) if o != i]).items()
    }
    entropy = Hashed(f"peel {draw.__name__}")
    found = Counter[Hashable](
        tuple(select_in_turn(scores, 2, rate, draw, entropy)) for _ in range(1000)
    )
    assert judge_outcomes(found, law) > ALARM
    shuffled = {(i, j): law[j, i] for i, j in law}
    assert judge_outcomes(found, shuffled) < ALARM
