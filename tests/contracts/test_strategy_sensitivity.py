"""What one unit can do to the integers of a strategy, against every tiny table there is.

The bound of certification is never exceeded; where a unit is a row, and for conditions also where
it has several, it is attained. What the planner states by closed forms is no less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from operator import le

import pytest
from msgspec.structs import replace
from strategy_plans import build_mixing
from thorough import for_each, is_thorough

from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.chapters.together.joint_noise import bound_largest_change
from dprelease.kernel.core.worst_change import Worst
from dprelease.model import (
    CENTRED,
    EACH,
    Adjacency,
    AxisKind,
    AxisMatrix,
    Bounding,
    ColumnType,
    Expression,
    Grid,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Privacy,
    Quantity,
    Query,
    Sensitivity,
    Step,
)
from dprelease.planning.blocks import Block
from dprelease.planning.features import Feature, find_factors
from dprelease.planning.strategy_candidates import (
    Piece,
    Way,
    bound_piece_change,
    define_piece_release,
)
from dprelease.privacy import strategy_sensitivity
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours

Row = tuple[int, tuple[bool, ...]]
"""The cell of a row, and which conditions it meets."""
Unit = tuple[Row, ...]
Change = tuple[int, ...]

RUNNING = AxisMatrix(AxisKind.RUNNING, ((8, 4, 3, 2),))
RISING = AxisMatrix(AxisKind.RUNNING, ((1, -2, 5),))
TREE = AxisMatrix(AxisKind.BASIS, ((3, 3, 3), (4, 0, 0), (0, -4, 1)))
PAIRS = AxisMatrix(AxisKind.TREE, ((1, 2),))
ROOTED = AxisMatrix(AxisKind.TREE, ((1, 2, 4),))
HALVES = AxisMatrix(AxisKind.BASIS, ((1, 1, 0, 0), (0, 0, 2, 2)))


def group(name: str, labels: int, *, closed: bool) -> Group:
    texts = tuple(map(str, range(labels)))
    made = Group(name, ColumnType.STRING, texts, keys=texts)
    if not closed:
        return made
    short = Group(name, ColumnType.STRING, texts[:-1], keys=texts[:-1])
    completed = short.complete()
    assert len(completed.labels) == labels
    assert completed.total
    return completed


def step(
    sizes: Sequence[int],
    axes: tuple[AxisMatrix, ...] = (),
    conditions: int = 0,
    *,
    closed: bool = True,
    factors: tuple[tuple[int, ...], ...] = (),
) -> Step:
    """A step of a strategy; ``factors``: of the conditions and of all, else twice each less all."""
    groups = tuple(group(f"g{at}", size, closed=closed) for at, size in enumerate(sizes))
    transform: tuple[tuple[int, ...], ...] = ((1,),)
    measures = [Measure(MeasureKind.RECORDS)]
    if conditions:
        filters = [Expression(f"c{at}", (f"c{at}",)) for at in range(conditions)]
        measures[:0] = [Measure(MeasureKind.RECORDS, None, where) for where in filters]
        transform = factors or tuple(
            (*(2 if other == at else 0 for other in range(conditions)), -1)
            for at in range(conditions)
        )
    return Step(
        Query("s", "count", "t", groups, implied=True),
        tuple(measures),
        transform,
        (Fraction(1),) * len(transform),
        Sensitivity(0, 0, 0),
        Noise(NoiseFamily.NONE, Fraction(0)),
        Loss(Fraction(0)),
        axes=axes,
    )


def privacy(limits: tuple[int, int, int] | None, replaced: bool, *, fixed: bool = True) -> Privacy:
    adjacency = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
    if limits is None:
        return Privacy("row", adjacency, has_fixed_records=fixed)
    return Privacy("column", adjacency, unit_column="p", bounding=Bounding(*limits))


# --- every table there is, from the definitions alone ---------------------------------------------


def find_released(made: Step, whole: list[list[int]], table: Unit) -> Change:
    """The released integers of a table."""
    integers: list[int] = []
    for row in made.transform:
        cells = [0] * len(whole[0])
        for cell, met in table:
            passed = (*met, True)
            cells[cell] += sum(f for f, counted in zip(row, passed, strict=True) if counted)
        integers += [sum(a * b for a, b in zip(entry, cells, strict=True)) for entry in whole]
    return tuple(integers)


def units(made: Step, limits: tuple[int, int, int], *, certain: bool) -> Iterator[Unit]:
    """Every set of rows that one unit can have."""
    patterns = list(product([False, True], repeat=len(made.measures) - 1))
    if made.apart:
        patterns = [met for met in patterns if sum(met) <= 1]
    rows = list(product(range(made.query.cells), patterns))
    most, groups, per_cell = limits
    for size in range(most + 1):
        for unit in combinations_with_replacement(rows, size):
            cells = Counter(cell for cell, _ in unit)
            inside = len(cells) <= groups and max(cells.values(), default=0) <= per_cell
            if inside and (unit or not certain):
                yield unit


def changes(
    made: Step, limits: tuple[int, int, int] | None, replaced: bool, *, fixed: bool = True
) -> set[Change]:
    """Every difference between neighbouring tables."""
    in_cells = all(group.total for group in made.query.groups)
    certain = limits is None and replaced and in_cells and fixed
    whole = build_mixing(made)
    tables = {
        find_released(made, whole, unit)
        for unit in units(made, limits or (1, 1, 1), certain=certain)
    }
    others = tables if replaced else {find_released(made, whole, ())}
    return {
        tuple(a - b for a, b in zip(one, other, strict=True)) for one in tables for other in others
    }


def norms(changed: set[Change]) -> tuple[int, int]:
    return (
        max(sum(map(abs, change)) for change in changed),
        max(sum(entry * entry for entry in change) for change in changed),
    )


def planned(made: Step, limits: tuple[int, int, int] | None, replaced: bool) -> Sensitivity:
    """What the planner states of a step."""
    contribution = Contribution(*(limits or (1, 1, 1)))
    sizes = [len(group.labels) for group in made.query.groups]
    if made.axes:
        return strategy_sensitivity.bound_mixed_change(
            contribution, sizes, made.axes, replaced=replaced
        )
    conditions = len(made.transform)
    return strategy_sensitivity.bound_feature_change(
        contribution,
        [1] * conditions,
        conditions * made.query.cells,
        replaced=replaced,
        conditions=True,
    )


def is_planned(worst: Worst, stated: Sensitivity) -> bool:
    """Whether certification confirms what the planner states."""
    return worst.l1 <= stated.l1 and worst.shift.l2_squared <= stated.l2_squared


def holds_all(worst: Worst, changed: set[Change]) -> bool:
    shapes = worst.shift.shapes

    def is_inside(entries: list[int], shape: tuple[int, ...]) -> bool:
        return len(entries) <= len(shape) and all(map(le, entries, shape))

    def is_held(change: Change) -> bool:
        entries = sorted((abs(entry) for entry in change if entry), reverse=True)
        fits = not shapes or any(is_inside(entries, shape) for shape in shapes)
        return len(entries) <= worst.shift.coordinates and fits

    return all(map(is_held, changed))


# --- what is tried --------------------------------------------------------------------------------

MIXED: dict[str, tuple[tuple[int, ...], tuple[AxisMatrix, ...]]] = {
    "one label": ((1,), (CENTRED,)),
    "two labels": ((2,), (CENTRED,)),
    "centred": ((4,), (CENTRED,)),
    "centred twice": ((2, 2), (CENTRED, CENTRED)),
    "centred by other sizes": ((2, 3), (CENTRED, CENTRED)),
    "centred by the same size": ((3, 3), (CENTRED, CENTRED)),
    "centred by the same, larger size": ((5, 5), (CENTRED, CENTRED)),
    "centred three times": ((2, 3, 2), (CENTRED, CENTRED, CENTRED)),
    "each": ((3,), (EACH,)),
    "each of one label": ((1, 3), (EACH, CENTRED)),
    "each and centred": ((2, 3), (EACH, CENTRED)),
    "centred, each, centred": ((2, 2, 3), (CENTRED, EACH, CENTRED)),
    "running": ((4,), (RUNNING,)),
    "running that rises": ((3,), (RISING,)),
    "running by each": ((2, 4), (EACH, RUNNING)),
    "running by centred": ((3, 3), (CENTRED, RISING)),
    "tree": ((4,), (PAIRS,)),
    "tree with a node for all labels": ((4,), (ROOTED,)),
    "tree with a node for more labels than there are": ((3,), (ROOTED,)),
    "tree with an uneven end": ((5,), (PAIRS,)),
    "tree of one label": ((1,), (PAIRS,)),
    "tree by each": ((2, 3), (EACH, PAIRS)),
    "tree by centred": ((3, 3), (CENTRED, PAIRS)),
    "basis": ((3,), (TREE,)),
    "basis with fewer rows": ((4,), (HALVES,)),
    "basis by centred": ((3, 2), (TREE, CENTRED)),
    "basis that only adds up": ((3,), (AxisMatrix(AxisKind.BASIS, ((2, 2, 2),)),)),
}


@for_each("closed", [False, True])
@for_each("replaced", [False, True])
@for_each("name", MIXED)
def test_the_worst_change_of_mixed_cells_by_one_row_is_attained(
    name: str, replaced: bool, closed: bool
) -> None:
    sizes, axes = MIXED[name]
    if closed and 1 in sizes:
        pytest.skip("a group has a label beside that of all other records")
    made = step(sizes, axes, closed=closed)
    worst = bound_step_change(made, privacy(None, replaced))
    changed = changes(made, None, replaced)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)
    stated = planned(made, None, replaced)
    assert is_planned(worst, stated)
    if not replaced:
        assert norms(changed) == (stated.l1, stated.l2_squared)


@pytest.mark.parametrize("name", MIXED)
def test_the_worst_change_of_mixed_cells_by_a_row_that_may_be_missing(name: str) -> None:
    """Where what a record holds decides whether it is there."""
    sizes, axes = MIXED[name]
    made = step(sizes, axes, closed=1 not in sizes)
    worst = bound_step_change(made, privacy(None, True, fixed=False))
    changed = changes(made, None, True, fixed=False)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert is_planned(worst, planned(made, None, True))


@pytest.mark.parametrize("conditions", [1, 2, 3])
def test_the_worst_change_of_conditions_by_a_row_that_may_be_missing(conditions: int) -> None:
    made = step((), conditions=conditions)
    worst = bound_step_change(made, privacy(None, True, fixed=False))
    changed = changes(made, None, True, fixed=False)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert is_planned(worst, planned(made, None, True))


@pytest.mark.one_in(4)
@for_each("replaced", [False, True])
@for_each("limits", [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2)])
@for_each("name", MIXED)
def test_the_worst_change_of_mixed_cells_by_several_rows_is_bounded(
    name: str, limits: tuple[int, int, int], replaced: bool
) -> None:
    """By so many rows alike it is attained, where a unit may have these in one cell."""
    sizes, axes = MIXED[name]
    if sizes == (5, 5) and limits[0] > 2 and not is_thorough():
        return  # half of the time of all cases
    made = step(sizes, axes)
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = changes(made, limits, replaced)
    l1, l2_squared = norms(changed)
    assert l1 <= worst.l1
    assert l2_squared <= worst.shift.l2_squared
    assert holds_all(worst, changed)
    assert is_planned(worst, planned(made, limits, replaced))
    if limits[0] == limits[2]:
        assert (l1, l2_squared) == (worst.l1, worst.shift.l2_squared)


AXES: list[tuple[int, AxisMatrix]] = [
    *((size, axis) for size in (1, 2, 3, 4) for axis in (EACH, CENTRED)),
    *((size, AxisMatrix(AxisKind.RUNNING, ((3, -1, 2, 1)[:size],))) for size in (1, 2, 3, 4)),
    *((size, AxisMatrix(AxisKind.RUNNING, ((4, 2, 1, 1)[:size],))) for size in (2, 4)),
    *((size, ROOTED) for size in (1, 2, 3, 4)),
    (3, AxisMatrix(AxisKind.SCALED, ((4, 2, 1), (3, 4, 5)))),
    (3, AxisMatrix(AxisKind.SCALED, ((2, -1, 3), (1, 1, 4)))),
    (4, PAIRS),
    (2, AxisMatrix(AxisKind.BASIS, ((1, 1), (1, -1), (0, 3)))),
    (4, HALVES),
]


@pytest.mark.one_in(7)
@for_each("replaced", [False, True])
@for_each("second", range(len(AXES)))
@for_each("first", range(len(AXES)))
def test_all_pairs_of_axes_are_bounded(first: int, second: int, replaced: bool) -> None:
    """All but those by the triangle inequality are attained, and planned with no less."""
    (size, axis), (other_size, other_axis) = AXES[first], AXES[second]
    made = step((size, other_size), (axis, other_axis))
    plain = {AxisKind.EACH, AxisKind.CENTRED} & {axis.kind, other_axis.kind}
    for limits in (None, (1, 1, 1), (2, 2, 2)):
        if limits == (2, 2, 2) and size * other_size > 9:
            continue
        worst = bound_step_change(made, privacy(limits, replaced))
        stated = planned(made, limits, replaced)
        l1, l2_squared = norms(changes(made, limits, replaced))
        assert l1 <= min(worst.l1, stated.l1)
        assert l2_squared <= min(worst.shift.l2_squared, stated.l2_squared)
        has_factors = AxisKind.SCALED in {axis.kind, other_axis.kind}
        if (plain or not replaced) and not (replaced and has_factors):
            assert (l1, l2_squared) == (worst.l1, worst.shift.l2_squared)
            assert is_planned(worst, stated)
        elif AxisKind.EACH in plain:
            assert is_planned(worst, stated)


@pytest.mark.parametrize("replaced", [False, True])
def test_two_axes_of_any_matrices_are_bounded(replaced: bool) -> None:
    """By the triangle inequality, where one unit replaces another."""
    made = step((3, 3), (TREE, RISING))
    worst = bound_step_change(made, privacy(None, replaced))
    l1, l2_squared = norms(changes(made, None, replaced))
    assert l1 <= worst.l1
    assert l2_squared <= worst.shift.l2_squared
    if not replaced:
        assert (l1, l2_squared) == (worst.l1, worst.shift.l2_squared)


def test_a_matrix_with_too_many_pairs_is_bounded() -> None:
    labels = 3000
    column = tuple(range(labels, 0, -1))
    made = step((labels,), (AxisMatrix(AxisKind.RUNNING, (column,)),))
    first = sum(column), sum(entry * entry for entry in column)
    worst = bound_step_change(made, privacy(None, True))
    assert (worst.l1, worst.shift.l2_squared) == (2 * first[0], 2 * first[1])
    worst = bound_step_change(made, privacy(None, False))
    assert (worst.l1, worst.shift.l2_squared) == first
    falling = step((labels,), (AxisMatrix(AxisKind.RUNNING, ((*column[:-1], -1),)),))
    worst = bound_step_change(falling, privacy(None, True))
    assert (worst.l1, worst.shift.l2_squared) == (2 * first[0], 4 * first[1])


CONDITIONS = [
    (conditions, sizes, limits, replaced)
    for conditions in (1, 2, 3)
    for sizes in ((), (2,), (3,))
    for limits in (None, (1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2))
    for replaced in (False, True)
    if conditions < 3 or not sizes or limits in {None, (1, 1, 1)}
]


@for_each(("conditions", "sizes", "limits", "replaced"), CONDITIONS)
def test_the_worst_change_of_conditions_is_attained(
    conditions: int, sizes: tuple[int, ...], limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    made = step(sizes, conditions=conditions)
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = changes(made, limits, replaced)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)
    stated = planned(made, limits, replaced)
    assert is_planned(worst, stated)
    if limits is None:
        assert norms(changed) == (stated.l1, stated.l2_squared)


def find_cube(made: Step, changed: set[Change]) -> int:
    """The largest sum over cells of the largest change in each."""
    cells, rows = made.query.cells, len(made.transform)
    by_cell = ((change[cell::cells] for cell in range(cells)) for change in changed)
    assert all(len(change) == cells * rows for change in changed)
    return max(sum(max(map(abs, entries)) for entries in change) for change in by_cell)


def plan_together(
    made: Step, limits: tuple[int, int, int] | None, replaced: bool, *, halves: bool
) -> Sensitivity:
    contribution = Contribution(*(limits or (1, 1, 1)))
    if not halves:
        return strategy_sensitivity.bound_counts_change(contribution, len(made.transform))
    integers = len(made.transform)
    return strategy_sensitivity.bound_joint_change(
        contribution, [1] * integers, integers * made.query.cells, replaced=replaced
    )


TOGETHER: dict[tuple[int, bool], tuple[tuple[int, ...], ...]] = {
    (1, True): ((2, -1), (0, 1)),
    (2, True): ((2, 0, -1), (0, 2, -1), (0, 0, 1)),
    (3, True): ((2, 0, 0, -1), (0, 2, 0, -1), (0, 0, 2, -1), (0, 0, 0, 1)),
    (2, False): ((1, 0, 0), (0, 1, 0)),
    (3, False): ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
}
"""Conditions and the total, and conditions by themselves."""


@for_each(("conditions", "sizes", "limits", "replaced"), CONDITIONS)
def test_the_largest_change_of_integers_that_are_drawn_together_is_attained(
    conditions: int, sizes: tuple[int, ...], limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    for (number, halves), factors in TOGETHER.items():
        if number != conditions or (sizes and not halves):
            continue
        made = step(sizes, conditions=number, factors=factors)
        worst = bound_step_change(made, privacy(limits, replaced))
        cube = bound_largest_change(made, privacy(limits, replaced))
        changed = changes(made, limits, replaced)
        assert find_cube(made, changed) == cube
        l1, l2_squared = norms(changed)
        assert l1 <= worst.l1
        assert l2_squared <= worst.shift.l2_squared
        assert holds_all(worst, changed)
        stated = plan_together(made, limits, replaced, halves=halves)
        assert is_planned(worst, stated)
        assert cube <= stated.cube
        if limits is None:
            assert cube == stated.cube


@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)])
@for_each("sizes", [(), (2,), (3,)])
def test_a_condition_and_all_others_never_change_at_once(
    sizes: tuple[int, ...], limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    made = step(sizes, conditions=1, factors=((1, 0), (-1, 1)))
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = changes(made, limits, replaced)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)
    contribution = Contribution(*(limits or (1, 1, 1)))
    stated = strategy_sensitivity.bound_split_change(
        contribution, 2 * made.query.cells, replaced=replaced
    )
    assert is_planned(worst, stated)
    if limits is None:
        assert norms(changed) == (stated.l1, stated.l2_squared)


APART: dict[str, tuple[tuple[int, ...], ...]] = {
    "two, and the rest": ((1, 0, 0), (0, 1, 0), (-1, -1, 1)),
    "three, and the rest": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (-1, -1, -1, 1)),
    "two": ((1, 0, 0), (0, 1, 0)),
    "weighed": ((3, 0, 0), (0, 2, 0), (-1, -1, 1)),
    "and all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "less than nothing": ((1, 0, 0), (0, -2, 0)),
    "opposite": ((1, -1, 0),),
}


@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)])
@for_each("sizes", [(), (2,), (3,)])
@for_each("name", APART)
def test_conditions_that_exclude_each_other_never_change_at_once(
    name: str, sizes: tuple[int, ...], limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    """Bounded in any case; attained by disjoint counts."""
    factors = APART[name]
    number = len(factors[0]) - 1
    made = replace(step(sizes, conditions=number, factors=factors), apart=True)
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = changes(made, limits, replaced)
    l1, l2_squared = norms(changed)
    assert (l1, l2_squared) <= (worst.l1, worst.shift.l2_squared)
    assert l2_squared <= worst.shift.l2_squared
    assert holds_all(worst, changed)
    if name in {"two, and the rest", "three, and the rest"}:
        assert (l1, l2_squared) == (worst.l1, worst.shift.l2_squared)
        stated = strategy_sensitivity.bound_split_change(
            Contribution(*(limits or (1, 1, 1))),
            len(factors) * made.query.cells,
            replaced=replaced,
            several=True,
        )
        assert is_planned(worst, stated)
        if limits is None:
            assert (l1, l2_squared) == (stated.l1, stated.l2_squared)


FACTORS: list[tuple[tuple[int, ...], ...]] = [
    ((1, 0),),
    ((1, 1),),
    ((-1, 0),),
    ((-2, 3),),
    ((1, -3),),
    ((1, 1, 0),),
    ((2, -1, 0),),
    ((1, 1, 1),),
    ((-1, -2, 4),),
    ((1, -1, -3),),
    ((1, 0, 1), (0, 2, 1)),
    ((1, 0, 0), (0, 1, -2)),
]


@for_each("closed", [False, True])
@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1)])
@for_each("sizes", [(), (2,)])
@for_each("factors", FACTORS)
def test_conditions_with_any_factors_are_bounded_by_what_a_row_adds(
    factors: tuple[tuple[int, ...], ...],
    sizes: tuple[int, ...],
    limits: tuple[int, int, int] | None,
    replaced: bool,
    closed: bool,
) -> None:
    """Attained, as integers share no condition: also where a row can only add, or be missing."""
    made = step(sizes, conditions=len(factors[0]) - 1, closed=closed, factors=factors)
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = changes(made, limits, replaced)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)


FEATURES: dict[str, tuple[tuple[int, int, bool], ...]] = {
    "a value": ((0, 2, False),),
    "a value around 0": ((-1, 2, False),),
    "a value or none": ((1, 3, True),),
    "one of each": ((0, 2, False), (-1, 1, True)),
    "two or none": ((0, 1, True), (-2, 1, True)),
    "three": ((0, 1, False), (0, 3, False), (0, 1, True)),
}
"""The lower and upper bound of numbers of a record, and whether it may have none."""


def list_features(numbers: Sequence[tuple[int, int, bool]]) -> list[Feature]:
    quantities = [
        Quantity(f"x{at}", Grid(Fraction(1), lower, upper), None if missing else lower)
        for at, (lower, upper, missing) in enumerate(numbers)
    ]
    return [
        Feature(
            Measure(MeasureKind.SUM, quantity),
            Measure(MeasureKind.VALUES, quantity) if quantity.null_fill is None else None,
            quantity.grid.lower,
            quantity.grid.upper,
        )
        for quantity in quantities
    ]


def feature_step(
    numbers: Sequence[tuple[int, int, bool]], sizes: Sequence[int], way: Way = Way.HALVES
) -> Step:
    """Twice each sum less what is in the middle, and K for each record without a number."""
    made = define_piece_release(
        Block(None, ()), Piece((), features=tuple(list_features(numbers)), way=way)
    )
    return replace(
        step(sizes, conditions=1),
        measures=made.measures,
        transform=made.transform,
        unit=made.unit,
    )


Values = tuple[int | None, ...]
Unit = Sequence[tuple[int, Values]]


def unit_changes(
    numbers: Sequence[tuple[int, int, bool]],
    cells: int,
    limits: tuple[int, int, int] | None,
    replaced: bool,
    release: Callable[[Unit], Change],
) -> set[Change]:
    """Every difference between what is released of neighbouring tables, unit by unit."""
    domains = [
        [*range(lower, upper + 1), *([None] if missing else [])]
        for lower, upper, missing in numbers
    ]
    rows = list(product(range(cells), product(*domains)))
    most, groups, per_cell = limits or (1, 1, 1)
    least = 1 if limits is None and replaced else 0
    tables = set()
    for size in range(least, most + 1):
        for unit in combinations_with_replacement(rows, size):
            inside = Counter(cell for cell, _ in unit)
            if len(inside) <= groups and max(inside.values(), default=0) <= per_cell:
                tables.add(release(unit))
    others = tables if replaced else {release(())}
    return {
        tuple(a - b for a, b in zip(one, other, strict=True)) for one in tables for other in others
    }


def feature_changes(
    numbers: Sequence[tuple[int, int, bool]],
    cells: int,
    limits: tuple[int, int, int] | None,
    replaced: bool,
) -> set[Change]:
    """Every difference between neighbouring tables, from the definition of features."""

    def release(unit: Unit) -> Change:
        integers = []
        for at, (lower, upper, missing) in enumerate(numbers):
            for cell in range(cells):
                own = [row[at] for place, row in unit if place == cell]
                integers.append(sum(2 * k - lower - upper for k in own if k is not None))
                if missing:
                    integers.append(sum(upper - lower for k in own if k is None))
        return tuple(integers)

    return unit_changes(numbers, cells, limits, replaced, release)


@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1)])
@for_each("cells", [1, 2])
@for_each("name", FEATURES)
def test_the_worst_change_of_features_is_attained(
    name: str, cells: int, limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    numbers = FEATURES[name]
    if limits is not None and limits[0] > 1 and (len(numbers) > 1 or cells > 1) and replaced:
        limits = (1, 1, 1)  # too many pairs of tables
    made = feature_step(numbers, (2,) if cells > 1 else ())
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = feature_changes(numbers, cells, limits, replaced)
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)
    stated = strategy_sensitivity.bound_feature_change(
        Contribution(*(limits or (1, 1, 1))),
        [upper - lower for lower, upper, _ in numbers],
        len(made.transform) * cells,
        replaced=replaced,
        conditions=False,
    )
    assert is_planned(worst, stated)
    if limits is None:
        assert norms(changed) == (stated.l1, stated.l2_squared)


def feature_cubes(
    made: Step,
    numbers: Sequence[tuple[int, int, bool]],
    limits: tuple[int, int, int] | None,
    replaced: bool,
) -> set[Change]:
    """Every difference between neighbouring tables, from the measures and factors of a step."""

    def measure(part: Measure, values: Values) -> int:
        if part.quantity is None:
            return 1
        value = values[int(part.quantity.column[1:])]
        return int(value is not None) if part.kind is MeasureKind.VALUES else value or 0

    @cache
    def add(values: Values) -> list[int]:
        return [
            sum(f * measure(part, values) for f, part in zip(factors, made.measures, strict=True))
            for factors in made.transform
        ]

    def release(unit: Unit) -> Change:
        return tuple(
            sum(add(values)[at] for place, values in unit if place == cell)
            for at in range(len(made.transform))
            for cell in range(made.query.cells)
        )

    return unit_changes(numbers, made.query.cells, limits, replaced, release)


@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1)])
@for_each("cells", [1, 2])
@for_each("name", FEATURES)
def test_the_largest_change_of_features_that_are_drawn_together_is_attained(
    name: str, cells: int, limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    numbers = FEATURES[name]
    if limits is not None and limits[0] > 1 and (len(numbers) > 1 or cells > 1) and replaced:
        limits = (1, 1, 1)  # too many pairs of tables
    made = feature_step(numbers, (2,) if cells > 1 else (), Way.TOGETHER)
    cube = bound_largest_change(made, privacy(limits, replaced))
    worst = bound_step_change(made, privacy(limits, replaced))
    changed = feature_cubes(made, numbers, limits, replaced)
    assert find_cube(made, changed) == cube
    l1, l2_squared = norms(changed)
    assert l1 <= worst.l1
    assert l2_squared <= worst.shift.l2_squared
    features = tuple(list_features(numbers))
    groups = tuple(group(f"g{at}", 2, closed=True) for at in range(cells - 1))
    kind = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
    own = Contribution(*(limits or (1, 1, 1)))
    stated = bound_piece_change(
        Block(None, ()),
        Piece(groups, features=features, way=Way.TOGETHER),
        Neighbours(kind, own, people=limits is not None),
    )
    assert is_planned(worst, stated)
    assert cube <= stated.cube
    if limits is None:
        assert cube == stated.cube


def test_factors_make_widths_alike() -> None:
    assert find_factors([1, 1]) == (1, 1)
    assert find_factors([6, 4, 1]) == (2, 3, 12)
    for widths in ([100_003, 99_991, 7, 1], [10**12 - 11, 10**12 - 39, 6, 1], [101, 103, 107, 1]):
        moves = [width * f for width, f in zip(widths, find_factors(widths), strict=True)]
        assert max(moves) * (1 - 1e-4) <= min(moves)
        assert max(moves) <= 10**4 * max(widths)


@for_each("replaced", [False, True])
@for_each("limits", [None, (1, 1, 1), (2, 1, 2), (2, 2, 1)])
@for_each("cells", [1, 2])
def test_a_condition_that_may_be_unknown_makes_three_kinds_of_records(
    cells: int, limits: tuple[int, int, int] | None, replaced: bool
) -> None:
    met = Expression("c", ("c",))
    known = Expression("(c) IS NOT NULL", ("c",))
    feature = Feature(
        Measure(MeasureKind.RECORDS, None, met), Measure(MeasureKind.RECORDS, None, known), 0, 1
    )
    piece = Piece(
        tuple(group(f"g{at}", 2, closed=True) for at in range(cells - 1)),
        features=(feature,),
        way=Way.SPLIT,
    )
    released = define_piece_release(Block(None, ()), piece)
    made = replace(
        step((2,) if cells > 1 else (), conditions=1),
        measures=released.measures,
        transform=released.transform,
        unit=released.unit,
    )
    rows = [
        (cell, pattern)
        for cell in range(made.query.cells)
        for pattern in ((True, True), (False, True), (False, False))
    ]
    whole = build_mixing(made)
    most, groups, per_cell = limits or (1, 1, 1)
    least = 1 if limits is None and replaced else 0
    tables = set()
    for size in range(least, most + 1):
        for unit in combinations_with_replacement(rows, size):
            inside = Counter(cell for cell, _ in unit)
            if len(inside) <= groups and max(inside.values(), default=0) <= per_cell:
                tables.add(find_released(made, whole, unit))
    others = tables if replaced else {find_released(made, whole, ())}
    changed = {tuple(a - b for a, b in zip(x, y, strict=True)) for x in tables for y in others}
    worst = bound_step_change(made, privacy(limits, replaced))
    assert norms(changed) == (worst.l1, worst.shift.l2_squared)
    assert holds_all(worst, changed)
    kind = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
    contribution = Contribution(*(limits or (1, 1, 1)))
    stated = bound_piece_change(
        Block(None, ()), piece, Neighbours(kind, contribution, people=limits is not None)
    )
    assert is_planned(worst, stated)
    if limits is None:
        assert norms(changed) == (stated.l1, stated.l2_squared)


def test_a_thousand_conditions_are_counted() -> None:
    made = step((), conditions=1000)
    worst = bound_step_change(made, privacy(None, False))
    assert (worst.l1, worst.shift.l2_squared, worst.shift.coordinates) == (1000, 1000, 1000)
    worst = bound_step_change(made, privacy(None, True))
    assert (worst.l1, worst.shift.l2_squared, worst.shift.coordinates) == (2000, 4000, 1000)
