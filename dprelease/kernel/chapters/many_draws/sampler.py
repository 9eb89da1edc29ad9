"""Draws of any number: one by one a few, on arrays many, and so any number of a staircase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.kernel.core.entropy import Entropy
from dprelease.kernel.core.sample import draw_each
from dprelease.model import Noise, NoiseFamily

if TYPE_CHECKING:
    import numpy.typing as npt

_FEW = 100  # below this the tables cost more than they save


def sample(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """Draw ``size`` independent integers of ``noise``, a fresh one for every element.

    Shape (size,), in grid integers: int64, or dtype object (Python integers) for laws wide enough
    that a draw might leave 64 bits. NONE gives zeros and reads no entropy. The law is exact for
    all samplers: one by one for a few draws (``core.sample``), on arrays for many (``vectorized``)
    and for any number of draws of a staircase (``vectorized``).
    Raises ValueError for a negative size or a parameter that isn't positive, and for integers that
    are drawn together (``together.cube_draws``), EntropyError if the source fails.
    """
    if noise.family is NoiseFamily.CUBE:
        raise ValueError("integers that are drawn together are not independent")
    if size >= 0 and noise.family is NoiseFamily.STAIRCASE:
        from dprelease.kernel.chapters.many_draws.vectorized import draw_stairs

        return draw_stairs(noise, size, entropy)
    if size >= 0 and noise.family is NoiseFamily.CUT_LAPLACE:
        return _draw_cut(noise, size, entropy)
    if size > _FEW and noise.family is not NoiseFamily.NONE:
        from dprelease.kernel.chapters.many_draws.vectorized import draw_lanes

        return draw_lanes(noise, size, entropy)
    return draw_each(noise, size, entropy)


def _draw_cut(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """Draw Laplace noise, and again whatever is out of reach: given that it isn't, this law."""
    import numpy as np

    if noise.reach == 0 or noise.reach < noise.parameter:
        raise ValueError("noise is cut no nearer than at 1, and at its scale")
    drawn: npt.NDArray[Any] = np.empty(0, dtype=np.int64)
    while drawn.size < size:
        more = sample(Noise(NoiseFamily.LAPLACE, noise.parameter), size - drawn.size, entropy)
        drawn = np.concatenate([drawn, more[abs(more) <= noise.reach].astype(np.int64)])
    return drawn


def prepare_sample(noise: Noise, size: int) -> None:
    """Import and tabulate what ``sample`` will need for these draws; draws nothing."""
    import numpy as np  # noqa: F401

    if noise.family is NoiseFamily.CUT_LAPLACE:
        prepare_sample(Noise(NoiseFamily.LAPLACE, noise.parameter), size)
    elif noise.family is NoiseFamily.STAIRCASE:
        from dprelease.kernel.chapters.many_draws.vectorized import build_stair_table

        build_stair_table(noise)
    elif noise.family is not NoiseFamily.NONE and size > _FEW:
        from dprelease.kernel.chapters.many_draws.vectorized import build_sampler

        build_sampler(noise)
