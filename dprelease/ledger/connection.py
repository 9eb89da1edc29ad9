"""The SQLite file of a ledger: its tables, made whole or not at all, opened durably, checked.

Tables are append-only by trigger, typed strictly, with one row per event.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from dprelease.files.atomic import open_draft, remove_dead_drafts
from dprelease.files.system import sync_directory
from dprelease.ledger.chain import EMPTY, Entry, Head
from dprelease.ledger.ledger_messages import (
    RESTORE,
    build_disk_failure,
    build_place_failure,
    missing,
    moved_ledger,
    not_a_ledger,
    old_sqlite,
    translate_errors,
    wrong_schema,
)

OLDEST_SQLITE = (3, 37, 0)  # STRICT tables

_SETTINGS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA recursive_triggers = ON",  # REPLACE fires delete triggers
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)

APPLICATION_ID = int.from_bytes(b"dprl", "big")
# A ledger without caps has the first format, which all versions read. The first cap makes it the
# second one, so that a version which knows no caps refuses it and can't pass over them.
FIRST, WITH_CAPS = 1, 2

_ENTRIES = """CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ({kinds})),
  run_id TEXT NOT NULL CHECK (length(run_id) = 64),
  written_at TEXT NOT NULL,
  content TEXT NOT NULL,
  previous TEXT NOT NULL CHECK (length(previous) = 64),
  hash TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT"""

# The noisy numbers of a sealed run, zlib-compressed; their hash is in the seal's entry.
PAYLOADS = """CREATE TABLE payloads (
  seq INTEGER PRIMARY KEY REFERENCES entries (seq),
  bytes BLOB NOT NULL
) STRICT"""

ONE_CHARGE = (
    "CREATE UNIQUE INDEX one_charge_and_seal ON entries (run_id, kind) WHERE kind <> 'publish'"
)

# Before-insert checks too: INSERT OR REPLACE deletes without firing delete triggers.
TRIGGERS = (
    """CREATE TRIGGER entries_follow_on BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
  OR EXISTS (SELECT 1 FROM entries WHERE seq = NEW.seq - 1 AND hash IS NOT NEW.previous)
  OR (NEW.kind <> 'publish'
      AND EXISTS (SELECT 1 FROM entries WHERE run_id = NEW.run_id AND kind = NEW.kind))
BEGIN SELECT RAISE(ABORT, 'entries are only ever appended'); END""",
    """CREATE TRIGGER entries_keep BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever appended'); END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever appended'); END""",
    """CREATE TRIGGER payloads_once BEFORE INSERT ON payloads
WHEN EXISTS (SELECT 1 FROM payloads WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'payloads are only ever appended'); END""",
    """CREATE TRIGGER payloads_keep BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are only ever appended'); END""",
    """CREATE TRIGGER payloads_stay BEFORE DELETE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are only ever appended'); END""",
)

_KINDS = {FIRST: "'charge', 'seal', 'publish'", WITH_CAPS: "'charge', 'seal', 'publish', 'cap'"}
STATEMENTS = {
    version: (_ENTRIES.format(kinds=kinds), PAYLOADS, ONE_CHARGE, *TRIGGERS)
    for version, kinds in _KINDS.items()
}


