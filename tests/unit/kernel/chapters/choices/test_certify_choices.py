"""Choices, quantiles and ratios that mean something else, or lose more, than they say."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import builders
import pytest
from builders import is_refused, with_step
from msgspec.structs import replace

from dprelease.kernel.chapters.choices.choice_rules import bound_score_span
from dprelease.kernel.chapters.composition.confirm import collect_events
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.core import additive_loss as verifier
from dprelease.model import (
    Adjacency,
    Bounding,
    Expression,
    Form,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Plan,
    Step,
)
from dprelease.model.privacy_events import Pure, Range

CHOICES: dict[str, dict[str, Any]] = {
    "mode": {"column": "h"},
    "top_k": {"column": "h", "k": 2},
    "best": {
        "candidates": [1, 2, 3],
        "score": "CASE WHEN x > candidate THEN 1 ELSE 0 END",
        "score_upper": 4,
    },
}


def plan(statistic: str, adjacency: str = "add-remove", by: bool = True, **query: Any) -> Plan:
    grid = {"type": "integer", "lower": 0, "upper": 10, "source": "p"}
    return builders.plan(
        privacy={"adjacency": adjacency, "epsilon": 1},
        columns={
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
            "x": grid | {"nulls": 0},
            "y": grid,
            "z": grid,
        },
        query=[{"name": "q", "statistic": statistic, "by": ["g"] if by else []} | query],
    )


# --- choices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", CHOICES)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("family", [NoiseFamily.EXPONENTIAL, NoiseFamily.PERMUTE_AND_FLIP])
def test_rates_of_choices(statistic: str, adjacency: str, family: NoiseFamily) -> None:
    made = plan(statistic, adjacency, **CHOICES[statistic])
    step = made.steps[0]
    assert not is_refused(made)
    span = bound_score_span(step, made.release.privacy)
    assert span == (4 if statistic == "best" else 1) * (2 if adjacency == "replace-one" else 1)
    rate = 1 / Fraction(span * step.query.picks)
    chosen = {"noise": Noise(family, rate), "form": Form.CHOICE, "loss": Loss(Fraction(1))}
    fair = replace(with_step(made, **chosen), loss=Loss(Fraction(1)))
    assert not is_refused(fair)
    event = Range if family is NoiseFamily.EXPONENTIAL else Pure
    assert collect_events(fair) == [(event(rate * span), step.query.picks)]
    assert is_refused(with_step(fair, noise=Noise(family, rate * Fraction(1001, 1000))))
    less = replace(step.sensitivity, choice_l1=step.sensitivity.choice_l1 - 1)
    assert is_refused(with_step(fair, sensitivity=less))
    rho_of = (
        verifier.bound_range_rho if family is NoiseFamily.EXPONENTIAL else verifier.bound_pure_rho
    )
    rho = step.query.picks * rho_of(rate * span)
    for claimed, holds in [(rho, True), (rho * Fraction(999, 1000), False)]:
        loss = Loss(Fraction(1), Fraction(0), claimed)
        assert is_refused(replace(with_step(fair, loss=loss), loss=loss)) != holds


def test_scores_are_bounded_by_what_they_count() -> None:
    made = plan("mode", column="h")
    assert is_refused(with_step(made, transform=((2,),)))
    units = with_step(made, measures=(Measure(MeasureKind.UNITS),))
    for bounding, rows, cells in [((6, 2, 3), 6, 2), ((6, 4, 6), 6, 2), ((5, 1, 5), 5, 1)]:
        people = replace(
            made.release.privacy, unit="column", unit_column="p", bounding=Bounding(*bounding)
        )
        # however many labels a unit has in a cell, none of their scores moves by more than 1
        assert bound_score_span(units.steps[0], people) == cells
        assert bound_score_span(made.steps[0], people) == rows
        replaced = replace(people, adjacency=Adjacency.REPLACE_ONE)
        assert bound_score_span(units.steps[0], replaced) == 2 * cells
        assert bound_score_span(made.steps[0], replaced) == 2 * rows


def laws(scores: tuple[int, ...], rate: float, flips: bool) -> list[float]:
    """Chances of each candidate; permute-and-flip over all subsets of the others."""
    p = [exp(rate * (score - max(scores))) for score in scores]
    if not flips:
        return [each / sum(p) for each in p]
    found = []
    for o, mine in enumerate(p):
        others = [each for i, each in enumerate(p) if i != o]
        total = 0.0
        for taken in product((False, True), repeat=len(others)):
            weight = 1.0
            for each, one in zip(others, taken, strict=True):
                weight *= -each if one else 1.0
            total += weight / (sum(taken) + 1)
        found.append(mine * total)
    return found


@pytest.mark.parametrize("flips", [False, True])
@pytest.mark.parametrize("replaced", [False, True])
def test_the_span_is_what_choices_lose(flips: bool, replaced: bool) -> None:
    """All scores of three candidates, one record more or replaced: reached, and never passed."""
    rate, worst = 0.5, 0.0
    for scores in product(range(1, 5), repeat=3):
        for change in product((0, 1) if not replaced else (-1, 0, 1), repeat=3):
            if replaced and not (sum(change) == 0 and sum(map(abs, change)) <= 2):
                continue
            moved = tuple(a + b for a, b in zip(scores, change, strict=True))
            for one, other in zip(laws(scores, rate, flips), laws(moved, rate, flips), strict=True):
                worst = max(worst, abs(log(one / other)))
    made = plan("mode", "replace-one" if replaced else "add-remove", column="h")
    bound = rate * bound_score_span(made.steps[0], made.release.privacy)
    assert 0.6 * bound < worst < bound + 1e-12


@pytest.mark.parametrize("epsilon", ["0.000000001", "0.01", "1", "7", "300"])
def test_the_rho_of_a_range_is_the_largest_divergence(epsilon: str) -> None:
    """Two-point log-ratios -s and epsilon - s, every s and order: none above, one close."""
    bound = float(verifier.bound_range_rho(Fraction(epsilon)))
    size = float(epsilon)
    assert 0 < bound <= size * size / 8 * (1 + 1e-12)
    if not 0.1 < size < 100:
        return
    worst = 0.0
    for step in range(1, 400):
        shift = size * step / 400
        # the chance of the upper point under the second law, for which the ratios have mean 1
        chance = (1 - exp(-shift)) / (exp(size - shift) - exp(-shift))
        for alpha in (1.001, 1.1, 2, 5, 20):
            mean = chance * exp(alpha * (size - shift)) + (1 - chance) * exp(-alpha * shift)
            worst = max(worst, log(mean) / (alpha - 1) / alpha)
    assert 0.99 * bound < worst < bound


# --- quantiles ----------------------------------------------------------------------------------


def test_quantiles_are_cheaper_only_where_a_replaced_row_stays_in_its_cell() -> None:
    """Not if it may be in another group, or have no value: then it goes here and comes there."""
    asked = {"statistic": "quantile", "adjacency": "replace-one", "q": 0.25}
    stays = plan(**asked, column="x", by=False)
    assert not is_refused(stays)
    assert collect_events(stays) == [(Range(Fraction(1)), 1)]
    step = stays.steps[0]
    for moves in (plan(**asked, column="x"), plan(**asked, column="y", by=False)):
        assert not is_refused(moves)
        steep = with_step(moves, scheme=step.scheme, noise=step.noise)
        assert is_refused(steep)
        assert collect_events(steep) == [(Range(Fraction(3, 2)), 1)]
    less = replace(step.sensitivity, l1=step.sensitivity.l1 - 1)
    assert is_refused(with_step(stays, sensitivity=less))


def test_a_replaced_value_stays_in_its_cell_only_if_nothing_can_move_it() -> None:
    # of 9/10: 10 if it stays, 9 for a removal and as much for an addition
    tight = plan("quantile", "replace-one", by=False, column="x", q=[0.9])
    assert not is_refused(tight)
    held = tight.steps[0].points
    assert held is not None
    assert is_refused(with_step(tight, points=replace(held, null_fill=None)))
    assert is_refused(with_step(tight, {"where": Expression("y > 1", ("y",))}))
    grouped = plan("count").steps[0].query.groups
    assert is_refused(with_step(tight, {"groups": grouped}))


# --- parts of ratios ----------------------------------------------------------------------------


def replace_measure(step: Step, at: int, **changes: Any) -> tuple[Measure, ...]:
    return tuple(replace(m, **changes) if i == at else m for i, m in enumerate(step.measures))


def test_one_filter_for_both_parts_does_not_come_apart() -> None:
    """Shares of a whole: with one filter for two sums, a row is in both or in neither."""
    made = plan(
        "ratio",
        numerator={"statistic": "count", "where": "y > 2"},
        denominator={"statistic": "count", "where": "y > 2"},
    )
    step, privacy = made.steps[0], made.release.privacy
    split = ((1, -1), (0, 1))  # the first is always 0, if the filter is one
    assert bound_step_change(replace(step, transform=split), privacy).l1 == 1
    # else the difference moves by 1 where the second count moves by 1 as well
    unequal = replace(step, transform=split, measures=replace_measure(step, 1, where=None))
    assert bound_step_change(unequal, privacy).l1 == 2


def test_filters_of_parts_come_apart_beside_the_query_s_own() -> None:
    """A row that passes the query's filter may be in the second part alone."""
    made = plan(
        "ratio",
        numerator={"statistic": "count", "where": "y > 2"},
        denominator={"statistic": "count", "where": "y > 5"},
        where="z > 1",
    )
    step = replace(made.steps[0], transform=((1, -1), (0, 1)))
    assert bound_step_change(step, made.release.privacy).l1 == 2
