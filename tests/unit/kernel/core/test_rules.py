"""Each rule of certification refuses a plan that breaks it, and the refusal names rule and subject.

For every rule there is a case here: a plan that is certified, and one change to it. So no rule can
be dropped, or never be reached, without a test that fails.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import builders
import pytest
import strategy_plans as plans
from builders import with_step
from msgspec.structs import replace

import dprelease
import dprelease.kernel
from dprelease import ExitCode, Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.core.additive_loss import bound_pure_rho
from dprelease.kernel.core.rules import AtMost, Rule
from dprelease.model import (
    CENTRED,
    EACH,
    Adjacency,
    AxisKind,
    AxisMatrix,
    Clip,
    ClipNorm,
    Column,
    Expression,
    Form,
    Grid,
    Group,
    KeySelection,
    LaplaceLaw,
    Loss,
    Measure,
    MeasureKind,
    Mechanism,
    Noise,
    NoiseFamily,
    Part,
    Plan,
    Quantity,
    Query,
    Reading,
    Sensitivity,
    Step,
    SubsetLaw,
    Term,
)
from dprelease.planning.planner import make_plan

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
LESS = Fraction(99, 100)
TINY_RHO = Fraction(1, 10**4)
NO_NOISE = Noise(NoiseFamily.NONE, ZERO)
FREE = Loss(ZERO, ZERO, ZERO)
RECORDS = Measure(MeasureKind.RECORDS)
WHERE = Expression("y > 2", ("y",))

KEYS = {"type": "string", "keys": ["a", "b"]}
COLUMNS: dict[str, Any] = {
    "g": KEYS,
    "h": {"type": "string", "keys": ["u", "v", "w"]},
    "k": KEYS | {"other": "rest", "nulls": "rest"},
    "s": {"type": "string"},
    "x": {"type": "integer", "lower": 0, "upper": 10, "nulls": 0},
    "y": {"type": "integer", "lower": 0, "upper": 10},
}
COUNT = {"name": "q", "statistic": "count", "by": ["g"]}
QUERIES: dict[str, list[dict[str, Any]]] = {
    "count": [COUNT],
    "total": [{"name": "q", "statistic": "count"}],
    "two": [COUNT, {"name": "r", "statistic": "sum", "column": "x", "where": "y > 3"}],
    "distinct": [{"name": "q", "statistic": "count_distinct", "column": "h"}],
    "mean": [{"name": "q", "statistic": "mean", "column": "x", "by": ["g"]}],
    "ratio": [
        {
            "name": "q",
            "statistic": "ratio",
            "numerator": {"statistic": "sum", "column": "x"},
            "denominator": {"statistic": "count"},
        }
    ],
    "mode": [{"name": "q", "statistic": "mode", "column": "h"}],
    "top": [
        {"name": "q", "statistic": "top_k", "column": "h", "k": 2, "mechanism": "laplace"},
    ],
    "best": [
        {
            "name": "q",
            "statistic": "best",
            "candidates": [1, 2, 3],
            "score": "CASE WHEN x > candidate THEN 1 ELSE 0 END",
            "score_upper": 4,
        }
    ],
    "quantiles": [{"name": "q", "statistic": "quantile", "column": "x", "q": [0.25, 0.5, 0.75]}],
    "keys": [
        {"name": "q", "statistic": "count", "by": ["s"], "mechanism": "laplace"},
        {"name": "m", "statistic": "mean", "column": "x", "by": ["s"]},
    ],
    "mean of keys": [{"name": "m", "statistic": "mean", "column": "x", "by": ["s"]}],
    "pair": [
        {"name": "n", "statistic": "count", "by": ["g"]},
        {"name": "m", "statistic": "mean", "column": "y", "by": ["g"]},
    ],
    "sums": [
        {"name": "n", "statistic": "count", "by": ["g"], "mechanism": "laplace"},
        {"name": "s", "statistic": "sum", "column": "y", "by": ["g"], "mechanism": "laplace"},
    ],
    "running": [{"name": "q", "statistic": "cumulative", "column": "y", "bins": [0, 5, 10]}],
    "own epsilon": [COUNT | {"epsilon": 0.5}],
    "own rho": [COUNT | {"rho": 0.5}],
    "own delta": [COUNT | {"epsilon": 0.5, "delta": 1e-7, "mechanism": "gaussian"}],
    "shared": [
        {"name": "n", "statistic": "count", "by": ["g"]},
        {"name": "s", "statistic": "sum", "column": "y", "by": ["g"]},
        {"name": "m", "statistic": "mean", "column": "y", "by": ["g"]},
        {"name": "v", "statistic": "variance", "column": "y", "by": ["g"]},
        {"name": "fine", "statistic": "count", "by": ["h", "k"]},
        {"name": "coarse", "statistic": "count", "by": ["h"]},
    ],
}


PEOPLE: dict[str, dict[str, Any]] = {
    "clipped": COUNT | {"bounding": {"clip": "l1", "bound": 5}},
    "the same": COUNT | {"name": "n", "bounding": {"clip": "l1", "bound": 5}},
    "mode": {"name": "q", "statistic": "mode", "column": "h"},
}


@cache
def plan(name: str, **privacy: Any) -> Plan:
    queries = QUERIES[name]
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv"},
        privacy={"epsilon": 1} | privacy,
        columns={column: {"source": "p"} | rest for column, rest in COLUMNS.items()},
        query=queries,
    )
    if "keys" in name:
        selection = {"partition_selection": {"delta": 1e-8}}
        spec["query"] = [selection | query for query in queries]
        spec["privacy"]["delta"] = 1e-6
    return make_plan(load(spec))


@cache
def people(*queries: str) -> Plan:
    """Rows of persons, of whom private keys are selected; or these queries, scaled or not."""
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv"},
        privacy={
            "unit": "column",
            "unit_column": "p",
            "adjacency": "add-remove",
            "epsilon": 1,
            "bounding": {"max_rows_per_unit": 4, "max_groups_per_unit": 2},
        },
        columns={column: {"source": "p"} | rest for column, rest in COLUMNS.items()},
        query=[PEOPLE[query] for query in queries] or [COUNT],
    )
    return make_plan(load(spec))


def clipped(**changes: Any) -> Plan:
    """A count of people's rows that are scaled to a norm, with other values of that."""
    clip = people("clipped").steps[0].query.clip
    assert clip is not None
    return with_step(people("clipped"), {"clip": replace(clip, **changes)})


@cache
def tables(**privacy: Any) -> Plan:
    """A table of a label and a number, and one whose answers are true with a chance."""
    spec = builders.spec(
        data={"path": "t.csv"},
        privacy={"adjacency": "replace-one"} | privacy,
        columns={column: {"source": "p"} | rest for column, rest in COLUMNS.items()},
        perturb=[
            {"name": "t", "columns": ["h", "x"], "epsilon": 2, "mechanism": "auto"},
            {"name": "u", "columns": ["g"], "truth": 0.75},
        ],
        query=[COUNT | {"epsilon": 1}],
    )
    return make_plan(load(spec))


