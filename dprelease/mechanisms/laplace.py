"""The vector Laplace mechanism on integers: scale = L1 sensitivity / epsilon, exactly.

For noise P(k) proportional to e^(-|k|/s) on every released integer, two neighbours at L1
distance l1 have log-ratio at most l1/s everywhere, and exactly that where all noise has the sign
of the difference: epsilon = l1/s, for every integer l1.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.mechanisms import Mechanism
from dprelease.model import Loss, Noise, NoiseFamily
from dprelease.model.privacy_events import Laplace
from dprelease.privacy import zcdp

_NO_NOISE = Noise(NoiseFamily.NONE, Fraction(0))
_NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))


def calibrate(l1: int, epsilon: Fraction) -> Noise:
    """Noise of loss exactly ``epsilon``; none if neighbours never differ (l1 = 0)."""
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    return Noise(NoiseFamily.LAPLACE, Fraction(l1) / epsilon) if _moves(l1) else _NO_NOISE


def calibrate_rho(l1: int, rho: Fraction) -> Noise:
    """Noise whose rho bound is at most ``rho``: through the largest epsilon, rounded down."""
    return calibrate(l1, zcdp.epsilon_for_rho(rho)) if _moves(l1) else _NO_NOISE


def loss(noise: Noise, l1: int) -> Loss:
    """The loss of Laplace noise: epsilon exact, rho an upper bound (15 digits)."""
    if not _moves(l1):
        return _NO_LOSS
    if noise.family is not NoiseFamily.LAPLACE or noise.parameter <= 0:
        raise ValueError("a sensitivity above 0 needs Laplace noise of a positive scale")
    epsilon = l1 / noise.parameter
    return Loss(epsilon, Fraction(0), zcdp.rho_of_pure(epsilon))


def _moves(l1: int) -> bool:
    if l1 < 0:
        raise ValueError("a sensitivity can't be negative")
    return l1 > 0


LAPLACE = Mechanism(
    NoiseFamily.LAPLACE,
    "discrete Laplace noise on every released integer",
    lambda noise, _loss, moved, _shift: Laplace(noise.parameter, moved.l1),
    lambda intensity, moved, _shift: Laplace(moved.l1 / intensity, moved.l1),
)
