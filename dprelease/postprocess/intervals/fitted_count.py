"""One estimate of the number of records for all shares of the same records, and their reading.

Share i of m has released A_i = a_i + X_i and B_i = n - a_i + Y_i, with independent noise, and n is
the same for all. With w_i in inverse proportion to the variance of X_i and Y_i,

    N = sum of w_i (A_i + B_i)    and    T_i = (A_i - B_i + N)/2

are the best linear unbiased estimates of n and a_i from all these integers. For the true share
p = a_i/n, whatever a_i and n are,

    T_i - p N = (X_i - Y_i)/2 + (1/2 - p) sum of w_j (X_j + Y_j),

so that Fieller's argument gives an interval around T_i/N, as in ``quotient_intervals``. The
quantile of that noise rises with d = abs(1/2 - p): weights 1/2 + d w_i and 1/2 - d w_i are
majorized by those of a larger d (Proschan 1965), and those of other draws grow (Birnbaum 1948).
That holds of continuous laws. (X_i - Y_i)/2 takes multiples of a half, so that the quantile of
draws on the integers may fall with d by less than that: ``LATTICE_STEP`` is added.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)

FINEST = 1000
"""Weights are integers up to this, divided by their sum: so they are equal on every machine."""
KNOTS = 32
"""Number of values of d for which quantiles are computed; others take that of the next larger d."""
LATTICE_STEP = Fraction(1, 2)

_HALF = Fraction(1, 2)


class Law(NamedTuple):
    """``steps`` steps with this noise, each with this weight."""

    noise: Noise
    weight: Fraction
    steps: int


class FittedCount(Struct, frozen=True):
    """The laws of the steps of all shares of the same records; ``law_of`` maps steps to laws."""

    laws: tuple[Law, ...]
    law_of: Mapping[str, int]

    def weight(self, step: str) -> Fraction:
        """Return the weight of a step's integers in N; the weights of all steps add up to 1."""
        return self.laws[self.law_of[step]].weight

    def bound_count_noise(self, alpha: Fraction) -> Fraction:
        """Bound the noise of N, but for a chance of alpha."""
        parts = (Part(noise, weight, 2 * steps) for noise, weight, steps in self.laws)
        return compute_combined_halfwidth(combine_parts(parts), alpha)

    def bound_share_noise(self, step: str, alpha: Fraction, knot: int = KNOTS) -> Fraction:
        """Bound the noise of T - p N of a step's share, at abs(1/2 - p) <= knot/(2 KNOTS)."""
        off, own = Fraction(knot, 2 * KNOTS), self.law_of[step]
        noise, weight, _ = self.laws[own]
        # X_i and Y_i have weights 1/2 + d w_i and 1/2 - d w_i; draws of other steps have d w_j.
        parts = [Part(noise, _HALF + sign * off * weight, 1) for sign in (1, -1)]
        for place, law in enumerate(self.laws):
            others = law.steps - (place == own)
            if others:
                parts.append(Part(law.noise, off * law.weight, 2 * others))
        return compute_combined_halfwidth(combine_parts(parts), alpha) + LATTICE_STEP


class CountTogether(NamedTuple):
    """A fitted count and, for each cell, ``width`` times it; the share is read from ``own``."""

    fit: FittedCount
    own: str
    totals: Sequence[int]
    width: int


def fit_count(noises: Mapping[str, Noise]) -> FittedCount:
    """Weigh steps by the precision of their noise; raise ValueError unless Laplace or Gaussian."""
    numbers = Counter(noises.values())
    precisions = {noise: _compute_precision(noise) for noise in numbers}
    largest = max(precisions.values())
    whole = {noise: round(FINEST * size / largest) for noise, size in precisions.items()}
    total = sum(whole[noise] * steps for noise, steps in numbers.items())
    laws = [Law(noise, Fraction(whole[noise], total), steps) for noise, steps in numbers.items()]
    places = {noise: place for place, noise in enumerate(numbers)}
    return FittedCount(tuple(laws), {step: places[noise] for step, noise in noises.items()})


def _compute_precision(noise: Noise) -> Fraction:
    """Compute one over the variance of the continuous law: exact, and near enough for a weight."""
    if noise.family is NoiseFamily.LAPLACE:
        return 1 / (2 * noise.parameter**2)
    if noise.family is NoiseFamily.GAUSSIAN:
        return 1 / noise.parameter
    raise ValueError("only Laplace and Gaussian noise is weighed")


def count_together(
    fit: FittedCount, own: str, values: Mapping[str, Sequence[Sequence[int]]]
) -> CountTogether:
    """Add up the integers of all steps of a fit, each times its weight."""
    # Multiplied by this, all weights are whole numbers.
    width = math.lcm(*(law.weight.denominator for law in fit.laws))
    totals: list[int] = []
    for step in fit.law_of:
        factor = int(fit.weight(step) * width)
        sums = [factor * sum(cell) for cell in zip(*values[step], strict=True)]
        totals = list(map(sum, zip(totals, sums, strict=True))) if totals else sums
    return CountTogether(fit, own, totals, width)
