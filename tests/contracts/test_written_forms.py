"""Declared marks of numbers, formats of dates and zones of moments: all engines as the oracle."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import T, by_key, hidden, keyed, refused, sql

from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Dialect,
    Grid,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

ENGINES = ("duckdb", "spark")
DIALECT = Dialect(delimiter=";", decimal=",", thousands=".", null_values=("", "0", "1.1.1900"))
LINES = [
    "n;x;day;seen;person",
    "1.234;1.234,5;31.01.2024;30.06.2024 22:00 +0000;1.000",
    "1234; 7,25 ;5.1.2024;31.12.2024 23:30 Z;1000",
    "12.34;1.5;05.01.2024;1.7.2024 00:00 +02:00;2",
    "0;,5;1.1.1900;x;2",
    ";1e2;2024-01-05;30.06.2024 22:00;3",
    "-1.234.567;inf;31.02.2024;1.1.1900;",
]
INPUTS = (
    InputColumn("n", T.INTEGER),
    InputColumn("x", T.DECIMAL),
    InputColumn("day", T.DATE, format="%d.%m.%Y"),
    InputColumn("seen", T.DATE, format="%d.%m.%Y %H:%M %z", zone="Europe/Berlin"),
    InputColumn("person", T.INTEGER),
)
GRID = Quantity("x", Grid(Fraction(1, 100), 0, 10**6))
MEASURES = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.VALUES, GRID),
    Measure(MeasureKind.SUM, GRID),
    Measure(MeasureKind.RECORDS, where=sql("day >= DATE '2024-01-05'", "day")),
)
GROUPS = {
    "n": keyed("n", ("1234", "-1234567"), T.INTEGER, "none"),
    "seen": keyed("seen", ("2024-07-01", "2025-01-01"), T.DATE, "none"),
}


def written(folder: Path) -> Source:
    path = folder / "odd.csv"
    path.write_text("\n".join([*LINES, ""]), encoding="utf-8", newline="")
    return Source(str(path), "csv", DIALECT)


def test_what_they_mean(tmp_path: Path) -> None:
    source = written(tmp_path)
    request = AggregateRequest(source, INPUTS, (GROUPS["n"],), MEASURES)
    assert by_key("duckdb", request) == {
        ("1234",): [2, 2, 123450 + 725, 2],
        ("-1234567",): [1, 1, 10**6, 0],
        ("none",): [3, 2, 50 + 10000, 1],
    }
    request = AggregateRequest(source, INPUTS, (GROUPS["seen"],), (Measure(MeasureKind.RECORDS),))
    assert by_key("duckdb", request) == {("2024-07-01",): [2], ("2025-01-01",): [1], ("none",): [3]}
    people = (Measure(MeasureKind.UNITS),)
    request = AggregateRequest(source, INPUTS, (), people, bound=Bound("person", 9, 9, 9, 0))
    assert by_key("duckdb", request) == {(): [3]}  # 1.000 and 1000 are one person


MOMENTS = [
    datetime(2024, 6, 30, 22, tzinfo=UTC),
    datetime(2024, 3, 31, 0, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 3, 31, 1, tzinfo=UTC),
    datetime(2024, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-3))),
    datetime(1890, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, tzinfo=UTC),
    None,
]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("stored", ["UTC", "Europe/Berlin", "+03:00", None])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("kind", [T.DATE, T.TIMESTAMP])
def test_moments_of_parquet(
    tmp_path: Path, unit: str, stored: str | None, zone: str | None, kind: ColumnType
) -> None:
    kept = [each for each in MOMENTS if unit != "ns" or each is None or 1700 < each.year < 2200]
    whole = [None if each is None else each.astimezone(UTC).replace(tzinfo=None) for each in kept]
    micros = pa.array(whole, pa.timestamp("us"))
    column = micros.cast(pa.timestamp(unit), safe=False).cast(pa.int64())
    values = [*column.to_pylist(), 2**63 - 1, -(2**63) + 1]
    path = tmp_path / "moments.parquet"
    array = pa.array(values, pa.int64()).cast(pa.timestamp(unit, stored))
    pq.write_table(pa.table({"t": array}), path)
    inputs = (
        InputColumn("t", kind, zone=zone),
        InputColumn("h", T.INTEGER, sql("DAY(t)", "t")),
    )
    source = Source(str(path), "parquet")
    if stored is None and zone is not None:
        assert "has no zone: its type is timestamp" in refused(source, *inputs).message
        return
    for group in (hidden("t", kind, "none"), hidden("h", T.INTEGER, "none")):
        request = AggregateRequest(source, inputs, (group,), (MEASURES[0],))
        expected = by_key("reference", request)
        assert len(expected) > 2
        for engine in ENGINES:
            assert by_key(engine, request) == expected


def test_files_with_different_zones_are_one_table(tmp_path: Path) -> None:
    for place, zone in enumerate(["UTC", "Europe/Berlin"]):
        array = pa.array([1719784800000000], pa.timestamp("us", zone))
        pq.write_table(pa.table({"t": array}), tmp_path / f"{place}.parquet")
    inputs = (InputColumn("t", T.DATE, zone="Europe/Berlin"),)
    group = keyed("t", (date(2024, 7, 1).isoformat(),), T.DATE)
    request = AggregateRequest(Source(str(tmp_path), "parquet"), inputs, (group,), MEASURES[:1])
    for engine in (*ENGINES, "reference"):
        assert by_key(engine, request) == {("2024-07-01",): [2]}


def test_a_zone_without_rules_is_refused_before_the_charge(tmp_path: Path) -> None:
    source = written(tmp_path)
    inputs = (InputColumn("seen", T.DATE, format="%d.%m.%Y %H:%M %z", zone="Mars/Base"),)
    for engine in ENGINES:
        complaint = refused(source, *inputs, engine=engine)
        assert 'does not know the time zone "Mars/Base"' in complaint.message


@pytest.mark.parametrize("engine", [*ENGINES, "reference"])
def test_blanks_mean_nothing_and_booleans_have_marks_too(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "blanks.csv"
    rows = {
        " 31.01.2024\t; 1,0 ": ("2024-01-31", "true"),
        "31.1.2024;0,00": ("2024-01-31", "false"),
        " 5.1.2024 ;1": ("2024-01-05", "true"),
        "5.1 .2024; Yes": ("none", "true"),
        "\v5.1.2024;1.0": ("2024-01-05", "none"),  # no mark of thousands
        " 1.1.1900 ;1,5": ("none", "none"),  # a null text
    }
    path.write_text("d;b\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8", newline="")
    inputs = (InputColumn("d", T.DATE, format="%d.%m.%Y "), InputColumn("b", T.BOOLEAN))
    groups = (
        keyed("d", ("2024-01-05", "2024-01-31"), T.DATE, "none"),
        keyed("b", ("false", "true"), T.BOOLEAN, "none"),
    )
    request = AggregateRequest(
        Source(str(path), "csv", DIALECT), inputs, groups, (Measure(MeasureKind.RECORDS),)
    )
    found = {key: count for key, (count,) in by_key(engine, request).items() if count}
    assert found == Counter(rows.values())
