"""Whether a plan means to engines and to ``privatize`` what certification takes it to mean.

What a unit can do is derived from measures, transform, groups and forms. That is only right for
plans of the form checked here; any other is refused, whatever it claims. In particular
``engine_requests`` moves a query's filter to the rows of a request, ``privatize`` releases the
cells of whatever private keys it is given, and a unit is only bounded where both the column and
the bounds are stated.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.kernel.core.chapters import Chapters, is_of_strategy
from dprelease.kernel.core.record_weights import WEIGHTS
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.step_forms import find_form_breaches, is_group
from dprelease.model import (
    Adjacency,
    Form,
    Loss,
    NoiseFamily,
    Plan,
    Privacy,
    Reading,
    Step,
)
from dprelease.model.key_thresholds import list_wanted_queries

NOTHING = Loss(Fraction(0), Fraction(0), Fraction(0))


def find_meaning_breaches(plan: Plan, chapters: Chapters) -> Iterator[Breach]:
    """Give what has no meaning, or another one, in the plan, its steps and what is read of them."""
    yield from find_breaches(PLAN, plan, "the plan")
    yield from find_breaches(PRIVACY, plan.release.privacy, "the plan")
    yield from find_breaches(LOSS, plan.loss, "the plan")
    yield from chapters.find_missing(plan)
    for name, step in name_steps(plan):
        yield from find_breaches(STEP, step, name)
        if step.form is not Form.QUANTILES:
            yield from find_form_breaches(step, name)
        yield from find_breaches(WEIGHTS, step, name)
        yield from find_breaches(LOSS, step.loss, name)
        yield from find_breaches(STAIRS, step, name)
        noisy = step.noise.family is not NoiseFamily.NONE
        yield from find_breaches(NOISY if noisy else NOISELESS, step, name)
    for chapter in chapters.rules.values():
        yield from chapter.meaning(plan)


# --- the plan and its total ----------------------------------------------------------------------


def _is_every_step_of_queries(plan: Plan) -> bool:
    queries = {query.name: query for query in plan.release.queries}
    return all(
        queries[step.query.name] == step.query
        if step.query.name in queries
        else is_of_strategy(step)
        for step in plan.steps
    )


def _is_every_strategy_read(plan: Plan) -> bool:
    """Tell whether a combined figure is read from each step of no query of the release."""
    names = {query.name for query in plan.release.queries}
    for read in plan.reads:
        names |= {*read.steps} if read.reading is Reading.COMBINED else set()
    return names.issuperset(step.query.name for step in plan.steps)


PLAN: Rules[Plan] = (
    Rule("the plan releases something", lambda plan: len(plan.steps) + len(plan.records) > 0),
    Rule(
        "every query of the release is answered once, in the order of the spec",
        lambda plan: [read.query for read in plan.reads] == list_wanted_queries(plan),
    ),
    Rule(
        "every step belongs to a query of the release or to a strategy", _is_every_step_of_queries
    ),
    Rule(
        "no two steps belong to one query",
        lambda plan: len({step.query.name for step in plan.steps}) == len(plan.steps),
    ),
    Rule(
        "every query is read from a step, or from several",
        lambda plan: (
            {name for read in plan.reads for name in (read.step, *read.steps)}
            <= {step.query.name for step in plan.steps}
        ),
    ),
    Rule("combined figures are read from every step of a strategy", _is_every_strategy_read),
)


def _is_bounding_units(privacy: Privacy) -> bool:
    """Tell whether rows are bounded exactly where units are a column's values."""
    bounding, column = privacy.bounding, privacy.unit_column
    if privacy.unit == "row":
        return bounding is None and column is None
    bounded = bounding is not None and min(bounding.rows, bounding.groups, bounding.per_group) >= 1
    return privacy.unit == "column" and bool(column) and bounded


PRIVACY: Rules[Privacy] = (
    Rule(
        "the plan states a known kind of neighbours",
        lambda case: isinstance(case.adjacency, Adjacency),
    ),
    Rule("units are rows, or the values of a column with bounds of at least 1", _is_bounding_units),
    Rule("the declared delta is at least 0 and below 1", lambda privacy: 0 <= privacy.delta < 1),
)
LOSS: Rules[Loss] = (
    Rule("the claimed epsilon is at least 0", lambda loss: loss.epsilon >= 0),
    Rule("the claimed delta is at least 0 and below 1", lambda loss: 0 <= loss.delta < 1),
    Rule("the claimed rho is at least 0", lambda loss: loss.rho is None or loss.rho >= 0),
)

# --- steps ---------------------------------------------------------------------------------------


STEP: Rules[Step] = (
    Rule("it has a known form", lambda step: isinstance(step.form, Form)),
    Rule("it releases something", lambda step: len(step.transform) > 0),
    Rule("each released integer has a unit", lambda step: len(step.unit) == len(step.transform)),
    Rule(
        "each released integer has a factor for each measure",
        lambda step: all(len(row) == len(step.measures) for row in step.transform),
    ),
    Rule(
        "all factors are integers",
        lambda step: all(set(map(type, row)) <= {int} for row in step.transform),
    ),
    Rule(
        "each group has one label for each of its keys or bins, or is private",
        lambda step: all(map(is_group, step.query.groups)),
    ),
)
STAIRS: Rules[Step] = (
    Rule(
        "only a staircase has stairs",
        lambda s: s.noise.family is NoiseFamily.STAIRCASE or s.noise.stair == s.noise.first == 0,
    ),
)
NOISELESS: Rules[Step] = (
    Rule("it claims no loss, because it has no noise", lambda step: step.loss == NOTHING),
    Rule(
        "its noise parameter is 0, because it has no noise", lambda step: step.noise.parameter == 0
    ),
    Rule("it selects no keys, because it has no noise", lambda step: step.threshold is None),
)
NOISY: Rules[Step] = (
    Rule("the parameter of its noise is above 0", lambda step: step.noise.parameter > 0),
    Rule("it claims an epsilon above 0, because it has noise", lambda step: step.loss.epsilon > 0),
)

# --- records of the source -----------------------------------------------------------------------


def find_source_breaches(plan: Plan) -> Iterator[Breach]:
    """Find what a plan assumes of the source's records that the spec does not imply.

    Rows of a table are there whatever they hold, and so are lines of CSV that end. What a planner
    took for granted of them is not believed.
    """
    yield from find_breaches(SOURCE, plan, "the plan")


def _has_fixed_records(plan: Plan) -> bool:
    """Tell whether the source fixes the number of records, where that is published or relied on."""
    privacy = plan.release.privacy
    replaced = privacy.adjacency is Adjacency.REPLACE_ONE and privacy.unit == "row"
    relied_on = bool(plan.records) or (replaced and privacy.has_fixed_records)
    return plan.release.data.source.has_fixed_records or not relied_on


SOURCE: Rules[Plan] = (
    Rule("the contents of a record do not change the number of records", _has_fixed_records),
)
