"""How far the rows of one unit can move a table of cells, for units with several rows.

A unit (a person, say) has at most R rows in all, in at most G cells, at most B rows in one cell.
Neighbours differ by one unit: it comes or goes with all its rows (``added``), or another one takes
its place (``replaced``). A unit may have fewer rows than it could; only where it has exactly one
row, (1, 1, 1), is it taken to have that row for certain.

What a row adds to the released integers of its cell is a ``Scalar`` or a ``Vector``. All bounds
hold for every pair of neighbours; docstrings say which are attained. Words of the arguments:

*Filling.* Write n_c for the unit's rows in cell c: 0 <= n_c <= B and sum n_c <= R. A sum over
cells of convex rising functions of n_c is largest at a corner of this set: as many cells as
possible hold B rows and one more cell holds what is left of R. This takes at most G cells, since
R <= G B is made sure of first. The largest sum of squares, S = (R // B) B^2 + (R mod B)^2, is so
attained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dprelease.model import Sensitivity
from dprelease.model.shift import MAX_SHAPES, Shift, general, pair, single, split, zero
from dprelease.privacy.sensitivity import derivations as words
from dprelease.privacy.sensitivity.unit_rows import COUNT, Contribution, Row, Scalar, Vector

__all__ = [
    "COUNT",
    "Contribution",
    "Row",
    "Scalar",
    "Vector",
    "added",
    "added_distinct",
    "added_units",
    "replaced",
    "replaced_distinct",
    "replaced_units",
]

Shapes = tuple[tuple[int, ...], ...]


def added(contribution: Contribution, row: Row, cells: int, unit: str = "unit") -> Sensitivity:
    """Bound the change of all cells together when one unit's rows come or go.

    Each row moves its cell by at most its own norm, and the rows of a cell at most n_c times as
    far, so L1 <= R l1 and L2^2 <= l2_squared S (see *Filling*). Attained by a scalar, and by a
    vector that can put all of its L1 norm into one entry, with all rows alike.
    """
    limits = contribution.within(cells)
    text = words.added_text(limits, row, unit)
    if isinstance(row, Scalar):
        size = row.magnitude
        shift = _shift(size**2 * limits.squares, limits.groups, _added_shapes(limits, size))
        return _stated(limits.rows * size, shift, text)
    return _stated(limits.rows * row.l1, _added_vectors(limits, row), text)


def replaced(
    contribution: Contribution, row: Row, cells: int, *, outside: bool, unit: str = "unit"
) -> Sensitivity:
    """Bound the change of all cells together when one unit's rows leave and another's enter.

    ``outside``: whether a unit of the table can have no row that has a value in a cell. It matters
    only for units of one row in a single cell: where it is False one value of the row is replaced
    by another, and a scalar moves by upper - lower (a count not at all).

    *Scalars.* With u_c rows entering a cell and v_c leaving, it moves by at most
    ``Scalar.change``: M each way in different cells, upper - lower in one, where bounds have
    different signs. That is convex and rising in (u, v), so L1 and L2^2 are largest where both
    units are filled; all ways in which their cells can coincide are compared. Attained.

    *Vectors.* L1 <= 2 R l1. Integers >= 0 of two units have an inner product >= 0, so that
    L2^2 <= |u|^2 + |v|^2 <= 2 l2_squared S; signed ones can be opposite: 4 l2_squared S. Attained
    in the same cells by vectors of width 2 and more that can put all into any one entry.
    """
    limits = contribution.within(cells)
    text = words.replaced_text(limits, row, cells, unit)
    if isinstance(row, Vector):
        return _stated(2 * limits.rows * row.l1, _replaced_vectors(limits, row, cells), text)
    if cells == 1 and contribution.is_one_row and not outside:
        size = row.upper - row.lower
        return _stated(size, single(size), words.moved_text(row, size, unit))
    squared = max(_overlaps(limits, cells, lambda u, v: row.change(u, v) ** 2))
    coordinates = min(2 * limits.groups, cells)
    shift = _shift(squared, coordinates, _replaced_shapes(limits, row, coordinates))
    return _stated(max(_overlaps(limits, cells, row.change)), shift, text)


def added_units(contribution: Contribution, cells: int, unit: str = "unit") -> Sensitivity:
    """Bound the change of all numbers of units: by 1 in each cell that the unit is in. Attained."""
    groups = contribution.within(cells).groups
    return _stated(
        groups,
        _shift(groups, groups, _ones(groups)),
        f"a {unit} is in {words.counted_text(groups)}",
    )


def replaced_units(
    contribution: Contribution, cells: int, *, outside: bool, unit: str = "unit"
) -> Sensitivity:
    """Bound the change of all numbers of units under replacement. Attained.

    One unit leaves its cells and another enters others, as far as there are that many. A single
    cell that every unit is in always holds the same number of units.
    """
    groups = contribution.within(cells).groups
    changed = min(2 * groups, cells)
    if cells == 1 and not outside:
        same = f"replacing a {unit} leaves the number of {words.many(unit)} as it is"
        return _stated(0, zero(), same)
    return _stated(
        changed,
        _shift(changed, changed, _ones(changed)),
        f"a replaced {unit} leaves or enters {words.counted_text(changed)}",
    )


def added_distinct(contribution: Contribution, cells: int, unit: str = "unit") -> Sensitivity:
    """Bound the change of all numbers of distinct values: a row brings at most one. Attained."""
    return added(contribution, Scalar(0, 1, "number of distinct values"), cells, unit)


def replaced_distinct(contribution: Contribution, cells: int, unit: str = "unit") -> Sensitivity:
    """Bound the change of all numbers of distinct values under replacement. Attained.

    In a cell, u rows bring at most u new values and v rows take at most v, so it moves by at most
    the larger of u and v: as a count, but one row's value can be new where the other's was not,
    so that even the single row in the single cell moves it by 1.
    """
    row = Scalar(0, 1, "number of distinct values")
    return replaced(contribution, row, cells, outside=True, unit=unit)


# --- the numbers --------------------------------------------------------------------------------


def _stated(l1: int, shift: Shift, derivation: str) -> Sensitivity:
    return Sensitivity(l1, shift.l2_squared, shift.coordinates, shift.shapes, derivation)


def _shift(l2_squared: int, coordinates: int, shapes: Shapes) -> Shift:
    """A shift with its shapes, as long as they are few and short enough to be of use."""
    if l2_squared == 0:
        return zero()
    useful = coordinates <= 2 and len(shapes) <= MAX_SHAPES
    return Shift(l2_squared, coordinates, shapes if useful else ())


def _ones(number: int) -> Shapes:
    """Give the shape of so many changes by 1, where it is short enough to be of use."""
    return ((1,) * number,) if number <= 2 else ()


def _fillings(limits: Contribution) -> Iterator[tuple[int, int]]:
    """Give the ways to fill two cells, in both orders."""
    for first in range(limits.rows - limits.per_group, limits.per_group + 1):
        yield first, limits.rows - first


def _few_fillings(limits: Contribution) -> bool:
    return 2 * limits.per_group - limits.rows < 2 * MAX_SHAPES


def _added_shapes(limits: Contribution, size: int) -> Shapes:
    if limits.groups == 1:
        return ((limits.rows * size,),)
    if limits.groups > 2 or not _few_fillings(limits):
        return ()
    return tuple((size * a, size * b) for a, b in _fillings(limits) if a >= b)


def _replaced_shapes(limits: Contribution, row: Scalar, coordinates: int) -> Shapes:
    most = limits.per_group
    if coordinates == 1:
        return ((row.change(most, most),),)
    if limits.groups == 1:
        apart = most * row.magnitude
        # A unit of one row has it for certain, so that in its cell nothing moves but its value.
        together = row.upper - row.lower if limits.is_one_row else row.change(most, most)
        alone = limits.is_one_row or together > apart
        return ((apart, apart), (together,)) if together and alone else ((apart, apart),)
    if coordinates > 2 or not _few_fillings(limits):
        return ()
    every = {
        tuple(sorted((row.change(a, c), row.change(b, d)), reverse=True))
        for a, b in _fillings(limits)
        for c, d in _fillings(limits)
    }
    return tuple(
        shape
        for shape in sorted(every)
        if not any(
            other != shape and other[0] >= shape[0] and other[1] >= shape[1] for other in every
        )
    )


def _added_vectors(limits: Contribution, row: Vector) -> Shift:
    if limits.groups == 1 and row.width == 2 and row.l2_squared == row.l1**2:
        return split(limits.rows * row.l1)
    touched = min(row.width * limits.groups, row.touched * limits.rows)
    return _shift(row.l2_squared * limits.squares, touched, ())


def _replaced_vectors(limits: Contribution, row: Vector, cells: int) -> Shift:
    most = limits.rows * row.l1
    opposite = limits.groups == 1 and row.l2_squared == row.l1**2 and not row.signed
    if opposite and ((cells == 1 and row.width == 2) or most == 1):
        return pair(most, most)
    squared = (4 if row.signed else 2) * row.l2_squared * limits.squares
    touched = min(row.width * min(2 * limits.groups, cells), row.touched * 2 * limits.rows)
    return general(squared, touched)


def _overlaps(limits: Contribution, cells: int, moved: Callable[[int, int], int]) -> Iterator[int]:
    """Give the sums of ``moved(u_c, v_c)`` where both units are filled, by what they share.

    Each fills some cells with B rows and, if rows are left, one more with those. Of the full
    cells ``both`` coincide; the smaller ones meet each other, a full one, or none. Sums are
    linear in ``both``, so its least and greatest are enough.
    """
    full, rest = divmod(limits.rows, limits.per_group)
    most, has_rest = limits.per_group, 1 if rest else 0
    meetings = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)] if rest else [(0, 0, 0)]
    for rests, u_on_v, v_on_u in meetings:
        needed = 2 * (full + has_rest) - rests - u_on_v - v_on_u
        least, greatest = max(0, needed - cells), full - max(u_on_v, v_on_u)
        for both in {least, greatest} if least <= greatest else ():
            yield (
                both * moved(most, most)
                + rests * moved(rest, rest)
                + u_on_v * moved(rest, most)
                + v_on_u * moved(most, rest)
                + (full - both - v_on_u) * moved(most, 0)
                + (full - both - u_on_v) * moved(0, most)
                + (has_rest - rests - u_on_v) * moved(rest, 0)
                + (has_rest - rests - v_on_u) * moved(0, rest)
            )
