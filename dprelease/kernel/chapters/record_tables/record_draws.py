"""The one function that turns exact records into ones that may be published.

Guarantee: every cell that comes out is drawn by the law of its column from the true value of that
cell alone, with fresh randomness. So the laws of two tables whose records differ in one unit's
values differ by at most what these cells lose, as certified; how many records there are is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dprelease.files.prefetch import read_ahead
from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import ExactRecords, Grid, Noise, NoiseFamily, RecordStep
from dprelease.model.record_tables import (
    WIDEST_SCALE,
    WIDEST_VALUE,
    Law,
    SubsetLaw,
    WindowLaw,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]

_MANY = 1 << 16


def prepare(step: RecordStep) -> None:
    """Make what the answers of a table will need. Reads no data and draws nothing."""
    for response in step.responses:
        prepare_responses(response.law)


def perturb(exact: ExactRecords, step: RecordStep, entropy: Entropy) -> Iterator[Columns]:
    """Answer batch by batch: an array of answers for each column, as ``respond`` gives it.

    Nothing is left out, added or put in another order.
    """
    for codes in read_ahead(exact.reveal()):
        if len(codes) != len(step.responses) or len({len(array) for array in codes}) != 1:
            raise ValueError("a batch with a missing or spare column is not released")
        yield tuple(
            respond(
                response.law,
                own,
                None if response.column.quantity is None else response.column.quantity.grid,
                entropy,
            )
            for response, own in zip(step.responses, codes, strict=True)
        )


# --- one column -----------------------------------------------------------------------------------


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
    # What is refused depends on the law and the grid, not on the codes.
    if law.scale > WIDEST_SCALE or grid.magnitude >= WIDEST_VALUE:
        raise OverflowError("the noisy values of this law might leave 64 bits")
    if codes.size and not (codes.min() >= grid.lower and codes.max() <= grid.upper):
        raise ValueError("a code lies outside the grid")
    noise = sample(Noise(NoiseFamily.LAPLACE, law.scale), codes.size, entropy)
    if noise.dtype == object:  # a draw beyond e^-100: of the noise alone, it tells nothing
        raise OverflowError("the noisy values of this law might leave 64 bits")
    answers: npt.NDArray[Any] = noise + codes
    return answers


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
