"""Whether a plan means to engines and to ``privatize`` what certification takes it to mean.

What a unit can do is derived from measures, transform, groups and forms. That is only right for
plans of the form checked here; any other is refused, whatever it claims. In particular ``requests``
moves a query's filter to the rows of a request, ``privatize`` releases the cells of whatever
private keys it is given, and a unit is only bounded where both the column and the bounds are
stated.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.kernel.certify.local_tables import are_records
from dprelease.kernel.certify.meaning import is_group
from dprelease.kernel.certify.reads import are_reads
from dprelease.kernel.certify.step_forms import is_choice, is_numbers, is_quantiles
from dprelease.model import (
    Adjacency,
    Form,
    Loss,
    MeasureKind,
    NoiseFamily,
    Plan,
    Privacy,
    Query,
    Step,
)

NOTHING = Loss(Fraction(0), Fraction(0), Fraction(0))
FORMS = {Form.NUMBERS: is_numbers, Form.CHOICE: is_choice, Form.QUANTILES: is_quantiles}


def is_executable(plan: Plan) -> bool:
    """Say whether every step, the steps together and all stated losses have a meaning."""
    release = plan.release
    return (
        _answers(plan)
        and len({step.query.name for step in plan.steps}) == len(plan.steps)
        and len(plan.steps) + len(plan.records) > 0
        and are_records(plan)
        and _privacy(release.privacy)
        and _is_loss(plan.loss)
        and all(_step(step) for step in plan.steps)
        and all(
            each.column is None or each.column in release.columns
            for step in plan.steps
            for each in step.measures
        )
        and all(_selected(plan, table) for table in _tables(plan))
    )


def _answers(plan: Plan) -> bool:
    """Every query is read from a step, every step is of a query, and its figures have a meaning."""
    steps = {step.query.name: step for step in plan.steps}
    queries = {query.name: query for query in plan.release.queries}
    return (
        [read.query for read in plan.reads] == list(plan.release.queries)
        and all(queries.get(step.query.name) == step.query for step in plan.steps)
        and all(read.step in steps for read in plan.reads)
        and all(
            all(0 <= row < len(steps[read.step].transform) for row in read.rows)
            for read in plan.reads
        )
        and are_reads(plan)
    )


def _privacy(privacy: Privacy) -> bool:
    """Rows are bounded exactly where units are a column's values; sum totals make sense."""
    bounding, column = privacy.bounding, privacy.unit_column
    bounded = (
        bounding is not None
        and bool(column)
        and min(bounding.rows, bounding.groups, bounding.per_group) >= 1
    )
    free = bounding is None and column is None
    return (
        privacy.adjacency in Adjacency
        and ((privacy.unit == "column" and bounded) or (privacy.unit == "row" and free))
        and 0 <= privacy.delta < 1
    )


def _is_loss(loss: Loss) -> bool:
    return loss.epsilon >= 0 and 0 <= loss.delta < 1 and (loss.rho is None or loss.rho >= 0)


def _step(step: Step) -> bool:
    return (
        len(step.unit) == len(step.transform) > 0
        and all(len(row) == len(step.measures) for row in step.transform)
        and all(type(factor) is int for row in step.transform for factor in row)
        and all(map(is_group, step.query.groups))
        and FORMS[step.form](step)
        and _is_loss(step.loss)
        and _noise(step)
    )


def _noise(step: Step) -> bool:
    if step.noise.family is NoiseFamily.NONE:
        return step.loss == NOTHING and step.noise.parameter == 0 and step.threshold is None
    return step.noise.parameter > 0 and step.loss.epsilon > 0


# --- private keys -------------------------------------------------------------------------------


def _tables(plan: Plan) -> list[str]:
    """The tables whose keys are private or selected."""
    return [
        step.query.table for step in plan.steps if step.query.private or step.threshold is not None
    ]


def _selected(plan: Plan, table: str) -> bool:
    """One step selects the keys of a table; all others release the cells of these very keys.

    They may do so in any form: as with public keys, cells are independent, and what a unit can do
    in all of them together is bounded, however many there are (``limits``).
    """
    steps = [step for step in plan.steps if step.query.table == table]
    selecting = [step for step in steps if step.threshold is not None]
    same_keys = all(step.query.groups == steps[0].query.groups for step in steps)
    people = plan.release.privacy.bounding is not None
    return same_keys and len(selecting) == 1 and _selects(selecting[0], people)


def _selects(step: Step, people: bool) -> bool:
    """A key is shown for its number of units alone, which no unit moves by more than 1."""
    query = step.query
    return (
        query.private
        and step.form is Form.NUMBERS
        and query.axis is None
        and query.candidates is None
        and len(step.measures) == 1
        and _counts_units(step.measures[0].kind, people)
        and step.transform == ((1,),)
        and step.noise.family in {NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN}
        and type(step.threshold) is int
        and step.threshold >= 2
        and _revealing_delta(query) >= step.loss.delta > 0
    )


def _counts_units(kind: MeasureKind, people: bool) -> bool:
    return kind is MeasureKind.UNITS or (kind is MeasureKind.RECORDS and not people)


def _revealing_delta(query: Query) -> Fraction:
    """What the spec allows for showing keys; nothing without a selection."""
    return query.key_selection.delta if query.key_selection is not None else Fraction(0)
