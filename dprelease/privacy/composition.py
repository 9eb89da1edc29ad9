"""Composition: what several releases about the same people cost together.

Sums are exact Fractions, and the conversion from zCDP rounds up to 12 digits. Numerical composition
(``loss_distributions``) is a claim, which counts once an independent check has confirmed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.model import Loss
from dprelease.model.privacy_events import Counted
from dprelease.privacy import zcdp
from dprelease.privacy.interval_arithmetic import ZERO, bound_exp, bound_ln, bound_sqrt, round_up

BASIC = "basic"
MIXED = "mixed"
ZCDP = "zcdp"
PLD = "pld"

ALLOWED = {
    "auto": (BASIC, MIXED, ZCDP, PLD),
    "pure": (BASIC,),
    "zcdp": (ZCDP,),
    "pld": (PLD,),
    "plain": (BASIC, MIXED, ZCDP),  # as auto, where a numerical claim was not confirmed
}
_LARGEST = 100  # beyond this epsilon e^epsilon is no number to show anybody

MARGINS = tuple(
    1 + part
    for part in (Fraction(3, 10**4), Fraction(2, 10**3), Fraction(1, 10**2), Fraction(1, 10))
)
"""Numerical claims are larger by one of these than what was computed: an independent check, with a
coarser grid and other arithmetic, has to confirm them. A plan takes the first that it confirms."""

ALIKE_DIGITS = 6
"""Digits of a numerical epsilon that all machines agree in; far more than its margin leaves."""

LEAST_EPSILON = Fraction(1, 10**9)
BEYOND_RHO = 1 + Fraction(1, 10**6)

WORTH = 1 - Fraction(1, 10**3)
"""A claim without any delta is preferred to one that is not better than by this factor."""


class Cost(Struct, frozen=True):
    """The cost of one release: its loss alone, and the events of which tighter methods compose.

    With a ``failure`` the rho of the loss is that of approximate zCDP: it holds but for this
    chance.
    """

    loss: Loss
    events: tuple[Counted, ...]
    failure: Fraction = ZERO

    def __post_init__(self) -> None:
        if (self.loss.epsilon > 0 or self.loss.delta > 0) and not self.events:
            raise ValueError("what costs something is made of events")


def compose(
    costs: Sequence[Cost], delta: Fraction, accounting: str = "auto", margin: Fraction = MARGINS[0]
) -> tuple[Loss, str]:
    """Compose the losses of several releases and choose the smallest valid epsilon.

    The methods: "basic" adds epsilons and deltas; "zcdp" adds rho and converts once; "mixed" adds
    the epsilons of pure losses to the converted rho of the others; "pld" composes distributions of
    the privacy loss numerically.

    Args:
        costs: One cost for each release about the same people.
        delta: The delta at which the total is stated, in [0, 1).
        accounting: A key of ``ALLOWED``: "auto" tries all four methods, "plain" all but "pld",
            "pure" basic composition with delta 0, "zcdp" and "pld" that method alone.
        margin: Factor above 1 by which a numerical epsilon exceeds the computed one.

    Returns:
        The composed loss and the name of the method that gave it. Basic composition, "zcdp" and
        "mixed" are upper bounds; "pld" is a claim, which ``kernel.chapters.composition`` has
        to confirm.

    Raises:
        ValueError: The accounting is unknown, delta is out of range, or no method applies.
    """
    if accounting not in ALLOWED:
        raise ValueError("accounting is one of auto, pure, zcdp, pld, plain")
    if not 0 <= delta < 1:
        raise ValueError("delta must lie in [0, 1)")
    allowed = ZERO if accounting == "pure" else delta
    losses = [cost.loss for cost in costs]
    failure = sum((cost.failure for cost in costs), ZERO)
    if failure > 0:
        return _compose_approximately(losses, failure, delta, accounting), ZCDP
    bounds: dict[str, Callable[[], Loss | None]] = {
        BASIC: lambda: _compose_by_sum(losses, allowed),
        MIXED: lambda: _compose_by_kind(losses, allowed),
        ZCDP: lambda: _compose_by_zcdp(losses, allowed),
        PLD: lambda: _compose_by_distribution(costs, allowed, margin),
    }
    tried = [(bounds[method](), method) for method in ALLOWED[accounting]]
    composed = [(loss, method) for loss, method in tried if loss is not None]
    if not composed:
        raise ValueError("these losses can't be composed within this delta by this accounting")
    cheapest = min(composed, key=lambda pair: (pair[0].epsilon, pair[0].delta))
    # A loss without delta is the stronger guarantee; prefer it unless it costs clearly more.
    for loss, method in composed:
        if loss.delta == 0 and cheapest[0].epsilon >= loss.epsilon * WORTH:
            return loss, method
    return cheapest


def compose_numerically(
    events: Iterable[Counted], delta: Fraction, margin: Fraction = MARGINS[0]
) -> Fraction | None:
    """Compose events numerically and claim an epsilon at this delta.

    Args:
        events: Events with the number of times that each occurs.
        delta: The delta at which epsilon is claimed.
        margin: Factor above 1 by which the claim exceeds the computed epsilon.

    Returns:
        The claimed epsilon, rounded up to 12 digits; None if the events have no epsilon at this
        delta. It counts only after ``kernel.chapters.composition`` has confirmed it.
    """
    # Imported here, because numpy takes a tenth of a second to load.
    from dprelease.privacy import loss_distributions

    try:
        epsilon = loss_distributions.estimate_epsilon(tuple(events), delta)
    except ValueError:
        return None
    # The last digits of float sums depend on the processor. Without them all machines plan alike.
    computed = Fraction(f"{epsilon:.{ALIKE_DIGITS}g}")
    return round_up(computed * margin, zcdp.EPSILON_DIGITS)


def compose_basic(losses: Sequence[Loss]) -> Loss:
    """Add epsilons and deltas (basic composition); rho adds up where every loss has one.

    Args:
        losses: Losses of releases about the same people; may be empty.

    Returns:
        The exact sums; ``rho`` is None unless every loss has a rho or is pure.
    """
    epsilon = sum((loss.epsilon for loss in losses), ZERO)
    return Loss(epsilon, sum((loss.delta for loss in losses), ZERO), _sum_rho(losses))


def compose_advanced(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    """Bound the total by advanced composition (Dwork, Rothblum and Vadhan 2010), for comparison.

    epsilon = sqrt(2 ln(1/d') sum e_i^2) + sum e_i (e^e_i - 1), where d' is delta less the sum of
    the deltas.

    Args:
        losses: Losses of releases about the same people.
        delta: The delta of the total.

    Returns:
        The loss with epsilon rounded up to 12 digits; None if d' is not in (0, 1) or an epsilon
        exceeds 100.
    """
    spare = delta - sum((loss.delta for loss in losses), ZERO)
    if not 0 < spare < 1 or any(loss.epsilon > _LARGEST for loss in losses):
        return None
    squares = sum((loss.epsilon**2 for loss in losses), ZERO)
    spread = bound_sqrt(-2 * bound_ln(spare)[0] * squares)[1]
    drift = sum((loss.epsilon * (bound_exp(loss.epsilon)[1] - 1) for loss in losses), ZERO)
    return Loss(round_up(spread + drift, zcdp.EPSILON_DIGITS), delta, _sum_rho(losses))


def repeat(loss: Loss, times: int) -> Loss:
    """Add a loss to itself.

    Args:
        loss: The loss of one release.
        times: How many such releases there are.

    Returns:
        ``times`` times epsilon, delta and rho.
    """
    rho = None if loss.rho is None else times * loss.rho
    return Loss(times * loss.epsilon, times * loss.delta, rho)


def _sum_rho(losses: Iterable[Loss]) -> Fraction | None:
    total = ZERO
    for loss in losses:
        rho = loss.rho
        if rho is None and loss.delta == 0:  # a pure loss has one even if none was stated
            rho = zcdp.bound_pure_rho(loss.epsilon)
        if rho is None:
            return None
        total += rho
    return total


def _compose_by_sum(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    loss = compose_basic(losses)
    return loss if loss.delta <= delta else None


def _compose_by_zcdp(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    rho = _sum_rho(losses)
    if rho is None or (delta == 0 and rho > 0):
        return None
    if rho == 0:
        return Loss(ZERO, ZERO, rho)
    # Only for a delta so large that it makes up for nearly everything is epsilon as small as rho;
    # such a claim says little, and is hard to confirm by another path: more is claimed.
    epsilon = max(zcdp.bound_epsilon(rho, delta), rho * BEYOND_RHO)
    return Loss(round_up(epsilon, zcdp.EPSILON_DIGITS), delta, rho)


def _compose_approximately(
    losses: Sequence[Loss], failure: Fraction, delta: Fraction, accounting: str
) -> Loss:
    """Add up approximate zCDP: of delta, what fails is left for no conversion of rho."""
    concentrated = ZCDP in ALLOWED[accounting] and failure < delta
    loss = _compose_by_zcdp(losses, delta - failure) if concentrated else None
    if loss is None:
        raise ValueError("approximate zCDP composes by rho, at a delta above what may fail")
    return Loss(loss.epsilon, delta, loss.rho)


def _compose_by_kind(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    pure = [loss for loss in losses if loss.delta == 0]
    rest = _compose_by_zcdp([loss for loss in losses if loss.delta > 0], delta)
    if rest is None or not pure:
        return None
    epsilon = sum((loss.epsilon for loss in pure), rest.epsilon)
    return Loss(epsilon, rest.delta, _sum_rho(losses))


def _compose_by_distribution(
    costs: Sequence[Cost], delta: Fraction, margin: Fraction
) -> Loss | None:
    if delta == 0:
        return None
    events = [event for cost in costs for event in cost.events]
    if not events:
        return Loss(ZERO, ZERO, ZERO) if all(cost.loss.epsilon == 0 for cost in costs) else None
    epsilon = compose_numerically(events, delta, margin)
    if epsilon is None:
        return None
    # a delta may make up for everything; a claim of epsilon 0 could not be confirmed
    epsilon = max(epsilon, LEAST_EPSILON)
    return Loss(epsilon, delta, _sum_rho([cost.loss for cost in costs]))
