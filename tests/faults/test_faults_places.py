"""Many processes at once, and ledgers that were locked, moved, copied, edited or spoilt."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from faulty import Nursery, check_recovered, fill, read_published, runs, write_spec

from dprelease.ledger.entries import State

OTHER = 65534
"""A user who is nobody in particular."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


# --- at once ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_twenty_processes_on_a_cap_for_five(nursery: Nursery, folder: Path) -> None:
    specs = [write_spec(folder, f"r{number}", over=number) for number in range(20)]
    ends = nursery.run_all(
        [nursery.request(folder, "run", "--wait", "120", spec) for spec in specs]
    )
    assert sorted(end.code for end in ends) == [0] * 5 + [3] * 15
    found = runs(folder)
    assert len(found) == 5
    assert sum(run.loss.epsilon for run in found) == 5
    for number, end in enumerate(ends):
        assert bool(read_published(folder, f"r{number}")) == (end.code == 0)
        if end.code == 3:
            assert "E301" in end.err
            assert "at most 0" in end.err or "is left" in end.err


@pytest.mark.thorough
def test_one_release_in_ten_processes(nursery: Nursery, folder: Path) -> None:
    ends = nursery.run_all(
        [nursery.request(folder, "run", "--wait", "120", "small.toml") for _ in range(10)]
    )
    assert {end.code for end in ends} == {0}
    (run,) = runs(folder)
    assert run.state is State.SEALED
    files = read_published(folder)
    assert nursery.run(folder, "run", "small.toml").code == 0
    assert read_published(folder) == files


# --- places and times ---------------------------------------------------------------------------


