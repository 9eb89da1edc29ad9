"""Structural faults stop before the charge, with fixed messages that hold no value."""

import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
from oracle.engine import get
from tables import COUNT

from dprelease.engines import open_for_table
from dprelease.engines.duckdb.duckdb_session import open_session
from dprelease.errors import ExitCode, Failure
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Dialect,
    Expression,
    Grid,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.shared import data_failures, files
from dprelease.sources.shared.first_lines import LINE_LIMIT

CANARY = "XCANARYX"
INPUTS = (InputColumn("n", ColumnType.FLOAT),)
ENGINES = pytest.mark.parametrize("engine", ["duckdb", "reference"])


def refused(engine: str, source: Source, inputs: tuple[InputColumn, ...] = INPUTS) -> str:
    complaint = tables.refused(source, *inputs, engine=engine)
    assert CANARY not in str(complaint)
    assert complaint.hint
    return complaint.code


@ENGINES
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "E403"),
        (b"NAME_%b,m\n1,2\n" % CANARY.encode(), "E405"),
        (b"N\n1\n", "E405"),
        (b"n,n\n1,2\n", "E406"),
        (b'n,"x\ny"\n1,2\n', "E404"),
        (b"n,\xff\n1,2\n", "E404"),
        (b"n," + b"x" * (2 << 20), "E404"),
    ],
)
def test_faulty_headers(tmp_path: Path, engine: str, content: bytes, code: str) -> None:
    path = tmp_path / "faulty.csv"
    path.write_bytes(content)
    assert refused(engine, Source(str(path), "csv")) == code


@ENGINES
@pytest.mark.parametrize("content", [b"n", b"n\n", b"\xef\xbb\xbfn\n1\n", b'"n",x\r\n1,2\r\n'])
def test_good_headers(tmp_path: Path, engine: str, content: bytes) -> None:
    path = tmp_path / "good.csv"
    path.write_bytes(content)
    get(engine).inspect(Source(str(path), "csv"), INPUTS)


@ENGINES
def test_without_a_header_an_empty_file_has_no_records(tmp_path: Path, engine: str) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    declared = Dialect(header=False, names=("n",))
    for path in (tmp_path, tmp_path / "*.csv", tmp_path / "empty.csv"):
        get(engine).inspect(Source(str(path), "csv", declared), INPUTS)
        assert refused(engine, Source(str(path), "csv")) == "E403"
    (tmp_path / "empty.parquet").write_bytes(b"")
    for dialect in (Dialect(), declared):
        source = Source(str(tmp_path / "empty.parquet"), "parquet", dialect)
        assert refused(engine, source) == "E403"


@ENGINES
@pytest.mark.parametrize("more", [0, 1])
def test_the_longest_header_does_not_depend_on_records(
    tmp_path: Path, engine: str, more: int
) -> None:
    header = b"n," + b"x" * (LINE_LIMIT - 2 + more)
    path = tmp_path / "long.csv"
    for end in (b"", b"\n", b"\r\n", b"\n1,2\n", b"\r\n1,2\r\n"):
        path.write_bytes(header + end)
        if more:
            assert refused(engine, Source(str(path), "csv")) == "E404"
        else:
            get(engine).inspect(Source(str(path), "csv"), INPUTS)


@ENGINES
def test_missing_files_and_other_things(tmp_path: Path, engine: str) -> None:
    assert refused(engine, Source(str(tmp_path / "none.csv"), "csv")) == "E401"
    assert refused(engine, Source(str(tmp_path / "*.csv"), "csv")) == "E401"
    assert refused(engine, Source(str(tmp_path), "csv")) == "E401"
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert refused(engine, Source(str(tmp_path / "loop.csv"), "csv")) == "E402"
    os.mkfifo(tmp_path / "pipe")
    assert refused(engine, Source(str(tmp_path / "pipe"), "csv")) == "E402"
    (tmp_path / "n.csv").write_text("n,m\n")
    (tmp_path / os.fsdecode(b"\xff.csv")).write_text("n,m\n")
    assert refused(engine, Source(str(tmp_path / "[!l]*.csv"), "csv")) == "E402"
    odd = Source(str(tmp_path / "n.csv"), "csv", Dialect(encoding="utf-16"))
    assert refused(engine, odd) == "E408"


@ENGINES
def test_files_with_different_headers(tmp_path: Path, engine: str) -> None:
    (tmp_path / "1.csv").write_text("n,m\n")
    (tmp_path / "2.csv").write_text("m,n\n")
    assert refused(engine, Source(str(tmp_path / "*.csv"), "csv")) == "E407"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "n.csv").write_text("n\n")

    def deny(*_: object) -> None:
        raise PermissionError(CANARY)

    monkeypatch.setattr(files, "check_file", deny)
    assert refused("duckdb", Source(str(tmp_path / "n.csv"), "csv")) == "E402"


