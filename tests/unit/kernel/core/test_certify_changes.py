"""What one unit can do, as certified, against every unit there is where units are tiny."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.core.unit_limits import derive_coarse_limits, derive_limits
from dprelease.kernel.core.worst_change import Worst
from dprelease.model import (
    Adjacency,
    Bounding,
    ColumnType,
    Expression,
    Grid,
    Group,
    KeySelection,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Part,
    Privacy,
    Quantity,
    Query,
    Sensitivity,
    Step,
)

A, B = Expression("a", ("a",)), Expression("b", ("b",))
KNOWN = Expression("(a) IS NOT NULL", ("a",))
LABELS = ("u", "v", "w", "x")
Effect = tuple[int, ...]
"""What a row adds to the released integers of its cell."""
Change = tuple[int, ...]


def group(labels: int, closed: bool = False) -> Group:
    kept = LABELS[:labels]
    last = kept[-1] if closed else None
    keys = kept[:-1] if closed and labels > 1 else kept
    return Group("g", ColumnType.STRING, kept, keys=keys, other=last, null_label=last)


def query(cells: int, closed: bool = False, **more: Any) -> Query:
    groups = (group(cells, closed),) if cells > 1 else ()
    return Query("q", "any", "t", groups, **more)


def step(measures: Iterable[Measure], transform: Any, asked: Query) -> Step:
    return Step(
        asked,
        tuple(measures),
        transform,
        (Fraction(1),) * len(transform),
        Sensitivity(0, 0, 0),
        Noise(NoiseFamily.NONE, Fraction(0)),
        Loss(Fraction(0)),
    )


def privacy(limits: tuple[int, int, int] | None, replaced: bool, *, fixed: bool = True) -> Privacy:
    adjacency = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
    if limits is None:
        return Privacy("row", adjacency, has_fixed_records=fixed)
    return Privacy("column", adjacency, unit_column="p", bounding=Bounding(*limits))


def number(low: int, high: int, fill: int | None = None, column: str = "x") -> Quantity:
    return Quantity(column, Grid(Fraction(1), low, high), fill)


# --- every unit there is, from the definitions alone --------------------------------------------


def list_unit_sums(
    effects: Iterable[Effect], cells: int, limits: tuple[int, int, int], *, once: bool
) -> set[Change]:
    """What a unit can add to all cells: by every set of rows that it may have, none included.

    ``once``: what is counted in a cell is the unit, whatever the number of its rows.
    """
    most, groups, per_cell = limits
    rows = set(effects)
    sums = [{(0,) * len(effect) for effect in rows}, rows]
    while len(sums) <= per_cell:
        sums.append(rows if once else {add(one, more) for one in sums[-1] for more in rows})
    return {
        sum(parts, ())
        for counts in product(range(per_cell + 1), repeat=cells)
        if sum(counts) <= most and sum(map(bool, counts)) <= groups
        for parts in product(*(sums[count] for count in counts))
    }


def add(one: Change, other: Change) -> Change:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def list_differences(units: Iterable[Change], replaced: bool) -> set[Change]:
    """What neighbouring tables can differ in: by one unit of these, or by one for another."""
    units = set(units)
    bases = units if replaced else {(0,) * len(unit) for unit in units}
    return {tuple(a - b for a, b in zip(one, base, strict=True)) for one in units for base in bases}


def is_holding_all(worst: Worst, found: set[Change]) -> bool:
    """Whether norms, coordinates and shapes hold every change."""
    for change in found:
        entries = sorted((abs(entry) for entry in change if entry), reverse=True)
        inside = not worst.shift.shapes or any(
            len(entries) <= len(shape) and all(a <= b for a, b in zip(entries, shape, strict=False))
            for shape in worst.shift.shapes
        )
        if len(entries) > worst.shift.coordinates or (entries and not inside):
            return False
    return True


def compute_norms(found: set[Change]) -> tuple[int, int]:
    return (
        max(sum(map(abs, change)) for change in found),
        max(sum(entry * entry for entry in change) for change in found),
    )


# --- what is tried ------------------------------------------------------------------------------

Tiny = tuple[Callable[[int], Step], set[Effect]]
"""A step by its number of cells, and what a row can add by its definition."""


def list_values(low: int, high: int, fill: int | None = None) -> list[int | None]:
    """All values that a column can have; a null is one of its own if no number replaces it."""
    return [*range(low, high + 1), *([None] if fill is None else [])]


def build_count(kind: MeasureKind, **more: Any) -> Callable[[int], Step]:
    return lambda cells: step([Measure(kind, **more)], ((1,),), query(cells))


def total(low: int, high: int, fill: int | None = None) -> Tiny:
    counted = build_count(MeasureKind.SUM, quantity=number(low, high, fill))
    return counted, {(k or 0,) for k in list_values(low, high, fill)}


def mean(low: int, high: int) -> Tiny:
    wanted = number(low, high)
    measures = [Measure(MeasureKind.VALUES, wanted), Measure(MeasureKind.SUM, wanted)]
    effects = {(0, 0) if k is None else (k - low, high - k) for k in list_values(low, high)}
    return lambda cells: step(measures, ((-low, 1), (high, -1)), query(cells)), effects


def variance(low: int, high: int) -> Tiny:
    wanted = number(low, high)
    kinds = (MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES)
    transform = (
        (high * high, -2 * high, 1),
        (-2 * low * high, 2 * (low + high), -2),
        (low * low, -2 * low, 1),
    )
    effects = {((high - k) ** 2, 2 * (k - low) * (high - k), (k - low) ** 2)
               for k in range(low, high + 1)}  # fmt: skip
    measures = [Measure(kind, wanted) for kind in kinds]
    return lambda cells: step(measures, transform, query(cells)), {(0, 0, 0), *effects}


def ratio(one: Measure, other: Measure, factors: tuple[int, int]) -> Callable[[int], Step]:
    transform = ((factors[0], 0), (0, factors[1]))
    parts = Part(None, one.where), Part(None, other.where)
    return lambda cells: step(
        [one, other], transform, query(cells, numerator=parts[0], denominator=parts[1])
    )


def proportion(cells: int) -> Step:
    measures = [Measure(MeasureKind.RECORDS, None, A), Measure(MeasureKind.RECORDS)]
    asked = query(cells, numerator=Part(None, A), denominator=Part())
    return step(measures, ((1, 0), (-1, 1)), asked)


def share_of_known(cells: int) -> Step:
    measures = [Measure(MeasureKind.RECORDS, None, KNOWN), Measure(MeasureKind.RECORDS, None, A)]
    asked = query(cells, numerator=Part(None, A), denominator=Part(), among=KNOWN)
    return step(measures, ((0, 1), (1, -1)), asked)


RECORDS, UNITS = build_count(MeasureKind.RECORDS), build_count(MeasureKind.UNITS)
BOTH = (False, True)
TINY: dict[str, Tiny] = {
    "count": (RECORDS, {(1,)}),
    "units": (UNITS, {(1,)}),
    "distinct": (build_count(MeasureKind.DISTINCT, column="d"), {(0,), (1,)}),
    "sum": total(-1, 2),
    "sum far from 0": total(3, 4),
    "sum below 0": total(-5, -3, -4),
    "mean": mean(2, 3),
    "mean of one value": mean(-2, -2),
    "proportion": (proportion, {(1, 0), (0, 1)}),
    "share of known": (share_of_known, {(1, 0), (0, 1), (0, 0)}),
    "sum by count": (
        ratio(
            Measure(MeasureKind.SUM, number(-1, 1)), Measure(MeasureKind.RECORDS, None, B), (1, 2)
        ),
        {(k or 0, 2 * b) for k in list_values(-1, 1) for b in BOTH},
    ),
    "sum by sum": (
        ratio(
            Measure(MeasureKind.SUM, number(1, 2, 1), A),
            Measure(MeasureKind.SUM, number(-1, 0, 0, "y"), B),
            (2, 1),
        ),
        {(2 * x * a, y * b) for x in (1, 2) for y in (-1, 0) for a in BOTH for b in BOTH},
    ),
    "counts with one filter": (
        ratio(Measure(MeasureKind.RECORDS, None, A), Measure(MeasureKind.RECORDS, None, A), (1, 3)),
        {(0, 0), (1, 3)},
    ),
}
LIMITS = [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 1)]


def check_worst(made: Step, setting: Privacy, found: set[Change]) -> None:
    """Norms, coordinates and shapes hold every change, and both norms are reached."""
    worst = bound_step_change(made, setting)
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


@pytest.mark.one_in(3)
@for_each("name", TINY)
@for_each("cells", [1, 2, 3])
@for_each("limits", LIMITS)
@for_each("replaced", [False, True])
def test_the_worst_change_is_that_of_all_units(
    name: str, cells: int, limits: tuple[int, int, int], replaced: bool
) -> None:
    build, effects = TINY[name]
    units = list_unit_sums(effects, cells, limits, once=name == "units")
    check_worst(build(cells), privacy(limits, replaced), list_differences(units, replaced))


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("limits", [(1, 1, 1), (2, 1, 2), (2, 2, 1)])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_squares_stay_in_their_triangle(
    width: int, limits: tuple[int, int, int], replaced: bool
) -> None:
    """A corner of the triangle is no value, so the bounds need not be attained; the ends are."""
    build, effects = variance(-1, width - 1)
    units = list_unit_sums(effects, 2, limits, once=False)
    check_worst(build(2), privacy(limits, replaced), list_differences(units, replaced))


def test_conditions_that_only_look_known_are_taken_as_independent() -> None:
    """A record may fulfil a and not be counted: then -1 and 1 move by it together."""
    (known, fulfilled), transform = share_of_known(1).measures, ((0, 1), (1, -1))
    for where in (
        B,
        replace(KNOWN, columns=("b",)),
        Expression("(b) IS NOT NULL", ("a",)),
        Expression("(a) IS NULL", ("a",)),
    ):
        made = step([replace(known, where=where), fulfilled], transform, query(1))
        assert bound_step_change(made, privacy(None, False)).l1 == 2
    assert bound_step_change(share_of_known(1), privacy(None, False)).l1 == 1


def test_squares_with_another_transform_are_not_underestimated() -> None:
    """7 k - k^2 is 0 at both ends of [0, 7], and 12 between them."""
    wanted = number(0, 7)
    measures = [Measure(MeasureKind.SUM, wanted), Measure(MeasureKind.SQUARES, wanted)]
    worst = bound_step_change(step(measures, ((7, -1),), query(1)), privacy(None, False))
    assert max(7 * k - k * k for k in range(8)) == 12 <= worst.l1


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_a_row_that_is_in_the_only_cell_for_certain(name: str, replaced: bool) -> None:
    """Adding or removing it has nobody on one side."""
    build, effects = TINY[name]
    check_worst(build(1), privacy(None, replaced), list_differences(effects, replaced))


@pytest.mark.parametrize("name", TINY)
def test_a_row_that_may_be_missing(name: str) -> None:
    """Where what a record holds decides whether it is there."""
    build, effects = TINY[name]
    nothing = {(0,) * len(effect) for effect in effects}
    changes = list_differences(effects | nothing, replaced=True)
    check_worst(build(1), privacy(None, True, fixed=False), changes)


def test_a_count_of_all_records_is_not_taken_to_change() -> None:
    """Of a ratio by it only the numerator does, where one record replaces another."""
    whole = Measure(MeasureKind.SUM, number(0, 7, 0)), Measure(MeasureKind.RECORDS)
    shift = bound_step_change(ratio(*whole, (1, 1))(1), privacy(None, True)).shift
    assert (shift.coordinates, len(shift.shapes)) == (1, 1)


def test_what_makes_a_row_certain() -> None:
    row = privacy(None, True)
    assert bound_step_change(RECORDS(1), row).l1 == 0
    assert derive_coarse_limits(query(1, closed=True), row).certain
    closed = Query("q", "any", "t", (group(1, closed=True),))
    assert derive_coarse_limits(closed, row).certain
    (open_ended,) = closed.groups
    for group_ in (replace(open_ended, null_label=None), replace(open_ended, other=None)):
        # a null, or a value that isn't listed, has no cell: then the row is in none
        asked = replace(closed, groups=(group_,))
        assert not derive_coarse_limits(asked, row).certain
        assert bound_step_change(step([Measure(MeasureKind.RECORDS)], ((1,),), asked), row).l1 == 1
    for asked, setting in [
        (query(1), privacy((1, 1, 1), True)),
        (query(1), privacy(None, True, fixed=False)),
        (closed, privacy(None, True, fixed=False)),
        (query(2, closed=True), row),
        (Query("q", "any", "t", (group(1),)), row),
        (Query("q", "any", "t", (), where=A), row),
        (Query("q", "any", "t", (Group("g", ColumnType.STRING, (), private=True),)), row),
    ]:
        assert not derive_coarse_limits(asked, setting).certain


@pytest.mark.parametrize("kinds", [[], [MeasureKind.UNITS, MeasureKind.RECORDS]])
def test_only_what_counts_units_alone_has_a_unit_once_in_a_cell(kinds: list[MeasureKind]) -> None:
    made = step([Measure(kind) for kind in kinds], ((1,) * len(kinds),), query(3))
    limits = derive_limits(made, privacy((6, 2, 5), False))
    assert (limits.rows, limits.groups, limits.per_cell) == (6, 2, 5)


def test_private_keys_are_as_many_as_units_can_reach() -> None:
    groups = (Group("g", ColumnType.STRING, (), private=True),)
    asked = Query("q", "any", "t", groups, key_selection=KeySelection(Fraction(1, 10**6)))
    made = step([Measure(MeasureKind.RECORDS)], ((1,),), asked)
    for limits in LIMITS:
        for replaced in (False, True):
            known = bound_step_change(RECORDS(1), privacy(limits, replaced))
            wide = step([Measure(MeasureKind.RECORDS)], ((1,),), query(4))
            open_ended = bound_step_change(made, privacy(limits, replaced))
            assert open_ended.l1 >= known.l1
            if 2 * limits[1] <= 4:
                assert open_ended == bound_step_change(wide, privacy(limits, replaced))


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("limits", [(1, 1, 1), (2, 1, 2), (2, 2, 1), (3, 2, 2), (3, 1, 2)])
@pytest.mark.parametrize("cells", [1, 2])
def test_labels_of_an_axis_share_the_bound_of_their_cell(
    cells: int, limits: tuple[int, int, int], replaced: bool
) -> None:
    """Against units of the coarse cells whose rows may have any label."""
    made = step([Measure(MeasureKind.RECORDS)], ((1,),), query(cells, axis=group(2)))
    most, groups, per_cell = limits
    units = []
    for unit in product(range(per_cell + 1), repeat=2 * cells):
        held = [a + b for a, b in zip(unit[::2], unit[1::2], strict=True)]
        if sum(held) <= most and sum(map(bool, held)) <= groups and max(held) <= per_cell:
            units.append(unit)
    check_worst(made, privacy(limits, replaced), list_differences(units, replaced))


def test_more_rows_never_do_less() -> None:
    for make in (RECORDS, UNITS, total(-3, 40)[0], mean(0, 9)[0]):
        made = make(4)
        for replaced in (False, True):
            found = [
                bound_step_change(made, privacy((rows, 3, 5), replaced)).l1 for rows in range(1, 16)
            ]
            assert all(low <= high for low, high in pairwise(found))
