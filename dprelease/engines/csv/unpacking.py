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


class Unpacking:
    """See ``FastReader``: each statement reads the files anew, all of them as one."""

    record_count: None = None

    def __init__(self, layout: Layout, dialect: Dialect) -> None:
        self._layout, self._dialect = layout, dialect
        self._share = UNTOLD
        self._interrupt: Callable[[], None] = lambda: None
        self._scan: LineScan | None = None
        # One pipe for all statements: DuckDB may open this one, and no other.
        self._end, writing = os.pipe()
        os.close(writing)
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
        self._scan = LineScan(
            self._layout, self._dialect, self._interrupt, self._share, sink=writing
        )
        self._scan.start()

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
        scan = self._scan
        return result, lambda records: scan is not None and scan.confirms(records)

    def _refuted(self) -> bool:
        return self._scan is not None and self._scan.refuted

    def _stop(self) -> None:
        """End the scan, unless it has come to its end: nobody reads the pipe any more."""
        if self._scan is None:
            return
        self._scan.stop()
        while os.read(self._end, CHUNK):
            pass  # until the scan closes its end
        self._scan.join()
