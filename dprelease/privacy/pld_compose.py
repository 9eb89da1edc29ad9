r"""Composing laws of losses on a grid by Fourier transform, with a bound for all that is rounded.

Pieces (``pld_grid``) i = 1, 2, ..., each n_i times, have tilted weights t_i(k) at depth k. Let y be
their circular convolution over N points, X the sum of tops, H = sum n_i log_scale_i. The mass of
the composed law at X - K h is at most e^(H + tilt K h) y(K mod N): whatever else falls to the same
point of the circle only adds. With the window k0 <= K < k0 + N and X - (k0 + N - 1) h <= epsilon,

    delta(epsilon) <= e^(H + tilt (X - epsilon)) sum over K of w(K) y(K mod N)
                      + P(depth < k0) + P(infinity),
    w(K) = (1 - e^-x) e^(-tilt x),  x = X - K h - epsilon > 0.

*Above the window*: P(depth < k0) <= e^(s (k0 - 1) h) prod (sum of mass_i(k) e^(-s k h))^n_i, any
s > 0. *Infinity*: at most sum n_i infinity_i times e^(sum n_i excess_i): no law's mass is above
1 by more than its excess.

*Rounding*, u = 2^-53, norms are Euclidean. The transform of N points is off by at most f times its
norm, f = 16 u log2 N: twice what Higham (Accuracy and Stability of Numerical Algorithms, Theorem
24.2) proves for radix 2, 8 u log2 N, with twiddle factors accurate to u. So transforms F_i, of norm
sqrt(N) |t_i|, are off by at most f sqrt(N) |t_i| in all and also in each entry; hence no entry of
theirs exceeds sum t_i + f sqrt(N) |t_i|. Let G be the product of the n_i-th powers of that, times
(1 + 4u)^n, n = sum n_i. A product of n numbers by n - 1 complex multiplications, each off by 4u of
itself, is off by (1 + 4u)^n - 1 of itself, and |product| <= G sqrt(N) min |t_i|. Together with the
transform back, |y - computed y| <= G (f sum n_i |t_i| + (4u n + 2f) min |t_i|) =: E, and so
sum w y <= sum w (computed y) + |w| E. Weights lost to underflow add FLOOR each, and parts of
products below 1e-100 that are left out 1e-100 each, times G; w and the sum are
off by u (N + 16 + 8 tilt x) of the sum of w abs(y); exponents by 8u of the sum of their terms'
absolute values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dprelease.privacy.pld_grid import FLOOR, TOP_BITS, Floats, Grid, Piece

Waves = npt.NDArray[np.complex128]

_U = 2.0**-53
_MOST_LAWS = 10**7
_NOTHING = 1e-100


@dataclass(frozen=True, slots=True)
class Composed:
    """The composed law within a window; ``delta`` reads it. See the module."""

    grid: Grid
    top: int
    first: int  # k0
    tilted: Floats  # y from depth k0 on
    error: float  # E
    log_scale: float  # H
    log_slack: float  # what H may be off by
    beside: float  # above the window, and at infinity

    def delta(self, epsilon: Fraction) -> float:
        """Upper bound of the composed law's delta; 1 below the window."""
        step, tilt = self.grid.step, self.grid.tilt
        h = float(step)
        above = self.top - math.floor(epsilon / step * (1 << TOP_BITS))
        units = above - (self.first << TOP_BITS)
        whole, part = units >> TOP_BITS, (units & ((1 << TOP_BITS) - 1)) / (1 << TOP_BITS)
        count = whole + (part > 0)
        if count <= 0:
            return min(1.0, self.beside)
        if count > len(self.tilted):
            return 1.0
        x = ((whole - np.arange(count, dtype=np.float64)) + part) * h
        weight = -np.expm1(-x) * np.exp(-tilt * x)
        parts = weight * self.tilted[:count]
        slack = float((np.abs(parts) * (len(x) + 16 + 8 * tilt * x)).sum()) * _U
        value = float(parts.sum()) + slack
        value += _norm(weight) * self.error * (1 + 1e-9)
        fallen = tilt * float(Fraction(above, 1 << TOP_BITS) * step)
        exponent = self.log_scale + fallen + self.log_slack + 8 * _U * (fallen + 1)
        if exponent > 700:
            return 1.0
        return min(
            1.0, (math.exp(max(exponent, -700.0)) * max(value, 0.0) + self.beside) * (1 + 1e-13)
        )


