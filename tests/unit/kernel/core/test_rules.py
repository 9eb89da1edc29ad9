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
from thorough import for_each

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


def change(name: str, asked: dict[str, Any] | None = None, at: int = 0, **changes: Any) -> Plan:
    """Change a step of a plan by its name, and its query where that is asked and read."""
    return with_step(plan(name), asked, at, **changes)


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


# Whom the refusal names -> rule -> the plan that breaks just this rule.
CASES: dict[str, dict[str, Callable[[], Plan]]] = {
    "the plan": {
        # --- the plan
        "the plan releases something": lambda: replace(plan("count"), steps=()),
        "every query of the release is answered once, in the order of the spec": lambda: replace(
            plan("two"), reads=plan("two").reads[::-1]
        ),
        "every step belongs to a query of the release or to a strategy": lambda: change_first_step(
            plan("count"), query=replace(get_first("count").query, picks=2)
        ),
        "no two steps belong to one query": lambda: replace(
            plan("count"), steps=plan("count").steps * 2
        ),
        "every query is read from a step, or from several": lambda: read(
            plan("count"), "q", step="z"
        ),
        "combined figures are read from every step of a strategy": lambda: replace(
            plans.plan_full(), steps=(*plans.plan_full().steps, *plans.plan_conditions().steps)
        ),
        "the contents of a record do not change the number of records": lambda: change_source(
            tables(), must_end=False
        ),
        "the plan states a known kind of neighbours": lambda: privacy(
            plan("count"), adjacency="any"
        ),
        "units are rows, or the values of a column with bounds of at least 1": lambda: privacy(
            plan("count"), unit_column="p"
        ),
        "the declared delta is at least 0 and below 1": lambda: privacy(plan("count"), delta=ONE),
        "the claimed epsilon is at least 0": lambda: total(epsilon=-ONE),
        "the claimed rho is at least 0": lambda: total(rho=-ONE),
    },
    'step 1, "q"': {
        "the claimed delta is at least 0 and below 1": lambda: change(
            "count", loss=replace(get_first("count").loss, delta=ONE)
        ),
        # --- steps
        "it has a known form": lambda: change("count", form=None),
        "it releases something": lambda: change("count", transform=(), unit=()),
        "each released integer has a unit": lambda: change("count", unit=()),
        "each released integer has a factor for each measure": lambda: change(
            "count", transform=((1, 0),)
        ),
        "all factors are integers": lambda: change("count", transform=((HALF,),)),
        "each group has one label for each of its keys or bins, or is private": lambda: change(
            "count", {"groups": (replace(get_first("count").query.groups[0], labels=("a",)),)}
        ),
        "it claims no loss, because it has no noise": lambda: free(loss=Loss(ONE)),
        "its noise parameter is 0, because it has no noise": lambda: free(
            noise=Noise(NoiseFamily.NONE, ONE)
        ),
        "it selects no keys, because it has no noise": lambda: free(threshold=9),
        "the parameter of its noise is above 0": lambda: change(
            "count", noise=Noise(NoiseFamily.LAPLACE, ZERO)
        ),
        "it claims an epsilon above 0, because it has noise": lambda: change("count", loss=FREE),
        "the keys that it selects are private": lambda: change("count", threshold=9),
        "keys are not selected by an axis": lambda: change("keys", {"axis": axis()}),
        "keys are selected by a count of units": lambda: change(
            "keys", measures=(Measure(MeasureKind.DISTINCT, column="h"),)
        ),
        "keys are selected by records that count once": lambda: weigh(plan("keys")),
        "keys are selected by the count itself": lambda: change("keys", transform=((2,),)),
        "the threshold of keys is a whole number of units, at least 2": lambda: change(
            "keys", threshold=1
        ),
        "the selection of keys claims a delta": lambda: change(
            "keys", loss=replace(get_first_keys().loss, delta=ZERO)
        ),
        "the spec allows the delta of the selection of keys": lambda: change(
            "keys", {"key_selection": KeySelection(Fraction(1, 10**9))}
        ),
        "the selection of keys costs no more rho, but for the spec's delta, than "
        "it claims": lambda: change("keys", loss=replace(get_first_keys().loss, rho=TINY_RHO)),
        "the selection of keys costs no more epsilon and delta than it claims": lambda: change(
            "keys", threshold=(get_first_keys().threshold or 0) - 1
        ),
        # --- measures
        "it has a measure": lambda: change("count", measures=(), transform=((),)),
        "each measure has the quantity or the column of its kind, and no other": lambda: change(
            "count", measures=(Measure(MeasureKind.SUM),)
        ),
        "each quantity is on an exact integer grid and states the number that "
        "replaces a null": lambda: change(
            "count",
            measures=(Measure(MeasureKind.SUM, Quantity("x", Grid(ONE, 0, 9), 10)),),
        ),
        "a query has two parts of a ratio, or none": lambda: change("ratio", {"denominator": None}),
        "measures use one quantity, or two of a ratio, unless of a strategy": third_quantity,
        "a measure has the survey weight of the query, at least 0 and with few "
        "steps, or none": lambda: weigh(plan("count"), measures=(RECORDS,)),
        "only records, values and sums of values are weighted, and their "
        "products are exact": lambda: weigh(
            plan("count"), measures=(Measure(MeasureKind.UNITS, survey_weight=WEIGHT),)
        ),
        "units and distinct values are counted by one measure, in one integer": lambda: change(
            "distinct", transform=((1,), (1,)), unit=(ONE, ONE)
        ),
        # --- forms
        "only quantiles have a scheme": lambda: change(
            "count", scheme=get_first("quantiles").scheme
        ),
        "only quantiles and mixed cells have points": lambda: change(
            "count", points=get_first("quantiles").points
        ),
        "only quantiles have weights of points": lambda: change("count", survey_weight=WEIGHT),
        "noisy numbers have no candidates": lambda: change(
            "count", {"candidates": get_first("best").query.candidates}
        ),
        "numbers have additive noise, or none": lambda: change(
            "count", noise=Noise(NoiseFamily.EXPONENTIAL, ONE)
        ),
        "only a staircase has stairs": lambda: change(
            "count", noise=Noise(NoiseFamily.LAPLACE, ONE, 1, 1)
        ),
        "only noise that is cut has a reach": lambda: change(
            "count", noise=Noise(NoiseFamily.LAPLACE, ONE, reach=1)
        ),
        "noise is cut at a whole number, not below its scale, and of at most 100,000": lambda: (
            change("count", noise=Noise(NoiseFamily.CUT_LAPLACE, Fraction(9), reach=8), threshold=9)
        ),
        "keys are shown above what cut noise reaches, and it is for no other step": lambda: change(
            "count", noise=Noise(NoiseFamily.CUT_LAPLACE, ONE, reach=30)
        ),
        "stairs are whole, with a first part, and no shorter than 1/32 of the scale": lambda: (
            change("count", noise=Noise(NoiseFamily.STAIRCASE, ONE, 4, 5))
        ),
        "a step with staircase noise releases one integer for each cell and "
        "selects no keys": lambda: change("mean", noise=Noise(NoiseFamily.STAIRCASE, ONE, 10, 4)),
        "only the integers of a cube are drawn together": lambda: change(
            "count", noise=Noise(NoiseFamily.LAPLACE, ONE, integers=1)
        ),
        "integers that have noise together are noisy numbers of public cells, "
        "and not mixed": lambda: change(
            "running",
            axes=(AxisMatrix(AxisKind.RUNNING, ((1, 1),)),),
            noise=Noise(NoiseFamily.CUBE, Fraction(2), integers=1),
        ),
        "a step with an axis releases one integer for each label": lambda: change(
            "top", transform=((1,), (1,)), unit=(ONE, ONE)
        ),
        "the query has an axis or candidates": lambda: change("mode", {"axis": None}),
        "an axis is public, with one label for each of its keys or bins": lambda: change(
            "mode", {"axis": replace(axis(), labels=("u",))}
        ),
        "the query picks at least one label, and no more labels than the axis has": lambda: change(
            "mode", {"picks": 4}
        ),
        "a choice selects no keys": lambda: change("mode", threshold=9),
        "a choice uses the exponential mechanism or permute-and-flip": lambda: change(
            "mode", noise=Noise(NoiseFamily.LAPLACE, ONE)
        ),
        "a choice uses one score": lambda: change("mode", transform=((1,), (1,)), unit=(ONE, ONE)),
        "a choice has no survey weight": lambda: weigh(plan("mode")),
        "labels of an axis are scored by records, values or units": lambda: change(
            "mode", measures=(Measure(MeasureKind.SUM, Quantity("x", Grid(ONE, 0, 1))),)
        ),
        "no factor of a score is negative": lambda: change("mode", transform=((-1,),)),
        "a query has candidates or an axis, not both": lambda: change("best", {"axis": axis()}),
        "a query with candidates is no ratio": lambda: change("best", {"numerator": Part()}),
        "candidates have scores and no measures": lambda: change(
            "best", measures=(RECORDS,), transform=((1,),)
        ),
        "no candidate is listed twice": lambda: candidates(texts=("1", "1", "2")),
        "the query picks at least one candidate, and no more candidates than it lists": lambda: (
            change("best", {"picks": 4})
        ),
        "the scores of candidates are on an exact integer grid that starts at 0": lambda: (
            candidates(grid=Grid(ONE, -1, 4))
        ),
        # --- quantiles
        "the scheme of quantiles has the quantiles that the query asks for": lambda: (
            change_quantiles(scheme=None)
        ),
        "quantiles have points on an exact integer grid and a number that "
        "replaces a null": lambda: change_quantiles(points=None),
        "points have the survey weight of the query, at least 0 and with few "
        "steps, or none": lambda: change_quantiles(survey_weight=WEIGHT),
        "quantiles have no axis": lambda: change_quantiles({"axis": axis()}),
        "quantiles have no candidates": lambda: change_quantiles(
            {"candidates": get_first("best").query.candidates}
        ),
        "quantiles do not form a ratio": lambda: change_quantiles({"numerator": Part()}),
        "quantiles have no measures": lambda: change_quantiles(
            measures=(RECORDS,), transform=((1,),) * 3
        ),
        "quantiles select no keys": lambda: change_quantiles(threshold=9),
        "one integer is released for each quantile": lambda: change_quantiles(
            transform=((),), unit=(ONE,)
        ),
        "the quantiles increase and are between 0 and 1": falling_quantiles,
        "each selection is within a part left by earlier ones, until all "
        "quantiles are selected": lambda: scheme(index=4),
        "the target of each selection is between 0 and 1, with a denominator of "
        "at most 10^6": lambda: scheme(target=ONE),
        "the target of each selection is its quantile within the part": lambda: scheme(
            target=Fraction(1, 3)
        ),
        "the rate of each selection is above 0": lambda: scheme(rate=ZERO),
        "quantiles are selected by the exponential mechanism": lambda: change_quantiles(
            noise=replace(get_first("quantiles").noise, family=NoiseFamily.PERMUTE_AND_FLIP)
        ),
        "the stated rate is the rate of the first selection": lambda: change_quantiles(
            noise=Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 100))
        ),
        "the outputs that may be selected increase within the bounds": lambda: change_quantiles(
            {"points": (3, 2)}
        ),
        # --- what steps cost
        "it costs no more epsilon than it claims": lambda: claim_less(plan("count")),
        "it costs no more rho than it claims": lambda: claim_less(
            plan("mode", rho=0.1, epsilon=None), rho=True
        ),
        "its integers change by no more than the L1 sensitivity that it states": lambda: (
            state_sensitivity("count", l1=0)
        ),
        "its integers change by no more than the squared L2 sensitivity that it states": lambda: (
            state_sensitivity("count", l2_squared=0)
        ),
        "no more of its integers change at once than it states": lambda: state_sensitivity(
            "count", coordinates=0
        ),
        "integers without noise are the same in all neighbours": lambda: change(
            "count", noise=NO_NOISE, loss=FREE
        ),
        "Gaussian noise claims a rho": lambda: with_step(
            gaussian(), loss=replace(gaussian().steps[0].loss, rho=None)
        ),
        "Gaussian noise costs no more rho than it claims": lambda: claim_less(gaussian(), rho=True),
        "Gaussian noise costs no more delta, at its epsilon, than it claims": lambda: with_step(
            gaussian(), loss=replace(gaussian().steps[0].loss, delta=Fraction(1, 10**9))
        ),
        "scores are monotone only if neighbours add or remove rows": lambda: with_step(
            plan("mode", adjacency="replace-one"),
            sensitivity=Sensitivity(9, 9, 9, monotone=True, choice_l1=9),
        ),
        "scores change by no more than the sensitivity that it states": lambda: state_sensitivity(
            "mode", choice_l1=0
        ),
        "a unit has no more rows in quantiles than the sensitivity that it states": lambda: (
            state_sensitivity("quantiles", l1=0)
        ),
        # --- people whose totals are scaled
        "totals of people are scaled where a unit is a person": lambda: change(
            "count", {"clip": Clip(ClipNorm.L1, 1)}
        ),
        "totals are scaled to a known norm, of 1 to 2^50 steps": lambda: clipped(bound=0),
        "scaled totals are released as numbers": lambda: with_step(
            people("mode"), {"clip": Clip(ClipNorm.L1, 1)}
        ),
        "scaled totals are numbers of rows, or sums": lambda: with_step(
            people("clipped"), measures=(Measure(MeasureKind.UNITS),)
        ),
        "scaled totals lie in public cells": lambda: with_step(people("clipped"), {"axis": axis()}),
        "scaled totals select no keys, and are not mixed": lambda: with_step(
            people("clipped"), threshold=3
        ),
        # --- cells mixed along axes
        "a step that mixes cells along axes releases noisy numbers": lambda: change(
            "mode", axes=(EACH,)
        ),
        "a step that mixes cells along axes selects no keys": lambda: change("keys", axes=(EACH,)),
        "a step that mixes cells along axes counts the records of each cell once": lambda: change(
            "mean", axes=(EACH,)
        ),
        "records are counted by the values of a grid with bounds, without "
        "measures or an axis": lambda: change(
            "count", axes=(EACH, EACH), points=get_first("quantiles").points
        ),
        "groups that are mixed are public": lambda: change("keys", axes=(EACH,), threshold=None),
        "there is a matrix for each group and for the axis, or none": lambda: change(
            "count", axes=(EACH, EACH)
        ),
        "each matrix has integers for all labels of its axis, and the content of "
        "its kind": lambda: change("count", axes=(AxisMatrix(AxisKind.RUNNING, ((1,),)),)),
        "cells are mixed along a statistic's own columns alone, each of them": lambda: change(
            "count", axes=(CENTRED,)
        ),
        "it releases the content of its query's statistic, or the sums of its column": lambda: (
            change("count", measures=(replace(RECORDS, where=WHERE),))
        ),
    },
    'table "by_s"': {
        # --- private keys
        "all queries of a table with private keys have the same groups": lambda: change(
            "keys", {"groups": ()}, at=1
        ),
        "one step selects its keys": select_twice,
    },
    'step 1, "m"': {
        "keys are selected by one filter": lambda: with_step(
            select_by_mean(), measures=filter_one(select_by_mean().steps[0])
        ),
    },
    'step 1, "together"': {
        "the noise of a cell has an integer for each that is released, and no "
        "more than 4,096": lambda: plans.change_step(
            plans.plan_together(), 0, noise=Noise(NoiseFamily.CUBE, Fraction(1), integers=2)
        ),
        "over all cells, the integer that changes most does so by no more than it states": lambda: (
            plans.change_step(
                plans.plan_together(),
                0,
                sensitivity=replace(plans.plan_together().steps[0].sensitivity, cube=0),
            )
        ),
    },
    'the figures of "n"': {
        "figures are read from totals that are scaled as their query says": lambda: ask_of_read(
            people("clipped", "the same"), "n", clip=None
        ),
        "integers of weighted records are read by their own query alone": count_of_weighted_records,
        "integers that are read are released": lambda: read(plan("shared"), "n", rows=(0, 1, 2, 9)),
        "the step counts the records of the query's filter": share_filter,
        "there is a factor for each integer that is read": lambda: read(
            plan("shared"), "n", factors=(ONE,)
        ),
    },
    'the figures of "q"': {
        "sums of scaled totals are read as their own": lambda: read(
            people("clipped"), "q", reading=Reading.LINEAR, rows=(0,), factors=(ONE,)
        ),
        # --- figures
        "their noise comes from the mechanism that the spec asks for": lambda: change(
            "count", {"mechanism": "gaussian"}
        ),
        "only combined figures are rounded to decimals": lambda: read(
            plan("count"), "q", decimals=1
        ),
        "integers that have noise together are read by combined figures alone": lambda: change(
            "count",
            noise=Noise(NoiseFamily.CUBE, Fraction(1), integers=1),
            sensitivity=replace(plan("count").steps[0].sensitivity, cube=1),
        ),
        "cells that are mixed along axes are read by their own query alone": lambda: read(
            change("running", axes=(AxisMatrix(AxisKind.RUNNING, ((1, 1),)),)),
            "q",
            rows=(0,),
        ),
        "figures that are not read from chosen integers are read as their own": lambda: read(
            plan("count"), "q", reading=Reading.LINEAR
        ),
        "a query's own figures have no factors, sums over groups or screens": lambda: read(
            plan("count"), "q", screened=True
        ),
        "the query asks for the same figure as the step": lambda: read(plan("two"), "q", step="r"),
        "integers are read from a step that releases noisy numbers": lambda: read(
            plan("quantiles"), "q", rows=(0,)
        ),
        "integers are not read by the labels of an axis": lambda: read(plan("top"), "q", rows=(0,)),
        # --- figures that are combined
        "only combined figures have terms": lambda: read(
            plan("count"), "q", terms=(Term("q", ONE),)
        ),
    },
    'step 1, "total"': {
        # --- strategies
        "a strategy releases numbers": lambda: plans.change_step(
            plans.plan_conditions(),
            0,
            {"axis": axis()},
            form=Form.CHOICE,
            noise=Noise(NoiseFamily.EXPONENTIAL, ONE),
        ),
        "a strategy counts records, or adds up values of columns of the "
        "release's queries": lambda: plans.change_step(
            plans.plan_conditions(), 0, measures=(Measure(MeasureKind.UNITS),)
        ),
        "integers of a strategy are counts, or in the steps of one column": lambda: (
            plans.change_step(plans.plan_conditions(), 0, unit=(HALF,))
        ),
        "a strategy asks for counts by groups and a filter alone": lambda: plans.change_step(
            plans.plan_conditions(), 0, {"axis": axis()}
        ),
        "the filters of a strategy are filters of queries of the release": lambda: (
            plans.change_step(
                plans.plan_conditions(),
                0,
                {"where": WHERE},
                measures=(replace(RECORDS, where=WHERE),),
            )
        ),
        "a strategy has its own filter, or several over all rows": lambda: plans.change_step(
            plans.plan_conditions(), 0, {"where": plans.plan_conditions().reads[1].query.where}
        ),
        "only their number limits the rows of a unit that a strategy counts": lambda: (
            plans.plan_conditions(people=True, in_cells=1)
        ),
    },
    'step 1, "cells"': {
        "only counts of records by different filters can be apart": lambda: plans.change_step(
            plans.plan_full(), 0, apart=True
        ),
        "groups of a strategy are public, with a label for every record": lambda: plans.change_step(
            plans.plan_full(), 0, {"groups": plans.plan_full().reads[1].query.groups}
        ),
        "the groups of a strategy are groups of queries of the release, each once": lambda: (
            plans.change_step(
                plans.plan_full(), 0, {"groups": plans.build_centred().steps[2].query.groups}
            )
        ),
    },
    'step 1, "apart"': {
        "filters that are said to exclude each other do so, whatever a record holds": lambda: (
            plans.plan_apart(first="y <= 5", second="y >= 5")
        ),
    },
    'query "q"': {
        # --- what a query asks for, and what its step releases
        "its columns are those that the release declares": lambda: change(
            "mean", {"column": replace(get_declared("x"), grid=Grid(ONE, 0, 9))}
        ),
        "it has the details that its statistic takes, and no others": lambda: change(
            "count", {"quantiles": (HALF,)}
        ),
        "the labels and bins of a statistic belong to its own columns": lambda: change(
            "mode", {"column": get_declared("g")}
        ),
        "quantiles that are read from counts along a column are between 0 and 1": lambda: change(
            "running", {"quantiles": (ONE,)}
        ),
        "a median, minimum or maximum is the quantile that it stands for": lambda: change(
            "quantiles", {"statistic": "median"}
        ),
    },
    'the figures of "s"': {
        "the step releases the content of the query's statistic": lambda: read(
            plan("sums"), "s", rows=(), reading=Reading.OWN, factors=()
        ),
        "the step uses the query's column": lambda: ask_of_read(
            plan("shared"), "s", column=plan("shared").release.columns["x"]
        ),
        "the combination of integers is the count or sum of the query": lambda: read(
            plan("shared"), "s", factors=(ONE, ONE, ONE, ONE)[: count_rows_read("s")]
        ),
    },
    'the figures of "m"': {
        "private keys belong to the query's table": read_of_another_table,
        "no integer is read twice": lambda: read(plan("shared"), "m", rows=(0, 0, 1)),
        "the integers are the moments of the query's statistic": lambda: read(
            plan("shared"), "m", rows=(1, 0, 2)
        ),
    },
    'the figures of "coarse"': {
        "the groups that are added up are groups of the step, each once": lambda: read(
            plan("shared"), "coarse", merged=(1, 1)
        ),
        "the other groups are the groups of the query": lambda: read(
            plan("shared"), "coarse", merged=()
        ),
        "groups that are added up have a label for every record": lambda: ask_of_read(
            read(plan("shared"), "coarse", merged=(0,)),
            "coarse",
            groups=get_fine_groups()[1:],
        ),
        "only counts are added up over groups": lambda: ask_of_read(
            plan("shared"), "coarse", statistic="mean"
        ),
        "the screen is a count of records without a value": lambda: read(
            plan("shared"), "coarse", screened=True
        ),
    },
    'the figures of "v"': {
        "moments have no factors, sums over groups or screens": lambda: read(
            plan("shared"), "v", screened=True
        ),
    },
    'the figures of "q1"': {
        "combined figures are sums of terms, and of nothing else": lambda: plans.read(
            plans.plan_conditions(), 1, screened=True
        ),
        "no group of combined figures is listed twice": lambda: plans.read(
            plans.plan_full(), 1, {"groups": plans.plan_full().reads[1].query.groups * 2}
        ),
        "terms are integers that a strategy releases": lambda: plans.term(
            plans.plan_conditions(), 1, 0, row=2
        ),
        "factors of terms are fractions, their parts whole": lambda: plans.term(
            plans.plan_conditions(), 1, 0, factor=0.5
        ),
        "combined figures are rounded to no more decimals than a number can show": lambda: (
            plans.read(plans.plan_conditions(), 1, decimals=16)
        ),
        "terms count the same rows of a unit": lambda: plans.plan_by_filters(people=True),
        "the groups of terms are groups of the step and of the figures": lambda: plans.term(
            plans.build_centred(), 1, 1, groups=(1,)
        ),
        "cells that are added up are released as they are": lambda: plans.term(
            plans.build_centred(), 1, 1, groups=()
        ),
        "the terms add up to what the query asks, part by part": lambda: plans.term(
            plans.build_centred(), 1, 1, factor=ONE
        ),
    },
    'the figures of "q0"': {
        "combined figures are made of sums over records in public cells": lambda: plans.read(
            plans.plan_conditions(), 0, {"statistic": "count_units"}
        ),
    },
    "the record-level tables": {
        # --- record-level tables
        "the plan has the record-level tables of the spec, in its order": lambda: replace(
            tables(), records=tables().records[::-1]
        ),
        "no two tables have the same name, even in another case": name_table_twice,
        "no query's table has the name of a record-level table": lambda: perturb(
            tables(), name=tables().release.queries[0].table
        ),
        "neighbours of record-level tables replace rows": lambda: privacy(
            tables(), adjacency=Adjacency.ADD_REMOVE
        ),
    },
    'table "t"': {
        "each column is answered once, in order": lambda: table(
            tables(), responses=tables().records[0].responses[:1]
        ),
        "it has columns, each once": lambda: table(perturb(tables(), columns=()), responses=()),
        "it counts as many rows as a unit may have": lambda: table(tables(), rows=2),
        "all answers of a unit cost no more epsilon than the table claims": lambda: table_loss(
            epsilon=ONE
        ),
        "all answers of a unit cost no more delta than the table claims": lambda: table_loss(
            delta=Fraction(-1)
        ),
        "the table claims a delta below 1": lambda: table_loss(delta=ONE),
        "the table claims no more epsilon than the spec allows": claim_more_epsilon_than_asked,
        "the table claims no more delta than the spec allows": lambda: table_loss(delta=HALF),
    },
    'table "t", column "z"': {
        "the column is declared": lambda: column(tables(), 0, name="z"),
    },
    'table "t", column "h"': {
        "the column has labels or numbers, and not both": lambda: column(tables(), 0, group=None),
        "its labels are public and its own": lambda: column(
            tables(), 0, group=replace(answer(0).column.group, column="g")
        ),
        "its law is a law of its labels or of its numbers": lambda: response(
            tables(), 0, law=replace(answer(0).law, labels=9)
        ),
        "its mechanism is the one that is asked for": lambda: column(
            tables(), 0, mechanism=Mechanism.LAPLACE
        ),
        "an answer costs no more than it claims": lambda: response(
            tables(), 0, loss=Loss(answer(0).loss.epsilon / 2)
        ),
    },
    'table "t", column "x"': {
        "its numbers are on its own grid, and none is missing": lambda: change_column_x(
            null_fill=None
        ),
        "its law is the law of its mechanism": lambda: response(
            tables(), 1, mechanism=Mechanism.LAPLACE, law=get_another_law()
        ),
    },
    'table "u", column "g"': {
        "an answer is true with the chance that the spec asks for": lambda: perturb(
            tables(), 1, truth=Fraction(3, 5)
        ),
    },
    'table "d"': {
        "no rho is claimed with a delta": rho_with_delta,
    },
    'table "u"': {
        "all answers of a unit cost no more rho than the table claims": lambda: table_loss(
            1, rho=Fraction(1, 10**6)
        ),
    },
    "the total": {
        # --- the total
        "every step has a rho if the total has one": lambda: replace(
            plan("keys"), loss=replace(plan("keys").loss, rho=ONE)
        ),
        "all steps cost no more rho than is claimed and declared": lambda: total(
            rho=Fraction(1, 10**6)
        ),
        "record-level tables cost no more epsilon than the total": lambda: replace(
            tables(), loss=Loss(ONE)
        ),
        "record-level tables cost no more delta than the total": lambda: replace(
            plan_tables_with_delta(), loss=Loss(Fraction(9))
        ),
        "all steps together cost no more epsilon and delta than the plan claims": lambda: total(
            epsilon=HALF
        ),
        "the total claims no more epsilon than is declared": lambda: privacy(
            plan("count"), epsilon=HALF
        ),
        "the total claims no more delta than is declared": lambda: total(delta=HALF),
        "the plain sum that the plan states is the sum of all losses": lambda: replace(
            plan("two"), basic=Loss(HALF)
        ),
        "the losses are added if the plan says so, and otherwise composed by a "
        "known method": lambda: replace(plan("two"), method="by hand"),
    },
    '"q"': {
        "it costs no more epsilon than its queries state": lambda: change(
            "own epsilon", {"epsilon": Fraction(1, 4)}
        ),
        "it costs no more rho than its queries state": lambda: with_step(
            plan("own rho", epsilon=None), {"rho": Fraction(1, 100)}
        ),
        "it costs no more delta than its queries state": lambda: with_step(
            plan("own delta", delta=1e-6), {"delta": Fraction(1, 10**9)}
        ),
    },
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
    assert sorted(sentences) == sorted(sentence for rules in CASES.values() for sentence in rules)


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


@for_each(
    ("subject", "sentence"), [(subject, rule) for subject, rules in CASES.items() for rule in rules]
)
def test_a_refusal_names_the_rule_and_its_subject(subject: str, sentence: str) -> None:
    broken = CASES[subject][sentence]
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
