"""Draws of a law of finitely many outcomes with rational probabilities, on arrays, exactly.

Let C_1 < C_2 < ... be the sums of the probabilities before each outcome but the first, and U
uniform on [0, 1): the outcome is #{j: C_j <= U}. Of U a prefix p of b bits is known, U in
[p, p+1) / 2^b. The cuts are rationals, so that nothing is enclosed or rounded:

    ceil(2^b C_j) <= p   iff all such U have C_j <= U,    floor(2^b C_j) <= p   iff some have.

If both counts agree, the outcome is decided; if not, more bits are drawn. A table of all prefixes
of 16 bits decides most places by one look-up; the others are asked again at 64 bits, and the rest,
about 2^-64 of the places for each cut, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.chapters.many_draws.inversion import Words, read_words
from dprelease.kernel.core.entropy import Entropy, read_bits

Shorts = npt.NDArray[np.int16]

MOST_OUTCOMES = 1 << 12  # more would leave too many places open after 16 bits
_FIRST = 16
_SECOND = 64
_OPEN = -1


class FiniteTable(Struct, frozen=True, eq=False):
    """A law ready to be drawn from.

    ``outcomes`` are those of positive probability, and ``cuts`` lie between them. ``guide`` maps
    16 bits to the outcome they decide, or to -1. ``floors`` and ``ceilings`` are the cuts at 64
    bits, rounded both ways; the ceilings less one, to fit.
    """

    outcomes: Shorts
    cuts: tuple[Fraction, ...]
    guide: Shorts
    floors: Words
    ceilings: Words

    def draw(self, size: int, entropy: Entropy) -> Shorts:
        """Draw ``size`` independent outcomes, as int16."""
        if not self.cuts:
            return np.full(size, self.outcomes[0], dtype=np.int16)
        prefix = read_words(entropy, "<u2", size)
        outcomes: Shorts = self.guide.take(prefix)
        places = np.flatnonzero(outcomes == _OPEN)
        if places.size:
            outcomes[places] = self._decide(prefix[places].astype(np.uint64), entropy)
        return outcomes

    def _decide(self, first: Words, entropy: Entropy) -> Shorts:
        """Decide the outcomes of places that 16 bits left open."""
        low_bits = read_words(entropy, "<u8", first.size).astype(np.uint64) >> np.uint64(_FIRST)
        prefix = first << np.uint64(_SECOND - _FIRST) | low_bits
        lowest = np.searchsorted(self.ceilings, prefix, side="left")  # ceiling - 1 < prefix
        highest = np.searchsorted(self.floors, prefix, side="right")
        for place in np.flatnonzero(lowest != highest):
            lowest[place] = self._decide_one(int(prefix[place]), entropy)
        return self.outcomes[lowest]

    def _decide_one(self, prefix: int, entropy: Entropy) -> int:
        """Decide the outcome for a prefix of 64 bits that left it open; draw more bits.

        Ends with probability 1: U differs from every cut from some bit on.
        """
        bits = _SECOND
        while True:
            prefix = prefix << _SECOND | read_bits(entropy, _SECOND)
            bits += _SECOND
            floors, ceilings = _round_cuts(self.cuts, bits)
            lowest = sum(number <= prefix for number in ceilings)
            if lowest == sum(number <= prefix for number in floors):
                return lowest


def build_finite(probabilities: Sequence[Fraction]) -> FiniteTable:
    """Build the table of a law: outcome i has exactly the probability at place i.

    Raises ValueError if they are negative, don't add up to 1, or are more than ``MOST_OUTCOMES``.
    """
    if not 1 <= len(probabilities) <= MOST_OUTCOMES:
        raise ValueError("a finite law has too many outcomes, or none")
    if min(probabilities) < 0 or sum(probabilities) != 1:
        raise ValueError("the probabilities of a finite law are not negative and add up to 1")
    possible = [place for place, number in enumerate(probabilities) if number]
    outcomes = np.array(possible, dtype=np.int16)
    cuts = tuple(accumulate(probabilities[place] for place in possible))[:-1]
    floors, ceilings = (np.array(number, dtype=np.int64) for number in _round_cuts(cuts, _FIRST))
    prefixes: npt.NDArray[Any] = np.arange(1 << _FIRST)
    lowest = np.searchsorted(ceilings, prefixes, side="right")
    highest = np.searchsorted(floors, prefixes, side="right")
    guide = np.where(lowest == highest, outcomes[lowest], np.int16(_OPEN))
    floors64, ceilings64 = _round_cuts(cuts, _SECOND)
    return FiniteTable(
        outcomes,
        cuts,
        guide,
        np.array(floors64, dtype=np.uint64),
        np.array([number - 1 for number in ceilings64], dtype=np.uint64),
    )


def _round_cuts(cuts: Sequence[Fraction], bits: int) -> tuple[list[int], list[int]]:
    """Round the cuts times 2^bits down, and up."""
    floors = [(number.numerator << bits) // number.denominator for number in cuts]
    ceilings = [-((-number.numerator << bits) // number.denominator) for number in cuts]
    return floors, ceilings
