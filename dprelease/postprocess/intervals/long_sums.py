"""Quantiles of weighted sums of many draws of noise.

*Gaussian.* The standard deviation of a sum is the length of its weights times that of the noise.
This is the continuous law; each discrete draw can be coupled with a continuous one within
``noise_mixture.LATTICE_SLACK``.

*Laplace.* The characteristic function of a sum S of discrete draws is the product of theirs, each
(1 - a)^2/(1 - 2 a cos u + a^2), a = e^(-1/scale). S is on no lattice, so normal noise V of a small
deviation is added: P(abs(S) > t) <= P(abs(S + V) > t - v) + P(abs(V) > v). The law of S + V is
inverted by the midpoint rule in steps of 2 pi/T, which errs by no more than P(abs(S + V) > T - t)
(Davies, "Numerical inversion of a characteristic function", Biometrika 60, 1973). Where alpha is so
small that digits would be lost, Chernoff's bound takes its place.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import bound_normal_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEAST_ALPHA = Fraction(1, 10_000)
_BLUR = 0.01  # the deviation of V, in that of S
_LEAST_DEVIATION = 0.2  # a smaller one is that of few draws that are not 0
_BLURRED = Fraction(1, 50)  # the share of alpha for V
_FAR = 25  # deviations of S, and so many scales of its largest weight: nothing is beyond
_END = 6  # deviations of V: beyond, its characteristic function is nothing
_BLOCK = 128
_HALVINGS = 30


def bound_quantile_per_length(noise: Noise, weights: Floats, alpha: Fraction) -> float:
    """Bound the 1 - alpha quantile of abs(sum of w_i X_i) over the length of w, for all rows w.

    Raises ValueError for noise of another family.
    """
    if noise.family is NoiseFamily.NONE:
        return 0.0
    if noise.family is NoiseFamily.GAUSSIAN:
        return bound_normal_quantile(alpha) * math.sqrt(noise.parameter)
    if noise.family is not NoiseFamily.LAPLACE:
        raise ValueError("sums are known of Gaussian and of Laplace noise")
    import numpy as np

    rows = weights / np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    if alpha < _LEAST_ALPHA:
        return _bound_chernoff(float(noise.parameter), rows, float(alpha))
    return _invert_tail(float(noise.parameter), rows, alpha)


def _invert_tail(scale: float, rows: Floats, alpha: Fraction) -> float:
    import numpy as np

    fall = math.exp(-1 / scale)
    deviation = math.sqrt(2 * fall) / (1 - fall)
    if 2 * fall * rows.shape[1] < alpha:
        return 0.0  # often enough all draws are
    blur = _BLUR * max(deviation, _LEAST_DEVIATION)
    # Inversion in steps of 2 pi/period errs by P(abs(S + V) > period - t), which is negligible.
    period = _FAR * deviation + 2 * _FAR * max(scale, 1.0)
    nodes = (
        (np.arange(math.ceil(_END / blur * period / (2 * math.pi))) + 0.5) * 2 * math.pi / period
    )
    # Blocks of nodes keep the three-dimensional array of draws small.
    parts = []
    for start in range(0, len(nodes), _BLOCK):
        angles = nodes[start : start + _BLOCK]
        draws = (1 - fall) ** 2 / (1 + fall**2 - 2 * fall * np.cos(rows[:, :, None] * angles))
        parts.append(draws.prod(axis=1) * np.exp(-((blur * angles) ** 2) / 2) / angles)
    factors = np.concatenate(parts, axis=1) * (4 / period)
    # V takes a small part of alpha, S + V the rest.
    target = float(alpha * (1 - _BLURRED))
    low, high = np.zeros(len(rows)), np.full(len(rows), period / 2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = 1 - (factors * np.sin(np.outer(middle, nodes))).sum(axis=1) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return float(high.max()) + blur * bound_normal_quantile(alpha * _BLURRED)


def _bound_chernoff(scale: float, rows: Floats, alpha: float) -> float:
    """Find the least t with 2 E exp(u S) exp(-u t) = alpha, over some u."""
    import numpy as np

    fall = math.exp(-1 / scale)
    bounds = []
    for share in np.arange(1, 64) / 64:
        rates = share / (scale * abs(rows).max(axis=1, keepdims=True))
        up = np.exp(rates * rows)
        logs = 2 * math.log1p(-fall) - np.log1p(-fall * up) - np.log1p(-fall / up)
        bounds.append((logs.sum(axis=1) - math.log(alpha / 2)) / rates[:, 0])
    return float(np.min(bounds, axis=0).max())
