"""One odd value in a Parquet file changes its own record and stops nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle.engine import get

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

BAD = b"\xff\xfe"


def strings(values: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """An array of texts whose bytes are not checked."""
    raw = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, len(raw), raw.buffers())


def counted(engine: str, path: Path) -> list[list[int]]:
    labels = ("a", "b", "\ufffd\ufffd")
    group = Group(
        "g", ColumnType.STRING, (*labels, "else"), keys=labels, other="else", null_label="else"
    )
    quantity = Quantity("x", Grid(Fraction(1), 0, 10))
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (InputColumn("g", ColumnType.STRING), InputColumn("x", ColumnType.FLOAT)),
        (group,),
        (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, quantity)),
    )
    return [list(each) for each in get(engine).aggregate(request).reveal()]


@pytest.mark.parametrize("engine", ["duckdb", "reference"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_text_that_is_not_utf8(engine: str, kind: pa.DataType, tmp_path: Path) -> None:
    texts = [b"a", b"b", None, "\u00e9".encode(), b"a"] * 20
    path = tmp_path / "t.parquet"
    numbers = pa.array([1.0, 2.0, float("nan"), 3.0, 99.0] * 20)
    pq.write_table(pa.table({"g": strings(texts, kind), "x": numbers}), path)
    clean = counted(engine, path)
    assert clean == [[40, 20, 0, 40], [220, 40, 0, 60]]
    texts[0] = BAD
    pq.write_table(pa.table({"g": strings(texts, kind), "x": numbers}), path)
    assert counted(engine, path) == [[39, 20, 1, 40], [219, 40, 1, 60]]


@pytest.mark.parametrize("engine", ["duckdb", "reference"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("value", [2**62, -(2**62), 2**62 + 1])
def test_a_moment_beyond_the_calendar_is_null(
    engine: str, unit: str, value: int, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    stamps = pa.array([0, value, 0], pa.int64()).cast(pa.timestamp(unit), safe=False)
    pq.write_table(pa.table({"t": stamps}), path, coerce_timestamps=None)
    edges = ("1960-01-01 00:00:00", "1990-01-01 00:00:00")
    group = Group(
        "t",
        ColumnType.TIMESTAMP,
        (
            "bin",
            "else",
        ),
        edges=edges,
        other="else",
    )
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (InputColumn("t", ColumnType.TIMESTAMP),),
        (group,),
        (Measure(MeasureKind.RECORDS),),
    )
    found = [list(each) for each in get(engine).aggregate(request).reveal()]
    # nanoseconds reach from 1677 to 2262 only, so these are in the calendar, outside the bin
    assert found == [[2, 1 if unit == "ns" else 0]]


@pytest.mark.parametrize("lower", [-1_000_000, 0])
def test_constant_values_with_a_fine_step(lower: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array([5.0] * 20_000)}), path)
    grid = Grid(Fraction(1, 10**9), lower * 10**9, 10**15)
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (InputColumn("x", ColumnType.FLOAT),),
        (),
        (Measure(MeasureKind.SUM, Quantity("x", grid)),),
    )
    assert [list(each) for each in get("duckdb").aggregate(request).reveal()] == [[10**14]]
