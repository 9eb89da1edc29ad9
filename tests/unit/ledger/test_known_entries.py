"""Entries that were checked are checked again only where another connection wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from dprelease.errors import Failure
from dprelease.ledger import chain
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

RUNS = [letter * 64 for letter in "abcdef"]


def pay(ledger: Ledger, run: str) -> None:
    ledger.charge(run, "payroll", "pay", Loss(Fraction(1, 2)), Caps(), {"method": "pure"})


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the entries whose hash was computed, in order."""
    numbers: list[int] = []
    plain = chain.hash_entry

    def note(seq: int, *rest: str) -> str:
        numbers.append(seq)
        return plain(seq, *rest)

    monkeypatch.setattr(chain, "hash_entry", note)
    return numbers


def test_an_entry_is_checked_once_by_who_has_read_it(path: str, hashed: list[int]) -> None:
    with Ledger.open(path, 1) as ledger:
        for run in RUNS:
            pay(ledger, run)
    hashed.clear()
    with Ledger.read(path) as ledger:
        ledger.list_runs()
        ledger.read_account("payroll")
        ledger.read_head()
    assert hashed == [1, 2, 3, 4, 5, 6]
    hashed.clear()
    with Ledger.open(path, 1) as ledger:
        pay(ledger, "0" * 64)
        ledger.read_account("payroll")
    assert [number for number in hashed if number < 7] == [1, 2, 3, 4, 5, 6]


def test_what_another_connection_adds_is_seen(path: str) -> None:
    with Ledger.open(path, 1) as ledger, Ledger.open(path, 1) as other:
        pay(ledger, RUNS[0])
        pay(other, RUNS[1])
        assert len(ledger.list_runs()) == 2
        pay(ledger, RUNS[2])
        assert len(other.list_runs()) == 3


def test_what_another_connection_edits_is_noticed(path: str) -> None:
    with Ledger.open(path, 1) as ledger:
        pay(ledger, RUNS[0])
        pay(ledger, RUNS[1])
        assert len(ledger.list_runs()) == 2
        with closing(sqlite3.connect(path)) as editor:
            editor.execute("DROP TRIGGER entries_keep")
            editor.execute("UPDATE entries SET content = '{}' WHERE seq = 1")
            editor.commit()
        with pytest.raises(Failure):
            ledger.list_runs()
        with pytest.raises(Failure):
            pay(ledger, RUNS[2])


def test_an_entry_that_was_rolled_back_is_in_no_book(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path, 1) as ledger:
        pay(ledger, RUNS[0])

        def fail() -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(ledger._database, "commit", fail)
            with pytest.raises(Failure):
                pay(ledger, RUNS[1])
        assert len(ledger.list_runs()) == 1
        pay(ledger, RUNS[2])
        assert [run.run_id for run in ledger.list_runs()] == [RUNS[0], RUNS[2]]


def test_verifying_reads_everything(path: str, hashed: list[int]) -> None:
    with Ledger.open(path, 1) as ledger:
        pay(ledger, RUNS[0])
        hashed.clear()
        ledger.verify()
        ledger.chain()
    assert hashed == [1, 1]