def change_first_step(made: Plan, **changes: Any) -> Plan:
    """The plan with another step at the front, and what it reads, if they change."""
    return replace(made, steps=(replace(made.steps[0], **changes), *made.steps[1:]))


def read(made: Plan, name: str, **changes: Any) -> Plan:
    reads = [replace(r, **changes) if r.query.name == name else r for r in made.reads]
    return replace(made, reads=tuple(reads))


def ask_of_read(made: Plan, name: str, **changes: Any) -> Plan:
    """Change a query that is read from another one's step."""
    reads = tuple(
        replace(r, query=replace(r.query, **changes)) if r.query.name == name else r
        for r in made.reads
    )
    return replace(
        made,
        reads=reads,
        release=replace(made.release, queries=tuple(r.query for r in reads)),
    )


def privacy(made: Plan, **changes: Any) -> Plan:
    release = made.release
    return replace(made, release=replace(release, privacy=replace(release.privacy, **changes)))


def change_source(made: Plan, **changes: Any) -> Plan:
    data = made.release.data
    source = replace(data.source, **changes)
    return replace(made, release=replace(made.release, data=replace(data, source=source)))


def table(made: Plan, at: int = 0, **changes: Any) -> Plan:
    records = list(made.records)
    records[at] = replace(records[at], **changes)
    return replace(made, records=tuple(records))


def perturb(made: Plan, at: int = 0, **changes: Any) -> Plan:
    """Change what is asked of a table, in the release as well."""
    asked = replace(made.records[at].perturb, **changes)
    made = table(made, at, perturb=asked)
    perturbs = tuple(step.perturb for step in made.records)
    return replace(made, release=replace(made.release, perturbs=perturbs))


def response(made: Plan, place: int, at: int = 0, **changes: Any) -> Plan:
    responses = list(made.records[at].responses)
    responses[place] = replace(responses[place], **changes)
    return table(made, at, responses=tuple(responses))


def column(made: Plan, place: int, at: int = 0, **changes: Any) -> Plan:
    """Change a column of a table, where it is asked for and where it is answered."""
    made = response(
        made, place, at, column=replace(made.records[at].responses[place].column, **changes)
    )
    columns = tuple(answer.column for answer in made.records[at].responses)
    return perturb(made, at, columns=columns)


def axis(name: str = "mode") -> Group:
    group = plan(name).steps[0].query.axis
    assert group is not None
    return group


def get_first(name: str) -> Step:
    return plan(name).steps[0]


def candidates(**changes: Any) -> Plan:
    given = get_first("best").query.candidates
    assert given is not None
    return with_step(plan("best"), {"candidates": replace(given, **changes)})


def scheme(**changes: Any) -> Plan:
    """Change the last of three selections."""
    given = get_first("quantiles").scheme
    assert given is not None
    steps = (*given.steps[:2], replace(given.steps[2], **changes))
    return with_step(plan("quantiles"), scheme=replace(given, steps=steps))


def change_quantiles(asked: dict[str, Any] | None = None, **changes: Any) -> Plan:
    return with_step(plan("quantiles"), asked, **changes)


def falling_quantiles() -> Plan:
    given = get_first("quantiles").scheme
    assert given is not None
    quantiles = tuple(reversed(given.quantiles))
    return change_quantiles({"quantiles": quantiles}, scheme=replace(given, quantiles=quantiles))


def claim_less(made: Plan, *, rho: bool = False) -> Plan:
    """A claim of less epsilon or rho by a step."""
    loss = made.steps[0].loss
    if rho:
        assert loss.rho is not None
        return with_step(made, loss=replace(loss, rho=loss.rho * LESS))
    return with_step(made, loss=replace(loss, epsilon=loss.epsilon * LESS))


@cache
def gaussian() -> Plan:
    QUERIES["gaussian"] = [
        {"name": "q", "statistic": "sum", "column": "y", "mechanism": "gaussian"}
    ]
    return plan("gaussian", delta=1e-6)


def state_sensitivity(name: str, **changes: Any) -> Plan:
    made = plan(name)
    return with_step(made, sensitivity=replace(made.steps[0].sensitivity, **changes))


def free(**changes: Any) -> Plan:
    """A total that no replaced row changes: published as it is."""
    return with_step(plan("total", adjacency="replace-one"), **changes)


def select_twice() -> Plan:
    made = plan("keys")
    one = made.steps[0]
    return with_step(
        made,
        {"key_selection": one.query.key_selection},
        at=1,
        measures=one.measures,
        transform=one.transform,
        unit=one.unit,
        threshold=one.threshold,
        noise=one.noise,
        loss=one.loss,
        sensitivity=one.sensitivity,
    )


WEIGHT = Quantity("x", Grid(ONE, 0, 10), 0)


def weigh(made: Plan, **changes: Any) -> Plan:
    """The plan with records that count by the survey weight x in its first step, and its query."""
    own = get_first("mean").query.column
    measures = tuple(replace(measure, survey_weight=WEIGHT) for measure in made.steps[0].measures)
    return with_step(made, {"survey_weight": own}, **({"measures": measures} | changes))


def get_declared(name: str) -> Column:
    return plan("count").release.columns[name]


def count_of_weighted_records() -> Plan:
    """A count of records, read from the sums of a weighted mean."""
    mean = {"name": "m", "statistic": "mean", "column": "y", "by": ["g"]}
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv", "weight": "x"},
        columns={column: {"source": "p"} | rest for column, rest in COLUMNS.items()},
        query=[
            mean,
            {"name": "n", "statistic": "count", "by": ["g"], "weight_by_survey": False},
        ],
    )
    made = make_plan(load(spec))
    assert certify(made).plan is made
    factors = (Fraction(1, 10),) * 2
    changes = {"rows": (0, 1), "reading": Reading.LINEAR, "factors": factors}
    return replace(read(made, "n", step="m", **changes), steps=made.steps[:1])


def third_quantity() -> Plan:
    made = plan("mean")
    other = Measure(MeasureKind.SUM, Quantity("x", Grid(ONE, 0, 7)))
    transform = tuple((*row, 0) for row in made.steps[0].transform)
    return with_step(made, measures=(*made.steps[0].measures, other), transform=transform)


def name_table_twice() -> Plan:
    made = tables()
    return perturb(made, 1, name="T")


def with_rho(loss: Loss) -> Loss:
    return replace(loss, rho=bound_pure_rho(loss.epsilon))


def table_loss(at: int = 0, **changes: Any) -> Plan:
    made = tables()
    return table(made, at, loss=replace(made.records[at].loss, **changes))


