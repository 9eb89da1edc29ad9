"""Writing of a record-level table as CSV or Parquet, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dprelease.files.prefetch import read_ahead
from dprelease.local.store.answer_cells import Cells, LabelCells, NumberCells, choose_cells
from dprelease.model import ColumnType, OutputTable, RecordStep
from dprelease.output.csv_table import escape_formula, write_field
from dprelease.output.table_schema import build_table_schema

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]
    Noisy = npt.NDArray[Any]


ROW_GROUP = 1 << 18
_BATCH = 1 << 17
_MOST_TEXT = 1 << 26  # bytes
_LEAST = 1 << 10


def write_records(
    sink: BinaryIO, step: RecordStep, described: OutputTable, batches: Iterable[Columns], form: str
) -> None:
    """Write rows in their order; the same rows give the same bytes.

    Args:
        sink: The open file.
        step: The table's columns with their laws.
        described: The table without values: names and descriptions of its columns.
        batches: The noisy columns, in batches.
        form: "csv" or "parquet".
    """
    if form == "csv":
        makers = [_build_maker(choose_cells(response), as_csv=True) for response in step.responses]
        names = [response.column.name for response in step.responses]
        _write_csv(sink, names, makers, batches, _choose_row_count(step))
        return
    cells = {response.column.name: choose_cells(response) for response in step.responses}
    # of very many sets, hardly two cells are alike
    small_columns = [
        name
        for name, cell in cells.items()
        if not (isinstance(cell, LabelCells) and cell.is_numbered)
    ]
    options: dict[str, Any] = {
        "version": "2.6",
        "compression": "zstd",
        "use_dictionary": small_columns,
    }
    with pq.ParquetWriter(sink, _build_schema(step, described), **options) as writer:
        for table in read_ahead(to_arrow(step, described, batches)):
            writer.write_table(table)


def to_arrow(
    step: RecordStep, described: OutputTable, batches: Iterable[Columns]
) -> Iterator[pa.Table]:
    """Convert rows to Arrow tables with the types of the Parquet file."""
    schema = _build_schema(step, described)
    makers = [_build_maker(choose_cells(response), as_csv=False) for response in step.responses]
    for batch in _even_out(batches, _choose_row_count(step)):
        arrays = [make(column) for make, column in zip(makers, batch, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def _choose_row_count(step: RecordStep) -> int:
    """Choose the rows of a row group: fewer where texts are long."""
    width = 1 + sum(map(_compute_width, map(choose_cells, step.responses)))
    return max(_LEAST, min(ROW_GROUP, _MOST_TEXT // width))


def _compute_width(cells: Cells) -> int:
    """Compute the bytes of the longest text of a labelled column."""
    if not isinstance(cells, LabelCells):
        return 0
    if cells.is_numbered:
        return cells.size * (cells.wide + 1)
    longest = max((len(label.encode()) for label in cells.labels), default=0)
    return cells.size * (longest + len((cells.separator or "").encode()))


def build_empty_table(step: RecordStep, described: OutputTable) -> pa.Table:
    """Build the table without rows."""
    return _build_schema(step, described).empty_table()


def _build_schema(step: RecordStep, described: OutputTable) -> pa.Schema:
    fields = [
        pa.field(
            column.name,
            choose_parquet_type(choose_cells(response)),
            metadata={"description": column.description},
        )
        for column, response in zip(described.columns, step.responses, strict=True)
    ]
    schema = json.dumps(build_table_schema(described, as_csv=False), ensure_ascii=False)
    metadata = {"name": described.name, "title": described.title, "table_schema": schema}
    return pa.schema(fields, metadata=metadata)


def _write_csv(
    sink: BinaryIO,
    names: Sequence[str],
    makers: Sequence[Maker],
    batches: Iterable[Columns],
    rows: int,
) -> None:
    sink.write((",".join(write_field(escape_formula(name)) for name in names) + "\n").encode())
    for batch in _even_out(batches, min(_BATCH, rows)):
        texts = [make(column) for make, column in zip(makers, batch, strict=True)]
        lines = pc.binary_join_element_wise(*texts, ",")
        # one line feed after each: the lines are one list, and an empty text ends it
        whole = pa.ListArray.from_arrays([0, len(lines)], lines)
        sink.write(pc.binary_join(whole, "\n")[0].as_buffer())
        sink.write(b"\n")


def _even_out(batches: Iterable[Columns], rows: int) -> Iterable[Columns]:
    """Join or cut batches to ``rows`` rows: what is written does not depend on their sizes."""
    waiting: list[Columns] = []
    total = 0
    for batch in batches:
        start = 0
        while start < len(batch[0]):
            part = tuple(column[start : start + rows - total] for column in batch)
            waiting.append(part)
            total += len(part[0])
            start += len(part[0])
            if total == rows:
                yield tuple(map(np.concatenate, zip(*waiting, strict=True)))
                waiting, total = [], 0
    if waiting:
        yield tuple(map(np.concatenate, zip(*waiting, strict=True)))


Maker = Callable[["Noisy"], pa.Array]

_TYPES = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
    ColumnType.STRING: pa.string(),
}
_PLAIN = 6  # Arrow writes decimals of more places with an exponent where they are small


def choose_parquet_type(cells: Cells) -> pa.DataType:
    """Choose the Arrow type of a column in Parquet."""
    if isinstance(cells, LabelCells):
        return _TYPES[cells.type] if cells.size == 1 else pa.string()
    if cells.parquet == "int64":
        return pa.int64()
    return pa.float64() if cells.parquet == "double" else pa.decimal128(38, cells.places)


def list_sets(cells: LabelCells) -> npt.NDArray[np.uint32]:
    """List the sets of labels, one in a row, in colexicographic order."""
    sets = combinations(range(len(cells.labels)), cells.size)
    return np.array(sorted(sets, key=lambda labels: labels[::-1]), dtype=np.uint32)


def build_value_table(cells: Cells, *, as_csv: bool) -> pa.Array | None:
    """List what a file holds for each level or set; None if there are too many of them.

    Fields of CSV are not quoted yet.
    """
    if isinstance(cells, NumberCells):
        if cells.levels is None or not as_csv:
            return None if cells.levels is None else number_array(cells, cells.levels)
        return pa.array(map(cells.write_number, cells.levels), type=pa.string())
    if cells.is_numbered:
        return None
    if cells.size == 1 and not as_csv:
        return pa.array(cells.values, type=choose_parquet_type(cells))
    firsts = cells.csv_labels if as_csv else cells.labels
    texts = [
        (cells.separator or "").join([firsts[first], *(cells.labels[label] for label in rest)])
        for first, *rest in list_sets(cells).tolist()
    ]
    return pa.array(texts, type=pa.string())


def _build_maker(cells: Cells, *, as_csv: bool) -> Maker:
    """Build a function from a noisy column to what a file holds; fields of CSV are quoted."""
    table = build_value_table(cells, as_csv=as_csv)
    if table is None:
        if isinstance(cells, LabelCells):
            return _build_number_maker(cells)
        return _build_text_maker(cells) if as_csv else _build_level_maker(cells)
    if as_csv:
        table = pa.array(map(write_field, table.to_pylist()), type=pa.string())
    if isinstance(cells, NumberCells):
        return lambda noisy: table.take(pa.array(noisy))
    labels, places = range(len(cells.labels)), range(cells.size)
    ranks = np.array([[comb(label, place + 1) for label in labels] for place in places])
    return lambda noisy: table.take(
        pa.array(sum(ranks[place][noisy[:, place]] for place in places))
    )


def number_array(cells: NumberCells, scaled: Iterable[int]) -> pa.Array:
    """Convert the cells of a numeric column to Parquet values, one by one."""
    return pa.array(
        [_convert_value(cells, value) for value in scaled], type=choose_parquet_type(cells)
    )


def _convert_value(cells: NumberCells, scaled: int) -> int | float | Decimal:
    if cells.parquet == "int64":
        return scaled
    if cells.parquet == "double":
        return float(Fraction(scaled, 10**cells.places))
    return Decimal(cells.write_number(scaled))  # of any number of digits, as arithmetic is not


def _build_number_maker(cells: LabelCells) -> Maker:
    """Build a function that writes label numbers, all equally wide, with a blank between."""
    wide = cells.wide + 1
    words = "".join(f"{number:0{cells.wide}d} " for number in range(1, len(cells.labels) + 1))
    items = np.frombuffer(words.encode(), dtype=np.dtype((np.void, wide)))
    length = cells.size * wide - 1  # without the blank after the last

    def make(noisy: Noisy) -> pa.Array:
        texts = items.take(noisy.reshape(-1)).view(np.uint8).reshape(len(noisy), -1)
        offsets = np.arange(len(noisy) + 1, dtype=np.int32) * length
        content = np.ascontiguousarray(texts[:, :length])
        return pa.StringArray.from_buffers(
            len(noisy), pa.py_buffer(offsets), pa.py_buffer(content.reshape(-1))
        )

    return make


def _build_level_maker(cells: NumberCells) -> Maker:
    if cells.parquet == "int64":
        return lambda noisy: pa.array(noisy * cells.factor)
    if cells.parquet == "double":
        # both are exact in a double, so that the quotient is the double nearest to the decimal
        return lambda noisy: pa.array((noisy * cells.factor).astype(np.float64) / 10**cells.places)
    return lambda noisy: number_array(cells, (value * cells.factor for value in noisy.tolist()))


def _build_text_maker(cells: NumberCells) -> Maker:
    fits = cells.parquet in {"int64", "double"}
    if fits and cells.places == 0:
        return lambda noisy: pa.array(noisy * cells.factor).cast(pa.string())
    if fits and cells.places <= _PLAIN:
        kind = pa.decimal128(38, cells.places)
        return lambda noisy: _build_decimals(noisy * cells.factor, kind).cast(pa.string())
    return lambda noisy: pa.array(
        [cells.write_number(value * cells.factor) for value in noisy.tolist()], type=pa.string()
    )


def _build_decimals(scaled: Noisy, kind: pa.Decimal128Type) -> pa.Array:
    """Reinterpret integers of the last place as decimals, which have the same bytes."""
    whole = pa.array(scaled).cast(pa.decimal128(19, 0))
    return pa.Array.from_buffers(kind, len(whole), whole.buffers())
