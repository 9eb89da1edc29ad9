"""Sensitivity: how far the rows of one unit can move a table of cells.

A unit (a person, say) has at most R rows in all, in at most G cells, at most B rows in one cell.
Neighbours differ by one unit: it comes or goes with all its rows (``bound_addition``), or another
one takes its place (``bound_replacement``). A unit may have fewer rows than it could; only where it
has exactly one row, (1, 1, 1), is it taken to have that row for certain.

What a row adds to the released integers of its cell is a ``Scalar`` or a ``Vector``. All bounds
hold for every pair of neighbours; docstrings say which are attained. Words of the arguments:

*Filling.* Write n_c for the unit's rows in cell c: 0 <= n_c <= B and sum n_c <= R. A sum over
cells of convex rising functions of n_c is largest at a corner of this set: as many cells as
possible hold B rows and one more cell holds what is left of R. This takes at most G cells, since
R <= G B is made sure of first. The largest sum of squares, S = (R // B) B^2 + (R mod B)^2, is so
attained.

*Totals that are scaled to a norm*, instead of limiting rows. A person adds a vector of norm at most
C to the cells, and no other person's vector depends on it. One person more or less: the norm is C.
Another in their place: 2 C; in L2 where nothing is below 0 (or nothing above) the two vectors have
an inner product of at least 0, so C times the root of 2; and in a single cell then both lie in
[0, C], so C. Attained by people with all in one cell. An L1 norm of C bounds the L2 norm too. An L2
norm bounds the L1 norm by the root of the number of cells times as much, which is why such vectors
get Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from dprelease.model import Adjacency, Clip, ClipNorm, Sensitivity
from dprelease.model.sentences import Sentence, build_counted_sentence, sentence
from dprelease.model.shift import (
    MAX_SHAPES,
    Shift,
    build_general_shift,
    build_pair_shift,
    build_single_shift,
    build_zero_shift,
    split,
)


class Contribution(Struct, frozen=True):
    """Limits on one unit: ``rows`` rows in ``groups`` cells, ``per_group`` in one cell.

    Unreachable limits are lowered to what can be reached, so that equal rules are equal objects.
    Raises ValueError unless all are at least 1.
    """

    rows: int
    groups: int
    per_group: int

    def __post_init__(self) -> None:
        if min(self.rows, self.groups, self.per_group) < 1:
            raise ValueError("a unit has at least one row in one cell")
        per_group, groups = min(self.per_group, self.rows), min(self.groups, self.rows)
        force_setattr(self, "per_group", per_group)
        force_setattr(self, "groups", groups)
        force_setattr(self, "rows", min(self.rows, groups * per_group))

    @property
    def squares(self) -> int:
        """Return S, the largest sum over cells of the squared number of the unit's rows."""
        full, rest = divmod(self.rows, self.per_group)
        return full * self.per_group**2 + rest**2

    @property
    def is_one_row(self) -> bool:
        """Return True if a unit is a single row."""
        return self.rows == 1

    def limit_cells(self, cells: int) -> Contribution:
        """Apply the same rules to a table of so many cells."""
        return Contribution(self.rows, min(self.groups, cells), self.per_group)


class Scalar(Struct, frozen=True):
    """A row adds one integer between ``lower`` and ``upper`` to its cell: a count, a sum.

    ``noun`` is what is changed, for derivations.
    """

    lower: int
    upper: int
    noun: str = "words.sum"

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError("the lower bound is above the upper one")

    @property
    def magnitude(self) -> int:
        """Return M, the most that a row can add or take."""
        return max(abs(self.lower), abs(self.upper))

    def change(self, entering: int, leaving: int) -> int:
        """Bound a cell's change when so many rows enter and others leave. Tight."""
        # Rows that would move the cell the other way may be missing.
        rise, fall = max(self.upper, 0), max(-self.lower, 0)
        return max(entering * rise + leaving * fall, entering * fall + leaving * rise)


COUNT = Scalar(1, 1, "words.count")
"""A count of rows: each adds exactly 1."""

DISTINCT = Scalar(0, 1, "sensitivity.noun.distinct_values")
"""A count of distinct values: u rows bring at most u new ones and v rows take at most v.

A cell moves by at most the larger of u and v, as a count. But one row's value can be new where the
other's was not, so even the single row in the single cell moves it by 1: ``outside`` is True.
"""


class Summed(Struct, frozen=True):
    """What selects a key: the sum of ``draws`` noisy integers, to which a row adds ``width``."""

    width: int
    draws: int


COUNTED = Summed(1, 1)


