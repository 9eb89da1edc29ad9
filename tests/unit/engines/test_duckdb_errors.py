"""Every class of DuckDB's errors, at every stage: what it is taken for, and that nothing leaks.

A connection is rigged so that the statements of a stage raise, each time they are run. The figures
come out right where a more careful reader may take over; all else is a Failure with a code of
its own, or a bug of ours, and never shows the text of the error.
"""

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

from dprelease.engines import get
from dprelease.errors import ExitCode, Failure, InternalError
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.csv import csv_reader
from dprelease.sources.parquet import parquet_schema as parquet_files
from dprelease.sources.parquet import parquet_source

SECRET = "canary-81c5"
RIGHT, BUG = "right", "bug"
DATA, MEMORY = "E501", "E510"  # exit code 5

STAGES = {
    "csv": ("settings", "labels", "read", "fetch", "records"),
    "parquet": ("settings", "labels", "read", "fetch", "records"),
}

# Class -> what it is taken for, where that is no bug. "fetch" is as "read".
TABLE: dict[str, dict[str, str]] = {
    "ConversionException": {"parquet read": RIGHT},
    "Error": {"csv read": RIGHT, "parquet read": RIGHT},
    "InternalException": {"csv read": RIGHT, "parquet read": RIGHT},
    "InvalidInputException": {"csv read": RIGHT, "parquet read": RIGHT},
    "IOException": {
        **{f"csv {stage}": DATA for stage in STAGES["csv"]},
        **{f"parquet {stage}": DATA for stage in STAGES["parquet"]},
        "parquet read": RIGHT,
    },
    "NotImplementedException": {"csv read": RIGHT, "parquet read": RIGHT},
    "OutOfMemoryException": {
        **{f"csv {stage}": MEMORY for stage in STAGES["csv"]},
        **{f"parquet {stage}": MEMORY for stage in STAGES["parquet"]},
        "csv read": RIGHT,
        "parquet read": RIGHT,
    },
    "OutOfRangeException": {"parquet read": RIGHT},
}
# What else there is; a class that a later DuckDB adds has to be thought about.
BUGS = {
    "BinderException", "CatalogException", "ConnectionException", "ConstraintException",
    "DataError", "DatabaseError", "DependencyException", "FatalException",
    "HTTPException", "IntegrityError", "InternalError", "InterruptException",
    "InvalidTypeException", "NotSupportedError", "OperationalError",
    "ParserException", "PermissionException", "ProgrammingError", "ResourceInUseException",
    "SequenceException", "SerializationException", "SyntaxException", "TransactionException",
    "TypeMismatchException",
}  # fmt: skip


def classes(of: type[duckdb.Error] = duckdb.Error) -> set[str]:
    return {of.__name__}.union(*(classes(each) for each in of.__subclasses__()))


def test_the_table_knows_every_class() -> None:
    assert not BUGS & TABLE.keys()
    assert classes() <= BUGS | TABLE.keys()


class Rigged:
    """A connection that raises in the stages given."""

    def __init__(self, real: Any, raised: dict[str, type[duckdb.Error]]) -> None:
        self.real, self.raised, self.stage = real, raised, ""

    def enter(self, stage: str) -> None:
        if stage in self.raised:
            raise self.raised[stage](f"{SECRET} is not a number")

    def execute(self, sql: str, *more: object) -> Rigged:
        self.stage = stage_of(sql)
        self.enter(self.stage)
        if not sql.startswith("SET "):  # the database is that of all tests
            self.real.execute(sql, *more)
        return self

    def _fetch(self, how: str, *more: int) -> Any:
        if self.stage == "read":
            self.enter("fetch")
        return getattr(self.real, how)(*more)

    def fetchall(self) -> Any:
        return self._fetch("fetchall")

    def fetchmany(self, size: int) -> Any:
        return self._fetch("fetchmany", size)

    def fetchnumpy(self) -> Any:
        return self._fetch("fetchnumpy")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def stage_of(sql: str) -> str:
    marks = {
        "SET ": "settings",
        "duckdb_optimizers": "settings",
        "CREATE TEMP TABLE": "labels",
        "read_csv": "read",
        "parquet": "read",
        "records": "records",
    }
    return next(stage for mark, stage in marks.items() if mark in sql)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """One for all tests: to make one takes longer than to ask it."""
    with duckdb.connect(":memory:") as made:
        yield made


