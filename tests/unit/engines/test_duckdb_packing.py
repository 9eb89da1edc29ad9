"""Rows as integers: in canonical order, each field whole again, and what can be packed at all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import pytest

from dprelease.engines.duckdb.bounding.by_arrays import NARROW, WIDE, Field, Packing, packing_of
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Sql, col
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Expression,
    Grid,
    Group,
    Quantity,
    Source,
)

SOURCE = Source("t.parquet", "parquet")
CELLS = Group("g", ColumnType.STRING, tuple("abcdefg"), keys=tuple("abcdefg"))
AXIS = Group("h", ColumnType.STRING, tuple("xyz"), keys=tuple("xyz"))


def packed(*grids: tuple[int, int], conditions: int = 0, later: bool = False) -> Packing | None:
    quantities = {
        Quantity(f"q{index}", Grid(Fraction(1), low, high)): f"k{index}"
        for index, (low, high) in enumerate(grids)
    }
    wheres = {Expression(f"c{index}", ()): f"w{index}" for index in range(conditions)}
    groups = (CELLS, AXIS) if later else (CELLS,)
    request = AggregateRequest(SOURCE, (), groups, (), bound=Bound("p", 3, 3, 3, leading=1))
    return packing_of(request, Rows(Sql("t"), (), quantities, wheres))


def known(*grids: tuple[int, int], conditions: int = 0, later: bool = False) -> Packing:
    packing = packed(*grids, conditions=conditions, later=later)
    assert packing is not None
    return packing


PACKINGS = {
    "cells alone": known(),
    "short": known((0, 200_000), conditions=2),
    "axis": known((-5, 5), later=True),
    "several": known((-(2**40), 2**40), (0, 2**53), conditions=1, later=True),
    "widest": known((-(2**60), 2**60), (-(2**53), -(2**53) + 1)),
    # three bits of the cell, then the quantities
    "as wide as may be": known((0, 2**60 - 2)),
    "one bit wider": known((0, 2**60 - 1)),
    "full": known((0, 2**62 - 2), (0, 2**62 - 2)),
}


def test_what_is_wide() -> None:
    bits = {name: (packing.bits, packing.kind) for name, packing in PACKINGS.items()}
    assert bits["as wide as may be"] == (NARROW, "BIGINT")
    assert bits["one bit wider"] == (NARROW + 1, "HUGEINT")
    assert bits["full"] == (WIDE, "HUGEINT")
    assert packed((0, 2**62 - 2), (0, 2**62 - 2), conditions=1) is None


def through(packing: Packing, rows: list[list[int | bool | None]]) -> list[tuple[Any, ...]]:
    """The integer of each row, and what comes back of it."""
    columns = ", ".join(
        f"UNNEST(CAST(${place} AS {'BOOLEAN' if field.truth else 'BIGINT'}[])) AS {field.column}"
        for place, field in enumerate(packing.fields, 1)
    )
    back = ", ".join(str(packing.decoded(field.column, col("x"))) for field in packing.fields)
    inner = f"SELECT {packing.packed()} AS x FROM (SELECT {columns})"
    values = [list(column) for column in zip(*rows, strict=True)]
    return duckdb.execute(f"SELECT x, {back} FROM ({inner})", values).fetchall()


@pytest.mark.parametrize("name", PACKINGS)
def test_what_goes_in_comes_out_and_in_order(name: str) -> None:
    packing = PACKINGS[name]
    choices = [range(8) if index < 2 else (0, 1, 2) for index in range(len(packing.fields))]
    rows = [
        [value_of(field, choice) for field, choice in zip(packing.fields, picked, strict=True)]
        for picked in product(*choices)
    ]
    found = through(packing, rows)
    truths = [field.truth for field in packing.fields]
    expected = [
        tuple(bool(v) if truth else v for v, truth in zip(row, truths, strict=True)) for row in rows
    ]
    assert [row[1:] for row in found] == expected
    for packed_row in found:
        assert isinstance(packed_row[0], int)
        assert 0 <= packed_row[0] < 2**packing.bits
    by_integer = [row[1:] for row in sorted(found, key=lambda row: row[0])]
    assert by_integer == sorted(expected, key=lambda row: [(v is not None, v) for v in row])


def test_a_row_of_no_cell_has_no_integer() -> None:
    packing = PACKINGS["short"]
    query = f"SELECT {packing.packed()} FROM (SELECT NULL::BIGINT c, 1 k0, TRUE w0, NULL w1)"
    assert duckdb.execute(query).fetchall() == [(None,)]


@pytest.mark.parametrize("name", PACKINGS)
def test_the_cell_is_what_is_above_its_lowest_bit(name: str) -> None:
    packing = PACKINGS[name]
    x = col("x")
    whole = "a" if packing.fields[1:] and packing.fields[1].column == "a" else "c"
    for cell in (0, 6):
        values = [cell, *(value_of(field, 1) for field in packing.fields[1:])]
        (row,) = through(packing, [values])
        query = f"SELECT {packing.above('c', x)}, {packing.above(whole, x)}"
        found = duckdb.execute(f"{query} FROM (SELECT {row[0]}::{packing.kind} AS x)").fetchall()
        assert found[0][0] == cell
        assert found[0][1] == (cell if whole == "c" else cell * 4 + 3)


def value_of(field: Field, choice: int) -> int | bool | None:
    """The lowest, the highest, none, and some between."""
    if field.nullable and choice == 2:
        return None
    if field.truth:
        return (None, True, False)[choice % 3]
    inside = (0, field.size - 1, 0, field.size // 2, field.size // 3)
    return field.lowest + inside[choice % len(inside)]


def test_what_cannot_be_packed() -> None:
    bound = Bound("p", 3, 3, 3, leading=1)
    request = AggregateRequest(SOURCE, (), (CELLS,), (), bound=bound)
    plain = Rows(Sql("t"), (), {}, {})
    assert packing_of(request, plain) is not None
    assert packing_of(request, replace(plain, values={"x": "d0"})) is None
    hidden = replace(CELLS, keys=None, labels=(), private=True)
    assert packing_of(replace(request, groups=(hidden,)), plain) is None
    many = replace(CELLS, labels=tuple(map(str, range(2000))))
    assert packing_of(
        replace(request, groups=(many,) * 6, bound=replace(bound, leading=6)), plain
    ) is None  # fmt: skip
    assert packed((-(2**62), 2**62)) is None
    assert packed(*[(0, 2**40 + place) for place in range(4)]) is None
