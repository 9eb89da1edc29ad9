"""Reading of a released record-level table into noisy columns, batch by batch in constant memory.

What is read was published: the values are noisy. Complaints still show none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.local.store.answer_cells import Cells, LabelCells, NumberCells, choose_cells
from dprelease.local.store.write_table import (
    build_empty_table,
    build_value_table,
    choose_parquet_type,
    list_sets,
    to_arrow,
)
from dprelease.model.record_tables import RecordStep
from dprelease.output.csv_table import escape_formula
from dprelease.output.table_files import RecordFile

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]
    Noisy = npt.NDArray[Any]


BATCH = 1 << 16
_BLOCK = 1 << 22  # bytes of CSV; a line must fit in

Decode = Callable[[pa.Array], "npt.NDArray[Any]"]


def read_columns(source: BinaryIO, path: str, form: str, step: RecordStep) -> Iterator[Columns]:
    """Read the noisy columns of a published table, in constant memory.

    Args:
        source: The open file.
        path: Its name, for complaints.
        form: "csv" or "parquet".
        step: The table's columns with their laws.

    Yields:
        Batches with one array for each column, as ``Tallier.add`` takes them.

    Raises:
        Failure: Exit code 2, naming the row, if the file is not such a table.
    """
    responses = step.responses
    as_csv = form == "csv"
    names = [response.column.name for response in responses]
    decoders = [_build_decoder(choose_cells(response), as_csv=as_csv) for response in responses]
    rows = 0
    try:
        arrays = _read_csv(source, names) if as_csv else _read_parquet(source, names)
        for batch in arrays:
            yield _decode_batch(batch, decoders, names, path, rows)
            rows += len(batch[0])
    except OSError as problem:
        raise _build_damage_failure(
            path, os.strerror(problem.errno) if problem.errno else None, rows
        ) from None
    except (pa.ArrowException, ValueError):
        raise _build_damage_failure(path, None, rows) from None


def _read_csv(source: BinaryIO, names: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
    """Read the fields of the file as texts."""
    expected = [escape_formula(name) for name in names]
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


def _read_parquet(source: BinaryIO, names: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
    file = pq.ParquetFile(source)
    if file.schema_arrow.names != list(names):
        raise ValueError("other columns")
    return _cut(file.iter_batches(batch_size=BATCH, use_threads=False))


def _cut(batches: Iterator[pa.RecordBatch]) -> Iterator[Sequence[pa.Array]]:
    """Cut batches to at most ``BATCH`` rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH).columns


def _decode_batch(
    batch: Sequence[pa.Array],
    decoders: Sequence[Decode],
    names: Sequence[str],
    path: str,
    rows: int,
) -> Columns:
    columns = []
    for column, decode, name in zip(batch, decoders, names, strict=True):
        try:
            columns.append(decode(column))
        except Unreadable:
            row = rows + 1 + _find_first_bad(column, decode)
            message = f"{path}: row {row:,} has no value of {name} that the release can contain"
            raise Failure(ExitCode.SPEC, Complaint("E834", message)) from None
    return tuple(columns)


def _find_first_bad(column: pa.Array, decode: Decode) -> int:
    """Find the place of the first cell that can't be read, by bisection."""
    good, bad = 0, len(column)  # all before `good` can be read, not all before `bad`
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            decode(column.slice(good, middle - good))
            good = middle
        except Unreadable:
            bad = middle
    return good


def _build_damage_failure(path: str, reason: str | None, rows: int) -> Failure:
    where = f" after row {rows:,}" if rows else ""
    message = f"{path} can't be read{where}: {reason or 'it is not as its report says'}"
    return Failure(ExitCode.SPEC, Complaint("E834", message))


_EXACT = 2 * 10**15  # whole numbers up to here come back from doubles


class Unreadable(ValueError):
    """Some cell is none that the release can contain."""


def _build_decoder(cells: Cells, *, as_csv: bool) -> Decode:
    """Build a function from a column of the file to a noisy column; it raises ``Unreadable``."""
    table = build_value_table(cells, as_csv=as_csv)
    if isinstance(cells, LabelCells):
        return (
            _build_number_decoder(cells)
            if table is None
            else _build_lookup_decoder(table, list_sets(cells))
        )
    if table is not None:  # of levels that stand for the same, the first is taken
        return _build_lookup_decoder(table, np.arange(len(table), dtype=np.int16))
    return _build_text_decoder(cells) if as_csv else _build_grid_decoder(cells)


def _build_lookup_decoder(table: pa.Array, codes: Noisy) -> Decode:
    """Build a decoder that looks cells up in a table and returns the codes at their places."""

    def decode(column: pa.Array) -> Noisy:
        column = _cast_column(column, table.type)
        places = pc.index_in(column, value_set=table, skip_nulls=True)
        if places.null_count:
            raise Unreadable
        noisy: Noisy = codes[places.to_numpy(zero_copy_only=False)]
        return noisy

    return decode


