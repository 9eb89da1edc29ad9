"""What stops a stream of records: what it is taken for, and that nothing of the data shows."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle.engine import get

from dprelease.engines.duckdb import hash_parts, record_codes
from dprelease.errors import ExitCode, Failure, InternalError
from dprelease.expressions.sqltext import Sql
from dprelease.model import (
    Bound,
    ColumnType,
    Grid,
    Group,
    InputColumn,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.sources.csv import csv_reader, csv_source
from dprelease.sources.csv import line_check as csv_scan
from dprelease.sources.parquet import parquet_source
from dprelease.sources.shared.record_stream import Fields

SECRET = "canary-81c5"
RIGHT, BUG = "right", "bug"
LOST, MEMORY = "E501", "E510"
FORMS = ("csv", "parquet")


def request(folder: Path, form: str, bounded: bool = False) -> RecordRequest:
    """Four records; the first has a value that must not be shown."""
    path, texts, numbers = folder / f"t.{form}", [SECRET, "a", "b", "a"], [1.0, 2.0, 4.0, 8.0]
    if form == "csv":
        rows = "".join(f"{g},{x}\n" for g, x in zip(texts, numbers, strict=True))
        path.write_text(f"g,x\n{rows}")
    else:
        pq.write_table(pa.table({"g": texts, "x": numbers}), path)
    return RecordRequest(
        Source(str(path), form),
        (InputColumn("g", ColumnType.STRING), InputColumn("x", ColumnType.FLOAT)),
        (
            Group("g", ColumnType.STRING, ("a", "b"), keys=("a", "b")),
            Quantity("x", Grid(Fraction(1), 0, 10), null_fill=0),
        ),
        Bound("g", 9, 1, 9, 0) if bounded else None,
    )


def outcome(asked: RecordRequest) -> str:
    """What comes of it; fails if anything of an error can be seen."""
    found = None
    try:
        rows: list[tuple[int, ...]] = []
        for batch in get("duckdb").records(asked).reveal():
            rows += zip(*(column.tolist() for column in batch), strict=True)
        assert sorted(rows) == [(-1, 1), (0, 2), (0, 8), (1, 4)]
    except (Failure, InternalError) as problem:
        found = problem
    if found is None:
        return RIGHT
    assert SECRET not in "".join(traceback.format_exception(found)) + repr(found)
    if isinstance(found, InternalError):
        return BUG
    assert found.exit_code is ExitCode.AFTER_CHARGE
    return found.complaints[0].code


class Rigged:
    """A connection that raises as it reads files, from the statement ``after`` on."""

    def __init__(
        self, real: Any, error: type[duckdb.Error], after: int, form: str, table: bool = False
    ) -> None:
        self.real, self.error, self.left, self.table = real, error, after, table
        self.mark = "read_csv" if form == "csv" else '"records"'

    def _count(self, sql: str) -> None:
        if self.mark in sql or (self.table and "CREATE OR REPLACE" in sql):
            self.left -= 1
            if self.left < 0:
                raise self.error(f"{SECRET} is not a number")

    def execute(self, sql: str, *more: object) -> Any:
        self._count(sql)
        return self.real.execute(sql, *more)

    def sql(self, sql: str) -> Any:
        self._count(sql)
        return self.real.sql(sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


# Class -> what it is taken for: of CSV and of Parquet, as long as nothing was handed on, and then.
CLASSES = {
    "ConversionException": (BUG, BUG, BUG),
    "Error": (RIGHT, BUG, BUG),
    "InvalidInputException": (RIGHT, BUG, BUG),
    "NotImplementedException": (RIGHT, BUG, BUG),
    "IOException": (LOST, LOST, LOST),
    "OutOfMemoryException": (RIGHT, MEMORY, MEMORY),
    "InternalException": (RIGHT, BUG, BUG),
    "InterruptException": (BUG, BUG, BUG),
    "BinderException": (BUG, BUG, BUG),
    "ResourceInUseException": (BUG, BUG, BUG),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("form", FORMS)
def test_a_class_before_and_after_the_first_look(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest, error = request(tmp_path, form), duckdb.connect, getattr(duckdb, name)
    found = []
    for after in (0, 1):
        monkeypatch.setattr(
            duckdb, "connect", lambda at, after=after: Rigged(honest(at), error, after, form)
        )
        found.append(outcome(asked))
    csv, parquet, then = CLASSES[name]
    # Parquet is looked at once
    assert found == ([csv, then] if form == "csv" else [parquet, RIGHT])


@pytest.mark.parametrize("form", FORMS)
def test_units_that_never_fit_are_out_of_memory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest = request(tmp_path, form, bounded=True), duckdb.connect
    monkeypatch.setattr(hash_parts, "MOST_PARTS", 4)
    error = duckdb.OutOfMemoryException
    monkeypatch.setattr(
        duckdb, "connect", lambda at: Rigged(honest(at), error, int(form == "csv"), form, True)
    )
    assert outcome(asked) == MEMORY


@pytest.mark.parametrize(("form", "bounded"), [("csv", False), ("csv", True), ("parquet", True)])
def test_an_error_within_the_stream(
    form: str, bounded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow makes one class of all of DuckDB's, with its text."""
    asked = request(tmp_path, form, bounded)
    codes = "SELECT CAST(0 AS BIGINT) AS x0, CAST(i AS BIGINT) AS x1"
    late = f"{codes} FROM (SELECT IF(j > 900000, '{SECRET}', '1') AS i FROM range(1000000) t(j))"
    monkeypatch.setattr(record_codes, "select_codes", lambda *_: Sql(late))
    # in a table that is kept it is found as any other error
    assert outcome(asked) == (BUG if bounded else LOST)
    for error, expected in (
        (OSError(5, SECRET), LOST),
        (pa.ArrowInvalid(SECRET), LOST),
        (MemoryError(SECRET), MEMORY),
        (pa.ArrowMemoryError(SECRET), MEMORY),
    ):

        class Broken:
            def sql(self, _: str, error: Exception = error) -> None:
                raise error

        def whole(*_: object, broken: Any = Broken) -> Iterator[Any]:
            yield from record_codes.iter_code_batches(broken(), Sql(""))

        monkeypatch.setattr(record_codes, "read_fast", whole)
        monkeypatch.setattr(record_codes, "read_carefully", whole)
        assert outcome(asked) == expected


