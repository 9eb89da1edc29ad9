"""Ledgers that were edited, cut, replaced or put where they can't work: refused with a remedy."""

import os
import sqlite3
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dprelease.errors import ExitCode, Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

A, B = "a" * 64, "b" * 64
HALF = Loss(Fraction(1, 2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with two charges, one of them sealed with a payload of several pages."""
    found = tmp_path / "ledger.sqlite"
    with Ledger.open(str(found)) as ledger:
        made = ledger.charge(A, "payroll", "pay", HALF, Caps(), {})
        ledger.seal(made, os.urandom(50_000))
        ledger.charge(B, "payroll", "pay-2", HALF, Caps(), {})
    return found


def find_refusal(
    path: Path, act: Callable[[Ledger], object] = lambda ledger: ledger.read_head()
) -> Failure:
    with pytest.raises(Failure) as refused, Ledger.open(str(path), 0.2) as ledger:
        act(ledger)
    assert refused.value.exit_code is ExitCode.LEDGER
    assert all(each.hint for each in refused.value.complaints)
    return refused.value


def charge(ledger: Ledger) -> object:
    return ledger.charge("c" * 64, "payroll", "pay", HALF, Caps(), {})


def tamper(path: Path, *statements: str) -> None:
    """Changes the file as someone with a database tool would, schema restored afterwards."""
    db = sqlite3.connect(path)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for each in statements:
        db.execute(each)
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()


EDITS = {
    "cost": "UPDATE entries SET content = replace(content, '\"1/2\"', '\"1/9\"') WHERE seq = 3",
    "dataset": "UPDATE entries SET content = replace(content, 'payroll', 'x') WHERE seq = 1",
    "run": "UPDATE entries SET run_id = replace(run_id, 'b', 'c') WHERE seq = 3",
    "time": "UPDATE entries SET written_at = '2001-01-01T00:00:00+00:00' WHERE seq = 1",
    "first removed": "DELETE FROM entries WHERE seq = 1",
    "middle removed": "DELETE FROM entries WHERE seq = 2",
    "renumbered": "UPDATE entries SET seq = 9 WHERE seq = 3",
    "invalid text": "UPDATE entries SET content = CAST(x'ff' AS TEXT) WHERE seq = 3",
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_ledger_charges_nothing(path: Path, what: str) -> None:
    tamper(path, "PRAGMA foreign_keys = OFF", EDITS[what])
    before = path.read_bytes()
    for act in (
        charge,
        Ledger.read_head,
        Ledger.verify,
        Ledger.list_runs,
        lambda each: each.read_sealed(A),
    ):
        assert find_refusal(path, act).complaints[0].code in ("E603", "E605")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "edit", ["UPDATE payloads SET bytes = x'00' WHERE seq = 2", "DELETE FROM payloads"]
)
def test_changed_sealed_numbers_are_not_published(path: Path, edit: str) -> None:
    tamper(path, edit)
    assert "E605" in str(find_refusal(path, lambda ledger: ledger.read_sealed(A)))
    assert "E605" in str(find_refusal(path, Ledger.verify))


def test_entries_are_append_only(path: Path) -> None:
    db = sqlite3.connect(path)
    row = "'charge', run_id, '', '', previous, hash"
    for statement in (
        "UPDATE entries SET content = ''",
        "DELETE FROM entries",
        "UPDATE payloads SET bytes = x''",
        "DELETE FROM payloads",
        "INSERT OR REPLACE INTO payloads VALUES (2, x'')",
        f"INSERT OR REPLACE INTO entries SELECT seq, {row} FROM entries WHERE seq = 3",
        f"INSERT OR REPLACE INTO entries SELECT seq + 1, {row} FROM entries WHERE seq = 3",
        f"INSERT INTO entries SELECT seq + 5, {row} FROM entries WHERE seq = 3",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
            db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_keep",
        "DROP INDEX one_charge_and_seal",
        "CREATE TABLE extra (x)",
        "CREATE TRIGGER extra AFTER INSERT ON entries BEGIN SELECT 1; END",
        "ALTER TABLE entries ADD COLUMN extra TEXT",
    ],
)
def test_a_changed_schema_is_refused(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.close()
    assert "E604" in str(find_refusal(path))


def test_other_versions_are_refused(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 3")
    db.close()
    assert "E604" in str(find_refusal(path))
    assert "format 3" in str(find_refusal(path))


def test_databases_of_other_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()
    before = path.read_bytes()
    assert "another program" in str(find_refusal(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"name,pay\n", b"SQLite format 3\0", b"\0" * 9000])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    assert "E603" in str(find_refusal(path))
    assert path.read_bytes() == content


def test_a_cut_ledger_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for keep in (100, 1000, 4096, 8192, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:keep])
        assert find_refusal(path, charge).complaints[0].code in ("E603", "E604", "E605", "E606")


def test_overwritten_pages_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    pages = len(whole) // 4096
    for page in range(pages):
        path.write_bytes(whole[: page * 4096] + b"\x5a" * 4096 + whole[(page + 1) * 4096 :])
        find_refusal(path, Ledger.verify)


def test_a_ledger_in_another_journal_mode_is_put_back(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    with Ledger.open(str(path)) as ledger:
        charge(ledger)
    assert sorted(os.listdir(path.parent)) == ["ledger.sqlite", "ledger.sqlite.witness"]


def test_a_missing_directory_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "no" / "ledger.sqlite"
    assert "there is no directory" in str(find_refusal(path))
    assert os.listdir(tmp_path) == []


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    assert "not a file" in str(find_refusal(tmp_path))


def test_a_dangling_link_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.symlink_to(tmp_path / "nothing")
    assert "E602" in str(find_refusal(path))


def test_reading_needs_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="E608") as refused:
        Ledger.read(str(tmp_path / "ledger.sqlite"))
    assert refused.value.exit_code is ExitCode.LEDGER
    assert os.listdir(tmp_path) == []


def test_an_old_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    assert "E607" in str(find_refusal(path))


def test_drafts_of_killed_processes_are_removed(path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = path.parent / f"ledger.sqlite.new-{gone.pid}-1"
    alive = path.parent / f"ledger.sqlite.new-{os.getpid()}-1"
    unrelated = path.parent / "ledger.sqlite.new-year"
    for each in (dead, alive, unrelated):
        each.write_bytes(b"")
    with Ledger.open(str(path)):
        assert sorted(os.listdir(path.parent)) == sorted(
            ["ledger.sqlite", "ledger.sqlite.witness", alive.name, unrelated.name]
        )


def test_a_file_system_without_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert "local disk" in str(find_refusal(tmp_path / "ledger.sqlite"))
    assert os.listdir(tmp_path) == []


def test_no_message_shows_an_exception_of_sqlite(path: Path) -> None:
    path.write_bytes(b"canary-1234" * 1000)
    failure = find_refusal(path)
    assert "canary" not in str(failure)
    assert failure.__cause__ is None
    assert failure.__suppress_context__
