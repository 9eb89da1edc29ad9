"""A folder with a small release, and processes that run it while something goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dprelease.ledger.entries import Run, State
from dprelease.ledger.store import Ledger

SPEC = """\
[release]
name = "{name}"

[data]
path = "small.csv"

[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 1

[ledger]
path = "ledger.sqlite"
epsilon_cap = 5

[columns.region]
type = "string"
keys = ["north", "south"]

[columns.days]
type = "integer"
lower = 0
upper = 100

[[query]]
name = "visits"
statistic = "count"
by = ["region"]

[[query]]
name = "long"
statistic = "count"
where = "days > {over}"

[output]
path = "out-{name}"
"""

SECRET = "SECRET-8461"
DATA = f"region,days,note\nnorth,3,{SECRET}\nsouth,40,{SECRET}\nnorth,{SECRET},{SECRET}\n"


@dataclass(frozen=True)
class End:
    """How a process ended: its exit code (-9: killed by signal 9), and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything."""
        return self.out + self.err


class Nursery:
    """Runs command lines as processes of their own; see ``nursery``."""

    def __init__(self, folder: Path) -> None:
        script = str(Path(__file__).parent / "nursery.py")
        self._process = subprocess.Popen(
            [sys.executable, script, str(fill(folder))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, *arguments: str, **how: Any) -> End:
        """One process."""
        return self.run_all([self.request(folder, *arguments, **how)])[0]

    def request(self, folder: Path, *arguments: str, **how: Any) -> dict[str, Any]:
        """What ``run_all`` takes."""
        return {"folder": str(folder), "arguments": arguments, **how}

    def run_all(self, requests: list[dict[str, Any]]) -> list[End]:
        """Several at once."""
        for number, each in enumerate(requests):
            for stream in ("stdout", "stderr"):
                each[stream] = str(Path(each["folder"]) / f".{stream}-{number}")
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"processes": requests}) + "\n")
        stdin.flush()
        codes = json.loads(stdout.readline())
        ends = []
        for code, each in zip(codes, requests, strict=True):
            said = [Path(each[stream]) for stream in ("stdout", "stderr")]
            texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in said]
            end = End(code, *texts)
            check_manners(end)
            ends.append(end)
        return ends

    def close(self) -> None:
        """No more."""
        self._process.communicate()


def check_manners(end: End) -> None:
    """Whatever went wrong: no value of the data, no traceback."""
    assert SECRET not in end.said
    assert "Traceback" not in end.said


def fill(folder: Path) -> Path:
    """The data, and a spec."""
    folder.mkdir(exist_ok=True)
    (folder / "small.csv").write_text(DATA, encoding="ascii")
    write_spec(folder)
    return folder


def write_spec(folder: Path, name: str = "small", over: int = 20) -> str:
    """A spec of the folder; each name is a release of its own. Returns the file's name."""
    (folder / f"{name}.toml").write_text(SPEC.format(name=name, over=over), encoding="ascii")
    return f"{name}.toml"


def runs(folder: Path) -> list[Run]:
    """What the ledger says; it must be whole."""
    if not (folder / "ledger.sqlite").exists():
        return []
    with Ledger.read(str(folder / "ledger.sqlite")) as book:
        book.verify()
        return list(book.list_runs())


def read_published(folder: Path, name: str = "small") -> Mapping[str, bytes]:
    """The files that people see; nothing half-made is among them."""
    place = folder / f"out-{name}"
    if not place.exists():
        return {}
    files = {
        each.relative_to(place).as_posix(): each for each in place.rglob("*") if each.is_file()
    }
    return {name: each.read_bytes() for name, each in files.items() if name[0] != "."}


def check_whole(folder: Path) -> None:
    """After a fault: what is published is sealed, and the charge is there once or not at all."""
    found = runs(folder)
    assert len(found) <= 1
    files = read_published(folder)
    if files:
        assert found[0].state is State.SEALED
        assert "datapackage.json" in files
        json.loads(files["report.json"])


def check_recovered(nursery: Nursery, folder: Path, *, twice: bool = True) -> None:
    """A retry completes at the one charge, a second gives the same bytes, and no trace is left."""
    before = read_published(folder)
    first = nursery.run(folder, "run", "small.toml")
    assert first.code == 0, first.err
    (run,) = runs(folder)
    assert run.state is State.SEALED
    files = read_published(folder)
    if before.keys() == files.keys():
        assert before == files
    if twice:
        second = nursery.run(folder, "run", "small.toml")
        assert second.code == 0
        assert "nothing was spent" in second.said
        assert read_published(folder) == files
        assert len(runs(folder)) == 1
    left = {
        name
        for name in os.listdir(folder)
        if not name.startswith((".std", ".log")) and name not in EXPECTED
    }
    assert left == set(), "traces of the fault"


EXPECTED = {"small.csv", "small.toml", "ledger.sqlite", "ledger.sqlite.witness", "out-small"}
