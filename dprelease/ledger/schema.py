"""SQL schema of a ledger file: append-only by trigger, typed strictly, one row per event."""

from __future__ import annotations

import sqlite3

from dprelease.ledger.messages import RESTORE, not_a_ledger, wrong_schema

APPLICATION_ID = int.from_bytes(b"dprl", "big")
VERSION = 1

ENTRIES = """CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('charge', 'seal', 'publish')),
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

STATEMENTS = (ENTRIES, PAYLOADS, ONE_CHARGE, *TRIGGERS)


def lay_out(connection: sqlite3.Connection) -> None:
    """Makes the tables in an empty database, in the transaction that is open."""
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Refuses (E603, E604) whatever ``lay_out`` didn't make, triggers included."""
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if not rows:
        raise not_a_ledger(path, "it is empty")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise not_a_ledger(path, "it is the database of another program")
    version = _pragma(connection, "user_version")
    if version != VERSION:
        hint = "use the version of dprelease that last wrote it, or a newer one"
        raise wrong_schema(path, f"has format {version}, this dprelease reads {VERSION}", hint)
    if {row[0] for row in rows} != set(STATEMENTS):
        raise wrong_schema(path, "has had its tables or triggers changed", RESTORE)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
