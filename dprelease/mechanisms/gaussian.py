"""The vector Gaussian mechanism on integers, calibrated for the discrete law itself.

Never by the classical formula, which is wasteful for small epsilon and wrong for large, and
never by the continuous law's sigma, which is too small for integers.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.mechanisms import Mechanism
from dprelease.model import Loss, Noise, NoiseFamily
from dprelease.model.privacy_events import Gaussian
from dprelease.model.shift import Shift
from dprelease.privacy import discrete_gaussian, zcdp

_NO_NOISE = Noise(NoiseFamily.NONE, Fraction(0))
_NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))


def calibrate(shift: Shift, epsilon: Fraction, delta: Fraction) -> Noise:
    """The least noise on a fine grid that is (epsilon, delta)-DP; none for a zero shift."""
    if shift.l2_squared == 0:
        return _NO_NOISE
    return Noise(NoiseFamily.GAUSSIAN, discrete_gaussian.least_sigma2(shift, epsilon, delta))


def calibrate_rho(shift: Shift, rho: Fraction) -> Noise:
    """Noise of exactly this rho: sigma squared = l2_squared/(2 rho); none for a zero shift."""
    if rho <= 0:
        raise ValueError("rho must be positive")
    if shift.l2_squared == 0:
        return _NO_NOISE
    return Noise(NoiseFamily.GAUSSIAN, shift.l2_squared / (2 * rho))


def loss(noise: Noise, shift: Shift, delta: Fraction, epsilon: Fraction | None = None) -> Loss:
    """The loss of Gaussian noise at this delta, rho included (exact).

    Given the ``epsilon`` that the noise was calibrated for, that is what is stated, after it has
    been confirmed; without it the least epsilon is searched for (upper bound, 12 digits).
    ValueError if the stated epsilon does not hold.
    """
    if shift.l2_squared == 0:
        return _NO_LOSS
    if noise.family is not NoiseFamily.GAUSSIAN or noise.parameter <= 0:
        raise ValueError("a sensitivity above 0 needs Gaussian noise of a positive sigma squared")
    rho = zcdp.rho_of_gaussian(shift.l2_squared, noise.parameter)
    if epsilon is None:
        epsilon = discrete_gaussian.epsilon_of(noise.parameter, shift, delta)
    elif discrete_gaussian.delta_of(noise.parameter, shift, epsilon) > delta:
        raise ValueError("the noise is too small for the stated epsilon and delta")
    return Loss(epsilon, delta, rho)


GAUSSIAN = Mechanism(
    NoiseFamily.GAUSSIAN,
    "discrete Gaussian noise on every released integer",
    lambda noise, _loss, _moved, shift: Gaussian(noise.parameter, shift),
    lambda intensity, moved, shift: Gaussian(moved.l2_squared / (intensity * intensity), shift),
    needs_delta=True,
)
