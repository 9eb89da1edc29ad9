"""Parquet and Arrow files as their writers make them: read like plain loops, or refused by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fuzz_files as files
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import T, counted, keyed, refused

from dprelease.engines import open_for_table
from dprelease.engines.duckdb.duckdb_engine import ENGINE, DuckDB
from dprelease.errors import Failure
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Expression,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COUNT = Measure(MeasureKind.RECORDS)


def case_of(writer: str, kinds: tuple[str, ...], number: int) -> files.Case:
    """A case with options and values of its own."""
    chance = random.Random(f"{writer} {kinds} {number}")
    options = {name: chance.choice(list(each)) for name, each in files.OPTIONS[writer].items()}
    places = tuple(chance.randint(-1, 20) for _ in range(chance.choice([0, 9, 12])))
    shape = chance.choice(files.SHAPES[writer])
    return files.Case(writer, kinds, shape, places, options)


ALIKE = [
    ("int32", "int64", T.INTEGER),
    ("int64", "uint64", T.INTEGER),
    ("int64", "double", T.INTEGER),
    ("int64", "decimal128(38, 20)", T.DECIMAL),
    ("float", "double", T.FLOAT),
    ("decimal32(9, 2)", "decimal128(20, 0)", T.DECIMAL),
    ("string", "large_string", T.STRING),
    ("timestamp[ms]", "timestamp[ns]", T.TIMESTAMP),
    ("date32[day]", "timestamp[us]", T.DATE),
    *(("null", kind, declared) for kind, declared in (
        ("int64", T.INTEGER), ("double", T.FLOAT), ("string", T.STRING), ("bool", T.BOOLEAN),
        ("date32[day]", T.DATE), ("timestamp[us, tz=UTC]", T.TIMESTAMP), ("null", T.DECIMAL),
    )),
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("first", "second", "declared"), ALIKE)
@pytest.mark.parametrize("writer", ["pyarrow parquet", "pyarrow arrow"])
def test_types_that_differ_in_width_are_not_refused(
    writer: str, first: str, second: str, declared: ColumnType, tmp_path: Path
) -> None:
    case = case_of(writer, (first, second), 0)._replace(places=(0, 1, 2, 3, -1))
    source = files.write(tmp_path, case)
    for request in files.requests(source, declared):
        assert files.refusal(request) is None
        assert files.answer("duckdb", request) == files.answer("reference", request)


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Otherwise one moment would be two units: a thousand in one file, a million in the other."""
    for number, unit in enumerate(("ms", "us")):
        moments = pa.array([1000, 2000], pa.int64()).view(pa.timestamp(unit))
        pq.write_table(pa.table({"c": moments}), tmp_path / f"{number}.parquet")
    column = InputColumn("c", T.STRING, opaque=True)
    complaint = refused(Source(str(tmp_path), "parquet"), column)
    assert complaint.code == "E407"
    assert 'column "c": timestamp[ms] in one file and timestamp[us] in another' in complaint.message


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
@pytest.mark.parametrize("store_schema", [True, False])
def test_short_texts_in_every_encoding(encoding: str, store_schema: bool, tmp_path: Path) -> None:
    """Texts of few bytes are asked for as places in a dictionary, where they can be."""
    path, texts = tmp_path / "t.parquet", ["DE", "FR", "DE"] * 1000
    pq.write_table(
        pa.table({"c": texts}), path, use_dictionary=False, column_encoding={"c": encoding},
        row_group_size=1500, data_page_version="2.0", store_schema=store_schema,
    )  # fmt: skip
    assert counted(Source(str(path), "parquet"), keyed("c", ("DE", "FR"))) == [2000, 1000]


