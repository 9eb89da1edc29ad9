"""Splits of a table: how its files are dealt to tasks."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.sources.shared.files import Split
from dprelease.sources.source_format import Table

SMALLEST, LARGEST = 1 << 25, 1 << 27  # bytes of a split; a task costs some 60 ms by itself
WANTED = 64  # splits of a table that is neither small nor large


def splits_of(table: Table, finer: int = 1) -> tuple[tuple[Split, ...], int]:
    """The splits, and the bytes of them all; ``finer`` says by how much they are smaller.

    Raises OSError.
    """
    pieces = table.pieces()
    total = sum(sum(bytes_) if isinstance(bytes_, tuple) else bytes_ for _, bytes_ in pieces)
    size = _size_of_split(total, finer)
    return tuple(
        Split(path, start, end)
        for path, bytes_ in pieces
        for start, end in (
            _together(bytes_, size) if isinstance(bytes_, tuple) else _anywhere(bytes_, size)
        )
    ), total


def _size_of_split(total: int, finer: int) -> int:
    return max(1, max(SMALLEST, min(LARGEST, total // WANTED)) // finer)


def _anywhere(bytes_: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, bytes_)) for start in range(0, bytes_, size))


def _together(sizes: tuple[int, ...], most: int) -> Iterator[tuple[int, int]]:
    """Runs of parts, each of about so many bytes; at least one part."""
    start = held = 0
    for place, size in enumerate(sizes):
        if held and held + size > most:
            yield start, place
            start, held = place, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)
