"""Choices, tops and quantiles for the private keys that were selected, and for no others."""

from __future__ import annotations

from array import array
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease.kernel.chapters.private_keys.shown_keys import lay_out_counts
from dprelease.kernel.core.aggregates import Drawn
from dprelease.kernel.core.engine_requests import Job
from dprelease.kernel.privatization import privatize
from dprelease.model import (
    AggregateRequest,
    Candidates,
    ColumnType,
    ExactTable,
    Expression,
    Form,
    Grid,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    QuantileScheme,
    QuantileStep,
    Quantity,
    Query,
    Sensitivity,
    Source,
    Step,
)

Keys = tuple[tuple[str, ...], ...]

TEXT = ColumnType.STRING
PRIVATE = Group("k", TEXT, (), private=True)
PUBLIC = Group("g", TEXT, ("yes", "no"), keys=("yes", "no"))
AXIS = Group("h", TEXT, ("u", "v", "w"), keys=("u", "v", "w"))
GIVEN = Candidates(("1", "2"), ColumnType.INTEGER, Expression("1", ()), Grid(Fraction(1), 0, 9))
SURE = Fraction(50)  # a rate at which nothing but the best is ever drawn


def step(family: NoiseFamily, form: Form = Form.CHOICE, **query: Any) -> Step:
    asked: dict[str, Any] = {"groups": (PRIVATE,), "axis": AXIS} | query
    return Step(
        Query("q", "mode", "t", **asked),
        (Measure(MeasureKind.RECORDS),),
        ((1,),),
        (Fraction(1),),
        Sensitivity(1, 1, 1, choice_l1=1),
        Noise(family, SURE),
        Loss(Fraction(1)),
        form,
    )


MODE = step(NoiseFamily.PERMUTE_AND_FLIP)
BEST = replace(
    step(NoiseFamily.EXPONENTIAL, axis=None, candidates=GIVEN), measures=(), transform=((),)
)
HALVES = QuantileStep(1, 0, 2, Fraction(1, 2), SURE)
MEDIAN = replace(
    BEST,
    query=Query("q", "median", "t", (PRIVATE,), quantiles=(Fraction(1, 2),)),
    form=Form.QUANTILES,
    scheme=QuantileScheme((Fraction(1, 2),), (HALVES,)),
    points=Quantity("x", Grid(Fraction(1), 0, 9)),
)
SELECTED: Keys = (("ann",), ("bob",), ("cid",))


def run_release(
    one: Step, measures: Any, occurring: Any, entropy: Any, keys: Keys = SELECTED
) -> Any:
    query = one.query
    groups = query.groups if query.axis is None else (*query.groups, query.axis)
    request = AggregateRequest(
        Source("/t.csv", "csv"), (), groups, (), scores=query.candidates, points=one.points
    )
    asked = Job(request, (one,), ((0,) if one.measures else (),), (None,))
    drawn = privatize(ExactTable(measures, occurring), asked, entropy, {"t": keys})
    assert drawn == Drawn({"q": drawn.values["q"]}, {"t": keys})
    return drawn.values["q"]


OCCURRING = [("zoë", "u"), ("bob", "w"), ("ann", "u"), ("ann", "v"), ("bob", "u")]


def test_a_name_is_chosen_for_each_selected_key(entropy: Any) -> None:
    """Labels that do not occur have no records; what is not selected is not looked at."""
    (names,) = run_release(MODE, [[900, 8, 1, 9, 7]], OCCURRING, entropy)
    assert names[:2] == (1, 2)
    assert 0 <= names[2] <= 2


def test_a_key_without_records_has_any_name(entropy: Any) -> None:
    """All scores are 0: each name is drawn as often as any other."""
    many = tuple((str(number),) for number in range(300))
    (names,) = run_release(MODE, [[]], [], entropy, many)
    assert all(60 < names.count(name) < 140 for name in range(3))


def test_the_top_by_noisy_counts_has_all_labels_of_each_key(entropy: Any) -> None:
    top = replace(MODE, form=Form.NUMBERS, noise=Noise(NoiseFamily.NONE, Fraction(0)))
    (counts,) = run_release(top, [[900, 8, 1, 9, 7]], OCCURRING, entropy)
    assert counts == (1, 9, 0, 7, 0, 8, 0, 0, 0)
    noisy = replace(top, noise=Noise(NoiseFamily.LAPLACE, Fraction(100)))
    (counts,) = run_release(noisy, [[900, 8, 1, 9, 7]], OCCURRING, entropy)
    assert len(counts) == 9
    assert len(set(counts[-3:])) > 1  # a draw of its own for each, also where nothing occurs


def test_several_picks_come_rank_by_rank(entropy: Any) -> None:
    top = replace(MODE, query=replace(MODE.query, picks=2))
    first, second = run_release(top, [[900, 8, 1, 9, 7]], OCCURRING, entropy)
    assert (first[:2], second[:2]) == ((1, 2), (0, 0))
    assert first[2] != second[2]


def test_private_beside_public_groups(entropy: Any) -> None:
    """A key is a combination: the public part of one that is not selected is not filled in."""
    both = replace(MODE, query=replace(MODE.query, groups=(PUBLIC, PRIVATE)))
    occurring = [("no", "ann", "w"), ("yes", "ann", "u"), ("no", "bob", "v")]
    keys = (("yes", "ann"), ("no", "ann"))
    assert run_release(both, [[5, 6, 7]], occurring, entropy, keys) == ((0, 2),)


