"""CUBE noise: several integers drawn together, exactly, few or many at once.

P(z) is proportional to exp(-max abs(z_i)/s) on all integer vectors z of D entries. Drawn as
``CubeStart`` proves it: the reach R is K, by exact inversion, and D+1 geometric variables of ratio
exp(-1/s); given R each entry is a uniform integer of -R, ..., R. Nothing is rejected but words of
uniform draws.

A geometric variable is a discrete Laplace one of scale s, folded: given X >= 0, X has the weights
exp(-k/s), and so has -1 - X given X < 0 (``vectorized``). So it is X or -1 - X by the sign.

A few are drawn one by one, by the samplers of ``core.sample`` and bit by bit of the inversion;
many on arrays. Where 64 bits might not hold an entry, entries are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.chapters.many_draws.inversion import (
    CutTable,
    Int64s,
    build_table,
    decide_exactly,
)
from dprelease.kernel.chapters.many_draws.uniforms import draw_below_each
from dprelease.kernel.chapters.many_draws.vectorized import build_sampler, draw_lanes
from dprelease.kernel.chapters.together.joint_noise import MOST_TOGETHER
from dprelease.kernel.core.entropy import Entropy
from dprelease.kernel.core.sample import draw_each, draw_uniform_below
from dprelease.kernel.distributions.tails import CubeStart
from dprelease.model import Noise, NoiseFamily, Step

_FEW = 100  # below this the tables cost more than they save
_WIDE = 1 << 61


@lru_cache(maxsize=64)
def build_start_table(noise: Noise) -> CutTable:
    """Build the table of K; kept for the next draws of the law."""
    return build_table(_define_start(noise))


def add_joint_noise(
    rows: Sequence[Sequence[int]], step: Step, entropy: Entropy
) -> tuple[tuple[int, ...], ...]:
    """Add to the integers of each cell, one of each row, those of a fresh draw of a cube."""
    if len(rows) != step.noise.integers or len(set(map(len, rows))) != 1:
        raise ValueError("the noise of a cell has an integer for each that is released")
    size = sum(map(len, rows))
    draws: list[int] = draw_cubes(step.noise, size, entropy, few=size <= _FEW).tolist()
    return tuple(tuple(map(add, draws[place :: len(rows)], row)) for place, row in enumerate(rows))


def prepare_cubes(noise: Noise, cells: int) -> None:
    """Tabulate what draws for so many cells will need; draws nothing."""
    if cells * noise.integers > _FEW:
        build_start_table(noise)
        build_sampler(Noise(NoiseFamily.LAPLACE, noise.parameter))


def _define_start(noise: Noise) -> CubeStart:
    if noise.parameter <= 0 or not 1 <= noise.integers <= MOST_TOGETHER:
        raise ValueError("a cube has a positive scale, and integers that are drawn together")
    return CubeStart(noise.parameter, noise.integers)


def draw_cubes(noise: Noise, size: int, entropy: Entropy, *, few: bool) -> npt.NDArray[Any]:
    """Draw the integers of cells one after the other, ``size`` of them in all.

    Args:
        noise: CUBE noise.
        size: A multiple of the integers that are drawn together.
        entropy: Where random bytes come from.
        few: Draw one by one.

    Returns:
        int64, or Python's integers where 64 bits might not hold them; those of a cell side by side.

    Raises:
        ValueError: No such law, or a cell would have some of its integers only.
    """
    start = _define_start(noise)
    cells, rest = divmod(size, noise.integers)
    if rest:
        raise ValueError("a cube is drawn whole")
    laplace = Noise(NoiseFamily.LAPLACE, noise.parameter)
    number = cells * (noise.integers + 1)
    if few:
        geometric = draw_each(laplace, number, entropy)
        starts: list[int] = [decide_exactly(0, 0, start, entropy) for _ in range(cells)]
    else:
        geometric = draw_lanes(laplace, number, entropy)
        starts = undo_code(build_start_table(noise).draw(cells, entropy)).tolist()
    folded: npt.NDArray[Any] = np.where(geometric < 0, -1 - geometric, geometric)
    if int(folded.max(initial=0)) >= _WIDE // (2 * MOST_TOGETHER):
        folded = folded.astype(object)
    sums = folded.reshape(cells, noise.integers + 1).sum(axis=1).tolist()
    reaches = [part + first for part, first in zip(sums, starts, strict=True)]
    if few or max(reaches, default=0) >= _WIDE:
        entries = [
            draw_uniform_below(2 * reach + 1, entropy) - reach
            for reach in reaches
            for _ in range(noise.integers)
        ]
        fits = max(reaches, default=0) < _WIDE
        return np.array(entries, dtype=np.int64 if fits else object)
    each = np.repeat(np.array(reaches, dtype=np.int64), noise.integers)
    return draw_below_each(2 * each + 1, entropy) - each


def undo_code(values: Int64s) -> Int64s:
    """Give the index that ``tails.decode`` has turned into each value."""
    return 2 * values ^ values >> 63
