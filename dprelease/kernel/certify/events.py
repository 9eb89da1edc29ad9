"""What each step does to the privacy loss, from what will be executed."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.kernel.certify.step_loss import span_of_scores
from dprelease.kernel.certify.unit_limits import coarse_limits
from dprelease.kernel.certify.worst_change import worst_change
from dprelease.kernel.verify import quantiles as quantile_witness
from dprelease.model import Form, NoiseFamily, Plan, Privacy, Step
from dprelease.model.privacy_events import Approximate, Counted, Gaussian, Laplace, Pure, Range


def events_of(plan: Plan) -> list[Counted]:
    """Give the events of all steps. What selects keys is what its loss says it is."""
    privacy = plan.release.privacy
    return [event for step in plan.steps for event in _events(step, privacy)]


def _events(step: Step, privacy: Privacy) -> Iterator[Counted]:
    noise = step.noise
    if noise.family is NoiseFamily.NONE:
        return
    if step.threshold is not None:
        yield Approximate(step.loss.epsilon, step.loss.delta), 1
    elif step.form is Form.NUMBERS:
        worst = worst_change(step, privacy)
        if noise.family is NoiseFamily.GAUSSIAN:
            yield Gaussian(noise.parameter, worst.shift), 1
        else:
            yield Laplace(noise.parameter, worst.l1), 1
    elif step.form is Form.CHOICE:
        span = noise.parameter * span_of_scores(step, privacy)
        exponential = noise.family is NoiseFamily.EXPONENTIAL
        yield (Range(span) if exponential else Pure(span)), step.query.picks
    elif step.scheme is not None and step.points is not None:
        limits = coarse_limits(step.query, privacy)
        stays = limits.replaced and limits.certain and step.points.null_fill is not None
        for span in quantile_witness.spans(
            step.scheme.steps, limits.rows, limits.replaced, stays=stays
        ):
            yield Range(span), 1
