"""The vector Laplace mechanism on integers: scale = L1 sensitivity / epsilon, exactly.

For noise P(k) proportional to e^(-|k|/s) on every released integer, two neighbours at L1
distance l1 have log-ratio at most l1/s everywhere, and exactly that where all noise has the sign
of the difference: epsilon = l1/s, for every integer l1.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.mechanisms import NO_LOSS, NO_NOISE, Choice, Mechanism, Target
from dprelease.model import Loss, Noise, NoiseFamily, privacy_events
from dprelease.privacy import zcdp
from dprelease.privacy.partition_selection import find_laplace_threshold
from dprelease.privacy.sensitivity import COUNTED, Contribution, Summed


def calibrate(l1: int, epsilon: Fraction) -> Noise:
    """Compute the noise of loss exactly ``epsilon``; none if neighbours never differ (l1 = 0)."""
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    return Noise(NoiseFamily.LAPLACE, Fraction(l1) / epsilon) if _is_moving(l1) else NO_NOISE


def calibrate_rho(l1: int, rho: Fraction) -> Noise:
    """Compute noise whose rho bound is at most ``rho``, by the largest such epsilon."""
    return calibrate(l1, zcdp.find_epsilon_for_rho(rho)) if _is_moving(l1) else NO_NOISE


def compute_loss(noise: Noise, l1: int) -> Loss:
    """Compute the loss of Laplace noise: epsilon exact, rho an upper bound (15 digits)."""
    if not _is_moving(l1):
        return NO_LOSS
    if noise.family is not NoiseFamily.LAPLACE or noise.parameter <= 0:
        raise ValueError("a sensitivity above 0 needs Laplace noise of a positive scale")
    epsilon = l1 / noise.parameter
    return Loss(epsilon, Fraction(0), zcdp.bound_pure_rho(epsilon))


def _is_moving(l1: int) -> bool:
    if l1 < 0:
        raise ValueError("a sensitivity can't be negative")
    return l1 > 0


class Laplace(Mechanism):
    """Laplace noise on every released integer."""

    family = NoiseFamily.LAPLACE
    words = "mechanisms.laplace"
    keyword = "laplace"

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the noise by ``calibrate``, for the target's L1 sensitivity."""
        return build_choice(target, calibrate(target.sensitivity.l1, epsilon))

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the noise by ``calibrate_rho``, for the target's L1 sensitivity."""
        return build_choice(target, calibrate_rho(target.sensitivity.l1, rho))

    def build_event(self, target: Target, intensity: Fraction) -> privacy_events.Laplace:
        """Build the event of the exact scale: Laplace noise is not rounded."""
        l1 = target.sensitivity.l1
        return privacy_events.Laplace(l1 / intensity, l1)

    def select(
        self,
        target: Target,
        limits: Contribution,
        epsilon: Fraction,
        delta: Fraction,
        form: Summed = COUNTED,
    ) -> tuple[Noise, int]:
        """Choose noise for epsilon and a threshold for delta, which pays for new keys alone."""
        noise = calibrate(target.sensitivity.l1, epsilon)
        return noise, find_laplace_threshold(noise.parameter, limits, delta, form)

    def compute_variance(self, noise: Noise) -> Fraction:
        """Compute 2 scale^2."""
        return 2 * noise.parameter**2

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Compute 2/intensity^2."""
        return 2 / intensity**2


def build_choice(target: Target, noise: Noise) -> Choice:
    """Build the choice of this noise (or none) on the target's integers."""
    l1 = target.sensitivity.l1
    event = privacy_events.Laplace(noise.parameter, l1)
    return Choice(noise, compute_loss(noise, l1), ((event, 1),) if l1 else ())


LAPLACE = Laplace()
