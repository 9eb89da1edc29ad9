"""The chance that noise lifts a key of a single unit to the threshold, never too small.

Of m new keys with n_1, ..., n_m rows of one unit one is shown with the chance
1 - prod(1 - P(Z >= T - n_i)). P(Z >= T - n) is convex in n as long as T - n >= 1, since the law
falls from 0 on, and so is g(n) = -ln(1 - P(Z >= T - n)), a convex rising function of it. So the
chance is largest at a corner of 1 <= n_i <= B, sum n_i <= R: as many keys as possible have B rows,
one has what is left, and all others 1.

Nor need every m be tried. Up to R/B keys, all are full and more are worse. From there on R - m
rows are shared out beyond the first of each key, in parts of B - 1 and a rest; between two m where
nothing is the rest the sum of all g is convex in m, and where it is nothing linear. So it is
largest at one of the ends, or at the first or last m without a rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dprelease.model import Noise, NoiseFamily
from dprelease.privacy.gaussian import lattice
from dprelease.privacy.interval_arithmetic import (
    ONE,
    ZERO,
    exp_bounds,
    ln_bounds,
    normal_bounds,
    round_up,
    sqrt_bounds,
)
from dprelease.privacy.sensitivity.contribution import Contribution

# Below, the sum of chances is as good as their union, which would lose digits.
_TINY = Fraction(1, 10**30)


@dataclass(frozen=True)
class NewKeys:
    """Keys that one unit alone brings into the table, under one noise and threshold."""

    noise: Noise
    threshold: int
    limits: Contribution

    def shown(self, new: int) -> Fraction:
        """Upper bound of the chance that one of at most ``new`` of them is shown: r_m."""
        if new == 0:
            return ZERO
        return max(self._exactly(each) for each in _worst(self.limits, new))

    def _exactly(self, new: int) -> Fraction:
        """Upper bound of the chance that one of exactly ``new`` keys is shown."""
        chances = [
            (tail(self.noise, self.threshold - size), number)
            for size, number in _sizes(self.limits, new)
        ]
        union = sum((chance * number for chance, number in chances), ZERO)
        if union <= _TINY:
            return round_up(union, 60)
        if any(chance >= 1 for chance, _ in chances):
            return ONE
        logs = sum((ln_bounds(1 - chance)[0] * number for chance, number in chances), ZERO)
        return round_up(min(union, 1 - exp_bounds(logs)[0]), 60)


def _worst(limits: Contribution, new: int) -> set[int]:
    """Numbers of new keys up to ``new``, one of which is the worst."""
    rows, most = limits.rows, limits.per_group
    if new <= rows // most:
        return {new}
    full, start = rows // most, -(-rows // most)
    ends = {full, start, new, start + (rows - start) % (most - 1), new - (new - rows) % (most - 1)}
    return {each for each in ends if start <= each <= new} | {full}


def _sizes(limits: Contribution, new: int) -> list[tuple[int, int]]:
    """Rows in each of ``new`` keys, at the worst, as (rows, number of keys)."""
    most, spare = limits.per_group, limits.rows - new
    full = new if most == 1 else min(new, spare // (most - 1))
    sizes = [(most, full)]
    if full < new:
        sizes += [(1 + spare - full * (most - 1), 1), (1, new - full - 1)]
    return [(size, number) for size, number in sizes if number]


@lru_cache(maxsize=4096)
def tail(noise: Noise, start: int) -> Fraction:
    """Upper bound of P(Z >= start) for start >= 1, below 1."""
    if noise.family is NoiseFamily.LAPLACE:
        below = 1 + exp_bounds(-1 / noise.parameter)[0]
        return round_up(exp_bounds(-start / noise.parameter)[1] / below, 70)
    sigma2 = noise.parameter
    if sigma2 <= lattice.LIMIT_ONE:
        weights = lattice.table(sigma2)
        return round_up(Fraction(weights.survival_high(start), weights.total_low), 70)
    # Weights are convex beyond sigma, so there each is at most its mean over a unit around it,
    # and falling everywhere; their sum is at least sqrt(2 pi sigma2), by Poisson's formula.
    near = Fraction(start) - Fraction(1, 2)
    above = near if near * near >= sigma2 else Fraction(start - 1)
    return normal_bounds(-above / sqrt_bounds(sigma2)[1])[1]
