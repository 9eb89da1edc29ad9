"""Conditions that exclude each other: what planner and certification find, and that it is so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.expressions import evaluate
from thorough import examples

from dprelease.expressions import parse_tree
from dprelease.kernel.chapters.strategies.exclusive_filters import are_exclusive
from dprelease.model import ColumnType, Expression
from dprelease.planning.exclusive_conditions import MOST_NODES, find_exclusive

TYPES = {
    "a": ColumnType.INTEGER,
    "b": ColumnType.FLOAT,
    "s": ColumnType.STRING,
    "f": ColumnType.BOOLEAN,
    "d": ColumnType.DATE,
    "t": ColumnType.TIMESTAMP,
}
VALUES: Mapping[str, Sequence[Any]] = {
    "a": [None, *range(-1, 9)],
    "b": [None, -0.5, 0.0, 1.0, 1.5, 2.0, 7.0],
    "s": [None, "", "a", "ab", "b", "B"],
    "f": [None, False, True],
    "d": [None, date(2019, 12, 31), date(2020, 1, 1), date(2020, 1, 2)],
    "t": [None, datetime(2019, 12, 31, 23), datetime(2020, 1, 1), datetime(2020, 1, 1, 1)],
}


@cache
def condition(text: str) -> Expression:
    return Expression(text, parse_tree(text, TYPES, "condition").list_columns())


def is_exclusive(*texts: str) -> bool:
    return are_exclusive([condition(text) for text in texts], TYPES)


def is_met_at_once(first: str, second: str) -> bool:
    """Whether some record meets both, of all with these values."""
    columns = sorted({*condition(first).columns, *condition(second).columns})
    trees = [parse_tree(text, TYPES) for text in (first, second)]
    return any(
        all(evaluate(tree, dict(zip(columns, row, strict=True))) is True for tree in trees)
        for row in product(*(VALUES[name] for name in columns))
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("a = 1", "a = 2"),
        ("a = 1", "NOT a = 1"),
        ("a = 1", "a <> 1"),
        ("a < 5", "a >= 5"),
        ("5 > a", "5 <= a"),
        ("a < 2", "a >= 2 AND a < 5", "a BETWEEN 5 AND 7", "a > 7", "a IS NULL"),
        ("a IN (1, 2)", "a IN (3, 4)", "a = 0"),
        ("a = 1 OR a = 2", "a > 2 AND s = 'a'"),
        ("a < b", "NOT (a < b)"),
        ("a < b AND f", "NOT (a < b) AND s = 'a'"),
        ("a IS NULL", "a IS NOT NULL"),
        ("a + 1 = 2", "a + 1 = 3"),
        ("b < 1", "b > 1.5"),
        ("s = 'a'", "s = 'b'"),
        ("s < 'ab'", "s >= 'ab'"),
        ("s LIKE 'a%'", "NOT s LIKE 'a%'"),
        ("lower(s) = 'a'", "lower(s) = 'b'"),
        ("f", "NOT f"),
        ("f = TRUE", "NOT f", "f IS NULL"),
        ("d < DATE '2020-01-01'", "d >= DATE '2020-01-01'"),
        ("t < DATE '2020-01-01'", "t >= TIMESTAMP '2020-01-01 00:00:00'"),
        ("NOT a BETWEEN 2 AND 3", "a = 2"),
        ("NOT a IN (1, 2)", "a = 2"),
    ],
)
def test_conditions_that_exclude_each_other_are_found(texts: tuple[str, ...]) -> None:
    assert find_exclusive([condition(text) for text in texts], TYPES) == [[*range(len(texts))]]
    assert is_exclusive(*texts)
    assert not any(is_met_at_once(*pair) for pair in combinations(texts, 2))


@pytest.mark.parametrize(
    "texts",
    [
        ("a = 1", "a = 1 AND f"),
        ("a <= 5", "a >= 5"),
        ("a < 5", "NOT a < 3"),
        ("a = 1", "b = 2"),
        ("a <> 1", "a <> 2"),
        ("a IN (1, 2)", "a IN (2, 3)"),
        ("a BETWEEN 1 AND 3", "a BETWEEN 3 AND 5"),
        ("a = 1 OR f", "a = 2 OR f"),
        ("a = 1", "a = 2", "a = 1 OR a = 3"),
        ("NOT (a = 1 AND f)", "a = 1"),
        ("a IS NULL", "f IS NULL"),
        ("f", "f OR a = 1"),
        ("coalesce(f, TRUE)", "NOT f", "f IS NULL"),
        ("s = 'a'", "s LIKE 'a%'"),
        ("a = 1", "a = 1.0"),
        ("a < 2", "a + 1 > 1"),
        ("a < 2", "a <> 2"),
        ("a IS NULL", "a IS NULL AND f"),
        ("f IS NULL", "f IS NULL AND a = 1"),
        ("NOT 5 BETWEEN a AND 3", "a IS NULL"),
        ("NOT 3 BETWEEN 5 AND a", "a IS NULL"),
    ],
)
def test_conditions_that_a_record_can_meet_at_once_are_not(texts: tuple[str, ...]) -> None:
    assert not is_exclusive(*texts)
    families = find_exclusive([condition(text) for text in texts], TYPES)
    assert [*range(len(texts))] not in families
    assert any(is_met_at_once(*pair) for pair in combinations(texts, 2))


def test_what_is_not_read_is_not_exclusive() -> None:
    assert not are_exclusive([Expression("x = 1", ("x",)), Expression("x = 2", ("x",))], TYPES)


ATOMS = [
    "a = 1", "a = 2", "a < 2", "a <= 1", "2 < a", "a >= 2", "a <> 1", "a BETWEEN 1 AND 2",
    "2 BETWEEN a AND 1",
    "a IN (0, 2)", "a IS NULL", "b = 1", "b > 1", "b <= 1.5", "a < b", "f", "f = FALSE",
    "s = 'a'", "s > 'a'", "s IS NOT NULL", "NULL", "TRUE", "coalesce(f, a = 1)",
]  # fmt: skip
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        inner.map("NOT ({})".format),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(4000, 40), deadline=None)
@given(st.lists(CONDITIONS, min_size=2, max_size=4, unique=True))
def test_no_record_meets_two_of_a_family_and_certification_sees_that(texts: list[str]) -> None:
    for family in find_exclusive([condition(text) for text in texts], TYPES):
        assert is_exclusive(*(texts[place] for place in family))
    for pair in combinations(texts, 2):
        if is_exclusive(*pair):
            assert not is_met_at_once(*pair)


def test_more_conditions_than_certification_tries_are_several_families() -> None:
    texts = [f"a = {number}" for number in range(300)]
    families = find_exclusive([condition(text) for text in texts], TYPES)
    assert [len(family) for family in families] == [MOST_NODES // 3, 300 - MOST_NODES // 3]
    for family in families:
        assert is_exclusive(*(texts[place] for place in family))
