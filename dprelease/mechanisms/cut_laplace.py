"""Laplace noise that is cut, for counts that select private keys: these are shown earlier.

Laplace noise of scale s given that it is at most k in size, and a key is shown above k. Its proof
and its reach k are in ``privacy.partition_selection``, under *Cut noise*. Of the same scale as
Laplace noise, it has the same epsilon, at most the same delta and a little less variance, and its
threshold is lower. So it takes the place of what another mechanism chose wherever its threshold is
lower than that by a twentieth and it errs no more, unless the spec names a mechanism.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from dprelease.mechanisms import Choice, Mechanism, Target
from dprelease.mechanisms.gaussian import GAUSSIAN
from dprelease.mechanisms.laplace import LAPLACE
from dprelease.model import Noise, NoiseFamily
from dprelease.privacy.partition_selection import find_cut_noise

WORTHWHILE = Fraction(19, 20)
"""Of a threshold: what it has to fall to for noise to be cut."""


class CutLaplace(Mechanism):
    """Cut Laplace noise on a count that selects keys; Laplace noise on all else."""

    family = NoiseFamily.CUT_LAPLACE
    words = "mechanisms.cut_laplace"
    keyword = "cut-laplace"
    offered = False

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Calibrate Laplace noise: what selects no keys is not cut."""
        return LAPLACE.calibrate(target, epsilon, delta)

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Calibrate Laplace noise: what selects no keys is not cut."""
        return LAPLACE.calibrate_rho(target, rho, delta)

    def refine_selection(self, target: Target, keys: int, choice: Choice) -> Choice:
        """Cut noise of the same epsilon, unless the spec names a mechanism."""
        is_in_rho = choice.loss.rho is not None
        if choice.threshold is None or is_in_rho or target.query.mechanism != "auto":
            return choice
        scale = Fraction(target.sensitivity.l1) / choice.loss.epsilon
        cut = find_cut_noise(scale, keys, choice.loss.delta, target.adjacency)
        # A threshold that is hardly lower isn't worth noise that fewer readers know.
        if cut is None or (cut.reach + 1) > choice.threshold * WORTHWHILE:
            return choice
        known = LAPLACE if choice.noise.family is NoiseFamily.LAPLACE else GAUSSIAN
        if self.compute_variance(cut) > known.compute_variance(choice.noise):
            return choice
        return replace(choice, noise=cut, threshold=cut.reach + 1)

    def compute_variance(self, noise: Noise) -> Fraction:
        """Compute that of Laplace noise of the same scale, an upper bound."""
        return LAPLACE.compute_variance(noise)

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Give the error of Laplace noise, an upper bound."""
        return LAPLACE.estimate_error(target, intensity)


CUT_LAPLACE = CutLaplace()