class Vector(Struct, frozen=True):
    """A row adds ``width`` integers to its cell, of these norms at most: a mean's two sums.

    ``signed`` if they can be below 0. A mean over K steps has (K, K^2, 2), a variance
    (K^2, K^4, 3): integers >= 0 that sum to K, or K^2, in which one can be everything.
    """

    l1: int
    l2_squared: int
    width: int
    signed: bool = False
    plural: str = "words.sums"

    def __post_init__(self) -> None:
        if self.width < 2:
            raise ValueError("one integer is a Scalar")
        if self.l1 < 0 or not self.l1 <= self.l2_squared <= self.l1**2:
            raise ValueError("integers have l1 <= l2_squared <= l1^2")

    @property
    def touched_integers(self) -> int:
        """Return how many integers of its cell one row can change."""
        return min(self.width, self.l1)


UNIT = "words.unit"
_PLURALS = {
    UNIT: "words.units", "words.record": "words.records", "words.person": "words.people",
}  # fmt: skip

Row = Scalar | Vector
Shapes = tuple[tuple[int, ...], ...]


def bound_addition(
    contribution: Contribution, row: Row, cells: int, unit: str = UNIT
) -> Sensitivity:
    """Bound the change of all cells together when one unit's rows come or go.

    Each row moves its cell by at most its own norm, and the rows of a cell at most n_c times as
    far, so L1 <= R l1 and L2^2 <= l2_squared S (see *Filling*). Attained by a scalar, and by a
    vector that can put all of its L1 norm into one entry, with all rows alike.

    Args:
        contribution: The limits on a unit's rows.
        row: The integers that one row adds to its cell.
        cells: Number of cells of the table.
        unit: Name of the unit, for the derivation.

    Returns:
        L1 and squared L2 bound in grid units, with the derivation.
    """
    limits = contribution.limit_cells(cells)
    text = _describe_addition(limits, row, unit)
    if isinstance(row, Scalar):
        size = row.magnitude
        shift = _shift(
            size**2 * limits.squares, limits.groups, _build_addition_shapes(limits, size)
        )
        return _build(limits.rows * size, shift, text)
    return _build(limits.rows * row.l1, _build_addition_shift(limits, row), text)


def bound_replacement(
    contribution: Contribution, row: Row, cells: int, *, outside: bool, unit: str = UNIT
) -> Sensitivity:
    """Bound the change of all cells together when one unit's rows leave and another's enter.

    *Scalars.* With u_c rows entering a cell and v_c leaving, it moves by at most
    ``Scalar.change``: M each way in different cells, upper - lower in one, where bounds have
    different signs. That is convex and rising in (u, v), so L1 and L2^2 are largest where both
    units are filled; all ways in which their cells can coincide are compared. Attained.

    *Vectors.* L1 <= 2 R l1. Integers >= 0 of two units have an inner product >= 0, so that
    L2^2 <= |u|^2 + |v|^2 <= 2 l2_squared S; signed ones can be opposite: 4 l2_squared S. Attained
    in the same cells by vectors of width 2 and more that can put all into any one entry.

    Args:
        contribution: The limits on a unit's rows.
        row: The integers that one row adds to its cell.
        cells: Number of cells of the table.
        outside: A unit of the table can have no row with a value in a cell. It matters only for
            units of one row in a single cell: if False, one value replaces another there, and a
            scalar moves by upper - lower (a count not at all).
        unit: Name of the unit, for the derivation.

    Returns:
        L1 and squared L2 bound in grid units, with the derivation.
    """
    limits = contribution.limit_cells(cells)
    text = _describe_replacement(limits, row, cells, unit)
    if isinstance(row, Vector):
        return _build(2 * limits.rows * row.l1, _build_replacement_shift(limits, row, cells), text)
    if cells == 1 and contribution.is_one_row and not outside:
        size = row.upper - row.lower
        return _build(size, build_single_shift(size), _describe_moved_row(row, size, unit))
    squared = max(_iter_overlaps(limits, cells, lambda u, v: row.change(u, v) ** 2))
    coordinates = min(2 * limits.groups, cells)
    shift = _shift(squared, coordinates, _build_replacement_shapes(limits, row, coordinates))
    return _build(max(_iter_overlaps(limits, cells, row.change)), shift, text)


def bound_unit_addition(contribution: Contribution, cells: int, unit: str = UNIT) -> Sensitivity:
    """Bound the change of per-cell unit counts when a unit comes or goes: 1 per cell. Tight.

    Args:
        contribution: The limits on a unit's rows.
        cells: Number of cells of the table.
        unit: Name of the unit, for the derivation.

    Returns:
        L1 and squared L2 bound, with the derivation.
    """
    groups = contribution.limit_cells(cells).groups
    text = sentence(
        "sensitivity.cells.of_unit", unit=sentence(unit), cells=_describe_counted_cells(groups)
    )
    return replace(bound_addition(Contribution(groups, groups, 1), COUNT, cells), derivation=text)


