"""The noisy answers of a column of records: every cell by its law, from its own true value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import Grid, Noise, NoiseFamily
from dprelease.model.record_tables import (
    WIDEST_SCALE,
    WIDEST_VALUE,
    LaplaceLaw,
    Law,
    SubsetLaw,
    WindowLaw,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_MANY = 1 << 16


def respond(
    law: Law, codes: npt.NDArray[Any], grid: Grid | None, entropy: Entropy
) -> npt.NDArray[Any]:
    """Draw one independent answer to each code, by exactly ``law``.

    ``codes``: int64, shape (n,). Labels or -1 for a ``SubsetLaw``, which gives (n, size) label
    numbers, each row rising: uint16, or uint32 beyond 65535 labels. Integers of ``grid`` for the
    others: ``LaplaceLaw`` gives int64 (n,), ``WindowLaw`` int16 (n,).

    Raises ValueError for codes outside their range (the message holds none), for a law that is
    none and a numeric law without a grid; OverflowError where a ``LaplaceLaw`` might leave 64
    bits; EntropyError if the source fails. Nothing read of ``entropy`` is kept for later calls.
    """
    import numpy as np

    if codes.ndim != 1 or codes.dtype != np.int64:
        raise ValueError("codes are 64-bit integers, one for each record")
    if isinstance(law, SubsetLaw):
        from dprelease.kernel.chapters.record_tables.subset_selection import respond_subset

        return respond_subset(law, codes, entropy)
    if grid is None:
        raise ValueError("a numeric law needs a grid")
    if isinstance(law, WindowLaw):
        from dprelease.kernel.chapters.record_tables.piecewise import respond_window

        return respond_window(law, codes, grid, entropy)
    return _respond_laplace(law, codes, grid, entropy)


def prepare_responses(law: Law) -> None:
    """Import and tabulate what ``respond`` will need for a law; draws nothing."""
    if isinstance(law, SubsetLaw):
        from dprelease.kernel.chapters.record_tables.subset_selection import prepare_subset

        prepare_subset(law)
    elif isinstance(law, WindowLaw):
        from dprelease.kernel.chapters.record_tables.piecewise import build_windows

        build_windows(law)
    else:
        prepare_sample(Noise(NoiseFamily.LAPLACE, law.scale), _MANY)


def _respond_laplace(
    law: LaplaceLaw, codes: npt.NDArray[Any], grid: Grid, entropy: Entropy
) -> npt.NDArray[Any]:
    """Add noise to the codes. What is refused hangs on the law and the grid, not on the codes."""
    if law.scale > WIDEST_SCALE or grid.magnitude >= WIDEST_VALUE:
        raise OverflowError("the noisy values of this law might leave 64 bits")
    if codes.size and not (codes.min() >= grid.lower and codes.max() <= grid.upper):
        raise ValueError("a code lies outside the grid")
    noise = sample(Noise(NoiseFamily.LAPLACE, law.scale), codes.size, entropy)
    if noise.dtype == object:  # a draw beyond e^-100: of the noise alone, it tells nothing
        raise OverflowError("the noisy values of this law might leave 64 bits")
    answers: npt.NDArray[Any] = noise + codes
    return answers
