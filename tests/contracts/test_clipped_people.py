"""What one person changes where totals are scaled, against all tiny sets of rows they could have.

People's rows are enumerated here, and what remains of them is taken from the definition in plain
Python. Planner and certification bound the change of it, by paths of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isqrt
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from oracle.clipping import scaled
from thorough import for_each

from dprelease.kernel.chapters.clipped_people.clipped_totals import bound_clipped_change
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import (
    Adjacency,
    Bounding,
    Clip,
    ClipNorm,
    Column,
    ColumnType,
    Grid,
    Group,
    Loss,
    Noise,
    NoiseFamily,
    Privacy,
    Query,
    Step,
)
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

Vector = tuple[int, ...]
Scaling = Callable[[Mapping[tuple[int, ...], int], Clip], Mapping[tuple[int, ...], int]]

BOUNDS = [(0, 3), (-2, 3), (-3, -1), (1, 2), (-1, 1)]
MOST_ROWS = 4


class Case(NamedTuple):
    """A sum over some cells of values within bounds, or with none of these a count."""

    norm: ClipNorm
    bound: int
    cells: int
    values: tuple[int, int] | None

    def query(self) -> Query:
        groups: tuple[Group, ...] = ()
        if self.cells > 1:
            labels = tuple("abc"[: self.cells])
            groups = (Group("g", ColumnType.STRING, labels, keys=labels),)
        column = None
        if self.values is not None:
            column = Column("x", ColumnType.INTEGER, grid=Grid(Fraction(1), *self.values))
        statistic = "count" if column is None else "sum"
        return Query("q", statistic, "t", groups, column, clip=Clip(self.norm, self.bound))

    def people(self) -> Iterator[dict[tuple[int, ...], int]]:
        """The totals of everybody with up to so many rows, each in a cell with a value or none."""
        low, high = self.values or (1, 1)
        values = {low, high, *range(low, high + 1)}
        rows = list(product(range(self.cells), values))
        for number in range(MOST_ROWS + 1):
            for own in combinations_with_replacement(rows, number):
                totals: dict[tuple[int, ...], int] = {}
                for cell, value in own:
                    totals[(cell,)] = totals.get((cell,), 0) + value
                yield totals

    def remains(self, scaling: Scaling) -> set[Vector]:
        """What everybody may add to the cells."""
        clip = Clip(self.norm, self.bound)
        found = set()
        for totals in self.people():
            rest = scaling(totals, clip)
            found.add(tuple(rest.get((cell,), 0) for cell in range(self.cells)))
        return found

    def changes(self, adjacency: Adjacency, scaling: Scaling = scaled) -> set[Vector]:
        """How neighbours can differ."""
        remains = self.remains(scaling)
        nobody = {(0,) * self.cells}
        others = remains if adjacency is Adjacency.REPLACE_ONE else nobody
        return {
            tuple(a - b for a, b in zip(one, other, strict=True))
            for one in remains
            for other in others
        }


CASES = [
    Case(norm, bound, cells, values)
    for norm in ClipNorm
    for bound in (1, 2, 3, 5)
    for cells in (1, 2, 3)
    for values in (*BOUNDS, None)
]


def step_of(case: Case) -> Step:
    """What is certified of a query; it claims no sensitivity but the planner's."""
    query = case.query()
    statistic = get_statistic(query.statistic)
    released = statistic.define_release(query)
    neighbours = Neighbours(Adjacency.ADD_REMOVE, Contribution(1, 1, 1), people=True)
    return Step(
        query,
        released.measures,
        released.transform,
        released.unit,
        statistic.bound_sensitivity(query, neighbours),
        Noise(NoiseFamily.LAPLACE, Fraction(1)),
        Loss(Fraction(1)),
    )


def privacy(adjacency: Adjacency) -> Privacy:
    return Privacy("column", adjacency, unit_column="p", bounding=Bounding(1, 1, 1))


def norms(changes: set[Vector]) -> tuple[int, int]:
    """The largest L1 norm and the largest squared L2 norm."""
    return (
        max(sum(map(abs, change)) for change in changes),
        max(sum(entry**2 for entry in change) for change in changes),
    )


