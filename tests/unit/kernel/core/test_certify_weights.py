"""Plans with survey weights: certified as planned, refused where a weight counts for too little."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import builders
import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease import ExitCode, Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.choices.choice_rules import bound_quantile_spans
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import Bounding, Column, Grid, Measure, Plan, Quantity, Step
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


def doctored(made: Plan, **changes: Any) -> Plan:
    """The plan with another step, of the same query unless that is changed too."""
    return replace(made, steps=(replace(made.steps[0], **changes),))


def refusal(made: Plan) -> str | None:
    try:
        certify(made)
    except Failure as failure:
        return failure.complaints[0].message if failure.exit_code == ExitCode.INTERNAL else None
    return None


@for_each("statistic", QUERIES)
@for_each("adjacency", ["add-remove", "replace-one"])
@for_each("unit", [0, 1])
@for_each("by", [True, False])
def test_planned_noise_is_certified_and_less_noise_is_refused(
    statistic: str, adjacency: str, unit: int, by: bool
) -> None:
    made = plan(statistic, adjacency, unit, by=by)
    assert certify(made).plan is made
    (step,) = made.steps
    if step.scheme is not None:
        steps = tuple(replace(one, rate=one.rate / NINE) for one in step.scheme.steps)
        scheme = replace(step.scheme, steps=steps)
        noise = replace(step.noise, parameter=step.noise.parameter / NINE)
        assert refusal(doctored(made, scheme=scheme, noise=noise))
        return
    noise = replace(step.noise, parameter=step.noise.parameter * NINE)
    assert refusal(doctored(made, noise=noise))


@pytest.mark.parametrize("statistic", ["count", "mean"])
def test_gaussian_noise_is_certified_and_less_noise_is_refused(statistic: str) -> None:
    made = plan(statistic, delta=1e-6, epsilon=0.5, accounting="zcdp")
    assert certify(made).plan is made
    (step,) = made.steps
    noise = replace(step.noise, parameter=step.noise.parameter * NINE)
    assert refusal(doctored(made, noise=noise))


@pytest.mark.parametrize("statistic", QUERIES)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_sensitivity_for_records_that_count_once_is_refused(
    statistic: str, adjacency: str
) -> None:
    """What the planner would state if it forgot the weights."""
    made = plan(statistic, adjacency)
    release = plan(statistic, adjacency, weight=WEIGHT | {"lower": 0, "upper": 1, "nulls": 1}).steps
    small = release[0].sensitivity
    assert small.l1 < made.steps[0].sensitivity.l1
    words = refusal(doctored(made, sensitivity=small)) or ""
    assert "sensitivity that it states" in words


def tampered(step: Step, change: Callable[[Quantity], Quantity]) -> dict[str, Any]:
    """The step with another weight in what engines are asked."""
    weights = tuple(
        replace(measure, survey_weight=change(measure.survey_weight))
        for measure in step.measures
        if measure.survey_weight is not None
    )
    own = None if step.survey_weight is None else change(step.survey_weight)
    return {"measures": weights, "survey_weight": own}


@for_each("statistic", QUERIES)
@for_each(
    "change",
    [
        lambda weight: replace(weight, grid=replace(weight.grid, upper=1000)),
        lambda weight: replace(weight, grid=replace(weight.grid, lower=-10)),
        lambda weight: replace(weight, column="x"),
        lambda weight: replace(weight, null_fill=501),
    ],
)
def test_other_weights_than_the_query_has_are_refused(
    statistic: str, change: Callable[[Quantity], Quantity]
) -> None:
    made = plan(statistic)
    assert "survey weight of the query" in (
        refusal(doctored(made, **tampered(made.steps[0], change))) or ""
    )


def with_weight(made: Plan, column: Column | None) -> Plan:
    """The plan of a release whose query has another survey weight; the steps measure the same."""
    (query,) = made.release.queries
    other = replace(query, survey_weight=column)
    columns = dict(made.release.columns) | ({} if column is None else {column.name: column})
    release = replace(made.release, queries=(other,), columns=columns)
    reads = tuple(replace(read, query=other) for read in made.reads)
    step = replace(made.steps[0], query=other)
    return replace(made, release=release, reads=reads, steps=(step,))


@pytest.mark.parametrize("statistic", QUERIES)
def test_steps_and_queries_that_disagree_on_weights_are_refused(statistic: str) -> None:
    made = plan(statistic)
    assert refusal(with_weight(made, None))
    (step,) = made.steps
    bare = tuple(replace(measure, survey_weight=None) for measure in step.measures)
    assert refusal(doctored(made, measures=bare, survey_weight=None))


def test_too_many_steps_and_inexact_products_are_refused() -> None:
    made = plan("sum")
    (query,) = made.release.queries
    (measure,) = made.steps[0].measures
    assert measure.survey_weight is not None
    assert measure.quantity is not None
    for upper, largest, words in (
        (2**22 + 1, 40, "few steps"),
        (2**22, 2**32, "products are exact"),
    ):
        grid = Grid(Fraction(1), 10, upper)
        assert query.survey_weight is not None
        column = replace(query.survey_weight, grid=grid)
        values = replace(measure.quantity, grid=Grid(Fraction(1), -3, largest))
        weight = replace(measure.survey_weight, grid=grid)
        other = with_weight(made, column)
        changed = Measure(measure.kind, values, None, survey_weight=weight)
        assert words in (refusal(doctored(other, measures=(changed,))) or "")


def test_keys_are_not_selected_by_weights() -> None:
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv", "weight": "w"},
        privacy={"epsilon": 1, "delta": 1e-6},
        columns={
            "g": {"type": "string"},
            "w": {"type": "integer"} | WEIGHT,
        },
        query=[
            {
                "name": "q",
                "statistic": "count",
                "by": ["g"],
                "partition_selection": {"delta": 1e-6, "epsilon": 0.5},
            }
        ],
    )
    made = make_plan(load(spec))
    first, second = made.steps
    assert first.threshold is not None
    assert first.query.survey_weight is None
    assert second.threshold is None
    assert second.measures[0].survey_weight is not None
    assert certify(made).plan is made
    weight = second.measures[0].survey_weight
    column = second.query.survey_weight
    queries = tuple(replace(query, survey_weight=column) for query in made.release.queries)
    selecting = replace(
        first,
        query=queries[0],
        measures=(replace(first.measures[0], survey_weight=weight),),
    )
    other = replace(
        made,
        release=replace(made.release, queries=queries),
        reads=tuple(replace(r, query=q) for r, q in zip(made.reads, queries, strict=True)),
        steps=(selecting, second),
    )
    assert "count once" in (refusal(other) or "")


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
