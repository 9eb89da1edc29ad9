"""The tables of sensitivities are what the statistics say."""

import math
from fractions import Fraction

import pytest
from doc_pages import page
from thorough import for_each

from dprelease.model import Adjacency, Column, ColumnType, Expression, Grid, Group, Part, Query
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

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
    "proportion": ("proportion", (ALL,), None, None),
    "variance, stddev": ("variance", (ALL,), None, None),
    "count_distinct": ("count_distinct", (ALL,), None, None),
}
PEOPLE = {
    "count, histogram": "count",
    "count_units": "count_units",
    "count_distinct": "count_distinct",
    "sum": "sum",
    "mean": "mean",
    "proportion": "proportion",
    "variance, stddev": "variance",
}
FIVE = Group("g", ColumnType.STRING, tuple("abcde"), keys=tuple("abcde"))
LIMITS = [
    Contribution(4, 2, 3),
    Contribution(5, 3, 2),
    Contribution(2, 5, 1),
    Contribution(6, 1, 6),
]
GRIDS = [Grid(Fraction(1), 0, 180), Grid(Fraction(1), -5, 9), Grid(Fraction(1), -8, -3)]


def table(head: str = "| statistic | add-remove: L1 |") -> dict[str, list[str]]:
    """The rows of a table: their name, and L1 and L2, for both adjacencies or for people."""
    rows = page("reference/statistics.md").text.split(head)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: figures for name, *figures in cells}


def value(figure: str, grid: Grid, limits: Contribution | None = None) -> float:
    """A figure of a table for a grid: 1, M, 2K², √2·K, max(K, M), m·K; no words after a comma."""
    text = figure.partition(", published")[0].replace("·", "*").replace("²", "**2")
    text = text.replace("√min", "root*min").replace("√S", "root").replace("√2", "2**0.5")
    known = {"M": grid.magnitude, "K": grid.width, "max": max, "min": min, "root": 0.0}
    if limits is not None:
        m, c, r = limits.rows, limits.groups, limits.per_group
        known |= {"m": m, "c": c, "root": math.sqrt(m // r * r**2 + (m % r) ** 2)}
        if "root*min" in text:
            return math.sqrt(min(c, m))
    return float(eval(text.replace("2K", "2*K").replace("2M", "2*M"), known))


@for_each("grid", GRIDS)
@for_each("name", CASES)
def test_the_table_is_right(name: str, grid: Grid) -> None:
    statistic, groups, where, null = CASES[name]
    column = Column("x", ColumnType.INTEGER, grid=grid, null_value=null)
    query = Query("q", statistic, "t", groups, column, where, numerator=Part(None, SOME))
    stated = table()[name]
    for at, adjacency in enumerate(Adjacency):
        found = get_statistic(statistic).bound_sensitivity(query, Neighbours(adjacency))
        assert value(stated[2 * at], grid) == found.l1
        assert value(stated[2 * at + 1], grid) == pytest.approx(math.sqrt(found.l2_squared))


def test_the_table_has_these_rows_and_no_others() -> None:
    assert list(table()) == list(CASES)
    assert list(table("| statistic | L1 | L2 |")) == list(PEOPLE)


@for_each("limits", LIMITS)
@for_each("grid", GRIDS)
@for_each("name", PEOPLE)
def test_the_table_for_people_is_right(name: str, grid: Grid, limits: Contribution) -> None:
    column = Column("x", ColumnType.INTEGER, grid=grid)
    query = Query("q", PEOPLE[name], "t", (FIVE,), column, numerator=Part(None, SOME))
    neighbours = Neighbours(Adjacency.ADD_REMOVE, limits, people=True)
    found = get_statistic(PEOPLE[name]).bound_sensitivity(query, neighbours)
    first, second = table("| statistic | L1 | L2 |")[name]
    assert value(first, grid, limits) == found.l1
    assert value(second, grid, limits) == pytest.approx(math.sqrt(found.l2_squared))


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_who_is_replaced_moves_at_most_twice_as_much(name: str) -> None:
    column = Column("x", ColumnType.INTEGER, grid=GRIDS[0])
    query = Query("q", PEOPLE[name], "t", (FIVE,), column, numerator=Part(None, SOME))
    for limits in LIMITS:
        one, both = (
            get_statistic(PEOPLE[name])
            .bound_sensitivity(query, Neighbours(each, limits, people=True))
            .l1
            for each in (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE)
        )
        assert both <= 2 * one
