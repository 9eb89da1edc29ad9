"""Named traps of readers: what the cells of a file are, to every engine and by hand.

One record must not change another. Each trap was once read wrongly by somebody, or might be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from packings import pack
from tables import ENGINES, T, hidden, write_typed
from thorough import examples, for_each

from dprelease.engines.duckdb.duckdb_session import open_session
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

NULL = "(null)"
LIMIT = 1 << 20  # bytes of a line or a cell
BOM = b"\xef\xbb\xbf"
NAN, INF = float("nan"), float("inf")

Cells = Counter[tuple[str, ...]]


def read_cells(engine: str, source: Source, inputs: Sequence[InputColumn]) -> Cells:
    """How many records have which texts of their values."""
    groups = tuple(hidden(each.name, each.type, NULL) for each in inputs)
    count = (Measure(MeasureKind.RECORDS),)
    request = AggregateRequest(source, tuple(inputs), groups, count)
    get(engine).inspect(source, inputs)
    table = get(engine).aggregate(request)
    (counts,) = table.reveal()
    return Counter(dict(zip(map(tuple, table.reveal_keys()), counts, strict=True)))


def count_units(engine: str, source: Source, column: InputColumn) -> list[int]:
    """How many units and how many distinct values a column has, nulls among the units."""
    bound = Bound(column.name, 1, 1, 1, leading=0, null_unit=True, salt=3)
    units = AggregateRequest(source, (column,), (), (Measure(MeasureKind.UNITS),), bound=bound)
    distinct = (Measure(MeasureKind.DISTINCT, column=column.name),)
    values = AggregateRequest(source, (column,), (), distinct)
    return [
        int(column[0])
        for each in (units, values)
        for column in get(engine).aggregate(each).reveal()
    ]


def check(engine: str, source: Source, column: InputColumn, labels: Sequence[str | None]) -> None:
    """The labels of the records, in any order; as many units and values as there are labels."""
    expected = Counter((NULL if label is None else label,) for label in labels)
    assert read_cells(engine, source, [column]) == expected
    assert count_units(engine, source, column) == [len(expected), len({*expected} - {(NULL,)})]


# --- texts as values of a type -------------------------------------------------------------------

TEXTS: dict[T, dict[str, str | None]] = {
    T.INTEGER: {
        "7": "7", "07": "7", "+7": "7", "7.0": "7", " 7 ": "7", "70e-1": "7", "-3": "-3",
        "-0": "0", "1e3": "1000", "x": None, "1.5": None, "1e30": None, "1_0": "10", "NULL": None,
        "9007199254740992": "9007199254740992", "9007199254740993": "9007199254740993",
        "9223372036854775807": "9223372036854775807", "9223372036854775808": None,
    },
    T.FLOAT: {
        "0.1": "0.1", ".10": "0.1", "1e-1": "0.1", "-0.0": "0", "0": "0", "12.0": "12",
        "-2.5": "-2.5", "1e-5": "0.00001", "1e23": "1" + "0" * 23, "inf": "inf", "1e999": "inf",
        "-inf": "-inf", "nan": None, "y": None, "0x1F": None, "1,5": None, "\u0661": None,
    },
    T.DECIMAL: {
        "0.10": "0.1", "0.100": "0.1", "+0.1": "0.1", "1.005": "1.005", "100.00": "100",
        "1e2": "100", "123456.789": "123456.789", "": None, "1 000": None,
    },
    T.STRING: {
        "a": "a", "A": "A", "a ": "a ", " a": " a", "01": "01", "1": "1", "1.0": "1.0",
        "\u00e9": "\u00e9", "e\u0301": "\u00e9", "=cmd()": "=cmd()", "null": "null", "NULL": None,
        "": None, "\ufb01": "\ufb01", "abc\u202efdp.exe": "abc\ufffdfdp.exe",
        "\x1b[31mred": "\ufffd[31mred", "\u1100\u1161\u11a8": "\uac01", "x" * 1000: "x" * 1000,
    },
    T.BOOLEAN: {
        "true": "true", "T": "true", "1": "true", "yes": "true", " 1.0 ": "true", "0": "false",
        "False": "false", "NO": "false", "on": None, "2": None, "0.5": None, "t rue": None,
    },
    T.DATE: {
        "2026-01-31": "2026-01-31", " 2026-01-31\t": "2026-01-31", "0001-01-01": "0001-01-01",
        "9999-12-31": "9999-12-31", "2026-01-31 10:00:00": "2026-01-31", "2026-02-30": None,
        "2026-1-31": None, "31.1.2026": None, "0000-12-31": None, "10000-01-01": None,
    },
    T.TIMESTAMP: {
        "2026-01-31 10:00:00": "2026-01-31 10:00:00", "2026-01-31T10:00:00": "2026-01-31 10:00:00",
        "2026-01-31 10:00:00.000": "2026-01-31 10:00:00",
        "2026-01-31 10:00:00.5": "2026-01-31 10:00:00.500000",
        "2026-01-31 10:00:00.000001999": "2026-01-31 10:00:00.000001",
        "0001-01-01 00:00:00": "0001-01-01 00:00:00", "2026-01-31": "2026-01-31 00:00:00",
        "z": None, "2026-01-31 24:00:00": None, "2026-01-31 10:00:00Z": "2026-01-31 10:00:00",
    },
}  # fmt: skip


@pytest.mark.one_in(6)
@for_each("engine", ENGINES)
@for_each("careful", [False, True])
@for_each("kind", TEXTS)
def test_what_a_text_is_as_a_value(kind: ColumnType, careful: bool, engine: str) -> None:
    with TemporaryDirectory() as made:
        place = Path(made)
        lines = [f"{text},1" for text in TEXTS[kind]] + ["NULL,1,2"] * careful
        path = place / "t.csv"
        path.write_text("\n".join(["c,y", *lines, ""]).replace("1,5,1", '"1,5",1'), "utf-8")
        source = Source(str(path), "csv", Dialect(null_values=("", "NULL")))
        labels = [*TEXTS[kind].values(), *[None] * careful]
        check(engine, source, InputColumn("c", kind), labels)


# --- bytes as records ----------------------------------------------------------------------------


class Lines(NamedTuple):
    """Content of a file without a header, and the fields of its records; None: all are null."""

    content: bytes
    records: Sequence[tuple[str, str] | None]
    changes: dict[str, Any] = {}  # noqa: RUF012 - never changed


AB = ("a", "b")
LINES = {
    "an empty file": Lines(b"", []),
    "a mark alone": Lines(BOM, []),
    "an empty line": Lines(b"\n", [None]),
    "an empty line of returns": Lines(b"\r\n", [None]),
    "three empty lines": Lines(b"\n\n\n", [None] * 3),
    "a mark and an empty line": Lines(BOM + b"\n", [None]),
    "a blank": Lines(b" ", [None]),
    "a quote": Lines(b'"', [None]),
    "one field": Lines(b"a", [None]),
    "an empty last field": Lines(b"a,", [("a", NULL)]),
    "no last line feed": Lines(b"a,b", [AB]),
    "a mark before the first field": Lines(BOM + b"a,b\n", [AB]),
    "two marks": Lines(BOM + BOM + b"a,b\n", [("\ufffda", "b")]),
    "a mark further on": Lines(b"a,b\n" + BOM + b"a,b\n", [AB, ("\ufffda", "b")]),
    "returns": Lines(b"a,b\r\na,b\r\n", [AB, AB]),
    "returns and none": Lines(b"a,b\r\na,b\na,b", [AB] * 3),
    "a return within": Lines(b"a\rb,b\n", [("a\ufffdb", "b")]),
    "an empty surplus field": Lines(b"a,b\na,b,\na,b\n", [AB] * 3),
    "two empty surplus fields": Lines(b'a,b, ,""\na,b\n', [AB, AB]),
    "a surplus field": Lines(b"a,b\na,b,c\na,b\n", [AB, None, AB]),
    "a surplus field after an empty one": Lines(b"a,b,,c\na,b\n", [None, AB]),
    "a missing field": Lines(b"a,b\na\na,b\n", [AB, None, AB]),
    "a NUL": Lines(b"a,b\0\na,b\n", [("a", "b\ufffd"), AB]),
    "no UTF-8": Lines(b"a,\xff\na,b\n", [("a", "\ufffd"), AB]),
    "half a character": Lines(b"a,\xc3\na,b\n", [("a", "\ufffd"), AB]),
    "an open quote": Lines(b'a,b\na,"b\na,b\n', [AB, None, AB]),
    "an open quote at the end": Lines(b'a,b\n"a,b', [AB, None]),
    "two open quotes": Lines(b'a,"b\na,b"\na,b\n', [None, ("a", 'b"'), AB]),
    "text after a quote": Lines(b'"a"x,b\na,b\n', [None, AB]),
    "blanks about quotes": Lines(b'  "a"  ,b\na,b\n', [AB, AB]),
    "a tab before a quote": Lines(b'\t"a",b\na,b\n', [('\ufffd"a"', "b"), AB]),
    "doubled quotes": Lines(b'"a""b",""\n', [('a"b', NULL)]),
    "delimiters in quotes": Lines(b'"a,b","b"\n', [("a,b", "b")]),
    "a quote within": Lines(b'a"b,b\n', [('a"b', "b")]),
    "backslashes": Lines(b'a\\,b\n"\\",b\n', [("a\\", "b"), ("\\", "b")]),
    "a comment": Lines(b"# a,b\n", [("# a", "b")]),
    "a line that is too long": Lines(b"a,b\na," + b"x" * LIMIT + b"\na,b\n", [AB, None, AB]),
    "a line of so many bytes": Lines(b"x," + b" " * (LIMIT - 2) + b"\n", [("x", NULL)],
                                     {"strip": True}),
    "a line of one byte more": Lines(b"x," + b" " * (LIMIT - 1) + b"\n", [None]),
    "another encoding": Lines("\u00e9,\u00df\n".encode("latin-1"), [("\u00e9", "\u00df")],
                              {"encoding": "latin-1"}),
    "other marks": Lines(b"'a;b';b\n?;''\n", [("a;b", "b"), (NULL, NULL)],
                         {"delimiter": ";", "quote": "'", "null_values": ("?", "")}),
    "no quote": Lines(b'"a,b"\n', [('"a', 'b"')], {"quote": ""}),
    "no null text": Lines(b",b\n", [("", "b")], {"null_values": ()}),
    "a null text in quotes": Lines(b'"n",b\n', [(NULL, "b")], {"null_values": ("n",)}),
    "stripped blanks": Lines(b" a ,\tn\t\n", [("a", NULL)], {"strip": True, "null_values": ("n",)}),
    "a null text in another spelling": Lines("e\u0301,b\n".encode(), [(NULL, "b")],
                                             {"null_values": ("\u00e9",)}),
    "two lines in quotes": Lines(b'"a\nb",b\na,b\n', [("a\ufffdb", "b"), AB], {"max_lines": 2}),
    "more lines than a record has": Lines(b'"a\n\nb",b\na,b\n', [None, None, ('b"', "b"), AB],
                                          {"max_lines": 2}),
}  # fmt: skip


@pytest.mark.one_in(12)
@for_each("engine", ENGINES)
@for_each("name", LINES)
def test_what_lines_are_as_records(name: str, engine: str) -> None:
    """Alone, and packed; ten good lines before it are as they were."""
    content, records, changes = LINES[name]
    dialect = Dialect(header=False, names=("g", "x"))
    dialect = replace(dialect, **changes)
    expected = Counter(record or (NULL, NULL) for record in records)
    inputs = [InputColumn("g", T.STRING), InputColumn("x", T.STRING)]
    with TemporaryDirectory() as made:
        place = Path(made)
        (place / "t.csv").write_bytes(content)
        if engine != "reference":
            (place / "u.csv.gz").write_bytes(pack(content, "gz"))
            expected = expected + expected
        line = dialect.delimiter.join(("good", "line")).encode() + b"\n"
        (place / "v.csv").write_bytes(line * 10)
        source = Source(str(place), "csv", dialect)
        assert read_cells(engine, source, inputs) == expected + Counter({("good", "line"): 10})


# --- typed values --------------------------------------------------------------------------------


def texts(values: Sequence[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """Texts whose bytes nobody has checked."""
    raw = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    if kind == pa.string_view():
        return raw.cast(pa.binary_view()).view(kind)
    return pa.Array.from_buffers(kind or pa.string(), len(raw), raw.buffers())


def coded(dictionary: pa.Array) -> pa.Array:
    """The first entry, the second, a null and the first."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.uint16()), dictionary)


