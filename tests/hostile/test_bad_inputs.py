"""Bad specs and bad data: each is told in words, quickly, and costs neither budget nor data."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from small import SPEC, command, lines
from trials import CANARY, DATA, RECORDS, TRIALS, Trial

from dprelease.engines.duckdb import duckdb_engine


def entries(folder: Path) -> int:
    """How many entries the ledger has that would be charged."""
    book = folder / "dprelease-ledger.sqlite"
    if not book.exists():
        return 0
    with closing(sqlite3.connect(book)) as connection:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len(TRIALS) - len(DATA) >= 150
    assert len(DATA) >= 20
    assert len({(each.spec, each.name, str(each.prepare)) for each in TRIALS}) == len(TRIALS)


PARTS = 8


@pytest.mark.one_in(8)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_bad_input_is_told_and_costs_nothing(
    part: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("data were read")

    monkeypatch.setattr(duckdb_engine.DuckDB, "aggregate", opened)
    for number, trial in enumerate(TRIALS[part::PARTS]):
        try_one(trial, tmp_path / str(number), capfd)


def try_one(trial: Trial, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder.mkdir()
    records = lines(RECORDS)
    (folder / "data.csv").write_bytes(records)
    trial.prepare(folder)
    kept = (folder / "data.csv").read_bytes()
    spec = folder / "spec.toml"
    spec.write_bytes(trial.spec if isinstance(trial.spec, bytes) else trial.spec.encode())
    started = time.perf_counter()
    answer = command(capfd, "run", *trial.options, str(spec))
    taken = time.perf_counter() - started
    told = f"{trial.name}: {answer}"[:2000]
    assert answer.code == trial.exit_code, told
    assert re.search(rf"(^|  ){trial.code}[0-9]* ", answer.err, re.MULTILINE), told
    assert answer.out == "", told
    first = answer.err.splitlines()[0]
    assert "   hint: " in answer.err, told
    if trial.exit_code == 2 and "E80" not in trial.code:
        assert re.match(r".*spec\.toml:\d+:\d+  ", first), told
    assert "Traceback" not in answer.err, told
    assert CANARY not in answer.err, told
    assert len(answer.err) < 40_000, told[:300]
    assert entries(folder) == 0, told
    assert (folder / "data.csv").read_bytes() == kept, told
    assert taken < 10, told


def test_the_input_that_all_of_them_spoil_is_good(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").write_bytes(lines(RECORDS))
    (tmp_path / "spec.toml").write_text(SPEC)
    assert command(capfd, "run", str(tmp_path / "spec.toml")).code == 0
    assert entries(tmp_path) == 3