def answer(place: int, at: int = 0) -> Any:
    return tables().records[at].responses[place]


def total(**changes: Any) -> Plan:
    made = plan("count")
    return replace(made, loss=replace(made.loss, **changes))


def change_column_x(**changes: Any) -> Plan:
    quantity = answer(1).column.quantity
    return column(tables(), 1, quantity=replace(quantity, **changes))


def claim_more_epsilon_than_asked() -> Plan:
    made = tables()
    return table(made, loss=Loss(made.records[0].loss.epsilon + 1))


def share_filter() -> Plan:
    return ask_of_read(plan("shared"), "n", where=WHERE)


def get_first_keys() -> Step:
    return plan("keys").steps[0]


def select_by_mean() -> Plan:
    """Two sums of a mean that select keys."""
    made = plan("mean of keys")
    assert len(made.steps) == 1
    return made


def filter_one(step: Step) -> tuple[Measure, ...]:
    """The measures of a step, the first of them with a filter."""
    first, *rest = step.measures
    return (replace(first, where=WHERE), *rest)


def count_rows_read(name: str) -> int:
    return next(len(r.rows) for r in plan("shared").reads if r.query.name == name)


def read_of_another_table() -> Plan:
    """The count by keys, read for a query of a table that has keys of its own."""
    made = plan("keys")
    query = replace(made.steps[0].query, name="m", table="elsewhere")
    other = replace(made.reads[0], query=query, rows=(0,), reading=Reading.LINEAR, factors=(ONE,))
    reads = made.reads[0], other
    release = replace(made.release, queries=tuple(each.query for each in reads))
    return replace(made, steps=made.steps[:1], reads=reads, release=release)


def get_fine_groups() -> tuple[Group, ...]:
    query: Query = next(s.query for s in plan("shared").steps if s.query.name == "fine")
    return query.groups


def get_another_law() -> Any:
    """The law of a number that is not the law of the Laplace mechanism."""
    law = answer(1).law
    assert not isinstance(law, LaplaceLaw | SubsetLaw)
    return law


@cache
def plan_tables_with_delta() -> Plan:
    spec = builders.spec(
        data={"path": "t.csv"},
        privacy={"adjacency": "replace-one"},
        columns={column: {"source": "p"} | rest for column, rest in COLUMNS.items()},
        perturb=[
            {
                "name": "d",
                "columns": ["x"],
                "epsilon": 1,
                "delta": 0.01,
                "mechanism": "laplace",
            }
        ],
    )
    return make_plan(load(spec))


def rho_with_delta() -> Plan:
    made = plan_tables_with_delta()
    return table(made, loss=with_rho(made.records[0].loss))


