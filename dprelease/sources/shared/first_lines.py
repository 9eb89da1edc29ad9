"""Where the records of a CSV file begin, and which bytes end its lines.

The header decides how lines end, because it is public:

* A line ends with a line feed; carriage returns just before it belong to the line end.
* If the header, or without one the last line before the records, ends with a carriage return
  alone, such returns end lines too. A record never decides it: in the header no quote keeps a
  return, for its second one could stand in a record.

Before the header stand ``skip_rows`` lines, and after these a line ``sep=`` if the file begins as
spreadsheets write it. In both each kind of line end counts.
"""

from __future__ import annotations

from io import BufferedReader

from msgspec import Struct

from dprelease.files.csv_line import read_separator
from dprelease.model import Dialect

BOM = b"\xef\xbb\xbf"
LINE_LIMIT = 1 << 20  # bytes; a longer line is one malformed record
_FEED, _RETURN = b"\n\r"


class Beginning(Struct, frozen=True):
    """The lines of a file before its first record.

    Attributes:
        start: Offset of the first record in the unpacked file.
        returns: Whether carriage returns alone end lines.
        preamble: Lines before the header, or before the first record without one.
        header: The header without its line end; None without one.
    """

    start: int
    returns: bool
    preamble: tuple[bytes, ...] = ()
    header: bytes | None = None

    @property
    def separator(self) -> str | None:
        """The delimiter that a line ``sep=`` before the header names."""
        return None if not self.preamble else read_separator(self.preamble[-1])


def read_beginning(stream: BufferedReader, dialect: Dialect) -> Beginning | None:
    """Read the lines before the first record.

    Args:
        stream: An unpacked file, at its beginning.
        dialect: How the file is written.

    Returns:
        None if the file ends before its header, or a line is longer than ``LINE_LIMIT``.

    Raises:
        OSError: The file can't be read.
    """
    lines = _Lines(stream)
    preamble: list[bytes] = []
    for _ in range(dialect.skip_rows):
        line = lines.read()
        if line is None:
            return None
        preamble.append(line)
    if not dialect.header:
        return Beginning(lines.at, lines.ended_by_return, tuple(preamble))
    header = lines.read()
    if header is not None and read_separator(header) is not None:
        preamble.append(header)
        header = lines.read()
    if header is None:
        return None
    return Beginning(lines.at, lines.ended_by_return, tuple(preamble), header)


class _Lines:
    """Reads lines with any line end; ``at`` is the offset behind the last one."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._rest = stream.read(len(BOM))
        self.at = 0
        self.ended_by_return = False
        if self._rest == BOM:
            self._rest, self.at = b"", len(BOM)

    def read(self) -> bytes | None:
        """Read a line without its end; None at the end of the file, or if it is too long."""
        if b"\n" not in self._rest and b"\r" not in self._rest.rstrip(b"\r"):
            self._rest += self._stream.readline(LINE_LIMIT + 2)
        if not self._rest:
            return None
        data = self._rest
        end = following = len(data)
        feed = data.find(b"\n")
        if feed >= 0:
            end, following = len(data[:feed].rstrip(b"\r")), feed + 1
        place = data.find(b"\r", 0, end)
        self.ended_by_return = place >= 0
        if place >= 0:
            end, following = place, place + 1
        if end > LINE_LIMIT:
            return None
        self._rest, self.at = data[following:], self.at + following
        return data[:end]


def find_next_line(stream: BufferedReader, at: int, returns: bool, piece: int) -> int:
    """Find where the line after the one with the byte ``at`` begins.

    Args:
        stream: A file that can be read from any offset.
        at: Offset of a byte.
        returns: Whether carriage returns alone end lines.
        piece: Bytes to read at once.

    Returns:
        The offset; that of the end of the file for the last line.
    """
    stream.seek(at)
    while part := stream.readline(piece):
        first = part.find(b"\r") if returns else -1
        if first >= 0:
            return _skip_returns(stream, at + first, piece)
        at += len(part)
        if part.endswith(b"\n"):
            break
    return at


def _skip_returns(stream: BufferedReader, at: int, piece: int) -> int:
    """Find where the line begins that follows the carriage return ``at``."""
    stream.seek(at)
    run = 0
    while part := stream.read(piece):
        other = part.lstrip(b"\r")
        run += len(part) - len(other)
        if other:
            # Returns before a line feed are one line end with it.
            return at + (run + 1 if other[0] == _FEED else 1)
    return at + 1