def bound_unit_replacement(
    contribution: Contribution, cells: int, *, outside: bool, unit: str = UNIT
) -> Sensitivity:
    """Bound the change of per-cell unit counts when a unit is replaced. Tight.

    Args:
        contribution: The limits on a unit's rows.
        cells: Number of cells of the table.
        outside: A unit of the table can be in no cell; if False, the count of a single cell that
            holds every unit never changes.
        unit: Name of the unit, for the derivation.

    Returns:
        L1 and squared L2 bound, with the derivation.
    """
    groups = contribution.limit_cells(cells).groups
    change = bound_replacement(Contribution(groups, groups, 1), COUNT, cells, outside=outside)
    if not change.l1:
        plural = sentence(_PLURALS[unit])
        text = sentence("sensitivity.count.same", unit=sentence(unit), plural=plural)
    else:
        where = _describe_counted_cells(change.l1)
        text = sentence("sensitivity.cells.replaced", unit=sentence(unit), cells=where)
    return replace(change, derivation=text)


def bound_clipped_change(clip: Clip, row: Scalar, cells: int, adjacency: Adjacency) -> Sensitivity:
    """Bound the change of all cells together by one person whose totals are scaled, in grid steps.

    Of ``row`` only the signs matter.
    """
    size, is_one_sided = clip.bound, row.lower >= 0 or row.upper <= 0
    replaced = adjacency is Adjacency.REPLACE_ONE
    if not replaced or (is_one_sided and cells == 1):
        l1, l2_squared = size, size**2
    else:
        l1, l2_squared = 2 * size, (2 if is_one_sided else 4) * size**2
    if clip.norm is ClipNorm.L2:
        l1 = isqrt(cells * l2_squared)
    coordinates = min(cells, l1)
    shapes = ((l1,),) if coordinates == 1 else ()
    text = sentence(
        "sensitivity.clipped.replaced" if replaced else "sensitivity.clipped.one_more_or_less",
        noun=sentence(row.noun),
        norm=clip.norm.upper(),
        size=clip.bound,
    )
    return Sensitivity(l1, l2_squared, coordinates, shapes, text)


# --- the numbers --------------------------------------------------------------------------------


def _build(l1: int, shift: Shift, derivation: Sentence) -> Sensitivity:
    return Sensitivity(l1, shift.l2_squared, shift.coordinates, shift.shapes, derivation)


def _shift(l2_squared: int, coordinates: int, shapes: Shapes) -> Shift:
    """Build a shift; keep its shapes only where they are few and short enough to be used."""
    if l2_squared == 0:
        return build_zero_shift()
    useful = coordinates <= 2 and len(shapes) <= MAX_SHAPES
    return Shift(l2_squared, coordinates, shapes if useful else ())


def _iter_fillings(limits: Contribution) -> Iterator[tuple[int, int]]:
    """Give the ways to fill two cells, in both orders."""
    for first in range(limits.rows - limits.per_group, limits.per_group + 1):
        yield first, limits.rows - first


def _has_few_fillings(limits: Contribution) -> bool:
    return 2 * limits.per_group - limits.rows < 2 * MAX_SHAPES


def _build_addition_shapes(limits: Contribution, size: int) -> Shapes:
    if limits.groups == 1:
        return ((limits.rows * size,),)
    if limits.groups > 2 or not _has_few_fillings(limits):
        return ()
    return tuple((size * a, size * b) for a, b in _iter_fillings(limits) if a >= b)


def _build_replacement_shapes(limits: Contribution, row: Scalar, coordinates: int) -> Shapes:
    per_cell = limits.per_group
    if coordinates == 1:
        return ((row.change(per_cell, per_cell),),)
    if limits.groups == 1:
        in_two = per_cell * row.magnitude
        # A unit of one row has it for certain, so that in its cell nothing moves but its value.
        in_one = row.upper - row.lower if limits.is_one_row else row.change(per_cell, per_cell)
        only_one = limits.is_one_row or in_one > in_two
        return ((in_two, in_two), (in_one,)) if in_one and only_one else ((in_two, in_two),)
    if coordinates > 2 or not _has_few_fillings(limits):
        return ()
    all_shapes = {
        tuple(sorted((row.change(a, c), row.change(b, d)), reverse=True))
        for a, b in _iter_fillings(limits)
        for c, d in _iter_fillings(limits)
    }
    return tuple(
        shape
        for shape in sorted(all_shapes)
        if not any(
            other != shape and other[0] >= shape[0] and other[1] >= shape[1] for other in all_shapes
        )
    )


def _build_addition_shift(limits: Contribution, row: Vector) -> Shift:
    if limits.groups == 1 and row.width == 2 and row.l2_squared == row.l1**2:
        return split(limits.rows * row.l1)
    touched = min(row.width * limits.groups, row.touched_integers * limits.rows)
    return _shift(row.l2_squared * limits.squares, touched, ())


