"""The noise of a sum of two or three noisy integers, each with a factor of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.model import Noise
from dprelease.postprocess.intervals.noise_mixture import mix_quantiles
from dprelease.postprocess.intervals.share import quantile_of_mix

_UP = 1 + 2.0**-40


def mixed_half(noise: Noise, factors: Sequence[Fraction], interval: Fraction) -> Fraction:
    """Bound the half-width at level ``interval``: by continuous laws, rounded up."""
    import numpy as np

    whole = sum(factors, Fraction(0))
    if len(factors) == 2:
        larger = float(max(factors) / whole) * _UP
        found = quantile_of_mix(noise, 1 - interval, min(1.0, larger))
    else:
        weights = (np.array([float(factor / whole)]) for factor in factors)
        found = float(mix_quantiles(noise, 1 - interval, *weights)[0])
    return whole * Fraction(found * _UP)