def in_runs(values: pa.Array) -> pa.Array:
    """The first value, the second twice and the third."""
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int16()), values)


def decimals(values: Sequence[str], digits: int, places: int) -> pa.Array:
    """Decimals of a type."""
    return pa.array(list(map(Decimal, values))).cast(pa.decimal128(digits, places))


def stamps(values: Sequence[int | None], unit: str, zone: str | None = None) -> pa.Array:
    """Moments, whatever Python thinks of them."""
    return pa.array(values, pa.int64()).view(pa.timestamp(unit, zone))


FAR, NOON = 2**62, "2026-01-31 12:00:00"
TYPED: dict[str, tuple[T, pa.Array, list[str | None]]] = {
    "texts": (T.STRING, pa.array(["a b", "", None]), ["a b", "", None]),
    "no UTF-8": (T.STRING, texts([b"a", b"\xff", None]), ["a", "\ufffd", None]),
    "large texts, no UTF-8": (T.STRING, texts([b"a", b"\xff\xfe"], pa.large_string()),
                              ["a", "\ufffd\ufffd"]),
    "views, no UTF-8": (T.STRING, texts([b"a", b"\xff"], pa.string_view()), ["a", "\ufffd"]),
    "a text that is too long": (T.STRING, pa.array(["a", "b" * LIMIT, "b" * (LIMIT + 1)]),
                                ["a", "b" * 935 + "\u2026" + "?", None]),
    "controls": (T.STRING, pa.array(["a\nb", "a\r\nb", "\0", "e\x07\u0301", "\ufeffx"]),
                 ["a\ufffdb", "a\ufffd\ufffdb", "\ufffd", "e\ufffd\u0301", "\ufffdx"]),
    "a NUL in a text": (T.STRING, pa.array(["a\0e\u0301", "a"]), ["a\ufffd\u00e9", "a"]),
    "places": (T.STRING, coded(pa.array(["a", "b"])), ["a", "b", None, "a"]),
    "places of views": (T.STRING, coded(pa.array(["a", "b"], pa.string_view())),
                        ["a", "b", None, "a"]),
    "places of no UTF-8": (T.STRING, coded(texts([b"a", b"\xff"])), ["a", "\ufffd", None, "a"]),
    "places of a null": (T.STRING, coded(pa.array(["a", None])), ["a", None, None, "a"]),
    "places of days": (T.DATE, coded(pa.array([1, 2], pa.date32())),
                       ["1970-01-02", "1970-01-03", None, "1970-01-02"]),
    "places of decimals": (T.INTEGER, coded(decimals(["1", "2"], 30, 2)), ["1", "2", None, "1"]),
    "places of booleans": (T.BOOLEAN, coded(pa.array([True, False])),
                           ["true", "false", None, "true"]),
    "places of nothing": (T.STRING, coded(pa.nulls(2)), [None] * 4),
    "runs": (T.STRING, in_runs(pa.array(["a", None, "b"])), ["a", None, None, "b"]),
    "runs of views": (T.STRING, in_runs(pa.array(["a", None, "b"], pa.string_view())),
                      ["a", None, None, "b"]),
    "runs of places": (T.STRING, in_runs(pa.array(["a", None, "b"]).dictionary_encode()),
                       ["a", None, None, "b"]),
    "runs of numbers": (T.INTEGER, in_runs(pa.array([1, None, 2])), ["1", None, None, "2"]),
    "runs of moments": (T.TIMESTAMP, in_runs(stamps([0, None, 10**9], "ns")),
                        ["1970-01-01 00:00:00", None, None, "1970-01-01 00:00:01"]),
    "no type": (T.STRING, pa.nulls(2), [None, None]),
    "no type of numbers": (T.DECIMAL, pa.nulls(2), [None, None]),
    "no type of moments": (T.TIMESTAMP, pa.nulls(2), [None, None]),
    "large integers": (T.INTEGER, pa.array([2**63 - 1, -(2**63), None]),
                       [str(2**63 - 1), str(-(2**63)), None]),
    "too large integers": (T.INTEGER, pa.array([2**63, 3, 2**64 - 1], pa.uint64()),
                           [None, "3", None]),
    "doubles as integers": (T.INTEGER, pa.array([1.0, 2.5, NAN, 1e300, 2.0**60]),
                            ["1", None, None, None, str(2**60)]),
    "decimals as integers": (T.INTEGER, decimals(["100000000000000001", "0.5"], 38, 19),
                             ["100000000000000001", None]),
    "doubles": (T.FLOAT, pa.array([2.50, -0.0, 0.0, NAN, INF, None]),
                ["2.5", "0", "0", None, "inf", None]),
    "single floats": (T.FLOAT, pa.array([0.1, -INF], pa.float32()),
                      ["0.10000000149011612", "-inf"]),
    "half floats": (T.FLOAT, pa.array([1.5, -2.0], pa.float32()).cast(pa.float16()),
                    ["1.5", "-2"]),
    "decimals of twenty places": (T.DECIMAL, decimals(["0.1", "12345.67890123456789"], 30, 20),
                                  ["0.1", "12345.678901234567"]),
    "booleans": (T.BOOLEAN, pa.array([True, False, None]), ["true", "false", None]),
    "integers as booleans": (T.BOOLEAN, pa.array([1, 0, 2], pa.int8()), ["true", "false", None]),
    "far days": (T.DATE, pa.array([20484, 2**31 - 1, -(2**31), -719162, -719163], pa.date32()),
                 ["2026-01-31", None, None, "0001-01-01", None]),
    "days of milliseconds": (T.DATE, pa.array([date(2026, 1, 31), None], pa.date64()),
                             ["2026-01-31", None]),
    "microseconds": (T.TIMESTAMP, pa.array([datetime(2026, 1, 31, 12, 0, 0, 20), None]),
                     [f"{NOON}.000020", None]),
    "far seconds": (T.TIMESTAMP, stamps([0, FAR, -FAR], "s"), ["1970-01-01 00:00:00", None, None]),
    "far milliseconds": (T.TIMESTAMP, stamps([0, FAR + 1], "ms"), ["1970-01-01 00:00:00", None]),
    "far microseconds": (T.TIMESTAMP, stamps([2**63 - 1, 1 - 2**63, 2**63 - 2, -1], "us"),
                         [None, None, None, "1969-12-31 23:59:59.999999"]),
    "far nanoseconds": (T.TIMESTAMP, stamps([2**63 - 1, -1500, 1 - 2**63], "ns"),
                        ["2262-04-11 23:47:16.854775", "1969-12-31 23:59:59.999998",
                         "1677-09-21 00:12:43.145224"]),
    "zones": (T.TIMESTAMP, stamps([0, None], "s", "Asia/Tokyo"), ["1970-01-01 00:00:00", None]),
    "moments as days": (T.DATE, stamps([86_399_999, -1], "ms"), ["1970-01-01", "1969-12-31"]),
}  # fmt: skip
NOT_IN_PARQUET = {
    "places of views", "places of a null", "places of nothing", "far seconds",
    *(name for name in TYPED if name.startswith("runs")),
}  # fmt: skip


