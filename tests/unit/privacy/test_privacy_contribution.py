"""What units with several rows can do, against every tiny table and all its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product

import pytest
from thorough import for_each

from dprelease.language import word
from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Expression,
    Grid,
    Group,
    Query,
    Sensitivity,
)
from dprelease.privacy.sensitivity import (
    COUNT,
    DISTINCT,
    Contribution,
    Row,
    Scalar,
    Vector,
    bound_addition,
    bound_replacement,
    bound_unit_addition,
    bound_unit_replacement,
)
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import STATISTICS

# A row: its cell (the last one of all is outside the table) and its value.
Unit = tuple[tuple[int, int], ...]
Table = tuple[int, ...]

RULES = [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (3, 3, 1), (3, 3, 3)]
LIMITS = [Contribution(*rule) for rule in RULES]
CELLS = (1, 2, 3)
VALUES = [(-1, 0, 2), (1, 3), (-2, -1), (0, 1)]


def list_units(
    limits: Contribution, cells: int, values: Iterable[int], outside: bool
) -> list[Unit]:
    """Every unit within its limits; rows outside the table count towards no cell's limit."""
    rows = list(product(range(cells + outside), values))
    found = []
    for size in range(1 if limits.is_one_row else 0, limits.rows + 1):
        for unit in combinations_with_replacement(rows, size):
            by_cell = Counter(cell for cell, _ in unit if cell < cells)
            if len(by_cell) <= limits.groups and max(by_cell.values(), default=0) <= (
                limits.per_group
            ):
                found.append(unit)
    return found


@lru_cache(maxsize=64)
def list_effects(
    limits: Contribution, cells: int, values: tuple[int, ...], outside: bool,
    entries: Callable[[int], Table],
) -> set[Table]:  # fmt: skip
    """What all units add to a table of sums."""
    width = len(entries(values[0]))
    found = set()
    for unit in list_units(limits, cells, values, outside):
        table = [0] * (width * cells)
        for cell, value in unit:
            if cell < cells:
                for entry, amount in enumerate(entries(value)):
                    table[cell * width + entry] += amount
        found.add(tuple(table))
    return found


def find_differences(tables: Iterable[Table]) -> set[Table]:
    return {
        tuple(a - b for a, b in zip(left, right, strict=True))
        for left, right in combinations(tables, 2)
    }


def hold(changes: Iterable[Table], claimed: Sensitivity) -> tuple[int, int, int]:
    """Hold every change against the bounds; return the largest there are."""
    changed = {tuple(sorted((abs(v) for v in each if v), reverse=True)) for each in changes}
    changed.add(())
    largest = (
        max(sum(each) for each in changed),
        max(sum(v * v for v in each) for each in changed),
        max(len(each) for each in changed),
    )
    assert largest[0] <= claimed.l1
    assert largest[1] <= claimed.l2_squared
    assert largest[2] <= claimed.coordinates
    for each in changed if claimed.shapes else ():
        assert any(
            len(each) <= len(shape)
            and all(a <= b for a, b in zip(each, sorted(shape, reverse=True), strict=False))
            for shape in claimed.shapes
        ), (each, claimed.shapes)
    return largest


def one(value: int) -> Table:
    return (1,)


def itself(value: int) -> Table:
    return (value,)


def halves(value: int) -> Table:
    """A mean's two sums, for values from 0 to 2."""
    return (value, 2 - value)


def thirds(value: int) -> Table:
    """Three sums of a variance, for values from 0 to 2."""
    return (value**2, 2 * value * (2 - value), (2 - value) ** 2)


def sign(value: int) -> Table:
    return (value, -value)


LINEAR: list[tuple[Row, tuple[int, ...], Callable[[int], Table]]] = [
    (COUNT, (0,), one),
    *((Scalar(values[0], values[-1]), values, itself) for values in VALUES),
    (Vector(2, 4, 2), (0, 1, 2), halves),
    (Vector(4, 16, 3), (0, 1, 2), thirds),
]


