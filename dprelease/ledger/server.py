"""A ledger on a server of PostgreSQL, named by the environment variable that holds its URL.

The ledger's place is ``env:NAME``, which is what messages and reports show: the URL may hold a
password, and is neither shown nor stored. Tables stand in a schema of their own and are append-only
by trigger. One advisory lock, held to the end of a transaction, has all changes come one after the
other. A connection that was lost after the charge is made again, and the charge is looked for
there. One that is lost while a commit is under way leaves the change there whole or not at all, and
a retry finds out which.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dprelease.ledger.chain import EMPTY, Entry, Head
from dprelease.ledger.ledger_messages import (
    RESTORE,
    build_disk_failure,
    build_place_failure,
    build_unreachable_failure,
    busy,
    not_a_ledger,
    wrong_schema,
)
from dprelease.model import ON_SERVER

if TYPE_CHECKING:
    import psycopg

FORMAT = 1
_LOCK = int.from_bytes(b"dprelege", "big")  # of the advisory lock; any number of our own

_GUARD = """
BEGIN
  IF TG_OP <> 'INSERT' THEN
    RAISE EXCEPTION 'entries are only ever appended';
  END IF;
  IF TG_TABLE_NAME = 'entries' THEN
    IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM dprelease.entries)
      OR EXISTS (SELECT 1 FROM dprelease.entries
                 WHERE seq = NEW.seq - 1 AND hash IS DISTINCT FROM NEW.previous) THEN
      RAISE EXCEPTION 'entries are only ever appended';
    END IF;
  END IF;
  RETURN NEW;
END
"""

_LAYOUT = (
    "CREATE SCHEMA dprelease",
    "CREATE TABLE dprelease.format (version integer NOT NULL)",
    "INSERT INTO dprelease.format VALUES (1)",
    """CREATE TABLE dprelease.entries (
  seq bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('charge', 'seal', 'publish', 'cap')),
  run_id text NOT NULL CHECK (length(run_id) = 64),
  written_at text NOT NULL,
  content text NOT NULL,
  previous text NOT NULL CHECK (length(previous) = 64),
  hash text NOT NULL CHECK (length(hash) = 64)
)""",
    """CREATE TABLE dprelease.payloads (
  seq bigint PRIMARY KEY REFERENCES dprelease.entries (seq),
  bytes bytea NOT NULL
)""",
    "CREATE UNIQUE INDEX one_charge_and_seal ON dprelease.entries (run_id, kind)"
    " WHERE kind <> 'publish'",
    f"CREATE FUNCTION dprelease.guard() RETURNS trigger LANGUAGE plpgsql AS $guard${_GUARD}$guard$",
    *(
        f"CREATE TRIGGER {table}_{name} BEFORE {event} ON dprelease.{table}"
        f" FOR EACH {level} EXECUTE FUNCTION dprelease.guard()"
        for table in ("entries", "payloads")
        for name, event, level in (
            ("append", "INSERT OR UPDATE OR DELETE", "ROW"),
            ("stay", "TRUNCATE", "STATEMENT"),
        )
    ),
)

# Bits of pg_trigger.tgtype: row 1, before 2, insert 4, delete 8, update 16, truncate 32.
_TRIGGERS = {(table, kind) for table in ("entries", "payloads") for kind in (31, 34)}
_COLUMNS = {
    "entries": "seq bigint, kind text, run_id text, written_at text, content text,"
    " previous text, hash text",
    "payloads": "seq bigint, bytes bytea",
}


def exists(path: str, wait: float) -> bool:
    """Tell if there is a ledger on the server. Raises Failure (exit 6) if it can't be told."""
    database = ServerDatabase(path, wait)
    try:
        with database.translate_errors():
            return database.is_laid_out()
    finally:
        database.close()


def open_for_writing(path: str, wait: float) -> ServerDatabase:
    """Open and check a ledger that takes entries; create it if there is none.

    Args:
        path: ``env:`` and the name of the variable with the server's URL.
        wait: Seconds to wait for the server and the lock.

    Raises:
        Failure: Exit code 6 if the server can't be reached or its tables are not usable.
    """
    database = ServerDatabase(path, wait)
    try:
        with database.translate_errors():
            if not database.is_laid_out():
                database.lay_out()
            database.check()
            database.begin()  # a charge would get this far too
            database.roll_back()
    except BaseException:
        database.close()
        raise
    return database