def unknown(*_: object) -> Any:
    """Fields that no statement can select from."""
    columns = {"g": Sql("g"), "x": Sql("x")}
    return Fields(Sql("(SELECT 1 AS nothing) AS n"), columns, {"g": "VARCHAR", "x": "DOUBLE"})


def careful_only(patch: pytest.MonkeyPatch, raised: BaseException) -> None:
    """Have the careful readers take over, and stop."""

    def broken() -> Iterator[Any]:
        yield from ()
        raise type(raised)(*raised.args)  # one that is kept would keep the connection

    for module in (csv_reader, parquet_source):
        honest = module.open_table
        patch.setattr(
            module, "open_table", lambda *given, honest=honest: (honest(*given)[0], broken())
        )
    patch.setattr(csv_scan, "CSV_LINES", frozenset({"BinderException"}))
    patch.setattr(csv_source.ByDuckDB, "fields", property(unknown))


STREAMS = [
    (OSError(5, SECRET), LOST, LOST),
    (MemoryError(SECRET), MEMORY, MEMORY),
    (pa.ArrowInvalid(SECRET), BUG, BUG),
    (ValueError(SECRET), BUG, BUG),
    (RuntimeError(SECRET), BUG, BUG),
    (RecursionError(SECRET), BUG, BUG),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(
    ("raised", "of_csv", "of_parquet"), STREAMS, ids=[type(row[0]).__name__ for row in STREAMS]
)
def test_what_stops_a_careful_reader(
    raised: Exception,
    of_csv: str,
    of_parquet: str,
    bounded: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    careful_only(monkeypatch, raised)
    for form, expected in (("csv", of_csv), ("parquet", of_parquet)):
        assert outcome(request(tmp_path, form, bounded)) == expected


@pytest.mark.parametrize("form", FORMS)
def test_an_interruption_within_a_careful_reader_is_one(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careful_only(monkeypatch, KeyboardInterrupt())
    for bounded in (False, True):
        with pytest.raises(KeyboardInterrupt):
            list(get("duckdb").records(request(tmp_path, form, bounded)).reveal())


def test_ctrl_c_is_an_interruption(tmp_path: Path) -> None:
    asked = request(tmp_path, "csv")
    with Path(asked.source.pattern).open("a") as file:
        file.write("a,1\n" * 3_000_000)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(get("duckdb").records(asked).reveal())
    timer.join()


@pytest.mark.parametrize("form", FORMS)
def test_a_mistake_of_ours_is_no_interruption(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> None:
        def empty() -> Iterator[None]:
            yield next(iter(()))

        list(empty())

    monkeypatch.setattr(record_codes, "AllCodes" if form == "csv" else "fetch_codes", short)
    assert outcome(request(tmp_path, form)) == BUG


def test_a_value_that_comes_between_two_looks_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest = request(tmp_path, "csv"), record_codes.iter_code_batches

    def changing(*given: Any) -> Iterator[Any]:
        with Path(asked.source.pattern).open("a") as file:
            file.write(f"a,{SECRET}\n" * 100_000)
        yield from honest(*given)

    monkeypatch.setattr(record_codes, "iter_code_batches", changing)
    assert outcome(asked) == LOST


@pytest.mark.parametrize("engine", ["duckdb", "reference"])
def test_the_stream_shows_nothing_of_itself(engine: str, tmp_path: Path) -> None:
    records = get(engine).records(request(tmp_path, "csv"))
    assert "private" in repr(records)
    with pytest.raises(TypeError):
        records.__reduce__()
