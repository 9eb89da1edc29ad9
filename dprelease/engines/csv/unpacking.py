"""Packed CSV: unpacked once, looked at, and handed to DuckDB through a pipe.

DuckDB unpacks on one core, and believes what it unpacks. Here one thread unpacks and looks at the
lines (see ``line_check``), which holds them against the sums that the file has, while DuckDB reads
what was looked at. Nothing of the data is ever in a file.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from dprelease.engines.common.files import Layout
from dprelease.engines.common.read_share import UNTOLD, ReadShare
from dprelease.engines.csv.duckdb_csv import read_fields
from dprelease.engines.csv.line_check import CHUNK, PIPES, LineScan, attempted
from dprelease.engines.duckdb.sources import Columns
from dprelease.engines.duckdb.text_numbers import TextNumbers
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.model import Dialect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

PAUSE = 0.001  # seconds between two looks at a scan that is to end


class Unpacking:
    """See ``FastReader``: each statement reads the files anew, all of them as one."""

    record_count: None = None

    def __init__(self, layout: Layout, dialect: Dialect) -> None:
        self._layout, self._dialect = layout, dialect
        self._share = UNTOLD
        self._interrupt: Callable[[], None] = lambda: None
        self._scans: list[LineScan] = []
        # One pipe for all statements: DuckDB may open this one, and no other.
        self._end, writing = os.pipe()
        os.close(writing)
        os.set_blocking(self._end, False)  # of this end: DuckDB's waits
        self._close = weakref.finalize(self, os.close, self._end)

    @property
    def paths(self) -> tuple[str, ...]:
        """See ``FastReader``."""
        return (f"{PIPES}/{self._end}",)

    @property
    def fields(self) -> Fields:
        """See ``FastReader``."""
        return read_fields(self._layout, self._dialect, self.paths, skip=False)

    def renew(self, _numbers: Mapping[str, TextNumbers], _only: Columns) -> None:
        """See ``FastReader``."""
        self._stop()
        writing = os.open(self.paths[0], os.O_WRONLY)
        scan = LineScan(self._layout, self._dialect, self._interrupt, self._share, sink=writing)
        self._scans.append(scan)
        try:
            scan.start()
        except RuntimeError:  # there may be no more threads
            os.close(writing)
            raise

    def beside(
        self, connection: DuckDBPyConnection, read: Callable[[], T], share: ReadShare
    ) -> tuple[T | None, Callable[[int], bool]]:
        """See ``FastReader``; raises duckdb.Error."""
        self._interrupt, self._share = connection.interrupt, share
        try:
            result = attempted(read, self._refuted)
        finally:
            self._stop()
            self._close()
        return result, self._confirm

    def _refuted(self) -> bool:
        return any(scan.refuted for scan in self._scans)

    def _confirm(self, records: int) -> bool:
        """Whether all scans say so that came to their end, of which there is one.

        Some statements read no file, or the beginning of one: their scans are ended early.
        """
        ended = [scan for scan in self._scans if scan.ended]
        confirmed = bool(ended) and all(scan.confirms(records) for scan in ended)
        return confirmed and not self._refuted()

    def _stop(self) -> None:
        """End the scan, unless it has come to its end, and empty the pipe, which nobody reads."""
        if not self._scans:
            return
        scan = self._scans[-1]
        scan.stop()
        # An interruption may have come before the scan began: nobody closes its end then.
        while any((scan.is_alive(), self._emptied())):  # in this order: all is written then
            scan.join(PAUSE)

    def _emptied(self) -> bool:
        """Whether there was anything in the pipe."""
        try:
            return bool(os.read(self._end, CHUNK))
        except BlockingIOError:
            return False
