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

from dprelease.files.prefetch import ahead
from dprelease.local.cells import Cells, LabelCells, NumberCells, cells_of
from dprelease.model import ColumnType, OutputTable, RecordStep
from dprelease.output.csv_table import escaped, field
from dprelease.output.table_schema import table_schema

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
    """Write the rows in the order they come: "csv" or "parquet". The same rows, the same bytes.

    ``described`` has the columns' names and descriptions, and no values.
    """
    if form == "csv":
        makers = [for_csv(cells_of(response)) for response in step.responses]
        names = [response.column.name for response in step.responses]
        _write_csv(sink, names, makers, batches, _rows_at_once(step))
        return
    cells = {response.column.name: cells_of(response) for response in step.responses}
    # of very many sets, hardly two cells are alike
    few = [
        name for name, cell in cells.items() if not (isinstance(cell, LabelCells) and cell.numbered)
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
    makers = [for_parquet(cells_of(response)) for response in step.responses]
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
    longest = max((len(label.encode()) for label in cells.labels), default=0)
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


Maker = Callable[["Noisy"], pa.Array]

_TYPES = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
    ColumnType.STRING: pa.string(),
}
_PLAIN = 6  # Arrow writes decimals of more places with an exponent where they are small


def parquet_type(cells: Cells) -> pa.DataType:
    """The Arrow type of a column in Parquet."""
    if isinstance(cells, LabelCells):
        return _TYPES[cells.type] if cells.size == 1 else pa.string()
    if cells.parquet == "int64":
        return pa.int64()
    return pa.float64() if cells.parquet == "double" else pa.decimal128(38, cells.places)


def for_parquet(cells: Cells) -> Maker:
    """What turns a noisy column into its values in Parquet."""
    if isinstance(cells, LabelCells):
        if cells.size > 1:
            return _sets(cells, cells.labels, quoted=False)
        return _looked_up(pa.array(cells.values, type=parquet_type(cells)))
    if cells.levels is not None:
        return _looked_up(number_array(cells, cells.levels))
    return _numbers(cells)


def for_csv(cells: Cells) -> Maker:
    """What turns a noisy column into the fields of a CSV file, quoted where they must be."""
    if isinstance(cells, LabelCells):
        if cells.size > 1:
            return _sets(cells, cells.csv_labels, quoted=True)
        return _looked_up(pa.array([field(label) for label in cells.csv_labels], type=pa.string()))
    if cells.levels is not None:
        return _looked_up(pa.array([cells.text(level) for level in cells.levels], type=pa.string()))
    return _texts(cells)


def number_array(cells: NumberCells, scaled: Iterable[int]) -> pa.Array:
    """Cells of a numeric column as Parquet has them, one by one."""
    return pa.array([_value(cells, value) for value in scaled], type=parquet_type(cells))


def _value(cells: NumberCells, scaled: int) -> int | float | Decimal:
    if cells.parquet == "int64":
        return scaled
    if cells.parquet == "double":
        return float(Fraction(scaled, 10**cells.places))
    return Decimal(cells.text(scaled))  # of any number of digits, as arithmetic is not


def _looked_up(values: pa.Array) -> Maker:
    return lambda noisy: values.take(pa.array(noisy.reshape(-1)))


# --- sets of labels ------------------------------------------------------------------------------


def _sets(cells: LabelCells, firsts: Sequence[str], *, quoted: bool) -> Maker:
    """Sets as texts. ``firsts``: the labels as they begin a text."""
    if cells.numbered:
        return _numbered(cells)
    return _tabulated(cells, firsts, quoted=quoted)


def _numbered(cells: LabelCells) -> Maker:
    """The numbers of the labels, a blank between; all texts are equally long."""
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


def _tabulated(cells: LabelCells, firsts: Sequence[str], *, quoted: bool) -> Maker:
    """Texts by the rank of the set among all sets of its size, in colexicographic order."""
    number, size = len(cells.labels), cells.size
    ranks = np.array([[comb(at, place + 1) for at in range(number)] for place in range(size)])
    texts = [""] * comb(number, size)
    for chosen in combinations(range(number), size):
        first, *rest = chosen
        words = [firsts[first], *(cells.labels[index] for index in rest)]
        text = (cells.separator or "").join(words)
        rank = sum(comb(at, place + 1) for place, at in enumerate(chosen))
        texts[rank] = field(text) if quoted else text
    table = pa.array(texts, type=pa.string())

    def make(noisy: Noisy) -> pa.Array:
        rank = sum(ranks[place][noisy[:, place]] for place in range(size))
        return table.take(pa.array(rank))

    return make


# --- numbers -------------------------------------------------------------------------------------


def _numbers(cells: NumberCells) -> Maker:
    if cells.parquet == "int64":
        return lambda noisy: pa.array(noisy * cells.factor)
    if cells.parquet == "double":
        # both are exact in a double, so that the quotient is the double nearest to the decimal
        return lambda noisy: pa.array((noisy * cells.factor).astype(np.float64) / 10**cells.places)
    return lambda noisy: number_array(cells, (value * cells.factor for value in noisy.tolist()))


def _texts(cells: NumberCells) -> Maker:
    fits = cells.parquet in {"int64", "double"}
    if fits and cells.places == 0:
        return lambda noisy: pa.array(noisy * cells.factor).cast(pa.string())
    if fits and cells.places <= _PLAIN:
        kind = pa.decimal128(38, cells.places)
        return lambda noisy: _decimals(noisy * cells.factor, kind).cast(pa.string())
    return lambda noisy: pa.array(
        [cells.text(value * cells.factor) for value in noisy.tolist()], type=pa.string()
    )


def _decimals(scaled: Noisy, kind: pa.Decimal128Type) -> pa.Array:
    """Whole numbers of the last place as decimals: 128 bits each, the sign in the upper half."""
    halves = np.empty((len(scaled), 2), dtype=np.int64)
    halves[:, 0] = scaled
    halves[:, 1] = scaled >> 63
    return pa.Array.from_buffers(kind, len(scaled), [None, pa.py_buffer(halves.tobytes())])
