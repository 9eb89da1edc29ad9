"""Quantiles of weighted sums of noise: of abs(w_1 X_1 + w_2 X_2 + ...), draws of one law.

The laws are continuous; each discrete draw can be coupled with its law within ``LATTICE_SLACK``.
The standard deviation of a Gaussian sum is the length of its weights times that of the noise.

*Three Laplace draws.* They are symmetric with a log-concave density, so that a weight of larger
absolute value never makes the sum more concentrated (Birnbaum 1948): a quantile at larger weights
is an upper bound. This is used twice: to look up quantiles on a lattice of weights, and to move
weights apart that are so close that the formula below would lose its digits. Draws of scales w_i
have P(abs(sum) > t) = sum of A_i exp(-t/w_i), with A_i the product over
j != i of w_i^2/(w_i^2 - w_j^2), by partial fractions of the characteristic function.

*Many Laplace draws.* The characteristic function of a sum S of discrete draws is the product of
theirs, each (1 - a)^2/(1 - 2 a cos u + a^2), a = e^(-1/scale). S is on no lattice, so normal noise
V of a small deviation is added: P(abs(S) > t) <= P(abs(S + V) > t - v) + P(abs(V) > v). The law of
S + V is inverted by the midpoint rule in steps of 2 pi/T, which errs by no more than
P(abs(S + V) > T - t) (Davies, "Numerical inversion of a characteristic function", Biometrika 60,
1973). Where alpha is so small that digits would be lost, Chernoff's bound takes its place.

*Running sums* that are read from overlapping sums with factors. The sum of the first j
labels has the weights of the one before, and at each place k up to j the coefficient g_(j-k) over
the factor of j besides. Lengths are added up in floats, of positive terms each, and raised by a
part in 10^9, which covers their rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
    """Bound the 1 - alpha quantile of abs(w X - (1 - w) Y) for two draws, in steps of the noise.

    ``larger`` is the weight w, in [1/2, 1].
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

    ``squares`` is the sum of the squared weights, ``whole`` that of the absolute ones. The bound is
    in steps of the noise. Raises ValueError for another law.
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
    """Bound the half-width of two or three draws of positive weights, by the continuous laws.

    It is rounded up, in steps of the noise.
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


# --- many draws ---------------------------------------------------------------------------------

_LEAST_ALPHA = Fraction(1, 10_000)
_BLUR = 0.01  # the deviation of V, in that of S
_LEAST_DEVIATION = 0.2  # a smaller one is that of few draws that are not 0
_BLURRED = Fraction(1, 50)  # the share of alpha for V
_FAR = 25  # deviations of S, and so many scales of its largest weight: nothing is beyond
_END = 6  # deviations of V: beyond, its characteristic function is nothing
_BLOCK = 128
_FEW_HALVINGS = 30


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
    for _ in range(_FEW_HALVINGS):
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


# --- running sums --------------------------------------------------------------------------------

_RAISED = Fraction(10**9 + 1, 10**9)


class RowLength(NamedTuple):
    """Bounds of a weighted sum of draws: of its squared weights, and of its absolute weights."""

    squares: Fraction
    whole: Fraction

    def bound_halfwidth(self, noise: Noise, alpha: Fraction) -> Fraction:
        """Bound the half-width of the sum, of Gaussian draws, but for a chance of alpha."""
        if noise.family is NoiseFamily.NONE:
            return Fraction(0)
        return bound_normal_halfwidth(noise, self.squares, self.whole, 1 - alpha)


def measure_rows(
    coefficients: Sequence[Fraction], factors: Sequence[int], q: Fraction
) -> tuple[RowLength, ...]:
    """Measure the weights of each running sum less q >= 0 times that of all, one for each label.

    ``coefficients`` are g_0, g_1, ...; ``factors`` those of the labels.
    """
    import numpy as np

    labels = len(factors)
    backwards = np.array([float(coefficient) for coefficient in coefficients[::-1]])

    def add_label(row: Floats, label: int) -> None:
        row[: label + 1] += backwards[labels - 1 - label :] / factors[label]

    last = np.zeros(labels)
    for label in range(labels if q else 0):
        add_label(last, label)
    row = -float(q) * last
    measured = []
    for label in range(labels):
        add_label(row, label)
        lengths = (float(row @ row), float(np.abs(row).sum()))
        measured.append(RowLength(*(Fraction(length) * _RAISED for length in lengths)))
    return tuple(measured)
