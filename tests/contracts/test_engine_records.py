"""The codes of records: both engines give the same, one for each record, from any files."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_requests import answer
from msgspec.structs import replace
from oracle.engine import get
from tables import RECORD_ENGINES, T, inputs, keyed, written

from dprelease.engines.duckdb import duckdb_errors, record_codes
from dprelease.errors import ExitCode, Failure
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

TYPES = {
    "p": T.STRING,
    "g": T.STRING,
    "x": T.FLOAT,
    "i": T.INTEGER,
    "b": T.BOOLEAN,
    "d": T.DATE,
}
G = keyed("g", "ba")
X = Quantity("x", Grid(Fraction(1, 2), -3, 9), null_fill=2)


def codes(engine: str, request: RecordRequest) -> Any:
    return answer(get(engine), request)


# --- CSV of any bytes ----------------------------------------------------------------------------

TEXTS = (InputColumn("s", T.STRING), InputColumn("n", T.FLOAT))
KEYS = ("a", "", "1", " a", "�")
OF_TEXTS = (
    Group("s", T.STRING, (*KEYS, "other", "null"), KEYS, None, "other", "null"),
    Quantity("n", Grid(Fraction(1, 2), -10, 200), null_fill=100),
)


def test_clean_lines_do_not_need_the_careful_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clean.csv"
    path.write_bytes(b's,x,n\n1,x,1\n"a",x,\n1,x,abc\n')
    request = RecordRequest(Source(str(path), "csv"), TEXTS, OF_TEXTS)
    expected = codes("reference", request)
    monkeypatch.delattr(record_codes, "read_carefully")
    assert codes("duckdb", request) == expected


# --- Parquet -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_text_that_is_not_utf_8_costs_no_record(
    tmp_path: Path, dictionary: bool, bounded: bool
) -> None:
    raw = pa.array([b"a", b"\xff", b"", None, b"1"] * 40_000, pa.binary())
    table = pa.table({"s": raw.view(pa.string()), "n": [1.0, 2.0, None, 4.0, 5.0] * 40_000})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=dictionary)
    bound = Bound("s", 2, 1, 2, 0, null_unit=True) if bounded else None
    source = Source(str(tmp_path / "t.parquet"), "parquet")
    found = codes("duckdb", RecordRequest(source, TEXTS, OF_TEXTS, bound))
    often = 2 if bounded else 40_000
    assert found == {(0, 2): often, (4, 4): often, (1, 100): often, (6, 8): often, (2, 10): often}


def test_records_of_several_batches_are_all_there(tmp_path: Path) -> None:
    size = 3 * record_codes.BATCH + 7
    table = pa.table({"n": pa.array(range(size), pa.int32())})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    column = Quantity("n", Grid(Fraction(1), 0, size), null_fill=0)
    source = Source(str(tmp_path / "t.parquet"), "parquet")
    stream = get("duckdb").records(RecordRequest(source, TEXTS[1:], (column,))).reveal()
    batches = [batch[0] for batch in stream]
    assert len(batches) > 3
    assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(size))


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", RECORD_ENGINES)
@pytest.mark.parametrize(
    "columns",
    [(), (Group("g", T.STRING, (), private=True),), (replace(X, null_fill=None),)],
)
def test_what_has_no_code_in_every_record_is_refused(
    engine: str, columns: tuple[Group | Quantity, ...], tmp_path: Path
) -> None:
    source = written(tmp_path / "t", TYPES, [("p", "a", 1.0, 1, True, None)], "csv")
    with pytest.raises(ValueError, match=r"declared labels|never missing"):
        list(get(engine).records(RecordRequest(source, inputs(TYPES), columns)).reveal())


# --- files that change, and streams that are dropped ---------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("same_marks", [False, True])
def test_files_that_change_meanwhile_are_found_out(
    tmp_path: Path, form: str, bounded: bool, same_marks: bool
) -> None:
    """Even where nothing of the file but its content tells, if the records are read twice."""
    once = bounded or form == "parquet"
    if once and same_marks:
        pytest.skip("the records are read once")
    rows: list[tuple[object, ...]] = [(f"p{n}", "ab"[n % 2], 1.0, n, True, None) for n in range(99)]
    source = written(tmp_path / "t", TYPES, rows, form)
    bound = Bound("p", 1, 1, 1, 0) if bounded else None
    request = RecordRequest(source, inputs(TYPES), (G, X), bound)
    (path,) = (tmp_path / "t").iterdir()
    before = os.stat(path)
    # where batches come from: a stream of DuckDB, or a query of each batch that was read
    place, name = record_codes, "iter_code_batches"
    if form == "parquet" and not bounded:
        place, name = record_codes, "fetch_codes"
    honest = getattr(place, name)

    def changing(*given: object) -> object:
        written(tmp_path / "u", TYPES, [*rows[:-1], (None, "a", 2.0, 7, True, None)], form)
        content = next((tmp_path / "u").iterdir()).read_bytes()
        path.write_bytes(content.ljust(before.st_size, b"\n") if form == "csv" else content)
        return honest(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, changing)
        if same_marks:
            patch.setattr(duckdb_errors, "read_file_marks", lambda _: [])
        with pytest.raises(Failure) as caught:
            list(get("duckdb").records(request).reveal())
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert caught.value.complaints[0].code == "E501"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("engine", RECORD_ENGINES)
def test_a_file_that_is_gone_is_lost_when_the_first_batch_is_asked_for(
    engine: str, tmp_path: Path
) -> None:
    source = written(tmp_path / "t", TYPES, [("p", "a", 1.0, 1, True, None)], "csv")
    stream = get(engine).records(RecordRequest(source, inputs(TYPES), (G,))).reveal()
    next((tmp_path / "t").iterdir()).unlink()
    with pytest.raises(Failure) as caught:
        next(stream)
    assert caught.value.complaints[0].code == "E501"


@pytest.mark.parametrize("bounded", [False, True])
def test_a_stream_that_is_dropped_closes_its_connection(
    tmp_path: Path, bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    size = (3 if bounded else 40) * record_codes.BATCH
    pq.write_table(pa.table({"n": pa.array(range(size), pa.int32())}), tmp_path / "t.parquet")
    column = Quantity("n", Grid(Fraction(1), 0, size), null_fill=0)
    source = Source(str(tmp_path / "t.parquet"), "parquet")
    bound = Bound("n", 1, 1, 1, 0) if bounded else None
    request = RecordRequest(source, (InputColumn("n", ColumnType.INTEGER),), (column,), bound)
    opened, honest = [], duckdb.connect

    def connect(where: str) -> duckdb.DuckDBPyConnection:
        opened.append(honest(where))
        return opened[-1]

    monkeypatch.setattr(duckdb, "connect", connect)
    stream = get("duckdb").records(request).reveal()
    assert not opened
    next(stream)
    del stream
    assert len(opened) == 1
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("SELECT 1")
