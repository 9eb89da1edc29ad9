"""What one unit can do, as certified, against every unit there is where units are tiny."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
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
Row = dict[str, Any]
"""A row as far as a step reads it: its value by column, and its filters by text."""
Unit = tuple[tuple[int, Row], ...]
"""Rows, each with its cell."""
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


def list_rows(made: Step) -> list[Row]:
    """Every row that a step can tell apart."""
    domains: dict[str, list[Any]] = {}
    for measure in made.measures:
        if measure.quantity is not None:
            grid = measure.quantity.grid
            values: list[Any] = list(range(grid.lower, grid.upper + 1))
            if measure.quantity.null_fill is None:
                values.append(None)
            domains[measure.quantity.column] = values
        if measure.column is not None:
            domains[measure.column] = ["d", "e", None]
        if measure.where is not None and measure.where != KNOWN:
            domains[measure.where.text] = [True, False, None]
    return [dict(zip(domains, values, strict=True)) for values in product(*domains.values())]


def list_units(made: Step, cells: int, limits: tuple[int, int, int]) -> Iterator[Unit]:
    """Every set of rows that one unit can have, none and fewer than it could included."""
    places = list(product(range(cells), list_rows(made)))
    most, groups, per_cell = limits
    for size in range(most + 1):
        for chosen in combinations_with_replacement(range(len(places)), size):
            unit = tuple(places[at] for at in chosen)
            held = Counter(cell for cell, _ in unit)
            if len(held) <= groups and all(n <= per_cell for n in held.values()):
                yield unit


def run_release(made: Step, rows: Unit, owners: list[int], cells: int) -> Change:
    """The released integers of a table, cell after cell."""
    found = []
    for cell in range(cells):
        measured = [measure_values(each, rows, owners, cell) for each in made.measures]
        for factors in made.transform:
            found.append(sum(f * n for f, n in zip(factors, measured, strict=True)))
    return tuple(found)


def is_fulfilling(row: Row, where: Expression | None) -> bool:
    if where == KNOWN:
        return row[A.text] is not None
    return where is None or bool(row[where.text])


def measure_values(measure: Measure, rows: Unit, owners: list[int], cell: int) -> int:
    here = [
        (row, owner)
        for (place, row), owner in zip(rows, owners, strict=True)
        if place == cell and is_fulfilling(row, measure.where)
    ]
    if measure.kind is MeasureKind.RECORDS:
        return len(here)
    if measure.kind is MeasureKind.UNITS:
        return len({owner for _, owner in here})
    if measure.kind is MeasureKind.DISTINCT:
        assert measure.column is not None
        return len({row[measure.column] for row, _ in here} - {None})
    assert measure.quantity is not None
    values = [row[measure.quantity.column] for row, _ in here]
    power = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}[measure.kind]
    return sum(value**power for value in values if value is not None)


def list_changes(
    made: Step, cells: int, limits: tuple[int, int, int], replaced: bool, certain: bool
) -> set[Change]:
    """Every difference between neighbouring tables, over some tables of others."""
    every = [unit for unit in list_units(made, cells, limits) if unit or not certain]
    others: list[Unit] = [()]
    if any(measure.kind is MeasureKind.DISTINCT for measure in made.measures):
        everything = list(product(range(cells), list_rows(made)))
        others = [(), tuple(everything), tuple(everything[::2]), tuple(everything[1::2])]
    found: set[Change] = set()
    for other in others:
        seen = {
            run_release(made, (*other, *unit), [0] * len(other) + [1] * len(unit), cells)
            for unit in every
        }
        bases = seen if replaced else {run_release(made, other, [0] * len(other), cells)}
        found |= {
            tuple(a - b for a, b in zip(one, base, strict=True)) for one in seen for base in bases
        }
    return found


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


def build_count(kind: MeasureKind, **more: Any) -> Callable[[int], Step]:
    return lambda cells: step([Measure(kind, **more)], ((1,),), query(cells))


def total(low: int, high: int, fill: int | None = None) -> Callable[[int], Step]:
    return build_count(MeasureKind.SUM, quantity=number(low, high, fill))


def mean(low: int, high: int, fill: int | None = None) -> Callable[[int], Step]:
    wanted = number(low, high, fill)
    measures = [Measure(MeasureKind.VALUES, wanted), Measure(MeasureKind.SUM, wanted)]
    return lambda cells: step(measures, ((-low, 1), (high, -1)), query(cells))


def variance(low: int, high: int) -> Callable[[int], Step]:
    wanted = number(low, high)
    kinds = (MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES)
    transform = (
        (high * high, -2 * high, 1),
        (-2 * low * high, 2 * (low + high), -2),
        (low * low, -2 * low, 1),
    )
    return lambda cells: step([Measure(kind, wanted) for kind in kinds], transform, query(cells))


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
TINY: dict[str, Callable[[int], Step]] = {
    "count": RECORDS,
    "units": UNITS,
    "distinct": build_count(MeasureKind.DISTINCT, column="d"),
    "sum": total(-1, 2),
    "sum far from 0": total(3, 4),
    "sum below 0": total(-5, -3, -4),
    "mean": mean(2, 3),
    "mean of one value": mean(-2, -2),
    "proportion": proportion,
    "share of known": share_of_known,
    "sum by count": ratio(
        Measure(MeasureKind.SUM, number(-1, 1)), Measure(MeasureKind.RECORDS, None, B), (1, 2)
    ),
    "sum by sum": ratio(
        Measure(MeasureKind.SUM, number(1, 2, 1), A),
        Measure(MeasureKind.SUM, number(-1, 0, 0, "y"), B),
        (2, 1),
    ),
    "counts with one filter": ratio(
        Measure(MeasureKind.RECORDS, None, A), Measure(MeasureKind.RECORDS, None, A), (1, 3)
    ),
}
LIMITS = [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 1)]
CASES = [
    (name, cells, limits, replaced)
    for name in TINY
    for cells in (1, 2, 3)
    for limits in LIMITS
    for replaced in (False, True)
    if limits[0] < 3 or name in {"count", "units", "mean of one value"}
    if cells < 3 or name in {"count", "units", "sum far from 0", "proportion", "share of known"}
]


@pytest.mark.one_in(4)
@for_each(("name", "cells", "limits", "replaced"), CASES)
def test_the_worst_change_is_that_of_all_units(
    name: str, cells: int, limits: tuple[int, int, int], replaced: bool
) -> None:
    made = TINY[name](cells)
    worst = bound_step_change(made, privacy(limits, replaced))
    found = list_changes(made, cells, limits, replaced, certain=False)
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("limits", [(1, 1, 1), (2, 1, 2), (2, 2, 1)])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_squares_stay_in_their_triangle(
    width: int, limits: tuple[int, int, int], replaced: bool
) -> None:
    """A corner of the triangle is no value, so the bounds need not be attained; the ends are."""
    made = variance(-1, width - 1)(2)
    worst = bound_step_change(made, privacy(limits, replaced))
    found = list_changes(made, 2, limits, replaced, certain=False)
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


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
    made = step(measures, ((7, -1),), query(1))
    worst = bound_step_change(made, privacy(None, False))
    assert compute_norms(list_changes(made, 1, (1, 1, 1), False, False))[0] == 12 <= worst.l1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_a_row_that_is_in_the_only_cell_for_certain(name: str, replaced: bool) -> None:
    made = TINY[name](1)
    worst = bound_step_change(made, privacy(None, replaced))
    # add/remove has nobody on one side
    found = list_changes(made, 1, (1, 1, 1), replaced, certain=replaced)
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


@pytest.mark.parametrize("name", TINY)
def test_a_row_that_may_be_missing(name: str) -> None:
    """Where what a record holds decides whether it is there."""
    made = TINY[name](1)
    worst = bound_step_change(made, privacy(None, True, fixed=False))
    found = list_changes(made, 1, (1, 1, 1), replaced=True, certain=False)
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


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
    axis = group(2)
    made = step([Measure(MeasureKind.RECORDS)], ((1,),), query(cells, axis=axis))
    fine = step([Measure(MeasureKind.RECORDS)], ((1,),), query(2 * cells))
    worst = bound_step_change(made, privacy(limits, replaced))
    most, groups, per_cell = limits
    allowed = [
        unit
        for unit in list_units(fine, 2 * cells, (most, most, per_cell))
        if len({place // 2 for place, _ in unit}) <= groups
        and all(n <= per_cell for n in Counter(place // 2 for place, _ in unit).values())
    ]
    seen = {run_release(fine, unit, [1] * len(unit), 2 * cells) for unit in allowed}
    bases = seen if replaced else {(0,) * 2 * cells}
    found = {tuple(a - b for a, b in zip(one, base, strict=True)) for one in seen for base in bases}
    assert is_holding_all(worst, found)
    assert compute_norms(found) == (worst.l1, worst.shift.l2_squared)


def test_more_rows_never_do_less() -> None:
    for make in (RECORDS, UNITS, total(-3, 40), mean(0, 9)):
        made = make(4)
        for replaced in (False, True):
            found = [
                bound_step_change(made, privacy((rows, 3, 5), replaced)).l1 for rows in range(1, 16)
            ]
            assert all(low <= high for low, high in pairwise(found))
