"""Splits of a table: how its files are dealt to tasks."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.engines.common.files import Layout, Split
from dprelease.engines.common.locations import size_of
from dprelease.engines.parquet.schema import ParquetLayout

SMALLEST, LARGEST = 1 << 25, 1 << 27  # bytes of a split; a task costs some 60 ms by itself
WANTED = 64  # splits of a table that is neither small nor large


def splits_of(layout: Layout | ParquetLayout, finer: int = 1) -> tuple[tuple[Split, ...], int]:
    """The splits, and the bytes in all files; ``finer`` says by how much they are smaller.

    Of Parquet files, the bytes are those of the columns that are read, before compression.
    Raises OSError.
    """
    if isinstance(layout, Layout):
        sizes = [size_of(path) for path in layout.paths]
        total, size = sum(sizes), _size_of_split(sum(sizes), finer)
        return tuple(
            Split(path, start, min(start + size, bytes_))
            for path, bytes_ in zip(layout.paths, sizes, strict=True)
            for start in range(0, bytes_, size)
        ), total
    total = sum(map(sum, layout.row_groups))
    size = _size_of_split(total, finer)
    return tuple(
        Split(path, start, end)
        for path, groups in zip(layout.paths, layout.row_groups, strict=True)
        for start, end in _together(groups, size)
    ), total


def _size_of_split(total: int, finer: int) -> int:
    return max(1, max(SMALLEST, min(LARGEST, total // WANTED)) // finer)


def _together(sizes: tuple[int, ...], most: int) -> Iterator[tuple[int, int]]:
    """Runs of row groups, each of about so many bytes; at least one."""
    start = held = 0
    for place, size in enumerate(sizes):
        if held and held + size > most:
            yield start, place
            start, held = place, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)
