"""One cell that is far too long is null, and stops nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dprelease.engines import get
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

LIMIT = 1 << 20
LONG = 300_000_000


def counted(path: Path) -> list[int]:
    labels = ("p", "q", "none")
    group = Group("t", ColumnType.STRING, labels, labels[:2], null_label="none")
    inputs = (InputColumn("t", ColumnType.STRING),)
    source = Source(str(path), "parquet")
    request = AggregateRequest(source, inputs, (group,), (Measure(MeasureKind.RECORDS),))
    (column,) = get("duckdb").aggregate(request).reveal()
    return list(column)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(LIMIT, [200, 199, 0]), (LIMIT + 1, [200, 199, 1]), (LONG, [200, 199, 1])],
)
def test_a_long_cell_changes_its_own_record(size: int, expected: list[int], tmp_path: Path) -> None:
    texts = ["p", "q"] * 199 + ["p", "x" * size]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"t": texts}), path)
    del texts
    assert counted(path) == expected
