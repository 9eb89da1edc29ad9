"""Private keys: how they are selected, and what the whole release then loses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from builders import is_refused, spec, with_step
from msgspec.structs import replace

from dprelease import Failure, load
from dprelease.kernel.certification import CHAPTERS, certify
from dprelease.kernel.core.additive_loss import bound_zcdp_delta
from dprelease.kernel.core.total_loss import add_losses, find_total_loss_breaches
from dprelease.model import (
    Grid,
    KeySelection,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Plan,
    Query,
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


RECORDS = Measure(MeasureKind.RECORDS)


def test_rows_of_people_do_not_select() -> None:
    made = plan(True)
    assert is_refused(with_step(made, measures=(RECORDS,)))
    # not even with a threshold above anything that a unit's rows can bring
    assert is_refused(with_step(made, measures=(RECORDS,), threshold=10**9))


def plan_mean(people: bool = False, **query: Any) -> Plan:
    """A mean that selects keys by its own number of values."""
    asked = {"name": "m", "statistic": "mean", "column": "x"} | query
    made = plan(people, bounding=(3, 3, 1), **asked)
    assert [step.query.statistic for step in made.steps] == ["mean"]
    return made


LOW, HIGH = Grid(Fraction(1), 0, 9), Grid(Fraction(1), 1, 10)


def list_rules(made: Plan) -> str:
    """What a refusal says: each rule keeps to itself what others would refuse as well."""
    with pytest.raises(Failure) as refused:
        certify(made)
    return " ".join(complaint.message for complaint in refused.value.complaints)


def test_two_sums_of_a_mean_select() -> None:
    for people in (False, True):
        made = plan_mean(people)
        (step,) = made.steps
        assert not is_refused(made)
        assert step.threshold is not None
        for threshold in (step.threshold - 10, step.threshold + 1, step.threshold // 10, 10):
            assert is_refused(with_step(made, threshold=threshold))
        assert "whole number of units" in list_rules(with_step(made, threshold=10))
        assert not is_refused(with_step(made, threshold=step.threshold + 10))
        less = replace(step.noise, parameter=step.noise.parameter * Fraction(99, 100))
        assert is_refused(with_step(made, noise=less))
        normal = Noise(NoiseFamily.GAUSSIAN, step.noise.parameter**2)
        assert is_refused(with_step(made, noise=normal))


def test_sums_select_only_where_each_unit_has_one_row_in_a_key() -> None:
    made = plan_mean(True)
    bounds = replace(made.release.privacy.bounding, per_group=2)
    privacy = replace(made.release.privacy, bounding=bounds)
    wider = replace(made, release=replace(made.release, privacy=privacy))
    step = made.steps[0]
    changed = with_step(wider, threshold=10 * (step.threshold or 0))
    assert "keys are selected by a count of units" in list_rules(changed)


def test_no_other_sums_select() -> None:
    made = plan_mean()
    (step,) = made.steps
    values, sums = step.measures
    assert values.quantity is not None
    for transform in (
        ((0, 1), (9, -1)),  # which is more than a row adds
        ((0, 1), (10, -2)),
        ((10, -1), (0, 1)),
    ):
        assert "by the count itself" in list_rules(with_step(made, transform=transform))
    for transform in (((0, 1), (10, -1), (0, 0)), ((10, 0),)):
        assert is_refused(with_step(made, transform=transform))
    other = replace(sums, quantity=replace(values.quantity, grid=LOW))
    shifted = replace(values, quantity=replace(values.quantity, grid=HIGH))
    for measures in ((values, other), (shifted, sums), (sums, values), (RECORDS, sums)):
        assert is_refused(with_step(made, measures=measures))


# --- choices and quantiles by private keys ------------------------------------------------------


# --- totals -------------------------------------------------------------------------------------


def total(losses: list[tuple[Loss, bool]], claimed: Loss, **privacy: Any) -> bool:
    """Whether the total of these steps, selecting ones among them, is confirmed."""
    made = plan(False)
    steps = tuple(
        replace(
            made.steps[0],
            query=Query(str(i), "count", "t", key_selection=KeySelection(DELTA)),
            loss=loss,
            threshold=kept,
        )
        for i, (loss, selects) in enumerate(losses)
        for kept in ([9] if selects else [None])
    )
    release = replace(made.release, privacy=replace(made.release.privacy, **privacy))
    basic = add_losses(loss for loss, _ in losses)
    fits = basic.epsilon <= claimed.epsilon and basic.delta <= claimed.delta
    method = "basic" if fits else "zcdp"
    whole = replace(made, release=release, steps=steps, loss=claimed, basic=basic, method=method)
    return next(find_total_loss_breaches(whole, CHAPTERS), None) is None


def find_least_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon in steps of 10^-6 that rho has at delta."""
    low, high = 0, 10**7
    while high - low > 1:
        middle = (low + high) // 2
        holds = bound_zcdp_delta(rho, Fraction(middle, 10**6)) <= delta
        low, high = (low, middle) if holds else (middle, high)
    return Fraction(high, 10**6)


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


def test_the_others_compose_by_rho_and_selections_that_claim_one_but_for_their_delta() -> None:
    several = [(NORMAL, False)] * 4
    # rho = 1/50 at delta 10^-6 is less than four times 1/2
    claimed = Loss(Fraction(11, 10), TINY)
    assert total(several, claimed, epsilon=Fraction(2))
    assert not total(several, replace(claimed, epsilon=Fraction(1, 2)), epsilon=Fraction(2))
    selecting = (Loss(HALF, DELTA, Fraction(1, 200)), True)
    both = Loss(claimed.epsilon + HALF, TINY + DELTA)
    assert total([*several, selecting], both, epsilon=Fraction(2), delta=Fraction(1, 1000))
    assert total([*several, selecting], claimed, epsilon=Fraction(2))
    tight = replace(claimed, epsilon=find_least_epsilon(Fraction(5, 200), TINY - DELTA))
    assert total([*several, selecting], tight, epsilon=Fraction(2))
    # of delta, that of the keys is not there to convert rho at
    short = replace(claimed, epsilon=find_least_epsilon(Fraction(5, 200), TINY))
    assert not total([*several, selecting], short, epsilon=Fraction(2))
    without = (replace(selecting[0], rho=None), True)
    assert not total([*several, without], claimed, epsilon=Fraction(2))
    assert not total(
        [*several, selecting], replace(both, delta=DELTA), epsilon=Fraction(2), delta=Fraction(1, 9)
    )
