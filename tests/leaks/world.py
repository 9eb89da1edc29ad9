"""A release of every statistic over a few records, run as the command line runs it, and its traces.

A run is in this process, so that the noise, the clock and what fails can be chosen. What it leaves
is taken in as a whole: streams, exit code, files, ledger.
"""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
import sys
import threading
import warnings
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hashed_bytes import HashedEntropy
from msgspec import structs
from oracle.engine import get

from dprelease.cli.guard import execute
from dprelease.release import run as pipeline

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "2026-03-01T12:00:00+00:00"
HEADER = ["patient_id", "visit_date", "region", "department", "diagnosis", "age", "urgent",
          "waiting_days", "cost", "satisfaction", "note"]  # fmt: skip
Rows = Sequence[Sequence[str]]

ROWS: Rows = [
    (f"P{number % 17:03}", f"2025-01-{1 + number % 28:02}",
     ("north", "south", "east", "west", "central", "islands")[number % 6],
     ("general", "emergency", "surgery", "paediatrics")[number % 4],
     ("asthma", "injury", "cancer", "back pain", "hypertension")[number % 5],
     str(number * 7 % 100), ("true", "false")[number % 3 == 0], str(number * 11 % 180),
     f"{number * 37 % 2000}.25", str(number % 5), "first visit")
    for number in range(40)
]  # fmt: skip

TYPES = {
    "visit_date": pa.date32(),
    "age": pa.int64(),
    "urgent": pa.bool_(),
    "waiting_days": pa.int64(),
    "cost": pa.float64(),
    "satisfaction": pa.int64(),
}


@dataclass(frozen=True)
class Traces:
    """All that a run leaves behind for others to see."""

    code: int
    out: str
    err: str
    files: Mapping[str, bytes]
    modes: Mapping[str, int]
    entries: Sequence[tuple[Any, ...]] = ()  # of the ledger, without payloads
    payloads: Sequence[bytes] = ()
    ledger: bytes = b""

    def everything(self) -> bytes:
        """All bytes, packed ones also unpacked, to be searched."""
        tables = [
            str(pq.read_table(io.BytesIO(content)).to_pydict()).encode()
            + str(pq.read_metadata(io.BytesIO(content)).to_dict()).encode()
            for name, content in self.files.items()
            if name.endswith(".parquet")
        ]
        streams = [self.out.encode(), self.err.encode(), repr(self.entries).encode()]
        return b"\0".join([*streams, *self.files.values(), *tables, *self.payloads, self.ledger])


def type_values(rows: Rows) -> pa.Table:
    """The records as a table of fitting types."""
    columns = {name: [row[at] for row in rows] for at, name in enumerate(HEADER)}
    arrays = {
        name: pa.array([each or None for each in values], pa.string()).cast(
            TYPES.get(name, pa.string())
        )
        for name, values in columns.items()
    }
    return pa.table(arrays)


@dataclass
class World:
    """A folder with a spec, its data and what a run makes of them."""

    folder: Path
    name: str = "every_statistic_rows"
    engine: str = "duckdb"
    reads: str = "csv"
    writes: str = "csv"
    more: str = ""  # TOML that is added to the spec
    keys: str = ""  # TOML that is added to its [data]
    entropy: str = "leaks"
    replayed: Sequence[Any] = ()  # published instead of what is drawn, table by table
    drawn: list[Any] = field(default_factory=list)  # by the last run
    plans: dict[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> Path:
        return self.folder / "spec.toml"

    @property
    def data(self) -> Path:
        return self.folder / f"data.{self.reads}"  # a folder too may be named so

    def write_spec(self) -> None:
        text = (ROOT / "release_specs" / f"{self.name}.toml").read_text(encoding="utf-8")
        text = re.sub(
            r'(?m)^path = "\.\./sample_data/[^"]*"',
            f'path = "data.{self.reads}"\n{self.keys}',
            text,
        )
        path = f'path = "out"\nformat = "{self.writes}"'
        text = re.sub(r'(?m)^path = "\.\./out/[^"]*"', path, text)
        if self.reads != "csv":
            text = re.sub(r"(?m)^null_values = .*$", "", text)
        self.spec.write_text(text + self.more, encoding="utf-8")

    def write(self, rows: Rows) -> None:
        """The records as a CSV file, or as a Parquet file of fitting types."""
        if self.reads == "csv":
            lines = [",".join(each) for each in (HEADER, *rows)]
            self.data.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return
        pq.write_table(type_values(rows), self.data)

    def forget(self) -> None:
        """Remove ledger and output."""
        for each in [*self.folder.glob("*.sqlite*"), *self.folder.glob("out")]:
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()

    def run(self, *options: str) -> Traces:
        """``dprelease run`` on a fresh ledger."""
        self.forget()
        return self.again(*options)

    def again(self, *options: str) -> Traces:
        """``dprelease run`` on the ledger there is."""
        self.drawn = []
        out, err = io.StringIO(), io.StringIO()
        with self._patched(), redirect_stdout(out), redirect_stderr(err):
            code = execute(["run", *options, str(self.spec)])
        return self._traces(code, out.getvalue(), err.getvalue())

    @contextmanager
    def _patched(self) -> Any:
        """Noise, engine, clock and plan as chosen, for a while."""
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(threading, "excepthook", threading.excepthook)
            patch.setattr(sys, "unraisablehook", sys.unraisablehook)
            patch.setattr(pipeline, "SystemEntropy", lambda: HashedEntropy(self.entropy))
            patch.setattr("dprelease.ledger.store.format_utc_now", lambda: CLOCK)
            patch.setattr(pipeline, "plan_and_certify", self._plan)
            patch.setattr(pipeline, "privatize", self._privatize)
            patch.setattr(pipeline, "relocate", self._relocated)
            patch.setattr(pipeline, "get", get)
            yield

    def _plan(self, release: Any) -> Any:
        key = self.spec.read_text(encoding="utf-8")
        if key not in self.plans:
            self.plans[key] = CONFIRMED(release)
        return self.plans[key]

    def _privatize(self, *arguments: Any, **named: Any) -> Any:
        self.drawn.append(PRIVATIZE(*arguments, **named))
        return self.replayed[len(self.drawn) - 1] if self.replayed else self.drawn[-1]

    def _relocated(self, *arguments: Any) -> Any:
        release = RELOCATED(*arguments)
        return structs.replace(release, data=structs.replace(release.data, engine=self.engine))

    def _traces(self, code: int, out: str, err: str) -> Traces:
        found = sorted(each for each in (self.folder / "out").rglob("*"))
        book = self.folder / "dprelease-ledger.sqlite"
        ledger = book.read_bytes() if book.exists() else b""
        entries: list[tuple[Any, ...]] = []
        payloads: list[bytes] = []
        if ledger:
            with closing(sqlite3.connect(book)) as connection:
                entries = connection.execute("SELECT * FROM entries ORDER BY seq").fetchall()
                rows = connection.execute("SELECT bytes FROM payloads ORDER BY seq").fetchall()
                payloads = [zlib.decompress(row[0]) for row in rows]
        return Traces(
            code,
            out,
            err,
            {
                str(each.relative_to(self.folder)): each.read_bytes()
                for each in found
                if each.is_file()
            },
            {str(each.relative_to(self.folder)): each.stat().st_mode for each in found},
            entries,
            payloads,
            ledger,
        )


CONFIRMED, PRIVATIZE, RELOCATED = (
    pipeline.plan_and_certify,
    pipeline.privatize,
    pipeline.relocate,
)