def test_a_compression_that_is_not_read_is_named_before_anything_is(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"c": ["a"] * 9, "d": [1] * 9}), path, compression="LZ4")
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    codec = b"\x15\x0e\x16"  # LZ4_RAW, before the number of values
    said = content[footer:]
    assert said.count(codec) == 2
    path.write_bytes(content[:footer] + said.replace(codec, b"\x15\x06\x16", 1))
    complaint = refused(Source(str(path), "parquet"), InputColumn("c", T.STRING))
    assert complaint.code == "E412"
    assert 'column "c"' in complaint.message
    assert "LZO" in complaint.message
    ENGINE.inspect(Source(str(path), "parquet"), (InputColumn("d", T.INTEGER),))


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_a_dictionary_in_delta_pages_is_refused_by_name(
    kind: pa.DataType, encoding: str, tmp_path: Path
) -> None:
    """By the Arrow schema in the file it is one; pyarrow makes none of such pages."""
    table = pa.table({"c": pa.array(["a", "b"]).cast(kind).dictionary_encode(), "d": [1, 2]})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, use_dictionary=False, column_encoding={"c": encoding, "d": "PLAIN"})
    with pytest.raises(Failure, match=f'E412 column "c" .*{encoding}'):
        ENGINE.inspect(Source(str(path), "parquet"), (InputColumn("c", T.STRING),))
    ENGINE.inspect(Source(str(path), "parquet"), (InputColumn("d", T.INTEGER),))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_integers_of_128_bits_are_said_to_be_the_reason(form: str, tmp_path: Path) -> None:
    table, path = pl.DataFrame({"c": [1, 2], "w": [3, 4]}), tmp_path / f"t.{form}"
    table = table.with_columns(w=table["w"].cast(pl.Int128))
    getattr(table, {"parquet": "write_parquet", "arrow": "write_ipc"}[form])(path)
    complaint = refused(Source(str(path), form), InputColumn("c", T.INTEGER))
    assert complaint.code == "E412"
    assert "integers of 128 bits" in complaint.message


# --- integers, exactly ---------------------------------------------------------------------------

LARGE = [10**17 + 1, 10**17 + 2, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]


def of_frame(made: Callable[[], Any]) -> Callable[[Path], tuple[DuckDB, Source]]:
    return lambda _: (open_for_table("duckdb", "frame", made()), Source("frame", "frame"))


def in_csv(texts: Sequence[str]) -> Callable[[Path], tuple[DuckDB, Source]]:
    def written(folder: Path) -> tuple[DuckDB, Source]:
        (folder / "t.csv").write_text("".join(f"{text}\n" for text in ("c", *texts)))
        return ENGINE, Source(str(folder / "t.csv"), "csv")

    return written


SOURCES: dict[str, tuple[Callable[[Path], tuple[DuckDB, Source]], Sequence[float]]] = {
    "csv with more": (
        in_csv(["+100000000000000001.000", "10000000000000000.2e1", "90071992547409.93E+2",
                "100000000000000001.5", "1e-400"]),
        [10**17 + 1, 10**17 + 2, 2**53 + 1],
    ),
    "pandas objects": (
        of_frame(lambda: pd.DataFrame({"c": pd.Series(
            [Decimal(10**17 + 1), Decimal("100000000000000002.00"), 2**63 - 1, 2.0**60, 2**70,
             Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), Decimal("-Infinity"), None,
             Decimal("0.5"), float("nan"), pd.NA, True, "7 ", "x", object()], dtype=object)})),
        [10**17 + 1, 10**17 + 2, 2**63 - 1, 2**60, 7],
    ),
    "pandas decimals of Arrow": (
        of_frame(lambda: pd.DataFrame({"c": pd.Series(
            [Decimal(value) for value in LARGE], dtype=pd.ArrowDtype(pa.decimal128(20, 0)))})),
        LARGE,
    ),
    "pandas, sparse": (of_frame(lambda: pd.DataFrame({"c": pd.arrays.SparseArray(LARGE)})), LARGE),
    "polars decimals": (
        of_frame(lambda: pl.DataFrame({"c": pl.Series(list(map(Decimal, LARGE)),
                                                      dtype=pl.Decimal(38, 0))})),
        LARGE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_an_integer_is_exact_to_64_bits(name: str, tmp_path: Path) -> None:
    written, expected = SOURCES[name]
    engine, source = written(tmp_path)
    labels = tuple(str(int(value)) for value in expected)
    column = InputColumn("c", T.INTEGER)
    distinct = Measure(MeasureKind.DISTINCT, column="c")
    there = Measure(MeasureKind.RECORDS, where=Expression("c IS NOT NULL", ("c",)))
    engine.inspect(source, (column,))
    request = AggregateRequest(source, (column,), (), (distinct, there))
    found = [list(each) for each in engine.aggregate(request).reveal()]
    assert found == [[len(labels)], [len(labels)]]
    by_key = AggregateRequest(source, (column,), (Group("c", T.INTEGER, labels, labels),), (COUNT,))
    assert [list(each) for each in engine.aggregate(by_key).reveal()] == [[1] * len(labels)]
    units = AggregateRequest(
        source, (column,), (), (COUNT, Measure(MeasureKind.UNITS)), bound=Bound("c", 1, 1, 1, 0)
    )
    assert [list(each) for each in engine.aggregate(units).reveal()] == [[len(labels)]] * 2
