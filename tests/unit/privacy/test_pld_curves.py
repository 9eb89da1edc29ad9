"""Curves of single events: golden numbers, definitions by brute force, domination."""

import itertools
import math
import random
from fractions import Fraction as F

import mpmath as mp
import pytest

from dprelease.model import shift as shifts
from dprelease.model.privacy_events import Approximate, Event, Gaussian, Laplace, Pure, Range
from dprelease.privacy.gaussian import discrete as discrete_gaussian
from dprelease.privacy.pld_curves import curve

HALF = F(1, 2)
GRID = [F(n, 20) for n in range(-45, 46)]


def moved_laplace(a: float, moves: tuple[int, ...]) -> dict[int, float]:
    """P of the sum of (abs(x - n) - abs(x)) over coordinates: the loss, times the scale."""
    law = {0: 1.0}
    for n in moves:
        single: dict[int, float] = {}
        reach = math.ceil(40 / -math.log(a))
        for x in range(-reach, reach + n + 1):
            loss = abs(x - n) - abs(x)
            single[loss] = single.get(loss, 0.0) + a ** abs(x) * (1 - a) / (1 + a)
        joint: dict[int, float] = {}
        for (z, p), (y, q) in itertools.product(law.items(), single.items()):
            joint[z + y] = joint.get(z + y, 0.0) + p * q
        law = joint
    return law


def delta(law: dict[int, float], scale: float, g: float) -> float:
    return sum(p * -math.expm1(g - z / scale) for z, p in law.items() if z / scale > g)


def two_points(e: float, t: float, g: float) -> float:
    """Log-ratios t and t - e."""
    p = math.expm1(t - e) / math.expm1(-e)
    return p * max(0.0, -math.expm1(g - t)) + (1 - p) * max(0.0, -math.expm1(g - t + e))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Range(F(1)), 0.0774046863),
        (Laplace(F(10**9), 10**9), 0.2211992169),
        (Pure(F(1)), (math.e - math.sqrt(math.e)) / (math.e + 1)),
    ],
)
def test_golden_curves(event: Event, expected: float) -> None:
    assert float(curve(event, HALF)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("scale", "move"), [(F(3, 2), 1), (F(2), 4), (F(5), 7), (F(1, 3), 2)])
def test_laplace_is_the_definition(scale: F, move: int) -> None:
    law = moved_laplace(math.exp(-1 / scale), (move,))
    for g in GRID:
        assert float(curve(Laplace(scale, move), g)) == pytest.approx(
            delta(law, float(scale), float(g)), abs=1e-13
        )


@pytest.mark.parametrize("a", [0.05, 0.3, 0.6, 0.9, 0.97])
@pytest.mark.parametrize(
    "split", [(1, 1), (1, 3), (2, 2), (4, 3), (1, 1, 1), (1, 2, 3), (3, 1, 2), (2, 2, 2)]
)
def test_one_coordinate_dominates_every_split(a: float, split: tuple[int, ...]) -> None:
    scale, total = -1 / math.log(a), sum(split)
    whole, parts = moved_laplace(a, (total,)), moved_laplace(a, split)
    for step in range(-10, 241):
        g = (step - 115) / 110 * total / scale
        assert delta(whole, scale, g) >= delta(parts, scale, g) - 1e-13


def test_a_smaller_move_is_dominated() -> None:
    for g in GRID:
        deltas = [curve(Laplace(F(3), move), g) for move in range(6)]
        assert deltas == sorted(deltas)


@pytest.mark.parametrize("e", [0.1, 1.0, 4.0])
def test_range_is_the_largest_of_all_two_point_pairs(e: float) -> None:
    for step in range(-24, 25):
        g = step / 20 * e
        exact = float(curve(Range(F(e)), F(g)))
        tried = [two_points(e, e * k / 400, g) for k in range(401)]
        assert max(tried) <= exact + 1e-14
        assert max(tried) == pytest.approx(exact, abs=1e-4 * e)


def test_range_dominates_random_pairs() -> None:
    dice = random.Random(1)
    for _ in range(120):
        e = dice.choice([0.2, 1.0, 3.0])
        ratios = [e * dice.random() for _ in range(dice.choice([2, 3, 6]))]
        weights = [dice.random() ** 3 for _ in ratios]
        q = [w / sum(weights) for w in weights]
        # P = Q e^(ratio - normaliser): log-ratios within an interval of length e.
        mass = sum(w * math.exp(r) for w, r in zip(q, ratios, strict=True))
        p = [w * math.exp(r) / mass for w, r in zip(q, ratios, strict=True)]
        for g in (-0.9 * e, -0.3 * e, 0.0, 0.2 * e, 0.7 * e):
            gain = sum(max(0.0, x - math.exp(g) * y) for x, y in zip(p, q, strict=True))
            assert gain <= float(curve(Range(F(e)), F(g))) + 1e-14


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "event",
    [
        Laplace(F(3), 1),
        Laplace(F(7, 3), 5),
        Range(F(5, 4)),
        Pure(F(2, 3)),
        Approximate(F(1, 2), F(1, 100)),
        Gaussian(F(2), shifts.single(1)),
        Gaussian(F(900), shifts.general(700, 4)),
    ],
)
def test_curves_are_what_composition_asks_for(event: Event) -> None:
    """Convex in e^g, falling, at least (1 - e^g)+ and symmetric."""
    values = [curve(event, g) for g in GRID]
    assert values == sorted(values, reverse=True)
    exps = [F(str(mp.exp(mp.mpf(g.numerator) / g.denominator))) for g in GRID]
    slack = F(1, 10**12)
    for (a, b, c), (x, y, z) in zip(
        zip(values, values[1:], values[2:], strict=False),
        zip(exps, exps[1:], exps[2:], strict=False),
        strict=False,
    ):
        assert (b - a) * (z - y) <= (c - b) * (y - x) + slack
    for g, value, power in zip(GRID, values, exps, strict=True):
        assert value >= max(F(0), 1 - power) - slack
        mirrored = 1 - 1 / power + curve(event, g) / power
        assert float(curve(event, -g)) == pytest.approx(float(mirrored), abs=1e-12)


def test_the_gaussian_curve_is_the_exact_one() -> None:
    event = Gaussian(F(4), shifts.pair(1, 2))
    assert curve(event, HALF) == discrete_gaussian.delta_of(event.sigma2, event.shift, HALF)


@pytest.mark.parametrize(
    "event",
    [
        Laplace(F(0), 1),
        Laplace(F(1), -1),
        Gaussian(F(-1), shifts.single(1)),
        Range(F(-1)),
        Pure(F(-1)),
        Approximate(F(1), F(2)),
        Approximate(F(-1), F(0)),
    ],
)
def test_what_can_not_be_is_refused(event: Event) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        curve(event, HALF)