def _cast_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == kind:
        return column
    if pa.types.is_large_string(column.type) and pa.types.is_string(kind):
        return column.cast(kind)
    raise Unreadable


def _build_number_decoder(cells: LabelCells) -> Callable[[pa.Array], Noisy]:
    """Build a decoder of equally wide numbers with blanks between, to labels counted from 0."""
    wide, size = cells.wide + 1, cells.size
    length = size * wide - 1
    powers = 10 ** np.arange(cells.wide - 1, -1, -1, dtype=np.int64)

    def decode(column: pa.Array) -> Noisy:
        column = _cast_column(column, pa.string())
        lengths = pc.binary_length(column)
        if column.null_count or not pc.all(pc.equal(lengths, length), min_count=0).as_py():
            raise Unreadable
        _, offsets, content = column.buffers()
        first = int(np.frombuffer(offsets, dtype=np.int32)[column.offset])
        texts = np.full((len(column), size * wide), ord(" "), dtype=np.uint8)
        read = np.frombuffer(content, dtype=np.uint8)[first : first + len(column) * length]
        texts[:, :length] = read.reshape(-1, length)
        words = texts.reshape(len(column), size, wide)
        digits = words[:, :, :-1] - ord("0")  # what is no digit wraps around to above 9
        labels: Noisy = digits.astype(np.int64) @ powers - 1
        blank = (words[:, :, -1] == ord(" ")).all()
        rising = (np.diff(labels, axis=1) > 0).all()
        in_range = (labels >= 0).all() and (labels < len(cells.labels)).all()
        if not (blank and rising and in_range and (digits <= 9).all()):
            raise Unreadable
        return labels.astype(np.uint32)

    return decode


def _build_text_decoder(cells: NumberCells) -> Decode:
    places = cells.places
    fraction = rf"\.[0-9]{{{places}}}" if places else ""
    pattern = rf"^-?(0|[1-9][0-9]{{0,40}}){fraction}$"

    def decode(column: pa.Array) -> Noisy:
        column = _cast_column(column, pa.string())
        plain = pc.match_substring_regex(column, pattern)
        if not pc.all(plain, skip_nulls=False, min_count=0).as_py():
            raise Unreadable
        digits = pc.replace_substring(column, ".", "", max_replacements=1) if places else column
        try:
            return _convert_steps(digits.cast(pa.int64()).to_numpy(), cells.factor)
        except pa.ArrowInvalid:  # beyond 64 bits: what they stand for may still be within
            return _convert_steps(
                np.array(list(map(int, digits.to_pylist())), dtype=object), cells.factor
            )

    return decode


def _build_grid_decoder(cells: NumberCells) -> Decode:
    kind, unit = choose_parquet_type(cells), 10**cells.places

    def decode(column: pa.Array) -> Noisy:
        column = _cast_column(column, kind)
        if column.null_count:
            raise Unreadable
        if cells.parquet == "int64":
            return _convert_steps(column.to_numpy(), cells.factor)
        if cells.parquet == "double":
            values = column.to_numpy()
            scaled = np.rint(values * unit)
            if not ((np.abs(scaled) <= _EXACT) & (scaled / unit == values)).all():
                raise Unreadable
            return _convert_steps(scaled.astype(np.int64), cells.factor)
        whole = [int(Fraction(number) * unit) for number in column.to_pylist()]
        return _convert_steps(np.array(whole, dtype=object), cells.factor)

    return decode


def _convert_steps(scaled: Noisy, factor: int) -> Noisy:
    """Divide multiples of ``factor`` to grid integers."""
    if factor > np.iinfo(np.int64).max:
        scaled = scaled.astype(object)
    steps = scaled // factor
    if not (steps * factor == scaled).all():
        raise Unreadable
    try:
        return steps.astype(np.int64)
    except OverflowError:
        raise Unreadable from None


def read_arrow_table(file: RecordFile, steps: Mapping[str, RecordStep]) -> pa.Table:
    """Read a published table of records into memory.

    Args:
        file: The table's file.
        steps: Columns and laws of record-level tables, by table.

    Returns:
        All rows, with the types of the Parquet file.

    Raises:
        Failure: Exit code 2, if the file is not such a table.
    """
    step = steps[file.table.name]
    with open(file.stored.path, "rb") as source:
        rows = read_columns(source, file.stored.path, file.format, step)
        parts = list(to_arrow(step, file.table, rows))
    return pa.concat_tables(parts) if parts else build_empty_table(step, file.table)