# Rule -> (whom the refusal names, the plan that breaks just this rule).
CASES: dict[str, tuple[str, Callable[[], Plan]]] = {
    # --- the plan
    "the plan releases something": (
        "the plan",
        lambda: replace(plan("count"), steps=()),
    ),
    "every query of the release is answered once, in the order of the spec": (
        "the plan",
        lambda: replace(plan("two"), reads=plan("two").reads[::-1]),
    ),
    "every step belongs to a query of the release or to a strategy": (
        "the plan",
        lambda: change_first_step(plan("count"), query=replace(get_first("count").query, picks=2)),
    ),
    "no two steps belong to one query": (
        "the plan",
        lambda: replace(plan("count"), steps=plan("count").steps * 2),
    ),
    "every query is read from a step, or from several": (
        "the plan",
        lambda: read(plan("count"), "q", step="z"),
    ),
    "combined figures are read from every step of a strategy": (
        "the plan",
        lambda: replace(
            plans.plan_full(), steps=(*plans.plan_full().steps, *plans.plan_conditions().steps)
        ),
    ),
    "the contents of a record do not change the number of records": (
        "the plan",
        lambda: change_source(tables(), must_end=False),
    ),
    "the plan states a known kind of neighbours": (
        "the plan",
        lambda: privacy(plan("count"), adjacency="any"),
    ),
    "units are rows, or the values of a column with bounds of at least 1": (
        "the plan",
        lambda: privacy(plan("count"), unit_column="p"),
    ),
    "the declared delta is at least 0 and below 1": (
        "the plan",
        lambda: privacy(plan("count"), delta=ONE),
    ),
    "the claimed epsilon is at least 0": ("the plan", lambda: total(epsilon=-ONE)),
    "the claimed delta is at least 0 and below 1": (
        'step 1, "q"',
        lambda: with_step(plan("count"), loss=replace(get_first("count").loss, delta=ONE)),
    ),
    "the claimed rho is at least 0": ("the plan", lambda: total(rho=-ONE)),
    # --- steps
    "it has a known form": ('step 1, "q"', lambda: with_step(plan("count"), form=None)),
    "it releases something": (
        'step 1, "q"',
        lambda: with_step(plan("count"), transform=(), unit=()),
    ),
    "each released integer has a unit": ('step 1, "q"', lambda: with_step(plan("count"), unit=())),
    "each released integer has a factor for each measure": (
        'step 1, "q"',
        lambda: with_step(plan("count"), transform=((1, 0),)),
    ),
    "all factors are integers": (
        'step 1, "q"',
        lambda: with_step(plan("count"), transform=((HALF,),)),
    ),
    "each group has one label for each of its keys or bins, or is private": (
        'step 1, "q"',
        lambda: with_step(
            plan("count"), {"groups": (replace(get_first("count").query.groups[0], labels=("a",)),)}
        ),
    ),
    "it claims no loss, because it has no noise": ('step 1, "q"', lambda: free(loss=Loss(ONE))),
    "its noise parameter is 0, because it has no noise": (
        'step 1, "q"',
        lambda: free(noise=Noise(NoiseFamily.NONE, ONE)),
    ),
    "it selects no keys, because it has no noise": ('step 1, "q"', lambda: free(threshold=9)),
    "the parameter of its noise is above 0": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.LAPLACE, ZERO)),
    ),
    "it claims an epsilon above 0, because it has noise": (
        'step 1, "q"',
        lambda: with_step(plan("count"), loss=FREE),
    ),
    # --- private keys
    "all queries of a table with private keys have the same groups": (
        'table "by_s"',
        lambda: with_step(plan("keys"), {"groups": ()}, at=1),
    ),
    "one step selects its keys": ('table "by_s"', select_twice),
    "the keys that it selects are private": (
        'step 1, "q"',
        lambda: with_step(plan("count"), threshold=9),
    ),
    "keys are not selected by an axis": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), {"axis": axis()}),
    ),
    "keys are selected by a count of units": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), measures=(Measure(MeasureKind.DISTINCT, column="h"),)),
    ),
    "keys are selected by records that count once": (
        'step 1, "q"',
        lambda: weigh(plan("keys")),
    ),
    "keys are selected by the count itself": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), transform=((2,),)),
    ),
    "keys are selected by one filter": (
        'step 1, "m"',
        lambda: with_step(select_by_mean(), measures=filter_one(select_by_mean().steps[0])),
    ),
    "the threshold of keys is a whole number of units, at least 2": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), threshold=1),
    ),
    "the selection of keys claims a delta": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), loss=replace(get_first_keys().loss, delta=ZERO)),
    ),
    "the spec allows the delta of the selection of keys": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), {"key_selection": KeySelection(Fraction(1, 10**9))}),
    ),
    "the selection of keys costs no more rho, but for the spec's delta, than it claims": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), loss=replace(get_first_keys().loss, rho=TINY_RHO)),
    ),
    "the selection of keys costs no more epsilon and delta than it claims": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), threshold=(get_first_keys().threshold or 0) - 1),
    ),
    # --- measures
    "it has a measure": (
        'step 1, "q"',
        lambda: with_step(plan("count"), measures=(), transform=((),)),
    ),
    "each measure has the quantity or the column of its kind, and no other": (
        'step 1, "q"',
        lambda: with_step(plan("count"), measures=(Measure(MeasureKind.SUM),)),
    ),
    "each quantity is on an exact integer grid and states the number that replaces a null": (
        'step 1, "q"',
        lambda: with_step(
            plan("count"),
            measures=(Measure(MeasureKind.SUM, Quantity("x", Grid(ONE, 0, 9), 10)),),
        ),
    ),
    "a query has two parts of a ratio, or none": (
        'step 1, "q"',
        lambda: with_step(plan("ratio"), {"denominator": None}),
    ),
    "measures use one quantity, or two of a ratio, unless of a strategy": (
        'step 1, "q"',
        third_quantity,
    ),
    "a measure has the survey weight of the query, at least 0 and with few steps, or none": (
        'step 1, "q"',
        lambda: weigh(plan("count"), measures=(RECORDS,)),
    ),
    "only records, values and sums of values are weighted, and their products are exact": (
        'step 1, "q"',
        lambda: weigh(plan("count"), measures=(Measure(MeasureKind.UNITS, survey_weight=WEIGHT),)),
    ),
    "units and distinct values are counted by one measure, in one integer": (
        'step 1, "q"',
        lambda: with_step(plan("distinct"), transform=((1,), (1,)), unit=(ONE, ONE)),
    ),
    # --- forms
    "only quantiles have a scheme": (
        'step 1, "q"',
        lambda: with_step(plan("count"), scheme=get_first("quantiles").scheme),
    ),
    "only quantiles and mixed cells have points": (
        'step 1, "q"',
        lambda: with_step(plan("count"), points=get_first("quantiles").points),
    ),
    "only quantiles have weights of points": (
        'step 1, "q"',
        lambda: with_step(plan("count"), survey_weight=WEIGHT),
    ),
    "noisy numbers have no candidates": (
        'step 1, "q"',
        lambda: with_step(plan("count"), {"candidates": get_first("best").query.candidates}),
    ),
    "numbers have additive noise, or none": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.EXPONENTIAL, ONE)),
    ),
    "only a staircase has stairs": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.LAPLACE, ONE, 1, 1)),
    ),
    "only noise that is cut has a reach": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.LAPLACE, ONE, reach=1)),
    ),
    "noise is cut at a whole number, not below its scale, and of at most 100,000": (
        'step 1, "q"',
        lambda: with_step(
            plan("count"), noise=Noise(NoiseFamily.CUT_LAPLACE, Fraction(9), reach=8), threshold=9
        ),
    ),
    "keys are shown above what cut noise reaches, and it is for no other step": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.CUT_LAPLACE, ONE, reach=30)),
    ),
    "stairs are whole, with a first part, and no shorter than 1/32 of the scale": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.STAIRCASE, ONE, 4, 5)),
    ),
    "a step with staircase noise releases one integer for each cell and selects no keys": (
        'step 1, "q"',
        lambda: with_step(plan("mean"), noise=Noise(NoiseFamily.STAIRCASE, ONE, 10, 4)),
    ),
    "only the integers of a cube are drawn together": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=Noise(NoiseFamily.LAPLACE, ONE, integers=1)),
    ),
    "the noise of a cell has an integer for each that is released, and no more than 4,096": (
        'step 1, "together"',
        lambda: plans.change_step(
            plans.plan_together(), 0, noise=Noise(NoiseFamily.CUBE, Fraction(1), integers=2)
        ),
    ),
    "integers that have noise together are noisy numbers of public cells, and not mixed": (
        'step 1, "q"',
        lambda: with_step(
            plan("running"),
            axes=(AxisMatrix(AxisKind.RUNNING, ((1, 1),)),),
            noise=Noise(NoiseFamily.CUBE, Fraction(2), integers=1),
        ),
    ),
    "a step with an axis releases one integer for each label": (
        'step 1, "q"',
        lambda: with_step(plan("top"), transform=((1,), (1,)), unit=(ONE, ONE)),
    ),
    "the query has an axis or candidates": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), {"axis": None}),
    ),
    "an axis is public, with one label for each of its keys or bins": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), {"axis": replace(axis(), labels=("u",))}),
    ),
    "the query picks at least one label, and no more labels than the axis has": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), {"picks": 4}),
    ),
    "a choice selects no keys": ('step 1, "q"', lambda: with_step(plan("mode"), threshold=9)),
    "a choice uses the exponential mechanism or permute-and-flip": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), noise=Noise(NoiseFamily.LAPLACE, ONE)),
    ),
    "a choice uses one score": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), transform=((1,), (1,)), unit=(ONE, ONE)),
    ),
    "a choice has no survey weight": (
        'step 1, "q"',
        lambda: weigh(plan("mode")),
    ),
    "labels of an axis are scored by records, values or units": (
        'step 1, "q"',
        lambda: with_step(
            plan("mode"), measures=(Measure(MeasureKind.SUM, Quantity("x", Grid(ONE, 0, 1))),)
        ),
    ),
    "no factor of a score is negative": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), transform=((-1,),)),
    ),
    "a query has candidates or an axis, not both": (
        'step 1, "q"',
        lambda: with_step(plan("best"), {"axis": axis()}),
    ),
    "a query with candidates is no ratio": (
        'step 1, "q"',
        lambda: with_step(plan("best"), {"numerator": Part()}),
    ),
    "candidates have scores and no measures": (
        'step 1, "q"',
        lambda: with_step(plan("best"), measures=(RECORDS,), transform=((1,),)),
    ),
    "no candidate is listed twice": ('step 1, "q"', lambda: candidates(texts=("1", "1", "2"))),
    "the query picks at least one candidate, and no more candidates than it lists": (
        'step 1, "q"',
        lambda: with_step(plan("best"), {"picks": 4}),
    ),
    "the scores of candidates are on an exact integer grid that starts at 0": (
        'step 1, "q"',
        lambda: candidates(grid=Grid(ONE, -1, 4)),
    ),
    # --- quantiles
    "the scheme of quantiles has the quantiles that the query asks for": (
        'step 1, "q"',
        lambda: change_quantiles(scheme=None),
    ),
    "quantiles have points on an exact integer grid and a number that replaces a null": (
        'step 1, "q"',
        lambda: change_quantiles(points=None),
    ),
    "points have the survey weight of the query, at least 0 and with few steps, or none": (
        'step 1, "q"',
        lambda: change_quantiles(survey_weight=WEIGHT),
    ),
    "quantiles have no axis": ('step 1, "q"', lambda: change_quantiles({"axis": axis()})),
    "quantiles have no candidates": (
        'step 1, "q"',
        lambda: change_quantiles({"candidates": get_first("best").query.candidates}),
    ),
    "quantiles do not form a ratio": (
        'step 1, "q"',
        lambda: change_quantiles({"numerator": Part()}),
    ),
    "quantiles have no measures": (
        'step 1, "q"',
        lambda: change_quantiles(measures=(RECORDS,), transform=((1,),) * 3),
    ),
    "quantiles select no keys": ('step 1, "q"', lambda: change_quantiles(threshold=9)),
    "one integer is released for each quantile": (
        'step 1, "q"',
        lambda: change_quantiles(transform=((),), unit=(ONE,)),
    ),
    "the quantiles increase and are between 0 and 1": ('step 1, "q"', falling_quantiles),
    "each selection is within a part left by earlier ones, until all quantiles are selected": (
        'step 1, "q"',
        lambda: scheme(index=4),
    ),
    "the target of each selection is between 0 and 1, with a denominator of at most 10^6": (
        'step 1, "q"',
        lambda: scheme(target=ONE),
    ),
    "the target of each selection is its quantile within the part": (
        'step 1, "q"',
        lambda: scheme(target=Fraction(1, 3)),
    ),
    "the rate of each selection is above 0": ('step 1, "q"', lambda: scheme(rate=ZERO)),
    "quantiles are selected by the exponential mechanism": (
        'step 1, "q"',
        lambda: change_quantiles(
            noise=replace(get_first("quantiles").noise, family=NoiseFamily.PERMUTE_AND_FLIP)
        ),
    ),
    "the stated rate is the rate of the first selection": (
        'step 1, "q"',
        lambda: change_quantiles(noise=Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 100))),
    ),
    "the outputs that may be selected increase within the bounds": (
        'step 1, "q"',
        lambda: change_quantiles({"points": (3, 2)}),
    ),
    # --- what steps cost
    "it costs no more epsilon than it claims": ('step 1, "q"', lambda: claim_less(plan("count"))),
    "it costs no more rho than it claims": (
        'step 1, "q"',
        lambda: claim_less(plan("mode", rho=0.1, epsilon=None), rho=True),
    ),
    "its integers change by no more than the L1 sensitivity that it states": (
        'step 1, "q"',
        lambda: state_sensitivity("count", l1=0),
    ),
    "its integers change by no more than the squared L2 sensitivity that it states": (
        'step 1, "q"',
        lambda: state_sensitivity("count", l2_squared=0),
    ),
    "no more of its integers change at once than it states": (
        'step 1, "q"',
        lambda: state_sensitivity("count", coordinates=0),
    ),
    "over all cells, the integer that changes most does so by no more than it states": (
        'step 1, "together"',
        lambda: plans.change_step(
            plans.plan_together(),
            0,
            sensitivity=replace(plans.plan_together().steps[0].sensitivity, cube=0),
        ),
    ),
    "integers without noise are the same in all neighbours": (
        'step 1, "q"',
        lambda: with_step(plan("count"), noise=NO_NOISE, loss=FREE),
    ),
    "Gaussian noise claims a rho": (
        'step 1, "q"',
        lambda: with_step(gaussian(), loss=replace(gaussian().steps[0].loss, rho=None)),
    ),
    "Gaussian noise costs no more rho than it claims": (
        'step 1, "q"',
        lambda: claim_less(gaussian(), rho=True),
    ),
    "Gaussian noise costs no more delta, at its epsilon, than it claims": (
        'step 1, "q"',
        lambda: with_step(
            gaussian(), loss=replace(gaussian().steps[0].loss, delta=Fraction(1, 10**9))
        ),
    ),
    "scores are monotone only if neighbours add or remove rows": (
        'step 1, "q"',
        lambda: with_step(
            plan("mode", adjacency="replace-one"),
            sensitivity=Sensitivity(9, 9, 9, monotone=True, choice_l1=9),
        ),
    ),
    "scores change by no more than the sensitivity that it states": (
        'step 1, "q"',
        lambda: state_sensitivity("mode", choice_l1=0),
    ),
    "a unit has no more rows in quantiles than the sensitivity that it states": (
        'step 1, "q"',
        lambda: state_sensitivity("quantiles", l1=0),
    ),
    # --- people whose totals are scaled
    "totals of people are scaled where a unit is a person": (
        'step 1, "q"',
        lambda: with_step(plan("count"), {"clip": Clip(ClipNorm.L1, 1)}),
    ),
    "totals are scaled to a known norm, of 1 to 2^50 steps": (
        'step 1, "q"',
        lambda: clipped(bound=0),
    ),
    "scaled totals are released as numbers": (
        'step 1, "q"',
        lambda: with_step(people("mode"), {"clip": Clip(ClipNorm.L1, 1)}),
    ),
    "scaled totals are numbers of rows, or sums": (
        'step 1, "q"',
        lambda: with_step(people("clipped"), measures=(Measure(MeasureKind.UNITS),)),
    ),
    "scaled totals lie in public cells": (
        'step 1, "q"',
        lambda: with_step(people("clipped"), {"axis": axis()}),
    ),
    "scaled totals select no keys, and are not mixed": (
        'step 1, "q"',
        lambda: with_step(people("clipped"), threshold=3),
    ),
    "figures are read from totals that are scaled as their query says": (
        'the figures of "n"',
        lambda: ask_of_read(people("clipped", "the same"), "n", clip=None),
    ),
    "sums of scaled totals are read as their own": (
        'the figures of "q"',
        lambda: read(people("clipped"), "q", reading=Reading.LINEAR, rows=(0,), factors=(ONE,)),
    ),
    # --- strategies
    "a strategy releases numbers": (
        'step 1, "total"',
        lambda: plans.change_step(
            plans.plan_conditions(),
            0,
            {"axis": axis()},
            form=Form.CHOICE,
            noise=Noise(NoiseFamily.EXPONENTIAL, ONE),
        ),
    ),
    "a strategy counts records, or adds up values of columns of the release's queries": (
        'step 1, "total"',
        lambda: plans.change_step(
            plans.plan_conditions(), 0, measures=(Measure(MeasureKind.UNITS),)
        ),
    ),
    "integers of a strategy are counts, or in the steps of one column": (
        'step 1, "total"',
        lambda: plans.change_step(plans.plan_conditions(), 0, unit=(HALF,)),
    ),
    "a strategy asks for counts by groups and a filter alone": (
        'step 1, "total"',
        lambda: plans.change_step(plans.plan_conditions(), 0, {"axis": axis()}),
    ),
    "only counts of records by different filters can be apart": (
        'step 1, "cells"',
        lambda: plans.change_step(plans.plan_full(), 0, apart=True),
    ),
    "filters that are said to exclude each other do so, whatever a record holds": (
        'step 1, "apart"',
        lambda: plans.plan_apart(first="y <= 5", second="y >= 5"),
    ),
    "groups of a strategy are public, with a label for every record": (
        'step 1, "cells"',
        lambda: plans.change_step(
            plans.plan_full(), 0, {"groups": plans.plan_full().reads[1].query.groups}
        ),
    ),
    "the groups of a strategy are groups of queries of the release, each once": (
        'step 1, "cells"',
        lambda: plans.change_step(
            plans.plan_full(), 0, {"groups": plans.build_centred().steps[2].query.groups}
        ),
    ),
    "the filters of a strategy are filters of queries of the release": (
        'step 1, "total"',
        lambda: plans.change_step(
            plans.plan_conditions(), 0, {"where": WHERE}, measures=(replace(RECORDS, where=WHERE),)
        ),
    ),
    "a strategy has its own filter, or several over all rows": (
        'step 1, "total"',
        lambda: plans.change_step(
            plans.plan_conditions(), 0, {"where": plans.plan_conditions().reads[1].query.where}
        ),
    ),
    "only their number limits the rows of a unit that a strategy counts": (
        'step 1, "total"',
        lambda: plans.plan_conditions(people=True, in_cells=1),
    ),
    # --- cells mixed along axes
    "a step that mixes cells along axes releases noisy numbers": (
        'step 1, "q"',
        lambda: with_step(plan("mode"), axes=(EACH,)),
    ),
    "a step that mixes cells along axes selects no keys": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), axes=(EACH,)),
    ),
    "a step that mixes cells along axes counts the records of each cell once": (
        'step 1, "q"',
        lambda: with_step(plan("mean"), axes=(EACH,)),
    ),
    "records are counted by the values of a grid with bounds, without measures or an axis": (
        'step 1, "q"',
        lambda: with_step(plan("count"), axes=(EACH, EACH), points=get_first("quantiles").points),
    ),
    "groups that are mixed are public": (
        'step 1, "q"',
        lambda: with_step(plan("keys"), axes=(EACH,), threshold=None),
    ),
    "there is a matrix for each group and for the axis, or none": (
        'step 1, "q"',
        lambda: with_step(plan("count"), axes=(EACH, EACH)),
    ),
    "each matrix has integers for all labels of its axis, and the content of its kind": (
        'step 1, "q"',
        lambda: with_step(plan("count"), axes=(AxisMatrix(AxisKind.RUNNING, ((1,),)),)),
    ),
    # --- what a query asks for, and what its step releases
    "its columns are those that the release declares": (
        'query "q"',
        lambda: with_step(
            plan("mean"), {"column": replace(get_declared("x"), grid=Grid(ONE, 0, 9))}
        ),
    ),
    "it has the details that its statistic takes, and no others": (
        'query "q"',
        lambda: with_step(plan("count"), {"quantiles": (HALF,)}),
    ),
    "the labels and bins of a statistic belong to its own columns": (
        'query "q"',
        lambda: with_step(plan("mode"), {"column": get_declared("g")}),
    ),
    "quantiles that are read from counts along a column are between 0 and 1": (
        'query "q"',
        lambda: with_step(plan("running"), {"quantiles": (ONE,)}),
    ),
    "a median, minimum or maximum is the quantile that it stands for": (
        'query "q"',
        lambda: with_step(plan("quantiles"), {"statistic": "median"}),
    ),
    "cells are mixed along a statistic's own columns alone, each of them": (
        'step 1, "q"',
        lambda: with_step(plan("count"), axes=(CENTRED,)),
    ),
    "it releases the content of its query's statistic, or the sums of its column": (
        'step 1, "q"',
        lambda: with_step(plan("count"), measures=(replace(RECORDS, where=WHERE),)),
    ),
    # --- figures
    "their noise comes from the mechanism that the spec asks for": (
        'the figures of "q"',
        lambda: with_step(plan("count"), {"mechanism": "gaussian"}),
    ),
    "the step releases the content of the query's statistic": (
        'the figures of "s"',
        lambda: read(plan("sums"), "s", rows=(), reading=Reading.OWN, factors=()),
    ),
    "only combined figures are rounded to decimals": (
        'the figures of "q"',
        lambda: read(plan("count"), "q", decimals=1),
    ),
    "integers that have noise together are read by combined figures alone": (
        'the figures of "q"',
        lambda: with_step(
            plan("count"),
            noise=Noise(NoiseFamily.CUBE, Fraction(1), integers=1),
            sensitivity=replace(plan("count").steps[0].sensitivity, cube=1),
        ),
    ),
    "cells that are mixed along axes are read by their own query alone": (
        'the figures of "q"',
        lambda: read(
            with_step(plan("running"), axes=(AxisMatrix(AxisKind.RUNNING, ((1, 1),)),)),
            "q",
            rows=(0,),
        ),
    ),
    "integers of weighted records are read by their own query alone": (
        'the figures of "n"',
        count_of_weighted_records,
    ),
    "figures that are not read from chosen integers are read as their own": (
        'the figures of "q"',
        lambda: read(plan("count"), "q", reading=Reading.LINEAR),
    ),
    "a query's own figures have no factors, sums over groups or screens": (
        'the figures of "q"',
        lambda: read(plan("count"), "q", screened=True),
    ),
    "the query asks for the same figure as the step": (
        'the figures of "q"',
        lambda: read(plan("two"), "q", step="r"),
    ),
    "integers that are read are released": (
        'the figures of "n"',
        lambda: read(plan("shared"), "n", rows=(0, 1, 2, 9)),
    ),
    "integers are read from a step that releases noisy numbers": (
        'the figures of "q"',
        lambda: read(plan("quantiles"), "q", rows=(0,)),
    ),
    "integers are not read by the labels of an axis": (
        'the figures of "q"',
        lambda: read(plan("top"), "q", rows=(0,)),
    ),
    "private keys belong to the query's table": (
        'the figures of "m"',
        read_of_another_table,
    ),
    "the groups that are added up are groups of the step, each once": (
        'the figures of "coarse"',
        lambda: read(plan("shared"), "coarse", merged=(1, 1)),
    ),
    "the other groups are the groups of the query": (
        'the figures of "coarse"',
        lambda: read(plan("shared"), "coarse", merged=()),
    ),
    "groups that are added up have a label for every record": (
        'the figures of "coarse"',
        lambda: ask_of_read(
            read(plan("shared"), "coarse", merged=(0,)),
            "coarse",
            groups=get_fine_groups()[1:],
        ),
    ),
    "only counts are added up over groups": (
        'the figures of "coarse"',
        lambda: ask_of_read(plan("shared"), "coarse", statistic="mean"),
    ),
    "the step counts the records of the query's filter": ('the figures of "n"', share_filter),
    "the step uses the query's column": (
        'the figures of "s"',
        lambda: ask_of_read(plan("shared"), "s", column=plan("shared").release.columns["x"]),
    ),
    "no integer is read twice": (
        'the figures of "m"',
        lambda: read(plan("shared"), "m", rows=(0, 0, 1)),
    ),
    "there is a factor for each integer that is read": (
        'the figures of "n"',
        lambda: read(plan("shared"), "n", factors=(ONE,)),
    ),
    "the combination of integers is the count or sum of the query": (
        'the figures of "s"',
        lambda: read(plan("shared"), "s", factors=(ONE, ONE, ONE, ONE)[: count_rows_read("s")]),
    ),
    "the screen is a count of records without a value": (
        'the figures of "coarse"',
        lambda: read(plan("shared"), "coarse", screened=True),
    ),
    "moments have no factors, sums over groups or screens": (
        'the figures of "v"',
        lambda: read(plan("shared"), "v", screened=True),
    ),
    "the integers are the moments of the query's statistic": (
        'the figures of "m"',
        lambda: read(plan("shared"), "m", rows=(1, 0, 2)),
    ),
    # --- figures that are combined
    "only combined figures have terms": (
        'the figures of "q"',
        lambda: read(plan("count"), "q", terms=(Term("q", ONE),)),
    ),
    "combined figures are sums of terms, and of nothing else": (
        'the figures of "q1"',
        lambda: plans.read(plans.plan_conditions(), 1, screened=True),
    ),
    "combined figures are made of sums over records in public cells": (
        'the figures of "q0"',
        lambda: plans.read(plans.plan_conditions(), 0, {"statistic": "count_units"}),
    ),
    "no group of combined figures is listed twice": (
        'the figures of "q1"',
        lambda: plans.read(
            plans.plan_full(), 1, {"groups": plans.plan_full().reads[1].query.groups * 2}
        ),
    ),
    "terms are integers that a strategy releases": (
        'the figures of "q1"',
        lambda: plans.term(plans.plan_conditions(), 1, 0, row=2),
    ),
    "factors of terms are fractions, their parts whole": (
        'the figures of "q1"',
        lambda: plans.term(plans.plan_conditions(), 1, 0, factor=0.5),
    ),
    "combined figures are rounded to no more decimals than a number can show": (
        'the figures of "q1"',
        lambda: plans.read(plans.plan_conditions(), 1, decimals=16),
    ),
    "terms count the same rows of a unit": (
        'the figures of "q1"',
        lambda: plans.plan_by_filters(people=True),
    ),
    "the groups of terms are groups of the step and of the figures": (
        'the figures of "q1"',
        lambda: plans.term(plans.build_centred(), 1, 1, groups=(1,)),
    ),
    "cells that are added up are released as they are": (
        'the figures of "q1"',
        lambda: plans.term(plans.build_centred(), 1, 1, groups=()),
    ),
    "the terms add up to what the query asks, part by part": (
        'the figures of "q1"',
        lambda: plans.term(plans.build_centred(), 1, 1, factor=ONE),
    ),
    # --- record-level tables
    "the plan has the record-level tables of the spec, in its order": (
        "the record-level tables",
        lambda: replace(tables(), records=tables().records[::-1]),
    ),
    "no two tables have the same name, even in another case": (
        "the record-level tables",
        name_table_twice,
    ),
    "no query's table has the name of a record-level table": (
        "the record-level tables",
        lambda: perturb(tables(), name=tables().release.queries[0].table),
    ),
    "neighbours of record-level tables replace rows": (
        "the record-level tables",
        lambda: privacy(tables(), adjacency=Adjacency.ADD_REMOVE),
    ),
    "each column is answered once, in order": (
        'table "t"',
        lambda: table(tables(), responses=tables().records[0].responses[:1]),
    ),
    "it has columns, each once": (
        'table "t"',
        lambda: table(perturb(tables(), columns=()), responses=()),
    ),
    "the column is declared": (
        'table "t", column "z"',
        lambda: column(tables(), 0, name="z"),
    ),
    "the column has labels or numbers, and not both": (
        'table "t", column "h"',
        lambda: column(tables(), 0, group=None),
    ),
    "its labels are public and its own": (
        'table "t", column "h"',
        lambda: column(tables(), 0, group=replace(answer(0).column.group, column="g")),
    ),
    "its numbers are on its own grid, and none is missing": (
        'table "t", column "x"',
        lambda: change_column_x(null_fill=None),
    ),
    "its law is a law of its labels or of its numbers": (
        'table "t", column "h"',
        lambda: response(tables(), 0, law=replace(answer(0).law, labels=9)),
    ),
    "its mechanism is the one that is asked for": (
        'table "t", column "h"',
        lambda: column(tables(), 0, mechanism=Mechanism.LAPLACE),
    ),
    "its law is the law of its mechanism": (
        'table "t", column "x"',
        lambda: response(tables(), 1, mechanism=Mechanism.LAPLACE, law=get_another_law()),
    ),
    "it counts as many rows as a unit may have": ('table "t"', lambda: table(tables(), rows=2)),
    "an answer costs no more than it claims": (
        'table "t", column "h"',
        lambda: response(tables(), 0, loss=Loss(answer(0).loss.epsilon / 2)),
    ),
    "an answer is true with the chance that the spec asks for": (
        'table "u", column "g"',
        lambda: perturb(tables(), 1, truth=Fraction(3, 5)),
    ),
    "all answers of a unit cost no more epsilon than the table claims": (
        'table "t"',
        lambda: table_loss(epsilon=ONE),
    ),
    "all answers of a unit cost no more delta than the table claims": (
        'table "t"',
        lambda: table_loss(delta=Fraction(-1)),
    ),
    "the table claims a delta below 1": ('table "t"', lambda: table_loss(delta=ONE)),
    "the table claims no more epsilon than the spec allows": (
        'table "t"',
        claim_more_epsilon_than_asked,
    ),
    "the table claims no more delta than the spec allows": (
        'table "t"',
        lambda: table_loss(delta=HALF),
    ),
    "no rho is claimed with a delta": ('table "d"', rho_with_delta),
    "all answers of a unit cost no more rho than the table claims": (
        'table "u"',
        lambda: table_loss(1, rho=Fraction(1, 10**6)),
    ),
    # --- the total
    "every step has a rho if the total has one": (
        "the total",
        lambda: replace(plan("keys"), loss=replace(plan("keys").loss, rho=ONE)),
    ),
    "all steps cost no more rho than is claimed and declared": (
        "the total",
        lambda: total(rho=Fraction(1, 10**6)),
    ),
    "record-level tables cost no more epsilon than the total": (
        "the total",
        lambda: replace(tables(), loss=Loss(ONE)),
    ),
    "record-level tables cost no more delta than the total": (
        "the total",
        lambda: replace(plan_tables_with_delta(), loss=Loss(Fraction(9))),
    ),
    "all steps together cost no more epsilon and delta than the plan claims": (
        "the total",
        lambda: total(epsilon=HALF),
    ),
    "the total claims no more epsilon than is declared": (
        "the total",
        lambda: privacy(plan("count"), epsilon=HALF),
    ),
    "the total claims no more delta than is declared": (
        "the total",
        lambda: total(delta=HALF),
    ),
    "the plain sum that the plan states is the sum of all losses": (
        "the total",
        lambda: replace(plan("two"), basic=Loss(HALF)),
    ),
    "the losses are added if the plan says so, and otherwise composed by a known method": (
        "the total",
        lambda: replace(plan("two"), method="by hand"),
    ),
    "it costs no more epsilon than its queries state": (
        '"q"',
        lambda: with_step(plan("own epsilon"), {"epsilon": Fraction(1, 4)}),
    ),
    "it costs no more rho than its queries state": (
        '"q"',
        lambda: with_step(plan("own rho", epsilon=None), {"rho": Fraction(1, 100)}),
    ),
    "it costs no more delta than its queries state": (
        '"q"',
        lambda: with_step(plan("own delta", delta=1e-6), {"delta": Fraction(1, 10**9)}),
    ),
}


