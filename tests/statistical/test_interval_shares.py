"""Intervals of figures that are read off two or three noisy integers, as many as are published.

With little noise by the exact law, over all combinations of draws: there the lattice counts. With
much noise by draws, of which all neighbours have the noise that is planned for them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from planned_figures import (
    FAMILIES,
    LEVELS,
    NEIGHBOURS,
    THREE,
    TWO,
    all_draws,
    build_query,
    build_step,
    draw_all,
    find_cell,
    find_missed,
    is_plausible,
    neighbours_name,
    publish,
    with_noise,
)

from dprelease.model import Noise, NoiseFamily
from dprelease.statistics.shared.statistic import Neighbours

LEFT_OUT = 1e-6
CELLS = 4000


def get_noise(family: NoiseFamily, scale: Fraction) -> Noise:
    return Noise(family, scale if family is NoiseFamily.LAPLACE else scale**2)


def check_held(name: str, noise: Noise, width: int, shape: str, records: int) -> None:
    """By the exact law no figure is missed more often than stated."""
    step = with_noise(build_query(name, width), noise)
    exact, truth = find_cell(name, shape, records, width)
    draws, chances = all_draws(noise, len(exact), LEFT_OUT)
    for level in LEVELS:
        columns = publish(step, exact, draws, level)
        for figure, value in truth.items():
            wrong = float(chances[find_missed(columns, figure, value)].sum())
            assert wrong <= float(1 - level) + 1e-9, (figure, level)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", ["1/20", "3/5", "5/2"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", TWO)
def test_two_integers_with_little_noise(
    name: str, width: int, scale: str, family: NoiseFamily
) -> None:
    for shape, records in (("at the bound", 2), ("at both bounds", 7), ("skew", 400)):
        check_held(name, get_noise(family, Fraction(scale)), width, shape, records)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", ["1/20", "3/5", "1"])
@pytest.mark.parametrize("name", THREE)
def test_three_integers_with_little_noise(name: str, scale: str, family: NoiseFamily) -> None:
    for width, shape, records in ((1, "at both bounds", 5), (2, "skew", 300)):
        check_held(name, get_noise(family, Fraction(scale)), width, shape, records)


TOO_NARROW = 0.7
WIDTH = 5000


@pytest.mark.one_in(12)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", TWO + THREE)
def test_with_the_noise_of_all_neighbours(
    name: str, known: Neighbours, family: NoiseFamily, entropy: Any
) -> None:
    """Of many records they are found out if they are narrowed, too: they are close."""
    step = build_step(build_query(name, WIDTH), known, family, Fraction(1, 20))
    draws = draw_all(step, CELLS, entropy)
    for shape, records in (("skew", 60), ("even", 40_000)):
        exact, truth = find_cell(name, shape, records, WIDTH)
        for level in LEVELS:
            columns = publish(step, exact, draws, level)
            for figure, value in truth.items():
                assert is_plausible(find_missed(columns, figure, value), level), (figure, level)
            if records > 1000:
                for figure, value in truth.items():
                    wrong = find_missed(columns, figure, value, TOO_NARROW)
                    assert not is_plausible(wrong, level), (figure, level)
