"""The vector Gaussian mechanism on integers, calibrated for the discrete law itself.

Never by the classical formula, which is wasteful for small epsilon and wrong for large, and
never by the continuous law's sigma, which is too small for integers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from msgspec import structs

from dprelease.mechanisms import NO_LOSS, NO_NOISE, Choice, Mechanism, Target
from dprelease.model import Loss, Noise, NoiseFamily, privacy_events
from dprelease.model.shift import Shift
from dprelease.privacy import discrete_gaussian, zcdp
from dprelease.privacy.composition import LEAST_EPSILON
from dprelease.privacy.interval_arithmetic import round_up
from dprelease.privacy.partition_selection import calibrate_gaussian
from dprelease.privacy.sensitivity import COUNTED, Contribution, Summed

SIGMA_DIGITS = 15
RHO_DIGITS = 12
UNSTATED = Fraction(1)
"""The delta of a loss that nobody may add to others: only its rho and its events are known."""


def calibrate(shift: Shift, epsilon: Fraction, delta: Fraction) -> Noise:
    """Find the least noise on a fine grid that is (epsilon, delta)-DP; none for a zero shift."""
    if shift.l2_squared == 0:
        return NO_NOISE
    return Noise(NoiseFamily.GAUSSIAN, discrete_gaussian.find_least_sigma2(shift, epsilon, delta))


@lru_cache(maxsize=1024)
def _scale_noise(l2_squared: int, intensity: Fraction) -> tuple[Noise, Fraction]:
    """Compute the noise of an intensity, and its rho."""
    # Rounded, so that equal intensities have equal losses.
    sigma2 = round_up(l2_squared / (intensity * intensity), SIGMA_DIGITS)
    rho = round_up(zcdp.compute_gaussian_rho(l2_squared, sigma2), RHO_DIGITS)
    return Noise(NoiseFamily.GAUSSIAN, sigma2), rho


def calibrate_rho(shift: Shift, rho: Fraction) -> Noise:
    """Compute the noise of this rho, sigma^2 = l2_squared/(2 rho); none for a zero shift."""
    if rho <= 0:
        raise ValueError("rho must be positive")
    if shift.l2_squared == 0:
        return NO_NOISE
    return Noise(NoiseFamily.GAUSSIAN, shift.l2_squared / (2 * rho))


def compute_loss(
    noise: Noise, shift: Shift, delta: Fraction, epsilon: Fraction | None = None
) -> Loss:
    """Compute the loss of Gaussian noise at this delta; rho is exact.

    If the ``epsilon`` that the noise was calibrated for is given, it is confirmed and stated;
    otherwise the least epsilon is searched for (upper bound, 12 digits). Raises ValueError if the
    given epsilon does not hold.
    """
    if shift.l2_squared == 0:
        return NO_LOSS
    if noise.family is not NoiseFamily.GAUSSIAN or noise.parameter <= 0:
        raise ValueError("a sensitivity above 0 needs Gaussian noise of a positive sigma squared")
    rho = zcdp.compute_gaussian_rho(shift.l2_squared, noise.parameter)
    if epsilon is None:
        epsilon = discrete_gaussian.bound_epsilon(noise.parameter, shift, delta)
    elif discrete_gaussian.bound_delta(noise.parameter, shift, epsilon) > delta:
        raise ValueError("the noise is too small for the stated epsilon and delta")
    return Loss(epsilon, delta, rho)


class Gaussian(Mechanism):
    """Gaussian noise on every released integer; an intensity i costs rho = i^2/2."""

    family = NoiseFamily.GAUSSIAN
    words = "mechanisms.gaussian"
    keyword = "gaussian"
    concentrated = True
    needs_delta = True

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the least noise found for (epsilon, delta)."""
        noise = calibrate(target.shift, epsilon, delta)
        return _build_choice(target, noise, compute_loss(noise, target.shift, delta, epsilon))

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the noise of exactly this rho and state its epsilon at ``delta``."""
        choice = _build_choice(target, calibrate_rho(target.shift, rho), NO_LOSS)
        return self.state_loss(target, choice, delta, roughly=False)

    def scale_noise(self, target: Target, intensity: Fraction) -> Choice:
        """Choose the noise of an intensity and state its rho alone."""
        # Epsilon and delta are those of the release, not of this noise.
        noise, rho = _scale_noise(target.sensitivity.l2_squared, intensity)
        return _build_choice(target, noise, Loss(Fraction(0), UNSTATED, rho))

    def build_event(self, target: Target, intensity: Fraction) -> privacy_events.Gaussian:
        """Build the event with sigma squared as it is before rounding."""
        sigma2 = target.sensitivity.l2_squared / (intensity * intensity)
        return privacy_events.Gaussian(sigma2, target.shift)

    def state_loss(
        self, target: Target, choice: Choice, delta: Fraction, *, roughly: bool
    ) -> Choice:
        """State the loss by conversion from rho, or as tightly as possible."""
        rho = choice.loss.rho
        if roughly and rho is not None:
            at_delta = Loss(zcdp.bound_epsilon(rho, delta), delta, rho)
        else:
            at_delta = compute_loss(choice.noise, target.shift, delta)
        # A large delta may allow epsilon 0, a claim that could not be confirmed.
        epsilon = max(at_delta.epsilon, LEAST_EPSILON)
        return structs.replace(choice, loss=structs.replace(at_delta, epsilon=epsilon))

    def select(
        self,
        target: Target,
        limits: Contribution,
        epsilon: Fraction,
        delta: Fraction,
        form: Summed = COUNTED,
    ) -> tuple[Noise, int]:
        """Choose sigma squared and threshold together; delta pays for noise and new keys."""
        if form != COUNTED:
            raise ValueError("keys are selected by Gaussian noise on a count alone")
        sigma2, threshold = calibrate_gaussian(limits, epsilon, delta, target.adjacency)
        return Noise(NoiseFamily.GAUSSIAN, sigma2), threshold

    def compute_variance(self, noise: Noise) -> Fraction:
        """Return sigma squared."""
        return noise.parameter

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Compute l2_squared/intensity^2 over the square of the L1 norm."""
        sensitivity = target.sensitivity
        return sensitivity.l2_squared / (intensity * sensitivity.l1) ** 2


def _build_choice(target: Target, noise: Noise, stated_loss: Loss) -> Choice:
    shift = target.shift
    event = privacy_events.Gaussian(noise.parameter, shift)
    return Choice(noise, stated_loss, ((event, 1),) if shift.l2_squared else ())


GAUSSIAN = Gaussian()
