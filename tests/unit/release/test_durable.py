"""What a run puts in place is durable: its content before it has its name, its name before the next
step that counts on it.

One rule for ledger, witness, kept and published tables, watched over whole runs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracle.engine import get

import dprelease
from dprelease.errors import Complaint
from dprelease.ledger.store import Ledger

Spec = dict[str, Any]
State = tuple[int, int] | frozenset[str]
"""Of a file its size and time, of a folder the names in it."""

EXTRA = 3  # SQLite's word for: contents and folder are synced with every commit


class Disk:
    """Sees what is synced, and notes what is not when it should be."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.names: list[str] = []  # that were given
        self._synced: dict[tuple[int, int], State] = {}
        self._open: dict[str, str] = {}  # folders with a new name in them that isn't synced
        self.commits = self.reads = 0

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("rename", "replace", "link"):
            patch.setattr(os, name, self._moving(name, getattr(os, name)))
        patch.setattr(os, "fsync", self._syncing(os.fsync))
        patch.setattr(os, "mkdir", self._making(os.mkdir))
        connect = sqlite3.connect
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
                if statement == "COMMIT":
                    disk.commits += 1
                    (mode,) = super().execute("PRAGMA synchronous").fetchone()
                    (whole,) = super().execute("PRAGMA fullfsync").fetchone()
                    disk._expect((mode, whole) == (EXTRA, 1), "a commit that is not synced")
                    disk.check("a commit")
                return super().execute(statement, *given)

        patch.setattr(
            sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Connection)
        )

    def check(self, step: str) -> None:
        """Every name that was given is durable before this step."""
        for folder, name in self._open.items():
            self._expect(False, f"{name} is not synced in {folder} before {step}")

    def _expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def _syncing(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(handle: int) -> None:
            real(handle)
            path = os.readlink(f"/proc/self/fd/{handle}")
            self._synced[get_key(path)] = read_state(path)
            self._open.pop(path, None)

        return fsync

    def _moving(self, how: str, real: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def move(source: Any, target: Any) -> None:
            for path in (source, *Path(source).rglob("*")):
                # SQLite syncs the draft of a ledger by itself, at the commit that is watched.
                durable = how == "link" or self._synced.get(get_key(path)) == read_state(path)
                self._expect(durable, f"{target} had its name before its content")
            real(source, target)
            self._given(os.path.abspath(target))

        return move

    def _making(self, real: Callable[..., None]) -> Callable[..., None]:
        def mkdir(path: Any, *mode: int) -> None:
            real(path, *mode)
            if "/." not in str(path):  # working folders are nothing that anybody counts on
                self._given(os.path.abspath(path))

        return mkdir

    def _given(self, path: str) -> None:
        folder, name = os.path.split(path)
        self.names.append(name)
        if not name.endswith(".csv.parquet"):  # made again from the kept table whenever it is gone
            self._open[folder] = name


def get_key(path: Any) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def read_state(path: Any) -> State:
    if os.path.isdir(path):
        return frozenset(os.listdir(path))
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


class Reading:
    """An engine that checks the disk before it reads."""

    def __init__(self, disk: Disk) -> None:
        self._engine, self._disk = get("reference"), disk

    def inspect(self, *given: Any) -> tuple[Complaint, ...]:
        return self._engine.inspect(*given)

    def aggregate(self, request: Any, share: Any = None) -> Any:
        self._disk.reads += 1
        self._disk.check("a reading")
        return self._engine.aggregate(request, share)

    def records(self, request: Any, share: Any = None) -> Any:
        self._disk.reads += 1
        self._disk.check("a reading")
        return self._engine.records(request, share)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr("dprelease.release.run.get", lambda _name: Reading(made))
    made.watch(monkeypatch)
    return made


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    (tmp_path / "t.csv").write_text("g\n" + "a\nb\n" * 30)
    (tmp_path / "other").mkdir()
    ledger, witness = tmp_path / "l.sqlite", tmp_path / "other" / "witness"
    return {
        "release": {"name": "r"},
        "data": {"path": str(tmp_path / "t.csv")},
        "privacy": {"unit": "row", "adjacency": "replace-one"},
        "ledger": {"path": str(ledger), "witness": str(witness), "dataset": "d"},
        "columns": {"g": {"type": "string", "keys": ["a", "b"], "source": "p"}},
        # Of so small an epsilon that new noise is other noise.
        "query": [{"name": "n", "statistic": "count", "by": ["g"], "epsilon": 0.000_000_1}],
        "perturb": [{"name": "people", "columns": ["g"], "epsilon": 1}],
        "output": {"path": str(tmp_path / "made" / "with" / "out")},
        "report": {"formats": ["json"]},
    }


def test_what_is_put_in_place_is_durable_at_every_step(spec: Spec, disk: Disk) -> None:
    """A new folder, the same folder, another format, and a kept table that was lost."""
    ledger, output = Path(spec["ledger"]["path"]), Path(spec["output"]["path"])
    kept = Path(f"{ledger}.records")

    def released(**how: Any) -> list[str]:
        disk.names.clear()
        dprelease.run(spec, **how)
        disk.check("the end")
        return disk.names

    first = released()
    assert {"made", "with", "out", ledger.name, "witness", kept.name} <= set(first)
    assert {each.name for each in kept.iterdir()} <= set(first)
    assert disk.commits >= 4  # of a new ledger, a charge, a seal and a publication
    assert disk.reads == 2
    assert {"by_g.csv", "people.csv", "datapackage.json"} <= set(released(new_noise=True))
    for each in kept.iterdir():
        each.unlink()
    spec["output"]["format"] = "parquet"
    assert {"people.parquet", *(each.name for each in kept.iterdir())} <= set(released())
    assert not (output / "people.csv").exists()
    Ledger.renew_guard(str(ledger), witness=spec["ledger"]["witness"])
    disk.check("the end")
    assert disk.faults == [], "\n".join(disk.faults)


def test_what_is_not_durable_is_noticed(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "draft").write_text("never synced")
    os.replace(tmp_path / "draft", tmp_path / "file")
    loose = sqlite3.connect(tmp_path / "book.sqlite", isolation_level=None)
    for statement in ("PRAGMA synchronous = OFF", "BEGIN", "COMMIT"):
        loose.execute(statement)
    loose.close()
    assert disk.faults == [
        f"{tmp_path}/file had its name before its content",
        "a commit that is not synced",
        f"file is not synced in {tmp_path} before a commit",
    ]
