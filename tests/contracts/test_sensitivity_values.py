"""How far neighbours move a tree of counts of a grid's values, against all tiny tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease.kernel.chapters.strategies.mixed_cells import count_points, mix_cells
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import (
    EACH,
    Adjacency,
    AxisKind,
    AxisMatrix,
    Bounding,
    Column,
    ColumnType,
    Grid,
    Group,
    Loss,
    Noise,
    NoiseFamily,
    Privacy,
    Quantity,
    Query,
    Sensitivity,
    Step,
)
from dprelease.privacy.sensitivity import Contribution
from dprelease.privacy.strategy_sensitivity import bound_mixed_change

Row = tuple[int, int | None]
"""The cell of a row, and its value; None where it has none that counts."""

LOWER = -1
TREES = [(1, 2), (1, 2, 4), (1, 3)]
RULES = [None, (1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2)]


def build_step(cells: int, values: int, widths: tuple[int, ...], fill: int | None) -> Step:
    labels = tuple("abc"[:cells])
    group = Group("g", ColumnType.STRING, labels, labels, other="a", null_label="a")
    grid = Grid(Fraction(1), LOWER, LOWER + values - 1)
    column = Column("x", ColumnType.INTEGER, grid=grid)
    return Step(
        Query("q", "quantile", "t", (group,), column=column),
        (),
        ((),),
        (Fraction(1),),
        Sensitivity(0, 0, 0),
        Noise(NoiseFamily.NONE, Fraction(0)),
        Loss(Fraction(0)),
        points=Quantity("x", grid, fill),
        axes=(EACH, AxisMatrix(AxisKind.TREE, (widths,))),
    )


def list_units(step: Step, limits: tuple[int, int, int] | None) -> Iterator[tuple[Row, ...]]:
    most, groups, per_cell = limits or (1, 1, 1)
    grid = step.points.grid if step.points is not None else None
    assert grid is not None
    values: list[int | None] = [*range(grid.lower, grid.upper + 1)]
    values += [None] * (step.points is not None and step.points.null_fill is None)
    rows = list(product(range(step.query.cells), values))
    for size in range(0 if limits else 1, most + 1):
        for unit in combinations_with_replacement(rows, size):
            held = Counter(cell for cell, _ in unit)
            if len(held) <= groups and max(held.values(), default=0) <= per_cell:
                yield unit


def release(step: Step, table: tuple[Row, ...]) -> tuple[int, ...]:
    counts = sorted(Counter(row for row in table if row[1] is not None).items())
    points = [[row[at] for row, _ in counts] for at in (0, 1)] + [[number for _, number in counts]]
    found = count_points(step, points, range(step.query.cells))  # type: ignore[arg-type]
    return tuple(mix_cells(found, step.sizes, step.axes))


@pytest.mark.one_in(7)
@for_each("limits", RULES)
@for_each("adjacency", Adjacency)
@for_each("widths", TREES)
@for_each("fill", [None, LOWER])
@for_each("shape", [(1, 1), (1, 3), (2, 3), (1, 5), (2, 2)])
def test_counts_of_values_are_never_moved_further(
    shape: tuple[int, int],
    fill: int | None,
    widths: tuple[int, ...],
    adjacency: Adjacency,
    limits: tuple[int, int, int] | None,
) -> None:
    step, replaced = build_step(*shape, widths, fill), adjacency is Adjacency.REPLACE_ONE
    privacy = Privacy("row", adjacency, has_fixed_records=True)
    if limits:
        privacy = Privacy("column", adjacency, unit_column="p", bounding=Bounding(*limits))
    tables = {release(step, unit) for unit in list_units(step, limits)}
    others = tables if replaced else {release(step, ())}
    changes = [
        [abs(a - b) for a, b in zip(one, other, strict=True)] for one in tables for other in others
    ]
    l1, l2_squared = (
        max(sum(entry**power for entry in change) for change in changes) for power in (1, 2)
    )
    worst = bound_step_change(step, privacy)
    stated = bound_mixed_change(
        Contribution(*(limits or (1, 1, 1))), step.sizes, step.axes, replaced=replaced
    )
    assert l1 <= worst.l1 <= stated.l1
    assert l2_squared <= worst.shift.l2_squared <= stated.l2_squared
    if limits is None or limits[0] == limits[2] or not replaced:
        assert l1 == worst.l1


def test_the_rows_of_a_person_count_each() -> None:
    step = build_step(1, 3, (1, 2), None)
    privacy = Privacy("column", Adjacency.ADD_REMOVE, unit_column="p", bounding=Bounding(5, 1, 5))
    assert bound_step_change(step, privacy).l1 == 10


@pytest.mark.parametrize("point", [LOWER - 1, LOWER + 3])
def test_values_beyond_the_grid_are_not_counted(point: int) -> None:
    step = build_step(2, 3, (1, 2), None)
    with pytest.raises(ValueError, match="within the bounds"):
        count_points(step, [[0], [point], [1]], range(2))


def test_values_are_counted_in_their_cells() -> None:
    step = build_step(2, 3, (1, 2), None)
    points = [[0, 0, 1], [LOWER, LOWER + 2, LOWER + 1], [2, 10**30, 3]]
    assert count_points(step, points, range(2)) == [2, 0, 10**30, 0, 3, 0]
    with pytest.raises(ValueError, match="along a grid"):
        count_points(replace(step, points=None), points, range(2))
