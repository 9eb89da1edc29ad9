"""Cut noise: what certification confirms, against the law of all counts, term by term."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from builders import is_refused, spec, with_step
from drawn_laws import cut_laplace
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.chapters.private_keys.key_loss import (
    Selection,
    bound_missing,
    is_approximately_confirmed,
    is_confirmed,
    is_cut_confirmed,
)
from dprelease.model import Adjacency, Noise, Plan
from dprelease.planning.planner import make_plan


def find_divergence(noise: Noise, moves: tuple[int, ...], epsilon: float) -> float:
    """The hockey-stick sum over all vectors of noisy counts, of 0 against the moves."""
    values = range(-noise.reach, noise.reach + 1)
    weights = {z: math.exp(-abs(z) / float(noise.parameter)) for z in values}
    whole = sum(weights.values())
    total = 0.0
    for point in product(values, repeat=len(moves)):
        one = math.prod(weights[z] / whole for z in point)
        apart = zip(point, moves, strict=True)
        other = math.prod(weights.get(z - move, 0.0) / whole for z, move in apart)
        total += max(0.0, one - math.exp(epsilon) * other)
    return total


@pytest.mark.parametrize(("scale", "reach"), [("1", 3), ("2", 5), ("7/2", 4)])
@pytest.mark.parametrize("moves", [(1,), (-1,), (1, 1), (1, -1), (-1, -1, 1)], ids=str)
def test_it_confirms_what_the_sum_over_all_counts_says(
    scale: str, reach: int, moves: tuple[int, ...]
) -> None:
    noise, moved = cut_laplace(scale, reach), len(moves)
    epsilon = moved / noise.parameter
    found = Fraction(find_divergence(noise, moves, float(epsilon) + 1e-12))
    assert is_cut_confirmed(noise, moved, epsilon, found + Fraction(1, 10**9))
    assert not is_cut_confirmed(noise, moved, epsilon, found - Fraction(1, 10**9))
    assert not is_cut_confirmed(noise, moved, epsilon * Fraction(999, 1000), Fraction(9, 10))


def test_senseless_noise_is_not_confirmed() -> None:
    for noise, moved in (
        (cut_laplace("1", 3), 0),
        (cut_laplace("1", 0), 1),
        (cut_laplace("0", 3), 1),
    ):
        assert not is_cut_confirmed(noise, moved, Fraction(9), Fraction(1, 2))


def test_the_law_is_divided_by_its_own_sum() -> None:
    """Laplace noise that is not renormalised has less on its last value."""
    noise = cut_laplace("2", 5)
    ratio = math.exp(-1 / 2)
    whole = 1 + 2 * sum(ratio**z for z in range(1, 6))
    assert float(bound_missing(noise)) == pytest.approx(ratio**5 / whole, rel=1e-12)
    assert float(bound_missing(noise)) > 1.05 * ratio**5 * (1 - ratio) / (1 + ratio)


def select(noise: Noise, **changed: object) -> Selection:
    chosen = {"threshold": noise.reach + 1, "rows": 1, "groups": 1, "per_key": 1}
    chosen |= {"adjacency": Adjacency.ADD_REMOVE} | changed
    return Selection(noise, **chosen)  # type: ignore[arg-type]


def test_a_count_of_nobody_is_never_shown_and_a_unit_counts_once() -> None:
    noise = cut_laplace("4", 30)
    delta = bound_missing(noise) + Fraction(1, 10**30)
    epsilon = Fraction(1, 4)
    assert is_confirmed(select(noise), epsilon, delta)
    assert not is_confirmed(select(noise, threshold=30), epsilon, delta)
    assert not is_confirmed(select(noise, rows=2, per_key=2), 2 * epsilon, 3 * delta)
    several = {"rows": 3, "groups": 3}
    assert is_confirmed(select(noise, **several), 3 * epsilon, 3 * delta)
    assert not is_confirmed(select(noise, **several), 3 * epsilon, 2 * delta)
    replaced = {"adjacency": Adjacency.REPLACE_ONE}
    assert is_confirmed(select(noise, **replaced), 2 * epsilon, 2 * delta)
    assert not is_confirmed(select(noise, **replaced), epsilon, 2 * delta)
    assert not is_confirmed(select(noise, **replaced), 2 * epsilon, delta)


def test_it_has_no_rho_and_is_no_sum() -> None:
    noise = cut_laplace("4", 30)
    assert not is_approximately_confirmed(select(noise), Fraction(10), Fraction(1, 2))
    pair = select(noise, draws=2, threshold=400, width=10)
    assert not is_confirmed(pair, Fraction(100), Fraction(1, 2))


def plan(**query: object) -> Plan:
    asked = {"name": "q", "statistic": "count", "by": ["s"]}
    asked |= {"partition_selection": {"delta": 1e-6}} | query
    rules = {"unit": "row", "adjacency": "add-remove", "epsilon": 0.1, "delta": 1e-6}
    columns = {"s": {"type": "string"}, "x": {"type": "integer", "lower": 0, "upper": 9}}
    return make_plan(load(spec(privacy=rules, columns=columns, query=[asked])))


def test_one_less_of_anything_is_refused() -> None:
    made = plan()
    noise, threshold = made.steps[0].noise, made.steps[0].threshold
    assert not is_refused(made)
    assert (noise.reach, threshold) == (109, 110)
    further = replace(noise, reach=110)
    assert not is_refused(with_step(made, noise=further, threshold=111))
    assert is_refused(with_step(made, noise=replace(noise, reach=108), threshold=109))
    assert is_refused(with_step(made, threshold=109))
    assert is_refused(with_step(made, noise=further, threshold=110))
    less = replace(noise, parameter=noise.parameter * Fraction(99, 100))
    assert is_refused(with_step(made, noise=less))
    assert is_refused(with_step(made, noise=noise, threshold=None))
