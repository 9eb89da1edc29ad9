"""Exact inverse of a distribution function, on arrays, with as few random bits as it takes.

Let S_1 >= S_2 >= ... be the survival probabilities of an index, U uniform on [0, 1), and
index = #{j: U < S_j}. Then P(index >= j) = P(U < S_j) = S_j: the law is exact. U is never known
fully: after b bits only its prefix p is, U in [p, p+1) / 2^b. With low_j <= 2^b S_j <= high_j,

    p + 1 <= low_j  proves  U < S_j,        p >= high_j  proves  U >= S_j,

so the index lies between #{j: p < low_j} and #{j: p < high_j}. If both agree (and stay within the
known j) every further bit of U would leave the index as it is: it is decided. If not, more bits
are drawn and the enclosures refined, until it is. Nothing is rounded, whatever the precision.

``CutTable`` asks at b = 16 through a table of all prefixes (one look-up decides most places), at
b = 64 by two binary searches, then place by place at b = 128, 192, ... in Python integers.
An undecided place at 64 bits has a probability of about 2^-64 for each j.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.core.entropy import Entropy, read_bits, read_exactly
from dprelease.kernel.distributions.intervals import Interval
from dprelease.kernel.distributions.tails import Survivals, decode

Int64s = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

UNDECIDED = np.iinfo(np.int16).min
_STEP = 64


def read_words(entropy: Entropy, kind: str, size: int) -> npt.NDArray[np.unsignedinteger]:
    """Read ``size`` uniform little-endian words of the dtype ``kind`` ("<u2", "<u4", "<u8")."""
    item = np.dtype(kind)
    array: npt.NDArray[np.unsignedinteger] = np.frombuffer(
        read_exactly(entropy, size * item.itemsize), dtype=item
    )
    return array


class CutTable(Struct, frozen=True, eq=False):
    """A law ready to be drawn from.

    ``guide`` maps the first 16 bits to the integer they decide, or to a mark. ``lows`` and
    ``highs`` are the enclosures at 64 bits in rising order, the upper ones less one (to fit).
    """

    law: Survivals
    guide: npt.NDArray[np.int16]
    lows: Words
    highs: Words

    def draw(self, size: int, entropy: Entropy) -> Int64s:
        """Draw ``size`` independent integers of the law."""
        prefix = read_words(entropy, "<u2", size)
        values = self.guide.take(prefix).astype(np.int64)
        places = np.flatnonzero(values == UNDECIDED)
        if places.size:
            values[places] = self._decide(prefix[places].astype(np.uint64), entropy)
        return values

    def _decide(self, first: Words, entropy: Entropy) -> Int64s:
        """Decide places that 16 bits left open: 48 more bits, then more where needed."""
        low_bits = read_words(entropy, "<u8", first.size).astype(np.uint64) >> np.uint64(16)
        prefix = (first << np.uint64(48)) | low_bits
        lowest, highest = self._bound_index(prefix, prefix)
        values = _decode_array(lowest)
        for place in np.flatnonzero((lowest != highest) | (highest == self.lows.size)):
            index = decide_exactly(int(prefix[place]), _STEP, self.law, entropy)
            values[place] = decode(index)
        return values

    def _bound_index(self, smallest: Words, largest: Words) -> tuple[Int64s, Int64s]:
        """Bound the index for prefixes that lie between the two given ones."""
        count = self.lows.size
        lowest = count - np.searchsorted(self.lows, largest, side="right")
        highest = count - np.searchsorted(self.highs, smallest, side="left")
        return lowest.astype(np.int64), highest.astype(np.int64)


def build_table(law: Survivals) -> CutTable:
    """Certify the cut points of a law at 64 bits and tabulate what 16 bits decide."""
    cuts = law.list_survivals(_STEP)
    lows = np.array(sorted(cut.low for cut in cuts), dtype=np.uint64)
    highs = np.array(sorted(cut.high - 1 for cut in cuts), dtype=np.uint64)
    # of all prefixes p of 16 bits at once: #{low <= largest U of p}, #{high < smallest U of p}
    below = _count_per_prefix(lows).cumsum()
    under = _count_per_prefix(highs).cumsum() - _count_per_prefix(highs)
    lowest, highest = lows.size - below, lows.size - under
    values = _decode_array(lowest)
    values[(lowest != highest) | (highest == lows.size)] = UNDECIDED
    return CutTable(law, values.astype(np.int16), lows, highs)


def _count_per_prefix(cuts: Words) -> Int64s:
    """Count the cuts in each of the 2^16 parts of [0, 2^64)."""
    counts: Int64s = np.bincount((cuts >> np.uint64(48)).astype(np.int64), minlength=1 << 16)
    return counts


def settle(prefix: int, cuts: Sequence[Interval]) -> int | None:
    """Find the index that a prefix of U decides, given enclosures at its length; None if open."""
    lowest = sum(prefix < cut.low for cut in cuts)
    highest = sum(prefix < cut.high for cut in cuts)
    return lowest if lowest == highest < len(cuts) else None


def decide_exactly(prefix: int, bits: int, law: Survivals, entropy: Entropy) -> int:
    """Find the index of U, of which the first ``bits`` are known and left open; draw more bits.

    Ends with probability 1: U differs from every S_j, and lies above the smallest known one, from
    some bit on.
    """
    index = None
    while index is None:
        prefix = prefix << _STEP | read_bits(entropy, _STEP)
        bits += _STEP
        index = settle(prefix, law.list_survivals(bits))
    return index


def _decode_array(index: Int64s) -> Int64s:
    """Apply ``decode`` to arrays: the half, inverted for odd indices."""
    return (index >> 1) ^ -(index & 1)
