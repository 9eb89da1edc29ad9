"""Composition: what several releases about the same people cost together.

All sums are exact Fractions; the conversion from zCDP rounds up to 12 digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dprelease.model import Loss
from dprelease.privacy import zcdp
from dprelease.privacy.enclosure import ZERO, exp_bounds, ln_bounds, round_up, sqrt_bounds

BASIC = "basic"
MIXED = "mixed"
ZCDP = "zcdp"

_ALLOWED = {"auto": (BASIC, MIXED, ZCDP), "pure": (BASIC,), "zcdp": (ZCDP,)}
_LARGEST = 100  # beyond this epsilon e^epsilon is no number to show anybody


def compose(losses: Sequence[Loss], delta: Fraction, accounting: str = "auto") -> tuple[Loss, str]:
    """The composed loss and the name of the method that gave it: the least valid epsilon.

    "basic" adds epsilons and deltas (valid if the deltas' sum is at most ``delta``), "zcdp" adds
    rho and converts once at ``delta``, "mixed" adds the epsilons of pure losses to the converted
    rho of the others. ``accounting`` "auto" tries all three, "pure" is basic without any delta,
    "zcdp" is zCDP alone. ValueError if none applies.
    """
    if accounting not in _ALLOWED:
        raise ValueError("accounting is one of auto, pure, zcdp")
    if not 0 <= delta < 1:
        raise ValueError("delta must lie in [0, 1)")
    found: list[tuple[Loss, str]] = []
    for method in _ALLOWED[accounting]:
        loss = _METHODS[method](losses, ZERO if accounting == "pure" else delta)
        if loss is not None:
            found.append((loss, method))
    if not found:
        raise ValueError("these losses can't be composed within this delta by this accounting")
    return min(found, key=lambda pair: (pair[0].epsilon, pair[0].delta))


def basic(losses: Sequence[Loss]) -> Loss:
    """The plain sums of epsilon and delta."""
    epsilon = sum((loss.epsilon for loss in losses), ZERO)
    return Loss(epsilon, sum((loss.delta for loss in losses), ZERO), _total_rho(losses))


def advanced(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    """Advanced composition, for comparison only: Dwork, Rothblum and Vadhan 2010.

    epsilon = sqrt(2 ln(1/d') sum e_i^2) + sum e_i (e^e_i - 1) with d' = delta - sum of deltas,
    rounded up to 12 digits. None if no delta is left for d' or an epsilon exceeds 100.
    """
    spare = delta - sum((loss.delta for loss in losses), ZERO)
    if not 0 < spare < 1 or any(loss.epsilon > _LARGEST for loss in losses):
        return None
    squares = sum((loss.epsilon**2 for loss in losses), ZERO)
    spread = sqrt_bounds(-2 * ln_bounds(spare)[0] * squares)[1]
    drift = sum((each.epsilon * (exp_bounds(each.epsilon)[1] - 1) for each in losses), ZERO)
    return Loss(round_up(spread + drift, zcdp.EPSILON_DIGITS), delta, _total_rho(losses))


def repeat(loss: Loss, times: int) -> Loss:
    """The sums for ``times`` losses alike, by which a long loop can be shortened."""
    rho = None if loss.rho is None else times * loss.rho
    return Loss(times * loss.epsilon, times * loss.delta, rho)


def _rho(loss: Loss) -> Fraction | None:
    """The loss's rho; a pure loss has one even if nobody wrote it down."""
    if loss.rho is None and loss.delta == 0:
        return zcdp.rho_of_pure(loss.epsilon)
    return loss.rho


def _total_rho(losses: Iterable[Loss]) -> Fraction | None:
    total = ZERO
    for loss in losses:
        rho = _rho(loss)
        if rho is None:
            return None
        total += rho
    return total


def _by_sum(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    loss = basic(losses)
    return loss if loss.delta <= delta else None


def _by_zcdp(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    rho = _total_rho(losses)
    if rho is None or (delta == 0 and rho > 0):
        return None
    if rho == 0:
        return Loss(ZERO, ZERO, rho)
    epsilon = zcdp.epsilon_of(rho, delta)
    # Only for a delta so large that it makes up for everything is epsilon this small; such a
    # claim says little and is hard to confirm by another path.
    return Loss(epsilon, delta, rho) if epsilon > rho else None


def _by_kind(losses: Sequence[Loss], delta: Fraction) -> Loss | None:
    pure = [loss for loss in losses if loss.delta == 0]
    rest = _by_zcdp([loss for loss in losses if loss.delta > 0], delta)
    if rest is None or not pure:
        return None
    epsilon = sum((loss.epsilon for loss in pure), rest.epsilon)
    return Loss(epsilon, rest.delta, _total_rho(losses))


_METHODS = {BASIC: _by_sum, MIXED: _by_kind, ZCDP: _by_zcdp}