@pytest.fixture
def rig(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> dict[str, type[duckdb.Error]]:
    """What each stage raises, to be filled."""
    raised: dict[str, type[duckdb.Error]] = {}
    monkeypatch.setattr(duckdb, "connect", lambda _where: Rigged(database.cursor(), raised))
    return raised


def request(folder: Path, form: str) -> AggregateRequest:
    """Two cells and a number in each; the first record has a value that must not be shown."""
    path, texts, numbers = folder / f"t.{form}", [SECRET, "a", "b", "a"], [1.0, 2.0, 4.0, 8.0]
    if form == "csv":
        rows = "".join(f"{g},{x}\n" for g, x in zip(texts, numbers, strict=True))
        path.write_text(f"g,x\n{rows}")
    else:
        pq.write_table(pa.table({"g": texts, "x": numbers}), path)
    group = Group("g", ColumnType.STRING, ("a", "b"), keys=("a", "b"))
    return AggregateRequest(
        Source(str(path), form),
        (InputColumn("g", ColumnType.STRING), InputColumn("x", ColumnType.FLOAT)),
        (group,),
        (Measure(MeasureKind.SUM, Quantity("x", Grid(Fraction(1), 0, 10))),),
    )


def outcome(asked: AggregateRequest, inspects: bool = False) -> str:
    """What comes of it, in the words of the table; fails if anything of the error can be seen."""
    engine, found = get("duckdb"), None
    try:
        if inspects:
            engine.inspect(asked.source, asked.inputs)
        else:
            assert [list(each) for each in engine.aggregate(asked).reveal()] == [[10, 4]]
    except (Failure, InternalError) as problem:
        found = problem
    if found is None:
        return RIGHT
    assert SECRET not in "".join(traceback.format_exception(found)) + repr(found)
    if isinstance(found, InternalError):
        assert found.kind in classes()
        return BUG
    (complaint,) = found.complaints
    early = complaint.code < DATA  # found before anything was charged
    assert found.exit_code is (ExitCode.DATA if early else ExitCode.AFTER_CHARGE)
    return complaint.code


@pytest.mark.one_in(7)
@pytest.mark.parametrize("form", STAGES)
@pytest.mark.parametrize("name", sorted(BUGS | TABLE.keys()))
def test_a_class_at_every_stage(
    name: str, form: str, tmp_path: Path, rig: dict[str, type[duckdb.Error]]
) -> None:
    if not hasattr(duckdb, name):
        pytest.skip("this DuckDB has no such class")
    asked = request(tmp_path, form)
    found, expected = {}, {}
    for stage in STAGES[form]:
        rig.clear()
        rig[stage] = getattr(duckdb, name)
        if stage == "records":  # the fast reader has to give up first
            rig["read"] = duckdb.InvalidInputException
        found[stage] = outcome(asked)
        known = TABLE.get(name, {})
        expected[stage] = known.get(f"{form} {stage.replace('fetch', 'read')}", BUG)
    assert found == expected


@pytest.mark.parametrize("form", STAGES)
def test_a_file_that_goes_while_the_session_is_opened_is_no_bug(
    form: str, tmp_path: Path, rig: dict[str, type[duckdb.Error]]
) -> None:
    asked = request(tmp_path, form)
    rig["read"] = duckdb.PermissionException
    assert outcome(asked) == BUG
    honest = Rigged.enter

    def vanish(self: Rigged, stage: str) -> None:
        Path(asked.source.pattern).unlink(missing_ok=True)
        honest(self, stage)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rigged, "enter", vanish)
        assert outcome(asked) == DATA
        if form == "parquet":
            assert outcome(asked, inspects=True) == "E401"


def test_a_class_below_a_harmless_one_is_not_harmless() -> None:
    from dprelease.engines.duckdb.duckdb_errors import CSV_LINES, is_of_class

    class Odd(duckdb.InvalidInputException):
        pass

    assert is_of_class(duckdb.InvalidInputException(SECRET), CSV_LINES)
    assert not is_of_class(Odd(SECRET), CSV_LINES)
    assert not is_of_class(duckdb.ProgrammingError(SECRET), CSV_LINES)


STREAMS = [
    (OSError(5, SECRET), DATA, DATA),
    (MemoryError(SECRET), MEMORY, MEMORY),
    (pa.ArrowInvalid(SECRET), BUG, BUG),
    (pa.ArrowNotImplementedError(SECRET), BUG, BUG),
    (ValueError(SECRET), BUG, BUG),
    (TypeError(SECRET), BUG, BUG),
    (RuntimeError(SECRET), BUG, BUG),
    (RecursionError(SECRET), BUG, BUG),
]


