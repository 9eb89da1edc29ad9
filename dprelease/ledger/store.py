"""The ledger: charges before any value is read, seals of noisy numbers, notes of publication."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from typing import Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from dprelease.errors import Failure, Place
from dprelease.ledger.chain import BrokenChain, Entry, Head, follow
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
from dprelease.ledger.identity import write_canonical_json
from dprelease.ledger.ledger_messages import (
    broken_chain,
    format_loss,
    is_unreachable,
    lost_charge,
    mark_committed,
    missing,
    not_a_ledger,
    not_in_ledger,
    other_cost,
    used_up,
)
from dprelease.ledger.privacy_filter import Caps, Parts, Terms, wrap_loss
from dprelease.ledger.reservation import (
    Reservation,
    build_reservation,
    check_caps,
    check_data_place,
    check_loss,
    derive_caps,
)
from dprelease.ledger.rollback_guard import (
    check_guard,
    guard_path,
    prepare_guard,
    read_guard,
    write_guard,
)
from dprelease.model import Loss, is_server

WAIT = 10.0  # seconds


class Database(Protocol):
    """An open and checked database that holds one ledger.

    It has one lock, entries in order, and payloads, and it stores durably what it is given. The
    ledger itself checks the chain and decides. ``connection`` implements it for a file of SQLite,
    ``server`` for a server of PostgreSQL; both pass the same contract tests. The ledger calls every
    method but ``close`` within ``translate_errors``.
    """

    def translate_errors(self, *, charged: bool = False) -> AbstractContextManager[None]:
        """Turn every error of the database inside into a Failure with a remedy.

        Args:
            charged: The budget is already reserved: a lost disk or server has exit code 5, else 6.
        """

    def begin(self, *, again: bool = False) -> None:
        """Open a transaction that excludes all others that change the ledger.

        Args:
            again: Connect again if the connection was lost. The caller then checks that this is
                still the ledger that it knows.
        """

    def commit(self) -> None:
        """Make the changes of the transaction durable.

        If it fails, the changes are in the ledger as a whole or not at all.
        """

    def roll_back(self) -> None:
        """End the transaction, if one is open, without a change."""

    def iter_entries(self, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries after the one of a number, in order; over all without."""

    def read_version(self) -> int | None:
        """Read what changes with each commit of another connection.

        Returns:
            A number; None where the database has none, so that nothing is known of others.
        """

    def read_last(self) -> Head:
        """Read the head of the ledger.

        Returns:
            Number and hash of the last entry; ``chain.EMPTY`` if there is none.
        """

    def append(self, entry: Entry) -> None:
        """Add an entry, which must follow on the last one, within the open transaction.

        Args:
            entry: Its number is the last one's plus 1, and ``previous`` the last one's hash.
        """

    def store_payload(self, seq: int, payload: bytes) -> None:
        """Store the sealed payload of an entry within the open transaction.

        Args:
            seq: Number of the seal's entry, which is there already.
            payload: Compressed bytes, stored as they are.
        """

    def read_payload(self, seq: int) -> bytes | None:
        """Read the stored numbers of a seal.

        Args:
            seq: Number of the seal's entry.

        Returns:
            The bytes that ``store_payload`` stored; None if there are none.
        """

    def make_room_for_caps(self) -> None:
        """Let the ledger take entries of caps, in a transaction of its own."""

    def is_sound(self) -> bool:
        """Check the database itself for damage; may raise Failure (exit 6) instead."""

    def close(self) -> None:
        """Close the database; what was committed stays."""


