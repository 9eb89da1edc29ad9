"""Exact aggregates know records, not their order; and a bad line is one record, wherever it stands.

With public and private groups, with units whose rows are bounded, with quantiles' points, in CSV
and in Parquet, for both engines.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.engine import get
from thorough import examples

from dprelease.model import (
    AggregateRequest,
    Bound,
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

SETTINGS = settings(
    deadline=None,
    max_examples=examples(4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
INPUTS = (
    InputColumn("u", ColumnType.STRING),
    InputColumn("g", ColumnType.STRING),
    InputColumn("x", ColumnType.FLOAT),
)
PUBLIC = Group(
    "g", ColumnType.STRING, ("a", "b", "other", "null"), ("a", "b"), None, "other", "null"
)
PRIVATE = Group("g", ColumnType.STRING, (), null_label="null", private=True)
QUANTITY = Quantity("x", Grid(Fraction(1, 2), -10, 20))
MEASURES = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.VALUES, QUANTITY),
    Measure(MeasureKind.SUM, QUANTITY),
    Measure(MeasureKind.RECORDS, where=Expression("x > 1 OR g = 'a'", ("x", "g"))),
)
BOUND = Bound("u", rows=2, groups=1, per_group=2, leading=1, null_unit=True, salt=77)
ROW = st.tuples(
    st.sampled_from(["u1", "u2", "u3", ""]),
    st.sampled_from(["a", "b", "c", ""]),
    st.sampled_from(["1", "2.5", "-3", "", "99", "nan", "x"]),
)
KINDS: dict[str, dict[str, Any]] = {
    "public": {"groups": (PUBLIC,), "measures": MEASURES},
    "private": {"groups": (PRIVATE,), "measures": MEASURES},
    "people": {"groups": (PUBLIC,), "measures": MEASURES, "bound": BOUND},
    "points": {"groups": (PUBLIC,), "measures": (), "points": QUANTITY},
}


def answers(source: Source, kind: str) -> Any:
    """What both engines say: it must be the same, whatever the order of private keys."""
    found = []
    for name in ("duckdb", "reference"):
        table = get(name).aggregate(AggregateRequest(source, INPUTS, **KINDS[kind]))
        columns = [list(column) for column in table.reveal()]
        if kind == "private":
            found.append(sorted(zip(map(tuple, table.reveal_keys()), *columns, strict=True)))
        else:
            found.append(columns)
    assert found[0] == found[1]
    return found[0]


def csv_file(path: Path, rows: list[bytes]) -> Source:
    path.write_bytes(b"\n".join([b"u,g,x", *rows, b""]))
    return Source(str(path), "csv")


@pytest.mark.one_in(4)
@given(rows=st.lists(ROW, max_size=12), chance=st.randoms(use_true_random=False))
@SETTINGS
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_records_changes_nothing(
    kind: str, rows: list[tuple[str, ...]], chance: Any, tmp_path: Path
) -> None:
    mixed = chance.sample(rows, len(rows))
    found = [
        answers(csv_file(tmp_path / "t.csv", [",".join(row).encode() for row in each]), kind)
        for each in (rows, mixed)
    ]
    assert found[0] == found[1]


@pytest.mark.one_in(2)
@given(rows=st.lists(ROW, min_size=1, max_size=12), chance=st.randoms(use_true_random=False))
@SETTINGS
@pytest.mark.parametrize("kind", ["public", "people"])
def test_nor_in_parquet_and_its_row_groups(
    kind: str, rows: list[tuple[str, ...]], chance: Any, tmp_path: Path
) -> None:
    found = []
    for each, size in ((rows, 100), (chance.sample(rows, len(rows)), 2)):
        numbers = [float(row[2]) if row[2] not in ("", "x") else None for row in each]
        texts = {
            name: pa.array([row[at] or None for row in each], pa.string())
            for at, name in enumerate("ug")
        }
        table = pa.table({**texts, "x": pa.array(numbers, pa.float64())})
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=size)
        found.append(answers(Source(str(tmp_path / "t.parquet"), "parquet"), kind))
    assert found[0] == found[1]


BAD = [b'"u1,a,1', b'u1,"a,1', b"u1,a,1,1,1", b"u1", b"u1,\xff\xfe,1", b"u1,\0,1", b"u\r1,a,1",
       b"u1,a,1\r\r", b'u1,"a"b",1', b'""",a,1', b"\xef\xbb\xbfu1,a,1", b"u1,a," + b"9" * 5000,
       b"\x1a", b"'u1,a,1", b"u1\ta\t1", b"\\\",a,1"]  # fmt: skip
CLEAN = [b"u1,a,1", b"u2,b,2.5", b"u3,c,-3", b",a,4", b'"u4","b","7"', b"u5,,9"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_one_record_wherever_it_stands(bad: bytes, tmp_path: Path) -> None:
    """All others count as they did; the bad one is a record of its own, the same everywhere."""
    without = answers(csv_file(tmp_path / "t.csv", CLEAN), "public")
    added = set()
    for at in (0, 3, len(CLEAN)):
        rows = [*CLEAN[:at], bad, *CLEAN[at:]]
        found = answers(csv_file(tmp_path / "t.csv", rows), "public")
        added.add(
            tuple(
                tuple(now - before for now, before in zip(after, first, strict=True))
                for after, first in zip(found, without, strict=True)
            )
        )
    assert len(added) == 1
    ((records, values, _sums, true),) = added
    assert sorted(records) == [0, 0, 0, 1]
    assert set(values) <= {0, 1}
    assert sum(values) <= 1
    assert sum(true) <= 1
