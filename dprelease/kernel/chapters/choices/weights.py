"""Candidates of a selection, sorted into buckets so that few certified exponentials weigh them all.

A candidate at distance d (below the best score) has the weight exp(-rate d). Let B be the largest
integer with rate B <= 1, or 1, and d = B q + r with 0 <= r < B: the candidate stands in bucket q.
A *proposal* takes bucket q with probability proportional to n_q exp(-rate B q), where n_q
candidates stand on it, and then one of those, all alike. It so takes each candidate with a
probability proportional to exp(-rate B q); kept with probability exp(-rate r), which is above
1/e, what is kept follows the weights exactly.

The bucket is drawn by exact inversion: after b bits, U lies in [p, p+1) / 2^b for a
prefix p. With cut points C_q = P(bucket <= q), low_q <= 2^b C_q <= high_q,

    p >= high of the bucket before  and  p + 1 <= low_q      prove that U decides for bucket q.

While nothing is proved more bits are drawn, and the cut points enclosed by as many. Only buckets
within about the same number of bits of the nearest are told apart; those beyond are one heap,
whose weight is bounded by its number times exp(-rate B q) of its first possible bucket. If U may
fall into the heap, it is left open, and the next round tells more buckets apart. So a candidate of
any probability is taken with exactly that probability, and usual draws need 64 bits.

All numbers are integers: counts of up to 2^62 candidates for one entry, sums of any size. Arrays
of them never wrap: 64 bits where all fit, Python integers elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.core.entropy import Entropy, read_bits
from dprelease.kernel.core.sample import draw_uniform_below
from dprelease.kernel.distributions.intervals import Interval, enclose_exp_negative

Integers = Sequence[int] | npt.NDArray[Any]

FITS = 1 << 62  # below this a number is held in 64 bits, and so are sums of two
HALF = 32
_BLOCK = 2048  # entries that are summed at once when a position is looked for


def cast_to_integers(values: Integers) -> npt.NDArray[Any]:
    """Cast to an array of 64-bit integers, or of Python's where one is 2^62 or beyond.

    Raises TypeError for anything but integers: a rounded number would skew the law.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.size and (values.max() >= FITS or values.min() <= -FITS)
        return values.astype(object) if wide else values.astype(np.int64)
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = set(map(type, items))
    if not all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        raise TypeError("distances, scores and sizes are integers")
    whole = items if kinds == {int} else [int(item) for item in items]
    small = not whole or (min(whole) > -FITS and max(whole) < FITS)
    return np.array(whole, dtype=np.int64 if small else object)


def sum_exactly(values: npt.NDArray[Any]) -> int:
    """Sum integers whose sum may be beyond 64 bits: in two halves that stay within."""
    if values.dtype == object:
        return sum(values.tolist())
    upper, lower = values >> HALF, values & ((1 << HALF) - 1)
    return (int(upper.sum()) << HALF) + int(lower.sum())


def locate(sizes: npt.NDArray[Any], position: int) -> tuple[int, int]:
    """Locate the entry that holds a position below the sum of sizes, and the offset within it."""
    start = 0
    while (
        start < sizes.size
        and (block_total := sum_exactly(sizes[start : start + _BLOCK])) <= position
    ):
        position -= block_total
        start += _BLOCK
    for place, size in enumerate(sizes[start : start + _BLOCK].tolist(), start):
        if position < size:
            return place, position
        position -= size
    raise ValueError("the position lies beyond the last entry")


# --- weights --------------------------------------------------------------------------------------

Candidate = tuple[int, int]

STEP = 64  # bits drawn at once
_GUARD = 64  # extra bits for the rounding of sums
_GONE = -1  # the bucket of an entry that was taken away
_AHEAD = 4  # how many times the buckets needed are counted at once