class FileDatabase:
    """A ledger in a file of SQLite; see ``Database`` in ``dprelease.ledger.store``."""

    def __init__(
        self, connection: sqlite3.Connection, path: str, wait: float, *, moved: bool = False
    ) -> None:
        self.connection = connection
        self._path, self._wait, self._moved = path, wait, moved

    def translate_errors(self, *, charged: bool = False) -> AbstractContextManager[None]:
        """Turn every error of SQLite inside into a Failure."""
        return translate_errors(self._path, self._wait, charged=charged)

    def begin(self, *, again: bool = False) -> None:
        """Open a transaction and take the lock."""
        # ``again`` changes nothing here: no connection to a file is lost.
        self.connection.execute("BEGIN IMMEDIATE")
        # The ledger may have been moved while this process waited for the lock.
        target = None if self._moved else read_destination(self.connection)
        if target is not None:
            raise moved_ledger(self._path, target)

    def commit(self) -> None:
        """Make what was added durable."""
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """End the transaction, if one is open; some errors have done so already."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def iter_entries(self, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries after the one of a number, in order."""
        # In order of the row id, so that no index needs to be trusted.
        rows = self.connection.execute(
            "SELECT seq, kind, run_id, written_at, content, previous, hash"
            " FROM entries NOT INDEXED WHERE seq > ? ORDER BY seq",
            (after,),
        )
        return (Entry(*row) for row in rows)

    def read_version(self) -> int:
        """Read what changes with each commit of another connection."""
        return _read_pragma(self.connection, "data_version")

    def read_last(self) -> Head:
        """Read the number and hash of the last entry."""
        query = "SELECT seq, hash FROM entries NOT INDEXED ORDER BY seq DESC LIMIT 1"
        row = self.connection.execute(query).fetchone()
        return Head(*row) if row is not None else EMPTY

    def append(self, entry: Entry) -> None:
        """Add an entry that follows on the last one."""
        self.connection.execute(
            "INSERT INTO entries (seq, kind, run_id, written_at, content, previous, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                entry.seq, entry.kind, entry.run_id, entry.written_at, entry.content,
                entry.previous, entry.hash,
            ),
        )  # fmt: skip

    def store_payload(self, seq: int, payload: bytes) -> None:
        """Store the sealed payload of entry ``seq``."""
        self.connection.execute("INSERT INTO payloads (seq, bytes) VALUES (?, ?)", (seq, payload))

    def read_payload(self, seq: int) -> bytes | None:
        """Read the stored numbers of a seal; None if there are none."""
        query = "SELECT bytes FROM payloads WHERE seq = ?"
        row = self.connection.execute(query, (seq,)).fetchone()
        return None if row is None else row[0]

    def make_room_for_caps(self) -> None:
        """Convert the ledger to the second format in one transaction; keep it if it has it.

        The entries stay the same, in a table that also takes caps. The caller checks the chain
        next.
        """
        connection = self.connection
        connection.execute("PRAGMA foreign_keys = OFF")  # payloads stay, and find their entries
        try:
            connection.execute("BEGIN IMMEDIATE")
            if _read_pragma(connection, "user_version") == FIRST:
                rows = connection.execute("SELECT * FROM entries ORDER BY seq").fetchall()
                connection.execute("DROP TABLE entries")  # and its index and triggers
                entries, _, index, *triggers = STATEMENTS[WITH_CAPS]
                connection.execute(entries)
                connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                for statement in (index, *(text for text in triggers if " ON entries" in text)):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {WITH_CAPS}")
            self.commit()
        finally:
            self.roll_back()
            connection.execute("PRAGMA foreign_keys = ON")

    def is_sound(self) -> bool:
        """Run SQLite's integrity check."""
        answer = self.connection.execute("PRAGMA integrity_check").fetchall()
        return bool(answer == [("ok",)])

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


def exists(path: str, wait: float) -> bool:
    """Tell if a file, folder or link is at ``path``."""
    return os.path.lexists(path)


def open_for_writing(path: str, wait: float, *, moved: bool = False) -> FileDatabase:
    """Open and check a ledger that takes entries; create it if there is none.

    Args:
        path: The file of the ledger; its directory must exist.
        wait: Seconds to wait for the lock, here and in later calls.
        moved: Also open a ledger that was moved away, to finish the move.

    Returns:
        An open database, whose lock and journal were tried with an empty transaction.

    Raises:
        Failure: Exit code 6 if the place, the file or its tables are not usable, or the ledger is
            locked for longer than ``wait``.
    """
    _check_library()
    directory = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(directory):
        hint = "create it, or set [ledger] path"
        raise build_place_failure(path, f"there is no directory {directory}", hint)
    if not os.access(directory, os.W_OK | os.X_OK):
        hint = "make it writable, or set [ledger] path"
        raise build_place_failure(path, f"the directory {directory} is not writable", hint)
    with place_errors(path):
        remove_dead_drafts(path)
    if not os.path.lexists(path):
        _create(path, wait)
    _check_file(path, os.R_OK | os.W_OK)
    connection = _connect(path, wait, "rw", moved=moved)
    try:
        with translate_errors(path, wait):
            _try_a_write(connection, path)
    except BaseException:
        connection.close()
        raise
    return FileDatabase(connection, path, wait, moved=moved)


def open_for_reading(path: str, wait: float, *, moved: bool = False) -> FileDatabase:
    """Open and check an existing ledger for reports, with writes refused.

    Args:
        path: The file of the ledger.
        wait: Seconds to wait for the lock.
        moved: Also open a ledger that was moved away.

    Raises:
        Failure: Exit code 6 if there is no ledger, or it is not usable.
    """
    _check_library()
    if not os.path.lexists(path):
        raise missing(path)
    _check_file(path, os.R_OK)
    # With write access a killed run's journal can be rolled back; without it that is refused.
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK)
    connection = _connect(path, wait, "rw" if writable else "ro", moved=moved)
    connection.execute("PRAGMA query_only = ON")
    return FileDatabase(connection, path, wait, moved=moved)