@pytest.mark.one_in(24)
@for_each("engine", ENGINES)
@for_each("form", ["parquet", "arrow"])
@for_each("name", TYPED)
def test_what_typed_values_are(name: str, form: str, engine: str) -> None:
    kind, values, labels = TYPED[name]
    if form == "parquet" and name in NOT_IN_PARQUET:
        pytest.skip("it can't be written")
    if form == "arrow" and name == "days of milliseconds":
        pytest.skip("refused: Arrow's days need not be whole")
    with TemporaryDirectory() as made:
        place = Path(made)
        path = place / f"t.{form}"
        write_typed(pa.table({"nested": [[1]] * len(values), "c": values}), path, form, 2)
        source, column = Source(str(path), form), InputColumn("c", kind)
        if name == "a text that is too long":
            found = read_cells(engine, source, [column])
            assert found[("a",)] == found[NULL,] == 1
            ((long,),) = {*found} - {("a",), (NULL,)}
            assert long.startswith("b" * 935 + "\u2026")
            return
        check(engine, source, column, labels)


TOKENS = st.sampled_from(
    [b",", b",", b'"', b'"', b" ", b"a", b"1", b"\t", b"2", b"\xc3\xa9", b"\r", b"\0", b"\xff",
     b"\xc3", BOM, b"\\"]
)  # fmt: skip
SOUP = st.lists(TOKENS, max_size=30).map(b"".join)


