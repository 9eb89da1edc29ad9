"""The records of Parquet files, as Arrow batches in which every value can be read.

``arrow_values`` says how a cell is read. Memory is that of a batch and of the pages that hold it.
The format requires that a page be read whole, so a cell of one gigabyte takes some gigabytes for a
while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dprelease.sources.parquet.parquet_schema import ParquetLayout, open_file
from dprelease.sources.shared.files import Split

TEXTS_AT_ONCE = 1 << 11  # records with texts outside of dictionaries: at most 2 GiB of texts
ENOUGH = 1 << 22  # bytes of records that are processed together


def open_table(
    layout: ParquetLayout,
    splits: Iterable[Split],
    count: Callable[[int], None],
    only: frozenset[str] | None = None,
) -> tuple[Any, Iterator[Any]]:
    """Open the records of Parquet files as Arrow batches.

    Args:
        layout: The files and their columns.
        splits: Files, or row groups of them.
        count: Is told of the records that were read.
        only: Names of the columns to read; None reads all.

    Returns:
        The schema and its batches; without columns, one of nulls for the number of records.
        Taking a batch raises OSError if a file can't be read.
    """
    if only is not None:
        layout = layout.select_columns(only)
    schema = layout.build_schema()
    return schema, _iter_batches(layout, splits, schema, count)


def _iter_batches(
    layout: ParquetLayout, splits: Iterable[Split], schema: Any, count: Callable[[int], None]
) -> Iterator[Any]:
    for split in splits:
        for stored in _read_batches(layout, split):
            count(stored.num_rows)
            yield layout.build_batch(stored, split.path, schema)


def _read_batches(layout: ParquetLayout, split: Split) -> Iterator[Any]:
    """Iterate over batches as the file has them; raises OSError if it is damaged."""
    import pyarrow as pa

    try:
        with open_file(split.path, sorted(layout.coded)) as file:
            batch_size = _count_batch_records(layout, file.schema_arrow)
            groups = range(file.num_row_groups)[split.start : split.end]
            # One by one, because a reader of several groups keeps some of each in memory. Without
            # threads, because they would wait for each other and for those that take the batches.
            batches = (
                batch
                for group in groups
                for batch in file.iter_batches(
                    batch_size, [group], list(layout.types), use_threads=False
                )
            )
            yield from _merge_batches(batches, layout.batch_rows // 2)
    except MemoryError:
        raise
    except pa.ArrowException:
        raise OSError("a page or footer can't be decoded") from None


def _merge_batches(batches: Iterable[Any], records: int) -> Iterator[Any]:
    """Merge batches of a file until they have so many records or ``ENOUGH`` bytes."""
    # Processing a batch takes nearly as long for few records as for many; merging dictionaries of
    # several row groups takes longer.
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= records or size >= ENOUGH:
            yield from _join(waiting)
            waiting, rows, size = [], 0, 0
    yield from _join(waiting)


def _join(batches: list[Any]) -> list[Any]:
    """Join batches to one; leave them as they are where Arrow can't."""
    import pyarrow as pa

    if len(batches) < 2:
        return batches
    try:
        joined: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowException:
        return batches
    return joined


def _count_batch_records(layout: ParquetLayout, schema: Any) -> int:
    """Choose how many records are read at once."""
    from pyarrow import types

    for name, kind in layout.types.items():
        is_place = name in layout.coded and types.is_dictionary(schema.field(name).type)
        if (types.is_string(kind) or types.is_binary(kind)) and not is_place:
            return min(layout.batch_rows, TEXTS_AT_ONCE)
    return layout.batch_rows
