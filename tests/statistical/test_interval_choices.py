"""What is stated of chosen names holds for the worst scores, and nothing less would.

By the exact laws. The scores that are worst are those where all others lie equally far below.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planned_figures import (
    LABELS,
    LEVELS,
    NEIGHBOURS,
    build_query,
    build_step,
    draw_all,
    get_law,
    is_plausible,
    neighbours_name,
    publish,
)

from dprelease.kernel.chapters.choices.choice_sampler import (
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.model import Form, NoiseFamily, Query, Step
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

EPSILONS = [Fraction(4), Fraction(1, 3)]
MANY = len(LABELS)


def build_query_values(name: str, mechanism: str) -> Query:
    query = build_query(name)
    return Query(
        **{key: getattr(query, key) for key in query.__struct_fields__} | {"mechanism": mechanism}
    )


def find_stated_halfwidth(step: Step, level: Fraction) -> int:
    """The stated shortfall, in steps of the score."""
    short = get_statistic(step.query.statistic).compute_halfwidth(step, level)
    assert short is not None
    columns = get_statistic(step.query.statistic).build_columns(step, _any_names(step), level)
    (column,) = (each for each in columns if each.name == "q_noise_moe")
    assert {Fraction(int(each or 0), 10**column.decimals) for each in column.values} == {short}
    steps = short / step.unit[0]
    assert steps.denominator == 1
    return steps.numerator


def _any_names(step: Step) -> list[list[int]]:
    if step.form is Form.NUMBERS:
        return [[0] * (3 * MANY)]
    return [[pick] * 3 for pick in range(step.query.picks)]


def chance_of_another(step: Step, distance: int) -> float:
    """P(not the best), all others at this distance in score."""
    p = math.exp(-float(step.noise.parameter) * distance)
    if step.noise.family is NoiseFamily.EXPONENTIAL:
        return (MANY - 1) * p / (1 + (MANY - 1) * p)
    return 1 - (1 - (1 - p) ** MANY) / (MANY * p)


@pytest.mark.parametrize("mechanism", ["auto", "exponential"])
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", ["mode", "best"])
def test_one_name_by_the_exact_law(name: str, known: Neighbours, mechanism: str) -> None:
    for epsilon in EPSILONS:
        step = build_step(build_query_values(name, mechanism), known, NoiseFamily.LAPLACE, epsilon)
        assert step.form is Form.CHOICE
        assert (step.noise.family is NoiseFamily.EXPONENTIAL) == (mechanism == "exponential")
        for level in LEVELS:
            short = find_stated_halfwidth(step, level)
            assert chance_of_another(step, short + 1) <= float(1 - level)
            assert short == 0 or chance_of_another(step, short) > float(1 - level)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mechanism", ["auto", "exponential"])
@pytest.mark.parametrize("name", ["mode", "best"])
def test_the_draws_keep_it(name: str, mechanism: str, entropy: Any) -> None:
    """The worst scores, drawn: as often as stated, and oftener missed by a narrower bound."""
    step = build_step(
        build_query_values(name, mechanism), NEIGHBOURS[0], NoiseFamily.LAPLACE, Fraction(1)
    )
    draw = draw_exponential if mechanism == "exponential" else draw_permute_and_flip
    short = find_stated_halfwidth(step, LEVELS[1])
    for distance, fine in ((short + 1, True), (short * 2 // 3, False)):
        scores = [0, *[-distance] * (MANY - 1)]
        found = [
            select_in_turn(scores, 1, step.noise.parameter, draw, entropy)[0] for _ in range(1000)
        ]
        assert is_plausible(np.array(found) != 0, LEVELS[1]) is fine


@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
def test_the_top_by_choices(known: Neighbours) -> None:
    """Two picks, both right with the stated chance: the exact law of the pairs."""
    query = build_query_values("top_k", "exponential")
    step = build_step(query, known, NoiseFamily.LAPLACE, Fraction(1))
    assert step.noise.family is NoiseFamily.EXPONENTIAL
    rate = float(step.noise.parameter)
    for level in LEVELS:
        short = find_stated_halfwidth(step, level)

        right = []  # two at the top, the others so far below
        for distance in (short + 1, short * 2 // 3):
            p = math.exp(-rate * distance)
            right.append(2 / (2 + (MANY - 2) * p) / (1 + (MANY - 2) * p))
        assert 1 - right[0] <= float(1 - level)
        assert 1 - right[1] > float(1 - level)


@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
def test_the_top_by_noisy_counts(known: Neighbours) -> None:
    """All others equally far below the two best: by the exact law of the least and largest noise.

    A wrong name needs a noise of another that is larger by the distance than one of the best two.
    """
    for epsilon in EPSILONS:
        step = build_step(
            build_query_values("top_k", "laplace"), known, NoiseFamily.LAPLACE, epsilon
        )
        assert step.form is Form.NUMBERS
        draws, chances = get_law(step.noise)
        below = np.cumsum(chances)
        least_of_best = np.diff(1 - (1 - below) ** 2, prepend=0.0)

        for level in LEVELS:
            short = find_stated_halfwidth(step, level)
            # Ties go to the earlier one, which may be the other.
            enough, less = (
                1 - np.interp(draws + distance - 1, draws, below, left=0.0, right=1.0) ** (MANY - 2)
                for distance in (short + 1, short // 2)
            )
            assert (least_of_best * enough).sum() <= float(1 - level) + 1e-12
            assert short < 3 or (least_of_best * less).sum() > float(1 - level)


@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
def test_noisy_counts_as_they_are_published(known: Neighbours, entropy: Any) -> None:
    """Names of 2,000 cells, with counts that all differ: each no lower than its rank's, less that.

    Cells are as many as three groups have; here they are taken as they come.
    """
    step = build_step(
        build_query_values("top_k", "laplace"), known, NoiseFamily.LAPLACE, Fraction(1)
    )
    level = LEVELS[0]
    short = find_stated_halfwidth(step, level)
    scores = np.array([short * place // 3 for place in (7, 6, 3, 2, 0)])
    (draws,) = draw_all(step, 2000 * MANY, entropy)
    columns = publish(step, [0], [draws + np.tile(scores, 2000)], level)
    order = np.sort(scores)[::-1]
    wrong = np.zeros(2000, dtype=bool)
    for rank in (0, 1):
        taken = np.array([LABELS.index(str(each)) for each in columns[f"q_{rank + 1}"].values])
        wrong |= order[rank] - scores[taken] > short
    assert is_plausible(wrong, level)
