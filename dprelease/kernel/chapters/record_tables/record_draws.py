"""The one function that turns exact records into ones that may be published.

Guarantee: every cell that comes out is drawn by the law of its column from the true value of that
cell alone, with fresh randomness. So the laws of two tables whose records differ in one unit's
values differ by at most what these cells lose, as certified; how many records there are is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dprelease.files.prefetch import read_ahead
from dprelease.kernel.chapters.record_tables.respond import prepare_responses, respond
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import ExactRecords, RecordStep

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]


def prepare(step: RecordStep) -> None:
    """Make what the answers of a table will need. Reads no data and draws nothing."""
    for response in step.responses:
        prepare_responses(response.law)


def perturb(exact: ExactRecords, step: RecordStep, entropy: Entropy) -> Iterator[Columns]:
    """Answer batch by batch: an array of answers for each column, as ``record_tables.respond``.

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
