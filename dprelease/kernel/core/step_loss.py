"""What one step loses, held against what it claims.

Additive noise costs by how far the released integers move. Nothing that a plan states of
sensitivities is used; but they are published, so they may not be too small either. What else may be
drawn (``chapters``) is priced by the chapters.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.core import additive_loss
from dprelease.kernel.core.chapters import Chapters
from dprelease.kernel.core.rules import AtMost, Breach, Rule, Rules, find_breaches
from dprelease.kernel.core.worst_change import Worst
from dprelease.model import Form, Loss, Noise, NoiseFamily, Privacy, Step


class _Priced(Struct, frozen=True):
    """A step, the bounds on units, and the worst that these let happen to its integers."""

    step: Step
    privacy: Privacy
    worst: Worst


Cost = tuple[Loss, Loss]  # what a step costs as derived here, and what it claims


def find_step_loss_breaches(
    step: Step, privacy: Privacy, chapters: Chapters, name: str
) -> Iterator[Breach]:
    """Give what a step of numbers that means what it says loses beyond its claim.

    All rules on meaning hold of it. If nothing is given, the step is private as it claims.
    """
    if step.form is not Form.NUMBERS:
        return
    priced = _Priced(step, privacy, chapters.worst(step, privacy))
    yield from find_breaches(SENSITIVITY, priced, name)
    if step.threshold is not None or step.noise.family is NoiseFamily.CUBE:
        return  # what keys and noise that is drawn together cost is for the chapters on them
    if step.noise.family is NoiseFamily.NONE:
        yield from find_breaches(NOISELESS, priced, name)
    elif step.noise.family is not NoiseFamily.GAUSSIAN:
        epsilon = compute_pure_epsilon(step.noise, priced.worst)
        cost = Loss(epsilon, Fraction(0), additive_loss.bound_pure_rho(epsilon))
        yield from find_breaches(COVERED, (cost, step.loss), name)
    else:
        yield from find_breaches(GAUSSIAN, priced, name)


COVERED: Rules[Cost] = (
    AtMost("it costs no more epsilon than it claims", lambda it: (it[0].epsilon, it[1].epsilon)),
    AtMost(
        "it costs no more rho than it claims",
        lambda it: None if it[0].rho is None or it[1].rho is None else (it[0].rho, it[1].rho),
    ),
)


def compute_pure_epsilon(noise: Noise, worst: Worst) -> Fraction:
    """Give the epsilon of Laplace noise, or that of a staircase, which counts stairs."""
    if noise.family is NoiseFamily.STAIRCASE:
        return additive_loss.compute_staircase_epsilon(noise, worst.l1, worst.shift)
    return additive_loss.compute_laplace_epsilon(noise.parameter, worst.l1)


def _compare_gaussian_rho(priced: _Priced) -> tuple[Fraction, Fraction]:
    noise, claimed = priced.step.noise, priced.step.loss.rho
    rho = additive_loss.compute_gaussian_rho(noise.parameter, priced.worst.shift.l2_squared)
    return rho, claimed if claimed is not None else Fraction(0)


def _compare_gaussian_delta(priced: _Priced) -> tuple[Fraction, Fraction]:
    """Compare by rho, or else by the sum over the integers."""
    noise, claimed = priced.step.noise, priced.step.loss
    delta = additive_loss.bound_zcdp_delta(claimed.rho or Fraction(0), claimed.epsilon)
    if delta > claimed.delta:
        shift = priced.worst.shift
        delta = additive_loss.bound_gaussian_delta(noise.parameter, shift, claimed.epsilon)
    return delta, claimed.delta


SENSITIVITY: Rules[_Priced] = (
    AtMost(
        "its integers change by no more than the L1 sensitivity that it states",
        lambda it: (it.worst.l1, it.step.sensitivity.l1),
    ),
    AtMost(
        "its integers change by no more than the squared L2 sensitivity that it states",
        lambda it: (it.worst.shift.l2_squared, it.step.sensitivity.l2_squared),
    ),
    AtMost(
        "no more of its integers change at once than it states",
        lambda it: (it.worst.shift.coordinates, it.step.sensitivity.coordinates),
    ),
)
NOISELESS: Rules[_Priced] = (
    AtMost("integers without noise are the same in all neighbours", lambda it: (it.worst.l1, 0)),
)
GAUSSIAN: Rules[_Priced] = (
    Rule("Gaussian noise claims a rho", lambda it: it.step.loss.rho is not None),
    AtMost("Gaussian noise costs no more rho than it claims", _compare_gaussian_rho),
    AtMost(
        "Gaussian noise costs no more delta, at its epsilon, than it claims",
        _compare_gaussian_delta,
    ),
)
