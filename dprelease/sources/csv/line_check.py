"""Check of the fast CSV reader: a scan of the bytes while the query runs.

DuckDB's reader is fast, but what it makes of a line depends on other lines: an unclosed quote joins
lines, the line ending is guessed from the file, and the record at the edge of a buffer is found by
trial. Its records end at line feeds, however. So each line was one record if the reader raised
nothing and found as many records as there are lines.

The scan unpacks packed files a second time, while DuckDB unpacks them on another core. DuckDB does
not check what it unpacks; the scan compares it with the checksums of the file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from dprelease.engines.duckdb.duckdb_errors import CSV_LINES, PACKED_LINES, is_of_class
from dprelease.files.system import start, wait_for
from dprelease.model import Dialect
from dprelease.sources.shared.files import Layout
from dprelease.sources.shared.first_lines import LINE_LIMIT
from dprelease.sources.shared.locations import find_packing, open_unpacked
from dprelease.sources.shared.read_share import UNTOLD, ReadShare

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

CHUNK = 1 << 19
SEAM = 2  # bytes before a quote that are looked at
_FEED, _RETURN, _TAB = b"\n\r\t"


class LineScan(threading.Thread):
    """A scan of the files in a thread; ``join`` it, then ask ``is_confirming``.

    Some content only the careful reader may read: carriage returns that are not before every line
    feed, NUL bytes, lines that are too long, and some blanks beside quotes. The scan calls
    ``on_doubt`` at once where it finds any.
    """

    def __init__(
        self,
        layout: Layout,
        dialect: Dialect,
        on_doubt: Callable[[], None],
        share: ReadShare = UNTOLD,
    ) -> None:
        super().__init__(daemon=True)
        self._share = share
        self._layout = layout
        self._quote = dialect.quote.encode()
        self._header = dialect.header
        self._skipped = (layout.preamble or 0) + dialect.header
        self._blanks = [ord(blank) for blank in (" ", "\t") if blank != dialect.delimiter]
        self._on_doubt = on_doubt
        self._stopped = False
        self.refuted = False  # whether the scan itself has ruled the fast reader out
        self._records: int | None = None  # None until the scan has ended

    def stop(self) -> None:
        """End the scan early, as its answer is no longer wanted."""
        self._stopped = True

    def is_confirming(self, records: int) -> bool:
        """Tell if a reader that raised nothing and found this many records is right."""
        return self._records == records

    def run(self) -> None:
        """Scan all files; leave the report of errors to the careful reader."""
        try:
            counts = [self._count(path) for path in self._layout.paths]
            if len({returns for _, returns in counts if returns is not None}) > 1:
                raise _DoubtError
            self._records = sum(records for records, _ in counts)
        except (OSError, MemoryError, _DoubtError):
            self.refuted = not self._stopped
            if self.refuted:
                self._on_doubt()

    def _count(self, path: str) -> tuple[int, bool | None]:
        """Count the records, and tell if lines end in carriage returns; None if no line has ended.

        An empty line counts as a record. The fast reader skips some of them, and is refuted then.
        """
        import numpy as np

        feeds = returns = pairs = 0
        begun = 0  # bytes of the line that the chunk before left open
        buffer = bytearray(SEAM + CHUNK)  # the end of the chunk before, and a chunk
        buffer[:SEAM] = b"\n" * SEAM
        look = _QuoteLook(buffer, self._quote, self._blanks)
        chunk = memoryview(buffer)[SEAM:]
        content = np.frombuffer(buffer, np.uint8)
        at_feed, at_return = np.empty((2, len(buffer)), np.bool_)
        is_packed = bool(find_packing(path))
        count = self._share.exclude
        with open_unpacked(path, count) if is_packed else open(path, "rb", buffering=0) as stream:
            while size := stream.readinto(chunk):
                end = SEAM + size
                if not is_packed:
                    count(size)
                begun = self._count_open_bytes(buffer, end, begun)
                start = SEAM
                if self._header and not feeds:
                    start = max(SEAM, buffer.find(b"\n", SEAM, end) + 1)
                if self._quote and buffer.find(self._quote, start, end) >= 0:
                    look.check(start, end)
                np.equal(content, _FEED, out=at_feed)
                feeds += int(np.count_nonzero(at_feed[SEAM:end]))
                if buffer.find(b"\r", SEAM - 1, end) >= 0:
                    np.equal(content, _RETURN, out=at_return)
                    returns += int(np.count_nonzero(at_return[SEAM:end]))
                    followed = at_return[SEAM - 1 : end - 1]
                    np.logical_and(followed, at_feed[SEAM:end], out=followed)
                    pairs += int(np.count_nonzero(followed))
                buffer[:SEAM] = buffer[size:end]
        unended = buffer[SEAM - 1] != _FEED
        if (returns and not returns == feeds == pairs) or (unended and self._layout.must_end):
            raise _DoubtError
        records = feeds + unended - self._skipped
        return records, bool(returns) if feeds else None

    def _count_open_bytes(self, buffer: bytearray, end: int, begun: int) -> int:
        """Count the bytes of the line that the chunk leaves open.

        Raises _DoubtError if a line is too long, for a NUL byte, or once the scan is stopped.
        """
        if self._stopped or buffer.find(b"\0", SEAM, end) >= 0:
            raise _DoubtError
        feed = buffer.find(b"\n", SEAM, end)
        if begun + (end if feed < 0 else feed) - SEAM > LINE_LIMIT:
            raise _DoubtError
        return begun + end - SEAM if feed < 0 else end - 1 - buffer.rfind(b"\n", SEAM, end)


class _QuoteLook:
    """A look for the blanks beside quotes of which the two readers keep or join different ones.

    These are a quote after a tab, and one after a blank that has a blank or a quote before it. All
    places of a chunk are compared at once, in arrays that are made once for a file.
    """

    def __init__(self, buffer: bytearray, quote: bytes, blanks: Sequence[int]) -> None:
        import numpy as np

        self._buffer = buffer
        self._content = np.frombuffer(buffer, np.uint8)
        self._quote, self._blanks = ord(quote or b"\0"), blanks
        self._arrays = np.empty((3, len(buffer)), np.bool_)

    def check(self, start: int, end: int) -> None:
        """Raise _DoubtError if such a quote is there; what is before ``start`` belongs to it."""
        import numpy as np

        at_quote, at_blank, at_other = self._arrays
        np.equal(self._content, self._quote, out=at_quote)
        np.equal(self._content, self._blanks[0], out=at_blank)
        for blank in self._blanks[1:]:
            if self._buffer.find(blank, start - SEAM, end) >= 0:
                np.equal(self._content, blank, out=at_other)
                np.logical_or(at_blank, at_other, out=at_blank)
        found = at_other[start:end]
        np.logical_and(at_quote[start:end], at_blank[start - 1 : end - 1], out=found)
        if not found.any():
            return
        places = np.flatnonzero(found) + start
        follows = at_quote[places - 2] | at_blank[places - 2]
        if follows.any() or (self._content[places - 1] == _TAB).any():
            raise _DoubtError


class _DoubtError(Exception):
    """The scan has found content that only the careful reader may read."""


def may_be_fast(layout: Layout, dialect: Dialect) -> bool:
    """Tell if DuckDB's reader can read packing, encoding and dialect; a record must be a line."""
    if len({find_packing(path) for path in layout.paths}) > 1 or layout.preamble is None:
        return False
    return layout.encoding == "utf-8" and dialect.delimiter != " " and dialect.max_lines == 1


