"""A record-level table as a file, written batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dprelease.files.prefetch import ahead
from dprelease.local.arrays import Maker, for_csv, for_parquet, parquet_type
from dprelease.local.cells import Cells, LabelCells, cells_of
from dprelease.model import OutputTable, RecordStep
from dprelease.output.csv_table import escaped, field
from dprelease.output.table_schema import table_schema

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]

ROW_GROUP = 1 << 18
_BATCH = 1 << 17
_MOST_TEXT = 1 << 26  # bytes
_LEAST = 1 << 10


def write_records(
    sink: BinaryIO, step: RecordStep, described: OutputTable, batches: Iterable[Columns], form: str
) -> None:
    """Write the rows in the order they come: "csv" or "parquet". The same rows, the same bytes.

    ``described`` has the columns' names and descriptions, and no values.
    """
    if form == "csv":
        makers = [for_csv(cells_of(each)) for each in step.responses]
        names = [each.column.name for each in step.responses]
        _write_csv(sink, names, makers, batches, _rows_at_once(step))
        return
    cells = {each.column.name: cells_of(each) for each in step.responses}
    # of very many sets, hardly two cells are alike
    few = [
        name for name, each in cells.items() if not (isinstance(each, LabelCells) and each.numbered)
    ]
    options: dict[str, Any] = {"version": "2.6", "compression": "zstd", "use_dictionary": few}
    with pq.ParquetWriter(sink, _schema(step, described), **options) as writer:
        for table in ahead(to_arrow(step, described, batches)):
            writer.write_table(table)


def to_arrow(
    step: RecordStep, described: OutputTable, batches: Iterable[Columns]
) -> Iterator[pa.Table]:
    """The rows as Arrow tables, as Parquet holds them."""
    schema = _schema(step, described)
    makers = [for_parquet(cells_of(each)) for each in step.responses]
    for batch in _even(batches, _rows_at_once(step)):
        arrays = [make(column) for make, column in zip(makers, batch, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def _rows_at_once(step: RecordStep) -> int:
    """As many rows as make a row group, fewer where their texts are long."""
    width = 1 + sum(map(_width, map(cells_of, step.responses)))
    return max(_LEAST, min(ROW_GROUP, _MOST_TEXT // width))


def _width(cells: Cells) -> int:
    """Bytes of the longest text of a column of labels."""
    if not isinstance(cells, LabelCells):
        return 0
    if cells.numbered:
        return cells.size * (cells.wide + 1)
    longest = max((len(each.encode()) for each in cells.labels), default=0)
    return cells.size * (longest + len((cells.separator or "").encode()))


def empty(step: RecordStep, described: OutputTable) -> pa.Table:
    """The table of no rows."""
    return _schema(step, described).empty_table()


def _schema(step: RecordStep, described: OutputTable) -> pa.Schema:
    fields = [
        pa.field(
            column.name,
            parquet_type(cells_of(response)),
            metadata={"description": column.description},
        )
        for column, response in zip(described.columns, step.responses, strict=True)
    ]
    schema = json.dumps(table_schema(described, as_csv=False), ensure_ascii=False)
    metadata = {"name": described.name, "title": described.title, "table_schema": schema}
    return pa.schema(fields, metadata=metadata)


def _write_csv(
    sink: BinaryIO,
    names: Sequence[str],
    makers: Sequence[Maker],
    batches: Iterable[Columns],
    rows: int,
) -> None:
    sink.write((",".join(field(escaped(name)) for name in names) + "\n").encode())
    for batch in _even(batches, min(_BATCH, rows)):
        texts = [make(column) for make, column in zip(makers, batch, strict=True)]
        lines = pc.binary_join_element_wise(*texts, ",")
        # one line feed after each: the lines are one list, and an empty text ends it
        whole = pa.ListArray.from_arrays([0, len(lines)], lines)
        sink.write(pc.binary_join(whole, "\n")[0].as_buffer())
        sink.write(b"\n")


def _even(batches: Iterable[Columns], rows: int) -> Iterable[Columns]:
    """Batches of at most so many rows, small ones put together: what is written is the same."""
    import numpy as np

    waiting: list[Columns] = []
    held = 0
    for batch in batches:
        start = 0
        while start < len(batch[0]):
            part = tuple(column[start : start + rows - held] for column in batch)
            waiting.append(part)
            held += len(part[0])
            start += len(part[0])
            if held == rows:
                yield tuple(map(np.concatenate, zip(*waiting, strict=True)))
                waiting, held = [], 0
    if waiting:
        yield tuple(map(np.concatenate, zip(*waiting, strict=True)))