@pytest.mark.one_in(4)
@for_each("limits", LIMITS)
@for_each("cells", CELLS)
@for_each("linear", range(len(LINEAR)))
def test_no_unit_exceeds_and_some_unit_attains(
    linear: int, cells: int, limits: Contribution
) -> None:
    row, values, entries = LINEAR[linear]
    claimed = bound_addition(limits, row, cells)
    tables = list_effects(limits, cells, values, True, entries)
    assert hold(tables, claimed) == (claimed.l1, claimed.l2_squared, claimed.coordinates)
    for outside in (False, True):
        claimed = bound_replacement(limits, row, cells, outside=outside)
        found = list_effects(limits, cells, values, outside, entries)
        largest = hold(find_differences(found), claimed)
        assert largest[:2] == (claimed.l1, claimed.l2_squared), outside
        assert largest[2] == claimed.coordinates


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("cells", CELLS)
def test_signed_vectors_are_within_bounds(cells: int, limits: Contribution) -> None:
    row = Vector(2, 2, 2, signed=True)
    tables = list_effects(limits, cells, (-1, 1), True, sign)
    claimed = bound_replacement(limits, row, cells, outside=True)
    assert hold(tables, bound_addition(limits, row, cells))[0] == 2 * limits.limit_cells(cells).rows
    largest = hold(find_differences(tables), claimed)
    assert largest[0] == claimed.l1
    if limits.groups == 1:
        assert largest[1] == claimed.l2_squared


def crowds(cells: int) -> Iterator[Unit]:
    """The rows of everybody else: any set of the three values in each cell."""
    subsets = [set_ for size in range(4) for set_ in combinations((1, 2, 3), size)]
    for held in product(subsets, repeat=cells):
        yield tuple((cell, value) for cell, set_ in enumerate(held) for value in set_)


def distinct(rows: Unit, cells: int) -> Table:
    held = set(rows)
    return tuple(sum(1 for cell, _ in held if cell == which) for which in range(cells))


@pytest.mark.parametrize("limits", LIMITS[:6], ids=str)
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("outside", [False, True])
def test_distinct_values(limits: Contribution, cells: int, outside: bool) -> None:
    people = list_units(limits, cells, (1, 2, 3), outside)
    steps: set[Table] = set()
    moves: set[Table] = set()
    for others in crowds(cells):
        base = distinct(others, cells)
        tables = {distinct(others + unit, cells) for unit in people}
        steps |= {tuple(a - b for a, b in zip(table, base, strict=True)) for table in tables}
        moves |= find_differences(tables)
    claimed = bound_addition(limits, DISTINCT, cells)
    assert hold(steps, claimed) == (claimed.l1, claimed.l2_squared, claimed.coordinates)
    claimed = bound_replacement(limits, DISTINCT, cells, outside=True)
    assert hold(moves, claimed) == (claimed.l1, claimed.l2_squared, claimed.coordinates)


@for_each("limits", LIMITS)
@for_each("cells", CELLS)
@for_each("outside", [False, True])
def test_numbers_of_units(limits: Contribution, cells: int, outside: bool) -> None:
    tables = {
        tuple(int(any(cell == which for cell, _ in unit)) for which in range(cells))
        for unit in list_units(limits, cells, (0,), outside)
        if unit or outside  # where none is outside, a unit of the table is in some cell
    }
    claimed = bound_unit_addition(limits, cells)
    assert hold(tables, claimed) == (claimed.l1, claimed.l2_squared, claimed.coordinates)
    claimed = bound_unit_replacement(limits, cells, outside=outside)
    largest = hold(find_differences(tables), claimed)
    assert largest == (claimed.l1, claimed.l2_squared, claimed.coordinates)


def query(cells: int, closed: bool, bounds: tuple[int, int], drops: bool, name: str) -> Query:
    labels = tuple("abcdefgh"[:cells])
    other = labels[-1] if closed else None
    group = Group("g", ColumnType.STRING, labels, labels, other=other, null_label=other)
    column = Column(
        "x", ColumnType.INTEGER, Grid(Fraction(1), *bounds), null_value=None if drops else "0"
    )
    where = None if closed else Expression("x > 0", ("x",))
    return Query("q", name, "t", (group,), None if name == "count" else column, where)