def plan_named(name: str) -> Plan:
    """A plan as its cases change it."""
    privacy: dict[str, dict[str, Any]] = {
        "own rho": {"epsilon": None},
        "own delta": {"delta": 1e-6},
    }
    return plan(name, **privacy.get(name, {}))


KERNEL = Path(dprelease.kernel.__file__ or "").parent


def list_rule_files() -> list[Path]:
    """The modules of the kernel that have rules."""
    files = [file for file in KERNEL.rglob("*.py") if "kernel.core.rules" in file.read_text()]
    assert len(files) > 10
    return files


def list_rules() -> list[Rule[Any] | AtMost[Any]]:
    """Every rule that stands in a table of a module of certification."""
    collected = []
    for file in list_rule_files():
        name = ".".join(file.relative_to(KERNEL).with_suffix("").parts)
        members = vars(importlib.import_module(f"dprelease.kernel.{name}"))
        for value in members.values():
            if isinstance(value, tuple):
                collected += [row for row in value if isinstance(row, Rule | AtMost)]
    return list({id(rule): rule for rule in collected}.values())  # tables are imported too


def test_every_rule_has_a_case_and_a_sentence_of_its_own() -> None:
    sentences = [rule.sentence for rule in list_rules()]
    assert sorted(sentences) == sorted(set(sentences))
    assert sorted(sentences) == sorted(CASES)