@given(lines=st.lists(SOUP, min_size=1, max_size=6), new=SOUP)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_line_changes_one_record(tmp_path: Path, lines: list[bytes], new: bytes) -> None:
    """Whatever bytes it has, and whatever the others have."""
    source = Source(str(tmp_path / "t.csv"), "csv", Dialect(header=False, names=("g", "x")))
    inputs = [InputColumn("g", T.STRING), InputColumn("x", T.STRING)]
    found = []
    for middle in (lines[0], new):
        Path(source.pattern).write_bytes(b"\n".join([b"a,b", middle, *lines[1:], b"1,b", b""]))
        found.append(read_cells("duckdb", source, inputs))
    before, after = found
    assert before.total() == after.total() == len(lines) + 2
    assert (before - after).total() <= 1


# Units that are only compared, each with how many there are beside that of nulls.
OPAQUE: dict[str, tuple[pa.Array, int]] = {
    "NaNs": (pa.array([0.1, NAN, None, -NAN]), 2),
    "zeros": (pa.array([0.0, -0.0, None, 0.0]), 2),
    "single floats": (pa.array([0.1, -INF, None, 0.1], pa.float32()), 2),
    "large integers": (pa.array([2**64 - 1, 2**64 - 2, None], pa.uint64()), 2),
    "decimals": (pa.array([Decimal("1.20"), Decimal("-3"), None, Decimal("1.2")]), 2),
    "texts": (pa.array(["1", "01", None, "01"]), 2),
    "far days": (pa.array([2**31 - 1, -(2**31), None, -(2**31)], pa.date32()), 2),
    "far moments": (stamps([2**63 - 1, 1 - 2**63, -(2**63), None], "us"), 3),
    "nanoseconds": (stamps([10**18 + 1, 10**18 + 2, None, 10**18 + 1], "ns", "Asia/Tokyo"), 2),
    "times": (pa.array([1, 86_399_999_999_999, None, 1], pa.time64("ns")), 2),
    "durations": (pa.array([1, -5, None, 1], pa.duration("us")), 2),
    "bytes": (pa.array([b"\xff\x00", b"\xff\x01", None, b"\xff\x00"], pa.binary()), 2),
    "identifiers": (pa.array([b"0" * 16, b"\xff" * 16, None, b"0" * 16], pa.uuid()), 2),
}