def test_a_candidate_is_chosen_for_each_selected_key(entropy: Any) -> None:
    occurring = [("zoë",), ("bob",), ("ann",)]
    (names,) = run_release(BEST, [[9, 0, 3, 4, 6, 5]], occurring, entropy)
    assert names[:2] == (0, 1)
    assert names[2] in {0, 1}


@pytest.mark.parametrize("kind", [list, lambda each: array("q", each)], ids=["list", "array"])
def test_quantiles_are_searched_for_each_selected_key(kind: Any, entropy: Any) -> None:
    occurring = [("zoë",), ("bob",), ("ann",), ("dan",)]
    points = [kind(each) for each in ([0, 0, 1, 1, 2, 3], [0, 9, 4, 8, 7, 1], [9, 9, 9, 1, 5, 99])]
    (values,) = run_release(MEDIAN, points, occurring, entropy)
    assert values[:2] == (7, 4)
    assert 0 <= values[2] <= 9


def test_a_selected_key_without_a_value_has_any(entropy: Any) -> None:
    """As likely each as the other, whether it occurs (with nulls alone) or not."""
    for occurring in ([], [("7",), ("9",)]):
        keys = tuple((str(number),) for number in range(400))
        (values,) = run_release(MEDIAN, [[], [], []], occurring, entropy, keys)
        assert all(10 < values.count(value) < 90 for value in range(10))


@pytest.mark.parametrize("one", [MODE, BEST, MEDIAN], ids=["mode", "best", "median"])
def test_where_no_key_was_selected_nothing_is_drawn(one: Step, entropy: Any) -> None:
    answers: dict[str, tuple[Any, Any]] = {
        "mode": ([[5]], [("ann", "u")]),
        "best": ([[5, 6]], [("ann",)]),
        "median": ([[0], [3], [5]], [("ann",)]),
    }
    names = {id(MODE): "mode", id(BEST): "best", id(MEDIAN): "median"}
    assert run_release(one, *answers[names[id(one)]], entropy, ()) == ((),)
    two = replace(one, query=replace(one.query, picks=2))
    if one is not MEDIAN:
        assert run_release(two, *answers[names[id(one)]], entropy, ()) == ((), ())


@pytest.mark.parametrize(
    ("one", "measures", "occurring"),
    [
        (MODE, [[1, 2]], [("ann", "u"), ("ann", "u")]),
        (MODE, [[1, 2, 3]], [("ann", "u"), ("ann", "v")]),
        (MODE, [[1]], [("ann", "u"), ("ann", "v")]),
        (BEST, [[1, 2]], [("ann",), ("bob",)]),
        (BEST, [[1, 2, 3, 4, 5]], [("ann",), ("bob",)]),
        (BEST, [[1, 2, 3, 4]], [("ann",), ("ann",)]),
        (MEDIAN, [[0, 0], [1, 2], [5]], [("ann",)]),
        (MEDIAN, [[0], [1], [5]], [("ann",), ("ann",)]),
    ],
)
def test_an_answer_that_is_too_long_or_too_short_stops_the_release(
    one: Step, measures: Any, occurring: Any, entropy: Any
) -> None:
    with pytest.raises(ValueError, match="missing or spare key"):
        run_release(one, measures, occurring, entropy)


def test_a_choice_does_not_select(entropy: Any) -> None:
    request = AggregateRequest(Source("/t.csv", "csv"), (), (PRIVATE, AXIS), ())
    chosen = replace(MODE, threshold=5)
    with pytest.raises(ValueError, match="selected by a count with a threshold"):
        privatize(
            ExactTable([[99]], [("ann", "u")]),
            Job(request, (chosen,), ((0,),), (None,)),
            entropy,
            {},
        )


def test_what_is_not_selected_does_not_show(entropy: Any) -> None:
    """The same bytes give the same release, whoever else occurs and in whatever order."""
    slow = replace(MODE, noise=Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 10)))
    few, many = [("ann", "v"), ("bob", "w")], [*OCCURRING, ("ann", "w"), ("eve", "u")]
    found = [
        run_release(slow, [[4, 5]], few, type(entropy)("same")),
        run_release(slow, [[5, 4]], few[::-1], type(entropy)("same")),
        run_release(slow, [[10**9, 5, 0, 4, 0, 0, 10**6]], many, type(entropy)("same")),
    ]
    assert found[0] == found[1] == found[2]


def test_counts_are_laid_out_by_selected_keys() -> None:
    keys = [("b",), ("a",)]
    assert lay_out_counts([1, 2, 3], [("a",), ("x",), ("b",)], keys) == [3, 1]
    assert lay_out_counts([1, 2, 3, 4], [("a",), ("x",)], keys, width=2) == [0, 0, 1, 2]
    occurring = [("a", "v"), ("x", "u"), ("b", "u")]
    assert lay_out_counts([1, 2, 3], occurring, keys, AXIS) == [3, 0, 0, 0, 1, 0]
    assert lay_out_counts([], [], keys, AXIS) == [0] * 6
