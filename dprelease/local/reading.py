"""A released record-level table read back into noisy columns, batch by batch in constant memory.

What is read was published: the values are noisy. Complaints still show none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.local.cells import cells_of
from dprelease.local.decoding import Unreadable, decoder
from dprelease.model.local_tables import RecordStep
from dprelease.output.csv_table import escaped

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]

BATCH = 1 << 16
_BLOCK = 1 << 22  # bytes of CSV; a line must fit in
_HINT = "running the release again, at no cost, restores it"

Decode = Callable[[pa.Array], "npt.NDArray[Any]"]


def read_columns(source: BinaryIO, path: str, form: str, step: RecordStep) -> Iterator[Columns]:
    """Read the table's noisy columns, in batches. ``path`` is for complaints.

    Raises Failure (exit code 2), naming the row, where the file is not such a table.
    """
    responses = step.responses
    as_csv = form == "csv"
    names = [each.column.name for each in responses]
    decoders = [decoder(cells_of(each), as_csv=as_csv) for each in responses]
    rows = 0
    try:
        arrays = _csv(source, names) if as_csv else _parquet(source, names)
        for batch in arrays:
            yield _decoded(batch, decoders, names, path, rows)
            rows += len(batch[0])
    except OSError as problem:
        raise _damaged(path, os.strerror(problem.errno) if problem.errno else None, rows) from None
    except (pa.ArrowException, ValueError):
        raise _damaged(path, None, rows) from None


def _csv(source: BinaryIO, names: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
    """The fields of the file as texts."""
    expected = [escaped(name) for name in names]
    reader = pyarrow.csv.open_csv(
        source,
        read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(expected, pa.string()),
            strings_can_be_null=False,
            check_utf8=True,
        ),
    )
    if reader.schema.names != expected:
        raise ValueError("other columns")
    return _cut(reader)


def _parquet(source: BinaryIO, names: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
    file = pq.ParquetFile(source)
    if file.schema_arrow.names != list(names):
        raise ValueError("other columns")
    return _cut(file.iter_batches(batch_size=BATCH, use_threads=False))


def _cut(batches: Iterator[pa.RecordBatch]) -> Iterator[Sequence[pa.Array]]:
    """The columns in batches of at most so many rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH).columns


def _decoded(
    batch: Sequence[pa.Array],
    decoders: Sequence[Decode],
    names: Sequence[str],
    path: str,
    rows: int,
) -> Columns:
    found = []
    for column, decode, name in zip(batch, decoders, names, strict=True):
        try:
            found.append(decode(column))
        except Unreadable:
            row = rows + 1 + _first_bad(column, decode)
            message = f"{path}: row {row:,} has no value of {name} that the release could hold"
            raise Failure(ExitCode.SPEC, Complaint("E834", message, _HINT)) from None
    return tuple(found)


def _first_bad(column: pa.Array, decode: Decode) -> int:
    """The place of the first cell that can't be read, by halving."""
    good, bad = 0, len(column)  # all before `good` can be read, not all before `bad`
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            decode(column.slice(good, middle - good))
            good = middle
        except Unreadable:
            bad = middle
    return good


def _damaged(path: str, reason: str | None, rows: int) -> Failure:
    where = f" after row {rows:,}" if rows else ""
    message = f"{path} can't be read{where}: {reason or 'it is not as its report says'}"
    return Failure(ExitCode.SPEC, Complaint("E834", message, _HINT))
