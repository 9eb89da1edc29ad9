"""All column types, bins, derived columns and Parquet: engine against oracle."""

import math
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.engine import get
from thorough import examples

from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

T = ColumnType
NUMBERS = (T.INTEGER, T.FLOAT, T.DECIMAL)
TEXTS = {
    T.INTEGER: ["0", "-3", "7", "12.0", "12.7", "1e3", "9007199254740993", "1e400", "x", ""],
    T.FLOAT: ["0", "-0.0", "0.25", "2.5", "7", "inf", "-inf", "nan", "1_0", "99", ""],
    T.DECIMAL: ["0.10", "0.1", "1.005", "2.5", "-4", "100", " 7 ", "0x1", ""],
    T.STRING: ["a", "b", "A", "é", "=cmd()", ""],
    T.BOOLEAN: ["true", "F", "yes", "0", "1", "on", ""],
    T.DATE: ["2026-01-31", "2026-02-30", "2026-1-31", "0001-01-01", "9999-12-31", ""],
    T.TIMESTAMP: ["2026-01-31 10:00:00", "2026-01-31T10:00:00.5", "2026-01-31", "x", ""],
}
KEYS = {
    T.INTEGER: ("0", "12", "1000", "9007199254740993"),
    T.FLOAT: ("0", "0.25", "7"),
    T.DECIMAL: ("0.1", "2.5", "7"),
    T.STRING: ("a", "é"),
    T.BOOLEAN: ("true", "false"),
    T.DATE: ("2026-01-31", "0001-01-01"),
    T.TIMESTAMP: ("2026-01-31 10:00:00", "2026-01-31 10:00:00.5"),
}
EDGES = {
    T.INTEGER: ("-3", "0", "7", "1000"),
    T.FLOAT: ("0", "0.25", "2.5", "7", "99"),
    T.DECIMAL: ("0", "0.1", "2.5", "100"),
    T.DATE: ("0001-01-01", "2026-01-31", "9999-12-31"),
    T.TIMESTAMP: ("2026-01-31 10:00:00", "2026-02-01 00:00:00"),
}


def group_of(kind: ColumnType, binned: bool, other: bool, null: bool) -> Group:
    texts = EDGES[kind] if binned else KEYS[kind]
    labels = tuple(texts[:-1] if binned else texts)
    extra = ("other",) * other + ("null",) * null
    keys, edges = (None, texts) if binned else (texts, None)
    return Group(
        "c", kind, labels + extra, keys, edges, "other" if other else None, "null" if null else None
    )


def agree(request: AggregateRequest) -> list[list[int]]:
    tables = [get(name).aggregate(request).reveal() for name in ("duckdb", "reference")]
    fast, slow = ([list(column) for column in table] for table in tables)
    assert fast == slow
    return fast


@given(data=st.data(), kind=st.sampled_from(list(T)), flags=st.tuples(*[st.booleans()] * 3))
@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_typed_keys_and_bins_of_text(
    tmp_path: Path, data: st.DataObject, kind: ColumnType, flags: tuple[bool, bool, bool]
) -> None:
    texts = data.draw(st.lists(st.sampled_from(TEXTS[kind]), max_size=12))
    path = tmp_path / "typed.csv"
    path.write_text("c,k\n" + "".join(f"{text},1\n" for text in texts), encoding="utf-8")
    binned, other, null = flags
    group = group_of(kind, binned and kind in EDGES, other, null)
    measures = [Measure(MeasureKind.RECORDS)]
    if kind in (*NUMBERS, T.BOOLEAN):
        for step in (Fraction(1), Fraction(1, 100), Fraction(3, 7), Fraction(10)):
            quantity = Quantity("c", Grid(step, -5, 11), data.draw(st.sampled_from([None, 2])))
            measures += [Measure(MeasureKind.VALUES, quantity), Measure(MeasureKind.SUM, quantity)]
    inputs = (InputColumn("c", kind),)
    agree(AggregateRequest(Source(str(path), "csv"), inputs, (group,), tuple(measures)))


def test_many_bins_and_no_groups(tmp_path: Path) -> None:
    path = tmp_path / "bins.csv"
    path.write_text("c\n" + "".join(f"{n / 4}\n" for n in range(-20, 900)))
    edges = tuple(str(n) for n in range(0, 200, 3))
    group = Group("c", T.FLOAT, edges[:-1], None, edges)
    source, inputs = Source(str(path), "csv"), (InputColumn("c", T.FLOAT),)
    count = (Measure(MeasureKind.RECORDS),)
    (column,) = agree(AggregateRequest(source, inputs, (group,), count))
    assert column[0] == 12
    assert column[-1] == 13  # the last bin is closed
    assert agree(AggregateRequest(source, inputs, (), count)) == [[920]]


