"""Splits of a table: how its files are assigned to tasks."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.sources.shared.files import Split
from dprelease.sources.shared.source_format import Table

SMALLEST, LARGEST = 1 << 25, 1 << 27  # bytes of a split; a task costs some 60 ms by itself
WANTED = 64  # splits of a table that is neither small nor large


def plan_splits(table: Table, finer: int = 1) -> tuple[tuple[Split, ...], int]:
    """Plan splits ``finer`` times smaller than usual; return them and their bytes.

    Raises OSError.
    """
    pieces = table.pieces()
    total = sum(sum(bytes_) if isinstance(bytes_, tuple) else bytes_ for _, bytes_ in pieces)
    # A task costs some time by itself, so splits are not made too small.
    size = max(1, max(SMALLEST, min(LARGEST, total // WANTED)) // finer)
    return tuple(
        Split(path, start, end)
        for path, bytes_ in pieces
        for start, end in (
            _iter_runs(bytes_, size) if isinstance(bytes_, tuple) else _iter_ranges(bytes_, size)
        )
    ), total


def _iter_ranges(bytes_: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, bytes_)) for start in range(0, bytes_, size))


def _iter_runs(sizes: tuple[int, ...], limit: int) -> Iterator[tuple[int, int]]:
    """Iterate runs of parts, each of about so many bytes; at least one part."""
    start = total = 0
    for place, size in enumerate(sizes):
        if total and total + size > limit:
            yield start, place
            start, total = place, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)
