"""Private keys: how they are selected, and what the whole release then loses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dprelease import ExitCode, Failure, load
from dprelease.certify import certify
from dprelease.certifying.executable import is_executable
from dprelease.certifying.totals import total_holds, within_declared
from dprelease.model import (
    Form,
    KeySelection,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Plan,
    Query,
    Step,
)
from dprelease.planning.planner import make_plan

DELTA = Fraction(1, 10**8)
COUNT = {True: "count_units", False: "count"}


def plan(
    people: bool,
    *others: dict[str, Any],
    adjacency: str = "add-remove",
    bounding: tuple[int, int, int] = (6, 3, 4),
    **query: Any,
) -> Plan:
    rules: dict[str, Any] = {"unit": "row"}
    if people:
        keys = ("max_rows_per_unit", "max_groups_per_unit", "max_rows_per_unit_per_group")
        bounds = dict(zip(keys, bounding, strict=True))
        rules = {"unit": "column", "unit_column": "p", "bounding": bounds}
    private = {"by": ["s"], "partition_selection": {"delta": float(DELTA)}}
    queries = [{"name": "q", "statistic": COUNT[people]} | query, *others]
    return make_plan(
        load(
            {
                "release": {"name": "r"},
                "data": {"path": "t.csv"},
                "output": {"path": "out/r"},
                "privacy": rules | {"adjacency": adjacency, "epsilon": 1, "delta": 1e-6},
                "columns": {
                    "s": {"type": "string"},
                    "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
                },
                "query": [private | each for each in queries],
            }
        )
    )


def first(made: Plan) -> Step:
    step = made.steps[0]
    assert step.threshold is not None
    return step


def doctored(made: Plan, asked: dict[str, Any] | None = None, at: int = 0, **changes: Any) -> Plan:
    steps = list(made.steps)
    query = replace(steps[at].query, **(asked or {}))
    steps[at] = replace(steps[at], query=query, **changes)
    release = replace(made.release, queries=tuple(step.query for step in steps))
    return replace(made, steps=tuple(steps), release=release)


def refused(made: Plan) -> bool:
    try:
        certify(made)
    except Failure as failure:
        return failure.exit_code == ExitCode.INTERNAL
    return False


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_threshold_that_is_planned_is_the_least(
    people: bool, adjacency: str, mechanism: str
) -> None:
    made = plan(people, adjacency=adjacency, mechanism=mechanism)
    step = first(made)
    assert step.threshold is not None
    assert not refused(made)
    assert refused(doctored(made, threshold=step.threshold - 1))
    assert not refused(doctored(made, threshold=step.threshold + 5))
    less = replace(step.noise, parameter=step.noise.parameter * Fraction(99, 100))
    assert refused(doctored(made, noise=less))
    known = step.sensitivity
    assert refused(doctored(made, sensitivity=replace(known, l1=known.l1 - 1)))
    loss = Loss(step.loss.epsilon * Fraction(99, 100), step.loss.delta)
    assert refused(doctored(made, loss=loss))
    assert refused(doctored(made, loss=Loss(step.loss.epsilon, step.loss.delta / 10)))


@pytest.mark.parametrize("bounding", [(1, 1, 1), (5, 5, 1), (40, 17, 3)])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_every_plan_is_certified(bounding: tuple[int, int, int], adjacency: str) -> None:
    others = [
        {"name": "n", "statistic": "count"},
        {"name": "m", "statistic": "mean", "column": "x"},
        {"name": "p", "statistic": "proportion", "where": "x > 3"},
    ]
    made = plan(True, *others, adjacency=adjacency, bounding=bounding)
    assert not refused(made)
    for at in (1, 2, 3):
        noise = made.steps[at].noise
        less = replace(noise, parameter=noise.parameter * Fraction(9, 10))
        assert refused(doctored(made, at=at, noise=less))


RECORDS = Measure(MeasureKind.RECORDS)
BAD: dict[str, dict[str, Any]] = {
    "no threshold": {"threshold": None},
    "a threshold of one unit": {"threshold": 1},
    "a threshold that is no integer": {"threshold": Fraction(301, 2)},
    "twice the count": {"transform": ((2,),)},
    "minus the count": {"transform": ((-1,),)},
    "a number and the count": {"transform": ((1,), (1,)), "unit": (Fraction(1),) * 2},
    "two measures": {"measures": (RECORDS, RECORDS), "transform": ((1, 0),)},
    "a choice": {"form": Form.CHOICE},
    "quantiles": {"form": Form.QUANTILES},
    "a rho": {"loss": Loss(Fraction(1, 2), DELTA, Fraction(1))},
    "no delta": {"loss": Loss(Fraction(1, 2))},
    "no noise": {
        "noise": Noise(NoiseFamily.NONE, Fraction(0)),
        "loss": Loss(Fraction(0), Fraction(0), Fraction(0)),
    },
    "noise of a choice": {"noise": Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 100))},
    "distinct values": {"measures": (Measure(MeasureKind.DISTINCT, None, None, "x"),)},
}


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_only_a_count_of_units_selects(what: str, people: bool) -> None:
    made = plan(people, {"name": "m", "statistic": "mean", "column": "x"})
    assert not refused(made)
    bad = doctored(made, **BAD[what])
    assert refused(bad)
    assert is_executable(bad) == (what == "a rho")


def test_rows_of_people_do_not_select() -> None:
    made = plan(True)
    assert refused(doctored(made, measures=(RECORDS,)))
    # not even with a threshold above anything that a unit's rows can bring
    assert refused(doctored(made, measures=(RECORDS,), threshold=10**9))


def test_the_selection_is_allowed_by_the_spec() -> None:
    made = plan(False)
    assert refused(doctored(made, {"key_selection": None}))
    assert refused(doctored(made, {"key_selection": KeySelection(DELTA / 2)}))


def test_a_table_has_one_selection_and_one_set_of_groups() -> None:
    made = plan(
        False,
        {"name": "n", "statistic": "count"},
        {"name": "m", "statistic": "mean", "column": "x"},
    )
    step = first(made)
    assert not refused(made)
    again = doctored(
        made,
        {"key_selection": step.query.key_selection},
        at=1,
        threshold=step.threshold,
        noise=step.noise,
        loss=step.loss,
        sensitivity=step.sensitivity,
    )
    assert refused(replace(again, loss=Loss(Fraction(1), Fraction(1, 10**6))))
    assert refused(doctored(made, {"table": "elsewhere"}, at=1))
    groups = (*step.query.groups, replace(step.query.groups[0], column="x"))
    assert refused(doctored(made, {"groups": groups}, at=1))
    assert refused(doctored(made, {"groups": ()}, at=1))


def test_public_keys_are_not_selected() -> None:
    made = plan(False)
    public = replace(first(made).query.groups[0], private=False, labels=("a",), keys=("a",))
    assert refused(doctored(made, {"groups": (public,)}))


def test_private_keys_have_no_axis_and_no_candidates() -> None:
    made = plan(False, {"name": "n", "statistic": "count"})
    axis = replace(first(made).query.groups[0], private=False, labels=("a",), keys=("a",))
    assert refused(doctored(made, {"axis": axis}, at=1))
    assert refused(doctored(made, {"axis": axis}))


# --- totals -------------------------------------------------------------------------------------


def total(losses: list[tuple[Loss, bool]], claimed: Loss, **privacy: Any) -> bool:
    """Whether the total of these steps, selecting ones among them, is confirmed."""
    made = plan(False)
    steps = tuple(
        replace(made.steps[0], query=Query(str(i), "count", "t"), loss=loss, threshold=kept)
        for i, (loss, selects) in enumerate(losses)
        for kept in ([9] if selects else [None])
    )
    release = replace(made.release, privacy=replace(made.release.privacy, **privacy))
    whole = replace(made, release=release, steps=steps, loss=claimed)
    return total_holds(whole) and within_declared(whole)


HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)
NORMAL = Loss(HALF, TINY, Fraction(1, 200))


def test_selections_add_to_what_the_others_lose_together() -> None:
    selecting = (Loss(HALF, DELTA), True)
    pure = (Loss(HALF, Fraction(0), HALF**2 / 2), False)
    exact = Loss(Fraction(1), DELTA)
    assert total([selecting, pure], exact)
    assert not total([selecting, pure], replace(exact, epsilon=Fraction(99, 100)))
    assert not total([selecting, pure], replace(exact, delta=DELTA / 2))
    assert not total([selecting, pure], replace(exact, rho=Fraction(10)))
    assert not total([selecting, selecting, pure], exact)
    assert not total([selecting, pure], exact, epsilon=HALF)
    assert not total([selecting, pure], exact, delta=DELTA / 2)
    assert not total([selecting, pure], exact, rho=Fraction(10))


def test_the_others_may_compose_by_rho_but_selections_may_not() -> None:
    several = [(NORMAL, False)] * 4
    # rho = 1/50 at delta 10^-6 is less than four times 1/2
    claimed = Loss(Fraction(11, 10), TINY)
    assert total(several, claimed, epsilon=Fraction(2))
    assert not total(several, replace(claimed, epsilon=Fraction(1, 2)), epsilon=Fraction(2))
    selecting = (Loss(HALF, DELTA, Fraction(1, 200)), True)
    both = Loss(claimed.epsilon + HALF, TINY + DELTA)
    assert total([*several, selecting], both, epsilon=Fraction(2), delta=Fraction(1, 1000))
    assert not total([*several, selecting], claimed, epsilon=Fraction(2))
    assert not total(
        [*several, selecting], replace(both, delta=DELTA), epsilon=Fraction(2), delta=Fraction(1, 9)
    )