class Sums(Struct, frozen=True):
    """Bounds of the weights up to and including each bucket, and of the heap beyond, in units."""

    buckets: list[int]
    lows: list[int]
    highs: list[int]
    heap: int

    @property
    def total(self) -> Interval:
        """The weight of everything."""
        return Interval(self.lows[-1], self.highs[-1] + self.heap)


class WeightBuckets:
    """The candidates of one selection, from which entries can be taken away.

    ``distances``: integers >= 0, one for each entry, of any size. ``sizes``: how many equal
    candidates an entry stands for (1 if not given). A candidate is its entry's index and an
    offset below the entry's size. Raises ValueError for a rate that isn't positive, no entries,
    a negative distance, or sizes that don't fit.
    """

    def __init__(self, distances: Integers, rate: Fraction, sizes: Integers | None = None) -> None:
        if rate <= 0:
            raise ValueError("the rate of a selection is positive")
        self._distances = cast_to_integers(distances)
        if not self._distances.size:
            raise ValueError("a selection needs a candidate")
        if self._distances.min() < 0:
            raise ValueError("a distance below the best score can't be negative")
        self._sizes = None if sizes is None else cast_to_integers(sizes)
        if self._sizes is not None and (
            self._sizes.size != self._distances.size or self._sizes.min() < 1
        ):
            raise ValueError("sizes are positive integers, one for each distance")
        self._rate = rate
        self._width = max(1, rate.denominator // rate.numerator)
        self._step = rate * self._width
        self._levels = _divide(self._distances, self._width)
        self._left = self._distances.size if self._sizes is None else sum_exactly(self._sizes)
        self._sums: dict[int, Sums] = {}
        self._in_bucket: dict[int, npt.NDArray[np.int64]] = {}
        self._start, self._counts = 0, [0]
        self._count_from(int(self._levels.min()), 0)

    @property
    def remaining(self) -> int:
        """How many candidates are left."""
        return self._left

    def propose(self, entropy: Entropy) -> Candidate:
        """Draw one candidate with probability proportional to exp(-rate B q), q its bucket."""
        bucket = self._draw_bucket(entropy)
        position = draw_uniform_below(self._counts[bucket - self._start], entropy)
        members = self._list_members(bucket)
        if self._sizes is None:
            return int(members[position]), 0
        place, offset = locate(self._sizes[members], position)
        return int(members[place]), offset

    def rest(self, index: int) -> Fraction:
        """Rate times r, the entry's distance above its bucket: below 1."""
        return self._rate * (int(self._distances[index]) % self._width)

    def compute_exponent(self, index: int, best: int) -> Fraction:
        """Rate times the distance of an entry from one at distance ``best``."""
        return self._rate * (int(self._distances[index]) - best)

    def find_best(self) -> int:
        """Find the least distance of a candidate that is left."""
        return int(self._distances[self._list_members(self._find_nearest())].min())

    def sum_weights(self, best: int, bits: int) -> Interval:
        """Sum exp(-rate (B q - best)) over all candidates left, at ``bits``.

        That of a proposal's weights, where those of the candidates themselves are 1 at ``best``.
        """
        work = bits + _GUARD + self._left.bit_length()
        above = enclose_exp_negative(self._rate * (best - self._width * self._find_nearest()), work)
        total = self._sum(work).total
        return Interval(
            (total.low << work) // above.high, -(-(total.high << work) // above.low)
        ).shift(work - bits)

    def take(self, index: int) -> None:
        """Take away an entry that is there; it must stand for one candidate."""
        if self._sizes is not None:
            raise ValueError("one of several candidates of an entry is not taken away")
        bucket = int(self._levels[index])
        self._levels[index] = _GONE
        members = self._list_members(bucket)
        self._in_bucket[bucket] = members[members != index]
        self._counts[bucket - self._start] -= 1
        self._left -= 1
        self._sums.clear()

    def _find_nearest(self) -> int:
        """Find the first bucket with a candidate."""
        for gap, count in enumerate(self._counts):
            if count:
                return self._start + gap
        first = int(self._levels[self._levels != _GONE].min())
        self._count_from(first, 0)
        return first

    def _count_from(self, first: int, span: int) -> None:
        """Count the candidates of buckets first, ..., first + span or more."""
        span = _AHEAD * span
        near = np.flatnonzero((self._levels >= first) & (self._levels <= first + span))
        gaps = (self._levels[near] - first).astype(np.int64)
        sizes = None if self._sizes is None else self._sizes[near]
        self._start, self._counts = first, _count(gaps, span + 1, sizes)

    def _sum(self, work: int) -> Sums:
        """Sum the weights n_q exp(-rate B (q - nearest)) at ``work`` bits."""
        if work in self._sums:
            return self._sums[work]
        first = self._find_nearest()
        # ln 2 < 7/10: buckets that are further away weigh less than a unit for each candidate
        span = work * 7 * self._step.denominator // (10 * self._step.numerator) + 1
        if first + span >= self._start + len(self._counts):
            self._count_from(first, span)
        skip = first - self._start
        counts = self._counts[skip : skip + span + 1]
        buckets, terms = [], []
        for gap, count in enumerate(counts):
            if count:
                weight = _compute_power(self._step, gap, work)
                buckets.append(first + gap)
                terms.append((count * weight.low, count * weight.high))
        self._sums[work] = Sums(
            buckets,
            list(accumulate(low for low, _ in terms)),
            list(accumulate(high for _, high in terms)),
            (self._left - sum(counts)) * _compute_power(self._step, span + 1, work).high,
        )
        return self._sums[work]

    def _draw_bucket(self, entropy: Entropy) -> int:
        """Draw a bucket by exact inversion; see the module."""
        prefix = bits = 0
        while True:
            prefix = prefix << STEP | read_bits(entropy, STEP)
            bits += STEP
            sums = self._sum(bits + _GUARD + self._left.bit_length())
            total = sums.total
            # p + 1 <= 2^b low/total.high holds up to this bucket's cut, multiplied out
            place = bisect_left(sums.lows, -(-(prefix + 1) * total.high >> bits))
            if place < len(sums.lows) and (
                place == 0 or prefix * total.low >= sums.highs[place - 1] << bits
            ):
                return sums.buckets[place]

    def _list_members(self, bucket: int) -> npt.NDArray[np.int64]:
        """List the entries of a bucket."""
        if bucket not in self._in_bucket:
            self._in_bucket[bucket] = np.flatnonzero(self._levels == bucket)
        return self._in_bucket[bucket]


def _divide(distances: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    """Number the bucket of each distance, in 64 bits wherever they fit."""
    if width >= FITS and distances.dtype != object:
        return np.zeros(distances.size, dtype=np.int64)
    levels: npt.NDArray[Any] = distances // width
    return levels.astype(np.int64) if levels.max() < FITS else levels


def _count(gaps: npt.NDArray[np.int64], length: int, sizes: npt.NDArray[Any] | None) -> list[int]:
    """Count the candidates for each of the gaps 0, ..., length - 1."""
    if sizes is None:
        plain: list[int] = np.bincount(gaps, minlength=length).tolist()
        return plain
    if sizes.dtype == object:
        sums = [0] * length
        for gap, size in zip(gaps.tolist(), sizes.tolist(), strict=True):
            sums[gap] += size
        return sums
    halves = []
    for half in (sizes >> HALF, sizes & ((1 << HALF) - 1)):
        counts = np.zeros(length, dtype=np.int64)
        np.add.at(counts, gaps, half)
        halves.append(counts.tolist())
    return [(upper << HALF) + lower for upper, lower in zip(*halves, strict=True)]


@lru_cache(maxsize=1 << 14)
def _compute_power(step: Fraction, gap: int, work: int) -> Interval:
    """Compute exp(-step gap), cached: a table of many cells asks for the same gaps again."""
    return enclose_exp_negative(step * gap, work)
