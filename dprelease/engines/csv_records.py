"""Careful CSV reading: total, streaming, and local to a record.

A record is one physical line: bytes up to a line feed, less one carriage return before it. Only the
line itself decides what becomes of it:

* a field that begins with the quote character (spaces before it don't count) runs to the closing
  quote, holds delimiters, and a doubled quote is one quote; spaces may follow the closing quote.
  Quotes elsewhere are ordinary characters.
* A line with another number of fields than the header, with an unclosed quote, with text after a
  closing quote, or longer than 1 MiB is one record whose fields are all null.
* A byte that is invalid in the encoding becomes U+FFFD.
* An empty line is no record, unless the table has a single column.

The fast reader of DuckDB is used instead where it would read the same (see ``csv_scan``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dprelease.engines.files import BOM, LINE_LIMIT, Layout
from dprelease.model import Dialect

if TYPE_CHECKING:
    import pyarrow

CHUNK = 1 << 20  # bytes read at once


def split_line(line: str, delimiter: str, quote: str) -> list[str] | None:
    """The fields of one line, or None if it is malformed."""
    if not quote or quote not in line:
        return line.split(delimiter)
    fields: list[str] = []
    place = 0
    while True:
        start = _skip_spaces(line, place, delimiter)
        if line.startswith(quote, start):
            field, place = _quoted(line, start + 1, delimiter, quote)
            if place < 0:
                return None
        else:
            end = line.find(delimiter, place)
            field, place = (line[place:end], end) if end >= 0 else (line[place:], len(line))
        fields.append(field)
        if place == len(line):
            return fields
        place += len(delimiter)


def _skip_spaces(line: str, place: int, delimiter: str) -> int:
    if delimiter == " ":
        return place
    while line.startswith(" ", place):
        place += 1
    return place


def _quoted(line: str, place: int, delimiter: str, quote: str) -> tuple[str, int]:
    """A quoted field from after its opening quote, and where it ends; -1 if it is malformed."""
    pieces: list[str] = []
    while True:
        end = line.find(quote, place)
        if end < 0:
            return "", -1
        pieces.append(line[place:end])
        place = end + 1
        if not line.startswith(quote, place):
            break
        pieces.append(quote)
        place += 1
    place = _skip_spaces(line, place, delimiter)
    if place < len(line) and not line.startswith(delimiter, place):
        return "", -1
    return "".join(pieces), place


def blocks(path: str, header: bool) -> Iterator[tuple[bytes, int]]:
    """Whole lines of a file, about ``CHUNK`` bytes at a time, and how many over-long lines were
    left out since the last block. The header line and a byte order mark are skipped.
    """
    with open(path, "rb", buffering=0) as stream:
        rest = b""
        first = True
        skipping = False  # inside an over-long line
        while chunk := stream.read(CHUNK):
            if first:
                chunk = _beginning(chunk, stream.read).removeprefix(BOM)  # noqa: PLW2901
                first = False
            data = rest + chunk
            overlong = 0
            if skipping:
                cut = data.find(b"\n")
                if cut < 0:
                    rest = b""
                    continue
                data, skipping, overlong = data[cut + 1 :], False, 1
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if len(rest) > LINE_LIMIT:
                rest, skipping = b"", True
            yield data[:end], overlong
        yield rest, int(skipping)


def _beginning(chunk: bytes, read: Callable[[int], bytes]) -> bytes:
    """At least enough bytes to see a byte order mark."""
    while len(chunk) < len(BOM) and (more := read(len(BOM))):
        chunk += more
    return chunk


class Splitter:
    """Splits blocks of lines into columns of text, keeping only the wanted fields."""

    def __init__(self, dialect: Dialect, layout: Layout, wanted: Sequence[int]) -> None:
        self.dialect = dialect
        self.width = layout.width
        self.encoding = layout.encoding
        self.wanted = wanted

    def columns(self, lines: list[str], broken: int) -> list[list[str | None]]:
        """The wanted fields of the lines, one list a column; ``broken`` records are all null.

        The order of the records is not kept.
        """
        delimiter, quote, width = self.dialect.delimiter, self.dialect.quote, self.width
        plain = [
            line
            for line in lines
            if line.count(delimiter) == width - 1 and not (quote and quote in line)
        ]
        fields = delimiter.join(plain).split(delimiter) if plain else []
        found: list[list[str | None]] = [list(fields[place::width]) for place in self.wanted]
        if len(plain) < len(lines):
            for line in lines:
                if line.count(delimiter) == width - 1 and not (quote and quote in line):
                    continue
                record = split_line(line, delimiter, quote)
                if record is None or len(record) != width:
                    broken += 1
                    continue
                for column, place in zip(found, self.wanted, strict=True):
                    column.append(record[place])
        for column in found:
            column.extend([None] * broken)
        return found

    def lines(self, block: bytes) -> tuple[list[str], int]:
        """The decoded lines of a block, and the number of over-long ones left out."""
        raw = block.split(b"\n")
        if not raw[-1]:
            raw.pop()  # what follows the last line feed is no line
        if block.find(b"\r") >= 0:
            raw = [line.removesuffix(b"\r") for line in raw]
        overlong = 0
        if len(block) > LINE_LIMIT:
            kept = [line for line in raw if len(line) <= LINE_LIMIT]
            overlong = len(raw) - len(kept)
            raw = kept
        if self.width > 1:
            raw = [line for line in raw if line]
        return b"\n".join(raw).decode(self.encoding, "replace").split("\n") if raw else [], overlong


def batches(
    dialect: Dialect, layout: Layout, names: Sequence[str], wanted: Sequence[int]
) -> Iterator[pyarrow.RecordBatch]:
    """Arrow batches of the wanted fields as text, one row for each record of all files."""
    import pyarrow as pa

    splitter = Splitter(dialect, layout, wanted)
    schema = pa.schema([(name, pa.string()) for name in names])
    for path in layout.paths:
        header = dialect.header
        for block, overlong in blocks(path, header):
            lines, longer = splitter.lines(block)
            columns = splitter.columns(lines, overlong + longer)
            yield pa.record_batch([pa.array(c, pa.string()) for c in columns], schema=schema)
