"""What all steps of a plan lose together, by our own arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.certify.record_tables import add_losses
from dprelease.kernel.certify.rules import AtMost, Breach, Rule, Rules, find_breaches
from dprelease.kernel.certify.step_loss import (
    bound_quantile_spans,
    bound_score_span,
    compute_pure_epsilon,
)
from dprelease.kernel.certify.worst_change import bound_worst_change
from dprelease.kernel.verify import additive
from dprelease.kernel.verify.composition.confirm import is_confirmed
from dprelease.model import Form, Loss, NoiseFamily, Plan, Privacy, Step
from dprelease.model.privacy_events import Approximate, Counted, Gaussian, Laplace, Pure, Range

_ZERO = Fraction(0)


def find_total_loss_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what all steps cost together beyond the claim, and the claim beyond what is declared."""
    records = add_losses(step.loss for step in plan.records)
    losses = add_losses([*(step.loss for step in plan.steps), records])
    yield from find_breaches(TOTAL, _Total(plan, losses, records), "the total")


class _Total(Struct, frozen=True):
    """A plan, the plain sum of its losses, with a rho if all have one, and that of its records."""

    plan: Plan
    basic: Loss
    records: Loss

    @property
    def rho(self) -> Fraction | None:
        """The sum of all rhos."""
        return self.basic.rho

    @property
    def claimed_rhos(self) -> list[Fraction]:
        """The rhos that the plan claims, or that the spec declares."""
        rhos = self.plan.loss.rho, self.plan.release.privacy.rho
        return [rho for rho in rhos if rho is not None]


def _is_composition_confirmed(total: _Total) -> bool:
    """Confirm the composed loss.

    What selects private keys is (epsilon, delta)-DP and decides which cells the other steps have.
    Whatever it decides, these together are private as if the cells had been given; so the two
    losses add up. Those of the others compose by any one of three arguments, each enough by itself.
    The fourth takes all steps at once: by what they do to the distribution of the privacy loss.
    Record-level tables are added to that.
    """
    plan = total.plan
    if not plan.steps:
        return True
    epsilon = plan.loss.epsilon - total.records.epsilon
    delta = plan.loss.delta - total.records.delta
    selecting = add_losses(step.loss for step in plan.steps if step.threshold is not None)
    others = [step.loss for step in plan.steps if step.threshold is None]
    rest = epsilon - selecting.epsilon, delta - selecting.delta
    if min(rest) >= 0 and _is_within_sums(others, *rest):
        return True
    return is_confirmed(collect_events(plan), epsilon, delta)


def _is_within_sums(losses: Sequence[Loss], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether losses compose to (epsilon, delta) by plain sums, by their rhos, or by both."""
    total = add_losses(losses)
    if total.epsilon <= epsilon and total.delta <= delta:
        return True
    if delta == 0 or total.rho is None:
        return False
    if additive.bound_zcdp_delta(total.rho, epsilon) <= delta:
        return True
    # the pure ones added, the others by their rho
    pure = add_losses(loss for loss in losses if loss.delta == 0)
    rho = sum((loss.rho or _ZERO for loss in losses if loss.delta > 0), _ZERO)
    remaining = epsilon - pure.epsilon
    return remaining > 0 and additive.bound_zcdp_delta(rho, remaining) <= delta


def _read_declared_epsilon(total: _Total) -> tuple[Fraction, Fraction] | None:
    privacy = total.plan.release.privacy
    if privacy.rho is not None or privacy.epsilon is None:
        return None
    return total.plan.loss.epsilon, privacy.epsilon


def _read_declared_delta(total: _Total) -> tuple[Fraction, Fraction] | None:
    privacy = total.plan.release.privacy
    if privacy.rho is not None or privacy.epsilon is None:
        return None
    return total.plan.loss.delta, privacy.delta


def _is_stating_plain_sum(total: _Total) -> bool:
    """The ledger counts a plan that loses this sum as one that fails only where a step does."""
    claim, basic = total.plan.basic, total.basic
    sums = (claim.epsilon, claim.delta) == (basic.epsilon, basic.delta)
    return sums and claim.rho in {None, basic.rho}


def _is_added_as_stated(total: _Total) -> bool:
    loss, basic = total.plan.loss, total.basic
    if total.plan.method == "basic":
        return basic.epsilon <= loss.epsilon and basic.delta <= loss.delta
    return total.plan.method in {"mixed", "zcdp", "pld"}


TOTAL: Rules[_Total] = (
    Rule(
        "every step has a rho, where the total has one",
        lambda case: case.rho is not None or not case.claimed_rhos,
    ),
    AtMost(
        "all steps cost no more rho than is claimed and declared",
        lambda case: (
            (
                case.rho,
                min([rho for rho in case.claimed_rhos if not case.rho <= rho] or case.claimed_rhos),
            )
            if case.rho is not None and case.claimed_rhos
            else None
        ),
    ),
    AtMost(
        "record-level tables cost no more epsilon than the total",
        lambda case: (case.records.epsilon, case.plan.loss.epsilon),
    ),
    AtMost(
        "record-level tables cost no more delta than the total",
        lambda case: (case.records.delta, case.plan.loss.delta),
    ),
    Rule(
        "all steps together cost no more epsilon and delta than is claimed",
        _is_composition_confirmed,
    ),
    AtMost("the total claims no more epsilon than is declared", _read_declared_epsilon),
    AtMost("the total claims no more delta than is declared", _read_declared_delta),
    Rule("what the plan states as the plain sum of all losses is that", _is_stating_plain_sum),
    Rule(
        "losses are added if the plan says so, or composed by a known method", _is_added_as_stated
    ),
)

# --- what each step does to the privacy loss -----------------------------------------------------


def collect_events(plan: Plan) -> list[Counted]:
    """Give the events of all steps. What selects keys is what its loss says it is."""
    privacy = plan.release.privacy
    return [event for step in plan.steps for event in _iter_step_events(step, privacy)]


def _iter_step_events(step: Step, privacy: Privacy) -> Iterator[Counted]:
    noise = step.noise
    if noise.family is NoiseFamily.NONE:
        return
    if step.threshold is not None:
        yield Approximate(step.loss.epsilon, step.loss.delta), 1
    elif step.form is Form.NUMBERS:
        worst = bound_worst_change(step, privacy)
        if noise.family is NoiseFamily.GAUSSIAN:
            yield Gaussian(noise.parameter, worst.shift), 1
        elif noise.family is NoiseFamily.STAIRCASE:
            yield Pure(compute_pure_epsilon(noise, worst)), 1
        else:
            yield Laplace(noise.parameter, worst.l1), 1
    elif step.form is Form.CHOICE:
        span = noise.parameter * bound_score_span(step, privacy)
        exponential = noise.family is NoiseFamily.EXPONENTIAL
        yield (Range(span) if exponential else Pure(span)), step.query.picks
    else:
        for span in bound_quantile_spans(step, privacy):
            yield Range(span), 1
