"""The README's table of sensitivities is what the statistics say."""

import math
from fractions import Fraction

import pytest
from readme_blocks import readme

from dprelease.model import Adjacency, Column, ColumnType, Expression, Grid, Group, Query
from dprelease.statistics.registry import statistic_of

ALL = Group("g", ColumnType.STRING, ("a", "z"), keys=("a",), other="z", null_label="z")
SOME = Expression("x > 1", ("x",))

# row of the table -> statistic, groups, where, what a null counts as
CASES = {
    "count, histogram": ("count", (ALL,), None, None),
    "count, one cell that can miss records": ("count", (), SOME, None),
    "count of all records": ("count", (), None, None),
    "sum, several cells": ("sum", (ALL,), None, None),
    "sum, one cell that can miss records or values": ("sum", (), None, None),
    "sum, one cell, every record has a value": ("sum", (), None, "0"),
    "mean": ("mean", (ALL,), None, None),
}
GRIDS = [Grid(Fraction(1), 0, 180), Grid(Fraction(1), -5, 9), Grid(Fraction(1), -8, -3)]


def table() -> dict[str, list[str]]:
    """The rows of the table: their name, and L1 and L2 for both adjacencies."""
    rows = readme().split("| statistic | add-remove: L1 |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: figures for name, *figures in cells}


def value(figure: str, grid: Grid) -> float:
    """A figure of the table for a grid: 1, M, 2K, √2·K, max(K, M), with words after a comma."""
    text = figure.partition(", published")[0].replace("√2", f"{math.sqrt(2)}").replace("·", "*")
    for letter, number in (("M", grid.magnitude), ("K", grid.width)):
        text = text.replace(f"2{letter}", f"2*{number}").replace(letter, str(number))
    return float(eval(text, {"max": max}))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_the_table_is_right(name: str, grid: Grid) -> None:
    statistic, groups, where, null = CASES[name]
    column = Column("x", ColumnType.INTEGER, grid=grid, null_value=null)
    query = Query("q", statistic, "t", groups, column, where)
    stated = table()[name]
    for at, adjacency in enumerate(Adjacency):
        found = statistic_of(statistic).sensitivity(query, adjacency)
        assert value(stated[2 * at], grid) == found.l1
        assert value(stated[2 * at + 1], grid) == pytest.approx(math.sqrt(found.l2_squared))


def test_the_table_has_these_rows_and_no_others() -> None:
    assert list(table()) == list(CASES)