def is_database(path: str) -> bool:
    """Tell if a file begins like one of SQLite."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


_MAGIC = b"SQLite format 3\0"


def _check_library() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise old_sqlite(sqlite3.sqlite_version)


def _check_file(path: str, access: int) -> None:
    if not os.path.isfile(path):
        raise build_place_failure(path, "it is not a file", "set [ledger] path to a file")
    if not os.access(path, access):
        permission = "writable" if access & os.W_OK else "readable"
        raise build_place_failure(
            path, f"it is not {permission}", f"make it {permission} for the user who runs this"
        )
    if os.path.getsize(path) == 0:
        raise not_a_ledger(path, "it is empty")


def _connect(path: str, wait: float, mode: str, *, moved: bool = False) -> sqlite3.Connection:
    with translate_errors(path, wait):
        uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
    try:
        with translate_errors(path, wait):
            sync_commits(connection)
            for setting in _SETTINGS:
                connection.execute(setting)
            check_schema(connection, path, moved=moved)
            # A write-ahead log would spread the ledger over three files; someone may have
            # switched to it.
            if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
                hint = "close other programs that use it, and make it writable"
                raise build_place_failure(path, "it was switched to another journal mode", hint)
    except BaseException:
        connection.close()
        raise
    return connection


def sync_commits(connection: sqlite3.Connection) -> None:
    """Make each commit durable, content and folder."""
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain sync stops before the disk


def _try_a_write(connection: sqlite3.Connection, path: str) -> None:
    """Take the lock, open a journal and roll back, as far as a charge would get."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        if os.path.getsize(path) < pages * size:  # SQLite itself reads half a page as zeros
            raise not_a_ledger(path, "it is incomplete")
        connection.execute(f"PRAGMA user_version = {_read_pragma(connection, 'user_version')}")
    finally:
        if connection.in_transaction:  # some errors have rolled back already
            connection.execute("ROLLBACK")


def _create(path: str, wait: float) -> None:
    """Create an empty ledger under another name and link it into place."""
    # So a file that is empty or half made never bears the name of a ledger; if several processes
    # create it at once, one wins and the others use the winner's.
    with place_errors(path):
        with open_draft(path) as draft:
            os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with (
                translate_errors(path, wait),
                closing(sqlite3.connect(draft, isolation_level=None)) as new,
            ):
                sync_commits(new)
                new.execute("BEGIN IMMEDIATE")
                lay_out(new)
                new.execute("COMMIT")
            with suppress(FileExistsError):  # another process was faster; its ledger is as good
                os.link(draft, path)
        sync_directory(os.path.dirname(os.path.abspath(path)))


@contextmanager
def place_errors(path: str, guard_of: str | None = None) -> Iterator[None]:
    """Turn errors of the operating system inside into a Failure (exit 6).

    Args:
        path: The file that messages name.
        guard_of: The ledger whose rollback guard ``path`` is; None if ``path`` is the ledger.
    """
    try:
        yield
    except OSError as problem:
        subject = "ledger" if guard_of is None else "ledger's witness"
        if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise build_disk_failure(path, charged=False, subject=subject) from None
        key = "path" if guard_of is None else "witness"
        hint = f"put it on a local disk that you can write to ([ledger] {key})"
        raise build_place_failure(path, os.strerror(problem.errno or 0), hint, subject) from None


def lay_out(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database within the open transaction."""
    for statement in STATEMENTS[FIRST]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FIRST}")


_MOVED = (
    "CREATE TRIGGER moved BEFORE INSERT ON entries\nBEGIN SELECT RAISE(ABORT, 'moved to {}'); END"
)


def mark_moved(connection: sqlite3.Connection, target: str) -> None:
    """Make the ledger refuse every further entry and name the place it was moved to."""
    connection.execute(_MOVED.format(os.fsencode(target).hex()))


def read_destination(connection: sqlite3.Connection) -> str | None:
    """Read where a ledger was moved to; None if it was not moved."""
    row = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'moved'").fetchone()
    if row is None:
        return None
    before, after = _MOVED.split("{}")
    digits = row[0].removeprefix(before).removesuffix(after)
    try:
        target = os.fsdecode(bytes.fromhex(digits))
    except ValueError:
        return None
    return target if row[0] == _MOVED.format(digits) else None


def unmark(connection: sqlite3.Connection) -> None:
    """Make a copy of a moved ledger take entries again."""
    if read_destination(connection) is not None:
        connection.execute("DROP TRIGGER moved")


def check_schema(connection: sqlite3.Connection, path: str, *, moved: bool = False) -> None:
    """Refuse tables, indexes or triggers other than ``lay_out`` creates.

    Args:
        connection: An open connection to the ledger.
        path: The file that messages name.
        moved: Accept the mark of a ledger that was moved.

    Raises:
        Failure: E603 for another kind of database, E604 for another format or changed tables, E619
            for a ledger that was moved.
    """
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if not rows:
        raise not_a_ledger(path, "it is empty")
    if _read_pragma(connection, "application_id") != APPLICATION_ID:
        raise not_a_ledger(path, "it is the database of another program")
    version = _read_pragma(connection, "user_version")
    if version not in STATEMENTS:
        hint = "use the version of dprelease that last wrote it, or a newer one"
        reads = f"this dprelease reads {FIRST} and {WITH_CAPS}"
        raise wrong_schema(path, f"has format {version}, {reads}", hint)
    texts = {row[0] for row in rows}
    target = read_destination(connection)
    if target is not None:
        texts.remove(_MOVED.format(os.fsencode(target).hex()))
    if texts == set(STATEMENTS[version]) and target is not None and not moved:
        raise moved_ledger(path, target)
    if texts != set(STATEMENTS[version]):
        raise wrong_schema(path, "has had its tables or triggers changed", RESTORE)


def _read_pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
