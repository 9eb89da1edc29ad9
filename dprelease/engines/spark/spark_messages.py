"""What tasks hand on: packed rows, by the bucket in which they are met, and word of what was done.

Rows pass through Spark as few large blobs, not one by one: a row by itself costs more on its way
than its counting. A blob is an Arrow stream, compressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

BUCKET = "bucket"  # the column of a table by which its rows are dealt

# Kinds of messages. Rows for the number of distinct values have the place of their measure, from 0.
ROWS, DONE, FAILED = -1, -2, -3

BLOB = 1 << 23  # bytes of rows in a message, about
BATCH = 1 << 17  # rows taken from DuckDB at a time


class Message(NamedTuple):
    """A message to the task that has the bucket: rows, a report of work done, or a code."""

    bucket: int
    kind: int
    body: bytes


def deal_rows(tables: Iterable[pa.Table], kind: int) -> Iterator[Message]:
    """Pack the rows of tables into messages, by their column ``bucket``."""
    import numpy as np
    import pyarrow.compute as pc

    for table in tables:
        if not table.num_rows:
            continue
        buckets = table.column(BUCKET).to_numpy()
        order = np.argsort(buckets, kind="stable")
        own = table.drop_columns([BUCKET])
        if len(order) > 1 and buckets.min() != buckets.max():
            own, buckets = pc.take(own, order), buckets[order]
        starts = np.flatnonzero(np.diff(buckets, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            bucket = int(buckets[start])
            yield from (Message(bucket, kind, body) for body in _iter_blobs(own[start:end]))


def _iter_blobs(table: pa.Table) -> Iterator[bytes]:
    import pyarrow as pa

    pieces = table.nbytes // BLOB + 1
    rows = -(-table.num_rows // pieces)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for start in range(0, table.num_rows, rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table[start : start + rows])
        yield sink.getvalue().to_pybytes()


def read_rows(bodies: Iterable[bytes]) -> Any:
    """Unpack blobs of one kind into one table."""
    import pyarrow as pa

    return pa.concat_tables(pa.ipc.open_stream(body).read_all() for body in bodies)
