"""Plans with survey weights: certified as planned, refused where a weight counts for too little."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import pytest
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.chapters.choices.choice_rules import bound_quantile_spans
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import Bounding, Plan
from dprelease.planning.planner import make_plan

NINE = Fraction(9, 10)
QUERIES: dict[str, dict[str, Any]] = {
    "count": {},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "proportion": {"where": "x > 2"},
    "ratio": {"numerator": {"column": "x"}, "denominator": "x > 2"},
    "median": {"column": "x"},
    "quantile": {"column": "x", "q": [0.25, 0.5, 0.75]},
    "histogram": {"column": "x", "bins": [-3, 0, 40]},
}
UNITS: list[dict[str, Any]] = [
    {"unit": "row"},
    {
        "unit": "column",
        "unit_column": "id",
        "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 2},
    },
]
WEIGHT = {"lower": 10, "upper": 500, "source": "p", "nulls": 20}


def plan(
    statistic: str,
    adjacency: str = "add-remove",
    unit: int = 0,
    *,
    by: bool = True,
    weight: dict[str, Any] = WEIGHT,
    **privacy: Any,
) -> Plan:
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv", "weight": "w"},
        privacy={"adjacency": adjacency, "epsilon": 1} | UNITS[unit] | privacy,
        columns={
            "g": {"type": "string", "keys": ["a", "b", "c"], "source": "public"},
            "x": {"type": "integer", "lower": -3, "upper": 40, "source": "p", "nulls": 0},
            "w": {"type": "integer"} | weight,
        },
        query=[
            {"name": "q", "statistic": statistic, "by": ["g"] if by else []} | QUERIES[statistic]
        ],
    )
    return make_plan(load(spec))


@pytest.mark.parametrize(
    ("by", "weight", "l1"),
    [
        (False, WEIGHT, 490),
        (False, {"lower": 10, "upper": 500, "source": "p"}, 500),
        (True, WEIGHT, 1000),
    ],
)
def test_a_replaced_record_moves_one_weighted_count_by_the_width_of_its_bounds(
    by: bool, weight: dict[str, Any], l1: int
) -> None:
    made = plan("count", "replace-one", by=by, weight=weight)
    worst = bound_step_change(made.steps[0], made.release.privacy)
    assert worst.l1 == made.steps[0].sensitivity.l1 == l1


def test_a_column_weighted_by_itself_is_taken_as_two() -> None:
    """The square of a value is no line between the squares of the bounds."""
    made = plan("mean")
    (step,) = made.steps
    (query,) = made.release.queries
    own = query.survey_weight
    assert own is not None
    assert own.grid is not None
    weight = step.measures[0].survey_weight
    squared = replace(query, column=own)
    measures = tuple(replace(measure, quantity=weight) for measure in step.measures)
    transform = ((-10, 1), (500, -1))
    same = replace(step, query=squared, measures=measures, transform=transform)
    worst = bound_step_change(same, made.release.privacy)
    pairs = [(w * (w - 10), w * (500 - w)) for w in range(10, 501)]
    assert worst.l1 >= max(a + b for a, b in pairs)
    assert worst.shift.l2_squared >= max(a * a + b * b for a, b in pairs)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("unit", [0, 1])
def test_selections_of_weighted_quantiles_are_composed_with_their_weight(
    adjacency: str, unit: int
) -> None:
    """A record of weight W costs what W records cost, in the loss of all selections together."""
    made = plan("quantile", adjacency, unit)
    (step,) = made.steps
    (query,) = made.release.queries
    privacy = made.release.privacy
    bounding = Bounding(500 * 3, 2, 500 * 3) if unit else Bounding(500, 1, 500)
    everybody = replace(privacy, unit="column", unit_column="id", bounding=bounding)
    plain = replace(step, query=replace(query, survey_weight=None), survey_weight=None)
    spans = bound_quantile_spans(step, privacy)
    assert spans == bound_quantile_spans(plain, everybody)
    assert sum(spans) == made.loss.epsilon


def test_a_record_that_may_lack_a_weight_does_not_stay_in_its_cell() -> None:
    """Replaced by one without a weight it leaves, and one with a weight comes."""
    made = plan("quantile", "replace-one", by=False)
    (step,) = made.steps
    assert step.survey_weight is not None
    assert step.scheme is not None
    optional = replace(step.survey_weight, null_fill=None)
    selections = tuple(replace(each, target=NINE) for each in step.scheme.steps)
    step = replace(step, scheme=replace(step.scheme, steps=selections))
    unweighted = replace(step, survey_weight=optional)
    privacy = made.release.privacy
    assert sum(bound_quantile_spans(step, privacy)) < sum(bound_quantile_spans(unweighted, privacy))
