"""Traps of the readers beneath, each found by trying: one record must not change another."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dprelease import Failure
from dprelease.engines import get
from dprelease.engines.duckdb.duckdb_session import open_session
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

LABELS = ("a", "b", "a b")


def counts(source: Source) -> list[int]:
    group = Group("g", ColumnType.STRING, LABELS, keys=LABELS)
    quantity = Quantity("x", Grid(Fraction(1), 0, 10))
    request = AggregateRequest(
        source,
        (InputColumn("g", ColumnType.STRING), InputColumn("x", ColumnType.INTEGER)),
        (group,),
        (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, quantity)),
    )
    return [int(each) for each in get("duckdb").aggregate(request).reveal()[0]]


@pytest.mark.one_in(18)
@pytest.mark.parametrize(
    "line", [b'  "a"  ,1', b'"a" "b",1', b'"" "",1', b'\t"a",1', b' "a",1', b'"a",1', b'" ",1']
)
@pytest.mark.parametrize("bad", [b'b,"1', b"b,\xff", b"b,\0", b"b", b"b,1,2"])
def test_one_bad_line_leaves_a_thousand_odd_ones_alone(
    line: bytes, bad: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    found = []
    for last in (b"b,1", bad):
        path.write_bytes(b"g,x\n" + (line + b"\n") * 1000 + last + b"\n")
        found.append(counts(Source(str(path), "csv")))
    (a, b, both), (other_a, other_b, other_both) = found
    assert (a, both) == (other_a, other_both)
    assert abs(b - other_b) <= 1


def test_a_quote_where_two_threads_meet_costs_no_run(tmp_path: Path) -> None:
    """DuckDB's threads part a file at every eight millionth byte, and find the next line by trying.

    Where one record has a quote before its delimiter, they don't meet.
    """
    path, meets = tmp_path / "t.csv", 8_000_000
    line, odd = b"a,1".ljust(49) + b"\n", b'b",1'.ljust(49) + b"\n"
    for place in range(meets // 50 - 1, meets // 50 + 2):
        path.write_bytes(b"g,x\n" + line * place + odd + line * (200_000 - place))
        assert counts(Source(str(path), "csv")) == [200_000, 0, 0]


@pytest.mark.parametrize("folder", ["f0=b", "f1=9", "g=b", "x=9"])
def test_a_folder_is_no_column(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "t.csv"
    path.write_bytes(b"g,x\n" + b"a,1\n" * 10)
    assert counts(Source(str(path), "csv")) == [10, 0, 0]


@pytest.mark.parametrize(
    "moment", [datetime(9999, 12, 31), datetime(1, 1, 1), datetime(1999, 5, 4)]
)
def test_old_spark_timestamps_far_from_today(moment: datetime, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    edges = ("0001-01-01 00:00:00", "2000-01-01 00:00:00", "9999-12-31 00:00:00")
    group = Group("t", ColumnType.TIMESTAMP, ("before", "after"), edges=edges)
    text = Group("g", ColumnType.STRING, ("q", "no"), keys=("q",), other="no")
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (InputColumn("t", ColumnType.TIMESTAMP), InputColumn("g", ColumnType.STRING)),
        (group, text),
        (Measure(MeasureKind.RECORDS),),
    )
    found = []
    for last in (b"z", b"\xff"):
        raw = pa.array([b"q"] * 100 + [last], pa.binary())
        texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
        stamps = pa.array([moment] * 101, pa.timestamp("us"))
        pq.write_table(
            pa.table({"t": stamps, "g": texts}), path, use_deprecated_int96_timestamps=True
        )
        found.append(list(get("duckdb").aggregate(request).reveal()[0]))
    after = 100 if moment.year >= 2000 else 0
    labels = [100 - after, 1 * (after == 0), after, 1 * (after > 0)]
    # nanoseconds, the default, wrap around in 2262
    assert found == [labels, labels]


def test_small_and_huge_physical_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    raw = pa.array([b"q", b"\xff"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    half = pa.array([1.5, 2.0], pa.float32()).cast(pa.float16())
    pq.write_table(pa.table({"x": half, "g": texts}), path)
    quantity = Quantity("x", Grid(Fraction(1, 2), 0, 10))
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (InputColumn("x", ColumnType.FLOAT), InputColumn("g", ColumnType.STRING)),
        (Group("g", ColumnType.STRING, ("q", "no"), keys=("q",), other="no"),),
        (Measure(MeasureKind.SUM, quantity),),
    )
    assert [list(each) for each in get("duckdb").aggregate(request).reveal()] == [[3, 4]]
    wide = pa.array([1, 2]).cast(pa.decimal256(50, 0))
    pq.write_table(pa.table({"x": wide}), path)
    with pytest.raises(Failure, match="E412"):
        get("duckdb").inspect(request.source, request.inputs[:1])


def test_nothing_spills_to_disk() -> None:
    with open_session(()) as connection:
        limit = connection.execute("SELECT current_setting('max_temp_directory_size')").fetchall()[
            0
        ][0]
    assert str(limit).startswith("0")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("quoted_at", [2, 40_000])
def test_a_late_quote_is_noticed_whatever_ends_the_lines(
    end: bytes, quoted_at: int, tmp_path: Path
) -> None:
    # beyond the first chunk of the scan, a quote that swallows the next line
    lines = [b"a,1" + b" " * 20] * 60_000
    lines[quoted_at : quoted_at + 2] = [b'"b,1', b'b",1']
    path = tmp_path / "t.csv"
    path.write_bytes(end.join([b"g,x", *lines, b""]))
    assert counts(Source(str(path), "csv")) == [59_998, 0, 0]
