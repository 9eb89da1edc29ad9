"""Rows as bits: each field whole again afterwards, and which requests can be packed at all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

from dprelease.engines.duckdb_packing import (
    CHUNK,
    MOST_CHUNKS,
    Field,
    Packing,
    encoded,
    packing_of,
)
from dprelease.engines.duckdb_rows import Rows
from dprelease.expressions.sqltext import Sql, identifier
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
    "one integer": known((0, 200_000), conditions=2),
    "axis": known((-5, 5), later=True),
    "several": known((-(2**40), 2**40), (0, 2**53), conditions=1, later=True),
    "widest": known((-(2**60), 2**60), (-(2**53), -(2**53) + 1)),
}


@pytest.mark.parametrize("name", PACKINGS)
def test_what_goes_in_comes_out(name: str) -> None:
    packing = PACKINGS[name]
    for choice in range(8):
        fields = packing.fields
        values = [value_of(field, choice) for field in fields]
        columns = [
            f"CAST({show(value)} AS {kind(field)}) AS {field.column}"
            for field, value in zip(fields, values, strict=True)
        ]
        made = ", ".join(f"{encoded(field)} AS e_{field.column}" for field in fields)
        size = range(packing.chunks)
        chunks = ", ".join(f"CAST({packing.packed(chunk)} AS BIGINT) AS x{chunk}" for chunk in size)
        places = {chunk: identifier(f"x{chunk}") for chunk in size}
        back = ", ".join(packing.decoded(field, places) for field in fields)
        inner = f"SELECT {made} FROM (SELECT {', '.join(columns)})"
        found = duckdb.execute(f"SELECT {back} FROM (SELECT {chunks} FROM ({inner}))").fetchall()
        expected = [
            bool(value) if field.truth else value
            for field, value in zip(fields, values, strict=True)
        ]
        assert found == [tuple(expected)]


def value_of(field: Field, choice: int) -> int | bool | None:
    """The lowest, the highest, none, and some between."""
    if field.nullable and choice == 2:
        return None
    if field.truth:
        return (None, True, False)[choice % 3]
    inside = (0, field.size - 1, 0, field.size // 2, field.size // 3)
    return field.lowest + inside[choice % len(inside)]


def show(value: int | bool | None) -> str:
    return "NULL" if value is None else str(value)


def kind(field: Field) -> str:
    return "BOOLEAN" if field.truth else "BIGINT"


@pytest.mark.parametrize("name", PACKINGS)
def test_no_two_pieces_share_a_bit_and_none_is_lost(name: str) -> None:
    packing = PACKINGS[name]
    taken = [
        (piece.chunk, piece.low + bit) for piece in packing.pieces for bit in range(piece.bits)
    ]
    assert len(set(taken)) == len(taken) == sum(field.bits for field in packing.fields)
    assert packing.pieces[0].field.column == "c"
    assert packing.pieces[0].low == packing.pieces[0].start == 0
    # below at least 28 bits of a hash, or 32 where there are several
    assert max(map(packing.used, range(packing.chunks))) <= (35 if packing.chunks == 1 else CHUNK)


def test_pieces_of_different_rows_make_no_integer_that_is_off_the_grid() -> None:
    packing = known((0, 2**40 + 5), (0, 7))
    field = packing.fields[1]
    ones = {chunk: Sql(f"CAST({2**CHUNK - 1} AS BIGINT)") for chunk in range(packing.chunks)}
    (found,) = duckdb.execute(f"SELECT {packing.decoded(field, ones)}").fetchone() or ()
    assert found == 2**40 + 5


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
        replace(request, groups=(many,) * 3, bound=replace(bound, leading=3)), plain
    ) is None  # fmt: skip
    assert packed((-(2**62), 2**62)) is None
    assert packed(*[(0, 2**53 + place) for place in range(MOST_CHUNKS)]) is None
