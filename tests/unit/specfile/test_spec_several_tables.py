"""One query, several tables: which ones it makes, what each may cost, and every mistake in it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import pytest
from builders import spec
from hypothesis import given
from hypothesis import strategies as st

from dprelease.errors import Failure
from dprelease.model import Query, Release
from dprelease.planning.planner import make_plan
from dprelease.specfile import load

COLUMNS = ("a", "b", "c", "d")
DELTA = Fraction(1, 10**6)


def load_spec(*queries: dict[str, Any], labels: int = 2, **privacy: Any) -> Release:
    return load(
        spec(
            privacy={"epsilon": 1} | privacy,
            columns={name: {"type": "integer", "keys": list(range(labels))} for name in COLUMNS}
            | {"free": {"type": "string"}},
            query=list(queries),
            output={"path": "o"},
        )
    )


def tables(labels: int = 2, **query: Any) -> tuple[Query, ...]:
    """The queries that one becomes."""
    return load_spec({"name": "n", "statistic": "marginals"} | query, labels=labels).queries


def list_sets(queries: Sequence[Query]) -> list[tuple[str, ...]]:
    return [tuple(group.column for group in query.groups) for query in queries]


def test_a_number_of_ways_stands_for_all_sizes_up_to_it() -> None:
    queries = tables(columns=["c", "a", "b"], ways=2)
    assert list_sets(queries) == [("c",), ("a",), ("b",), ("c", "a"), ("c", "b"), ("a", "b")]
    assert [query.table for query in queries][2:] == ["by_b", "by_c_a", "by_c_b", "by_a_b"]
    assert [query.name for query in queries][5] == "n:by_a_b"
    assert {query.column_name for query in queries} == {"n"}
    assert {query.statistic for query in queries} == {"count"}
    assert {query.number for query in queries} == {0}


def test_sets_are_those_that_are_listed_in_their_order() -> None:
    queries = tables(attributes=[["d", "a"], [], ["b"]], where="a > 0", mechanism="gaussian",
                     rho=1)  # fmt: skip
    assert list_sets(queries) == [("d", "a"), (), ("b",)]
    assert [query.table for query in queries] == ["by_d_a", "overall", "by_b"]
    assert all(query.where is not None and query.mechanism == "gaussian" for query in queries)


def test_levels_come_behind_by_and_each_has_those_before_it() -> None:
    queries = tables(statistic="count", by=["d"], levels=["b", "a"])
    assert list_sets(queries) == [("d", "b"), ("d", "b", "a")]
    assert list_sets(tables(statistic="count", levels=["c"])) == [("c",)]


@given(
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True),
    sizes=st.lists(st.integers(0, 4), min_size=1, unique=True),
    data=st.data(),
)
def test_ways_give_every_set_of_that_size_once_and_share_what_is_stated(
    columns: list[str], sizes: list[int], data: st.DataObject
) -> None:
    amount = Fraction(data.draw(st.integers(1, 10**6)), 1000)
    key = data.draw(st.sampled_from(["epsilon", "rho", "weight"]))
    stated = {key: amount} | ({"delta": DELTA} if key == "epsilon" else {})
    if max(sizes) > len(columns):
        with pytest.raises(Failure, match="E233"):
            tables(columns=columns, ways=sizes, **stated)
        return
    queries = tables(columns=columns, ways=sizes, **stated)
    subsets = chain.from_iterable(combinations(columns, size) for size in range(5))
    assert list_sets(queries) == [one for one in subsets if len(one) in sizes]
    assert sum(getattr(query, key) for query in queries) == amount
    assert len({getattr(query, key) for query in queries}) == 1
    if key == "epsilon":
        assert sum(query.delta or 0 for query in queries) == DELTA


def test_a_query_of_several_tables_costs_what_it_states_and_weighs_as_much_as_another() -> None:
    crossed = {"name": "n", "statistic": "marginals", "columns": ["a", "b", "c"], "ways": 2}
    plan = make_plan(load_spec(crossed | {"epsilon": Fraction(1, 2)}))
    assert plan.loss.epsilon == Fraction(1, 2)
    assert sum(step.loss.epsilon for step in plan.steps) == Fraction(1, 2)
    weighed = load_spec(crossed, {"name": "m", "statistic": "count", "where": "a > 0"}).queries
    assert [query.weight for query in weighed] == [*[Fraction(1, 6)] * 6, 1]


def test_an_accuracy_holds_in_each_table() -> None:
    target = {"within": 10, "confidence": Fraction(9, 10)}
    queries = tables(attributes=[["a"], ["b"]], accuracy=target)
    assert [query.accuracy and query.accuracy.within for query in queries] == [10, 10]


M, C = {"statistic": "marginals"}, {"statistic": "count"}


@pytest.mark.parametrize(
    ("labels", "ways", "said", "hint"),
    [
        (101, 3, "the table by_a_b_c has 1,030,301 cells, more than 1,000,000",
         'leave "a" out of it, which has 101 labels'),
        (32, 4, "the table by_a_b_c_d has 1,048,576 cells", "32 labels"),
    ],
)  # fmt: skip
def test_a_table_too_large_is_named(labels: int, ways: int, said: str, hint: str) -> None:
    with pytest.raises(Failure) as caught:
        tables(labels, columns=list(COLUMNS), ways=ways)
    (complaint,) = caught.value.complaints
    assert complaint.code == "E222"
    assert said in complaint.message
    assert hint in complaint.hint


def test_the_largest_tables_that_are_allowed_are_too_many_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    several = "dprelease.specfile.checks.queries.several_tables"
    monkeypatch.setattr(f"{several}.MAX_ALL_CELLS", 4 * 10 + 6 * 100 - 1)
    with pytest.raises(Failure, match="10 tables with 640 cells; the most are 1,000 with 639"):
        tables(10, columns=list(COLUMNS), ways=2)
    monkeypatch.setattr(f"{several}.MAX_TABLES", 9)
    with pytest.raises(Failure, match="the query makes 10 tables, more than 9"):
        tables(10, columns=list(COLUMNS), ways=2)
    monkeypatch.setattr(f"{several}.MAX_TABLES", 2)
    with pytest.raises(Failure, match="3 tables with 6 cells"):
        tables(attributes=[["a"], ["b"], ["c"]])


def test_a_table_has_one_column_of_each_name() -> None:
    crossed = {"name": "n", "statistic": "marginals", "attributes": [["a"], ["b"]]}
    load_spec(crossed, {"name": "m", "statistic": "count", "by": ["b"]})
    with pytest.raises(Failure, match="E219"):
        load_spec(crossed, {"name": "n_flag", "statistic": "count", "by": ["b"]})
    with pytest.raises(Failure, match="E218"):
        load_spec(crossed, {"name": "N", "statistic": "count"})
