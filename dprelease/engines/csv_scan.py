"""Whether the fast CSV reader may be believed: a count of physical lines, by bytes.

DuckDB's reader is fast, but not local: an unclosed quote joins lines, and line ends are guessed
from the file. Its records end at line feeds, however, so if it raised nothing and found as many
records as there are lines, then each line was one record. The scan runs beside the query.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from dprelease.engines.files import LINE_LIMIT

CHUNK = LINE_LIMIT // 2  # a line beyond the limit fills at least one aligned chunk


class LineCount(threading.Thread):
    """Counts the lines of the files in a thread; ``join`` it, then ask ``lines``.

    ``lines`` is None when only the careful reader will do: carriage returns other than before
    every line feed, NUL bytes, or a line that could be over-long. Then ``on_doubt`` is called at
    once. ``failed`` says that a file could not be read.
    """

    def __init__(self, paths: Sequence[str], on_doubt: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.paths = paths
        self.on_doubt = on_doubt
        self.lines: int | None = None
        self.failed = False
        self._stopped = False

    def stop(self) -> None:
        """End the scan early: its answer is no longer wanted."""
        self._stopped = True

    def run(self) -> None:
        """Count all files."""
        total = 0
        ends: set[bool] = set()  # whether line feeds follow carriage returns
        try:
            for path in self.paths:
                count = self._count(path, ends)
                if count is None or len(ends) > 1:
                    self.on_doubt()
                    return
                total += count
        except OSError:
            self.failed = True
            self.on_doubt()
            return
        self.lines = total

    def _count(self, path: str, ends: set[bool]) -> int | None:
        feeds = returns = pairs = 0
        last = b""
        buffer = bytearray(CHUNK)
        with open(path, "rb", buffering=0) as stream:
            while size := stream.readinto(buffer):
                if self._stopped:
                    return None
                found = buffer.count(b"\n", 0, size)
                if (size == CHUNK and not found) or buffer.find(b"\0", 0, size) >= 0:
                    return None
                feeds += found
                if last == b"\r" or buffer.find(b"\r", 0, size) >= 0:
                    returns += buffer.count(b"\r", 0, size)
                    pairs += buffer.count(b"\r\n", 0, size)
                    pairs += last == b"\r" and buffer.startswith(b"\n")
                last = bytes(buffer[size - 1 : size])
        if returns and not returns == feeds == pairs:
            return None
        if feeds:
            ends.add(bool(returns))
        return feeds + (last != b"\n")