@pytest.mark.one_in(3)
@for_each("engine", ENGINES)
@for_each("name", OPAQUE)
def test_units_of_any_type_are_told_apart(name: str, engine: str) -> None:
    """And of each the same rows are kept as by the oracle: two of seven."""
    values, number = OPAQUE[name]
    column = InputColumn("p", T.STRING, opaque=True)
    inputs = (column, InputColumn("x", T.INTEGER))
    points = Quantity("x", Grid(Fraction(1), 0, 7 * len(values)))
    with TemporaryDirectory() as made:
        path = Path(made) / "t.parquet"
        units = pa.chunked_array([values] * 7).combine_chunks()
        pq.write_table(pa.table({"p": units, "x": range(len(units))}), path)
        source = Source(str(path), "parquet")
        bound = Bound("p", 2, 1, 2, leading=0, null_unit=True, salt=1)
        request = AggregateRequest(source, inputs, (), (), bound=bound, points=points)
        get(engine).inspect(source, inputs)
        kept = [[list(each) for each in get(name).aggregate(request).reveal()]
                for name in (engine, "reference")]  # fmt: skip
    assert sum(kept[0][2]) == 2 * (number + 1)
    assert kept[0] == kept[1]


@for_each("kind", [pa.string(), pa.large_string()])
@for_each("places", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()])
def test_a_dictionary_of_parquet_that_is_not_utf8(places: pa.DataType, kind: pa.DataType) -> None:
    """Its writer had it as one, with places of any type; no text stops the reader."""
    entries = texts([b"a", b"\xff"], kind)
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], places), entries)
    with TemporaryDirectory() as made:
        path = Path(made) / "t.parquet"
        pq.write_table(pa.table({"c": values}), path)
        check("duckdb", Source(str(path), "parquet"), InputColumn("c", T.STRING),
              ["a", "\ufffd", None, "a"])  # fmt: skip