def break_streams(patch: pytest.MonkeyPatch, raised: BaseException) -> None:
    """Have the readers of ours stop at the first batch."""

    def broken() -> Iterator[Any]:
        yield from ()
        raise type(raised)(*raised.args)  # one that is kept would keep the connection

    for module in (csv_reader, parquet_source):
        honest = module.open_table
        patch.setattr(
            module, "open_table", lambda *given, honest=honest: (honest(*given)[0], broken())
        )


@pytest.mark.parametrize(
    ("raised", "of_csv", "of_parquet"), STREAMS, ids=[type(row[0]).__name__ for row in STREAMS]
)
def test_what_stops_a_careful_reader(
    raised: Exception,
    of_csv: str,
    of_parquet: str,
    tmp_path: Path,
    rig: dict[str, type[duckdb.Error]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig["read"] = duckdb.InvalidInputException

    break_streams(monkeypatch, raised)
    for form, expected in (("csv", of_csv), ("parquet", of_parquet)):
        asked = request(tmp_path, form)
        if expected != BUG:
            assert outcome(asked) == expected
            continue
        with pytest.raises(InternalError) as caught:
            get("duckdb").aggregate(asked)
        assert caught.value.kind == type(raised).__name__
        assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("form", STAGES)
def test_an_interruption_within_a_careful_reader_is_one(
    form: str,
    tmp_path: Path,
    rig: dict[str, type[duckdb.Error]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig["read"] = duckdb.InvalidInputException

    break_streams(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        get("duckdb").aggregate(request(tmp_path, form))


def test_ctrl_c_within_a_statement_is_an_interruption(tmp_path: Path) -> None:
    asked = request(tmp_path, "csv")
    with Path(asked.source.pattern).open("a") as file:
        file.write("a,1\n" * 3_000_000)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        get("duckdb").aggregate(asked)
    timer.join()


def deep(*_: object) -> None:
    raise RecursionError(SECRET)


def short(*_: object) -> None:
    def empty() -> Iterator[None]:
        yield next(iter(()))

    list(empty())


@pytest.mark.parametrize("form", STAGES)
@pytest.mark.parametrize(("broken", "kind"), [(deep, "RecursionError"), (short, "RuntimeError")])
def test_a_mistake_of_ours_is_no_interruption(
    form: str, broken: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dprelease.engines.duckdb import execute as duckdb_execute

    monkeypatch.setattr(duckdb_execute, "compute_exact_answer", broken)
    with pytest.raises(InternalError) as caught:
        get("duckdb").aggregate(request(tmp_path, form))
    assert caught.value.kind == kind


def test_the_scan_interrupts_the_fast_reader_and_the_careful_one_takes_over(
    tmp_path: Path, rig: dict[str, type[duckdb.Error]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dprelease.sources.csv.line_check import LineScan

    asked = request(tmp_path, "csv")
    rig["read"] = duckdb.InterruptException
    assert outcome(asked) == BUG

    with open(asked.source.pattern, "ab") as stream:
        stream.write(b"\0,1\n")
    monkeypatch.setattr(LineScan, "start", LineScan.run)
    monkeypatch.setattr(LineScan, "join", lambda _scan: None)
    assert outcome(asked) == RIGHT


def of_footers(patch: pytest.MonkeyPatch, raised: BaseException) -> None:
    def broken(*_: object) -> None:
        raise raised

    patch.setattr(parquet_files, "open_file", broken)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (OSError(5, SECRET), "E409"),
        (MemoryError(SECRET), "E409"),
        (pa.ArrowInvalid(SECRET), "E409"),
        (pa.ArrowNotImplementedError(SECRET), "E412"),
        (UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET), "E409"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_damaged_footer_is_refused_and_after_the_charge_lost(
    raised: Exception, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(tmp_path, "parquet")
    of_footers(monkeypatch, raised)
    assert outcome(asked, inspects=True) == code
    assert outcome(asked) == DATA


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (pa.ArrowInvalid(SECRET), DATA),
        (pa.ArrowNotImplementedError(SECRET), DATA),
        (OSError(5, SECRET), DATA),
        (pa.ArrowMemoryError(SECRET), MEMORY),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_damaged_page_is_data_that_is_lost(
    raised: Exception, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Iterator[Any]:
        yield from ()
        raise raised

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", broken)
    monkeypatch.setattr(parquet_source.ParquetTable, "fast", lambda _table: None)
    assert outcome(request(tmp_path, "parquet")) == expected
