"""How far neighbours move the scores that names are chosen by, against all tiny tables.

What a choice costs is in proportion to the range of the changes of a cell's scores, the largest
less the smallest, and cells add up: see ``dprelease.mechanisms.exponential``.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease.model import (
    Adjacency,
    Candidates,
    Column,
    ColumnType,
    Expression,
    Form,
    Grid,
    Group,
    Query,
    Sensitivity,
)
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import STATISTICS

Scores = tuple[tuple[int, ...], ...]  # [cell][candidate]

LABELS = ("x", "y", "z")
UPPER = 3
RULES = [(1, 1, 1), (2, 1, 2), (2, 2, 1), (3, 2, 2), (3, 3, 3)]


def query_of(name: str, cells: int, closed: bool = False) -> Query:
    labels = tuple("abc"[:cells])
    other = labels[-1] if closed else None
    groups = (Group("g", ColumnType.STRING, labels, labels, other=other, null_label=other),)
    last = LABELS[-1] if closed else None
    axis = Group("v", ColumnType.STRING, LABELS, LABELS, other=last, null_label=last)
    if name == "best":
        grid = Grid(Fraction(1, 2), 0, UPPER)
        given = Candidates(LABELS, ColumnType.STRING, Expression("1", ("candidate",)), grid)
        return Query("q", name, "t", groups, candidates=given)
    return Query("q", name, "t", groups, picks=2 if name == "top_k" else 1, axis=axis)


def rows_of(name: str, cells: int) -> list[tuple[int, tuple[int, ...]]]:
    """The cell of a row and what it adds to the scores there: one label counted, or scores."""
    adds = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if name == "best":
        adds = [(a, b, b) for a, b in product((0, UPPER), repeat=2)]
    return list(product(range(cells), adds))


def tables(name: str, cells: int, limits: Contribution, outside: bool) -> set[Scores]:
    """What every unit adds."""
    found = set()
    for size in range(0 if outside else 1, limits.rows + 1):
        for unit in combinations_with_replacement(rows_of(name, cells), size):
            held = Counter(cell for cell, _ in unit)
            if len(held) <= limits.groups and max(held.values(), default=0) <= limits.per_group:
                scores = [[0] * len(LABELS) for _ in range(cells)]
                for cell, adds in unit:
                    scores[cell] = [a + b for a, b in zip(scores[cell], adds, strict=True)]
                found.add(tuple(map(tuple, scores)))
    return found


def changes(found: set[Scores], adjacency: Adjacency) -> list[Scores]:
    if adjacency is Adjacency.ADD_REMOVE:
        return list(found)
    return [
        tuple(tuple(x - y for x, y in zip(one, other, strict=True))
              for one, other in zip(left, right, strict=True))
        for left, right in combinations(found, 2)
    ]  # fmt: skip


def hold(found: list[Scores], claimed: Sensitivity) -> tuple[int, int]:
    """Hold all changes against the claim: the largest cost of the choices, and the largest L1."""
    spans = [sum(max(cell) - min(cell) for cell in change) for change in found]
    allowed = claimed.choice_l1 * (1 if claimed.monotone else 2)
    assert max(spans) <= allowed
    flat = [[abs(each) for cell in change for each in cell] for change in found]
    assert max(map(sum, flat)) <= claimed.l1
    assert max(sum(v * v for v in each) for each in flat) <= claimed.l2_squared
    assert max(sum(1 for v in each if v) for each in flat) <= claimed.coordinates
    if claimed.monotone:
        assert all(each >= 0 for change in found for cell in change for each in cell)
        assert max(sum(map(max, change)) for change in found) == claimed.choice_l1
    return max(spans), max(map(sum, flat))


@pytest.mark.one_in(10)
@for_each("name", ["mode", "top_k", "best"])
@for_each("adjacency", Adjacency)
@for_each("cells", [1, 2, 3])
@for_each("rule", RULES)
def test_scores_are_never_moved_further(
    name: str, adjacency: Adjacency, cells: int, rule: tuple[int, int, int]
) -> None:
    limits = Contribution(*rule)
    query = query_of(name, cells)
    claimed = STATISTICS[name].bound_sensitivity(query, Neighbours(adjacency, limits, people=True))
    found = changes(tables(name, cells, limits, True), adjacency)
    spans, l1 = hold(found, claimed)
    assert spans == claimed.choice_l1 * (1 if claimed.monotone else 2)
    assert l1 == claimed.l1


@for_each("name", ["mode", "top_k", "best"])
@for_each("adjacency", Adjacency)
@for_each("cells", [1, 2])
@for_each("closed", [True, False])
@for_each("missing", [False, True])
def test_scores_of_records(
    name: str, adjacency: Adjacency, cells: int, closed: bool, missing: bool
) -> None:
    query = query_of(name, cells, closed)
    statistic = STATISTICS[name]
    assert statistic.define_release(query).form is Form.CHOICE
    claimed = statistic.bound_sensitivity(query, Neighbours(adjacency, may_be_missing=missing))
    assert claimed.monotone is (adjacency is Adjacency.ADD_REMOVE)
    outside = missing or not closed
    found = changes(tables(name, cells, Contribution(1, 1, 1), outside), adjacency)
    spans, _ = hold(found, claimed)
    assert spans == claimed.choice_l1 * (1 if claimed.monotone else 2)


def hidden(query: Query) -> Query:
    return replace(query, groups=(Group("g", ColumnType.STRING, (), private=True),))


@pytest.mark.parametrize("name", ["mode", "top_k", "best"])
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rule", [*RULES[:3], (2, 2, 2)], ids=str)
def test_scores_by_private_keys(
    name: str, adjacency: Adjacency, rule: tuple[int, int, int]
) -> None:
    """Held against as many keys as two units can reach that have none in common, and one more."""
    limits, people = Contribution(*rule), rule != (1, 1, 1)
    query = hidden(query_of(name, 1))
    claimed = STATISTICS[name].bound_sensitivity(query, Neighbours(adjacency, limits, people))
    found = changes(tables(name, 2 * limits.groups + 1, limits, True), adjacency)
    spans, l1 = hold(found, claimed)
    assert spans == claimed.choice_l1 * (1 if claimed.monotone else 2)
    assert l1 == claimed.l1
    many = STATISTICS[name].bound_sensitivity(wide(name), Neighbours(adjacency, limits, people))
    assert claimed == many


def wide(name: str) -> Query:
    """The same with more public groups than units can reach."""
    labels = tuple(map(str, range(40)))
    return replace(query_of(name, 1), groups=(Group("g", ColumnType.STRING, labels, labels),))


def test_an_axis_of_one_label_that_holds_all_is_free() -> None:
    axis = Group("v", ColumnType.STRING, ("x",), ("x",), other="x", null_label="x")
    query = Query("q", "mode", "t", axis=axis)
    claimed = STATISTICS["mode"].bound_sensitivity(query, Neighbours(Adjacency.REPLACE_ONE))
    assert (claimed.l1, claimed.choice_l1) == (0, 0)
    missing = Neighbours(Adjacency.REPLACE_ONE, may_be_missing=True)
    claimed = STATISTICS["mode"].bound_sensitivity(query, missing)
    assert (claimed.l1, claimed.choice_l1) == (1, 1)


def test_a_claim_that_is_too_small_would_be_caught() -> None:
    found = changes(tables("mode", 2, Contribution(2, 2, 1), True), Adjacency.REPLACE_ONE)
    with pytest.raises(AssertionError):
        hold(found, Sensitivity(4, 4, 4, choice_l1=1))
    with pytest.raises(AssertionError):
        hold(found, Sensitivity(4, 4, 4, choice_l1=2, monotone=True))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(
    ("rule", "cells", "rows"), [((1, 1, 1), 3, 1), ((5, 2, 3), 3, 5), ((5, 2, 3), 1, 3)]
)
def test_quantiles_say_how_many_rows_a_unit_has(
    adjacency: Adjacency, rule: tuple[int, int, int], cells: int, rows: int
) -> None:
    labels = tuple("abc"[:cells])
    column = Column("x", ColumnType.INTEGER, Grid(Fraction(1), 0, 9))
    groups = (Group("g", ColumnType.STRING, labels, labels),)
    query = Query("q", "median", "t", groups, column, quantiles=(Fraction(1, 2),))
    neighbours = Neighbours(adjacency, Contribution(*rule), people=True)
    assert STATISTICS["median"].bound_sensitivity(query, neighbours).l1 == rows


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_quantiles_by_private_keys_say_how_many_rows_a_unit_has_in_all_keys(
    adjacency: Adjacency, rule: tuple[int, int, int]
) -> None:
    """Counted in the units of ``tables``: each row of a mode adds one to one count."""
    limits = Contribution(*rule)
    column = Column("x", ColumnType.INTEGER, Grid(Fraction(1), 0, 9))
    query = hidden(Query("q", "median", "t", (), column, quantiles=(Fraction(1, 2),)))
    claimed = STATISTICS["median"].bound_sensitivity(
        query, Neighbours(adjacency, limits, people=True)
    )
    units = tables("mode", limits.groups + 1, limits, True)
    assert max(sum(map(sum, unit)) for unit in units) == claimed.l1
