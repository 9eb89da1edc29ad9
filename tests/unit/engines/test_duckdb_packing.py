"""Rows as integers: in canonical order, each field whole again, and what can be packed at all."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest
from msgspec.structs import replace

from dprelease.engines.duckdb.bound_by_arrays import Field, Packing, plan_packing
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Sql, literal
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
    return plan_packing(request, Rows(Sql("t"), (), quantities, wheres))


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


def test_how_many_integers() -> None:
    numbers = {name: len(packing.words) for name, packing in PACKINGS.items()}
    assert numbers["as wide as may be"] == 1
    assert numbers["one bit wider"] == 2
    assert numbers["full"] == 3
    wide = PACKINGS["as wide as may be"]
    assert len(replace(wide, above=1).words) == 2
    short = replace(PACKINGS["short"], above=63 - PACKINGS["short"].bits)
    assert len(short.words) == 1


def through(packing: Packing, rows: list[list[int | bool | None]]) -> list[tuple[Any, ...]]:
    """The integers of each row, and what comes back of them."""
    columns = ", ".join(
        f"UNNEST(CAST(${place} AS {'BOOLEAN' if field.truth else 'BIGINT'}[])) AS {field.column}"
        for place, field in enumerate(packing.fields, 1)
    )
    number = literal(2**packing.above - 1).cast("BIGINT") if packing.above else None
    made = ", ".join(str(sql.alias(name)) for name, sql in packing.pack(number).items())
    back = ", ".join(str(packing.decode(field.column)) for field in packing.fields)
    values = [list(column) for column in zip(*rows, strict=True)]
    names = ", ".join(packing.names)
    inner = f"SELECT {made} FROM (SELECT {columns})"
    return duckdb.execute(f"SELECT [{names}], {back} FROM ({inner})", values).fetchall()


@pytest.mark.parametrize("above", [0, 3])
@pytest.mark.parametrize("name", PACKINGS)
def test_what_goes_in_comes_out_and_in_order(name: str, above: int) -> None:
    packing = replace(PACKINGS[name], above=above)
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
    for integers, *_ in found:
        assert all(0 <= integer < 2**63 for integer in integers)
        assert integers[0] >> packing.number_low_bit == 2**above - 1
    by_integers = [row[1:] for row in sorted(found, key=lambda row: row[0])]
    assert by_integers == sorted(expected, key=lambda row: [(v is not None, v) for v in row])


def test_a_row_of_no_cell_has_no_integer() -> None:
    made = PACKINGS["short"].pack(literal(1).cast("BIGINT"))["x0"]
    query = f"SELECT {made} FROM (SELECT NULL::BIGINT c, 1 k0, TRUE w0, NULL w1)"
    assert duckdb.execute(query).fetchall() == [(None,)]


@pytest.mark.parametrize("name", PACKINGS)
def test_where_cells_begin_in_arrays(name: str) -> None:
    """Rows in order: a new cell, or a new unit, is what is not alike in the bits from there up."""
    packing = replace(PACKINGS[name], above=2)
    whole = "a" if packing.fields[1:] and packing.fields[1].column == "a" else "c"
    cells = [[cell, *(value_of(one, 1) for one in packing.fields[1:])] for cell in (0, 0, 6, 6)]
    integers = [row[0] for row in through(packing, cells)]
    words = [np.array(word) for word in zip(*integers, strict=True)]
    assert packing.find_beginnings(whole, words).tolist() == [True, False, True, False]
    words[0][3] -= 1 << packing.number_low_bit
    assert packing.find_beginnings(whole, words).tolist() == [True, False, True, True]
    assert packing.extract_bits("c", words).tolist() == [0, 0, 6, 6]
    if whole == "a":
        assert packing.extract_bits("a", words).tolist() == [3, 3, 3, 3]


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
    assert plan_packing(request, plain) is not None
    assert plan_packing(request, replace(plain, values={"x": "d0"})) is None
    hidden = replace(CELLS, keys=None, labels=(), private=True)
    assert plan_packing(replace(request, groups=(hidden,)), plain) is None
    many = replace(CELLS, labels=tuple(map(str, range(2000))))
    bound = replace(bound, leading=3)
    assert plan_packing(replace(request, groups=(many,) * 2, bound=bound), plain) is not None
    assert plan_packing(replace(request, groups=(many,) * 3, bound=bound), plain) is None
    assert packed((-(2**62), 2**62)) is None
    assert packed(*[(0, 2**40 + place) for place in range(4)]) is not None
