"""A ledger on a server: what is refused there, and what is never shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import postgres_server
import pytest
from postgres_server import Server

from dprelease.errors import Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.server import ServerDatabase, open_for_reading, open_for_writing
from dprelease.ledger.store import Ledger, read_account
from dprelease.model import Loss

psycopg = pytest.importorskip("psycopg")
ONE = Loss(Fraction(1))


def charge(place: str, run: str = "a" * 64) -> None:
    with Ledger.open(place, 1) as book:
        made = book.charge(run, "d", "r", ONE, Caps(Fraction(5)), {})
        book.seal(made, b"noisy")


def sql(statement: str) -> None:
    with psycopg.connect(os.environ["TRIED_LEDGER"], autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


def check_refused(place: str, code: str) -> str:
    with pytest.raises(Failure) as raised:
        charge(place, "b" * 64)
    assert raised.value.exit_code == 6
    assert [complaint.code for complaint in raised.value.complaints] == [code]
    said = str(raised.value)
    for secret in (postgres_server.PASSWORD, "a%20secret", "postgresql:"):
        assert secret not in said
    return said


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dprelease.entries SET content = '{}'",
        "DELETE FROM dprelease.entries WHERE seq = 2",
        "DELETE FROM dprelease.payloads",
        "UPDATE dprelease.payloads SET bytes = ''",
        "TRUNCATE dprelease.entries CASCADE",
        "TRUNCATE dprelease.payloads",
        "INSERT INTO dprelease.entries SELECT 9, kind, repeat('c', 64), written_at, content, hash,"
        " previous FROM dprelease.entries WHERE seq = 1",
        "INSERT INTO dprelease.entries SELECT 3, kind, repeat('c', 64), written_at, content,"
        " previous, hash FROM dprelease.entries WHERE seq = 1",
        "INSERT INTO dprelease.entries SELECT 3, kind, run_id, written_at, content, hash, hash"
        " FROM dprelease.entries WHERE seq = 2",
    ],
)
def test_tables_are_append_only(server: str, statement: str) -> None:
    charge(server)
    with pytest.raises(psycopg.Error):
        sql(statement)
    with Ledger.read(server) as book:
        assert book.verify().seq == 2


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_append ON dprelease.entries",
        "ALTER TABLE dprelease.payloads DISABLE TRIGGER payloads_stay",
        "CREATE OR REPLACE FUNCTION dprelease.guard() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NEW; END $$",
        "DROP INDEX dprelease.one_charge_and_seal",
        "CREATE OR REPLACE TRIGGER entries_append BEFORE INSERT OR UPDATE OR DELETE"
        " ON dprelease.entries FOR EACH ROW WHEN (false) EXECUTE FUNCTION dprelease.guard()",
        "CREATE RULE none AS ON INSERT TO dprelease.entries DO INSTEAD NOTHING",
        "ALTER TABLE dprelease.entries ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE dprelease.payloads DROP CONSTRAINT payloads_seq_fkey;"
        " ALTER TABLE dprelease.payloads SET UNLOGGED",
        "CREATE TABLE dprelease.part () INHERITS (dprelease.entries)",
        "ALTER TABLE dprelease.entries ADD COLUMN more text",
        "UPDATE dprelease.format SET version = 2",
        "DROP TABLE dprelease.payloads",
        "DROP TABLE dprelease.format",
        "ALTER DATABASE {} SET session_replication_role = replica",
        "CREATE FUNCTION dprelease.other() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NULL; END $$;"
        " CREATE TRIGGER zz BEFORE INSERT ON dprelease.entries FOR EACH ROW"
        " EXECUTE FUNCTION dprelease.other()",
    ],
)
def test_changed_tables_are_refused(server: str, statement: str) -> None:
    charge(server)
    name = os.environ["TRIED_LEDGER"].split("@/")[1].split("?")[0]
    sql(statement.format(name) if "{}" in statement else statement)
    with pytest.raises(Failure, match=r"E60[34]") as raised:
        charge(server, "b" * 64)
    assert raised.value.exit_code == 6


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dprelease.entries SET content = replace(content, 'epsilon', 'e') WHERE seq = 1",
        "UPDATE dprelease.entries SET written_at = '1999' WHERE seq = 2",
        "DELETE FROM dprelease.payloads; DELETE FROM dprelease.entries WHERE seq = 2",
    ],
)
def test_edits_past_the_triggers_are_seen(server: str, statement: str) -> None:
    charge(server)
    sql(f"SET session_replication_role = replica; {statement}")
    with pytest.raises(Failure, match=r"E605|E613") as raised:
        charge(server, "b" * 64)
    assert raised.value.exit_code == 6


def test_a_changed_payload_is_seen(server: str) -> None:
    charge(server)
    sql("SET session_replication_role = replica; UPDATE dprelease.payloads SET bytes = 'x'")
    with Ledger.read(server) as book, pytest.raises(Failure, match="E605"):
        book.verify()


def test_a_server_that_was_set_back_is_noticed_by_the_witness(server: str, tmp_path: Path) -> None:
    charge(server)
    witness = tmp_path / "TRIED_LEDGER.witness"
    assert witness.exists()
    sql("DROP SCHEMA dprelease CASCADE")
    check_refused(server, "E613")
    kept = witness.read_bytes()
    witness.unlink()
    charge(server, "c" * 64)  # another chain
    witness.write_bytes(kept)
    check_refused(server, "E613")
    witness.unlink()
    check_refused(server, "E612")
    Ledger.renew_guard(server)
    charge(server, "d" * 64)


def test_an_account_without_a_ledger_is_empty_and_makes_none(server: str) -> None:
    assert read_account(server, "d").spent_loss.epsilon == 0
    with pytest.raises(Failure, match="E603"):
        Ledger.read(server)
    charge(server)
    assert read_account(server, "d").spent_loss.epsilon == 1


def test_what_can_not_be_reached_is_said_without_secrets(
    server: str, postgres: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    charge(server)
    right = os.environ["TRIED_LEDGER"]
    monkeypatch.setenv("TRIED_LEDGER", right.replace("a%20secret", "a%20wrong-secret"))
    assert "can't be reached" in check_refused(server, "E621")
    for uri in (f"postgresql://u:hidden@/d?host={tmp_path}", "postgresql://u:hidden@[", "hidden"):
        monkeypatch.setenv("TRIED_LEDGER", uri)
        assert "hidden" not in check_refused(server, "E621")
    monkeypatch.delenv("TRIED_LEDGER")
    assert "the environment variable is not set: TRIED_LEDGER" in check_refused(server, "E602")


def test_a_user_without_rights_is_refused(server: str, postgres: Server) -> None:
    charge(server)
    name = os.environ["TRIED_LEDGER"].split("@/")[1].split("?")[0]
    role = f"reader_of_{name}"
    sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA dprelease TO {role};"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA dprelease TO {role}")  # fmt: skip
    as_owner = os.environ["TRIED_LEDGER"]
    os.environ["TRIED_LEDGER"] = f"postgresql://{role}:x@/{as_owner.split('@/')[1]}"
    with Ledger.read(server) as book:
        assert book.verify().seq == 2
    assert "does not allow it" in check_refused(server, "E602")


def test_a_lock_is_waited_for_and_then_refused(server: str) -> None:
    charge(server)
    holder = ServerDatabase(server, 1)
    holder.begin()
    assert "waited 1 s" in check_refused(server, "E601")
    holder.roll_back()
    holder.close()
    charge(server, "b" * 64)


def test_a_commit_waits_for_the_disk_whatever_the_server_says(server: str) -> None:
    sql("ALTER ROLE dprelease SET synchronous_commit = off")
    try:
        database = ServerDatabase(server, 1)
        shown = database.read_setting("synchronous_commit")
        database.close()
    finally:
        sql("ALTER ROLE dprelease RESET synchronous_commit")
    assert shown == "on"


@pytest.mark.parametrize(
    ("open_ledger", "says"), [(open_for_reading, "on"), (open_for_writing, "off")]
)
def test_who_reads_a_ledger_can_not_add_to_it(
    server: str, open_ledger: Callable[[str, float], ServerDatabase], says: str
) -> None:
    charge(server, "a" * 64)
    database = open_ledger(server, 1)
    shown = database.read_setting("default_transaction_read_only")
    database.close()
    assert shown == says


def test_without_the_driver_the_extra_is_named(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "dprelease[postgres]" in check_refused(server, "E602")
