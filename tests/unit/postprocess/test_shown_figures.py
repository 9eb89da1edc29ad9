"""From when on a condition shows a figure, and the chances that intervals of shown figures take."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.finishing.conditions import find_limits, read
from dprelease.postprocess.intervals.combined_noise import Part, combine_parts, tabulate_tails
from dprelease.postprocess.intervals.shown_figures import Limits, bound_distances

OWN, SIZE = {"value", "q"}, Fraction(9)
FIXED = {"noise_moe": SIZE}


def limits(text: str, places: int = 0) -> Limits | None:
    node = read(text, ["value", "q", "noise_moe", "other"])
    return find_limits(node, OWN, FIXED, SIZE, places)


@pytest.mark.parametrize(
    ("text", "upper", "lower"),
    [
        ("value >= 90", 90, None),
        ("value > noise_moe", 10, None),
        ("noise_moe < 0.5 * value", 19, None),
        ("q >= 3 AND other > 7 AND value >= 5", 5, None),
        ("noise_moe / value < 0.25 AND value > 0", 37, None),
        ("ABS(value) > noise_moe", 10, -10),
        ("value <= -4 OR value >= 7", 7, -4),
        ("value >= 4000000", 4_000_000, None),
    ],
)
def test_limits_are_found(text: str, upper: int, lower: int | None) -> None:
    assert limits(text) == Limits(Fraction(upper), None if lower is None else Fraction(lower))


def test_limits_have_the_decimals_of_the_figure() -> None:
    assert limits("value > 2.5", 2) == Limits(Fraction(251, 100))


@pytest.mark.parametrize(
    "text",
    [
        "other > 7",
        "noise_moe < 12",
        "value > other",
        "value < 50",
        "value BETWEEN 5 AND 50",
        "value >= 0 OR noise_moe > 3",
    ],
)
def test_of_other_conditions_there_are_none(text: str) -> None:
    assert limits(text) is None


PARTS = {
    "laplace": ((NoiseFamily.LAPLACE, 3, 1, 1),),
    "gaussian": ((NoiseFamily.GAUSSIAN, 10, 1, 1),),
    "two": ((NoiseFamily.LAPLACE, 3, 1, 2),),
    "weighted": ((NoiseFamily.LAPLACE, 3, Fraction(1, 7), 1), (NoiseFamily.GAUSSIAN, 4, 1, 1)),
    "wide": ((NoiseFamily.LAPLACE, 10**6, 1, 1),),
}


@pytest.mark.parametrize("name", PARTS)
def test_tails_enclose_those_of_draws(name: str) -> None:
    parts = combine_parts(
        Part(Noise(family, Fraction(size)), Fraction(weight), draws)
        for family, size, weight, draws in PARTS[name]
    )
    law: dict[Fraction, float] = {Fraction(0): 1.0}
    if name == "wide":
        scale = 1e6
        at = np.array([-2e6, -1.0, 0.0, 1.0, 3e5, 5e6])
        fall = math.exp(-1 / scale)
        right = np.exp(-np.abs(at) / scale) / (1 + fall)
        exact = np.where(at > 0, right, 1 - np.exp(-(1 - at) / scale) / (1 + fall))
    else:
        for part in parts:
            size = float(part.noise.parameter)
            weights = {
                k: math.exp(-abs(k) / size)
                if part.noise.family is NoiseFamily.LAPLACE
                else math.exp(-k * k / (2 * size))
                for k in range(-60, 61)
            }
            total = sum(weights.values())
            for _ in range(part.draws):
                joined: dict[Fraction, float] = {}
                for value, chance in law.items():
                    for k, weight in weights.items():
                        place = value + k * part.weight
                        joined[place] = joined.get(place, 0.0) + chance * weight / total
                law = joined
        points = [Fraction(k, 7) for k in (-40, -7, -1, 0, 1, 3, 20, 70)]
        at = np.array([float(point) for point in points])
        exact = np.array([sum(c for v, c in law.items() if v >= point) for point in points])
    tails = tabulate_tails(parts)
    low, high = tails.bound_below(at), tails.bound_above(at)
    assert (low <= exact + 1e-7).all()
    assert (exact <= high + 1e-7).all()
    assert (high - low < 0.03).all()


def test_of_laplace_noise_a_figure_at_its_only_limit_may_be_of_anything() -> None:
    noise = (Part(Noise(NoiseFamily.LAPLACE, Fraction(3)), Fraction(1), 1),)
    level = Fraction(1, 20)
    near, far = bound_distances(noise, np.array([0.0, 40.0]), None, level)
    assert near == math.inf
    assert far == pytest.approx(-31)  # the half-width is 9, as of any figure
    (near,) = bound_distances(noise, np.array([0.0]), 18.0, level)
    assert near < 18


def test_there_are_no_tails_without_noise() -> None:
    with pytest.raises(ValueError, match="only noise of numbers"):
        tabulate_tails(())
