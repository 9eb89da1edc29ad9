"""The worst that one unit can do to a step's released integers, over all cells together.

*Within a cell.* Let v rows enter and u leave. The cell moves by v y - u x, where y and x are the
means of what these rows add; both lie in the convex hull of the corners (``rows``) and, as rows can
be missing, of 0. A norm of v y - u x is convex in (x, y), so it is largest where x and y are
corners, that is, where rows that enter are all alike, and so those that leave. Call it f(v, u): as
a maximum of convex functions it is convex in (v, u), and rises in both since 0 is a corner.

*Over cells.* A sum of f(v_c, u_c) is then convex in all numbers together and largest at a corner of
what is allowed, 0 <= v_c <= B, sum v_c <= R, and so for u: each unit has B rows in some cells and
what is left of R in one more. Remains how the cells of the two units coincide. Sort both units'
cells by how many rows they hold (B, the rest, none); a way to overlay them is a table that says how
many cells have which pair, with fixed margins, and the sum is linear in the table. So it is largest
at a corner of this transport polytope; and every corner is found by filling greedily in some order:
its support is a forest, a leaf of which holds the whole of its row or column.

For steps of strategies a chapter says what f is, or bounds all cells together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from math import floor, isqrt

from msgspec import Struct

from dprelease.kernel.core.unit_limits import Effect, Limits, derive_limits, find_corners
from dprelease.model import Privacy, Step
from dprelease.model.shift import MAX_SHAPES, Shift

_FILLINGS = 64  # so many ways to fill two cells are tried for shapes

Filling = tuple[tuple[int, int], ...]
"""A unit's cells: how many rows one holds, and how many are so."""

Norm = Callable[[Effect], Fraction]

Moved = Callable[[int, int], Fraction | int]
"""f: how far a cell can move if so many rows enter and so many leave."""

Shape = tuple[int, ...]


class Worst(Struct, frozen=True):
    """The largest L1 change between neighbours, and the shifts that hold all changes."""

    l1: int
    shift: Shift


def bound_worst_change(step: Step, privacy: Privacy) -> Worst:
    """Bound what neighbours can do to the released integers of a step that is executable.

    The proof is at the head of this module.

    Args:
        step: What will be executed; nothing that it states of sensitivities is used.
        privacy: What a unit is, its bounds, and which tables are neighbours.

    Returns:
        The largest L1 change in grid integers, over all cells together, and the shifts that hold
        all changes. Both may be larger than what can happen, never smaller.
    """
    limits = derive_limits(step, privacy)
    effects = find_corners(step)
    if not limits.certain:
        effects |= {(Fraction(0),) * len(step.transform)}
    cell = _Cell(effects, limits)
    l1 = floor(maximize_over_cells(limits, cell.maximize_norm(_compute_l1)))
    l2_squared = floor(maximize_over_cells(limits, cell.maximize_norm(_compute_l2_squared)))
    if l1 == 0:
        return Worst(0, Shift(0, 0))
    width = len(step.transform)
    # The count of all records of a ratio never changes if one is replaced: it is no coordinate.
    moving = sum(cell.maximize_cell(partial(_compute_entry, row)) > 0 for row in range(width))
    # integers that change at all change by 1
    coordinates = min(moving * limits.touched_cells, l1)
    shapes = ((l1,),) if coordinates == 1 else _list_shapes(cell, width, l1, l2_squared)
    return Worst(l1, Shift(l2_squared, coordinates, shapes))


def _compute_l1(change: Effect) -> Fraction:
    return sum(map(abs, change), Fraction(0))


def _compute_l2_squared(change: Effect) -> Fraction:
    return sum((entry * entry for entry in change), Fraction(0))


def _compute_entry(row: int, change: Effect) -> Fraction:
    return abs(change[row])


class _Cell(Struct, frozen=True):
    """How far one cell can move."""

    effects: frozenset[Effect]
    limits: Limits

    def maximize_norm(self, norm: Norm) -> Moved:
        """Return f as the module defines it: the largest norm of a cell's move."""

        @cache
        def measure_move(entering: int, leaving: int) -> Fraction:
            # Where no row enters (or leaves) the corner is multiplied by 0: any one will do.
            entered = self.effects if entering else list(self.effects)[:1]
            leavers = self.effects if leaving else list(self.effects)[:1]
            return max(
                norm(tuple(entering * y - leaving * x for y, x in zip(entry, leaver, strict=True)))
                for entry in entered
                for leaver in leavers
            )

        return measure_move

    def maximize_cell(self, norm: Norm) -> int:
        """Give the largest norm in any one cell."""
        limits = self.limits
        leaving = limits.per_cell if limits.replaced else 0
        return floor(self.maximize_norm(norm)(limits.per_cell, leaving))


