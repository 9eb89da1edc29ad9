"""Uniform integers and exact coins on NumPy arrays, with no more random words than it takes.

``draw_integers_below``: with w a uniform word of b bits, w * bound = value 2^b + low. Exactly
floor(2^b/bound) or one more words lead to each value; without those of low < 2^b mod bound, each
value keeps floor(2^b/bound) of them (Lemire 2019), and what is kept is uniform. The other places
are drawn again. Which places those are hangs on their words alone.

Coins: U uniform on [0, 1) is compared with the chance; of U the first 16 bits are drawn, and more
only on the places where these agree with the bits of the chance.

Coins of chance exp(-x), in integers: a place is kept iff U > 1 - exp(-x). Of U the first 32 bits w
are drawn, U in [w, w+1) / 2^32, and of x bounds low <= 2^32 x <= high are given. By the alternating
series, for x >= 0,   x - x^2/2 <= 1 - exp(-x) <= x - x^2/2 + x^3/6 <= x,   and the left side rises
for x <= 1, the middle one always. So, rounding outward at every step,

    w >= high                            proves the place kept (the common case),
    w >= high - high^2/2 + high^3/6      proves it kept,
    w + 1 <= low - low^2/2               proves it dropped,

and what is still open is decided from the exact rational x, with as many further bits of U as it
takes, by enclosures of exp(-x) of the same length. No decision is ever taken otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.chapters.many_draws.inversion import Int64s, Words, read_words
from dprelease.kernel.core.entropy import Entropy, read_bits
from dprelease.kernel.distributions.intervals import enclose_exp_negative

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[Any]

CHANCE_BITS = 64  # chances are multiples of 2^-64
_FIRST = 16
_REST = CHANCE_BITS - _FIRST
_WIDEST_SHIFTED = 1 << 47  # a part below this can be shifted by 16 bits
_HALF = 1 << 63
_SPARE = 4  # bits of a word beyond those of the bound: at most 1 in 16 words is drawn again


def draw_integers_below(bound: int, size: int, entropy: Entropy) -> Int64s:
    """Draw ``size`` independent uniform integers of 0, ..., bound - 1, for 1 <= bound < 2^63.

    Exact. int64. Raises ValueError for another bound, EntropyError if the source fails.
    """
    return draw_below(bound, size, entropy).astype(np.int64, copy=False)


def draw_below(bound: int, size: int, entropy: Entropy) -> Integers:
    """Draw as ``draw_integers_below``, in an integer type that holds them: of 32 or 64 bits."""
    if not 1 <= bound < _HALF:
        raise ValueError("the bound of uniform integers is positive and fits 63 bits")
    if bound == 1:
        return np.zeros(size, dtype=np.uint32)
    bits = next((b for b in (16, 32) if bound << _SPARE <= 1 << b), 64)
    values, again = propose(bound, bits, size, entropy)
    while again.size:
        fresh, rejected = propose(bound, bits, again.size, entropy)
        values[again] = fresh
        again = again[rejected]
    return values


def draw_below_each(bounds: Int64s, entropy: Entropy) -> Int64s:
    """Draw for each bound b, 1 <= b < 2^63, a uniform integer of 0, ..., b - 1. Exact.

    The rest of a word by b is uniform where the word is below the largest multiple of b, which is
    2^64 - (2^64 mod b); other words are drawn again.
    """
    if bounds.size and not int(bounds.min()) >= 1:
        raise ValueError("the bound of uniform integers is positive and fits 63 bits")
    divisors = bounds.astype(np.uint64)
    values = np.zeros_like(divisors)
    places = np.arange(bounds.size)
    while places.size:
        own = divisors[places]
        words = read_words(entropy, "<u8", places.size).astype(np.uint64)
        values[places] = words % own
        # 2^64 mod b is (2^64 - b) mod b.
        spare = (np.uint64(0) - own) % own
        places = places[words > np.uint64((1 << 64) - 1) - spare]
    return values.astype(np.int64)


def propose(bound: int, bits: int, size: int, entropy: Entropy) -> tuple[Integers, Int64s]:
    """Propose uniform values for places that aren't listed; those listed are drawn again."""
    candidates = read_words(entropy, f"<u{bits // 8}", size)
    if bits == 64:  # no room for products: the value is the rest of the word, below a multiple
        rest = np.uint64((1 << 64) % bound)
        values = candidates % np.uint64(bound)
        return values, np.flatnonzero(candidates > np.uint64((1 << 64) - 1) - rest)
    kind, half = (np.uint32, np.uint16) if bits == 16 else (np.uint64, np.uint32)
    product = np.multiply(candidates, kind(bound), dtype=kind)
    again = np.flatnonzero(product.astype(half) < half((1 << bits) % bound))  # its lower half
    return np.right_shift(product, kind(bits)), again


