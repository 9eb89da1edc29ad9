"""Whether the fast CSV reader may be believed: a look at the bytes, beside the query.

DuckDB's reader is fast, but not local: an unclosed quote joins lines, and line ends are guessed
from the file. Its records end at line feeds, however. So where no quote occurs each line is one
record, and where quotes occur each line was one if the reader raised nothing and found as many
records as there are lines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dprelease.engines.duckdb_errors import CSV_FIELDS, means
from dprelease.engines.files import LINE_LIMIT, Layout
from dprelease.model import Dialect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

CHUNK = LINE_LIMIT // 2  # a line beyond the limit fills at least one aligned chunk


class LineScan(threading.Thread):
    """Scans the files in a thread; ``join`` it, then ask ``confirms``.

    Only the careful reader will do for carriage returns other than before every line feed, NUL
    bytes, and lines that could be over-long: then ``on_doubt`` is called at once.
    """

    def __init__(self, layout: Layout, dialect: Dialect, on_doubt: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._layout = layout
        self._quote = dialect.quote.encode()
        self._header = dialect.header
        # Blanks about quotes: the fast reader keeps or joins what the careful one doesn't.
        blanks = [blank for blank in (b" ", b"\t") if blank != dialect.delimiter.encode()]
        self._odd = tuple(
            pattern
            for one in blanks
            for other in blanks
            for pattern in (one + other + self._quote, self._quote + one + self._quote)
            if self._quote
        ) + tuple(b"\t" + self._quote for _ in blanks[1:] if self._quote)
        self._on_doubt = on_doubt
        self._stopped = False
        self._doubted = True  # until the scan has come to its end
        self.refuted = False  # whether the scan itself has seen that the fast reader won't do
        self._records: int | None = None  # None: no need to count

    def stop(self) -> None:
        """End the scan early: its answer is no longer wanted."""
        self._stopped = True

    def confirms(self, records: int) -> bool:
        """Whether a reader that raised nothing and found this many records is right."""
        return not self._doubted and self._records in (None, records)

    def run(self) -> None:
        """Scan all files; a file that can't be read is for the careful reader to report."""
        try:
            # In a table of one column the reader passes over empty lines, which are records.
            counted = self._layout.width == 1
            try:
                counts = [self._lines(path, counted) for path in self._layout.paths]
            except _CountError:  # only now is it known that lines must be counted
                counted = True
                counts = [self._lines(path, counted) for path in self._layout.paths]
        except (OSError, _DoubtError):
            self._doubt()
            return
        ends = {returns for _, returns in counts if returns is not None}
        if len(ends) > 1:
            self._doubt()
            return
        if counted:
            headers = len(counts) if self._header else 0
            self._records = sum(lines for lines, _ in counts) - headers
        self._doubted = False

    def _doubt(self) -> None:
        self.refuted = not self._stopped
        self._on_doubt()

    def _look_for_quotes(self, buffer: bytearray, size: int, first: bool) -> None:
        """Raise _CountError if the chunk holds a quote; a header line, in the first, is skipped."""
        start = buffer.find(b"\n", 0, size) + 1 if first and self._header else 0
        if buffer.find(self._quote, start, size) >= 0:
            raise _CountError

    def _lines(self, path: str, counted: bool) -> tuple[int, bool | None]:
        """Number of lines (0 if not wanted), and whether they end in carriage returns."""
        feeds = returns = pairs = 0
        last = b""
        before = b""  # the end of the chunk before, in which a pattern may have begun
        odd = self._odd if counted else ()
        buffer = bytearray(CHUNK)
        with open(path, "rb", buffering=0) as stream:
            while size := stream.readinto(buffer):
                if self._stopped or buffer.find(b"\0", 0, size) >= 0:
                    raise _DoubtError
                if size == CHUNK and buffer.find(b"\n") < 0:
                    raise _DoubtError
                seam = before + bytes(buffer[: min(size, 2)])
                if any(each in seam or buffer.find(each, 0, size) >= 0 for each in odd):
                    raise _DoubtError
                before = (before + bytes(buffer[max(0, size - 2) : size]))[-2:]
                if self._quote and not counted:
                    self._look_for_quotes(buffer, size, first=last == b"")
                some = last == b"\r" or buffer.find(b"\r", 0, size) >= 0
                if some and not counted:
                    raise _CountError
                if counted:
                    feeds += buffer.count(b"\n", 0, size)
                if some:
                    returns += buffer.count(b"\r", 0, size)
                    pairs += buffer.count(b"\r\n", 0, size)
                    pairs += last == b"\r" and buffer.startswith(b"\n")
                last = bytes(buffer[size - 1 : size])
        if returns and not returns == feeds == pairs:
            raise _DoubtError
        lines = feeds + (last not in (b"", b"\n"))
        # no line feed, or none counted: nothing is known of line ends
        return lines, bool(returns) if feeds else None


class _CountError(Exception):
    """There is a quote after the header, or a carriage return: lines must be counted after all."""


class _DoubtError(Exception):
    """The scan has seen what only the careful reader may read."""


def beside_a_scan(
    connection: DuckDBPyConnection, layout: Layout, dialect: Dialect, read: Callable[[], T]
) -> tuple[T | None, LineScan]:
    """What the fast reader gives, with the scan of the same files that says whether it is right.

    None where the reader is stopped by the scan, runs out of memory, or finds that fields are not
    as they should be: the careful one may do better. Raises duckdb.Error for the rest.
    """
    import duckdb

    found: T | None = None
    scan = LineScan(layout, dialect, connection.interrupt)
    scan.start()
    try:
        found = read()
    except duckdb.OutOfMemoryException:
        pass  # a reader that holds one line at a time may do with less
    except duckdb.InterruptException:
        if not scan.refuted:  # nobody else interrupts it
            raise
    except duckdb.Error as problem:
        if not means(problem, CSV_FIELDS):
            raise
    finally:
        if found is None:
            scan.stop()
        scan.join()
    return found, scan
