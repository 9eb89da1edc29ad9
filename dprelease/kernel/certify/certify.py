"""Certification of a plan: its loss is derived again from what will be executed.

Nothing of the planner is used: neither the statistics' sensitivities nor the calibration. What one
unit can do is derived from the measures, the transform, the groups and the bounds that will be
executed (``worst_change``); what the noise, the keys and the choices cost is bounded by
``dprelease.kernel.verify``. A refusal says which of the ``rules`` does not hold, and of what.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.kernel.certify.fixed_records import find_source_breaches
from dprelease.kernel.certify.query_budgets import find_budget_breaches
from dprelease.kernel.certify.record_tables import find_table_loss_breaches
from dprelease.kernel.certify.rules import Breach, name_step
from dprelease.kernel.certify.step_loss import step_loss_breaches
from dprelease.kernel.certify.total_loss import find_total_loss_breaches
from dprelease.kernel.certify.well_formed import find_meaning_breaches
from dprelease.model import Plan


class CertifiedPlan(Struct, frozen=True):
    """A plan whose claim was confirmed. Only ``certify`` makes one."""

    plan: Plan


def certify(plan: Plan, *, is_sealed: bool = False) -> CertifiedPlan:
    """Confirm that a plan costs at most what it claims, and at most the declared total.

    What ``is_sealed`` may have been planned by a version that did not ask about ``fixed_records``.
    Raises Failure (exit code 70: a bug of ours, nothing was released) when it can't, with the
    first rule that does not hold.
    """
    breach = next(_iter_breaches(plan, is_sealed=is_sealed), None)
    if breach is not None:
        raise Failure(
            ExitCode.INTERNAL,
            Complaint(
                "E702",
                f"the plan could not be certified: {breach}",
                "this is a bug in dprelease; nothing was read, charged or released",
            ),
        )
    return CertifiedPlan(plan)


def _iter_breaches(plan: Plan, *, is_sealed: bool) -> Iterator[Breach]:
    """Each part relies on all before it, so only the first breach counts."""
    privacy = plan.release.privacy
    yield from find_meaning_breaches(plan)
    if not is_sealed:
        yield from find_source_breaches(plan)
    for number, step in enumerate(plan.steps, start=1):
        yield from step_loss_breaches(step, privacy, name_step(step, number))
    for table in plan.records:
        yield from find_table_loss_breaches(table, privacy)
    yield from find_total_loss_breaches(plan)
    yield from find_budget_breaches(plan)
