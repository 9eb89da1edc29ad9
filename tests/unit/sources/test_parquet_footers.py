"""Footers of many files: each is read once, and little is done for one more file."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from operations import count_operations
from oracle.engine import get

from dprelease.errors import Failure
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
from dprelease.sources.parquet import parquet_schema
from dprelease.sources.shared.kept_parts import keep_parsed

INPUTS = (InputColumn("s", ColumnType.STRING), InputColumn("n", ColumnType.FLOAT))
N = Quantity("n", Grid(Fraction(1, 4), -20, 400), 3)


def write(folder: Path, files: int, n: Any = 1.5) -> Source:
    folder.mkdir(exist_ok=True)
    others = {f"other {number}": [number] for number in range(18)}
    for number in range(files):
        pq.write_table(pa.table({**others, "s": ["a"], "n": [n]}), folder / f"{number}.parquet")
    return Source(str(folder), "parquet")


def request(source: Source) -> AggregateRequest:
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, N))
    return AggregateRequest(source, INPUTS, (), measures)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose footers were read."""
    paths: list[str] = []
    real: Callable[..., Any] = parquet_schema.open_file

    def note(path: str, *given: Any) -> Any:
        paths.append(path)
        return real(path, *given)

    monkeypatch.setattr(parquet_schema, "open_file", note)
    return paths


def test_a_footer_is_read_once_for_all_requests(tmp_path: Path, opened: list[str]) -> None:
    asked = request(write(tmp_path / "t", 5))
    with keep_parsed():
        get("duckdb").inspect(asked.source, asked.inputs)
        for _ in range(3):
            assert get("duckdb").aggregate(asked).reveal() == ([5], [30])
    assert len(opened) == len(set(opened)) == 5


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path, opened: list[str]) -> None:
    asked = request(write(tmp_path / "t", 2))
    with keep_parsed():
        assert get("duckdb").aggregate(asked).reveal() == ([2], [12])
        write(tmp_path / "t", 1, n=2.5)
        assert get("duckdb").aggregate(asked).reveal() == ([2], [16])
        write(tmp_path / "t", 1, n=["a text"])
        with pytest.raises(Failure):
            get("duckdb").inspect(asked.source, asked.inputs)
    assert len(opened) == 4


def test_one_more_file_of_the_same_columns_takes_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the look at its path, which depends on how deep it lies."""
    source = write(tmp_path / "t", 40)
    paths = tuple(map(str, (tmp_path / "t").iterdir()))
    taken = []
    for files in (paths[:20], paths):
        monkeypatch.setattr(parquet_schema, "resolve", lambda _source, files=files: files)
        taken.append(count_operations(lambda: parquet_schema.lay_out_parquet(source, INPUTS)))
    assert (taken[1] - taken[0]) / 20 < 600
