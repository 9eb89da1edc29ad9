"""What a charge keeps of a run, so that later runs can be added to it tightly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dprelease.ledger.amounts import rational_text, read_rational
from dprelease.model import Loss
from dprelease.privacy.zcdp import rho_of_pure

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Parts:
    """A run taken apart: its steps with a zCDP bound cost ``rho`` together, the rest is a sum.

    Everything the run does is rho-zCDP together with (epsilon, delta)-DP. ``either`` bounds how
    often the run's own (epsilon, delta) or that of the rest fails: see ``filters``.
    """

    rho: Fraction
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    either: Fraction = ZERO


def parts_of(loss: Loss, steps: Iterable[Loss], *, sums: bool) -> Parts:
    """The parts of a run that costs ``loss`` and is made of steps with these losses.

    A pure step has a rho even if nobody wrote it down. ``sums``: the epsilon and delta of the loss
    are the sums over the steps; then whatever fails is the failure of a step.
    """
    rho = epsilon = delta = ZERO
    for step in steps:
        if step.rho is not None:
            rho += step.rho
        elif step.delta == 0:
            rho += rho_of_pure(step.epsilon)
        else:
            epsilon += step.epsilon
            delta += step.delta
    once = sums or rho == 0 or delta == 0
    return Parts(rho, epsilon, delta, max(loss.delta, delta) if once else loss.delta + delta)


def whole(loss: Loss) -> Parts:
    """The parts of a run of which nothing but its loss is known."""
    return parts_of(loss, [loss], sums=True)


def parts_content(parts: Parts) -> dict[str, str]:
    """Parts as a charge's entry holds them."""
    return {
        "rho": rational_text(parts.rho),
        "epsilon": rational_text(parts.epsilon),
        "delta": rational_text(parts.delta),
        "either": rational_text(parts.either),
    }


def read_parts(content: Mapping[str, object]) -> Parts:
    """What ``parts_content`` wrote. Raises KeyError or ValueError for anything else."""
    return Parts(*(read_rational(content[name]) for name in ("rho", "epsilon", "delta", "either")))