def test_header_only_gives_zeros(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("c\n")
    quantity = Quantity("c", Grid(Fraction(1), 0, 9))
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, quantity))
    request = AggregateRequest(
        Source(str(path), "csv"), (InputColumn("c", T.INTEGER),), (), measures
    )
    assert agree(request) == [[0], [0]]


def test_sums_are_wider_than_64_bits(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("c\n" + f"{2**53}\n" * 3000)
    quantity = Quantity("c", Grid(Fraction(1), 0, 2**53))
    request = AggregateRequest(
        Source(str(path), "csv"),
        (InputColumn("c", T.INTEGER),),
        (),
        (Measure(MeasureKind.SUM, quantity),),
    )
    assert agree(request) == [[3000 * 2**53]]


PARQUET = {
    "i": (pa.int32(), T.INTEGER, [1, -5, None, 7]),
    "u": (pa.uint64(), T.INTEGER, [2**64 - 1, 3, None, 0]),
    "w": (pa.float64(), T.INTEGER, [1.0, 2.5, math.nan, 1e300]),
    "f": (pa.float32(), T.FLOAT, [0.1, math.inf, math.nan, None]),
    "m": (pa.decimal128(30, 20), T.DECIMAL, ["0.1", "12345.67890123456789", None, "-3"]),
    "s": (pa.string(), T.STRING, ["a", "", None, "é"]),
    "g": (pa.dictionary(pa.int8(), pa.string()), T.STRING, ["a", "b", None, "a"]),
    "b": (pa.bool_(), T.BOOLEAN, [True, False, None, True]),
    "d": (pa.date32(), T.DATE, [date(2026, 1, 31), None, -10_000_000, date(1, 1, 1)]),
    "t": (pa.timestamp("ns"), T.TIMESTAMP, [datetime(2026, 1, 31, 10), None, -1500, 10**18]),
    "z": (pa.timestamp("ms"), T.TIMESTAMP, [datetime(2026, 1, 31, 10), None, -(10**15), 0]),
}
PARQUET_KEYS = {
    T.INTEGER: ("1", "3", "7"),
    T.FLOAT: ("0.10000000149011612", "7"),
    T.DECIMAL: ("0.1", "-3"),
    T.STRING: ("a", ""),
    T.BOOLEAN: ("true",),
    T.DATE: ("2026-01-31", "0001-01-01"),
    T.TIMESTAMP: ("2026-01-31 10:00:00", "1969-12-31 23:59:59.999998"),
}


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_types(tmp_path: Path, name: str) -> None:
    physical, kind, values = PARQUET[name]
    table = (
        pa.table({name: pa.array(values, pa.string()).cast(physical)})
        if name == "m"
        else (pa.table({name: pa.array(values, physical)}))
    )
    path = tmp_path / "typed.parquet"
    pq.write_table(table, path)
    keys = PARQUET_KEYS[kind]
    labels = (*keys, "other", "null")
    group = Group(name, kind, labels, keys, None, "other", "null")
    measures = [Measure(MeasureKind.RECORDS)]
    if kind in (*NUMBERS, T.BOOLEAN):
        quantity = Quantity(name, Grid(Fraction(1, 10), -40, 40), 1)
        measures.append(Measure(MeasureKind.SUM, quantity))
    source, inputs = Source(str(path), "parquet"), (InputColumn(name, kind),)
    for engine in ("duckdb", "reference"):
        get(engine).inspect(source, inputs)
    agree(AggregateRequest(source, inputs, (group,), tuple(measures)))


def test_derived_columns_build_on_each_other(tmp_path: Path) -> None:
    path = tmp_path / "derived.csv"
    path.write_text(
        "born,seen,cost\n" + "2000-05-01,2026-01-31,12.5\n2020-01-01,2026-01-31,x\n" * 3
    )
    inputs = (
        InputColumn("adult", T.BOOLEAN, Expression("age >= 18", ("age",))),
        InputColumn("age", T.INTEGER, Expression("YEAR(seen) - YEAR(born)", ("seen", "born"))),
        InputColumn("per_year", T.FLOAT, Expression("cost / age", ("cost", "age"))),
        InputColumn("born", T.DATE),
        InputColumn("seen", T.DATE),
        InputColumn("cost", T.DECIMAL),
    )
    keys = ("true", "false")
    group = Group("adult", T.BOOLEAN, keys, keys)
    measures = (
        Measure(MeasureKind.SUM, Quantity("age", Grid(Fraction(1), 0, 99))),
        Measure(MeasureKind.SUM, Quantity("per_year", Grid(Fraction(1, 100), 0, 9999))),
        Measure(MeasureKind.RECORDS, where=Expression("cost IS NULL", ("cost",))),
    )
    request = AggregateRequest(Source(str(path), "csv"), inputs, (group,), measures)
    assert agree(request) == [[78, 18], [144, 0], [0, 3]]
