"""What all steps of a plan lose together, by our own arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dprelease.kernel.certify.events import events_of
from dprelease.kernel.certify.local_tables import added
from dprelease.kernel.verify import additive as witness
from dprelease.kernel.verify.composition.confirm import confirms
from dprelease.model import Loss, Plan

_ZERO = Fraction(0)


def total_holds(plan: Plan) -> bool:
    """Confirm the composed loss.

    What selects private keys is (epsilon, delta)-DP and decides which cells the other steps have.
    Whatever it decides, these together are private as if the cells had been given; so the two
    losses add up. Those of the others compose by any one of three arguments, each enough by itself.
    The fourth takes all steps at once: by what they do to the distribution of the privacy loss.
    Record-level tables are added to that.
    """
    losses = [step.loss for step in plan.steps]
    records = added(plan)
    if plan.loss.rho is not None and not _rho_holds([*losses, records], plan.loss.rho):
        return False
    claimed = Loss(plan.loss.epsilon - records.epsilon, plan.loss.delta - records.delta)
    if claimed.epsilon < 0 or claimed.delta < 0:
        return False
    if not plan.steps:
        return True
    selecting = [step.loss for step in plan.steps if step.threshold is not None]
    others = [step.loss for step in plan.steps if step.threshold is None]
    epsilon = claimed.epsilon - _sum(loss.epsilon for loss in selecting)
    delta = claimed.delta - _sum(loss.delta for loss in selecting)
    if epsilon >= 0 and delta >= 0 and _together(others, epsilon, delta):
        return True
    return confirms(events_of(plan), claimed.epsilon, claimed.delta)


def within_declared(plan: Plan) -> bool:
    """Say whether the plan stays within what ``[privacy]`` declares."""
    privacy = plan.release.privacy
    if privacy.rho is not None:
        losses = [step.loss for step in plan.steps]
        return _rho_holds([*losses, added(plan)], privacy.rho)
    if privacy.epsilon is None:
        return True
    return plan.loss.epsilon <= privacy.epsilon and plan.loss.delta <= privacy.delta


def _together(losses: Sequence[Loss], epsilon: Fraction, delta: Fraction) -> bool:
    added = _sum(loss.epsilon for loss in losses), _sum(loss.delta for loss in losses)
    if added[0] <= epsilon and added[1] <= delta:
        return True
    rhos = [loss.rho for loss in losses if loss.rho is not None]
    if delta == 0 or len(rhos) < len(losses):
        return False
    if witness.zcdp_delta_upper(_sum(rhos), epsilon) <= delta:
        return True
    # the pure ones added, the others by their rho
    left = epsilon - _sum(loss.epsilon for loss in losses if loss.delta == 0)
    rho = _sum(loss.rho or _ZERO for loss in losses if loss.delta > 0)
    return left > 0 and witness.zcdp_delta_upper(rho, left) <= delta


def _rho_holds(losses: Sequence[Loss], claimed: Fraction) -> bool:
    rhos = [loss.rho for loss in losses if loss.rho is not None]
    return len(rhos) == len(losses) and _sum(rhos) <= claimed


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, _ZERO)
