"""Staircase noise on NumPy arrays: the stair by exact inversion, a place on it by uniform bits.

Geng and Viswanath, "The Optimal Mechanism in Differential Privacy" (arXiv 1212.1186), on integers.
P(k) is the same for all k of a level, and falls by b = exp(-stair/s) from one level to the next.
Sign and level are drawn by exact inversion (``SignedStairs``). Given both, all integers are alike:
of X >= 0 those of level 0 are 0, ..., first - 1, and those of level n >= 1 the ``stair`` integers
from first + (n - 1) stair on. X < 0 is -1 - M, and M has the same levels with one integer fewer
in level 0, as X = 0 is counted above. A uniform one of them is drawn. Nothing is rounded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.noise.additive.inversion import CutTable, build_table
from dprelease.kernel.noise.distributions.tails import SignedStairs
from dprelease.kernel.noise.entropy import Entropy
from dprelease.kernel.noise.uniforms import draw_integers_below
from dprelease.model import Noise

_NARROW = 1 << 50  # below it so many levels fit 64 bits
_LEVELS = 1 << 12
_STEEP = 32  # stairs are no shorter than such a part of the scale: levels are few


@lru_cache(maxsize=64)
def build_stair_table(noise: Noise) -> CutTable:
    """The table of sign and level: a few milliseconds, kept for the next draws of the same law.

    Raises ValueError for stairs that ``draw_stairs`` does not draw.
    """
    stair, first = noise.stair, noise.first
    if not 1 <= first <= stair < 1 << 62 or not 0 < noise.parameter <= _STEEP * stair:
        raise ValueError("a stair is 1 to 2^62 long, its first part no longer, its scale no more")
    return build_table(SignedStairs(noise))


def draw_stairs(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """``size`` independent draws: int64, or Python integers where 64 bits might not hold them."""
    signed_levels = build_stair_table(noise).draw(size, entropy)
    sign = signed_levels >> 63
    level = signed_levels ^ sign
    narrow = noise.stair < _NARROW and int(level.max(initial=0)) < _LEVELS
    kind: npt.DTypeLike = np.int64 if narrow else object
    starts = noise.first + sign.astype(kind) + (level.astype(kind) - 1) * noise.stair
    magnitude: npt.NDArray[Any] = np.where(level, starts, 0)
    lengths = (
        (level > 0, noise.stair),
        (signed_levels == 0, noise.first),
        (signed_levels == -1, noise.first - 1),
    )
    for position, length in lengths:
        places = np.flatnonzero(position)
        if places.size:
            magnitude[places] += draw_integers_below(length, places.size, entropy)
    signed: npt.NDArray[Any] = magnitude ^ sign.astype(kind)
    return signed
