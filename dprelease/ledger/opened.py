"""An open ledger file: locks, the checked book, and its witness."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from dprelease.errors import Failure
from dprelease.ledger.chain import EMPTY, BrokenChain, Entry, Head
from dprelease.ledger.connection import open_for_reading, open_for_writing
from dprelease.ledger.entries import Book, read_book
from dprelease.ledger.messages import after_commit, broken_chain, translated
from dprelease.ledger.rollback_guard import (
    check_witness,
    prepare_witness,
    read_witness,
    witness_beside,
    write_witness,
)

WAIT = 10.0  # seconds


class OpenLedger:
    """One ledger file. A context manager closes it."""

    def __init__(
        self, connection: sqlite3.Connection, path: str, wait: float, witness: str | None = None
    ) -> None:
        self._connection = connection
        self._wait = wait
        self.path = path
        self.witness = witness if witness is not None else witness_beside(path)

    @classmethod
    def open(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """The ledger at ``path`` for charging, made if there is none; its directory must exist.

        Waits up to ``wait`` seconds for other processes, here and in every later call. Refuses a
        ledger that is not the one its ``witness`` (by default beside it) has seen.
        """
        refuse_lost(path, witness)
        opened = cls(open_for_writing(path, wait), path, wait, witness)
        with opened._closing():
            opened.check_witness()
            with opened._locked() as head:
                prepare_witness(opened.witness, head, path)
        return opened

    @classmethod
    def read(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """An existing ledger for reports; charging through it fails. Checks the witness too."""
        refuse_lost(path, witness)
        opened = cls(open_for_reading(path, wait), path, wait, witness)
        with opened._closing():
            opened.check_witness()
        return opened

    @classmethod
    def unwitnessed(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """As ``read``, whatever the witness says: to find out what is wrong."""
        return cls(open_for_reading(path, wait), path, wait, witness)

    def close(self) -> None:
        """Closes the file; what was committed stays."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _writing(self, *, charged: bool) -> Iterator[Book]:
        with translated(self.path, self._wait, charged=charged):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                book = self._book()
                yield book
                changed = self._last() != book.head
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        if changed:
            self._tell_witness()

    def _tell_witness(self) -> None:
        """Writes down how far the ledger goes now, before anything is done with the change."""
        try:
            with self._locked() as head:
                write_witness(self.witness, head, self.path)
        except Failure as failure:
            raise after_commit(failure) from None

    @contextmanager
    def _locked(self) -> Iterator[Head]:
        """Holds the lock without a change: nobody else writes the witness meanwhile."""
        with translated(self.path, self._wait):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._last()
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _last(self) -> Head:
        """The head as it stands in the table, in the transaction that is open."""
        query = "SELECT seq, hash FROM entries NOT INDEXED ORDER BY seq DESC LIMIT 1"
        row = self._connection.execute(query).fetchone()
        return Head(*row) if row is not None else EMPTY

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def check_witness(self) -> None:
        """Refuses (exit 6) a ledger that is not the one its witness has seen."""
        # The witness is read first: it is never ahead of a ledger that is read afterwards. But one
        # that was not there yet may have been written in between, so a second look decides.
        if not self._witnessed():
            check_witness(self.witness, self.path, *self._with_witness())

    def _witnessed(self) -> bool:
        said, book = self._with_witness()
        return said is not None and book.hash_at(said.seq) == said.hash

    def _with_witness(self) -> tuple[Head | None, Book]:
        said = read_witness(self.witness, self.path)
        return said, self._checked()

    def _checked(self) -> Book:
        with translated(self.path, self._wait):
            return self._book()

    def _book(self) -> Book:
        try:
            return read_book(self._rows())
        except BrokenChain as problem:
            raise broken_chain(self.path, str(problem)) from None

    def _rows(self) -> Iterator[Entry]:
        # In order of the row id, so that no index needs to be trusted.
        rows = self._connection.execute(
            "SELECT seq, kind, run_id, written_at, content, previous, hash"
            " FROM entries NOT INDEXED ORDER BY seq"
        )
        return (Entry(*row) for row in rows)


def refuse_lost(path: str, witness: str | None) -> None:
    """Refuses (exit 6) a place without a ledger whose witness has seen entries."""
    place = witness if witness is not None else witness_beside(path)
    said = read_witness(place, path)  # before the ledger is looked for, which may be made just now
    if not os.path.lexists(path):
        check_witness(place, path, said, None)
