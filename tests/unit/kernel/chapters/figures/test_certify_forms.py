"""Quantiles, ratios and sets that mean something else, or lose more, than they say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
from builders import is_refused, with_step
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.certification import CHAPTERS
from dprelease.kernel.chapters.composition.confirm import collect_events
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.core.well_formed import find_meaning_breaches
from dprelease.model import (
    Expression,
    Grid,
    Measure,
    MeasureKind,
    Plan,
    Quantity,
    Step,
)
from dprelease.model.privacy_events import Range
from dprelease.planning.planner import make_plan


def plan(statistic: str, adjacency: str = "add-remove", by: bool = True, **query: Any) -> Plan:
    spec: dict[str, Any] = builders.spec(
        privacy={"adjacency": adjacency, "epsilon": 1},
        columns={
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p", "nulls": 0},
            "y": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
            "z": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
        },
        query=[{"name": "q", "statistic": statistic} | query],
    )
    if by:
        spec["query"][0]["by"] = ["g"]
    return make_plan(load(spec))


def is_meaningless(made: Plan) -> bool:
    """Whether a plan is refused whatever it costs."""
    return next(find_meaning_breaches(made, CHAPTERS), None) is not None and is_refused(made)


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


# --- ratios and sets ----------------------------------------------------------------------------

SUM = {"statistic": "sum", "column": "x"}


def replace_measure(step: Step, at: int, **changes: Any) -> tuple[Measure, ...]:
    return tuple(replace(m, **changes) if i == at else m for i, m in enumerate(step.measures))


def test_ratios_have_filters_of_their_own_and_no_others() -> None:
    made = plan(
        "ratio",
        numerator=SUM | {"where": "y > 2"},
        denominator={"statistic": "count", "where": "y > 5"},
        where="z > 1",
    )
    step = made.steps[0]
    assert not is_refused(made)
    assert is_meaningless(
        with_step(made, measures=replace_measure(step, 0, where=Expression("z > 8", ("z",))))
    )
    # nor the query's filter without the part's own, nor that of the other part
    for where in (step.query.where, step.measures[1].where):
        assert is_meaningless(with_step(made, measures=replace_measure(step, 0, where=where)))
    third = Measure(MeasureKind.SUM, Quantity("z", Grid(Fraction(1), 0, 10)))
    spare = Measure(MeasureKind.SUM, Quantity("y", Grid(Fraction(1), 0, 10)))
    more = tuple(replace(each, where=step.query.where) for each in (spare, third))
    wide = tuple((*row, 0, 0) for row in step.transform)
    assert is_meaningless(with_step(made, measures=(*step.measures, *more), transform=wide))
    assert is_meaningless(with_step(made, {"denominator": None}))
    assert is_refused(with_step(made, transform=((step.transform[0][0] + 1, 0), step.transform[1])))


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
