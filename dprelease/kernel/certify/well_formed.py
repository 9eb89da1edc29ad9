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

from msgspec import Struct

from dprelease.kernel.certify.definitions import find_definition_breaches
from dprelease.kernel.certify.quantile_forms import find_quantile_breaches
from dprelease.kernel.certify.reads import read_breaches
from dprelease.kernel.certify.record_tables import find_table_meaning_breaches
from dprelease.kernel.certify.rules import Breach, Rule, Rules, find_breaches, name_step
from dprelease.kernel.certify.step_forms import find_form_breaches, is_group
from dprelease.kernel.certify.strategy_steps import (
    collect_stated,
    find_strategy_breaches,
    is_of_strategy,
)
from dprelease.kernel.certify.survey_weights import weight_breaches
from dprelease.model import (
    Adjacency,
    Form,
    Loss,
    MeasureKind,
    NoiseFamily,
    Plan,
    Privacy,
    Query,
    Reading,
    Step,
)

NOTHING = Loss(Fraction(0), Fraction(0), Fraction(0))


def find_meaning_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what has no meaning, or another one, in the plan, its steps and what is read of them."""
    yield from find_breaches(PLAN, plan, "the plan")
    yield from find_breaches(PRIVACY, plan.release.privacy, "the plan")
    yield from find_breaches(LOSS, plan.loss, "the plan")
    yield from find_table_meaning_breaches(plan)
    declared = collect_stated(plan.release)
    for number, step in enumerate(plan.steps, start=1):
        name = name_step(step, number)
        yield from find_breaches(STEP, step, name)
        if step.form is Form.QUANTILES:
            yield from find_quantile_breaches(step, name)
        else:
            yield from find_form_breaches(step, name)
        yield from weight_breaches(step, name)
        yield from find_strategy_breaches(step, declared, name)
        yield from find_breaches(LOSS, step.loss, name)
        yield from find_breaches(STAIRS, step, name)
        noisy = step.noise.family is not NoiseFamily.NONE
        yield from find_breaches(NOISY if noisy else NOISELESS, step, name)
    yield from _find_key_breaches(plan)
    yield from find_definition_breaches(plan)
    yield from read_breaches(plan)


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
    """Whether some combined figure is read from each step that is of no query of the release."""
    names = {query.name for query in plan.release.queries}
    for read in plan.reads:
        names |= {*read.steps} if read.reading is Reading.COMBINED else set()
    return names.issuperset(step.query.name for step in plan.steps)


PLAN: Rules[Plan] = (
    Rule("something is released", lambda plan: len(plan.steps) + len(plan.records) > 0),
    Rule(
        "every query of the release is answered once, in the order of the spec",
        lambda plan: [read.query for read in plan.reads] == list(plan.release.queries),
    ),
    Rule("every step is of a query of the release, or of a strategy", _is_every_step_of_queries),
    Rule(
        "no two steps are of one query",
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
    """Rows are bounded exactly where units are a column's values."""
    bounding, column = privacy.bounding, privacy.unit_column
    if privacy.unit == "row":
        return bounding is None and column is None
    bounded = bounding is not None and min(bounding.rows, bounding.groups, bounding.per_group) >= 1
    return privacy.unit == "column" and bool(column) and bounded


PRIVACY: Rules[Privacy] = (
    Rule("neighbours are of a known kind", lambda case: isinstance(case.adjacency, Adjacency)),
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
    Rule("it is of a known form", lambda step: isinstance(step.form, Form)),
    Rule("something is released of it", lambda step: len(step.transform) > 0),
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
        lambda step: (
            step.noise.family is NoiseFamily.STAIRCASE
            or (step.noise.stair, step.noise.first) == (0, 0)
        ),
    ),
)
NOISELESS: Rules[Step] = (
    Rule("it claims no loss, as it has no noise", lambda step: step.loss == NOTHING),
    Rule("the parameter of no noise is 0", lambda step: step.noise.parameter == 0),
    Rule("it selects no keys, as it has no noise", lambda step: step.threshold is None),
)
NOISY: Rules[Step] = (
    Rule("the parameter of its noise is above 0", lambda step: step.noise.parameter > 0),
    Rule("it claims an epsilon above 0, as it has noise", lambda step: step.loss.epsilon > 0),
)

# --- private keys --------------------------------------------------------------------------------


class _Keys(Struct, frozen=True):
    """All steps of a table whose keys are private or selected, and those that select them."""

    steps: list[Step]
    selecting: list[Step]


class _Selection(Struct, frozen=True):
    """The step that selects, of units that are the values of a column or else rows."""

    step: Step
    units_are_values: bool


def _find_key_breaches(plan: Plan) -> Iterator[Breach]:
    """One step selects the keys of a table; all others release the cells of these very keys.

    They may do so in any form: as with public keys, cells are independent, and what a unit can do
    in all of them together is bounded, however many there are (``unit_limits``).
    """
    units_are_values = plan.release.privacy.bounding is not None
    numbers = {step.query.name: number for number, step in enumerate(plan.steps, start=1)}
    chosen = [step for step in plan.steps if step.query.private or step.threshold is not None]
    for table in dict.fromkeys(step.query.table for step in chosen):
        steps = [step for step in plan.steps if step.query.table == table]
        selecting = [step for step in steps if step.threshold is not None]
        yield from find_breaches(KEYS, _Keys(steps, selecting), f'table "{table}"')
        for step in selecting:
            name = name_step(step, numbers[step.query.name])
            yield from find_breaches(SELECTION, _Selection(step, units_are_values), name)


KEYS: Rules[_Keys] = (
    Rule(
        "all queries of a table with private keys have the same groups",
        lambda keys: all(step.query.groups == keys.steps[0].query.groups for step in keys.steps),
    ),
    Rule("one step selects its keys", lambda keys: len(keys.selecting) == 1),
)


def _is_counting_units(selection: _Selection) -> bool:
    kinds = {measure.kind for measure in selection.step.measures}
    units = {MeasureKind.UNITS}
    return kinds == units or (kinds == {MeasureKind.RECORDS} and not selection.units_are_values)


def _compute_allowed_delta(query: Query) -> Fraction:
    """What the spec allows for showing keys; nothing without a selection."""
    return query.key_selection.delta if query.key_selection is not None else Fraction(0)


# A key is shown for its number of units alone, which no unit moves by more than 1. That a
# threshold is one of numbers with noise follows from the rules of forms and of no noise.
SELECTION: Rules[_Selection] = (
    Rule("keys that are selected are private", lambda case: case.step.query.private),
    Rule("keys are not selected by an axis", lambda case: case.step.query.axis is None),
    Rule("keys are selected by a count of units", _is_counting_units),
    Rule(
        "keys are selected by records that count once",
        lambda case: all(measure.survey_weight is None for measure in case.step.measures),
    ),
    Rule("keys are selected by the count itself", lambda case: case.step.transform == ((1,),)),
    Rule(
        "the threshold of keys is an integer of at least 2",
        lambda case: type(case.step.threshold) is int and case.step.threshold >= 2,
    ),
    Rule("the selection of keys claims a delta", lambda case: case.step.loss.delta > 0),
    Rule(
        "the spec allows the delta of the selection of keys",
        lambda case: _compute_allowed_delta(case.step.query) >= case.step.loss.delta,
    ),
)