@pytest.mark.one_in(3)
@for_each("adjacency", list(Adjacency))
@for_each("case", CASES)
def test_what_a_person_changes_is_never_exceeded(case: Case, adjacency: Adjacency) -> None:
    query, changes = case.query(), case.changes(adjacency)
    # Limits on rows say nothing here: people have up to four.
    neighbours = Neighbours(adjacency, Contribution(1, 1, 1), people=True)
    claimed = get_statistic(query.statistic).bound_sensitivity(query, neighbours)
    worst = bound_clipped_change(step_of(case), privacy(adjacency))
    l1, l2_squared = norms(changes)
    for bound in (claimed, worst):
        assert l1 <= bound.l1
    for stated in (claimed, worst.shift):
        assert l2_squared <= stated.l2_squared
        assert max(sum(map(bool, change)) for change in changes) <= stated.coordinates
        for shape in stated.shapes:
            assert all(max(map(abs, change)) <= shape[0] for change in changes)
    assert (claimed.l1, claimed.l2_squared) == (worst.l1, worst.shift.l2_squared)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("norm", ClipNorm)
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("values", [(0, 3), (-3, 3), (-3, 0)])
def test_it_is_reached(
    adjacency: Adjacency, norm: ClipNorm, cells: int, values: tuple[int, int]
) -> None:
    """By people with all in one cell; an L2 norm says less of the L1 norm."""
    case = Case(norm, 6, cells, values)
    l1, l2_squared = norms(case.changes(adjacency))
    worst = bound_clipped_change(step_of(case), privacy(adjacency))
    assert l2_squared == worst.shift.l2_squared
    if norm is ClipNorm.L1:
        assert l1 == worst.l1
    assert bound_step_change(step_of(case), privacy(adjacency)) == worst


# --- other ways to scale, which would not be private ----------------------------------------------


def to_the_nearest(totals: Mapping[tuple[int, ...], int], clip: Clip) -> dict[tuple[int, ...], int]:
    """Rounded to the nearest step, not towards 0."""
    norm = sum(map(abs, totals.values()))
    if clip.norm is ClipNorm.L2:
        squares = sum(total**2 for total in totals.values())
        norm = isqrt(max(squares - 1, 0)) + 1
    if norm <= clip.bound:
        return dict(totals)
    return {cell: round(Fraction(total * clip.bound, norm)) for cell, total in totals.items()}


def root_rounded_down(
    totals: Mapping[tuple[int, ...], int], clip: Clip
) -> dict[tuple[int, ...], int]:
    """The root of the squares rounded down."""
    norm = isqrt(sum(total**2 for total in totals.values()))
    if norm <= clip.bound:
        return dict(totals)
    return {
        cell: (1 if total > 0 else -1) * (abs(total) * clip.bound // norm)
        for cell, total in totals.items()
    }


def without_the_last_cell(
    totals: Mapping[tuple[int, ...], int], clip: Clip
) -> dict[tuple[int, ...], int]:
    """The norm of some of the cells, such as those that are published."""
    some = {cell: total for cell, total in totals.items() if cell != (1,)}
    return {**totals, **scaled(some, clip)}


def by_the_net_sum(totals: Mapping[tuple[int, ...], int], clip: Clip) -> dict[tuple[int, ...], int]:
    """The sum of the totals in place of their absolute values."""
    norm = abs(sum(totals.values()))
    return dict(totals) if norm <= clip.bound else scaled(totals, clip)


def cell_by_cell(totals: Mapping[tuple[int, ...], int], clip: Clip) -> dict[tuple[int, ...], int]:
    """Each total held within the bound by itself."""
    return {cell: min(max(total, -clip.bound), clip.bound) for cell, total in totals.items()}


WRONG: list[tuple[Scaling, Case]] = [
    (to_the_nearest, Case(ClipNorm.L1, 2, 3, (-2, 3))),
    (to_the_nearest, Case(ClipNorm.L2, 2, 3, (-2, 3))),
    (root_rounded_down, Case(ClipNorm.L2, 1, 2, (-1, 1))),
    (without_the_last_cell, Case(ClipNorm.L1, 3, 2, (0, 3))),
    (without_the_last_cell, Case(ClipNorm.L2, 3, 2, None)),
    (by_the_net_sum, Case(ClipNorm.L1, 3, 2, (-2, 3))),
    (cell_by_cell, Case(ClipNorm.L1, 3, 2, (-2, 3))),
    (cell_by_cell, Case(ClipNorm.L2, 3, 2, (-2, 3))),
]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("scaling", "case"), WRONG)
def test_other_ways_to_scale_would_be_caught(
    scaling: Scaling, case: Case, adjacency: Adjacency
) -> None:
    l1, l2_squared = norms(case.changes(adjacency, scaling))
    worst = bound_clipped_change(step_of(case), privacy(adjacency))
    exceeded = l1 > worst.l1 if case.norm is ClipNorm.L1 else l2_squared > worst.shift.l2_squared
    assert exceeded


def test_a_step_without_a_norm_has_no_such_bound() -> None:
    step = step_of(CASES[0])
    plain = replace(step, query=replace(step.query, clip=None))
    with pytest.raises(ValueError, match="clipped"):
        bound_clipped_change(plain, privacy(Adjacency.ADD_REMOVE))
