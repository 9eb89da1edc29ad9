"""Noise for one query from its share of the budget. Always rounded toward more noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dprelease.mechanisms import gaussian, laplace
from dprelease.model import Loss, Noise, NoiseFamily
from dprelease.planning.draft import Draft


@dataclass(frozen=True, slots=True)
class Choice:
    """A noise and the loss it means for the query alone."""

    noise: Noise
    loss: Loss

    @property
    def variance(self) -> float:
        """Variance of the continuous law, to compare choices with: nothing rests on it."""
        if self.noise.family is NoiseFamily.LAPLACE:
            return 2 * float(self.noise.parameter) ** 2
        return float(self.noise.parameter)


LEAST_EPSILON = Fraction(1, 10**9)
NOTHING = Choice(Noise(NoiseFamily.NONE, Fraction(0)), Loss(Fraction(0), Fraction(0), Fraction(0)))


def laplacian(draft: Draft, epsilon: Fraction) -> Choice:
    """Discrete Laplace noise of loss exactly epsilon."""
    l1 = draft.sensitivity.l1
    noise = laplace.calibrate(l1, epsilon)
    return Choice(noise, laplace.loss(noise, l1))


def laplacian_for_rho(draft: Draft, rho: Fraction) -> Choice:
    """Discrete Laplace noise of the largest epsilon whose zCDP loss is at most rho."""
    l1 = draft.sensitivity.l1
    noise = laplace.calibrate_rho(l1, rho)
    return Choice(noise, laplace.loss(noise, l1))


def normal(draft: Draft, epsilon: Fraction, delta: Fraction) -> Choice:
    """Discrete Gaussian noise, the least found for (epsilon, delta)."""
    noise = gaussian.calibrate(draft.shift, epsilon, delta)
    return Choice(noise, gaussian.loss(noise, draft.shift, delta, epsilon))


def normal_for_rho(draft: Draft, rho: Fraction, delta: Fraction) -> Choice:
    """Discrete Gaussian noise of zCDP loss rho; ``delta`` is what its epsilon is stated at."""
    noise = gaussian.calibrate_rho(draft.shift, rho)
    loss = gaussian.loss(noise, draft.shift, delta)
    # a large delta may make up for everything; a claim of epsilon 0 could not be confirmed
    return Choice(noise, Loss(max(loss.epsilon, LEAST_EPSILON), loss.delta, loss.rho))


def narrower(first: Choice, second: Choice) -> Choice:
    """Take the choice with the smaller variance, the first when equal."""
    return second if second.variance < first.variance else first