def _build_replacement_shift(limits: Contribution, row: Vector, cells: int) -> Shift:
    l1_bound = limits.rows * row.l1
    opposite = limits.groups == 1 and row.l2_squared == row.l1**2 and not row.signed
    if opposite and ((cells == 1 and row.width == 2) or l1_bound == 1):
        return build_pair_shift(l1_bound, l1_bound)
    squared = (4 if row.signed else 2) * row.l2_squared * limits.squares
    touched = min(row.width * min(2 * limits.groups, cells), row.touched_integers * 2 * limits.rows)
    return build_general_shift(squared, touched)


def _iter_overlaps(
    limits: Contribution, cells: int, moved: Callable[[int, int], int]
) -> Iterator[int]:
    """Give the sums of ``moved(u_c, v_c)`` over cells for the overlaps of two filled units."""
    full, rest = divmod(limits.rows, limits.per_group)
    per_cell, has_rest = limits.per_group, 1 if rest else 0
    meetings = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)] if rest else [(0, 0, 0)]
    # Each unit fills some cells with B rows and, if rows are left, one more with those. Of the full
    # cells some are shared; the smaller ones meet each other, a full one, or none. The sums are
    # linear in the number shared, so its least and greatest are enough.
    for rests, u_on_v, v_on_u in meetings:
        needed = 2 * (full + has_rest) - rests - u_on_v - v_on_u
        smallest, greatest = max(0, needed - cells), full - max(u_on_v, v_on_u)
        for shared in {smallest, greatest} if smallest <= greatest else ():
            yield (
                shared * moved(per_cell, per_cell)
                + rests * moved(rest, rest)
                + u_on_v * moved(rest, per_cell)
                + v_on_u * moved(per_cell, rest)
                + (full - shared - v_on_u) * moved(per_cell, 0)
                + (full - shared - u_on_v) * moved(0, per_cell)
                + (has_rest - rests - u_on_v) * moved(rest, 0)
                + (has_rest - rests - v_on_u) * moved(0, rest)
            )


# --- derivations: the bounds as sentences, which the report words -----------------------


def _describe_cells(number: int) -> Sentence:
    """Give a bound on a number of cells: one cell, at most 2 cells."""
    return (
        sentence("sensitivity.cells.single")
        if number == 1
        else sentence("sensitivity.cells.several", number=number)
    )


def _describe_effect(row: Row) -> Sentence:
    """Say what one row does to its cell."""
    if isinstance(row, Vector):
        return sentence("sensitivity.effect.sums", sums=sentence(row.plural), total=row.l1)
    if row.lower == row.upper:
        return sentence("sensitivity.effect.exact", noun=sentence(row.noun), size=row.magnitude)
    return sentence("sensitivity.effect.at_most", noun=sentence(row.noun), size=row.magnitude)


def _describe_addition(limits: Contribution, row: Row, unit: str) -> Sentence:
    """Say how far one unit more or less can move the table."""
    effect = _describe_effect(row)
    if limits.is_one_row:
        return sentence("sensitivity.cells.one_more_or_less", unit=sentence(unit), effect=effect)
    where = _describe_cells(limits.groups)
    if limits.groups > 1:
        where = sentence("sensitivity.rows.where", cells=where, rows=limits.per_group)
    return sentence(
        "sensitivity.rows.of_unit",
        unit=sentence(unit),
        rows=build_counted_sentence(limits.rows, "words.rows_counted"),
        cells=where,
        effect=effect,
    )


def _describe_replacement(limits: Contribution, row: Row, all_cells: int, unit: str) -> Sentence:
    """Say how far a replaced unit can move the table."""
    changed = min(2 * limits.groups, all_cells)
    where, effect = _describe_cells(changed), _describe_effect(row)
    if limits.is_one_row:
        return sentence(
            "sensitivity.cells.replaced_with_effect",
            unit=sentence(unit),
            cells=where,
            effect=effect,
        )
    return sentence(
        "sensitivity.rows.replaced",
        unit=sentence(unit),
        rows=build_counted_sentence(limits.rows, "words.rows_counted"),
        cells=where if changed == 1 else sentence("sensitivity.rows.cells_in_all", cells=where),
        effect=effect,
    )


def _describe_counted_cells(number: int) -> Sentence:
    """Say in how many cells a unit counts once."""
    if number == 1:
        return sentence("sensitivity.cells.single_once")
    return sentence("sensitivity.cells.several_once", number=number)


def _describe_moved_row(row: Scalar, size: int, unit: str) -> Sentence:
    """Say how far a replaced row can move the only cell, which it can't leave."""
    noun = sentence(row.noun)
    if size == 0:
        return sentence("sensitivity.cells.replaced_same", unit=sentence(unit), noun=noun)
    return sentence("sensitivity.value.replaced", unit=sentence(unit), noun=noun, size=size)
