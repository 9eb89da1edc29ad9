"""The ledger: charges before any value is read, seals of noisy numbers, notes of publication."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Self

from dprelease.errors import Failure, Place
from dprelease.ledger.chain import EMPTY, BrokenChain, Entry, Head, follow
from dprelease.ledger.connection import (
    make_room_for_caps,
    open_for_reading,
    open_for_writing,
    refuse_moved,
)
from dprelease.ledger.entries import (
    BURNT,
    Account,
    Book,
    Kind,
    Run,
    Seal,
    SetCap,
    State,
    cap_content,
    charge_content,
    read_book,
)
from dprelease.ledger.guarantee import check_guarantee
from dprelease.ledger.identity import canonical_json
from dprelease.ledger.messages import (
    after_commit,
    broken_chain,
    lost_charge,
    missing,
    not_a_ledger,
    not_in_ledger,
    other_cost,
    translated,
    used_up,
)
from dprelease.ledger.privacy_filter import Caps, Parts, Terms, whole
from dprelease.ledger.reservation import (
    Reservation,
    caps_of,
    check_caps,
    check_loss,
    reservation_of,
)
from dprelease.ledger.rollback_guard import (
    check_guard,
    guard_path,
    prepare_guard,
    read_guard,
    write_guard,
)
from dprelease.model import Loss

WAIT = 10.0  # seconds


class Ledger:
    """One ledger file. Every change is one immediate transaction, durable when the call returns.

    All calls raise Failure with a remedy: exit 6 when the ledger is busy, damaged or unusable,
    exit 5 when the disk fails after the charge.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: str, wait: float, witness: str | None = None
    ) -> None:
        self._connection = connection
        self._wait = wait
        self.path = path
        self.witness = witness if witness is not None else guard_path(path)

    @classmethod
    def open(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """The ledger at ``path`` for charging, made if there is none; its directory must exist.

        Waits up to ``wait`` seconds for other processes, here and in every later call. Refuses a
        ledger that is not the one its guard at ``witness`` (by default beside it) has seen.
        """
        refuse_lost(path, witness)
        opened = cls(open_for_writing(path, wait), path, wait, witness)
        with opened._closing():
            opened.check_guard()
            with opened._locked() as head:
                prepare_guard(opened.witness, head, path)
        return opened

    @classmethod
    def read(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """An existing ledger for reports; charging through it fails. Checks the guard too."""
        refuse_lost(path, witness)
        opened = cls.unguarded(path, wait, witness)
        with opened._closing():
            opened.check_guard()
        return opened

    @classmethod
    def unguarded(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """As ``read``, whatever the guard says: to find out what is wrong."""
        return cls(open_for_reading(path, wait), path, wait, witness)

    def close(self) -> None:
        """Closes the file; what was committed stays."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_guard(self) -> None:
        """Refuses (exit 6) a ledger that is not the one its guard has seen."""
        # The guard is read first: it is never ahead of a ledger that is read afterwards. But one
        # that was not there yet may have been written in between, so a second look decides.
        said, book = self._guard_and_book()
        if said is None or book.hash_at(said.seq) != said.hash:
            check_guard(self.witness, self.path, *self._guard_and_book())

    def charge(  # noqa: PLR0913, PLR0917 - the parts of a charge
        self,
        run_id: str,
        dataset: str,
        release: str,
        loss: Loss,
        caps: Caps,
        detail: Mapping[str, object],
        *,
        parts: Parts | None = None,
        period: str | None = None,
        disjoint: bool = False,
        place: Place | None = None,
    ) -> Reservation:
        """Charges a run, once: a run already charged at the same cost is returned as it is.

        Refuses (exit 3) a cost over a cap, compared exactly over all runs of the dataset, a
        charged run at another cost, and ``caps`` above those set in the ledger. ``parts`` are for
        composing it with others, ``disjoint`` says that each unit has records in one ``period``
        only. ``detail`` holds JSON values without floats; ``place`` is where the spec states the
        budget. No value of the data may be read before this returns.
        """
        check_loss(loss)
        terms = Terms(loss, parts if parts is not None else whole(loss), period, disjoint)
        with self._writing(charged=False) as book:
            charged_run = book.runs.get(run_id)
            if charged_run is not None:
                if charged_run.loss != loss:
                    raise other_cost(release, charged_run.loss, loss, place)
                return reservation_of(book, charged_run, fresh=False)
            before = book.account(dataset)
            check_guarantee(before, detail, place)
            held = caps_of(before, caps)
            check_caps(before, terms, held, place)
            content = charge_content(dataset, release, terms, held, detail)
            self._append(book.head, Kind.CHARGE, run_id, content)
            charged = self._book()
        return reservation_of(charged, charged.runs[run_id], fresh=True)

    def seal(self, reservation: Reservation, payload: bytes) -> bytes:
        """Fixes the noisy numbers of a run for good, and returns the bytes to publish.

        Those are ``payload``, or what another process sealed under the same run before. Refuses
        (exit 70) a run that another process burnt meanwhile.
        """
        content = canonical_json({"sha256": fingerprint(payload), "size": len(payload)})
        with self._writing(charged=True) as book:
            run = self._charged(book, reservation)
            if run.seal is not None:
                return self._payload(run.seal)
            if run.state is State.BURNT:
                raise used_up(run.release)
            entry = self._append(book.head, Kind.SEAL, run.run_id, content)
            self._connection.execute(
                "INSERT INTO payloads (seq, bytes) VALUES (?, ?)", (entry.seq, packed(payload))
            )
        return payload

    def burn(self, reservation: Reservation) -> bool:
        """Uses a run up without numbers, for good: whoever runs the release again pays again.

        Whether this call did so: a run that another process has sealed or burnt stays as it is.
        The index that lets a run have one seal makes them exclude each other.
        """
        with self._writing(charged=True) as book:
            run = self._charged(book, reservation)
            if run.state is not State.CHARGED:
                return False
            self._append(book.head, Kind.SEAL, run.run_id, canonical_json(BURNT))
        return True

    def sealed(self, run_id: str) -> bytes | None:
        """The sealed bytes of a run, or None."""
        with translated(self.path, self._wait):
            run = self._book().runs.get(run_id)
            return self._payload(run.seal) if run and run.seal else None

    def published(self, reservation: Reservation, files: Mapping[str, str]) -> None:
        """Notes which files (name: SHA-256) hold the run's numbers; a repetition adds nothing."""
        with self._writing(charged=True) as book:
            run = self._charged(book, reservation)
            if run.files != dict(files):
                content = canonical_json({"files": dict(files)})
                self._append(book.head, Kind.PUBLISH, run.run_id, content)

    def set_cap(self, dataset: str, changes: Mapping[str, Fraction | None], reason: str) -> Account:
        """Sets caps of a dataset, by their names; those that are not named stay. None: no cap.

        A cap may be lower than what was spent: then nothing is left.
        """
        with translated(self.path, self._wait):
            self._checked()  # what is damaged is not touched
            make_room_for_caps(self._connection)
        with self._writing(charged=False) as book:
            before = book.account(dataset).cap
            caps = replace(before.caps if before else Caps(), **changes)
            content = cap_content(dataset, caps, reason)
            self._append(book.head, Kind.CAP, book.head.hash, content)
        return self.status(dataset)

    def caps(self) -> tuple[SetCap, ...]:
        """All caps that were set, in order."""
        return self._checked().caps

    def status(self, dataset: str) -> Account:
        """What was spent on a dataset, and by which runs."""
        return self._checked().account(dataset)

    def entries(self) -> tuple[Run, ...]:
        """All runs, in order of their charge."""
        return tuple(self._checked().runs.values())

    def head(self) -> Head:
        """Number and hash of the last entry, to be kept elsewhere."""
        return self._checked().head

    def verify(self) -> Head:
        """Checks everything: pages, chain, and every sealed payload. Returns the head."""
        with translated(self.path, self._wait):
            if self._connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise not_a_ledger(self.path, "its pages are damaged")
            book = self._book()
            for run in book.runs.values():
                if run.seal is not None:
                    self._payload(run.seal)
            return book.head

    def check_holds(self, copy: Ledger) -> None:
        """Refuses (exit 6) a ledger that doesn't hold all entries of a copy. Checks the copy."""
        last = copy.verify()
        if self._checked().hash_at(last.seq) != last.hash:
            raise not_in_ledger(self.path, copy.path, f"entry {last.seq} is another, or not there")

    @classmethod
    def renew_guard(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Head:
        """Writes the guard anew after everything was checked: this ledger counts from now on."""
        if not os.path.lexists(path):
            raise missing(path)
        with cls(open_for_writing(path, wait), path, wait, witness) as ledger:
            ledger.verify()
            with ledger._locked() as head:
                prepare_guard(ledger.witness, head, path)
            return head

    def chain(self) -> tuple[Entry, ...]:
        """All entries as they are stored; checked."""
        with translated(self.path, self._wait):
            self._book()
            return tuple(self._rows())

    @contextmanager
    def _writing(self, *, charged: bool) -> Iterator[Book]:
        with translated(self.path, self._wait, charged=charged):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                refuse_moved(self._connection, self.path)
                book = self._book()
                yield book
                changed = self._last() != book.head
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        if changed:
            self._advance_guard()

    def _advance_guard(self) -> None:
        """Writes down how far the ledger goes now, before anything is done with the change."""
        try:
            with self._locked() as head:
                write_guard(self.witness, head, self.path)
        except Failure as failure:
            raise after_commit(failure) from None

    @contextmanager
    def _locked(self) -> Iterator[Head]:
        """Holds the lock without a change: nobody else writes the guard meanwhile."""
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

    def _guard_and_book(self) -> tuple[Head | None, Book]:
        said = read_guard(self.witness, self.path)
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

    def _append(self, head: Head, kind: Kind, run_id: str, content: str) -> Entry:
        entry = follow(head, kind.value, run_id, utc_now(), content)
        self._connection.execute(
            "INSERT INTO entries (seq, kind, run_id, written_at, content, previous, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.seq, entry.kind, run_id, entry.written_at, content, entry.previous, entry.hash),
        )
        return entry

    def _charged(self, book: Book, reservation: Reservation) -> Run:
        run = book.runs.get(reservation.run_id)
        if run is None or run.hash != reservation.run.hash:
            raise lost_charge(self.path, reservation.run.release)
        return run

    def _payload(self, seal: Seal) -> bytes:
        row = self._connection.execute(
            "SELECT bytes FROM payloads WHERE seq = ?", (seal.seq,)
        ).fetchone()
        if row is None:
            raise broken_chain(self.path, f"the numbers sealed by entry {seal.seq} are missing")
        try:
            return unpacked(row[0], seal.sha256, seal.size)
        except ValueError:
            reason = f"the numbers sealed by entry {seal.seq} were changed"
            raise broken_chain(self.path, reason) from None


def account(path: str, dataset: str, wait: float = WAIT, witness: str | None = None) -> Account:
    """What was spent on a dataset; nothing when there is no ledger yet. Changes nothing."""
    refuse_lost(path, witness)
    if not os.path.lexists(path):
        return Account(dataset, ())
    with Ledger.read(path, wait, witness) as ledger:
        return ledger.status(dataset)


def utc_now() -> str:
    """The time for people, never for the identity of anything."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def packed(payload: bytes) -> bytes:
    """The payload, compressed."""
    return zlib.compress(payload, level=1)


def unpacked(stored: bytes, sha256: str, size: int) -> bytes:
    """The payload again. Raises ValueError unless it has the given SHA-256 and size.

    Never expands to more than ``size`` bytes, whatever the stored bytes claim.
    """
    reader = zlib.decompressobj()
    try:
        payload = reader.decompress(stored, size + 1)
    except zlib.error:
        raise ValueError("not a compressed payload") from None
    if len(payload) != size or fingerprint(payload) != sha256:
        raise ValueError("not the payload that was sealed")
    return payload


def fingerprint(payload: bytes) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(payload).hexdigest()


def refuse_lost(path: str, witness: str | None) -> None:
    """Refuses (exit 6) a place without a ledger whose guard has seen entries."""
    place = witness if witness is not None else guard_path(path)
    said = read_guard(place, path)  # before the ledger is looked for, which may be made just now
    if not os.path.lexists(path):
        check_guard(place, path, said, None)