def read_with_scan(
    connection: DuckDBPyConnection,
    layout: Layout,
    dialect: Dialect,
    read: Callable[[], T],
    share: ReadShare = UNTOLD,
) -> tuple[T | None, LineScan]:
    """Read by the fast reader while a scan of the same files checks it.

    Args:
        connection: The connection to DuckDB that ``read`` uses.
        layout: The files and their columns.
        dialect: How the files are written.
        read: Runs the statement and returns its result.
        share: Is told how much was read.

    Returns:
        The result, and the scan that tells if it is right. The result is None if the scan stopped
        the reader, or it ran out of memory or gave up: the careful reader may do better.

    Raises:
        duckdb.Error: An error that the careful reader would run into too.
    """
    import duckdb

    result: T | None = None
    scan = LineScan(layout, dialect, connection.interrupt, share)
    try:
        start(scan)
        result = read()
        wait_for(scan)
    except duckdb.OutOfMemoryException:
        result = None  # a reader that holds one line at a time may need less memory
    except duckdb.InterruptException:
        if not scan.refuted:  # nobody else interrupts it
            raise
    except duckdb.Error as problem:
        if not is_of_class(
            problem, PACKED_LINES if any(map(find_packing, layout.paths)) else CSV_LINES
        ):
            raise
    finally:
        scan.stop()  # also if Ctrl-C has ended the wait
        wait_for(scan)
    return result, scan
