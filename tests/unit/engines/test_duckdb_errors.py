"""Every class of DuckDB's errors, at every stage: what it is taken for, and that nothing leaks.

A connection is rigged so that the statements of a stage raise, each time they are run, and so are
the streams of our own readers. What is asked for, figures or single records, comes out right where
a more careful reader may take over; all else is a Failure with a code of its own, or a bug of ours,
and never shows the text of the error.
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
from oracle.engine import get

from dprelease.engines.duckdb import execute, hash_parts, record_codes
from dprelease.errors import ExitCode, Failure, InternalError
from dprelease.expressions.sqltext import Sql
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.sources.csv import csv_reader, csv_source
from dprelease.sources.parquet import parquet_schema as parquet_files
from dprelease.sources.parquet import parquet_source
from dprelease.sources.shared.column_layout import ColumnLayout

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


INPUTS = (InputColumn("g", ColumnType.STRING), InputColumn("x", ColumnType.FLOAT))
GROUP = Group("g", ColumnType.STRING, ("a", "b"), keys=("a", "b"))
GRID = Grid(Fraction(1), 0, 10)
KINDS = ("figures", "records", "records of units")


def request(folder: Path, form: str, kind: str = "figures") -> AggregateRequest | RecordRequest:
    """Two cells and a number in each; the first record has a value that must not be shown."""
    path, texts, numbers = folder / f"t.{form}", [SECRET, "a", "b", "a"], [1.0, 2.0, 4.0, 8.0]
    if form == "csv":
        rows = "".join(f"{g},{x}\n" for g, x in zip(texts, numbers, strict=True))
        path.write_text(f"g,x\n{rows}")
    else:
        pq.write_table(pa.table({"g": texts, "x": numbers}), path)
    source = Source(str(path), form)
    if kind == "figures":
        measures = (Measure(MeasureKind.SUM, Quantity("x", GRID)),)
        return AggregateRequest(source, INPUTS, (GROUP,), measures)
    bound = Bound("g", 9, 1, 9, 0) if kind == "records of units" else None
    return RecordRequest(source, INPUTS, (GROUP, Quantity("x", GRID, null_fill=0)), bound)


def answer(asked: AggregateRequest | RecordRequest) -> list[Any]:
    if isinstance(asked, AggregateRequest):
        return [list(each) for each in get("duckdb").aggregate(asked).reveal()]
    batches = get("duckdb").records(asked).reveal()
    return sorted(row for batch in batches for row in zip(*map(list, batch), strict=True))


ANSWERS = {AggregateRequest: [[10, 4]], RecordRequest: [(-1, 1), (0, 2), (0, 8), (1, 4)]}


def outcome(asked: AggregateRequest | RecordRequest, kind: str = "", inspects: bool = False) -> str:
    """What comes of it, in the words of the table; fails if anything of the error can be seen.

    A bug is one of that ``kind``, or else of some class of DuckDB's.
    """
    problem: Failure | InternalError | None = None
    try:
        if inspects:
            get("duckdb").inspect(asked.source, asked.inputs)
        else:
            assert answer(asked) == ANSWERS[type(asked)]
    except (Failure, InternalError) as raised:
        problem = raised
    if problem is None:
        return RIGHT
    assert SECRET not in "".join(traceback.format_exception(problem)) + repr(problem)
    if isinstance(problem, InternalError):
        assert problem.kind in ({kind} if kind else classes())
        return BUG
    (complaint,) = problem.complaints
    early = complaint.code < DATA  # found before anything was charged
    assert problem.exit_code is (ExitCode.DATA if early else ExitCode.AFTER_CHARGE)
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
        found[stage] = outcome(asked, name)
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


# --- streams of our own readers -------------------------------------------------------------------

STREAMS = {
    OSError(5, SECRET): DATA,
    MemoryError(SECRET): MEMORY,
    pa.ArrowInvalid(SECRET): BUG,
    pa.ArrowNotImplementedError(SECRET): BUG,
    ValueError(SECRET): BUG,
    TypeError(SECRET): BUG,
    RuntimeError(SECRET): BUG,
    RecursionError(SECRET): BUG,
}


def break_streams(patch: pytest.MonkeyPatch, raised: BaseException) -> None:
    """Have the careful readers take over, and stop at the first batch."""

    def broken(*_: object) -> Iterator[Any]:
        raise type(raised)(*raised.args)  # one that is kept would keep the connection

    patch.setattr(csv_reader.Splitter, "iter_columns", broken)
    patch.setattr(ColumnLayout, "build_batch", broken)
    for table in (csv_source.CsvTable, parquet_source.ParquetTable):
        patch.setattr(table, "fast", lambda _table: None)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("raised", STREAMS, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_what_stops_a_careful_reader(
    kind: str, raised: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_streams(monkeypatch, raised)
    for form in STAGES:
        found = outcome(request(tmp_path, form, kind), type(raised).__name__)
        assert found == STREAMS[raised]


@pytest.mark.parametrize("form", STAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_within_a_careful_reader_is_one(
    kind: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_streams(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        answer(request(tmp_path, form, kind))


@pytest.mark.parametrize("kind", KINDS[:2])
def test_ctrl_c_within_a_statement_is_an_interruption(kind: str, tmp_path: Path) -> None:
    asked = request(tmp_path, "csv", kind)
    with Path(asked.source.pattern).open("a") as file:
        file.write("a,1\n" * 3_000_000)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        answer(asked)
    timer.join()


def deep(*_: object) -> None:
    raise RecursionError(SECRET)


def short(*_: object) -> None:
    def empty() -> Iterator[None]:
        yield next(iter(()))

    list(empty())


@pytest.mark.parametrize(("broken", "error"), [(deep, "RecursionError"), (short, "RuntimeError")])
@pytest.mark.parametrize(
    ("form", "kind", "place"),
    [
        ("csv", "figures", (execute, "compute_exact_answer")),
        ("parquet", "figures", (execute, "compute_exact_answer")),
        ("csv", "records", (record_codes, "AllCodes")),
        ("parquet", "records", (record_codes, "fetch_codes")),
    ],
)
def test_a_mistake_of_ours_is_no_interruption(
    form: str, kind: str, place: tuple[Any, str], broken: Any, error: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(*place, broken)
    assert outcome(request(tmp_path, form, kind), error) == BUG


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


# --- streams of records ---------------------------------------------------------------------------


class RiggedLater:
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


# Class -> what a stream of records takes it for: of CSV and of Parquet, as long as nothing was
# handed on, and then.
OF_RECORDS = {
    "ConversionException": (BUG, BUG, BUG),
    "Error": (RIGHT, BUG, BUG),
    "InvalidInputException": (RIGHT, BUG, BUG),
    "NotImplementedException": (RIGHT, BUG, BUG),
    "IOException": (DATA, DATA, DATA),
    "OutOfMemoryException": (RIGHT, MEMORY, MEMORY),
    "InternalException": (RIGHT, BUG, BUG),
    "InterruptException": (BUG, BUG, BUG),
    "BinderException": (BUG, BUG, BUG),
    "ResourceInUseException": (BUG, BUG, BUG),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", OF_RECORDS)
@pytest.mark.parametrize("form", STAGES)
def test_a_class_before_and_after_the_first_look(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, error = request(tmp_path, form, "records"), getattr(duckdb, name)
    honest = duckdb.connect
    found = []
    for after in (0, 1):
        monkeypatch.setattr(
            duckdb, "connect", lambda at, after=after: RiggedLater(honest(at), error, after, form)
        )
        found.append(outcome(asked))
    csv, parquet, then = OF_RECORDS[name]
    # Parquet is looked at once
    assert found == ([csv, then] if form == "csv" else [parquet, RIGHT])


@pytest.mark.parametrize("form", STAGES)
def test_units_that_never_fit_are_out_of_memory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest = request(tmp_path, form, "records of units"), duckdb.connect
    monkeypatch.setattr(hash_parts, "MOST_PARTS", 4)
    error = duckdb.OutOfMemoryException
    monkeypatch.setattr(
        duckdb, "connect", lambda at: RiggedLater(honest(at), error, int(form == "csv"), form, True)
    )
    assert outcome(asked) == MEMORY


@pytest.mark.parametrize(("form", "bounded"), [("csv", False), ("csv", True), ("parquet", True)])
def test_an_error_within_the_stream(
    form: str, bounded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow makes one class of all of DuckDB's, with its text."""
    asked = request(tmp_path, form, KINDS[1 + bounded])
    codes = "SELECT CAST(0 AS BIGINT) AS x0, CAST(i AS BIGINT) AS x1"
    late = f"{codes} FROM (SELECT IF(j > 900000, '{SECRET}', '1') AS i FROM range(1000000) t(j))"
    monkeypatch.setattr(record_codes, "select_codes", lambda *_: Sql(late))
    # in a table that is kept it is found as any other error
    assert outcome(asked) == (BUG if bounded else DATA)
    for error, expected in (
        (OSError(5, SECRET), DATA),
        (pa.ArrowInvalid(SECRET), DATA),
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


def test_a_value_that_comes_between_two_looks_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest = request(tmp_path, "csv", "records"), record_codes.iter_code_batches

    def changing(*given: Any) -> Iterator[Any]:
        with Path(asked.source.pattern).open("a") as file:
            file.write(f"a,{SECRET}\n" * 100_000)
        yield from honest(*given)

    monkeypatch.setattr(record_codes, "iter_code_batches", changing)
    assert outcome(asked) == DATA


@pytest.mark.parametrize("engine", ["duckdb", "reference"])
def test_the_stream_shows_nothing_of_itself(engine: str, tmp_path: Path) -> None:
    records = get(engine).records(request(tmp_path, "csv", "records"))
    assert "private" in repr(records)
    with pytest.raises(TypeError):
        records.__reduce__()
