"""Sums are exact however large: also beyond 64 bits."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dprelease.engines import get
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Grid,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

LARGEST = 2**53 - 1


def request(path: Path, grid: Grid) -> AggregateRequest:
    quantity = Quantity("x", grid)
    return AggregateRequest(
        Source(str(path), "csv"),
        (InputColumn("x", ColumnType.INTEGER),),
        (),
        (Measure(MeasureKind.SUM, quantity), Measure(MeasureKind.VALUES, quantity)),
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("value", [LARGEST, -LARGEST])
@pytest.mark.parametrize("records", [10, 1023, 1024, 1025, 3000])
def test_sums_beyond_64_bits(value: int, records: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n" + f"{value}\n" * records)
    wanted = request(path, Grid(Fraction(1), -LARGEST, LARGEST))
    total, count = get("duckdb").aggregate(wanted).reveal()
    assert (list(total), list(count)) == ([value * records], [records])