def open_for_reading(path: str, wait: float) -> ServerDatabase:
    """Open and check an existing ledger for reports. Raises Failure (exit 6)."""
    database = ServerDatabase(path, wait, read_only=True)
    try:
        with database.translate_errors():
            if not database.is_laid_out():
                raise not_a_ledger(path, "it is empty")
            database.check()
    except BaseException:
        database.close()
        raise
    return database


class ServerDatabase:
    """One connection to the server; see ``Database`` in ``dprelease.ledger.store``."""

    def __init__(self, path: str, wait: float, *, read_only: bool = False) -> None:
        try:
            import psycopg as driver
        except ImportError:
            hint = "install the extra: pip install 'dprelease[postgres]'"
            raise build_place_failure("on a server", "psycopg is not installed", hint) from None
        self._driver: Any = driver
        self._path, self._wait, self._read_only = path, wait, read_only
        self.variable = path.removeprefix(ON_SERVER)
        self._connection: psycopg.Connection[Any] | None = None
        try:
            with self.translate_errors():
                self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        url = os.environ.get(self.variable, "")
        if not url:
            hint = "set the variable to the URL of the server, as [ledger] url_env says"
            raise build_place_failure(
                self._path, f"the environment variable is not set: {self.variable}", hint
            )
        seconds = max(1, round(self._wait))
        self._connection = self._driver.connect(
            url,
            autocommit=True,
            connect_timeout=max(2, seconds),
            tcp_user_timeout=1000 * max(10, seconds),
            application_name="dprelease",
            prepare_threshold=None,
        )
        for setting, value in (
            ("synchronous_commit", "on"),
            ("lock_timeout", str(max(1, round(self._wait * 1000)))),
            ("search_path", "pg_catalog"),
            ("default_transaction_read_only", "on" if self._read_only else "off"),
        ):
            self._execute(f"SET {setting} = '{value}'")

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
        if self._connection is None:
            raise self._driver.OperationalError("closed")
        return self._connection.execute(statement, values or None)

    @contextmanager
    def translate_errors(self, *, charged: bool = False) -> Iterator[None]:
        """Turn every error of the driver inside into a Failure."""
        try:
            yield
        except self._driver.Error as problem:
            # Only the SQLSTATE is read: the text of an error may show the URL.
            code = problem.sqlstate or ""
            is_lost = self._connection is None or self._connection.closed
            failure = not_a_ledger(self._path, "the server refuses the statements of a ledger")
            if code == "55P03":
                failure = busy(self._path, self._wait)
            elif code.startswith("53"):
                failure = build_disk_failure(self._path, charged=charged)
            elif is_lost or not code or code.startswith(("08", "57")):
                failure = build_unreachable_failure(self._path, charged=charged)
            elif code in {"42501", "25006"} or code.startswith(("28", "3D")):
                hint = "give the user of the URL the right to use and add to the schema dprelease"
                failure = build_place_failure(self._path, "the server does not allow it", hint)
            raise failure from None

    def read_setting(self, name: str) -> str:
        """Read a setting of the connection."""
        return str(self._execute(f"SHOW {name}").fetchone()[0])

    def is_laid_out(self) -> bool:
        """Tell if the server has the ledger's schema."""
        rows = self._execute("SELECT 1 FROM pg_namespace WHERE nspname = 'dprelease'")
        return rows.fetchone() is not None

    def lay_out(self) -> None:
        """Make the tables, whole or not at all; another process may do it first."""
        self.begin()
        try:
            # Another process may have made them before this one had the lock.
            if not self.is_laid_out():
                for statement in _LAYOUT:
                    self._execute(statement)
            self.commit()
        finally:
            self.roll_back()

    def check(self) -> None:
        """Refuse (E604) what ``lay_out`` didn't make, triggers included."""
        version = self._execute("SELECT max(version), count(*) FROM dprelease.format").fetchone()
        if version != (FORMAT, 1):
            hint = "use the version of dprelease that last wrote it, or a newer one"
            raise wrong_schema(self._path, f"has another format than {FORMAT}", hint)
        triggers = self._execute(
            "SELECT c.relname, t.tgtype, t.tgenabled, p.prosrc FROM pg_trigger t"
            " JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE n.nspname = 'dprelease' AND NOT t.tgisinternal"
            " AND t.tgqual IS NULL AND t.tgattr::text = ''"
        ).fetchall()
        plain = self._execute(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'dprelease' AND c.relname IN ('entries', 'payloads')"
            " AND c.relkind = 'r' AND NOT c.relhasrules AND NOT c.relrowsecurity"
            " AND NOT c.relhassubclass AND c.relpersistence = 'p'"
        ).fetchone()
        columns = self._execute(
            "SELECT c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, -1), ', '"
            " ORDER BY a.attnum) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'dprelease'"
            " AND c.relname IN ('entries', 'payloads') AND a.attnum > 0 AND NOT a.attisdropped"
            " GROUP BY c.relname"
        ).fetchall()
        unique = self._execute(
            "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'dprelease'"
            " AND i.indisunique AND i.indisvalid AND c.relname IN ('entries', 'payloads')"
        ).fetchone()
        enabled = self.read_setting("session_replication_role") == "origin"
        sound = {(table, kind) for table, kind, on, body in triggers if on in ("O", "A")
                 and body == _GUARD}  # fmt: skip
        if (
            not enabled
            or sound != _TRIGGERS
            or len(triggers) != len(_TRIGGERS)
            or dict(columns) != _COLUMNS
            or unique != (3,)
            or plain != (2,)
        ):
            raise wrong_schema(self._path, "has had its tables or triggers changed", RESTORE)

    def begin(self, *, again: bool = False) -> None:
        """Open a transaction and take the lock; reconnect first if ``again`` and needed."""
        try:
            self._execute("BEGIN")
        except self._driver.OperationalError:
            if not again or self._connection is None or not self._connection.closed:
                raise
            self._connect()
            self.check()
            self._execute("BEGIN")
        self._execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    def commit(self) -> None:
        """Make what was added durable."""
        self._execute("COMMIT")

    def roll_back(self) -> None:
        """End the transaction, if one is open."""
        with suppress(self._driver.Error):  # then the server ends it
            if self._connection is not None and self._connection.info.transaction_status:
                self._execute("ROLLBACK")

    def iter_entries(self, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries after the one of a number, in order."""
        rows = self._execute(
            "SELECT seq, kind, run_id, written_at, content, previous, hash"
            " FROM dprelease.entries WHERE seq > %s ORDER BY seq",
            (after,),
        )
        return (Entry(*row) for row in rows)

    def read_version(self) -> None:
        """Nothing tells of commits of others: all entries are read and checked each time."""

    def read_last(self) -> Head:
        """Read the number and hash of the last entry."""
        query = "SELECT seq, hash FROM dprelease.entries ORDER BY seq DESC LIMIT 1"
        row = self._execute(query).fetchone()
        return EMPTY if row is None else Head(*row)

    def append(self, entry: Entry) -> None:
        """Add an entry that follows on the last one."""
        self._execute(
            "INSERT INTO dprelease.entries"
            " (seq, kind, run_id, written_at, content, previous, hash)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (
                entry.seq, str(entry.kind), entry.run_id, entry.written_at, entry.content,
                entry.previous, entry.hash,
            ),
        )  # fmt: skip

    def store_payload(self, seq: int, payload: bytes) -> None:
        """Store the sealed payload of entry ``seq``."""
        insert = "INSERT INTO dprelease.payloads (seq, bytes) VALUES (%s, %s)"
        self._execute(insert, (seq, payload))

    def read_payload(self, seq: int) -> bytes | None:
        """Read the stored numbers of a seal; None if there are none."""
        query = "SELECT bytes FROM dprelease.payloads WHERE seq = %s"
        row = self._execute(query, (seq,)).fetchone()
        return None if row is None else bytes(row[0])

    def make_room_for_caps(self) -> None:
        """Do nothing: entries on a server have always taken caps."""

    def is_sound(self) -> bool:
        """Check the tables again; raises Failure (E604) if they were changed."""
        # The server looks after its own pages.
        self.check()
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(self._driver.Error):
                self._connection.close()
