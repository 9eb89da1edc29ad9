"""Uniform shuffle of rows on disk, at any number of rows: the order they came in is lost.

Each row is sent to one of 256 heaps at random, and each heap is put into a random order by itself:
given how large the heaps are, every order of all rows is equally likely. What doesn't fit into
memory waits in a file without a name, which is gone with the process. Only rows that may be
published come here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]
    Rows = npt.NDArray[np.void]  # what belongs together, in one item

HEAPS = 256
FEW = 1 << 16
"""So many rows are one heap: their keys fit into the caches."""
ROOM = 48 * 1024 * 1024
"""Bytes of rows that are kept in memory before they are written out."""


class Bytes(Protocol):
    """A source of random bytes, as ``core.entropy`` has it."""

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` fresh bytes."""
        ...


class Shuffler:
    """Shuffle rows uniformly, on disk where they do not fit into memory.

    All batches have the same types. A column has one number for each row, or several.
    """

    def __init__(self, entropy: Bytes, directory: str, room: int = ROOM) -> None:
        self._entropy = entropy
        self._directory = directory
        self._room = room
        self._row: np.dtype[Any] | None = None
        self._waiting: list[Rows] = []
        self._held = 0
        self._file: Any = None
        self._spilt: list[npt.NDArray[np.int64]] = []  # of each part: where each heap begins

    def add(self, columns: Columns) -> None:
        """Take a batch. Raises OSError if the disk is full."""
        if not len(columns[0]):
            return
        row = np.dtype([("", column.dtype, column.shape[1:]) for column in columns])
        self._row = self._row or row
        if row != self._row:
            raise ValueError("all batches have the same types")
        rows = np.empty(len(columns[0]), row)
        for name, column in zip(row.names or (), columns, strict=True):
            rows[name] = column
        self._waiting.append(rows)
        self._held += rows.nbytes
        if self._held > self._room:
            self._spill()

    def drain(self) -> Iterator[Columns]:
        """Yield all rows in random order, in batches; once."""
        for parts in self._iter_heaps():
            rows = self._shuffle(parts)
            if len(rows):
                yield tuple(np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ())

    def _iter_heaps(self) -> Iterator[Sequence[Rows]]:
        """Iterate over the heaps, each in the parts in which it is held."""
        if self._file is not None:
            self._spill()
            with self._file:
                for heap in range(HEAPS):
                    yield [self._read_part(begins, heap) for begins in self._spilt]
        elif sum(map(len, self._waiting)) > FEW:
            rows, begins = self._split_heaps()
            for heap in range(HEAPS):
                yield [rows[begins[heap] : begins[heap + 1]]]
        elif self._waiting:
            yield self._waiting

    def _split_heaps(self) -> tuple[Rows, npt.NDArray[np.int64]]:
        """Sort the held rows by heap; return them and the row at which each heap begins."""
        rows = np.concatenate(self._waiting)
        heaps = self._read_words(np.uint8, len(rows))
        self._waiting, self._held = [], 0
        begins = np.concatenate([[0], np.cumsum(np.bincount(heaps, minlength=HEAPS))])
        return rows.take(np.argsort(heaps, kind="stable")), begins

    def _spill(self) -> None:
        """Write the held rows to disk, heap by heap."""
        if not self._waiting:
            return
        rows, begins = self._split_heaps()
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._directory, buffering=0)  # noqa: SIM115
        self._spilt.append(self._file.seek(0, os.SEEK_END) + begins * rows.itemsize)
        content = memoryview(rows.view(np.uint8).data)
        while content:
            content = content[self._file.write(content) :]

    def _read_part(self, begins: npt.NDArray[np.int64], heap: int) -> Rows:
        start, end = int(begins[heap]), int(begins[heap + 1])
        content = bytearray()
        self._file.seek(start)
        while len(content) < end - start:
            chunk = self._file.read(end - start - len(content))
            if not chunk:
                raise OSError("a temporary file is shorter than what was written to it")
            content += chunk
        return np.frombuffer(content, dtype=self._row)

    def _shuffle(self, parts: Sequence[Rows]) -> Rows:
        """Put the rows of all parts into a uniformly random order."""
        rows = np.concatenate(parts)
        while True:
            # Sorted by keys that all differ, every order is equally likely; draw again at a tie.
            keys = self._read_words(np.uint64, len(rows))
            order = np.argsort(keys)
            ranked = keys[order]
            if not (ranked[1:] == ranked[:-1]).any():
                return rows.take(order)

    def _read_words(self, kind: type[np.unsignedinteger[Any]], count: int) -> npt.NDArray[Any]:
        """Read random words. Raises ValueError for too few: rows would be lost."""
        data = self._entropy.read(count * np.dtype(kind).itemsize)
        return np.frombuffer(data, dtype=kind, count=count)
