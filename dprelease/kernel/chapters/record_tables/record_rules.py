"""Whether record-level tables are what the spec asks, and cost no more than they claim.

A table of records is one answer for each cell, drawn from that cell's true value alone. Two
tables that differ in the values of one unit's records differ in at most ``rows`` of them, in each
column by one answer; answers are independent, so that their losses add up. How many records there
are is published: nothing is claimed for neighbours that differ in that.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.chapters.record_tables.response_loss import is_law_confirmed
from dprelease.kernel.core.additive_loss import bound_pure_rho
from dprelease.kernel.core.rules import AtMost, Breach, Rule, Rules, find_breaches
from dprelease.kernel.core.step_forms import is_group, is_quantity
from dprelease.kernel.core.total_loss import add_losses
from dprelease.model import (
    Adjacency,
    LaplaceLaw,
    Law,
    Loss,
    Mechanism,
    PerturbedColumn,
    Plan,
    Privacy,
    RecordStep,
    Release,
    Response,
    SubsetLaw,
)

_UNIT = Fraction(1, 1 << 64)
_ALSO = {Mechanism.SUBSET_SELECTION: {Mechanism.RANDOMIZED_RESPONSE}}
"""What else than itself a mechanism may come to: sets of one label are randomised response."""


def find_table_meaning_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what the record-level tables are, against those of the spec."""
    yield from find_breaches(TABLES, plan, "the record-level tables")
    for step in plan.records:
        name = f'table "{step.perturb.name}"'
        yield from find_breaches(TABLE, step, name)
        for response in step.responses:
            answer = _Answer(step, response, plan.release)
            yield from find_breaches(COLUMN, answer, _name_column(name, response))


def find_records_loss_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what the record-level tables cost beyond their claims."""
    for step in plan.records:
        yield from find_table_loss_breaches(step, plan.release.privacy)


def find_table_loss_breaches(step: RecordStep, privacy: Privacy) -> Iterator[Breach]:
    """Give what a record-level table that means what it says costs beyond its claim."""
    name = f'table "{step.perturb.name}"'
    bounding = privacy.bounding
    rows = 1 if bounding is None else bounding.rows
    cells = add_losses(response.loss for response in step.responses)
    yield from find_breaches(ROWS, (step, rows), name)
    for response in step.responses:
        yield from find_breaches(
            RESPONSE, (response, step.perturb.truth), _name_column(name, response)
        )
    yield from find_breaches(
        TABLE_LOSS, (step, Loss(rows * cells.epsilon, rows * cells.delta)), name
    )


def _name_column(table: str, response: Response) -> str:
    return f'{table}, column "{response.column.name}"'


# --- what tables mean ----------------------------------------------------------------------------


def _has_table_names(plan: Plan) -> bool:
    names = {step.perturb.name.casefold() for step in plan.records}
    return len(names) == len(plan.records)


TABLES: Rules[Plan] = (
    Rule(
        "the plan has the record-level tables of the spec, in its order",
        lambda plan: tuple(step.perturb for step in plan.records) == plan.release.perturbs,
    ),
    Rule("no two tables have the same name, even in another case", _has_table_names),
    Rule(
        "no query's table has the name of a record-level table",
        lambda plan: (
            not {step.perturb.name for step in plan.records}
            & {query.table for query in plan.release.queries}
        ),
    ),
    Rule(
        "neighbours of record-level tables replace rows",
        lambda plan: not plan.records or plan.release.privacy.adjacency is Adjacency.REPLACE_ONE,
    ),
)
TABLE: Rules[RecordStep] = (
    Rule(
        "each column is answered once, in order",
        lambda step: tuple(answer.column for answer in step.responses) == step.perturb.columns,
    ),
    Rule(
        "it has columns, each once",
        lambda step: (
            len({column.name for column in step.perturb.columns}) == len(step.perturb.columns) > 0
        ),
    ),
)


class _Answer(Struct, frozen=True):
    """A column of a table of a release, and by which law it is answered."""

    step: RecordStep
    response: Response
    release: Release

    @property
    def column(self) -> PerturbedColumn:
        return self.response.column

    @property
    def quantity_fits(self) -> bool:
        """A number that is never missing, on the grid of the declared column."""
        quantity = self.column.quantity
        if quantity is None:
            return True
        declared = self.release.columns[self.column.name]
        return (
            quantity.column == self.column.name
            and quantity.grid == declared.grid
            and quantity.null_fill is not None
            and is_quantity(quantity)
        )

    @property
    def labels_fit(self) -> bool:
        """Tell whether the labels are the column's own public ones."""
        group = self.column.group
        if group is None:
            return True
        declared = self.release.columns[self.column.name]
        own = group.column == self.column.name and group.type is declared.type
        return own and not group.private and is_group(group)

    @property
    def law_fits(self) -> bool:
        """A law over these very labels, or one over numbers."""
        law, group = self.response.law, self.column.group
        if isinstance(law, SubsetLaw):
            return group is not None and law.labels == len(group.labels)
        return group is None

    @property
    def mechanism_fits(self) -> bool:
        """The mechanism that the spec asks for, or what that comes to."""
        requested, actual = self.column.mechanism, self.response.mechanism
        return requested in {Mechanism.AUTO, actual} or actual in _ALSO.get(requested, ())


