"""Laws on grids are nowhere below what they stand for, on coarse grids too, and not far above."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest
from msgspec.structs import replace

from dprelease.kernel.chapters.composition import float_bounds as floats
from dprelease.kernel.chapters.composition import gaussian_events as normal
from dprelease.kernel.chapters.composition import grid, search
from dprelease.kernel.chapters.composition.gaussian_events import AnyOf, Lattice
from dprelease.kernel.chapters.composition.grid import (
    Law,
    Scale,
    compose_all,
    count_convolutions,
    find_common_unit,
)
from dprelease.kernel.chapters.composition.worst_pairs import Single, build_largest_law, build_law
from dprelease.model import shift as shifts
from dprelease.model.privacy_events import Gaussian, Laplace, Pure, Range

Curve = Callable[[float], float]
SLACK = 1e-13  # of the truth in floats


def build_curve(scale: Scale, law: Law) -> Curve:
    return lambda g: float(grid.bound_delta(scale, law, F(g)))


def assert_above(upper: Curve, lower: Curve, reach: float) -> None:
    for g in np.linspace(-reach, reach, 83).tolist():
        assert upper(g) >= lower(g) * (1 - SLACK) - SLACK


def build_atoms(losses: list[float], masses: list[float]) -> Curve:
    return lambda g: math.fsum(
        p * -math.expm1(g - z) for z, p in zip(losses, masses, strict=True) if z > g
    )


def build_pure(e: float) -> Curve:
    return build_atoms([e, -e], [1 / (1 + math.exp(-e)), 1 / (1 + math.exp(e))])


def build_range(e: float) -> Curve:
    return lambda g: (
        max(0.0, 1 - math.exp(g)) if abs(g) >= e
        else math.expm1((g - e) / 2) ** 2 / -math.expm1(-e)
    )  # fmt: skip


def build_laplace(s: float, n: int) -> Curve:
    """By the best threshold: P(X <= x) - e^g P(X <= x - n) at x = floor((n - g s)/2)."""
    a = math.exp(-1 / s)

    def up_to(x: int) -> float:
        return 1 - a ** (x + 1) / (1 + a) if x >= 0 else a**-x / (1 + a)

    def curve(g: float) -> float:
        if g >= n / s or g < -n / s:
            return max(0.0, 1 - math.exp(g))
        x = math.floor((n - g * s) / 2)
        return up_to(x) - math.exp(g) * up_to(x - n)

    return curve


def build_lattice(s2: float, move: int, times: int = 1) -> Curve:
    """The loss is a sum over so many integers, all of which move."""
    reach = math.ceil(13 * math.sqrt(s2)) + 1
    weights = np.array([math.exp(-x * x / (2 * s2)) for x in range(-reach, reach + 1)])
    masses = np.ones(1)
    for _ in range(times):
        masses = np.convolve(masses, weights / weights.sum())
    sums = range(-times * reach, times * reach + 1)
    losses = [move * (times * move - 2 * x) / (2 * s2) for x in sums]
    return build_atoms(losses, masses.tolist())


def build_normal(mu: float) -> Curve:
    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    return lambda g: tail(g / mu - mu / 2) - math.exp(g) * tail(g / mu + mu / 2)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("points", [24, 150, 2000])
@pytest.mark.parametrize(
    ("single", "truth", "reach"),
    [
        (Pure(F("0.3")), build_pure(0.3), 0.5),
        (Pure(F(20)), build_pure(20), 22),
        (Range(F("0.3")), build_range(0.3), 0.5),
        (Range(F("1e-4")), build_range(1e-4), 2e-4),
        (Range(F(9)), build_range(9), 10),
        (Laplace(F(3), 1), build_laplace(3, 1), 0.5),
        (Laplace(F("4.5"), 7), build_laplace(4.5, 7), 2),
        (Laplace(F(300), 2001), build_laplace(300, 2001), 8),
        (Laplace(F(40_000), 9999), build_laplace(40_000, 9999), 0.4),
        (Lattice(F("0.3"), 1), build_lattice(0.3, 1), 9),
        (Lattice(F(11), 4), build_lattice(11, 4), 9),
        (Lattice(F(2000), 3), build_lattice(2000, 3), 1),
    ],
    ids=lambda value: "curve" if callable(value) else str(value),
)
def test_single_laws(single: Single, truth: Curve, reach: float, points: int) -> None:
    scale = Scale(F(reach), points)
    law = build_law(single, scale, 1e-15)
    assert len(law.mass) <= points
    curve = build_curve(scale, law)
    assert_above(curve, truth, reach)
    # At the points of the grid rounding changes nothing (but what is far out).
    step = float(scale.step(law.level))
    for k in range(law.first, law.first + len(law.mass), max(1, len(law.mass) // 40)):
        exact = truth(k * step)
        assert curve(k * step) <= exact * (1 + 1e-6) + 1e-8 or single in _NOT_ALIGNED
        assert curve(k * step) <= exact + 4 / points


_NOT_ALIGNED: list[Single] = [Laplace(F(300), 2001), Laplace(F(40_000), 9999)]
"""Where crowds may be wider than the steps of the coarsest grids."""


def test_rounding_coarsening_trimming_and_composing_only_enlarge() -> None:
    chance = np.linspace(0.5, 0.01, 7)
    losses = [-0.7, -0.31, -0.02, 0.11, 0.4, 0.57, 0.9]
    scale = Scale(F(1), 64)
    places = np.array(losses) / float(scale.step(-5))
    masses = chance / chance.sum()
    law = grid.gather_masses(scale, -5, places, masses, 0.0)
    exact = build_atoms(losses, masses.tolist())
    assert_above(build_curve(scale, law), exact, 1.2)
    coarse = grid.coarsen(scale, law)
    assert coarse.level == -4
    assert_above(build_curve(scale, coarse), build_curve(scale, law), 1.2)
    cut = grid.trim_law(scale, law, 0.011, 0.2)
    assert len(cut.mass) < len(law.mass)
    assert_above(build_curve(scale, cut), build_curve(scale, law), 1.2)
    both = grid.compose_laws(scale, coarse, law)
    pairs = list(itertools.product(range(7), repeat=2))
    twice = build_atoms(
        [losses[i] + losses[j] for i, j in pairs], [masses[i] * masses[j] for i, j in pairs]
    )
    assert_above(build_curve(scale, both), twice, 2.2)
    assert build_curve(scale, both)(0.1) < twice(0.1) + 0.01
    assert_above(build_curve(scale, compose_all(scale, [(law, 2)], 1e-9)), twice, 2.2)


@pytest.mark.parametrize("spare", [0.3, 0.02, 1e-4])
@pytest.mark.parametrize(("sigma2", "move", "reach"), [("0.3", 1, 9), ("11", 4, 9), ("2000", 3, 1)])
def test_what_is_not_summed_is_not_dropped(
    sigma2: str, move: int, reach: float, spare: float
) -> None:
    """High losses that lie far out are infinite; and so for the worst shape.

    Low ones need not be added where they are: masses are divided by the sum of those kept alone,
    so that these are one in all without them.
    """
    scale, truth = Scale(F(reach), 2000), build_lattice(float(F(sigma2)), move)
    lattice = Lattice(F(sigma2), move)
    law = build_law(lattice, scale, spare)
    assert law.lost > 0
    assert law.lost + float(law.mass.sum()) >= 1 - 1e-12
    assert_above(build_curve(scale, law), truth, reach)
    for one in (law, build_largest_law(AnyOf(lattice.sigma2, ((move,), (move, 0))), scale, spare)):
        beyond = float(lattice.move * F(10) ** 6)
        assert build_curve(scale, one)(beyond) >= law.lost


def test_what_is_too_small_for_floats_is_lost() -> None:
    scale = Scale(F(1), 64)
    small = Law(0, 0, np.array([1e-100]), 0.0, 0.0)
    for law in (
        grid.compose_laws(scale, small, replace(small, mass=np.array([1e-100, 1e-60]))),
        grid.coarsen(scale, replace(small, first=1, mass=np.array([2.0**-498]))),
        grid.gather_masses(scale, 0, np.array([0.5]), np.array([0.0]), 0.0),
    ):
        assert law.lost >= 2.0**-498


def test_what_is_lost_stays_lost() -> None:
    scale = Scale(F(1), 64)
    one = Law(0, 0, np.array([0.5, 0.25]), 0.25, 0.0)
    other = Law(0, 0, np.array([0.9]), 0.1, 0.0)
    both = grid.compose_laws(scale, one, other)
    assert both.lost == pytest.approx(1 - 0.75 * 0.9)
    assert both.mass.tolist() == pytest.approx([0.45, 0.225])


def test_long_laws_compose_by_parts() -> None:
    scale = Scale(F(1), 1 << 15)
    mass = np.linspace(1, 2, 20_000) / 30_000
    law = Law(-10, 0, mass, 0.0, 0.0)
    whole = grid.compose_laws(scale, law, law)
    short = grid.compose_laws(scale, law, Law(-10, 0, mass[:100], 0.0, 0.0))
    assert float(whole.mass.sum()) == pytest.approx(float(mass.sum()) ** 2, rel=1e-12)
    assert np.allclose(whole.mass[:100], short.mass[:100], rtol=1e-12)


def test_a_law_of_too_many_errors_says_nothing() -> None:
    law = Law(0, 0, np.array([1e-9]), 0.0, 2.0**42)
    assert grid.bound_delta(Scale(F(1), 100), law, F(0)) == 1
    far = grid.gather_masses(Scale(F(1), 100), 0, np.array([1e9]), np.array([1e-9]), 0.0)
    assert grid.bound_delta(Scale(F(1), 100), far, F(10**12)) >= F(1e-9)


@pytest.mark.parametrize("points", [60, 1000])
def test_the_largest_of_several_shapes(points: int) -> None:
    shapes = ((2, 0), (1, 1, 1, 1))
    scale = Scale(F(1), points)
    law = build_largest_law(AnyOf(F("1.3"), shapes), scale, 1e-15)
    curve = build_curve(scale, law)
    of_shapes = [build_lattice(1.3, 2), build_lattice(1.3, 1, 4)]
    for truth in of_shapes:
        assert_above(curve, truth, 9)
    step = float(scale.step(law.level))
    for k in range(1, round(8 / step), max(1, round(0.2 / step))):
        highest = max(truth(k * step) for truth in of_shapes)
        assert curve(k * step) <= highest + 4 / points


def test_short_shifts_are_listed_whole() -> None:
    for total, places in ((5, 5), (12, 3), (9, 2), (4, 1)):
        parts = normal.place_on_lattice(Gaussian(F(10), shifts.build_general_shift(total, places)))
        shapes = (
            parts[0].shapes if isinstance(parts[0], AnyOf)
            else (tuple(part.move for part in parts if isinstance(part, Lattice)),)
        )  # fmt: skip
        listed = [(*shape, *[0] * (places - len(shape))) for shape in shapes]
        assert all(sum(x * x for x in shape) <= total for shape in listed)
        for moves in itertools.product(range(4), repeat=places):
            if sum(x * x for x in moves) <= total:
                entries = sorted(moves, reverse=True)
                assert any(
                    all(x <= y for x, y in zip(entries, shape, strict=True)) for shape in listed
                )


@pytest.mark.parametrize("mu", ["0.01", "0.3", "2", "7"])
def test_normal_laws_go_to_lattices(mu: str) -> None:
    merged = normal.Merged(F(mu) ** 2, F(1), F(0))
    lattice, way = normal.return_to_lattice(merged, 512)
    assert way.factor > 1
    assert way.offset > 0
    scale = Scale(F(1), 2000)
    curve = build_curve(scale, build_law(lattice, scale, 1e-16))
    reach = float(F(mu)) ** 2 / 2 + 6 * float(F(mu))
    truth = build_normal(float(F(mu)))

    def upper(g: float) -> float:
        return float(way.factor) * curve(g - float(way.offset))

    assert_above(upper, truth, reach)
    for g in np.linspace(0, reach, 20).tolist():
        assert upper(g) <= truth(g) * (1 + 2e-3) + 1e-12


def test_merging_is_no_better_than_what_it_merges() -> None:
    events = [
        (Gaussian(F(3), shifts.build_single_shift(1)), 2),
        (Gaussian(F("2.2"), shifts.build_single_shift(2)), 1),
    ]
    merged = normal.merge_events(events, F("1e-6"))
    assert merged is not None
    scale = Scale(F(1), 4000)
    laws = [
        (build_law(Lattice(F(3), 1), scale, 1e-15), 2),
        (build_law(Lattice(F("2.2"), 2), scale, 1e-15), 1),
    ]
    truth = build_curve(scale, compose_all(scale, laws, 1e-15))
    curve = build_normal(math.sqrt(merged.mu_squared))
    for g in np.linspace(0, 9, 40).tolist():
        assert float(merged.factor) * curve(g - float(merged.offset)) >= truth(g)
    for event, count in events:  # by the formulas, with the width that was taken
        alone = normal.merge_events([(event, count)], F("1e-6"))
        assert alone is not None
        width = float(event.sigma2 - count * event.shift.l2_squared / alone.mu_squared)
        assert 0.1 < width < float(event.sigma2)
        eta = 2 / math.expm1(2 * math.pi**2 * width)
        assert float(alone.factor) >= (1 + eta) ** count
        assert float(alone.offset) >= count * math.log((1 + eta) / (1 - eta)) * (1 - 1e-9)
    much = [(Gaussian(F(10**9), shifts.build_general_shift(10**6, 100)), 50)]
    merged = normal.merge_events(much, F("1e-6"))
    assert merged is not None
    assert merged.mu_squared < F(50, 1000) * (1 + F("1e-8"))
    assert merged.offset < F("1e-7")
    assert (
        normal.merge_events(
            [(Gaussian(F("0.05"), shifts.build_general_shift(30, 30)), 1)], F("1e-6")
        )
        is None
    )


def test_what_merging_costs_is_paid() -> None:
    """A factor multiplies delta, and an offset is taken off epsilon."""

    def value(merged: normal.Merged, epsilon: F) -> float:
        claim = search.Claim({}, merged, None, epsilon, F("1e-6"))
        return float(search.bound_total_delta(claim, Scale(F(1), 1024)))

    plain = value(normal.Merged(F(1), F(1), F(0)), F(3))
    assert value(normal.Merged(F(1), F(2), F(0)), F(3)) == pytest.approx(2 * plain, rel=1e-9)
    moved = value(normal.Merged(F(1), F(1), F(1, 2)), F("3.5"))
    assert moved == pytest.approx(plain, rel=1e-9)


def test_floats_are_as_good_as_they_say() -> None:
    y = np.concatenate((np.linspace(0, 345, 4001), np.geomspace(1e-300, 1, 400)))
    truth = np.exp(-y)
    assert np.all(np.abs(floats.compute_fall(y) - truth) <= truth * 2.0**-44)
    assert floats.compute_fall(np.array([346.0, 1e9])).tolist() == [0.0, 0.0]
    above = floats.bound_rise(y) / np.where(y > 0, -np.expm1(-y), 1)
    assert np.all(above[y > 0] >= 1)
    assert np.all(above <= 1 + 2.0**-36)
    third = F(1, 3)
    assert F(floats.round_down(third)) < third < F(floats.round_up(third))


def test_units_and_work() -> None:
    assert find_common_unit([F("0.1"), F("0.25"), F(2)]) == F("0.05")
    assert find_common_unit([]) == 1
    assert find_common_unit([F(1), F(1, 10**9) + 1]) == F(1 + 1e-9)
    assert count_convolutions([1, 1]) == 2
    assert count_convolutions([1024]) == 11