def maximize_over_cells(limits: Limits, moved: Moved) -> Fraction:
    """Give the largest sum over cells, over all ways in which the units' cells can coincide."""
    full, rest = divmod(limits.rows, limits.per_cell)
    taken = full + (1 if rest else 0)
    filled = {limits.per_cell: full, rest: 1 if rest else 0, 0: limits.cells - taken}
    nobody = {0: limits.cells}

    @cache
    def find_best(entering: Filling, leaving: Filling) -> Fraction:
        if not entering:
            return Fraction(0)
        return max(
            count * moved(v, u)
            + find_best(_remove_rows(entering, v, count), _remove_rows(leaving, u, count))
            for v, there in entering
            for u, here in leaving
            for count in (min(there, here),)
        )

    return find_best(_fill_cells(filled), _fill_cells(filled if limits.replaced else nobody))


def _fill_cells(cells: dict[int, int]) -> Filling:
    return tuple((rows, count) for rows, count in cells.items() if count)


def _remove_rows(filling: Filling, rows: int, count: int) -> Filling:
    return _fill_cells({size: n - count if size == rows else n for size, n in filling})


# --- shapes: what is known of changes of at most two integers -----------------------------------


def _list_shapes(cell: _Cell, width: int, l1: int, l2_squared: int) -> tuple[Shape, ...]:
    """Give shapes that hold all changes, where no more than two integers change and few do."""
    limits = cell.limits
    if width == 1 and limits.touched_cells == 2:
        return _keep_largest(_iter_two_cell_shapes(cell))
    if width == 2 and limits.touched_cells == 1:
        return _keep_largest(_iter_one_cell_shapes(cell, l1, l2_squared))
    if l1 == 1:
        return ((1,),)
    if l1 == 2:
        return ((1, 1),) if l2_squared < 4 else ((1, 1), (2,))
    return ()


def _iter_two_cell_shapes(cell: _Cell) -> Iterator[Shape] | None:
    """Spread both units' rows over the two cells in all ways; each cell moves as far as it can."""
    limits = cell.limits
    spread = limits.rows - limits.per_cell
    fillings = [(limits.rows, 0), (0, limits.rows)]
    if limits.groups > 1:
        if limits.per_cell - spread >= _FILLINGS:
            return None
        fillings = [(n, limits.rows - n) for n in range(spread, limits.per_cell + 1)]
    moved = cell.maximize_norm(_compute_l1)
    second_fillings = fillings if limits.replaced else [(0, 0)]
    return (
        (floor(moved(v[0], u[0])), floor(moved(v[1], u[1])))
        for v in fillings
        for u in second_fillings
    )


def _iter_one_cell_shapes(cell: _Cell, l1: int, l2_squared: int) -> Iterator[Shape] | None:
    """Bound both integers by their own bounds, and by the norms of both together."""
    first, second = (
        cell.maximize_cell(partial(_compute_entry, 0)),
        cell.maximize_cell(partial(_compute_entry, 1)),
    )
    shapes: list[Shape] = []
    for first_change in range(first, -1, -1):
        second_change = min(
            second, l1 - first_change, isqrt(l2_squared - first_change * first_change)
        )
        shapes.append((first_change, second_change))
        if second_change == second:
            return iter(shapes)  # all others are below this one
        if len(shapes) > 2 * MAX_SHAPES:
            return None
    return iter(shapes)


def _keep_largest(shapes: Iterator[Shape] | None) -> tuple[Shape, ...]:
    """Drop the shapes that another one covers entry by entry; none if too many are left."""
    if shapes is None:
        return ()
    every = {tuple(sorted((entry for entry in shape if entry), reverse=True)) for shape in shapes}

    def is_covering(left: Shape, right: Shape) -> bool:
        return len(left) >= len(right) and all(a >= b for a, b in zip(left, right, strict=False))

    largest = [
        shape
        for shape in every
        if shape and not any(is_covering(other, shape) for other in every if other != shape)
    ]
    return tuple(sorted(largest)) if len(largest) <= MAX_SHAPES else ()
