"""Whether record-level tables are what the spec asks, and cost no more than they claim.

A table of records is one answer for each cell, drawn from that cell's true value alone. Two
tables that differ in the values of one unit's records differ in at most ``rows`` of them, in each
column by one answer; answers are independent, so that their losses add up. How many records there
are is published: nothing is claimed for neighbours that differ in that.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.kernel.certify.meaning import is_group, is_quantity
from dprelease.kernel.verify.additive import pure_rho
from dprelease.kernel.verify.local_randomizers import law_holds
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
_ASKED = {Mechanism.SUBSET_SELECTION: {Mechanism.RANDOMIZED_RESPONSE}}
"""What else than itself a mechanism may come to: sets of one label are randomised response."""


def are_records(plan: Plan) -> bool:
    """Say whether the record-level tables are those of the spec, and each has a meaning."""
    release = plan.release
    names = [step.perturb.name for step in plan.records]
    return (
        tuple(step.perturb for step in plan.records) == release.perturbs
        and len({name.casefold() for name in names}) == len(names)
        and not {*names} & {read.query.table for read in plan.reads}
        and (not names or release.privacy.adjacency is Adjacency.REPLACE_ONE)
        and all(_means(step, release) for step in plan.records)
    )


def records_hold(step: RecordStep, privacy: Privacy) -> bool:
    """Confirm the loss of a record-level table that means what it says."""
    bounding = privacy.bounding
    rows = 1 if bounding is None else bounding.rows
    cells = [each.loss for each in step.responses]
    epsilon = rows * sum((loss.epsilon for loss in cells), Fraction(0))
    delta = rows * sum((loss.delta for loss in cells), Fraction(0))
    claimed = step.loss
    stated = step.perturb
    return (
        step.rows == rows
        and all(_law_holds(each) for each in step.responses)
        and (stated.truth is None or all(_truthful(each, stated.truth) for each in step.responses))
        and epsilon <= claimed.epsilon
        and delta <= claimed.delta < 1
        and (stated.epsilon is None or claimed.epsilon <= stated.epsilon)
        and (stated.epsilon is None or claimed.delta <= stated.delta)
        and (claimed.rho is None or (delta == 0 and pure_rho(epsilon) <= claimed.rho))
    )


def _truthful(response: Response, truth: Fraction) -> bool:
    """Whether an answer is true with the chance that is asked for, to 2^-64, or says less."""
    law = response.law
    if not isinstance(law, SubsetLaw) or law.size != 1 or response.loss.delta:
        return False
    even, kept = Fraction(1, law.labels), law.keep
    between = even < kept <= truth if truth > even else truth <= kept < even
    return between and abs(truth - kept) < _UNIT


def _law_holds(response: Response) -> bool:
    quantity = response.column.quantity
    width = None if quantity is None else quantity.grid.width
    return law_holds(response.law, width, response.loss)


def _means(step: RecordStep, release: Release) -> bool:
    """Each column is one of the release, answered once, by a law of its kind."""
    columns = step.perturb.columns
    return (
        [each.column for each in step.responses] == list(columns)
        and len({column.name for column in columns}) == len(columns) > 0
        and all(_is_column(column, release) for column in columns)
        and all(_fits(each) for each in step.responses)
    )


def _is_column(column: PerturbedColumn, release: Release) -> bool:
    known = release.columns.get(column.name)
    group, quantity = column.group, column.quantity
    if known is None or (group is None) is (quantity is None):
        return False
    if group is not None:
        return group.column == column.name and not group.private and is_group(group)
    if quantity is None or quantity.column != column.name or known.grid != quantity.grid:
        return False
    return quantity.null_fill is not None and is_quantity(quantity)


def _fits(response: Response) -> bool:
    law, group = response.law, response.column.group
    if isinstance(law, SubsetLaw) is not (group is not None):
        return False
    if group is not None and isinstance(law, SubsetLaw) and law.labels != len(group.labels):
        return False
    asked, used = response.column.mechanism, response.mechanism
    meant = asked in {Mechanism.AUTO, used} or used in _ASKED.get(asked, ())
    return meant and used is _mechanism_of(law)


def _mechanism_of(law: Law) -> Mechanism:
    if isinstance(law, SubsetLaw):
        return Mechanism.RANDOMIZED_RESPONSE if law.size == 1 else Mechanism.SUBSET_SELECTION
    return Mechanism.LAPLACE if isinstance(law, LaplaceLaw) else Mechanism.PIECEWISE


def added(plan: Plan) -> Loss:
    """What all record-level tables claim together."""
    losses = [step.loss for step in plan.records]
    rhos = [loss.rho for loss in losses if loss.rho is not None]
    return Loss(
        sum((loss.epsilon for loss in losses), Fraction(0)),
        sum((loss.delta for loss in losses), Fraction(0)),
        sum(rhos, Fraction(0)) if len(rhos) == len(losses) else None,
    )