def compose(
    pieces: Sequence[tuple[Piece, int]], grid: Grid, size: int, high: float, tilt_high: float
) -> Composed:
    """Compose pieces, each so many times, on ``size`` points, from the loss ``high`` down.

    OverflowError if they are too many.
    """
    total = sum(times for _, times in pieces)
    if not 0 < total <= _MOST_LAWS:
        raise OverflowError("too many laws to compose")
    top = sum(times * piece.top for piece, times in pieces)
    first = max(0, math.floor(Fraction(top, 1 << TOP_BITS) - Fraction(high) / grid.step))
    product: Waves | None = None
    relative = 16 * _U * math.log2(size)
    spread, growth, least = 0.0, 4 * _U * total, math.inf
    for piece, times in pieces:
        weights = _folded(piece, size)
        norm = _norm(weights)
        spread += times * norm
        growth += times * (float(weights.sum()) - 1 + 1e-11 + relative * math.sqrt(size) * norm)
        least = min(least, norm)
        factor = _power(np.fft.rfft(weights), times)
        product = factor if product is None else _times(product, factor)
    if product is None or growth > 1:
        raise OverflowError("too many laws to compose")
    error = math.exp(growth) * (relative * spread + (4 * _U * total + 2 * relative) * least)
    terms = [times * piece.log_scale for piece, times in pieces]
    beside = math.fsum(times * piece.infinity for piece, times in pieces)
    beside *= math.exp(math.fsum(times * piece.excess for piece, times in pieces)) * (1 + 1e-9)
    if first:
        beside += _above(pieces, grid, first, max(tilt_high, grid.tilt))
    return Composed(
        grid,
        top,
        first,
        np.roll(np.fft.irfft(product, size), -(first % size)),
        error * (1 + 1e-9) + 6 * total * (FLOOR + _NOTHING),
        math.fsum(terms),
        _slack(terms),
        beside,
    )


def _norm(values: Floats) -> float:
    return math.sqrt(float(np.square(values).sum()))


def _folded(piece: Piece, size: int) -> Floats:
    """The weights on a circle, raised by more than the rounding of their sums."""
    places = np.fmod(piece.depth, size).astype(np.int64)
    weights = np.bincount(places, piece.weight, minlength=size)
    return np.asarray(weights * (1 + 2 * _U * len(places)), dtype=np.float64)


def _power(base: Waves, times: int) -> Waves:
    """The power by repeated squaring: times - 1 multiplications of one factor by another."""
    result: Waves | None = None
    while times:
        if times & 1:
            result = base if result is None else _times(result, base)
        times >>= 1
        if times:
            base = _times(base, base)
    return base if result is None else result


def _times(first: Waves, second: Waves) -> Waves:
    """The product, its smallest parts left out: they would make all that follows slow."""
    product = first * second
    parts = product.view(np.float64)
    parts *= np.abs(parts) >= _NOTHING
    return product


def _slack(terms: Sequence[float]) -> float:
    return 8 * _U * math.fsum(abs(term) + 1 for term in terms)


def _above(pieces: Sequence[tuple[Piece, int]], grid: Grid, first: int, tilt: float) -> float:
    """More than the mass at depths below ``first``, by this tilt, not below that of the grid."""
    h = float(grid.step)
    terms = [tilt * (first - 1) * h]
    for piece, times in pieces:
        # Off by 8u of each exponent, which is a depth's and so sinks what it belongs to.
        exponent = piece.depth * (h * (grid.tilt - tilt) * (1 - 16 * _U))
        moment = float((piece.weight * np.exp(exponent)).sum()) * (1 + 1e-9) + FLOOR
        terms.append(times * (piece.log_scale + math.log(moment)))
    exponent_ = math.fsum(terms) + _slack(terms)
    return math.exp(max(exponent_, -700.0)) if exponent_ < 0 else 1.0