def draw_coins(probability: Fraction, size: int, entropy: Entropy) -> Bools:
    """Draw ``size`` independent coins: True with exactly this probability, a multiple of 2^-64.

    Raises ValueError for any other probability, EntropyError if the source fails.
    """
    scaled = probability * (1 << CHANCE_BITS)
    if scaled.denominator != 1 or not 0 <= probability <= 1:
        raise ValueError("a chance is a multiple of 2^-64 between 0 and 1")
    if probability in (0, 1):
        return np.full(size, probability == 1)
    top, rest = divmod(scaled.numerator, 1 << _REST)
    high_bits = read_words(entropy, "<u2", size)
    heads: Bools = high_bits < np.uint16(top)
    open_lanes = np.flatnonzero(high_bits == np.uint16(top))
    if rest and open_lanes.size:
        low_bits = read_words(entropy, "<u8", open_lanes.size).astype(np.uint64) >> np.uint64(
            _FIRST
        )
        heads[open_lanes] = low_bits < np.uint64(rest)
    return heads


def draw_shares(share: Int64s, whole: int, entropy: Entropy) -> Bools:
    """Independent coins: place i is True with exactly the probability share[i]/whole.

    ``share``: int64 with 0 <= share < whole < 2^63, which is not looked at again here. Raises
    ValueError for another whole, EntropyError if the source fails.

    In rounds of 16 bits: U < s/w is decided by comparing 2^16 U with 2^16 s/w = t + s'/w; where
    the whole parts agree, the rest of U is uniform again and is compared with s'/w.
    """
    if not 1 <= whole < _HALF:
        raise ValueError("the whole is positive and fits 63 bits")
    if whole >= _WIDEST_SHIFTED:
        return draw_integers_below(whole, share.size, entropy) < share
    divisor = np.uint64(whole)
    heads, undecided = compare_digits(share.astype(np.uint64), divisor, entropy)
    places = np.flatnonzero(undecided)
    rest = undecided[places]
    while places.size:
        heads[places], undecided = compare_digits(rest, divisor, entropy)
        again = np.flatnonzero(undecided)
        places, rest = places[again], undecided[again]
    return heads


def compare_digits(share: Words, whole: np.uint64, entropy: Entropy) -> tuple[Bools, Words]:
    """Compare one round: return the places that are True, and what is left; 0 where decided."""
    scaled = share << np.uint64(_FIRST)
    cut = scaled // whole
    digits = read_words(entropy, "<u2", share.size)
    narrow = cut.astype(np.uint16)  # below 2^16, as share < whole
    undecided = np.zeros_like(share)
    ties = np.flatnonzero(digits == narrow)
    undecided[ties] = scaled[ties] - cut[ties] * whole
    return digits < narrow, undecided


# --- coins of chance exp(-x) ----------------------------------------------------------------------

_BITS = 32
_STEP = 64
ONE = np.uint64(1 << _BITS)  # x = 1 at this scale; as an upper bound: nothing is known


def keep_lanes(
    low: Words, high: Words, exponent: Callable[[int], Fraction], entropy: Entropy
) -> npt.NDArray[np.bool_]:
    """Keep each place with probability exactly exp(-x), independently.

    ``low`` and ``high`` bound 2^32 x from below and above, with low <= 2^32; a ``high`` of 2^32
    says that no upper bound is known. ``exponent(i)`` is the exact x of place i.
    """
    draws = read_words(entropy, "<u4", low.size).astype(np.uint64)
    heads = draws >= high
    places = np.flatnonzero(~heads)
    if not places.size:
        return heads
    accepted, rejected = bound_draws(draws[places], low[places], high[places])
    heads[places] = accepted
    for place in places[~(accepted | rejected)]:
        heads[place] = keep_exactly(int(draws[place]), _BITS, exponent(int(place)), entropy)
    return heads


def bound_draws(
    draws: Words, low: Words, high: Words
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Find places that are certainly kept, and ones certainly dropped; see the module."""
    bounded = high < ONE
    above = np.where(bounded, high, ONE - np.uint64(1))  # squares must fit 64 bits
    square = above * above
    cube = ((square >> np.uint64(32)) + np.uint64(1)) * above >> np.uint64(32)
    sixth = (cube + np.uint64(1)) // np.uint64(6) + np.uint64(1)
    accepted = bounded & (draws >= above - (square >> np.uint64(33)) + sixth)
    below = np.minimum(low, ONE - np.uint64(1))
    half = (below * below >> np.uint64(33)) + np.uint64(1)
    rejected = draws + np.uint64(1) + half <= below
    return accepted, rejected


def keep_exactly(prefix: int, bits: int, exponent: Fraction, entropy: Entropy) -> bool:
    """Decide U > 1 - exp(-exponent), given the first ``bits`` of U; draws more while open.

    1 - U lies in (2^b - p - 1, 2^b - p] / 2^b for a prefix p of b bits.
    """
    while True:
        bound = enclose_exp_negative(exponent, bits)
        complement = (1 << bits) - prefix
        if complement <= bound.low:
            return True
        if complement - 1 >= bound.high:
            return False
        prefix = prefix << _STEP | read_bits(entropy, _STEP)
        bits += _STEP
