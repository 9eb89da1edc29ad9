"""Every statistic's sensitivity against all tiny tables and all their neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Expression,
    Grid,
    Group,
    Measure,
    MeasureKind,
    Query,
)
from dprelease.statistics.base import Released
from dprelease.statistics.registry import STATISTICS

# A record: its cell (None: in no cell), its raw value (None: null), whether `where` keeps it.
Record = tuple[int | None, int | None, bool]
Vector = tuple[int, ...]

BOUNDS = [(0, 1), (-1, 2), (-2, -1), (1, 3)]


def query_of(
    statistic: str, bounds: tuple[int, int], cells: int, closed: bool, fill: int | None
) -> Query:
    """A query whose groups (if any) are closed, so that every record falls in, or not."""
    groups: tuple[Group, ...] = ()
    labels = tuple("abc"[:cells])
    if cells > 1 or not closed:
        groups = (
            Group(
                "g",
                ColumnType.STRING,
                labels,
                keys=labels,
                other=labels[-1] if closed else None,
                null_label=labels[-1] if closed else None,
            ),
        )
    column = Column(
        "x",
        ColumnType.INTEGER,
        grid=Grid(Fraction(1), *bounds),
        null_value=None if fill is None else str(fill),
    )
    return Query(
        "q", statistic, "t", groups, None if statistic in {"count", "histogram"} else column
    )


def domain(query: Query, bounds: tuple[int, int], closed: bool) -> list[Record]:
    """Every kind of record: each cell, each value from below to above the bounds, null."""
    cells: list[int | None] = list(range(query.cells))
    if not closed:
        cells.append(None)
    kept = [True, False] if query.where is not None else [True]
    values: list[int | None] = [None, *range(bounds[0] - 1, bounds[1] + 2)]
    if query.column is None:
        values = [None]
    return list(product(cells, values, kept))


def measured(measure: Measure, records: list[Record], cell: int) -> int:
    total = 0
    for where, value, kept in records:
        if where != cell or not (kept or measure.where is None):
            continue
        if measure.kind is MeasureKind.RECORDS:
            total += 1
            continue
        quantity = measure.quantity
        assert quantity is not None
        k = value if value is not None else quantity.null_fill
        if k is None:
            continue
        k = min(max(k, quantity.grid.lower), quantity.grid.upper)
        total += 1 if measure.kind is MeasureKind.VALUES else k
    return total


def released_integers(released: Released, records: list[Record], cells: int) -> Vector:
    out: list[int] = []
    for cell in range(cells):
        values = [measured(measure, records, cell) for measure in released.measures]
        out.extend(
            sum(c * v for c, v in zip(row, values, strict=True)) for row in released.transform
        )
    return tuple(out)


def neighbours(
    domain_: list[Record], adjacency: Adjacency
) -> list[tuple[list[Record], list[Record]]]:
    pairs = []
    for size in range(2):
        for table in combinations_with_replacement(domain_, size):
            rest = list(table)
            if adjacency is Adjacency.ADD_REMOVE:
                pairs.extend((rest, [*rest, record]) for record in domain_)
            else:
                pairs.extend(([*rest, a], [*rest, b]) for a in domain_ for b in domain_ if a != b)
    return pairs


def covered(change: Vector, shapes: tuple[Vector, ...]) -> bool:
    """Is the change, up to order and sign, entry by entry at most one of the shapes?"""
    sizes = sorted((abs(entry) for entry in change if entry), reverse=True)
    for shape in shapes:
        entries = sorted(shape, reverse=True)
        if len(sizes) <= len(entries) and all(a <= b for a, b in zip(sizes, entries, strict=False)):
            return True
    return False


CASES = [
    (name, adjacency, cells, closed, fill, filtered)
    for name in STATISTICS
    for adjacency in Adjacency
    for cells in (1, 2)
    for closed in (True, False)
    for fill in (None, 0)
    for filtered in (False, True)
]


@pytest.mark.parametrize(("name", "adjacency", "cells", "closed", "fill", "filtered"), CASES)
def test_sensitivity_is_never_exceeded_and_is_reached(
    name: str, adjacency: Adjacency, cells: int, closed: bool, fill: int | None, filtered: bool
) -> None:
    statistic = STATISTICS[name]
    for bounds in BOUNDS if name in {"sum", "mean"} else [(0, 1)]:
        query = query_of(name, bounds, cells, closed, fill)
        if filtered:
            query = Query(
                "q",
                name,
                "t",
                query.groups,
                query.column,
                where=Expression("x > 0", ("x",)),
            )
        claimed = statistic.sensitivity(query, adjacency)
        released = statistic.released(query)
        l1 = l2 = coordinates = 0
        for left, right in neighbours(domain(query, bounds, closed), adjacency):
            a = released_integers(released, left, query.cells)
            b = released_integers(released, right, query.cells)
            change = tuple(y - x for x, y in zip(a, b, strict=True))
            l1 = max(l1, sum(map(abs, change)))
            l2 = max(l2, sum(entry * entry for entry in change))
            coordinates = max(coordinates, sum(1 for entry in change if entry))
            if claimed.shapes and any(change):
                assert covered(change, claimed.shapes), (bounds, change)
        assert (l1, l2) == (claimed.l1, claimed.l2_squared), bounds
        assert coordinates <= claimed.coordinates, bounds


def test_a_sensitivity_that_is_too_small_would_be_caught() -> None:
    query = query_of("sum", (-2, 2), 2, False, None)
    released = STATISTICS["sum"].released(query)
    worst = max(
        sum(
            abs(x - y)
            for x, y in zip(
                released_integers(released, left, 2),
                released_integers(released, right, 2),
                strict=True,
            )
        )
        for left, right in neighbours(domain(query, (-2, 2), False), Adjacency.REPLACE_ONE)
    )
    assert worst > 2
