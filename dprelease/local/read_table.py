"""Reading of a released record-level table into noisy columns, batch by batch in constant memory.

What is read was published: the values are noisy. Complaints still show none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.local.cells import Cells, LabelCells, NumberCells, cells_of
from dprelease.local.write_table import empty, number_array, parquet_type, to_arrow
from dprelease.model.local_tables import RecordStep
from dprelease.output.csv_table import escaped
from dprelease.output.tables import RecordFile

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]
    Noisy = npt.NDArray[Any]


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
    names = [response.column.name for response in responses]
    decoders = [decoder(cells_of(response), as_csv=as_csv) for response in responses]
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
    columns = []
    for column, decode, name in zip(batch, decoders, names, strict=True):
        try:
            columns.append(decode(column))
        except Unreadable:
            row = rows + 1 + _first_bad(column, decode)
            message = f"{path}: row {row:,} has no value of {name} that the release could hold"
            raise Failure(ExitCode.SPEC, Complaint("E834", message, _HINT)) from None
    return tuple(columns)


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


_EXACT = 2 * 10**15  # whole numbers up to here come back from doubles


class Unreadable(ValueError):
    """Some cell is none that the release could hold."""


def decoder(cells: Cells, *, as_csv: bool) -> Callable[[pa.Array], Noisy]:
    """What turns a column of the file into a noisy column; it raises ``Unreadable``.

    Of CSV the columns are texts.
    """
    if isinstance(cells, LabelCells):
        if cells.numbered:
            return _numbered(cells)
        if cells.size > 1:
            return _sets(cells, as_csv=as_csv)
        kind = pa.string() if as_csv else parquet_type(cells)
        return _one_of(
            pa.array(cells.csv_labels if as_csv else cells.values, type=kind), np.uint32, 1
        )
    if cells.levels is not None:
        texts = [cells.text(level) for level in cells.levels]
        if as_csv:
            return _one_of(pa.array(texts, type=pa.string()), np.int16, 0)
        return _one_of(number_array(cells, cells.levels), np.int16, 0)
    return _texts_of_grid(cells) if as_csv else _numbers_of_grid(cells)


def _one_of(values: pa.Array, kind: type, width: int) -> Callable[[pa.Array], Noisy]:
    """Cells that are one of these, by the place of the first one like it."""
    firsts = np.arange(len(values))
    distinct = values.unique()
    if len(distinct) < len(values):  # levels of two windows can stand for the same
        at = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False)
        firsts = np.array([int(np.argmax(at == index)) for index in range(len(distinct))])

    def decode(column: pa.Array) -> Noisy:
        indices = pc.index_in(_of_type(column, distinct.type), value_set=distinct, skip_nulls=True)
        places: Noisy = firsts[_whole(indices)].astype(kind)
        return places.reshape(-1, width) if width else places

    return decode


def _whole(indices: pa.Array) -> Noisy:
    if indices.null_count:
        raise Unreadable
    places: Noisy = indices.to_numpy(zero_copy_only=False)
    return places


def _of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == kind:
        return column
    if pa.types.is_large_string(column.type) and pa.types.is_string(kind):
        return column.cast(kind)
    raise Unreadable


def _sets(cells: LabelCells, *, as_csv: bool) -> Callable[[pa.Array], Noisy]:
    labels = pa.array(cells.labels, type=pa.string())
    firsts = pa.array(
        list(map(escaped, cells.labels)) if as_csv else cells.labels, type=pa.string()
    )
    size, between = cells.size, cells.separator or ""

    def decode(column: pa.Array) -> Noisy:
        column = _of_type(column, pa.string())
        if column.null_count:
            raise Unreadable
        parts = pc.split_pattern(column, between)
        lengths = pc.list_value_length(parts).to_numpy(zero_copy_only=False)
        if not (lengths == size).all():
            raise Unreadable
        words = parts.flatten()
        first = pa.array(np.arange(0, len(words), size))
        codes = pc.index_in(words, value_set=labels)
        heads = _whole(pc.index_in(words.take(first), value_set=firsts))
        sets = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False).reshape(-1, size).copy()
        sets[:, 0] = heads
        if len(sets) and not (sets.min() >= 0 and (np.diff(sets, axis=1) > 0).all()):
            raise Unreadable
        chosen: Noisy = sets.astype(np.uint32)
        return chosen

    return decode


def _numbered(cells: LabelCells) -> Callable[[pa.Array], Noisy]:
    """Texts of equally wide numbers with blanks between, as labels counted from 0."""
    wide, size = cells.wide + 1, cells.size
    length = size * wide - 1
    powers = 10 ** np.arange(cells.wide - 1, -1, -1, dtype=np.int64)

    def decode(column: pa.Array) -> Noisy:
        column = _of_type(column, pa.string())
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


def _texts_of_grid(cells: NumberCells) -> Callable[[pa.Array], Noisy]:
    places = cells.places
    fraction = rf"\.[0-9]{{{places}}}" if places else ""
    pattern = rf"^-?(0|[1-9][0-9]{{0,40}}){fraction}$"

    def decode(column: pa.Array) -> Noisy:
        column = _of_type(column, pa.string())
        if not pc.all(pc.match_substring_regex(column, pattern), skip_nulls=False).as_py():
            if len(column):
                raise Unreadable
            return np.zeros(0, dtype=np.int64)
        digits = pc.replace_substring(column, ".", "", max_replacements=1) if places else column
        try:
            return _steps(digits.cast(pa.int64()).to_numpy(), cells.factor)
        except pa.ArrowInvalid:  # beyond 64 bits: what they stand for may still be within
            return _large([int(text) for text in digits.to_pylist()], cells.factor)

    return decode


def _numbers_of_grid(cells: NumberCells) -> Callable[[pa.Array], Noisy]:
    kind, unit = parquet_type(cells), 10**cells.places

    def decode(column: pa.Array) -> Noisy:
        column = _of_type(column, kind)
        if column.null_count:
            raise Unreadable
        if cells.parquet == "int64":
            return _steps(column.to_numpy(), cells.factor)
        if cells.parquet == "double":
            values = column.to_numpy()
            scaled = np.rint(values * unit)
            if not ((np.abs(scaled) <= _EXACT) & (scaled / unit == values)).all():
                raise Unreadable
            return _steps(scaled.astype(np.int64), cells.factor)
        return _large(
            [_unscaled(number, cells.places) for number in column.to_pylist()], cells.factor
        )

    return decode


def _unscaled(value: Decimal, places: int) -> int:
    """Decimals of Parquet have the places of their type, all of them."""
    sign, digits, exponent = value.as_tuple()
    if -int(exponent) != places:
        raise Unreadable
    whole = int("".join(map(str, digits)))
    return -whole if sign else whole


def _steps(scaled: Noisy, factor: int) -> Noisy:
    """Grid integers of which these are the multiples by ``factor``."""
    if factor == 1:
        return scaled
    if factor > np.iinfo(np.int64).max:
        return _large(scaled.tolist(), factor)
    steps: Noisy = scaled // factor
    if not (steps * factor == scaled).all():
        raise Unreadable
    return steps


def _large(scaled: list[int], factor: int) -> Noisy:
    quotients = [divmod(value, factor) for value in scaled]
    if any(rest or not -(2**63) <= steps < 2**63 for steps, rest in quotients):
        raise Unreadable
    return np.array([steps for steps, _ in quotients], dtype=np.int64)


def arrow_of(file: RecordFile, steps: Mapping[str, RecordStep]) -> pa.Table:
    """A published table of records as one Arrow table, all in memory."""
    step = steps[file.table.name]
    with open(file.stored.path, "rb") as source:
        rows = read_columns(source, file.stored.path, file.format, step)
        parts = list(to_arrow(step, file.table, rows))
    return pa.concat_tables(parts) if parts else empty(step, file.table)
