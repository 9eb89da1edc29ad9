"""Staircase noise on integers: the optimal noise of a pure epsilon for one number.

Geng and Viswanath, "The Optimal Mechanism in Differential Privacy" (arXiv 1212.1186), and on
integers its section on discrete queries. P(k) is flat on stairs of D integers, the middle one from
1 - r to r - 1, and falls by e^-eps0 from one to the next. A shift by t crosses at most ceil(t/D) of
their edges, and as many somewhere. So neighbours whose integers differ by (t_1, t_2, ...) have a
log-ratio of at most eps0 times the sum of ceil(t_i/D), exactly that somewhere. Where D times this
sum is no more than the L1 sensitivity for every change, eps0 = D/s loses what Laplace noise of
scale s does: one release at epsilon = L1/s. So it is with D = M for a sum whose values are at most
M: its one row moves one cell by M, or two by M each.

Of the same scale s, it errs less: with one stair in each change, by 2 % in root mean square at
epsilon 1, 8 % at 2 and 28 % at 4. The first part r is what errs least. What is known is epsilon
(and so rho); Laplace noise has a better curve of its losses. It takes the place of that only where
losses compose by these two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from msgspec.structs import replace

from dprelease.mechanisms import Choice, Mechanism, Target
from dprelease.mechanisms.laplace import LAPLACE
from dprelease.model import Noise, NoiseFamily, Sensitivity
from dprelease.model.privacy_events import Pure

WORTH = Fraction(99, 100) ** 2
"""It is taken where it has no more than this part of the variance of Laplace noise."""

_LONGEST = 1 << 62


class Staircase(Mechanism):
    """Staircase noise on single integers; Laplace noise where that is about as good."""

    family = NoiseFamily.STAIRCASE
    words = "mechanisms.staircase"
    keyword = "staircase"
    offered = False

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Calibrate Laplace noise, then refine it."""
        return self.refine(target, LAPLACE.calibrate(target, epsilon, delta))

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Calibrate Laplace noise, then refine it."""
        return self.refine(target, LAPLACE.calibrate_rho(target, rho, delta))

    def refine(self, target: Target, choice: Choice) -> Choice:
        """Replace Laplace noise on a single integer, unless the spec names a mechanism."""
        if (
            choice.noise.family is not NoiseFamily.LAPLACE
            or target.query.mechanism != "auto"
            or target.query.implied
            or not target.one_draw
        ):
            return choice
        # Figures combined of several integers keep Laplace noise: their plans know no staircase.
        noise = choose_staircase(choice.noise, target.sensitivity)
        if noise == choice.noise:
            return choice
        return replace(choice, noise=noise, events=((Pure(choice.loss.epsilon), 1),))

    def compute_variance(self, noise: Noise) -> Fraction:
        """Compute the variance of the discrete law itself."""
        return Fraction(_compute_variance(noise))

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Give the error of Laplace noise, an upper bound."""
        return LAPLACE.estimate_error(target, intensity)


def choose_staircase(laplace: Noise, sensitivity: Sensitivity) -> Noise:
    """Choose the staircase of the least variance at the same loss, or Laplace noise."""
    options = [
        _build_stair_noise(laplace.parameter, stair)
        for stair in iter_stairs(sensitivity)
        if stair < _LONGEST
    ]
    noise = min(options, key=_compute_variance, default=laplace)
    # Laplace noise has the better curve of losses, so it stays unless the gain is worth it.
    return noise if _compute_variance(noise) <= WORTH * _compute_variance(laplace) else laplace


def iter_stairs(sensitivity: Sensitivity) -> Iterator[int]:
    """Give the lengths of stairs that lose no more than Laplace noise.

    For every change, the length times the number of edges that it can cross is at most the L1
    sensitivity.
    """
    for stair in {size for shape in sensitivity.shapes for size in shape if size}:
        crossed = (sum(-(-size // stair) for size in shape) for shape in sensitivity.shapes)
        if max(crossed) * stair <= sensitivity.l1:
            yield stair


@lru_cache(maxsize=1024)
def _build_stair_noise(scale: Fraction, stair: int) -> Noise:
    """Build the noise with the first part of least variance."""

    # Variance falls in the first part, then rises.
    def is_rising(first: int) -> bool:
        shorter, longer = (
            _compute_variance(replace(noise, first=first + extra)) for extra in (0, 1)
        )
        return longer >= shorter

    noise = Noise(NoiseFamily.STAIRCASE, scale, stair, 1)
    return replace(noise, first=1 + bisect_left(range(1, stair), True, key=is_rising))


def _compute_variance(noise: Noise) -> float:
    # Imported here for start-up: to load a spec needs no law.
    from dprelease.kernel.distributions.laws import compute_noise_variance

    return compute_noise_variance(noise)


STAIRCASE = Staircase()