# --- large and old ones --------------------------------------------------------------------------

GROUPED = [InputColumn("g", T.STRING), InputColumn("x", T.INTEGER)]


def read_lines(path: Path, content: bytes) -> Cells:
    """The cells of a CSV file with columns g and x."""
    path.write_bytes(b"g,x\n" + content)
    return read_cells("duckdb", Source(str(path), "csv"), GROUPED)


@pytest.mark.one_in(5)
@for_each("bad", [b'b,"1', b"b,\xff", b"b,\0", b"b", b"b,1,2"])
@for_each(
    "line", [b'  "a"  ,1', b'"a" "b",1', b'"" "",1', b'\t"a",1', b' "a",1', b'"a",1', b'" ",1']
)
def test_one_bad_line_leaves_a_thousand_odd_ones_alone(line: bytes, bad: bytes) -> None:
    with TemporaryDirectory() as made:
        path, many = Path(made) / "t.csv", (line + b"\n") * 1000
        good, found = (read_lines(path, many + last + b"\n") for last in (b"b,1", bad))
        assert (good - found) + (found - good) <= Counter(
            {("b", "1"): 1, ("b", NULL): 1, (NULL, NULL): 1}
        )


def test_a_quote_where_two_threads_meet_costs_no_run(tmp_path: Path) -> None:
    """DuckDB's threads part a file at every eight millionth byte, and find the next line by trying.

    Where one record has a quote before its delimiter, they don't meet.
    """
    line, odd, meets = b"a,1".ljust(49) + b"\n", b'b",1'.ljust(49) + b"\n", 8_000_000 // 50
    for place in range(meets - 1, meets + 2):
        content = line * place + odd + line * (200_000 - place)
        assert read_lines(tmp_path / "t.csv", content) == {("a", "1"): 200_000, ('b"', "1"): 1}