class DatabaseKind(Protocol):
    """One kind of database: finds and opens ledgers by their place."""

    def exists(self, path: str, wait: float) -> bool:
        """Tell if there is a ledger at ``path``.

        Args:
            path: A file, or ``env:`` and the name of the variable with the server's URL.
            wait: Seconds to wait for a server.
        """

    def open_for_writing(self, path: str, wait: float) -> Database:
        """Open and check a ledger that takes entries; create it if there is none.

        Args:
            path: A file, or ``env:`` and the name of a variable.
            wait: Seconds to wait for the server or the lock, here and in later calls.

        Raises:
            Failure: Exit code 6 if the ledger can't be used.
        """

    def open_for_reading(self, path: str, wait: float) -> Database:
        """Open and check an existing ledger; no change can be made through it.

        Args:
            path: A file, or ``env:`` and the name of a variable.
            wait: Seconds to wait for the server or the lock, here and in later calls.

        Raises:
            Failure: Exit code 6 if there is no ledger, or it can't be used.
        """


class _KnownBook(Struct, frozen=True):
    """Entries that were checked, and the version of the database in which they stood."""

    book: Book
    version: int


class Ledger:
    """One ledger. Every change is one transaction by itself, durable when the call returns.

    All calls raise Failure with a remedy: exit 6 when the ledger is busy, damaged or unusable,
    exit 5 when its disk or server fails after the charge.
    """

    def __init__(self, database: Database, path: str, witness: str | None = None) -> None:
        self._database = database
        self.path = path
        self.witness = witness if witness is not None else guard_path(path)
        self._known: _KnownBook | None = None

    @classmethod
    def open(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """Open a ledger for charging; create it if there is none.

        Args:
            path: The file of the ledger, whose directory must exist, or ``env:`` and a variable.
            wait: Seconds to wait for other processes, here and in every later call.
            witness: The guard; None is the default place, see ``guard_path``.

        Raises:
            Failure: Exit code 6 if the ledger is not usable, or another than its guard has seen.
        """
        refuse_lost(path, witness, wait)
        opened = cls(find_database_kind(path).open_for_writing(path, wait), path, witness)
        with opened._close_after():
            opened.check_guard()
            with opened._lock() as head:
                prepare_guard(opened.witness, head, path)
        return opened

    @classmethod
    def read(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """Open an existing ledger for reports; charging through it fails.

        Args:
            path: The file of the ledger, or ``env:`` and a variable.
            wait: Seconds to wait for other processes.
            witness: The guard; None is the default place.

        Raises:
            Failure: Exit code 6 if there is no ledger, or another one than its guard has seen.
        """
        refuse_lost(path, witness, wait)
        opened = cls.open_unguarded(path, wait, witness)
        with opened._close_after():
            opened.check_guard()
        return opened

    @classmethod
    def open_unguarded(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Self:
        """Open an existing ledger for reports without checking its guard."""
        return cls(find_database_kind(path).open_for_reading(path, wait), path, witness)

    def close(self) -> None:
        """Close the ledger; what was committed stays."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_guard(self) -> None:
        """Refuse (exit 6) a ledger that is not the one its guard has seen."""
        # The guard is read first: it is never ahead of a ledger that is read afterwards. One that
        # was missing may have been written in between, and an entry added. But a guard is written
        # before the first entry: after an entry was seen, a second look finds it.
        guard_head, book = self._guard_and_book()
        if guard_head is None and not book.head.seq:
            return
        if guard_head is None or book.hash_at(guard_head.seq) != guard_head.hash:
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
        data: tuple[str, ...] | None = None,
        place: Place | None = None,
    ) -> Reservation:
        """Charge a run once; a run already charged at the same cost is returned as it is.

        No value of the data may be read before this returns.

        Args:
            run_id: Identity of the run.
            dataset: Dataset whose budget is charged.
            release: Name of the release.
            loss: Cost of the run.
            caps: Caps that the spec states.
            detail: Further facts for the entry: JSON values without floats.
            parts: How the loss composes with that of other runs; None if only the loss is known.
            period: Period of the data.
            disjoint: Each protected unit has records in one period only.
            data: Place of the data of a disjoint period.
            place: Where the spec states the budget.

        Returns:
            The reservation, which the other calls take as proof of the charge.

        Raises:
            Failure: Exit code 3 if a cap would be exceeded, compared exactly over all runs of the
                dataset; if the run was charged at another cost or, of a disjoint period, for data
                at another place; if the unit differs; or if ``caps`` are above the ledger's.
        """
        check_loss(loss)
        terms = Terms(loss, parts if parts is not None else wrap_loss(loss), period, disjoint, data)
        with self._open_for_writing(charged=False) as book:
            charged_run = book.runs.get(run_id)
            if charged_run is not None:
                if charged_run.loss != loss:
                    costs = [format_loss(each) for each in (charged_run.loss, loss)]
                    raise other_cost(release, *costs, place=place)
                check_data_place(charged_run, terms, place)
                return build_reservation(book, charged_run, fresh=False)
            before = book.get_account(dataset)
            check_guarantee(before, detail, place)
            derived_caps = derive_caps(before, caps)
            check_caps(before, release, terms, derived_caps, place)
            content = charge_content(dataset, release, terms, derived_caps, detail)
            self._append(book.head, Kind.CHARGE, run_id, content)
            charged = self._read_book()
        return build_reservation(charged, charged.runs[run_id], fresh=True)

    def seal(self, reservation: Reservation, payload: bytes) -> bytes:
        """Fix the noisy numbers of a run for good.

        Args:
            reservation: Proof of the charge.
            payload: The noisy numbers.

        Returns:
            The bytes to publish: ``payload``, or what another process sealed for the same run.

        Raises:
            Failure: Exit code 70 if another process burnt the run.
        """
        content = write_canonical_json({"sha256": hash_payload(payload), "size": len(payload)})
        with self._open_for_writing(charged=True) as book:
            run = self._record_charge(book, reservation)
            if run.seal is not None:
                return self._read_payload(run.seal)
            if run.state is State.BURNT:
                raise used_up(run.release)
            entry = self._append(book.head, Kind.SEAL, run.run_id, content)
            self._database.store_payload(entry.seq, compress_payload(payload))
        return payload

    def burn(self, reservation: Reservation) -> bool:
        """Void a run: its budget is spent, and it never gets numbers.

        Returns:
            True if this call burnt the run; a run that is sealed or burnt stays as it is.
        """
        with self._open_for_writing(charged=True) as book:
            run = self._record_charge(book, reservation)
            # The unique index allows one seal for a run, over numbers or over none.
            if run.state is not State.CHARGED:
                return False
            self._append(book.head, Kind.SEAL, run.run_id, write_canonical_json(BURNT))
        return True

    def read_sealed(self, run_id: str) -> bytes | None:
        """Read the sealed bytes of a run; None if it is not sealed."""
        with self._database.translate_errors():
            run = self._read_book().runs.get(run_id)
            return self._read_payload(run.seal) if run and run.seal else None

    def record_published(self, reservation: Reservation, files: Mapping[str, str]) -> None:
        """Note which files hold the run's numbers; a repetition adds nothing.

        Args:
            reservation: Proof of the charge.
            files: SHA-256 of each file by its name; the files are in place.
        """
        try:
            self._note_files(reservation, files)
        except Failure as failure:
            if not is_unreachable(failure):
                raise
            # Over a new connection, where the note is looked for first.
            self._note_files(reservation, files)

    def _note_files(self, reservation: Reservation, files: Mapping[str, str]) -> None:
        with self._open_for_writing(charged=True) as book:
            run = self._record_charge(book, reservation)
            if run.files != dict(files):
                content = write_canonical_json({"files": dict(files)})
                self._append(book.head, Kind.PUBLISH, run.run_id, content)

    def set_cap(self, dataset: str, changes: Mapping[str, Fraction | None], reason: str) -> Account:
        """Set caps of a dataset.

        Args:
            dataset: Name of the dataset.
            changes: New caps by name, None for no cap; those that are not named stay.
            reason: Text for the entry.

        Returns:
            The account with the new caps. Nothing is left under a cap that is lower than what was
            spent.
        """
        with self._database.translate_errors():
            self._read_checked()  # what is damaged is not touched
            self._database.make_room_for_caps()
            self._known = None  # the entries were written again
        with self._open_for_writing(charged=False) as book:
            before = book.get_account(dataset).cap
            caps = replace(before.caps if before else Caps(), **changes)
            content = cap_content(dataset, caps, reason)
            self._append(book.head, Kind.CAP, book.head.hash, content)
        return self.read_account(dataset)

    def list_caps(self) -> tuple[SetCap, ...]:
        """List all caps that were set, in order."""
        return self._read_checked().caps

    def read_account(self, dataset: str) -> Account:
        """Read the runs and caps of a dataset."""
        return self._read_checked().get_account(dataset)

    def list_runs(self) -> tuple[Run, ...]:
        """List all runs, in order of their charge."""
        return tuple(self._read_checked().runs.values())

    def read_head(self) -> Head:
        """Read the number and hash of the last entry."""
        return self._read_checked().head

    def verify(self) -> Head:
        """Check pages, chain and every sealed payload; return the head. Raises Failure (exit 6)."""
        with self._database.translate_errors():
            if not self._database.is_sound():
                raise not_a_ledger(self.path, "its pages are damaged")
            self._known = None
            book = self._read_book()
            for run in book.runs.values():
                if run.seal is not None:
                    self._read_payload(run.seal)
            return book.head

    def check_holds(self, copy: Ledger) -> None:
        """Refuse (exit 6) a ledger that doesn't hold all entries of a copy; check both."""
        last = copy.verify()
        if self._read_checked().hash_at(last.seq) != last.hash:
            raise not_in_ledger(self.path, copy.path, f"entry {last.seq} is missing or different")

    def check_seen(self, guard: str) -> None:
        """Refuse (exit 6) a ledger without the entry of a guard, such as another machine's."""
        guard_head = read_guard(guard, self.path)
        if (
            guard_head is not None
            and self._read_checked().hash_at(guard_head.seq) != guard_head.hash
        ):
            raise not_in_ledger(self.path, guard, f"entry {guard_head.seq} is missing or different")

    @classmethod
    def renew_guard(cls, path: str, wait: float = WAIT, witness: str | None = None) -> Head:
        """Write the guard anew after checking everything; return the head."""
        if not find_database_kind(path).exists(path, wait):
            raise missing(path)
        with cls(find_database_kind(path).open_for_writing(path, wait), path, witness) as ledger:
            ledger.verify()
            with ledger._lock() as head:
                prepare_guard(ledger.witness, head, path)
            return head

    def chain(self) -> tuple[Entry, ...]:
        """List all entries as they are stored, after checking them."""
        with self._database.translate_errors():
            self._known = None
            self._read_book()
            return tuple(self._database.iter_entries())

    @contextmanager
    def _open_for_writing(self, *, charged: bool) -> Iterator[Book]:
        with self._database.translate_errors(charged=charged):
            try:
                # After a charge it is looked for, so that it may be over another connection.
                self._database.begin(again=charged)
                book = self._read_book()
                yield book
                last = self._database.read_last()
                self._database.commit()
            finally:
                self._database.roll_back()
        if last != book.head:
            self._advance_guard(last)

    def _advance_guard(self, last: Head) -> None:
        """Write the guard after an entry was added, before anything relies on that entry."""
        try:
            with self._lock(again=True) as head:
                if head != last and self._read_book().hash_at(last.seq) != last.hash:
                    raise broken_chain(self.path, f"entry {last.seq} is missing or different")
                write_guard(self.witness, head, self.path)
        except Failure as failure:
            raise mark_committed(failure) from None

    @contextmanager
    def _lock(self, *, again: bool = False) -> Iterator[Head]:
        """Hold the lock without a change."""
        with self._database.translate_errors():
            try:
                self._database.begin(again=again)
                yield self._database.read_last()
            finally:
                self._database.roll_back()

    @contextmanager
    def _close_after(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _guard_and_book(self) -> tuple[Head | None, Book]:
        guard_head = read_guard(self.witness, self.path)
        return guard_head, self._read_checked()

    def _read_checked(self) -> Book:
        with self._database.translate_errors():
            return self._read_book()

    def _read_book(self) -> Book:
        """Read and check all entries; those that nobody can have changed since, only once."""
        # Read first: what is committed between the two is taken for a change the next time.
        version = self._database.read_version()
        known, self._known = self._known, None
        try:
            if known is not None and known.version == version:
                after = self._database.iter_entries(known.book.head.seq)
                book = read_book(after, known.book)
                # An entry of ours that was rolled back is in the book, and not in the ledger.
                is_whole = book.head == self._database.read_last()
            else:
                is_whole = False
            if not is_whole:
                book = read_book(self._database.iter_entries())
        except BrokenChain as problem:
            raise broken_chain(self.path, str(problem)) from None
        self._known = None if version is None else _KnownBook(book, version)
        return book

    def _append(self, head: Head, kind: Kind, run_id: str, content: str) -> Entry:
        entry = follow(head, kind.value, run_id, format_utc_now(), content)
        self._database.append(entry)
        return entry

    def _record_charge(self, book: Book, reservation: Reservation) -> Run:
        run = book.runs.get(reservation.run_id)
        if run is None or run.hash != reservation.run.hash:
            raise lost_charge(self.path, reservation.run.release)
        return run

    def _read_payload(self, seal: Seal) -> bytes:
        stored = self._database.read_payload(seal.seq)
        if stored is None:
            raise broken_chain(self.path, f"the numbers sealed by entry {seal.seq} are missing")
        try:
            return decompress_payload(stored, seal.sha256, seal.size)
        except ValueError:
            reason = f"the numbers sealed by entry {seal.seq} were changed"
            raise broken_chain(self.path, reason) from None


def find_database_kind(path: str) -> DatabaseKind:
    """Choose the module for a ledger's place."""
    # The driver of servers is imported only where one is named.
    if is_server(path):
        from dprelease.ledger import server

        return server
    from dprelease.ledger import connection

    return connection


def read_account(
    path: str, dataset: str, wait: float = WAIT, witness: str | None = None
) -> Account:
    """Read what was spent on a dataset, without creating or changing a ledger.

    Args:
        path: Place of the ledger.
        dataset: Name of the dataset.
        wait: Seconds to wait for other processes.
        witness: The guard; None is the default place.

    Returns:
        The account; an empty one if there is no ledger yet.

    Raises:
        Failure: Exit code 6 if the ledger is lost, or not the one that its guard has seen.
    """
    refuse_lost(path, witness, wait)
    if not find_database_kind(path).exists(path, wait):
        return Account(dataset, ())
    with Ledger.read(path, wait, witness) as ledger:
        return ledger.read_account(dataset)


def format_utc_now() -> str:
    """Format the present time in UTC, for people only."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def compress_payload(payload: bytes) -> bytes:
    """Compress a payload for the database."""
    return zlib.compress(payload, level=1)


def decompress_payload(stored: bytes, sha256: str, size: int) -> bytes:
    """Decompress a payload and check it.

    Args:
        stored: What ``compress_payload`` returned.
        sha256: Hash that the seal states.
        size: Length in bytes that the seal states; never more is expanded, but for one byte.

    Raises:
        ValueError: The payload is not the one that was sealed.
    """
    reader = zlib.decompressobj()
    try:
        payload = reader.decompress(stored, size + 1)
    except zlib.error:
        raise ValueError("not a compressed payload") from None
    if len(payload) != size or hash_payload(payload) != sha256:
        raise ValueError("not the payload that was sealed")
    return payload


def hash_payload(payload: bytes) -> str:
    """Compute SHA-256 in hexadecimal digits."""
    return hashlib.sha256(payload).hexdigest()


def refuse_lost(path: str, witness: str | None, wait: float = WAIT) -> None:
    """Refuse (exit 6) a place without a ledger whose guard has seen entries."""
    place = witness if witness is not None else guard_path(path)
    head = read_guard(place, path)  # before the ledger is looked for, which may be made just now
    if not find_database_kind(path).exists(path, wait):
        check_guard(place, path, head, None)