@for_each("bounds", [(0, 1), (-1, 2), (-3, -1), (2, 7), (0, 40), (-5, 3)])
@for_each("cells", [1, 2, 5])
@for_each("closed", [True, False])
@for_each("drops", [True, False])
@for_each("name", ["count", "sum", "mean"])
def test_single_rows_come_out_as_before(
    bounds: tuple[int, int], cells: int, closed: bool, drops: bool, name: str
) -> None:
    wide = bounds[1] - bounds[0]
    rows: dict[str, Row] = {
        "count": COUNT,
        "sum": Scalar(*bounds),
        "mean": Vector(wide, wide**2, 2),
    }
    outside = not closed or (drops and name != "count")
    asked = query(cells, closed, bounds, drops, name)
    limits = Contribution(1, 1, 1)
    pairs = [
        (Adjacency.ADD_REMOVE, bound_addition(limits, rows[name], cells)),
        (Adjacency.REPLACE_ONE, bound_replacement(limits, rows[name], cells, outside=outside)),
    ]
    for adjacency, found in pairs:
        before = STATISTICS[name].bound_sensitivity(asked, Neighbours(adjacency))
        numbers = ("l1", "l2_squared", "coordinates", "shapes")
        assert [getattr(found, n) for n in numbers] == [getattr(before, n) for n in numbers]


def test_limits_are_lowered_to_what_can_be_reached() -> None:
    assert Contribution(3, 9, 9) == Contribution(3, 3, 3)
    assert Contribution(10, 2, 3) == Contribution(6, 2, 3)
    assert Contribution(10, 5, 4).limit_cells(2) == Contribution(8, 2, 4)
    assert Contribution(10, 5, 4).squares == 16 + 16 + 4
    for wrong in [(0, 1, 1), (1, 0, 1), (1, 1, 0)]:
        with pytest.raises(ValueError, match="at least one row"):
            Contribution(*wrong)


def test_large_limits_cost_nothing() -> None:
    limits = Contribution(10**9, 10**6, 2000)
    claimed = bound_replacement(limits, Scalar(-(10**9), 10**9), 10**6, outside=True)
    assert claimed.l1 == 2 * 10**18
    assert claimed.l2_squared == 2000**2 * 4 * 500_000 * 10**18
    assert not claimed.shapes


def test_rows_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="lower bound"):
        Scalar(2, 1)
    with pytest.raises(ValueError, match="Scalar"):
        Vector(1, 1, 1)
    with pytest.raises(ValueError, match="l1"):
        Vector(2, 5, 2)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            bound_addition(Contribution(10, 5, 2), COUNT, 100, "words.person"),
            "a person has at most 10 rows in at most 5 cells, at most 2 in one; "
            "each changes one count by 1",
        ),
        (
            bound_addition(Contribution(1, 1, 1), Scalar(-2, 5), 100, "words.row"),
            "one row more or less changes one sum by at most 5",
        ),
        (
            bound_replacement(
                Contribution(10, 5, 2), Vector(7, 49, 2), 8, outside=True, unit="words.person"
            ),
            "a replaced person takes at most 10 rows away and brings as many, in at most 8 cells "
            "in all; each changes the sums of one cell by at most 7 together",
        ),
        (
            bound_replacement(Contribution(1, 1, 1), COUNT, 1, outside=False, unit="words.row"),
            "replacing a row leaves the count as it is",
        ),
        (
            bound_replacement(
                Contribution(1, 1, 1), Scalar(2, 5), 1, outside=False, unit="words.row"
            ),
            "a replaced row moves the sum by at most upper - lower = 3",
        ),
        (
            bound_unit_addition(Contribution(10, 5, 2), 100, "words.person"),
            "a person is in at most 5 cells, and counts once in each",
        ),
        (
            bound_unit_addition(Contribution(3, 1, 3), 1, "words.person"),
            "a person is in one cell, and counts once in it",
        ),
        (
            bound_addition(Contribution(9, 9, 3), COUNT, 1, "words.person"),
            "a person has at most 3 rows in one cell; each changes one count by 1",
        ),
        (
            bound_replacement(Contribution(9, 9, 3), COUNT, 1, outside=True, unit="words.person"),
            "a replaced person takes at most 3 rows away and brings as many, in one cell; "
            "each changes one count by 1",
        ),
        (
            bound_replacement(Contribution(1, 1, 1), COUNT, 1, outside=True, unit="words.record"),
            "a replaced record leaves or enters one cell, and changes one count by 1",
        ),
        (
            bound_unit_replacement(Contribution(3, 3, 3), 1, outside=False, unit="words.person"),
            "replacing a person leaves the number of people as it is",
        ),
    ],
)
def test_derivations_are_one_sentence(found: Sensitivity, text: str) -> None:
    assert word(found.derivation) == text
