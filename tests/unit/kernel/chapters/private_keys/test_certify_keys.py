"""Private keys: how they are selected, and what the whole release then loses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from builders import is_refused, spec, with_step
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.certification import CHAPTERS
from dprelease.kernel.chapters.choices.choice_rules import find_choice_loss_breaches
from dprelease.kernel.chapters.private_keys.key_loss import find_key_loss_breaches
from dprelease.kernel.core.step_loss import find_step_loss_breaches
from dprelease.kernel.core.total_loss import add_losses, find_total_loss_breaches
from dprelease.model import (
    Form,
    Loss,
    Measure,
    MeasureKind,
    Plan,
    Query,
    Step,
)
from dprelease.planning.planner import make_plan

DELTA = Fraction(1, 10**8)
NINE_TENTHS = Fraction(9, 10)
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
            spec(
                privacy=rules | {"adjacency": adjacency, "epsilon": 1, "delta": 1e-6},
                columns={
                    "s": {"type": "string"},
                    "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
                    "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
                },
                query=[private | each for each in queries],
            )
        )
    )


def first(made: Plan) -> Step:
    step = made.steps[0]
    assert step.threshold is not None
    return step


@pytest.mark.one_in(4)
@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_threshold_that_is_planned_is_the_least(
    people: bool, adjacency: str, mechanism: str
) -> None:
    made = plan(people, adjacency=adjacency, mechanism=mechanism)
    step = first(made)
    assert step.threshold is not None
    assert not is_refused(made)
    assert is_refused(with_step(made, threshold=step.threshold - 1))
    assert not is_refused(with_step(made, threshold=step.threshold + 5))
    less = replace(step.noise, parameter=step.noise.parameter * Fraction(99, 100))
    assert is_refused(with_step(made, noise=less))
    known = step.sensitivity
    assert is_refused(with_step(made, sensitivity=replace(known, l1=known.l1 - 1)))
    loss = Loss(step.loss.epsilon * Fraction(99, 100), step.loss.delta)
    assert is_refused(with_step(made, loss=loss))
    assert is_refused(with_step(made, loss=Loss(step.loss.epsilon, step.loss.delta / 10)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("bounding", [(1, 1, 1), (5, 5, 1), (40, 17, 3)])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_every_plan_is_certified(bounding: tuple[int, int, int], adjacency: str) -> None:
    others = [
        {"name": "n", "statistic": "count"},
        {"name": "m", "statistic": "mean", "column": "x"},
        {"name": "p", "statistic": "proportion", "where": "x > 3"},
    ]
    made = plan(True, *others, adjacency=adjacency, bounding=bounding)
    assert not is_refused(made)
    for at in range(1, len(made.steps)):
        noise = made.steps[at].noise
        less = replace(noise, parameter=noise.parameter * Fraction(9, 10))
        assert is_refused(with_step(made, at=at, noise=less))


RECORDS = Measure(MeasureKind.RECORDS)


def test_rows_of_people_do_not_select() -> None:
    made = plan(True)
    assert is_refused(with_step(made, measures=(RECORDS,)))
    # not even with a threshold above anything that a unit's rows can bring
    assert is_refused(with_step(made, measures=(RECORDS,), threshold=10**9))


# --- choices and quantiles by private keys ------------------------------------------------------

MODE: dict[str, Any] = {"name": "mode", "statistic": "mode", "column": "h"}
BEST: dict[str, Any] = {
    "name": "best",
    "statistic": "best",
    "candidates": [1, 2, 3],
    "score": "CASE WHEN x > candidate THEN 1 ELSE 0 END",
    "score_upper": 4,
}
OTHERS: dict[str, dict[str, Any]] = {
    "mode": MODE,
    "mode where": MODE | {"where": "x > 3"},
    "exponential": MODE | {"mechanism": "exponential"},
    "top_k": {"statistic": "top_k", "column": "h", "k": 2, "mechanism": "exponential"},
    "top_k by counts": {"statistic": "top_k", "column": "h", "k": 2, "mechanism": "laplace"},
    "best": BEST,
    "median": {"statistic": "median", "column": "x"},
    "min": {"statistic": "min", "column": "x", "where": "x > 3"},
    "quantiles": {"statistic": "quantile", "column": "x", "q": [0.1, 0.25, 0.5, 0.9]},
    "of points": {"statistic": "quantile", "column": "x", "q": 0.3, "candidates": [0, 5, 10]},
}
BOUNDS = [(1, 1, 1), (6, 3, 4), (5, 5, 1), (9, 2, 9)]


def rates(step: Step, factor: Fraction) -> dict[str, Any]:
    """The step with all its rates (or the scale of its noise) times a factor."""
    changes: dict[str, Any] = {
        "noise": replace(step.noise, parameter=step.noise.parameter * factor)
    }
    if step.scheme is not None:
        steps = tuple(replace(each, rate=each.rate * factor) for each in step.scheme.steps)
        changes["scheme"] = replace(step.scheme, steps=steps)
    return changes


@pytest.mark.one_in(50)
@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("bounding", [None, *BOUNDS], ids=str)
def test_a_step_by_private_keys_costs_what_is_claimed_and_no_less(
    what: str, adjacency: str, bounding: tuple[int, int, int] | None
) -> None:
    people = bounding is not None
    made = plan(
        people,
        {"name": "o"} | OTHERS[what],
        adjacency=adjacency,
        bounding=bounding or (1, 1, 1),
        mechanism="laplace",
    )
    step = made.steps[1]
    assert step.query.private
    assert not is_refused(made)
    known = step.sensitivity
    if step.form is Form.CHOICE:
        assert known.choice_l1 > 0
        less = replace(known, choice_l1=known.choice_l1 - 1)
    else:
        less = replace(known, l1=known.l1 - 1)
    assert is_refused(with_step(made, at=1, sensitivity=less))
    if step.form is Form.NUMBERS:
        less = replace(known, l2_squared=known.l2_squared - 1)
        assert is_refused(with_step(made, at=1, sensitivity=less))
    if not known.monotone:
        assert is_refused(with_step(made, at=1, sensitivity=replace(known, monotone=True))) == (
            step.form is Form.CHOICE
        )
    steeper = Fraction(99, 100) if step.form is Form.NUMBERS else Fraction(101, 100)
    assert is_refused(with_step(made, at=1, **rates(step, steeper)))
    assert not is_refused(with_step(made, at=1, **rates(step, 1 / steeper)))
    loss = replace(step.loss, epsilon=step.loss.epsilon * Fraction(99, 100))
    assert is_refused(with_step(made, at=1, loss=loss))
    assert is_refused(
        replace(made, loss=replace(made.loss, epsilon=made.loss.epsilon * NINE_TENTHS))
    )


@pytest.mark.one_in(10)
@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_lower_bound_than_that_of_the_spec_is_seen(what: str, adjacency: str) -> None:
    """The plan of people with at most two rows, under a spec that lets them have three."""
    asked = {"name": "o"} | OTHERS[what]
    made = plan(True, asked, adjacency=adjacency, bounding=(2, 2, 2), mechanism="laplace")
    assert not is_refused(made)
    privacy = made.release.privacy
    assert privacy.bounding is not None
    wider = replace(privacy, bounding=replace(privacy.bounding, rows=3))
    steps = made.steps
    # not for the selecting count: that is paid for two keys a person, which still holds
    bad = replace(made, release=replace(made.release, privacy=wider))
    assert not any(find_step_loss_breaches(steps[0], wider, CHAPTERS, "q"))
    assert not any(find_key_loss_breaches(bad))
    assert any(
        [*find_step_loss_breaches(steps[1], wider, CHAPTERS, "o"), *find_choice_loss_breaches(bad)]
    )
    assert is_refused(bad)


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
    basic = add_losses(loss for loss, _ in losses)
    fits = basic.epsilon <= claimed.epsilon and basic.delta <= claimed.delta
    method = "basic" if fits else "zcdp"
    whole = replace(made, release=release, steps=steps, loss=claimed, basic=basic, method=method)
    return next(find_total_loss_breaches(whole, CHAPTERS), None) is None


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


def test_deltas_of_the_others_add_up() -> None:
    """Losses without a rho compose by nothing but sums."""
    several = [(Loss(HALF, TINY), False)] * 2
    assert total(several, Loss(Fraction(1), 2 * TINY), delta=2 * TINY)
    assert not total(several, Loss(Fraction(1), TINY), delta=2 * TINY)


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
