"""Loss of noise that is drawn together: every shift of the plane, and laws that lose more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, inf, log

import pytest
import strategy_plans as plans
from msgspec.structs import replace

from dprelease.kernel.chapters.together.joint_noise import (
    bound_largest_change,
    compute_joint_epsilon,
)
from dprelease.kernel.core.unit_limits import find_corners
from dprelease.model import Grid, Measure, MeasureKind, Quantity, Step

Point = tuple[int, int]
REACH = 30
POINTS = list(product(range(-REACH, REACH + 1), repeat=2))
SHIFTS = [shift for shift in product(range(-3, 4), repeat=2) if shift != (0, 0)]


def weigh(point: Point, scale: float) -> float:
    """The density of the law up to a constant, from its definition."""
    return exp(-max(map(abs, point)) / scale)


def find_loss(law: dict[Point, float], shift: Point) -> float:
    """The largest log-ratio of the law and of the law moved by a shift, both within the window."""
    most = -inf
    for (a, b), weight in law.items():
        moved = law.get((a + shift[0], b + shift[1]))
        if moved is not None:
            most = max(most, log(weight / moved))
    return most


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2)])
def test_every_shift_of_the_plane_loses_exactly_its_largest_entry(scale: Fraction) -> None:
    law = {point: weigh(point, float(scale)) for point in POINTS}
    for shift in SHIFTS:
        cube = max(map(abs, shift))
        assert find_loss(law, shift) == pytest.approx(float(cube / scale))


def draw_shells_alike() -> dict[Point, float]:
    """A reach by its own weight, and one of its points: without the number of these points."""
    return {(a, b): exp(-max(abs(a), abs(b))) / max(8 * max(abs(a), abs(b)), 1) for a, b in POINTS}


def draw_with_unequal_steps() -> dict[Point, float]:
    """Values of two steps put on one scale, as if the second moved by 1/2 only."""
    return {(a, b): exp(-max(abs(a), 2 * abs(b))) for a, b in POINTS}


def draw_uniformly_inside() -> dict[Point, float]:
    """A reach by the weight of its shell alone, and any point inside."""
    weights = [exp(-reach) * max(8 * reach, 1) for reach in range(REACH + 1)]
    return {
        (a, b): sum(weights[r] / (2 * r + 1) ** 2 for r in range(max(abs(a), abs(b)), REACH + 1))
        for a, b in POINTS
    }


@pytest.mark.parametrize(
    "make", [draw_shells_alike, draw_with_unequal_steps, draw_uniformly_inside]
)
def test_wrong_laws_lose_more(make: Callable[[], dict[Point, float]]) -> None:
    law = make()
    allowed = 1.0
    unit_shifts = [shift for shift in SHIFTS if max(map(abs, shift)) == 1]
    assert max(find_loss(law, shift) for shift in unit_shifts) > 1.2 * allowed


def priced(cube: int, scale: Fraction) -> Fraction:
    """The epsilon of a step whose largest change is this."""
    plan = plans.plan_together()
    factors = tuple(tuple(cube * factor for factor in row) for row in plan.steps[0].transform)
    noise = replace(plan.steps[0].noise, parameter=scale)
    step = replace(plan.steps[0], transform=factors, noise=noise)
    return compute_joint_epsilon(step, plan.release.privacy)


def test_a_cube_is_priced_by_the_largest_change_and_by_no_other_norm() -> None:
    assert priced(0, Fraction(1, 7)) == 0
    assert priced(1, Fraction(4)) == Fraction(1, 4)
    assert priced(4, Fraction(5, 3)) == Fraction(12, 5)


def count_values(*factors: tuple[int, ...], lower: int, upper: int, fill: int | None) -> Step:
    """Sums of two columns and the number of rows, by these factors."""
    grid = Grid(lower, upper, Fraction(1))
    columns = [Quantity(name, grid, fill) for name in ("x", "y")]
    measures = [Measure(MeasureKind.SUM, quantity) for quantity in columns]
    step = plans.plan_together("g").steps[0]
    return replace(
        step,
        measures=(*measures, Measure(MeasureKind.RECORDS)),
        transform=factors,
        unit=(Fraction(1),) * len(factors),
        noise=replace(step.noise, integers=len(factors)),
    )


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("fill", [None, 2])
def test_sums_are_priced_by_the_one_that_changes_most(fill: int | None, replaced: bool) -> None:
    """Twice a sum less both bounds for each row, and the rows in steps of the half-range."""
    centred = count_values((2, 0, -8), (0, 2, -8), (0, 0, 6), lower=1, upper=7, fill=fill)
    kind = {"adjacency": "replace-one"} if replaced else {}
    privacy = plans.plan_together("g", **kind).release.privacy
    largest = max(
        max(map(abs, one)) for one in find_corners(centred)
    )  # of a row that comes or goes
    assert largest == (6 if fill else 8)
    assert bound_largest_change(centred, privacy) == largest * (2 if replaced else 1)
    plain = count_values((1, 0, 0), (0, 1, 0), lower=1, upper=7, fill=fill)
    assert bound_largest_change(plain, privacy) == 7 * (2 if replaced else 1)


@pytest.mark.parametrize(("fixed", "largest"), [(True, 6), (False, 7)])
def test_a_row_that_may_be_missing_moves_a_sum_by_all_of_its_value(
    fixed: bool, largest: int
) -> None:
    step = count_values((1, 0, 0), (0, 1, 0), lower=1, upper=7, fill=2)
    step = replace(step, query=replace(step.query, groups=()))
    privacy = plans.plan_together(adjacency="replace-one").release.privacy
    assert bound_largest_change(step, replace(privacy, has_fixed_records=fixed)) == largest
