"""Sums are exact however large: 64 bits only where they provably suffice."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dprelease.engines import get
from dprelease.engines.duckdb.measures import fits_narrow
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


def test_when_64_bits_suffice() -> None:
    wanted = request(Path("t.csv"), Grid(Fraction(1), -5, 2**40))
    assert fits_narrow(wanted, 2**23 - 1)
    assert not fits_narrow(wanted, 2**23)
