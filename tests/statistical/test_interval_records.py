"""Intervals of estimates from perturbed records cover what they say, by exact laws.

For every number of records with a label: the law of what is counted is a convolution, and the
coverage a sum over what the interval holds. Nothing is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from record_laws import build_labels_response, numeric, window

from dprelease.local.estimation.estimates import cross, estimate_shares, mean
from dprelease.local.store.answer_cells import list_level_values
from dprelease.model import (
    Grid,
    LaplaceLaw,
    Response,
    SubsetLaw,
    Tally,
    WindowLaw,
)

LEVELS = (Fraction(4, 5), Fraction(19, 20), Fraction(99, 100))
SLACK = 0.005  # below the nominal coverage; for few records quantiles are those of normal laws
CLOSE = 0.0001  # the same for sums of Laplace noise
ROUNDING = 1e-9
GRID = Grid(Fraction(1), -1000, 1000)


def compute_keep(labels: int, epsilon: float) -> Fraction:
    grown = math.exp(epsilon)
    return Fraction(int(grown / (grown + labels - 1) * 2**64), 2**64)


def with_labels(name: str, labels: int, keep: Fraction, size: int = 1) -> Response:
    return build_labels_response(name, [f"l{number}" for number in range(labels)], keep, size)


@cache
def binomial(count: int, chance: float) -> Any:
    if count == 0:
        return np.ones(1)
    return np.convolve(binomial(count - 1, chance), [1 - chance, chance])


def coverages(response: Response, rows: int, level: Fraction, narrower: float = 1.0) -> Any:
    """The coverage for each number of records with the label, from none to all."""
    law = response.law
    assert isinstance(law, SubsetLaw)
    own, other = float(law.keep), float((law.size - law.keep) / (law.labels - 1))
    counts = tuple(range(rows + 1))
    found = [
        estimate_shares(response, Tally(rows, {"a": (count,) * law.labels}), level).figures[0]
        for count in counts
    ]
    middle = np.array([float(each.value) for each in found])
    low = middle + narrower * (np.array([each.lower for each in found]) - middle)
    high = middle + narrower * (np.array([each.upper for each in found]) - middle)
    covered = []
    for having in counts:
        share = having / rows
        chance = np.convolve(binomial(having, own), binomial(rows - having, other))
        covered.append(chance[(low <= share) & (share <= high)].sum())
    return np.array(covered)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [2, 3, 5])
def test_shares_of_few_records(labels: int, level: Fraction) -> None:
    for rows, epsilon in product((1, 2, 3, 7, 20, 60), (0.2, 1.0, 3.0, 7.0)):
        covered = coverages(with_labels("a", labels, compute_keep(labels, epsilon)), rows, level)
        assert covered.min() >= float(level) - SLACK, (rows, epsilon)


def test_sets_and_answers_that_are_usually_wrong() -> None:
    for labels, size, keep in ((5, 2, Fraction(4, 5)), (4, 1, Fraction(1, 10))):
        response = with_labels("a", labels, keep, size)
        for rows in (1, 5, 25):
            assert coverages(response, rows, LEVELS[1]).min() >= float(LEVELS[1]) - SLACK


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("labels", "epsilon"), [(2, 1.0), (5, 1.0), (5, 0.3)])
def test_shares_of_many_records_are_close_to_what_they_say(labels: int, epsilon: float) -> None:
    covered = coverages(with_labels("a", labels, compute_keep(labels, epsilon)), 300, LEVELS[1])
    assert covered.min() >= 0.95 - SLACK
    assert covered.mean() <= 0.962


def test_narrower_intervals_are_found_out() -> None:
    covered = coverages(with_labels("a", 3, compute_keep(3, 1.0)), 60, LEVELS[1], narrower=0.85)
    assert covered.mean() < 0.95 - SLACK


# --- cross tables --------------------------------------------------------------------------------


def power(law: Any, count: int) -> Any:
    """The law of a sum of so many independent triples of zeros and ones."""
    total = np.ones((1, 1, 1))
    for _ in range(count):
        wider = np.zeros([size + 1 for size in total.shape])
        for place in product((0, 1), repeat=3):
            spots = tuple(slice(at, at + size) for at, size in zip(place, total.shape, strict=True))
            wider[spots] += law[place] * total
        total = wider
    return total


def together(first: Any, second: Any) -> Any:
    total = np.zeros([a + b - 1 for a, b in zip(first.shape, second.shape, strict=True)])
    for place, chance in np.ndenumerate(second):
        if chance:
            spots = tuple(slice(at, at + size) for at, size in zip(place, first.shape, strict=True))
            total[spots] += chance * first
    return total


def answer_law(first: float, second: float) -> Any:
    """Of one record: both answers hold their labels, only the first does, only the second does."""
    law = np.zeros((2, 2, 2))
    law[1, 0, 0], law[0, 1, 0] = first * second, first * (1 - second)
    law[0, 0, 1], law[0, 0, 0] = (1 - first) * second, (1 - first) * (1 - second)
    return law


@pytest.mark.parametrize(
    ("labels", "epsilons", "rows"),
    [
        ((2, 2), (1.0, 1.0), 5),
        ((2, 2), (3.0, 3.0), 5),
        ((3, 5), (4.0, 4.0), 5),
        ((5, 5), (6.0, 6.0), 2),
        ((2, 2), (0.2, 5.0), 4),
    ],
)
def test_cells_of_cross_tables(
    labels: tuple[int, int], epsilons: tuple[float, float], rows: int
) -> None:
    keeps = [compute_keep(*each) for each in zip(labels, epsilons, strict=True)]
    first, second = (
        with_labels(name, *each)
        for name, each in zip("ab", zip(labels, keeps, strict=True), strict=True)
    )
    chances = [
        (float((1 - keep) / (number - 1)), float(keep))
        for keep, number in zip(keeps, labels, strict=True)
    ]
    low, high = np.zeros((rows + 1,) * 3), np.zeros((rows + 1,) * 3)
    for both, one, other in product(range(rows + 1), repeat=3):
        if both + one + other <= rows:
            counts = {"a": (both + one,) * labels[0], "b": (both + other,) * labels[1]}
            found = cross(
                first, second, Tally(rows, counts, {}, {("a", "b"): ((both,),)}), LEVELS[1]
            )
            low[both, one, other] = found.figures[0][0].lower
            high[both, one, other] = found.figures[0][0].upper
    powers = {
        kind: [
            power(answer_law(chances[0][kind[0]], chances[1][kind[1]]), n) for n in range(rows + 1)
        ]
        for kind in product((0, 1), repeat=2)
    }
    for both, one, other in product(range(rows + 1), repeat=3):
        rest = rows - both - one - other
        if rest < 0:
            continue
        law = together(
            together(powers[1, 1][both], powers[1, 0][one]),
            together(powers[0, 1][other], powers[0, 0][rest]),
        )
        share = both / rows
        assert law[(low <= share) & (share <= high)].sum() >= 0.95, (both, one, other)


# --- means ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(30)])
def test_means_with_laplace_noise(scale: Fraction) -> None:
    decay = math.exp(-1 / float(scale))
    reach = int(40 * scale) + 5
    one = (1 - decay) / (1 + decay) * decay ** np.abs(np.arange(-reach, reach + 1))
    total = np.ones(1)
    for rows in range(1, 13):
        total = np.convolve(total, one)
        middle = rows * reach
        for level in LEVELS:
            tally = Tally(rows, sums={"n": Fraction(0)})
            figure = mean(numeric("n", GRID, LaplaceLaw(scale)), tally, level).figure
            half = math.floor(figure.upper * rows + 1e-9)
            covered = total[max(middle - half, 0) : middle + half + 1].sum()
            assert covered >= float(level) - CLOSE, (rows, level)
    assert covered <= 0.9985


@pytest.mark.parametrize(
    "law",
    [
        WindowLaw(window(2, 1, Fraction(4))),
        WindowLaw(window(2, 1, Fraction(21, 10))),
        WindowLaw(window(8, 3, Fraction(3, 4))),
        WindowLaw(window(6, 1, Fraction(1, 2)), window(2, 1, Fraction(3)), Fraction(3, 4)),
    ],
)
def test_means_of_levels(law: WindowLaw) -> None:
    values = np.array([float(each) for each in list_level_values(law, GRID)])
    for code in (-1000, 0, 430, 1000):
        one = level_chances(law, code)
        assert values @ one == pytest.approx(code, abs=1e-6)
        sums, chances = np.zeros(1), np.ones(1)
        for rows in range(1, 8):
            sums, chances = add(sums, chances, values, one)
            for level in LEVELS:
                figure = mean(
                    numeric("n", GRID, law), Tally(rows, sums={"n": Fraction(0)}), level
                ).figure
                covered = chances[np.abs(sums - rows * code) <= figure.upper * rows + 1e-6].sum()
                assert covered >= float(level) - ROUNDING, (code, rows, level)


def level_chances(law: WindowLaw, code: int) -> Any:
    found: list[float] = []
    for share, each in ((law.share, law.first), (1 - law.share, law.second)):
        if each is None:
            continue
        place = Fraction((code - GRID.lower) * (each.levels - each.width), GRID.width)
        low, total = math.floor(place), each.levels - each.width + each.ratio * each.width
        for level in range(each.levels):
            chance = Fraction(0)
            for begin, weight in ((low, 1 - (place - low)), (low + 1, place - low)):
                inside = begin <= level < begin + each.width
                chance += weight * (each.ratio if inside else 1) / total
            found.append(float(share * chance))
    return np.array(found)


def add(sums: Any, chances: Any, values: Any, one: Any) -> tuple[Any, Any]:
    every = np.round((sums[:, None] + values[None, :]).ravel(), 6)
    distinct, place = np.unique(every, return_inverse=True)
    return distinct, np.bincount(place, (chances[:, None] * one[None, :]).ravel())