def test_a_ledger_that_is_locked_for_too_long(nursery: Nursery, folder: Path) -> None:
    assert nursery.run(folder, "run", "small.toml").code == 0
    other = write_spec(folder, "other", over=7)
    with sqlite3.connect(folder / "ledger.sqlite", isolation_level=None) as held:
        held.execute("BEGIN EXCLUSIVE")
        end = nursery.run(folder, "run", "--wait", "0.2", other)
        assert end.code == 6
        assert "longer wait" in end.err
        held.execute("ROLLBACK")
    held.close()
    assert nursery.run(folder, "run", other).code == 0
    assert len(runs(folder)) == 2


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users can get to."""
    with TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


@pytest.mark.thorough
@needs_root
@pytest.mark.parametrize("closed", ["folder", "ledger", "output"])
def test_places_that_may_not_be_written(nursery: Nursery, shared: Path, closed: str) -> None:
    folder = fill(shared / "open")
    os.chown(folder, OTHER, OTHER)
    if closed != "folder":
        assert nursery.run(folder, "run", "small.toml", user=OTHER).code == 0
    before = read_published(folder)
    spec = write_spec(folder, "other", over=7)
    shut = {"folder": folder, "ledger": folder / "ledger.sqlite", "output": folder / "out-other"}
    if closed == "output":
        shut["output"].mkdir()
    os.chmod(shut[closed], 0o444 if closed == "ledger" else 0o555)
    os.chown(shut[closed], 0, 0)
    end = nursery.run(folder, "run", spec, user=OTHER)
    assert end.code in {2, 6}
    assert "writable" in end.err or "written" in end.err
    assert "hint" in end.err
    assert read_published(folder) == before
    assert read_published(folder, "other") == {}
    assert len(runs(folder)) == (0 if closed == "folder" else 1), "nothing more is charged"


@pytest.mark.thorough
@pytest.mark.parametrize("year", [2016, 2036])
def test_a_clock_that_is_ten_years_off(nursery: Nursery, folder: Path, year: int) -> None:
    first = nursery.run(folder, "run", "small.toml", now=year)
    assert first.code == 0
    assert runs(folder)[0].charged_at.startswith(str(year))
    files = read_published(folder)
    second = nursery.run(folder, "run", "small.toml")
    assert "nothing was spent" in second.said
    assert read_published(folder) == files
    assert len(runs(folder)) == 1
    # entries whose times go back are entries all the same
    assert nursery.run(folder, "run", write_spec(folder, "next", over=8)).code == 0
    assert len(runs(folder)) == 2


# --- spoilt ledgers -----------------------------------------------------------------------------


def _restore(folder: Path) -> None:
    shutil.copy(folder / "old.sqlite", folder / "ledger.sqlite")


def _edit(folder: Path) -> None:
    with sqlite3.connect(folder / "ledger.sqlite", isolation_level=None) as book:
        book.execute("PRAGMA writable_schema = ON")
        book.execute("DROP TRIGGER entries_keep")
        book.execute("UPDATE entries SET content = replace(content, '1/1', '0/1') WHERE seq = 1")
    book.close()


def _edit_bytes(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    content = path.read_bytes()
    assert content.count(b'"epsilon":"1/1"') >= 1
    path.write_bytes(content.replace(b'"epsilon":"1/1"', b'"epsilon":"0/1"', 1))


def _overwrite(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 512):
        content[at : at + 8] = b"\xff" * 8
    path.write_bytes(content)


def _truncate(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    path.write_bytes(path.read_bytes()[:-4096])


def _delete(folder: Path) -> None:
    (folder / "ledger.sqlite").unlink()


def _without_witness(folder: Path) -> None:
    (folder / "ledger.sqlite.witness").unlink()


def _witness_of_another(folder: Path) -> None:
    text = (folder / "ledger.sqlite.witness").read_text(encoding="ascii")
    (folder / "ledger.sqlite.witness").write_text(text.replace('hash":"', 'hash":"00'))


def _empty(folder: Path) -> None:
    (folder / "ledger.sqlite").write_bytes(b"")


SPOILT = [
    _restore, _edit, _edit_bytes, _overwrite, _truncate, _delete, _without_witness,
    _witness_of_another, _empty,
]  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__.strip("_"))
def test_a_spoilt_ledger_is_refused(
    nursery: Nursery, folder: Path, spoil: Callable[[Path], None]
) -> None:
    assert nursery.run(folder, "run", "small.toml").code == 0
    shutil.copy(folder / "ledger.sqlite", folder / "old.sqlite")
    second = write_spec(folder, "second", over=5)
    assert nursery.run(folder, "run", second).code == 0
    files = read_published(folder)
    spoil(folder)
    state = {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.startswith("ledger")
    }
    third = write_spec(folder, "third", over=6)
    for spec in (third, "small.toml"):
        end = nursery.run(folder, "run", spec)
        assert end.code == 6, end.err
        assert "hint" in end.err
    assert read_published(folder, "third") == {}
    assert read_published(folder) == files
    after = {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.startswith("ledger")
    }
    assert after == state, "nothing is repaired behind anybody's back"


# --- hot journals -------------------------------------------------------------------------------


def hot(nursery: Nursery, folder: Path) -> None:
    """Kill a run while pages of a transaction are in the ledger and the journal is needed."""
    at = 1
    while not (folder / "ledger.sqlite-journal").exists() and at < 200:
        for name in ("ledger.sqlite", "ledger.sqlite.witness"):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / "out-small", ignore_errors=True)
        end = nursery.run(
            folder, "run", "small.toml", what="kill", at=at, log=str(folder / ".log"),
            small_cache=True,
        )  # fmt: skip
        assert end.code == -9
        (folder / ".log").unlink()
        journal = folder / "ledger.sqlite-journal"
        if journal.exists() and journal.stat().st_size == 0:
            journal.unlink()
        at += 1
    assert (folder / "ledger.sqlite-journal").exists()


def test_a_hot_journal_is_rolled_back(nursery: Nursery, folder: Path) -> None:
    hot(nursery, folder)
    check_recovered(nursery, folder)


@pytest.mark.thorough
def test_without_its_hot_journal_a_ledger_is_whole_or_refused(
    nursery: Nursery, folder: Path
) -> None:
    hot(nursery, folder)
    (folder / "ledger.sqlite-journal").unlink()
    end = nursery.run(folder, "run", "small.toml")
    assert end.code in {0, 6}, end.err
    if end.code == 0:
        assert len(runs(folder)) == 1
    else:
        assert read_published(folder) == {}
