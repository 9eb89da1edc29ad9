"""The careful CSV reader: it reads any bytes, as a stream, and each record by itself.

A record is one physical line: bytes up to a line feed, less the carriage returns before it, or up
to a carriage return where these end lines (see ``first_lines``). How it is read depends on the line
alone:

* a field that begins with the quote character (spaces before it don't count) runs to the closing
  quote, holds delimiters, and a doubled quote is one quote; spaces may follow the closing quote.
  Quotes elsewhere are ordinary characters.
* A line with another number of fields than the header, with an unclosed quote, with text after a
  closing quote, or longer than 1 MiB is one record whose fields are all null. Empty fields beyond
  the header's don't count, nor do missing ones that have no name in it.
* A byte that is invalid in the encoding becomes U+FFFD.
* An empty line is a record like any other: of one empty field, if the table has a single column.

The fast reader of DuckDB is used instead where it would read the same (see ``line_check``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from typing import TYPE_CHECKING, Any

from dprelease.files.csv_line import split_line
from dprelease.model import Dialect
from dprelease.sources.shared.arrow_texts import build_texts
from dprelease.sources.shared.data_failures import build_unended_failure
from dprelease.sources.shared.files import Layout, Split
from dprelease.sources.shared.first_lines import (
    BOM,
    LINE_LIMIT,
    Beginning,
    find_next_line,
    read_beginning,
)
from dprelease.sources.shared.locations import find_packing, open_unpacked

if TYPE_CHECKING:
    import pyarrow
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = npt.NDArray[np.intp]

# Bytes that the Arrow reader would take for the end of a line, or drop.
_ODD = ("\r", "\0", "\ufeff")
CHUNK = 1 << 20  # bytes read at once
_FEED, _RETURN = b"\n\r"
_ALONE = re.compile(rb"\r+(?![\r\n])")  # carriage returns before no line feed


def iter_blocks(
    split: Split,
    dialect: Dialect,
    count: Callable[[int], None] | None = None,
    *,
    must_end: bool = False,
) -> Iterator[tuple[bytes, int]]:
    """Read the lines of a split in blocks of about ``CHUNK`` bytes.

    Args:
        split: The file, or a part of it.
        dialect: Tells which lines stand before the records; these are left out.
        count: Is told of the compressed bytes of a compressed file.
        must_end: Refuse a last line that does not end as the header does.

    Yields:
        A block without byte order mark, with a line feed at the end of each line, and the number of
        over-long lines left out before it.

    Raises:
        Failure: Exit code 5 for a last line without such an end if it ``must_end``.
        OSError: The file can't be read, or is shorter than when it was split.
    """
    with open_unpacked(split.path) as stream:
        beginning = read_beginning(stream, dialect)
    if beginning is None:
        raise OSError("the file has changed")
    with open_unpacked(split.path, count) as stream:
        at = _seek_first_line(stream, split.start, beginning)
        if split.end is not None and at >= split.end:
            return
        chunks = _iter_chunks(stream, at, split.end, beginning.returns)
        rest = b""
        skipping = False  # inside an over-long line
        if beginning.returns:
            chunks = _end_lines_alike(chunks, must_end and split.end is None)
        for chunk in chunks:
            data = rest + chunk
            overlong = 0
            if skipping:
                cut = data.find(b"\n")
                if cut < 0:
                    continue
                data, skipping, overlong = data[cut + 1 :], False, 1
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if len(rest) > LINE_LIMIT:
                rest, skipping = b"", True
            yield data[:end], overlong
        if must_end and (rest or skipping):
            raise build_unended_failure()
        yield rest, int(skipping)


def _seek_first_line(stream: BufferedReader, start: int, beginning: Beginning) -> int:
    """Go to the first record at or after ``start``; return where it begins."""
    at = beginning.start
    if start <= at:
        stream.read(at)  # a packed file is read forwards only
        return at
    at = find_next_line(stream, start - 1, beginning.returns, CHUNK)
    stream.seek(at)
    return at


def _iter_chunks(
    stream: BufferedReader, at: int, end: int | None, returns: bool
) -> Iterator[bytes]:
    """Read to the end of the line that holds the last byte before ``end``."""
    if end is not None:
        begun, end = at, find_next_line(stream, end - 1, returns, CHUNK)
        stream.seek(begun)
    while end is None or at < end:
        chunk = stream.read(CHUNK if end is None else min(CHUNK, end - at))
        if not chunk:
            if end is not None:
                raise OSError("the file is shorter than it was")
            return
        at += len(chunk)
        yield chunk


def _end_lines_alike(chunks: Iterable[bytes], must_end: bool) -> Iterator[bytes]:
    """Write a line feed for each carriage return that ends a line alone.

    Raises Failure if the last one does not, and ``must_end`` so.
    """
    waiting = 0  # carriage returns whose line feed may follow
    chunk = b"\r"  # that of the header
    for chunk in chunks:
        body = chunk.lstrip(b"\r")
        waiting += len(chunk) - len(body)
        if not body:
            continue
        if waiting and body[0] != _FEED:
            yield from _iter_feeds(waiting)
        kept = body.rstrip(b"\r")
        waiting = len(body) - len(kept)
        if kept.count(b"\r") != kept.count(b"\r\n"):
            kept = _ALONE.sub(lambda match: b"\n" * len(match[0]), kept)
        yield kept
    if must_end and not chunk.endswith(b"\r"):
        raise build_unended_failure()
    yield from _iter_feeds(waiting)


def _iter_feeds(number: int) -> Iterator[bytes]:
    while number:
        yield b"\n" * min(number, CHUNK)
        number -= min(number, CHUNK)


class Splitter:
    """Splits blocks of lines into columns of text, keeping only the wanted fields."""

    def __init__(self, dialect: Dialect, layout: Layout, places: Sequence[int]) -> None:
        self.dialect = dialect
        self.has_record = layout.has_record
        self.width = layout.width
        # Numbers of fields to try, the one that the last block had first.
        self._widths = list(
            dict.fromkeys((layout.width, layout.width + 1, layout.width - layout.nameless))
        )
        self.encoding = layout.encoding
        self.must_end = layout.must_end
        self.wanted = places

    def iter_columns(self, blocks: Iterable[tuple[bytes, int]]) -> Iterator[list[pyarrow.Array]]:
        """Split blocks into the wanted fields of all records, some columns at a time."""
        for block, overlong in blocks:
            yield from self.iter_tables(block, overlong)

    def iter_tables(self, block: bytes, broken: int) -> Iterator[list[pyarrow.Array]]:
        """Split a block into the wanted fields of its lines.

        The order of the records is not kept.

        Args:
            block: Whole lines.
            broken: Number of further records whose fields are all null.

        Yields:
            One Arrow array for each wanted field.
        """
        columns: list[list[str | None]] = [[None] * broken for _ in self.wanted]
        if clean := self.clean_columns(block):
            yield clean
        else:
            lines, overlong = self.decode_lines(block)
            plain, odd = self._sort(lines)
            if plain and self.width == 1:
                yield [build_texts(plain) for _ in self.wanted]
            elif plain:
                yield self._read_by_arrow("\n".join(plain).encode(), "", self.width)
            for column in columns:
                column.extend([None] * overlong)
            for line in odd:
                fields = split_line(line, self.dialect.delimiter, self.dialect.quote)
                complete = self.has_record(fields)
                for column, place in zip(columns, self.wanted, strict=True):
                    column.append(fields[place] if fields is not None and complete else None)
        yield [build_texts(column) for column in columns]

    def clean_columns(self, block: bytes) -> list[pyarrow.Array] | None:
        """Split a clean block by the Arrow reader; return None for any other block."""
        import pyarrow as pa

        records = clean_records(block, self.dialect)
        if not records or self.width == 1:
            return None
        data = block
        if self.dialect.max_lines == 1 and b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if self.encoding != "utf-8":
            data = data.decode(self.encoding, "replace").encode()
        for width in self._widths:
            try:
                columns = self._read_by_arrow(data, self.dialect.quote, width)
            except pa.ArrowInvalid:
                continue  # another number of fields somewhere, or bytes that are not UTF-8
            if len(columns[0]) == records:
                self._widths.remove(width)
                self._widths.insert(0, width)
                return columns
        return None

    def _sort(self, lines: list[str]) -> tuple[list[str], list[str]]:
        """Sort lines into those of nothing but fields and delimiters, and all others."""
        between, delimiter = self.width - 1, self.dialect.delimiter
        text = "".join(lines)
        marks = [mark for mark in (self.dialect.quote, *_ODD) if mark and mark in text]
        if not marks and all(line.count(delimiter) == between for line in lines):
            return lines, []
        plain: list[str] = []
        odd: list[str] = []
        for line in lines:
            easy = line.count(delimiter) == between and not any(mark in line for mark in marks)
            (plain if easy else odd).append(line)
        return plain, odd

    def _read_by_arrow(self, data: bytes, quote: str, width: int) -> list[pyarrow.Array]:
        """Split lines of ``width`` fields by the Arrow reader; raises ArrowInvalid."""
        import pyarrow as pa
        from pyarrow import csv

        names = [str(place) for place in range(width)]
        field_names = [str(place) for place in self.wanted]
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
            csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char=quote or False,
                newlines_in_values=self.dialect.max_lines > 1,
            ),
            csv.ConvertOptions(
                # Without a value, the field beyond the header's has only nulls, or is refused.
                column_types=dict.fromkeys(names[: self.width], pa.string())
                | dict.fromkeys(names[self.width :], pa.null()),
                include_columns=[*field_names, *names[self.width :]],
                null_values=[""],
                strings_can_be_null=False,
            ),
        )
        return [table.column(name).combine_chunks() for name in field_names]

    def decode_lines(self, block: bytes) -> tuple[list[str], int]:
        """Decode the lines of a block; return them and the number of over-long ones."""
        raw = block.split(b"\n")
        if not raw[-1]:
            raw.pop()  # what follows the last line feed is no line
        overlong = 0
        if len(block) > LINE_LIMIT:
            short = [line for line in raw if len(line) <= LINE_LIMIT]
            overlong = len(raw) - len(short)
            raw = short
        if b"\r" in block:
            raw = [line.rstrip(b"\r") for line in raw]
        if not raw:
            return [], overlong
        return b"\n".join(raw).decode(self.encoding, "replace").split("\n"), overlong


def open_table(
    splitter: Splitter, splits: Iterable[Split], count: Callable[[int], None]
) -> tuple[pyarrow.Schema, Iterator[pyarrow.RecordBatch]]:
    """Open the records of CSV files as Arrow batches.

    Args:
        splitter: Knows the dialect and the wanted fields.
        splits: Files, or parts of them.
        count: Is told of the bytes that were read, compressed ones if the file is compressed.

    Returns:
        The schema, of texts, and batches with one row for each record.
    """
    import pyarrow as pa

    schema = pa.schema([(f"f{place}", pa.string()) for place in splitter.wanted])
    return schema, _iter_batches(splitter, splits, schema, count)


def _iter_batches(
    splitter: Splitter,
    splits: Iterable[Split],
    schema: pyarrow.Schema,
    count: Callable[[int], None],
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa

    for split in splits:
        read = iter_blocks(split, splitter.dialect, count, must_end=splitter.must_end)
        if not find_packing(split.path):
            read = _count_bytes(read, count)
        for columns in splitter.iter_columns(read):
            yield pa.record_batch(columns, schema=schema)


def _count_bytes(
    read: Iterator[tuple[bytes, int]], count: Callable[[int], None]
) -> Iterator[tuple[bytes, int]]:
    for block, overlong in read:
        count(len(block))
        yield block, overlong


# --- blocks of lines so clean that any reader makes the same of them ------------------------------


def clean_records(block: bytes, dialect: Dialect) -> int | None:
    """Count the records of a block of lines that every reader reads alike.

    Records are clean if none has too many bytes or lines, or holds a NUL, a byte order mark or a
    carriage return other than at the end of a line, and if all quotes come in pairs: around whole
    fields, or doubled inside of such a field. The number of fields is not checked.

    Args:
        block: Whole lines.
        dialect: How the file is written.

    Returns:
        The number of records; None if each line needs a careful look.
    """
    import numpy as np

    if b"\0" in block or BOM in block:
        return None
    returns = b"\r" in block
    if returns and block.count(b"\r") != block.count(b"\r\n"):
        return None
    content = np.frombuffer(block, np.uint8)
    feeds = np.flatnonzero(content == _FEED)
    starts = np.concatenate([[0], feeds + 1])
    ends = np.append(feeds, len(block))
    if starts[-1] == len(block):  # what follows the last line feed is no line
        starts, ends = starts[:-1], ends[:-1]
    if dialect.quote and dialect.quote.encode() in block:
        quotes = np.flatnonzero(content == ord(dialect.quote))
        if not _has_paired_quotes(content, quotes, dialect):
            return None
        outside = np.searchsorted(quotes, starts) % 2 == 0  # the lines with which a record begins
        places = np.append(np.flatnonzero(outside), len(starts))
        if len(places) <= len(starts):
            if np.diff(places).max() > dialect.max_lines:
                return None
            starts, ends = starts[outside], ends[places[1:] - 1]
    if len(block) > LINE_LIMIT and (ends - starts).max() > LINE_LIMIT:
        return None
    return len(starts)


def _has_paired_quotes(content: Any, quotes: Places, dialect: Dialect) -> bool:
    """Tell if each quote begins or ends a whole field, or is one of two inside of one."""
    import numpy as np

    # The first of a pair has a delimiter, or the beginning of a line, before it; the second has a
    # delimiter or the end of a line behind it. Or else the second of a pair touches the first of
    # the next one: the two are a quote in a field.
    if len(quotes) % 2:
        return False
    first, second = quotes[::2], quotes[1::2]
    touched = np.concatenate([second[:-1] + 1 == first[1:], [False]])  # by the next pair
    delimiter = ord(dialect.delimiter)
    around = np.concatenate([[_FEED], content, [_FEED]])  # place p of the block is p + 1 here
    before, behind = around[first], around[second + 2]
    begins = (before == delimiter) | (before == _FEED)
    begins[1:] |= touched[:-1]
    ends = (behind == delimiter) | (behind == _FEED) | (behind == _RETURN) | touched
    return bool((begins & ends).all())