def test_rules_stand_in_tables_only() -> None:
    """What is built elsewhere would have no case."""
    made = 0
    for file in list_rule_files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                made += node.func.id in {"Rule", "AtMost"}
    assert made == len(list_rules())


@pytest.mark.parametrize(
    "made",
    [
        *map(plan_named, QUERIES),
        people(),
        people("clipped", "the same"),
        people("mode"),
        tables(),
        plan_tables_with_delta(),
        gaussian(),
        free(),
        plans.build_centred(),
        plans.plan_conditions(),
        plans.plan_full(),
    ],
)
def test_plans_are_certified_before_they_are_changed(made: Plan) -> None:
    assert certify(made).plan is made


@pytest.mark.parametrize("sentence", CASES)
def test_a_refusal_names_the_rule_and_its_subject(sentence: str) -> None:
    subject, broken = CASES[sentence]
    with pytest.raises(Failure) as failure:
        certify(broken())
    assert failure.value.exit_code == ExitCode.INTERNAL
    (complaint,) = failure.value.complaints
    assert complaint.code == "E702"
    start = f"the plan could not be certified: {subject}: it is not confirmed that {sentence}"
    rest = complaint.message.removeprefix(start)
    assert rest != complaint.message, complaint.message
    assert rest == "" or (rest.startswith(" (") and " is more than " in rest)


