"""A second opinion on composed losses: whether many events together are (epsilon, delta)-DP.

Another path than the accountant's. Each event becomes a law of its privacy loss on a grid, rounded
to the private side (``loss_distributions``, with proofs); laws are composed by plain
convolution of positive floats, whose relative errors are counted (``grid``);
Gaussians with large sigma become one (``gaussian``). No Fourier transform, and
no curve that calibration evaluates. Every grid gives an upper bound of delta, so a claim holds as
soon as it holds on one; 1,000 points a law give epsilon to about 10^-4 of itself, and the error
falls to a quarter with twice as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.kernel.chapters.choices.choice_rules import bound_quantile_spans, bound_score_span
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.chapters.together.joint_noise import compute_joint_epsilon
from dprelease.kernel.core.step_loss import compute_pure_epsilon
from dprelease.model import Form, NoiseFamily, Plan, Privacy, Step
from dprelease.model.privacy_events import (
    Approximate,
    Counted,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Range,
)

Bounded = Pure | Range | Laplace

_ONE = Fraction(1)
_FIXED = 1 << 320
_LONG = 1 << 8192
_LEAST = Fraction(1, 1 << 100)  # a loss that reaches less far is taken to reach this far
_MOST = 1 << 12  # no loss that is looked at reaches further
_HUGE = 1 << 200  # no parameter that is looked at is larger


def is_confirmed(events: Sequence[Counted], epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether all events, each as often as it says, are certainly (epsilon, delta)-DP.

    Which events come next may depend on what was released before. False for what can't be
    understood: nonsense, a delta of 1 or more, losses beyond 4,096.
    """
    if epsilon < 0 or not 0 <= delta < 1 or not all(_is_sane(*event) for event in events):
        return False
    bounded: Counter[Bounded] = Counter()
    gaussians: Counter[Gaussian] = Counter()
    success = _ONE  # at most the chance that no mechanism fails whose delta is given
    for event, count in events:
        if isinstance(event, Gaussian):
            gaussians[event] += count if event.shift.l2_squared else 0
            continue
        if isinstance(event, Approximate):
            success = _round_down(success * _bound_power(1 - event.delta, count))
        # The event, given that it does not fail.
        alone = Pure(event.epsilon) if isinstance(event, Approximate) else event
        reach = _reach(event)
        bounded[alone if reach > _LEAST else Pure(_LEAST)] += count if reach else 0
    # What fails adds 1 - kept; the others have to do with the rest, which counts kept times.
    if delta < 1 - success or success == 0:
        return False
    target = (delta - (1 - success)) / success
    bounded, gaussians = +bounded, +gaussians  # without what never occurs
    reaches = {event: _reach(event) for event in bounded}
    top = sum((count * reaches[event] for event, count in bounded.items()), Fraction(0))
    if not gaussians and epsilon >= top:
        return True
    if target == 0:
        return False
    # Here, because arrays take a tenth of a second to load.
    from dprelease.kernel.chapters.composition import search

    return search.is_below(bounded, reaches, gaussians, epsilon, target)


def _reach(event: Bounded | Approximate) -> Fraction:
    """Return the largest loss that is not infinite."""
    if isinstance(event, Laplace):
        return event.l1 / event.scale
    return event.span if isinstance(event, Range) else event.epsilon


def _is_sane(event: Event, count: int) -> bool:
    if not 0 <= count <= _HUGE:
        return False
    if isinstance(event, Gaussian):
        sigma2, length = event.sigma2, event.shift.l2_squared
        return 0 < sigma2 <= _HUGE and length <= _HUGE and length <= sigma2 * _MOST
    if isinstance(event, Laplace) and not (0 < event.scale <= _HUGE and event.l1 <= _HUGE):
        return False
    if isinstance(event, Approximate) and not 0 <= event.delta <= 1:
        return False
    return 0 <= _reach(event) <= _MOST


def _round_down(x: Fraction) -> Fraction:
    """Return the number itself, or a little less if it is long."""
    if x.denominator < _LONG:
        return x
    return Fraction(x.numerator * _FIXED // x.denominator, _FIXED)


def _bound_power(base: Fraction, exponent: int) -> Fraction:
    """Bound the power from below, by squaring."""
    power = _ONE
    while exponent:
        if exponent & 1:
            power = _round_down(power * base)
        base = _round_down(base * base)
        exponent >>= 1
    return power


# --- the events of a plan -------------------------------------------------------------------------

# What each step does to the privacy loss, and whether all together hold what a plan claims.


def is_composition_private(plan: Plan, epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether all steps of a plan together are certainly (epsilon, delta)-DP."""
    return is_confirmed(collect_events(plan), epsilon, delta)


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
        worst = bound_step_change(step, privacy)
        if noise.family is NoiseFamily.GAUSSIAN:
            yield Gaussian(noise.parameter, worst.shift), 1
        elif noise.family is NoiseFamily.STAIRCASE:
            yield Pure(compute_pure_epsilon(noise, worst)), 1
        elif noise.family is NoiseFamily.CUBE:
            yield Pure(compute_joint_epsilon(step, privacy)), 1
        else:
            yield Laplace(noise.parameter, worst.l1), 1
    elif step.form is Form.CHOICE:
        span = noise.parameter * bound_score_span(step, privacy)
        exponential = noise.family is NoiseFamily.EXPONENTIAL
        yield (Range(span) if exponential else Pure(span)), step.query.picks
    else:
        for span in bound_quantile_spans(step, privacy):
            yield Range(span), 1