@for_each("quoted_at", [2, 40_000])
@for_each("end", [b"\n", b"\r\n"])
def test_a_late_quote_is_noticed_whatever_ends_the_lines(end: bytes, quoted_at: int) -> None:
    """Beyond the first chunk of the scan, a quote that swallows the next line."""
    lines = [b"a,1" + b" " * 20] * 60_000
    lines[quoted_at : quoted_at + 2] = [b'"b,1', b'b",1']
    with TemporaryDirectory() as made:
        found = read_lines(Path(made) / "t.csv", end.join([*lines, b""]))
    assert found == {("a", "1"): 59_998, (NULL, NULL): 1, ('b"', "1"): 1}


@pytest.mark.parametrize("name", ["f0=b", "f1=9", "g=b", "x=9"])
def test_a_folder_is_no_column_of_csv(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    assert read_lines(tmp_path / name / "t.csv", b"a,1\n" * 10) == {("a", "1"): 10}


@for_each("bad", [False, True])
@for_each("moment", [datetime(9999, 12, 31), datetime(1, 1, 1), datetime(1999, 5, 4)])
def test_old_spark_timestamps_far_from_today(moment: datetime, bad: bool) -> None:
    """Nanoseconds, the default, wrap around in 2262."""
    moments = pa.array([moment] * 100, pa.timestamp("us"))
    labels = texts([b"q"] * 99 + [b"\xff" if bad else b"z"])
    with TemporaryDirectory() as made:
        path = Path(made) / "t.parquet"
        table = pa.table({"t": moments, "g": labels})
        pq.write_table(table, path, use_deprecated_int96_timestamps=True)
        columns = [InputColumn("t", T.TIMESTAMP), InputColumn("g", T.STRING)]
        found = read_cells("duckdb", Source(str(path), "parquet"), columns)
    last = "\ufffd" if bad else "z"
    assert found == {(str(moment), "q"): 99, (str(moment), last): 1}


@pytest.mark.one_in(2)
@for_each("value", [2**53 - 1, 1 - 2**53])
@for_each("records", [10, 1023, 1024, 1025, 3000])
@for_each("form", ["csv", "parquet"])
def test_sums_are_wider_than_64_bits(form: str, records: int, value: int) -> None:
    """Also those of squares, and of products with a survey weight."""
    top = 2**53 - 1
    number = Quantity("x", Grid(Fraction(1), -top, top))
    weight = Quantity("w", Grid(Fraction(1), 0, 2**40))
    measures = (
        Measure(MeasureKind.SUM, number),
        Measure(MeasureKind.SQUARES, number),
        Measure(MeasureKind.SUM, number, survey_weight=weight),
        Measure(MeasureKind.VALUES, number),
    )
    inputs = (InputColumn("x", T.INTEGER), InputColumn("w", T.INTEGER))
    with TemporaryDirectory() as made:
        path = Path(made) / f"t.{form}"
        if form == "csv":
            path.write_text("x,w\n" + f"{value},{2**40}\n" * records)
        else:
            pq.write_table(pa.table({"x": [value] * records, "w": [2**40] * records}), path)
        request = AggregateRequest(Source(str(path), form), inputs, (), measures)
        found = [list(column) for column in get("duckdb").aggregate(request).reveal()]
    assert found == [
        [value * records], [value**2 * records], [value * records << 40], [records]
    ]  # fmt: skip


@pytest.mark.parametrize("lower", [-1_000_000, 0])
def test_constant_values_with_a_fine_step(lower: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array([5.0] * 20_000)}), path)
    quantity = Quantity("x", Grid(Fraction(1, 10**9), lower * 10**9, 10**15))
    measures = (Measure(MeasureKind.SUM, quantity),)
    inputs = (InputColumn("x", T.FLOAT),)
    request = AggregateRequest(Source(str(path), "parquet"), inputs, (), measures)
    assert [list(each) for each in get("duckdb").aggregate(request).reveal()] == [[10**14]]


def test_nothing_spills_to_disk() -> None:
    with open_session(()) as connection:
        limit = connection.execute("SELECT current_setting('max_temp_directory_size')")
        assert str(limit.fetchall()[0][0]).startswith("0")
