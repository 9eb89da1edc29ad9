"""Exact acceptance with probability exp(-x), on lanes, in integers.

A lane is kept iff U > 1 - exp(-x), U uniform: with probability exp(-x). Of U the first 32 bits w
are drawn, U in [w, w+1) / 2^32, and of x bounds low <= 2^32 x <= high are given. By the alternating
series, for x >= 0,   x - x^2/2 <= 1 - exp(-x) <= x - x^2/2 + x^3/6 <= x,   and the left side rises
for x <= 1, the middle one always. So, rounding outward at every step,

    w >= high                            proves the lane kept (the common case),
    w >= high - high^2/2 + high^3/6      proves it kept,
    w + 1 <= low - low^2/2               proves it dropped,

and what is still open is decided from the exact rational x, with as many further bits of U as it
takes, by enclosures of exp(-x) of the same length. No decision is ever taken otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dprelease.kernel.noise.additive.inversion import Words, words
from dprelease.kernel.noise.distributions.interval_arithmetic import exp_negative
from dprelease.kernel.noise.entropy import Entropy, read_bits

_BITS = 32
_STEP = 64
ONE = np.uint64(1 << _BITS)  # x = 1 at this scale; as an upper bound: nothing is known


def keep_lanes(
    low: Words, high: Words, exponent: Callable[[int], Fraction], entropy: Entropy
) -> npt.NDArray[np.bool_]:
    """Which lanes are kept, each with probability exactly exp(-x) and independently.

    ``low`` and ``high`` bound 2^32 x from below and above, with low <= 2^32; a ``high`` of 2^32
    says that no upper bound is known. ``exponent(i)`` is the exact x of lane i.
    """
    draws = words(entropy, "<u4", low.size).astype(np.uint64)
    heads = draws >= high
    lanes = np.flatnonzero(~heads)
    if not lanes.size:
        return heads
    accepted, rejected = bound_lanes(draws[lanes], low[lanes], high[lanes])
    heads[lanes] = accepted
    for lane in lanes[~(accepted | rejected)]:
        heads[lane] = keep_exactly(int(draws[lane]), _BITS, exponent(int(lane)), entropy)
    return heads


def bound_lanes(
    draws: Words, low: Words, high: Words
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Lanes that are certainly kept, and lanes that are certainly dropped; see the module."""
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
        bound = exp_negative(exponent, bits)
        complement = (1 << bits) - prefix
        if complement <= bound.low:
            return True
        if complement - 1 >= bound.high:
            return False
        prefix = prefix << _STEP | read_bits(entropy, _STEP)
        bits += _STEP