COLUMN: Rules[_Answer] = (
    Rule("the column is declared", lambda case: case.column.name in case.release.columns),
    Rule(
        "the column has labels or numbers, and not both",
        lambda case: (case.column.group is None) is not (case.column.quantity is None),
    ),
    Rule("its labels are public and its own", lambda case: case.labels_fit),
    Rule("its numbers are on its own grid, and none is missing", lambda case: case.quantity_fits),
    Rule("its law is a law of its labels or of its numbers", lambda case: case.law_fits),
    Rule("its mechanism is the one that is asked for", lambda case: case.mechanism_fits),
    Rule(
        "its law is the law of its mechanism",
        lambda case: case.response.mechanism is _define_mechanism(case.response.law),
    ),
)


def _define_mechanism(law: Law) -> Mechanism:
    if isinstance(law, SubsetLaw):
        return Mechanism.RANDOMIZED_RESPONSE if law.size == 1 else Mechanism.SUBSET_SELECTION
    return Mechanism.LAPLACE if isinstance(law, LaplaceLaw) else Mechanism.PIECEWISE


# --- what tables cost ----------------------------------------------------------------------------


def _is_law_confirmed(answer: tuple[Response, Fraction | None]) -> bool:
    response, _ = answer
    quantity = response.column.quantity
    width = None if quantity is None else quantity.grid.width
    return is_law_confirmed(response.law, width, response.loss)


def _is_truthful(answer: tuple[Response, Fraction | None]) -> bool:
    """Tell whether an answer is true with the chance that is asked for, to 2^-64, or says less."""
    response, truth = answer
    law = response.law
    if truth is None:
        return True
    if not isinstance(law, SubsetLaw) or law.size != 1 or response.loss.delta:
        return False
    even, keep = Fraction(1, law.labels), law.keep
    between = even < keep <= truth if truth > even else truth <= keep < even
    return between and abs(truth - keep) < _UNIT


ROWS: Rules[tuple[RecordStep, int]] = (
    Rule("it counts as many rows as a unit may have", lambda case: case[0].rows == case[1]),
)
RESPONSE: Rules[tuple[Response, Fraction | None]] = (
    Rule("an answer costs no more than it claims", _is_law_confirmed),
    Rule("an answer is true with the chance that the spec asks for", _is_truthful),
)
TABLE_LOSS: Rules[tuple[RecordStep, Loss]] = (
    AtMost(
        "all answers of a unit cost no more epsilon than the table claims",
        lambda case: (case[1].epsilon, case[0].loss.epsilon),
    ),
    AtMost(
        "all answers of a unit cost no more delta than the table claims",
        lambda case: (case[1].delta, case[0].loss.delta),
    ),
    Rule("the table claims a delta below 1", lambda case: case[0].loss.delta < 1),
    AtMost(
        "the table claims no more epsilon than the spec allows",
        lambda case: (
            None
            if case[0].perturb.epsilon is None
            else (case[0].loss.epsilon, case[0].perturb.epsilon)
        ),
    ),
    AtMost(
        "the table claims no more delta than the spec allows",
        lambda case: (
            None if case[0].perturb.epsilon is None else (case[0].loss.delta, case[0].perturb.delta)
        ),
    ),
    Rule(
        "no rho is claimed with a delta", lambda case: case[0].loss.rho is None or not case[1].delta
    ),
    AtMost(
        "all answers of a unit cost no more rho than the table claims",
        lambda case: (
            None
            if case[0].loss.rho is None
            else (bound_pure_rho(case[1].epsilon), case[0].loss.rho)
        ),
    ),
)
