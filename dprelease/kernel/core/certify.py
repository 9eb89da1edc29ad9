"""Certification of a plan: its loss is derived again from what will be executed.

Nothing of the planner is used: neither the statistics' sensitivities nor the calibration. What one
unit can do is derived from the measures, the transform, the groups and the bounds that will be
executed (``worst_change``); what the noise costs is bounded by ``additive_loss``. What else a plan
may have is judged by ``chapters``, which are handed over. A refusal says which of the ``rules``
does not hold, and of what.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.kernel.core.chapters import Chapters
from dprelease.kernel.core.rules import Breach, name_steps
from dprelease.kernel.core.step_loss import find_step_loss_breaches
from dprelease.kernel.core.total_loss import find_budget_breaches, find_total_loss_breaches
from dprelease.kernel.core.well_formed import find_meaning_breaches, find_source_breaches
from dprelease.model import Plan


class CertifiedPlan(Struct, frozen=True):
    """A plan whose claim was confirmed. Only ``certify`` makes one."""

    plan: Plan


def certify(plan: Plan, chapters: Chapters, *, is_sealed: bool = False) -> CertifiedPlan:
    """Confirm that a plan costs at most what it claims, and at most the declared total.

    Args:
        plan: What will be executed, with what each step and all together claim to lose.
        chapters: What judges the matters beyond the core; without one, plans with it are refused.
        is_sealed: Whether a version that did not check ``has_fixed_records`` may have planned it.

    Returns:
        The plan, from now on allowed to be executed.

    Raises:
        Failure: A rule does not hold, and the first such is named (exit code 70: a bug of ours;
            nothing was released).
    """
    breach = next(_iter_breaches(plan, chapters, is_sealed=is_sealed), None)
    if breach is not None:
        raise Failure(
            ExitCode.INTERNAL,
            Complaint("E702", f"the plan could not be certified: {breach}"),
        )
    return CertifiedPlan(plan)


def _iter_breaches(plan: Plan, chapters: Chapters, *, is_sealed: bool) -> Iterator[Breach]:
    """Iterate breaches in order; each part relies on all before it, so only the first counts."""
    privacy = plan.release.privacy
    yield from find_meaning_breaches(plan, chapters)
    if not is_sealed:
        yield from find_source_breaches(plan)
    for name, step in name_steps(plan):
        yield from find_step_loss_breaches(step, privacy, chapters, name)
    for chapter in chapters.rules.values():
        yield from chapter.loss(plan)
    yield from find_total_loss_breaches(plan, chapters)
    yield from find_budget_breaches(plan)
