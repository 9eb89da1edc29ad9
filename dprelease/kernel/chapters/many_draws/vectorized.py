"""Discrete Laplace and discrete Gaussian noise on NumPy arrays, exact for every rational parameter.

Small parameters: the integer itself is drawn by exact inversion (``inversion``).

Large ones: write the magnitude as M = m 2^b + D with 0 <= D < 2^b. Sign and m are drawn by exact
inversion, D is b uniform bits, and the triple is kept with probability exp(-x) (``uniforms``),

    Laplace of scale s:    m has weight exp(-m 2^b/s),           x = D/s;
    Gaussian of sigma^2:   m has weight exp(-(m 2^b)^2/(2 sigma^2)),
                           x = (2 m 2^b D + D^2)/(2 sigma^2).

In both cases x >= 0, and the weight of m times exp(-x) is the weight of M: exp(-M/s), and
exp(-M^2/(2 sigma^2)), as M^2 = (m 2^b)^2 + 2 m 2^b D + D^2. Every M has one pair (m, D) and all
D have the same probability, so what is kept has exactly the law of M. Places are independent and
what is kept of a chunk is cut by position, never by value.

Signs: for Laplace with a = exp(-1/s), P(X >= 0) = 1/(1 + a), and both X given X >= 0 and -1 - X
given X < 0 have the weights exp(-M/s): the sign has probabilities 1/(1 + a) and a/(1 + a), and X
is M or -1 - M. For Gaussian the sign is fair, X is M or -M, and negative zero is rejected.

2^b is chosen so that the coarse law stays small (a scale of 16 to 32, a sigma of 32 to 64): about
97 to 99 of 100 places are kept. 64-bit integers hold all results when b <= 50; results of wider
laws are object arrays of Python integers. Nothing ever wraps.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.chapters.many_draws.inversion import (
    CutTable,
    Int64s,
    Words,
    build_table,
    read_words,
)
from dprelease.kernel.chapters.many_draws.uniforms import ONE, draw_integers_below, keep_lanes
from dprelease.kernel.core.entropy import Entropy, read_exactly
from dprelease.kernel.distributions.intervals import Interval, enclose
from dprelease.kernel.distributions.tails import SignedGaussian, SignedGeometric, SignedStairs
from dprelease.model import Noise, NoiseFamily

_CHUNK = 1 << 16
_COARSE_SCALE = 32
_COARSE_SIGMA = 64
_COARSE_BITS = 12  # what the coarse part takes of a signed 64-bit integer
_WIDEST = 62 - _COARSE_BITS
_HEAD = 32


def draw_lanes(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """Draw ``size`` independent integers: int64, or Python's where 64 bits might not hold them.

    LAPLACE: P(k) proportional to exp(-|k|/s). GAUSSIAN: to exp(-k^2/(2 sigma^2)). Exactly these
    laws; see the module for the proof. Raises ValueError for a parameter that isn't positive.
    """
    sampler = build_sampler(noise)
    pieces: list[npt.NDArray[Any]] = [np.empty(0, dtype=sampler.dtype)]
    missing = size
    while missing > 0:
        piece = sampler.draw(min(_CHUNK, missing + missing // 32 + 8), entropy)[:missing]
        pieces.append(piece)
        missing -= piece.size
    return np.concatenate(pieces)


@lru_cache(maxsize=64)
def build_sampler(noise: Noise) -> Sampler:
    """Build the tables of a law in a few milliseconds; kept for the next draws of the same law."""
    parameter, fine = noise.parameter, 0
    if parameter <= 0:
        raise ValueError("the parameter of a noise law is positive")
    if noise.family is NoiseFamily.LAPLACE:
        while parameter > _COARSE_SCALE << fine:
            fine += 1
        rate = enclose((1 << fine) / parameter, 48)
        return Sampler(noise, build_table(SignedGeometric(parameter, 1 << fine)), fine, rate, 0)
    while parameter > (_COARSE_SIGMA << fine) ** 2:
        fine += 1
    coarse = parameter / (1 << 2 * fine)
    rate = enclose(1 / (2 * coarse), 32)
    reach = ((1 << 63) // (rate.high << 16) - (1 << 16)) >> 17  # x stays below 1/2 up to here
    return Sampler(noise, build_table(SignedGaussian(coarse, fine > 0)), fine, rate, reach)


class Sampler(Struct, frozen=True, eq=False):
    """One law: the table of its coarse part, the number b of fine bits, and bounds for x.

    ``rate`` encloses the constant of x, see ``_bound``; the bounds of ``_bound`` fit 64 bits for
    m up to ``reach`` (Gaussian only), places beyond are decided exactly.
    """

    noise: Noise
    table: CutTable
    fine: int
    rate: Interval
    reach: int

    @property
    def dtype(self) -> npt.DTypeLike:
        """What the draws are held in."""
        return np.int64 if self.fine <= _WIDEST else object

    def draw(self, size: int, entropy: Entropy) -> npt.NDArray[Any]:
        """Independent draws: ``size`` of them less the few that are rejected."""
        coarse = self.table.draw(size, entropy)
        if not self.fine:
            return coarse
        sign = coarse >> 63
        tops = coarse ^ sign
        head = read_words(entropy, "<u4", size).astype(np.uint64) >> np.uint64(_HEAD - self._first)
        rest = self._draw_rest(size, entropy)
        low, high = self._bound(tops, head)

        def compute_exponent(place: int) -> Fraction:
            fine = int(head[place]) << self.fine - self._first | int(rest[place])
            return self._compute_exponent(int(tops[place]), fine)

        accepted = keep_lanes(low, high, compute_exponent, entropy)
        magnitude = self._join(tops, head, rest)
        sign = sign.astype(magnitude.dtype)
        signed: npt.NDArray[Any] = magnitude ^ sign
        if self.noise.family is NoiseFamily.GAUSSIAN:
            accepted &= (sign == 0) | (magnitude != 0)
            signed = signed - sign
        return signed[accepted]

    @property
    def _first(self) -> int:
        """How many of the fine bits are drawn on 32-bit integers; the rest follows them."""
        return min(self.fine, _HEAD)

    def _draw_rest(self, size: int, entropy: Entropy) -> npt.NDArray[Any]:
        """Draw the fine bits after the first 32: zeros, 64-bit integers, or Python integers."""
        bits = self.fine - self._first
        if bits == 0:
            return np.broadcast_to(np.int64(0), size)
        if self.fine <= _WIDEST:
            return read_words(entropy, "<u4", size).astype(np.int64) >> (32 - bits)
        item = (bits + 7) // 8
        data = read_exactly(entropy, size * item)
        spare = 8 * item - bits
        parts = (data[at : at + item] for at in range(0, len(data), item))
        return np.array([int.from_bytes(part, "little") >> spare for part in parts], dtype=object)

    def _bound(self, tops: Int64s, head: Words) -> tuple[Words, Words]:
        """Bound 2^32 x from m and the first 16 bits d of D: d <= 2^16 D/2^b < d + 1.

        Laplace: x = (D/2^b) y with y = 2^b/s <= 1/16; ``rate`` encloses 2^48 y.
        Gaussian: with f = D/2^b and t = sigma^2/4^b, x = f (2 m + f)/(2 t); ``rate`` encloses
        2^32/(2 t), so that 2^32 x = 2^-32 (2^16 f) (2^17 m + 2^16 f) 2^32/(2 t).
        """
        shift = self._first - 16
        part = head >> np.uint64(shift) if shift >= 0 else head << np.uint64(-shift)
        above = part + np.uint64(1)
        scale, slow, fast = np.uint64(32), np.uint64(self.rate.low), np.uint64(self.rate.high)
        if self.noise.family is NoiseFamily.LAPLACE:
            return part * slow >> scale, (above * fast >> scale) + np.uint64(1)
        near = np.minimum(tops, self.reach).astype(np.uint64) << np.uint64(17)
        low = part * (near + part) * slow >> scale
        high = (above * (near + above) * fast >> scale) + np.uint64(1)
        return low, np.where(tops > self.reach, ONE, high)

    def _compute_exponent(self, top: int, fine: int) -> Fraction:
        """Compute exactly the exponent x of one draw."""
        if self.noise.family is NoiseFamily.LAPLACE:
            return fine / self.noise.parameter
        return (2 * (top << self.fine) + fine) * fine / (2 * self.noise.parameter)

    def _join(self, tops: Int64s, head: Words, rest: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """M = m 2^b + D, on Python integers if 64 bits might not hold it."""
        extra_bits = self.fine - self._first
        fits = self.fine <= _WIDEST and int(tops.max(initial=0)) < 1 << _COARSE_BITS
        kind: npt.DTypeLike = np.int64 if fits else object
        upper = tops.astype(kind) << self.fine
        low: npt.NDArray[Any] = head.astype(kind) << extra_bits if extra_bits else head.astype(kind)
        joined: npt.NDArray[Any] = upper | low | rest.astype(kind) if extra_bits else upper | low
        return joined


# --- staircase noise ------------------------------------------------------------------------------

# Staircase noise on NumPy arrays: the stair by exact inversion, a place on it by uniform bits.
#
# Geng and Viswanath, "The Optimal Mechanism in Differential Privacy" (arXiv 1212.1186), on
# integers.
# P(k) is the same for all k of a level, and falls by b = exp(-stair/s) from one level to the next.
# Sign and level are drawn by exact inversion (``SignedStairs``). Given both, all integers are
# alike:
# of X >= 0 those of level 0 are 0, ..., first - 1, and those of level n >= 1 the ``stair`` integers
# from first + (n - 1) stair on. X < 0 is -1 - M, and M has the same levels with one integer fewer
# in level 0, as X = 0 is counted above. A uniform one of them is drawn. Nothing is rounded.


_NARROW = 1 << 50  # below it so many levels fit 64 bits
_LEVELS = 1 << 12
_STEEP = 32  # stairs are no shorter than such a part of the scale: levels are few


@lru_cache(maxsize=64)
def build_stair_table(noise: Noise) -> CutTable:
    """Build the table of sign and level in a few milliseconds; kept for the next draws of the law.

    Raises ValueError for stairs that ``draw_stairs`` does not draw.
    """
    stair, first = noise.stair, noise.first
    if not 1 <= first <= stair < 1 << 62 or not 0 < noise.parameter <= _STEEP * stair:
        raise ValueError("a stair is 1 to 2^62 long, its first part no longer, its scale no more")
    return build_table(SignedStairs(noise))


def draw_stairs(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """Draw ``size`` independent integers: int64, or Python's where 64 bits might not hold them."""
    drawn = build_stair_table(noise).draw(size, entropy)
    sign = drawn >> 63
    level = drawn ^ sign
    narrow = noise.stair < _NARROW and int(level.max(initial=0)) < _LEVELS
    kind: npt.DTypeLike = np.int64 if narrow else object
    starts = noise.first + sign.astype(kind) + (level.astype(kind) - 1) * noise.stair
    magnitude: npt.NDArray[Any] = np.where(level, starts, 0)
    lengths = (level > 0, noise.stair), (drawn == 0, noise.first), (drawn == -1, noise.first - 1)
    for there, length in lengths:
        places = np.flatnonzero(there)
        if places.size:
            magnitude[places] += draw_integers_below(length, places.size, entropy)
    signed: npt.NDArray[Any] = magnitude ^ sign.astype(kind)
    return signed
