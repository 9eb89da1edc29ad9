"""The codes of records: both engines give the same, one for each record, from any files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import FORMS, OPAQUE, RECORD_ENGINES, T, inputs, keyed, sql, written
from thorough import examples

from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.engines.duckdb import record_codes
from dprelease.errors import ExitCode, Failure
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.sources.shared.source_format import lay_out

TYPES = {
    "p": T.STRING,
    "g": T.STRING,
    "x": T.FLOAT,
    "i": T.INTEGER,
    "b": T.BOOLEAN,
    "d": T.DATE,
}
DERIVED = (
    InputColumn("h", T.FLOAT, sql("x / 2 + i", "x", "i")),
    InputColumn("big", T.BOOLEAN, sql("x > 1", "x")),
)
G = keyed("g", "ba")
X = Quantity("x", Grid(Fraction(1, 2), -3, 9), null_fill=2)
COLUMNS: list[Group | Quantity] = [
    G,
    keyed("g", "ab", null="nothing"),
    replace(keyed("g", "c"), labels=("c", "rest"), other="rest"),
    keyed("i", ("0", "-4", "9007199254740993"), T.INTEGER),
    keyed("b", ("false", "true"), T.BOOLEAN),
    keyed("big", ("true",), T.BOOLEAN),
    keyed("d", ("2026-01-31",), T.DATE, null="never"),
    Group("x", T.FLOAT, ("low", "high"), edges=("0", "1", "100")),
    Group("h", T.FLOAT, ("low", "else"), edges=("0", "1"), other="else", null_label="else"),
    X,
    Quantity("i", Grid(Fraction(1), -5, 2), null_fill=1),
    Quantity("x", Grid(Fraction(1, 10**9), -(10**12), 10**15), null_fill=0),  # of 50 bits
    Quantity("i", Grid(Fraction(1), -(2**53), 2**62), null_fill=7),  # more than lists can hold
    Quantity("h", Grid(Fraction(1, 8), 0, 2**31), null_fill=0),
    Quantity("b", Grid(Fraction(1), 0, 1), null_fill=0),
]
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "", "é😀", None]),
        st.sampled_from(["a", "b", "c", "é", None]),
        st.sampled_from([0.0, -0.0, 0.25, 1.5, 99.75, float("inf"), float("-inf"), float("nan")])
        | st.none(),
        st.sampled_from([0, 1, 2, -4, 2**53 + 1, None]),
        st.sampled_from([True, False, None]),
        st.sampled_from([date(2026, 1, 31), date(1, 1, 1), None]),
    ),
    min_size=1,
    max_size=25,
)
BOUNDS = st.builds(
    Bound,
    st.just("p"),
    rows=st.sampled_from([1, 2, 3, 1001]),
    groups=st.just(1),
    per_group=st.sampled_from([1, 2, 10**9]),
    leading=st.just(0),
    null_unit=st.booleans(),
    salt=st.integers(0, 2**64 - 1),
)


def codes(engine: str, request: RecordRequest) -> Counter[tuple[int, ...]]:
    """How often each combination of codes occurs."""
    get(engine).inspect(request.source, request.inputs)
    return counted(get(engine).records(request).reveal(), len(request.columns))


def counted(batches: Iterator[tuple[np.ndarray, ...]], width: int) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for batch in batches:
        assert [column.dtype for column in batch] == [np.int64] * width
        assert len({len(column) for column in batch}) == 1
        found.update(zip(*(column.tolist() for column in batch), strict=True))
    return found


@given(
    rows=ROWS,
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5),
    form=st.sampled_from(FORMS),
)
@settings(SETTINGS, max_examples=examples(20))
def test_both_engines_give_a_code_for_every_record(
    tmp_path: Path, rows: list[tuple[object, ...]], columns: list[Group | Quantity], form: str
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    request = RecordRequest(source, (*inputs(TYPES), *DERIVED), tuple(columns))
    found = codes("duckdb", request)
    assert found == codes("reference", request)
    assert found.total() == len(rows)


@given(
    rows=ROWS,
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3),
    form=st.sampled_from(["csv", "parquet files"]),
    bound=BOUNDS,
    parts=st.sampled_from([1, 4]),
    frugal=st.sampled_from([(16, 64), (1, 10**9), (1, 1)]),
)
@settings(SETTINGS, max_examples=examples(20))
def test_both_engines_keep_the_same_records(
    tmp_path: Path,
    rows: list[tuple[object, ...]],
    columns: list[Group | Quantity],
    form: str,
    bound: Bound,
    parts: int,
    frugal: tuple[int, int],
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    request = RecordRequest(source, (*inputs(TYPES), *DERIVED), tuple(columns), bound)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_codes, "choose_part_count", lambda *_: parts)
        patch.setattr(duckdb_execute, "FRUGAL", frugal[0])
        patch.setattr(duckdb_execute, "VERY_FRUGAL", frugal[1])
        found = codes("duckdb", request)
    assert found == codes("reference", request)
    units = Counter(row[0] for row in rows)
    if form == "csv":
        units[None] += units.pop("", 0)
    null = units.pop(None, 0)
    most = min(bound.rows, bound.per_group)
    kept = sum(min(most, each) for each in (*units.values(), null * bound.null_unit))
    assert found.total() == kept


@given(rows=ROWS, bound=BOUNDS, form=st.sampled_from(["csv", "parquet"]))
@settings(SETTINGS, max_examples=examples(10))
def test_aggregates_over_one_cell_keep_the_same_records(
    tmp_path: Path, rows: list[tuple[object, ...]], bound: Bound, form: str
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    labelled = RecordRequest(source, inputs(TYPES), (G, X), bound)
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, X))
    asked = AggregateRequest(source, inputs(TYPES), (G,), measures, bound=bound)
    points = AggregateRequest(source, inputs(TYPES), (), (), bound=bound, points=X)
    for engine in RECORD_ENGINES:
        found = codes(engine, labelled)
        records, sums = ([0] * len(G.labels) for _ in range(2))
        for (label, k), often in found.items():
            if label >= 0:
                records[label] += often
                sums[label] += often * k
        assert [list(each) for each in get(engine).aggregate(asked).reveal()] == [records, sums]
        alone = codes(engine, replace(labelled, columns=(X,)))
        _, ks, often = get(engine).aggregate(points).reveal()
        assert alone == Counter({(k,): n for k, n in zip(ks, often, strict=True)})


# --- CSV of any bytes ----------------------------------------------------------------------------

TOKENS = [b",", b",", b'"', b'"', b"\n", b"\n", b" ", b"a", b"1", b"\t", b"2.5", b"\xc3\xa9"]
ODD = [b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\\"]
SOUP = st.lists(st.sampled_from(TOKENS + ODD), max_size=30).map(b"".join)
FIELD = st.sampled_from([b"a", b"1", b"", b'"a"', b'" a"', b'"1,"', b' "a" ', b"2.5", b'""'])
CLEAN = st.lists(st.tuples(FIELD, FIELD, FIELD).map(b",".join), max_size=8).map(b"\n".join)
TEXTS = (InputColumn("s", T.STRING), InputColumn("n", T.FLOAT))
KEYS = ("a", "", "1", " a", "�")
OF_TEXTS = (
    Group("s", T.STRING, (*KEYS, "other", "null"), KEYS, None, "other", "null"),
    Quantity("n", Grid(Fraction(1, 2), -10, 200), null_fill=100),
)


@given(body=SOUP | CLEAN, strip=st.booleans(), bounded=st.booleans())
@settings(SETTINGS, max_examples=examples(20))
def test_any_bytes_mean_the_same_to_every_reader(
    tmp_path: Path, body: bytes, strip: bool, bounded: bool
) -> None:
    path = tmp_path / "soup.csv"
    path.write_bytes(b"s,x,n\n" + body)
    bound = Bound("s", 1, 1, 1, 0, null_unit=True, salt=3) if bounded else None
    request = RecordRequest(Source(str(path), "csv", Dialect(strip=strip)), TEXTS, OF_TEXTS, bound)
    expected = codes("reference", request)
    layout = lay_out(request.source, request.inputs)
    assert counted(record_codes.read_carefully(request, layout), 2) == expected
    done: list[bool] = []

    def batches() -> Iterator[tuple[np.ndarray, ...]]:
        done.append((yield from record_codes.read_fast(request, layout)))

    found = counted(batches(), 2)
    assert found == (expected if done == [True] else Counter())
    assert codes("duckdb", request) == expected


def test_clean_lines_do_not_need_the_careful_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clean.csv"
    path.write_bytes(b's,x,n\n1,x,1\n"a",x,\n1,x,abc\n')
    request = RecordRequest(Source(str(path), "csv"), TEXTS, OF_TEXTS)
    expected = codes("reference", request)
    monkeypatch.delattr(record_codes, "read_carefully")
    assert codes("duckdb", request) == expected


def test_blank_files_and_tables_without_records(tmp_path: Path) -> None:
    for number, text in enumerate(["s,x,n\n", "s,x,n", "s,x,n\n\n\n", "\ufeffs,x,n\na,b,1"]):
        (tmp_path / f"part[{number}].csv").write_text(text, encoding="utf-8")
    request = RecordRequest(Source(str(tmp_path / "*.csv"), "csv"), TEXTS, OF_TEXTS)
    one = tmp_path / "part[0].csv"
    empty = replace(request, source=Source(str(one), "csv"))
    bound = Bound("s", 1, 1, 1, 0, salt=3)
    nothing = {"s": pa.array([], pa.string()), "n": pa.array([], pa.float64())}
    pq.write_table(pa.table(nothing), tmp_path / "t.parquet")
    stored = replace(request, source=Source(str(tmp_path / "t.parquet"), "parquet"))
    for engine in RECORD_ENGINES:
        # an empty line is a record without values
        assert codes(engine, request) == {(0, 2): 1, (6, 100): 2}
        for asked in (empty, stored):
            assert codes(engine, asked) == codes(engine, replace(asked, bound=bound)) == {}


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


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OPAQUE)
def test_units_of_any_type_keep_the_same_records(tmp_path: Path, name: str) -> None:
    size = 7 * len(OPAQUE[name])
    units = pa.chunked_array([OPAQUE[name]] * 7).combine_chunks()
    columns = {"p": units, "x": pa.array([float(row) for row in range(size)])}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    request = RecordRequest(
        Source(str(tmp_path / "t.parquet"), "parquet"),
        inputs({"p": T.STRING, "x": T.FLOAT}, "p"),
        (Quantity("x", Grid(Fraction(1), 0, size), null_fill=0),),
        Bound("p", 2, 1, 2, leading=0, null_unit=True, salt=1),
    )
    found = codes("duckdb", request)
    assert found == codes("reference", request)
    assert found.total() == 6


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
            patch.setattr(record_codes, "read_file_marks", lambda _: [])
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
