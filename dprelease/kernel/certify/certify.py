"""The second opinion: derive the loss again from what will be executed, and refuse what is not so.

Nothing of the planner is used: neither the statistics' sensitivities nor the calibration. What one
unit can do is derived from the measures, the transform, the groups and the bounds that will be
executed (``certifying``); what the noise, the keys and the choices cost is bounded by
``privacy.witness``, ``privacy.threshold_witness`` and ``privacy.quantile_witness``.
"""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.kernel.certify.local_tables import records_hold
from dprelease.kernel.certify.step_loss import step_holds
from dprelease.kernel.certify.total_loss import total_holds, within_declared
from dprelease.kernel.certify.well_formed import is_executable
from dprelease.model import Plan


@dataclass(frozen=True, slots=True)
class CertifiedPlan:
    """A plan whose claim was confirmed. Only ``certify`` makes one."""

    plan: Plan


def certify(plan: Plan) -> CertifiedPlan:
    """Confirm that a plan costs at most what it claims, and at most the declared total.

    Raises Failure (exit code 70: a bug of ours, nothing was released) when it can't.
    """
    _confirm(is_executable(plan), "that it means what it says")
    for step in plan.steps:
        _confirm(step_holds(step, plan.release.privacy), f'the loss of "{step.query.name}"')
    for table in plan.records:
        held = records_hold(table, plan.release.privacy)
        _confirm(held, f'the loss of "{table.perturb.name}"')
    _confirm(total_holds(plan), "the loss of the release")
    _confirm(within_declared(plan), "that the release stays within its total")
    return CertifiedPlan(plan)


def _confirm(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(
            ExitCode.INTERNAL,
            Complaint(
                "E702",
                f"the plan could not be certified: {what} was not confirmed",
                "this is a bug in dprelease; nothing was read, charged or released",
            ),
        )
