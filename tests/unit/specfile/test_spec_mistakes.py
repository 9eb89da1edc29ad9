"""Mistakes of any size have an end: long texts, long lists, many cells."""

from __future__ import annotations

import time

import builders
import pytest
import tomli

from dprelease.errors import Failure
from dprelease.specfile import load
from dprelease.statistics.shared.spec_keys import Q
from dprelease.statistics.statistic_registry import STATISTICS

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
BEST = 'statistic = "best"\nscore = "salary * candidate"\nscore_upper = 1\n'


@pytest.mark.thorough
def test_candidates_count_as_cells(complaints, simple):
    many = ", ".join(str(number) for number in range(400_000))
    text = simple.replace(Q1, BEST + f'by = ["region"]\ncandidates = [{many}]')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "1200000 cells" in found.message


@pytest.mark.parametrize("key", ["candidates", "q", "bins", "by"])
def test_ten_million_values_are_refused_at_once(simple, key):
    tree = tomli.loads(simple)
    tree["query"][0] |= {"statistic": "median", "column": "salary", key: [0.5] * 10**7}
    started = time.process_time()
    with pytest.raises(Failure) as caught:
        load(tree)
    assert time.process_time() - started < 0.5
    found = [each for each in caught.value.complaints if each.key == f"query[0].{key}"]
    assert found[0].code == "E234"
    assert found[0].message == "the list has 10000000 values, more than 1000000"
    assert found[0].hint


def test_a_long_list_of_mistakes_ends_quickly(simple):
    tree = tomli.loads(simple)
    tree["query"][0] = {"name": "n", "statistic": "best", "score": "salary * candidate",
                        "score_upper": 1, "candidates": [1] * 10**6}  # fmt: skip
    started = time.process_time()
    with pytest.raises(Failure) as caught:
        load(tree)
    assert time.process_time() - started < 4
    assert len(caught.value.complaints) == 151


NUMERIC = [
    {"statistic": name, "column": "age", **({"q": 0.5} if Q in statistic.keys.needs else {})}
    for name, statistic in STATISTICS.items()
    if statistic.keys.column.is_numeric
] + [
    {"statistic": "density", "columns": ["age", "pay"]},
    {"statistic": "density", "columns": ["pay", "age"], "points": 5},
    {"statistic": "ratio", "numerator": {"column": "age"}, "denominator": {}},
    {"statistic": "ratio", "numerator": {}, "denominator": {"column": "age"}},
]


@pytest.mark.parametrize("query", NUMERIC, ids=str)
def test_nulls_that_are_a_label_are_no_number_for_any_statistic(query: dict[str, object]) -> None:
    bins = {"type": "integer", "lower": 0, "upper": 10, "bins": [0, 5, 10], "source": "p"}
    spec = builders.spec(
        privacy={
            "epsilon": 1,
        },
        columns={
            "age": {**bins, "other": "none", "nulls": "none"},
            "pay": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        query=[{"name": "q", **query}],
    )
    with pytest.raises(Failure) as caught:
        load(spec)
    assert [complaint.code for complaint in caught.value.complaints] == ["E214"]


def test_messages_never_hold_control_characters(spoilt):
    found = spoilt(("[ledger]", '"\\u001b[31m\\u202e" = 1\n[ledger]'))
    assert "\x1b" not in str(found[0])
    assert "\u202e" not in str(found[0])
    assert "\\u001b" in str(found[0])


def test_long_values_are_cut(spoilt):
    found = spoilt(('name = "headcount"', 'name = "' + "x" * 100_000 + '"'))
    assert len(str(found[0])) < 500


def test_too_many_cells(complaints, simple):
    keys = ", ".join(f'"k{i}"' for i in range(1001))
    text = simple.replace('"north", "south", "east"', keys)
    text += f'[columns.r2]\ntype = "string"\nkeys = [{keys}]\n'
    text = text.replace('by = ["region"]\nepsilon = 0.4', 'by = ["region", "r2"]\nepsilon = 0.4')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "1002001 cells" in found.message
