"""One array of noise for one released vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.kernel.noise.additive.reference import discrete_gaussian, discrete_laplace
from dprelease.kernel.noise.entropy import Entropy
from dprelease.model import Noise, NoiseFamily

if TYPE_CHECKING:
    import numpy.typing as npt

_FEW = 100  # below this the tables of the lanes cost more than they save


def sample(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """``size`` independent draws of ``noise``, a fresh one for every element.

    Shape (size,), in grid integers: int64, or dtype object (Python integers) for laws wide enough
    that a draw might leave 64 bits. NONE gives zeros and reads no entropy. The law is exact for
    both samplers: one by one for a few draws (``scalar``), on lanes for many (``lanes``).
    Raises ValueError for a negative size or a parameter that isn't positive, EntropyError if the
    source fails.
    """
    import numpy as np

    if size < 0:
        raise ValueError("the number of draws must not be negative")
    if noise.family is NoiseFamily.NONE:
        return np.zeros(size, dtype=np.int64)
    if size > _FEW:
        from dprelease.kernel.noise.additive.vectorized import draw_lanes

        return draw_lanes(noise, size, entropy)
    one = discrete_laplace if noise.family is NoiseFamily.LAPLACE else discrete_gaussian
    draws = [one(noise.parameter, entropy) for _ in range(size)]
    if all(abs(draw) < 1 << 62 for draw in draws):
        return np.array(draws, dtype=np.int64)
    return np.array(draws, dtype=object)


def prepare_sample(noise: Noise, size: int) -> None:
    """Import and tabulate what ``sample`` will need for these draws; draws nothing."""
    import numpy as np  # noqa: F401

    if noise.family is not NoiseFamily.NONE and size > _FEW:
        from dprelease.kernel.noise.additive.vectorized import build_sampler

        build_sampler(noise)