@ENGINES
def test_faulty_parquet(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": [[CANARY]], "m": [1]}), path)
    assert refused(engine, Source(str(path), "parquet")) == "E412"
    missing = (InputColumn("absent", ColumnType.FLOAT),)
    assert refused(engine, Source(str(path), "parquet"), missing) == "E405"
    whole = path.read_bytes()
    for cut in (whole[: len(whole) // 2], b"PAR1", CANARY.encode()):
        path.write_bytes(cut)
        assert refused(engine, Source(str(path), "parquet")) == "E409"


@ENGINES
def test_a_timestamp_is_a_moment_or_a_day_and_no_number(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "zone.parquet"
    pq.write_table(pa.table({"n": pa.array([0], pa.timestamp("us", "UTC"))}), path)
    source = Source(str(path), "parquet")
    for kind in (ColumnType.TIMESTAMP, ColumnType.DATE):
        get(engine).inspect(source, (InputColumn("n", kind),))
    assert refused(engine, source, (InputColumn("n", ColumnType.INTEGER),)) == "E412"


@pytest.mark.parametrize("form", ["parquet", "arrow", "frame"])
def test_a_zone_that_the_type_names_and_the_spec_does_not(tmp_path: Path, form: str) -> None:
    zones = {"p": "Europe/Paris", "u": "UTC", "d": "Europe/Paris", "n": None, "who": "Asia/Tokyo"}
    zones |= {"offset": "+02:00", "odd": "\x1b[31m" + "x" * 200}
    table = pa.table({name: pa.array([0], pa.timestamp("us", zones[name])) for name in zones})
    engine = get("duckdb")
    if form == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
    elif form == "arrow":
        with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
            writer.write_table(table)
    else:
        engine = open_for_table("duckdb", "frame", table)
    inputs = (
        InputColumn("p", ColumnType.DATE),
        InputColumn("u", ColumnType.TIMESTAMP),
        InputColumn("d", ColumnType.DATE, zone="UTC"),
        InputColumn("n", ColumnType.DATE),
        InputColumn("who", ColumnType.STRING, opaque=True),
        InputColumn("offset", ColumnType.DATE),
        InputColumn("odd", ColumnType.DATE),
    )
    warnings = engine.inspect(Source(str(tmp_path / f"t.{form}"), form), inputs)
    assert [(warning.code, warning.key) for warning in warnings] == [
        ("W401", "columns.p"), ("W401", "columns.offset"), ("W401", "columns.odd"),
    ]  # fmt: skip
    assert 'zone = "Europe/Paris"' in warnings[0].hint
    assert 'zone = "..."' in warnings[1].hint
    assert all(warning.message.isprintable() for warning in warnings)
    assert max(len(warning.message) for warning in warnings) < 150


def test_twins_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "twins.parquet"
    twins = [pa.array([1]), pa.array([2])]
    pq.write_table(pa.table(twins, names=["n", "n"]), path)
    assert refused("duckdb", Source(str(path), "parquet")) == "E406"
    pq.write_table(pa.table(twins, names=["n", "N"]), path)
    source = Source(str(path), "parquet")
    for engine, (name, value) in product(("duckdb", "reference"), (("n", 1), ("N", 2))):
        quantity = Quantity(name, Grid(Fraction(1), 0, 9))
        inputs = (InputColumn(name, ColumnType.INTEGER),)
        request = AggregateRequest(source, inputs, (), (Measure(MeasureKind.SUM, quantity),))
        assert list(get(engine).aggregate(request).reveal()[0]) == [value]


@ENGINES
def test_data_that_vanishes_after_the_charge(tmp_path: Path, engine: str) -> None:
    for form in ("csv", "parquet"):
        source = Source(str(tmp_path / f"gone.{form}"), form)
        request = AggregateRequest(source, INPUTS, (), COUNT)
        with pytest.raises(Failure) as caught:
            get(engine).aggregate(request)
        assert caught.value.exit_code is ExitCode.AFTER_CHARGE


@ENGINES
def test_damaged_pages_fail_after_the_charge_without_a_value(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "damaged.parquet"
    table = pa.table({"n": pa.array([float(n) for n in range(5000)])})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[60:2000] = CANARY.encode() * 242 + b"XXXX"
    path.write_bytes(content)
    quantity = Quantity("n", Grid(Fraction(1), 0, 9))
    request = AggregateRequest(
        Source(str(path), "parquet"), INPUTS, (), (Measure(MeasureKind.SUM, quantity),)
    )
    with pytest.raises(Failure) as caught:
        get(engine).aggregate(request)
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert CANARY not in str(caught.value)


def test_the_session_reads_the_declared_files_only(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1\n")
    (tmp_path / "out.csv").write_text("1\n")
    with open_session([str(tmp_path / "in.csv")]) as connection:
        assert connection.execute(f"FROM read_csv('{tmp_path}/in.csv')").fetchall() == [(1,)]
        for statement in (
            f"FROM read_csv('{tmp_path}/out.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
            "SET enable_external_access = true",
            "SET threads = 1",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        scratch = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert scratch == [("",)]


def test_columns_computed_from_each_other_are_refused() -> None:
    around = tuple(
        InputColumn(name, ColumnType.FLOAT, Expression(other, (other,)))
        for name, other in (("a", "b"), ("b", "a"))
    )
    with pytest.raises(Failure, match="computed from each other"):
        data_failures.list_derived_columns(around)
