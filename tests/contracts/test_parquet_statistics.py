"""What the footers of Parquet files say of values is believed by no reader: it may be wrong.

DuckDB's reader takes part where it looks at every value, and tells texts that are not UTF-8.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_requests import order
from oracle.engine import get
from tables import hidden, keyed, sql
from thorough import some

from dprelease.engines.duckdb import duckdb_engine as embedded
from dprelease.engines.duckdb.duckdb_session import open_session
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
    Source,
)
from dprelease.sources.shared.source_format import lay_out

LOW, HIGH, RECORDS = 0x1112131415161718, 0x2122232425262728, 30
INPUTS = (
    InputColumn("u", ColumnType.INTEGER),
    InputColumn("x", ColumnType.FLOAT),
    InputColumn("s", ColumnType.STRING),
)
X = Quantity("x", Grid(Fraction(1, 4), -40, 40), 3)
ADDED = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.SUM, X),
    Measure(MeasureKind.RECORDS, where=sql("u > 0 AND x < 3", "u", "x")),
)
DISTINCT = (Measure(MeasureKind.DISTINCT, column="u"), Measure(MeasureKind.DISTINCT, column="x"))
BOUND = Bound("u", 4, 1, 3, leading=1, salt=5)
KEYED = keyed("s", "ab")


def integer(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def number(value: float) -> bytes:
    return struct.pack("<d", value)


LIES = {
    "all are null": [(b"\x16\x00\x28", b"\x16" + bytes([2 * RECORDS]) + b"\x28")],
    "all are alike": [
        (integer(HIGH), integer(LOW)),
        (number(99.75), number(-0.0)),
        (b"\x28\x01b", b"\x28\x01a"),
    ],
    "lower and upper ends": [
        (integer(LOW), integer(-5)),
        (integer(HIGH), integer(-4)),
        (number(-0.0), number(1e300)),
        (number(99.75), number(1e301)),
        (b"\x28\x01b", b"\x28\x01A"),
    ],
}


def written(folder: Path, lies: list[tuple[bytes, bytes]]) -> Source:
    """Three files, two in another order of columns, with what their footers say replaced."""
    units = pa.array([LOW, HIGH, HIGH] * 10)
    numbers = pa.array([1.25, float("nan"), -0.0, 99.75, 2.5] * 6)
    table = pa.table({"u": units, "x": numbers, "s": ["a", "b", "b", "a", "b"] * 6})
    for name, columns in (("1", "uxs"), ("2", "sux"), ("3", "xsu")):
        path = folder / f"{name}.parquet"
        pq.write_table(table.select(list(columns)), path, row_group_size=RECORDS)
        content = path.read_bytes()
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        said = content[footer:]
        for true, false in lies:
            assert true in said
            said = said.replace(true, false)
        path.write_bytes(content[:footer] + said)
    return Source(str(folder), "parquet")


REQUESTS: dict[str, tuple[tuple[Group, ...], dict[str, Any]]] = {
    "sums": ((KEYED,), {}),
    "sums of all": ((), {}),
    "distinct": ((KEYED,), {"measures": (*ADDED, *DISTINCT)}),
    "where": ((KEYED,), {"where": sql("x > 2 OR u > 0", "x", "u")}),
    "points": ((KEYED,), {"measures": (), "points": X}),
    "private": ((hidden("s"),), {}),
    "people": ((KEYED,), {"bound": BOUND}),
    "distinct of people": ((KEYED,), {"measures": (*ADDED, *DISTINCT), "bound": BOUND}),
    "private of people": ((hidden("s"),), {"bound": BOUND}),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("name", REQUESTS)
def test_wrong_statistics_change_nothing(name: str, lies: str, tmp_path: Path) -> None:
    groups, more = REQUESTS[name]
    request = AggregateRequest(
        written(tmp_path, LIES[lies]), INPUTS, groups, **({"measures": ADDED} | more)
    )
    table = lay_out(request.source, request.inputs)
    expected = order(request, get("reference").aggregate(request))
    assert order(request, embedded.read_carefully(request, table).table) == expected
    fast = embedded.read_fast(request, table)
    assert (fast is None) == (lies == "all are null")  # then its reader looks at no value
    assert fast is None or order(request, fast.table) == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM {t} WHERE u > 0", 90),
        ("SELECT COUNT(*) FROM {t} WHERE s = 'b'", 54),
        ("SELECT COUNT(*) FROM {t} WHERE x < 100", 72),
        ("SELECT COUNT(*) FROM {t} JOIN (SELECT UNNEST([2, {low}]) AS v) ON u = v", 30),
        ("SELECT u FROM {t} ORDER BY u LIMIT 1", LOW),
        ("SELECT MAX(u) FROM {t}", HIGH),
        ("SELECT MIN(s) FROM {t}", "a"),
    ],
)
@pytest.mark.parametrize("lies", ["lower and upper ends", "all are alike"])
def test_a_statement_believes_no_statistics(
    sql: str, expected: object, lies: str, tmp_path: Path
) -> None:
    """Whatever is asked of a session: filters, joins, orders and aggregates are tried on values."""
    written(tmp_path, LIES[lies])
    paths = sorted(map(str, tmp_path.iterdir()))
    with open_session(paths) as connection:
        answer = connection.execute(sql.format(t=f"read_parquet({paths})", low=LOW))
        assert answer.fetchall() == [(expected,)]


def texts(path: Path, raw: list[bytes], **options: Any) -> AggregateRequest:
    """How many records have each text."""
    stored = pa.array(raw, pa.binary())
    array = pa.Array.from_buffers(pa.string(), len(stored), stored.buffers())
    pq.write_table(pa.table({"s": array}), path, **options)
    inputs = (InputColumn("s", ColumnType.STRING),)
    return AggregateRequest(Source(str(path), "parquet"), inputs, (hidden("s"),), ADDED[:1])


EDGES = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF]
EDGES += [0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]


def test_a_text_that_is_not_utf8_is_for_the_careful_reader(tmp_path: Path) -> None:
    tried = [*product(EDGES, repeat=1), *product(EDGES, repeat=2)]
    tried += product((0xE0, 0xE1, 0xED, 0xEF), (0x7F, 0x80, 0x9F, 0xA0, 0xBF), (0x80, 0xBF, 0xC0))
    tried += product((0xF0, 0xF1, 0xF4), (0x7F, 0x80, 0x8F, 0x90, 0xBF), (0x80, 0xC0), (0x80, 0xBF))
    valid, broken = [], []
    for each in map(bytes, tried):
        is_valid = each.decode("utf-8", "replace").encode() == each
        (valid if is_valid else broken).append(each)
    for number, each in enumerate(some(broken, 12)):
        request = texts(tmp_path / f"{number}.parquet", [b"a", each])
        assert embedded.read_fast(request, lay_out(request.source, request.inputs)) is None
    request = texts(tmp_path / "t.parquet", valid)
    fast = embedded.read_fast(request, lay_out(request.source, request.inputs))
    assert fast is not None
    assert order(request, fast.table) == order(request, get("reference").aggregate(request))


def test_texts_of_which_two_are_utf8_only_together_are_for_the_careful_reader(
    tmp_path: Path,
) -> None:
    path, encoding = tmp_path / "t.parquet", {"s": "DELTA_LENGTH_BYTE_ARRAY"}
    halves = ["\u00e9".encode()[:1], "\u00e9".encode()[1:]]
    for raw in ([b"a", b"b"], halves):
        request = texts(path, raw, use_dictionary=False, column_encoding=encoding)
        assert embedded.read_fast(request, lay_out(request.source, request.inputs)) is None
        expected = order(request, get("reference").aggregate(request))
        assert order(request, get("duckdb").aggregate(request)) == expected
