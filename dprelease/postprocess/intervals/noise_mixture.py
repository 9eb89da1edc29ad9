"""Quantiles of weighted sums of noise: of abs(w_1 X_1 + w_2 X_2 + w_3 X_3), draws of one law.

The draws are symmetric with a log-concave density, so that a weight of larger absolute value
never makes the sum more concentrated (Birnbaum 1948): a quantile at larger weights is an upper
bound. This is used twice: to look up quantiles on a lattice of weights, and to move weights apart
that are so close that the formula below would lose its digits.

The laws are continuous; each discrete draw can be coupled with its law within ``LATTICE_SLACK``.

Laplace draws of scales w_i have P(abs(sum) > t) = sum of A_i exp(-t/w_i), with A_i the product over
j != i of w_i^2/(w_i^2 - w_j^2), by partial fractions of the characteristic function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dprelease.model import Noise, NoiseFamily

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LATTICE_SLACK = 1.0
"""A discrete draw and its continuous counterpart can be coupled within 1 of each other."""

KNOTS = 128
_UP = 1 + 2.0**-40
_APART = 1 + 1 / 512  # the least quotient of two weights in the formula
_LEAST = 1e-9
_HALVINGS = 45
_ROUNDING = 1 + 1e-5  # far more than the digits that differences of such weights cost


def mix_quantiles(
    noise: Noise, alpha: Fraction, first: Floats, second: Floats, third: Floats
) -> Floats:
    """Bound the 1 - alpha quantile of abs(sum of w_i X_i) for each triple of weights >= 0."""
    import numpy as np

    if noise.family is NoiseFamily.NONE:
        return np.zeros_like(first)
    if noise.family is NoiseFamily.GAUSSIAN:
        length = np.sqrt(first * first + second * second + third * third)
        quantile = bound_normal_quantile(alpha) * math.sqrt(noise.parameter) * length
    else:
        smaller, larger = np.minimum(first, second), np.maximum(first, second)
        largest = np.maximum(np.maximum(larger, third), 1e-300)
        middle = np.maximum(smaller, np.minimum(larger, third))
        smallest = np.minimum(smaller, third)
        # A quantile rises with the weights, so the next larger knots bound it.
        knots = _find_knot(smallest / largest) * (KNOTS + 1) + _find_knot(middle / largest)
        table = _get_lattice(alpha)
        _fill_lattice(table, np.flatnonzero(np.bincount(knots, minlength=table.size)), alpha)
        quantile = table[knots] * largest * float(noise.parameter)
    slack: Floats = quantile + LATTICE_SLACK * (first + second + third)
    return slack


def _find_knot(share: Floats) -> NDArray[np.int64]:
    """Find the position of the next larger weight of the lattice."""
    import numpy as np

    return np.minimum(np.ceil(share * KNOTS), KNOTS).astype(np.int64)


@lru_cache(maxsize=16)
def bound_normal_quantile(alpha: Fraction) -> float:
    """Bound the 1 - alpha quantile of abs(N) from above, N standard normal."""
    low, high, target = 0.0, 40.0, float(alpha)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > target else (low, middle)
    return high


@lru_cache(maxsize=16)
def _get_lattice(alpha: Fraction) -> Floats:
    """Return the table of quantiles for weights i/KNOTS, j/KNOTS and 1, filled on demand."""
    import numpy as np

    return np.full((KNOTS + 1) ** 2, np.nan)


def _fill_lattice(table: Floats, places: NDArray[Any], alpha: Fraction) -> None:
    """Find the quantiles at these places, for standard Laplace draws, where they are missing."""
    import numpy as np

    missing = places[np.isnan(table[places])]
    if not missing.size:
        return
    # Larger weights give upper bounds, so weights are kept apart by raising them.
    small = np.maximum(missing // (KNOTS + 1) / KNOTS, _LEAST)
    middle = np.maximum(missing % (KNOTS + 1) / KNOTS, small * _APART)
    scales = np.stack([small, middle, np.maximum(1.0, middle * _APART)])
    parts = np.ones_like(scales)
    for i in range(3):
        for j in range(3):
            if j != i:
                parts[i] *= scales[i] ** 2 / (scales[i] ** 2 - scales[j] ** 2)
    target = float(alpha)
    low = np.zeros(missing.size)
    high = scales.sum(axis=0) * math.log(3 / target)
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        wide = (parts * np.exp(-half / scales)).sum(axis=0) > target
        low, high = np.where(wide, half, low), np.where(wide, high, half)
    # The formula loses digits in differences of close weights.
    table[missing] = high * _ROUNDING


def bound_mix_quantile(noise: Noise, alpha: Fraction, larger: float) -> float:
    """Bound the 1 - alpha quantile of abs(w X - (1 - w) Y) for two draws.

    Args:
        noise: The law of X and Y.
        alpha: Between 0 and 1.
        larger: The weight w, in [1/2, 1].

    Returns:
        The bound, in steps of the noise.
    """
    smaller = 1.0 - larger
    if noise.family is NoiseFamily.NONE:
        return 0.0
    tail, scale = (
        (_compute_laplace_tail, float(noise.parameter))
        if noise.family is NoiseFamily.LAPLACE
        else (_compute_gaussian_tail, math.sqrt(noise.parameter))
    )
    target = float(alpha)
    low, high = 0.0, 1.0
    while tail(high, larger, smaller) > target:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if tail(middle, larger, smaller) > target:
            low = middle
        else:
            high = middle
    return high * scale + LATTICE_SLACK


def _compute_laplace_tail(at: float, larger: float, smaller: float) -> float:
    """Compute P(abs(larger L - smaller L') > at) for standard Laplace L, L'."""
    if larger - smaller < 1e-6:  # the limit of equal weights, at the larger one: never less
        return (1 + at / (2 * larger)) * math.exp(-at / larger)
    if smaller == 0.0:
        return math.exp(-at / larger)
    first = larger**2 * math.exp(-at / larger) - smaller**2 * math.exp(-at / smaller)
    return first / (larger**2 - smaller**2)


def _compute_gaussian_tail(at: float, larger: float, smaller: float) -> float:
    """Compute P(abs(larger N - smaller N') > at) for standard normal N, N'."""
    return math.erfc(at / math.sqrt(2 * (larger**2 + smaller**2)))


def bound_normal_halfwidth(
    noise: Noise, squares: Fraction, whole: Fraction, interval: Fraction
) -> Fraction:
    """Bound the half-width of a weighted sum of Gaussian draws by coupled normal ones.

    Args:
        noise: Gaussian noise.
        squares: The sum of the squared weights.
        whole: The sum of the absolute weights.
        interval: The level of the interval.

    Returns:
        The half-width, in steps of the noise.

    Raises:
        ValueError: The noise has another law.
    """
    if noise.family is not NoiseFamily.GAUSSIAN:
        raise ValueError("only Gaussian noise has the half-width of a normal law")
    length = math.sqrt(noise.parameter * squares) * _UP
    return (
        Fraction(bound_normal_quantile(1 - interval) * length * _UP)
        + Fraction(LATTICE_SLACK) * whole
    )


def bound_mixed_halfwidth(
    noise: Noise, factors: Sequence[Fraction], interval: Fraction
) -> Fraction:
    """Bound the half-width of a weighted sum of two or three draws, by the continuous laws.

    Args:
        noise: The law of the draws.
        factors: Two or three positive weights.
        interval: The level of the interval.

    Returns:
        The half-width, rounded up, in steps of the noise.
    """
    import numpy as np

    whole = sum(factors, Fraction(0))
    if len(factors) == 2:
        larger = float(max(factors) / whole) * _UP
        quantile = bound_mix_quantile(noise, 1 - interval, min(1.0, larger))
    else:
        weights = (np.array([float(factor / whole)]) for factor in factors)
        quantile = float(mix_quantiles(noise, 1 - interval, *weights)[0])
    return whole * Fraction(quantile * _UP)
