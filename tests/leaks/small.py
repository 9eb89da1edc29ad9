"""A small release that reads every kind of value, for tests that run it many times."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dprelease.cli.guard import execute

SPEC = """\
schema = 1
[release]
name = "small"
[data]
path = "data.csv"
[privacy]
unit = "column"
unit_column = "who"
unit_description = "one person"
adjacency = "add-remove"
delta = 1e-8
[privacy.bounding]
max_rows_per_unit = 2
max_groups_per_unit = 2
[ledger]
epsilon_cap = 10
delta_cap = 1e-6
[columns.who]
type = "string"
[columns.region]
type = "string"
keys = ["north", "south"]
other = "elsewhere"
source = "public: map"
[columns.town]
type = "string"
[columns.day]
type = "date"
[columns.born]
type = "timestamp"
[columns.paid]
type = "decimal"
lower = 0
upper = 100
source = "public: rule"
[columns.age]
type = "integer"
bins = [0, 18, 65]
source = "public: rule"
[columns.ok]
type = "boolean"
[[query]]
name = "records"
statistic = "count"
by = ["region"]
where = "ok OR LENGTH(town) > 3 OR paid / age > 1 OR YEAR(day) > 1900 OR born IS NULL"
epsilon = 1
[[query]]
name = "paid"
statistic = "sum"
column = "paid"
by = ["region"]
epsilon = 1
[[query]]
name = "days"
statistic = "count_distinct"
column = "day"
epsilon = 1
[[query]]
name = "middle"
statistic = "median"
column = "paid"
epsilon = 1
[[query]]
name = "people"
statistic = "count_units"
by = ["town"]
partition_selection = { delta = 1e-8 }
epsilon = 1
[output]
path = "out"
"""
RECORDS = (
    SPEC[: SPEC.index("[[query]]")].replace("add-remove", "replace-one")
    + """\
[[perturb]]
name = "people"
columns = ["region", "paid", "age", "ok"]
epsilon = 4
delta = 1e-9
[output]
path = "out"
"""
)
HEADER = ["who", "region", "town", "day", "born", "paid", "age", "ok", "unread"]
GOOD = ["p1", "north", "ayr", "2025-01-02", "2000-01-02 03:04:05", "12.5", "30", "true", "x"]


@dataclass(frozen=True)
class Answer:
    """What the command line has said."""

    code: int
    out: str
    err: str


def command(capture: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    """Run a command in this process, and undo what the command line does to a process."""
    capture.readouterr()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(threading, "excepthook", threading.excepthook)
        patch.setattr(sys, "unraisablehook", sys.unraisablehook)
        code = execute(arguments)
    said = capture.readouterr()
    return Answer(code, said.out, said.err)


def lines(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> bytes:
    """A CSV file of the rows."""
    return ("\n".join(",".join(each) for each in (header, *rows)) + "\n").encode()


def iter_files_below(*folders: Path) -> Iterator[Path]:
    """All files in the folders, whatever is removed meanwhile."""
    for folder in folders:
        for each in folder.rglob("*"):
            with contextlib.suppress(OSError):
                if each.is_file():
                    yield each
