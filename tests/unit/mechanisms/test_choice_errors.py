"""How far chosen candidates may fall short: against every small table, and no wider than needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from itertools import permutations, product

import pytest

from dprelease.mechanisms.exponential import find_shortfall

Law = Callable[[tuple[int, ...], float], list[float]]


def exponential_law(scores: tuple[int, ...], rate: float) -> list[float]:
    weights = [math.exp(rate * (score - max(scores))) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def flip_law(scores: tuple[int, ...], rate: float) -> list[float]:
    """As published: coins in a random order."""
    heads = [math.exp(rate * (score - max(scores))) for score in scores]
    law = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        still = 1.0 / math.factorial(len(scores))
        for each in order:
            law[each] += still * heads[each]
            still *= 1 - heads[each]
    return law


LAWS = [exponential_law, flip_law]
ALPHAS = [F(1, 2), F(1, 20), F(1, 100)]


def missed(law: list[float], scores: tuple[int, ...], short: int) -> float:
    best = max(scores)
    return math.fsum(p for p, s in zip(law, scores, strict=True) if best - s > short)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("rate", [F(1, 3), F(1), F(3)])
def test_it_holds_on_every_tiny_table_and_nothing_less_does(law: Law, alpha: F, rate: F) -> None:
    """The least that holds on all tables of three: tables with large gaps decide."""
    short = find_shortfall(law is flip_law, 3, 1, rate, alpha)
    worst: dict[int, float] = {}
    for gaps in product(range(short + 4), repeat=2):
        scores = (0, -gaps[0], -gaps[1])
        chances = law(scores, float(rate))
        for least in (short - 1, short):
            worst[least] = max(worst.get(least, 0.0), missed(chances, scores, least))
    assert worst[short] <= float(alpha)
    assert short == 0 or worst[short - 1] > float(alpha)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("candidates", [2, 6, 1000, 10**9])
def test_the_worst_scores_reach_it(law: Law, alpha: F, candidates: int) -> None:
    """All others at the same distance: in closed form for any number of them."""
    rate = F(1, 40)

    def chance(distance: int) -> float:
        p = math.exp(-float(rate) * distance)
        if law is exponential_law:
            return (candidates - 1) * p / (1 + (candidates - 1) * p)
        return 1 + math.expm1(candidates * math.log1p(-p)) / (candidates * p)

    short = find_shortfall(law is flip_law, candidates, 1, rate, alpha)
    assert chance(short + 1) <= float(alpha)
    assert short == 0 or chance(short) > float(alpha)


def test_flips_are_bounded_by_less_and_both_by_less_than_the_union_bound() -> None:
    for candidates, picks, alpha in product((2, 30, 10**6), (1, 2, 20), ALPHAS):
        rate = F(1, 100)
        union = (math.log(candidates * picks) - math.log(alpha)) / float(rate)
        flips = find_shortfall(True, candidates, picks, rate, alpha)
        assert flips <= find_shortfall(False, candidates, picks, rate, alpha) <= union
        if picks == 1 and alpha < F(1, 10):
            assert flips <= union - 60


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_picks_are_right_together(law: Law, alpha: F) -> None:
    """Two picks of three, in turn: each no further below the true one of its rank."""
    rate = F(1)
    short = find_shortfall(law is flip_law, 3, 2, rate, alpha)
    for scores in product(range(short + 3), repeat=3):
        order = sorted(scores, reverse=True)
        wrong = 0.0
        for first, p in enumerate(law(scores, float(rate))):
            left = [place for place in range(3) if place != first]
            rest = law(tuple(scores[place] for place in left), float(rate))
            for second, q in zip(left, rest, strict=True):
                if order[0] - scores[first] > short or order[1] - scores[second] > short:
                    wrong += p * q
        assert wrong <= float(alpha)


def test_one_candidate_is_right_and_numbers_must_make_sense() -> None:
    assert find_shortfall(True, 1, 1, F(1), F(1, 20)) == 0
    assert find_shortfall(False, 10**6, 3, F(10**6), F(1, 20)) == 0
    assert find_shortfall(True, 10**6, 10**6, F(1, 10**9), F(1, 10**6)) > 10**10
    for wrong in (
        (0, 1, F(1), F(1, 2)),
        (2, 0, F(1), F(1, 2)),
        (2, 1, F(0), F(1, 2)),
        (2, 1, F(1), F(0)),
        (2, 1, F(1), F(1)),
    ):
        with pytest.raises(ValueError, match=r"candidate|positive"):
            find_shortfall(True, *wrong)
