"""Noise that the integers of a cell have together: the K-norm mechanism of the cube, on integers.

A unit that moves every integer of a cell by at most c moves them to a point of the cube [-c, c]^D.
P(z) proportional to exp(-max abs(z_i)/s) on all integer vectors then costs epsilon = c/s (Hardt and
Talwar, "On the Geometry of Differential Privacy", arXiv 0907.3754): z and z + v have log-ratio
(max abs(z_i + v_i) - max abs(z_i))/s, at most max abs(v_i)/s by the triangle inequality, and
exactly that at z = 0. Cells have independent noise, so their losses add up: epsilon is ``cube``/s,
where ``cube`` adds up the largest change in each cell. Where the changes of a unit span the whole
cube, as those of twice a count less the total do for all conditions and the total, no other
K-norm mechanism errs less (Awan and Slavkovic, arXiv 1905.09436; Joseph and Yu, arXiv 2309.15790).

Given its reach R each integer is uniform on -R, ..., R, and R is about a Gamma variable of shape
D + 1: the variance of an integer is about (D+1)(D+2)/3 s^2, where Laplace noise of the same epsilon
has 2 D^2 s^2. Integers of a cell are not independent, but uncorrelated.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.mechanisms import NO_LOSS, NO_NOISE, Choice, Mechanism, Target
from dprelease.model import Loss, Noise, NoiseFamily, privacy_events
from dprelease.privacy import zcdp


class Cube(Mechanism):
    """Noise of the cube on the released integers of each cell."""

    family = NoiseFamily.CUBE
    words = "mechanisms.cube"
    keyword = "cube"
    together = True

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the noise of loss exactly ``epsilon``; none if neighbours never differ."""
        if epsilon <= 0:
            raise ValueError("epsilon must be positive")
        change = target.sensitivity.cube
        if change == 0:
            return Choice(NO_NOISE, NO_LOSS)
        noise = Noise(self.family, change / epsilon, integers=target.integers)
        loss = Loss(epsilon, Fraction(0), zcdp.bound_pure_rho(epsilon))
        return Choice(noise, loss, ((privacy_events.Pure(epsilon), 1),))

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the noise of the largest epsilon whose rho bound is at most ``rho``."""
        return self.calibrate(target, zcdp.find_epsilon_for_rho(rho), delta)

    def build_event(self, target: Target, intensity: Fraction) -> privacy_events.Pure:
        """Build the event of the exact epsilon: the scale is not rounded."""
        return privacy_events.Pure(intensity)

    def compute_variance(self, noise: Noise) -> Fraction:
        """Compute (D+1)(D+2)/3 scale^2."""
        return Fraction((noise.integers + 1) * (noise.integers + 2), 3) * noise.parameter**2

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Compute that variance over the square of the L1 sensitivity."""
        scale = Fraction(target.sensitivity.cube) / intensity
        noise = Noise(self.family, scale, integers=target.integers)
        return self.compute_variance(noise) / target.sensitivity.l1**2


CUBE = Cube()
