"""A million cells, nearly all of them hit, fit into the engine's memory without a disk."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dprelease.engines import get
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

SIDE = 1000


@pytest.mark.thorough
def test_a_million_cells(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "t.parquet"
    duckdb.execute(
        f"COPY (SELECT i % {SIDE} AS a, (i // {SIDE}) % {SIDE} AS b, 1.5 AS x"
        f" FROM range(3 * {SIDE} * {SIDE}) AS t(i)) TO '{path}' (FORMAT parquet)"
    )
    keys = tuple(map(str, range(SIDE)))
    groups = tuple(Group(name, ColumnType.INTEGER, keys, keys=keys) for name in "ab")
    quantity = Quantity("x", Grid(Fraction(1, 2), 0, 10))
    request = AggregateRequest(
        Source(str(path), "parquet"),
        (
            InputColumn("a", ColumnType.INTEGER),
            InputColumn("b", ColumnType.INTEGER),
            InputColumn("x", ColumnType.FLOAT),
        ),
        groups,
        (
            Measure(MeasureKind.RECORDS),
            Measure(MeasureKind.VALUES, quantity),
            Measure(MeasureKind.SUM, quantity),
        ),
    )
    records, values, total = get("duckdb").aggregate(request).reveal()
    assert set(records) == set(values) == {3}
    assert set(total) == {9}