@pytest.mark.parametrize("public", [dprelease.plan, dprelease.run])
def test_the_public_calls_name_step_and_rule(
    public: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = claim_less(plan("count"))
    monkeypatch.setattr("dprelease.planning.planner.make_plan", lambda *_, **__: broken)
    with pytest.raises(Failure, match="it is not confirmed that it costs no more epsilon") as it:
        public(broken.release)
    (complaint,) = it.value.complaints
    assert complaint.code == "E702"
    assert 'step 1, "q"' in complaint.message


def test_a_refusal_says_both_numbers() -> None:
    with pytest.raises(Failure, match=r"claims \(1 is more than 0\.99\)"):
        certify(claim_less(plan("count")))
    with pytest.raises(Failure, match=r"that it states \(1 is more than 0\)"):
        certify(state_sensitivity("count", l1=0))


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
@pytest.mark.parametrize(
    "broken",
    [
        lambda number: privacy(plan("count"), epsilon=number),
        lambda number: state_sensitivity("count", l1=number),
        lambda number: state_sensitivity("count", l2_squared=number),
        lambda number: state_sensitivity("mode", choice_l1=number),
        lambda number: state_sensitivity("quantiles", l1=number),
    ],
)
def test_a_bound_that_is_no_number_confirms_nothing(
    broken: Callable[[float], Plan], number: float
) -> None:
    with pytest.raises(Failure, match=f"is more than {number}"):
        certify(broken(number))


@pytest.mark.parametrize("statistic", ["cumulative", "histogram"])
def test_counts_along_a_column_have_one(statistic: str) -> None:
    along = with_step(plan("running"), {"statistic": statistic, "column": None})
    with pytest.raises(
        Failure, match="the labels and bins of a statistic belong to its own columns"
    ):
        certify(along)


def test_a_choice_by_another_form_is_refused() -> None:
    with pytest.raises(Failure, match="uses the exponential mechanism or permute-and-flip"):
        certify(with_step(plan("count"), form=Form.CHOICE))
