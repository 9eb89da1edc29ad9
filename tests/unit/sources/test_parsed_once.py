"""A run parses a workbook once, whatever it asks of it, and keeps nothing of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest
import workbooks
from oracle.engine import get
from tables import COUNT, keyed

import dprelease
from dprelease.errors import ExitCode, Failure
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
from dprelease.sources.shared import kept_parts
from dprelease.sources.shared.kept_parts import find_kept, keep_parsed
from dprelease.sources.xlsx import xlsx_source

S, N = InputColumn("s", ColumnType.STRING), InputColumn("n", ColumnType.FLOAT)
QUANTITY = Quantity("n", Grid(Fraction(1, 4), -20, 400), 3)
KEYS = keyed("s", "ab")


def write(path: Path, rows: int = 10, n: float = 1.5) -> Source:
    lines = [["s", "other", "n"], *[["a", "x", n], ["b", None, None]] * (rows // 2)]
    return Source(str(workbooks.table(path, lines)), "xlsx")


def requests(source: Source) -> list[AggregateRequest]:
    """Two that read different columns."""
    counted = AggregateRequest(source, (S,), (KEYS,), COUNT)
    added = AggregateRequest(source, (N,), (), (Measure(MeasureKind.SUM, QUANTITY),))
    return [counted, added]


def answers(source: Source) -> list[list[list[int]]]:
    get("duckdb").inspect(source, (S, N))
    tables = [get("duckdb").aggregate(each) for each in requests(source)]
    return [list(map(list, table.reveal())) for table in tables]


OF_TEN = [[[5, 5]], [[5 * 6 + 5 * 3]]]
OF_TWENTY = [[[10, 10]], [[10 * 10 + 10 * 3]]]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The columns of each parse of rows."""
    columns: list[list[int]] = []
    read = xlsx_source.read_rows

    def note(place: xlsx_source.Place, wanted: Any, count: Any) -> Iterator[Any]:
        columns.append(list(wanted))
        return read(place, wanted, count)

    monkeypatch.setattr(xlsx_source, "read_rows", note)
    return columns


def test_the_columns_of_all_requests_are_parsed_at_once(
    tmp_path: Path, parsed: list[list[int]]
) -> None:
    source = write(tmp_path / "t.xlsx")
    with keep_parsed():
        assert answers(source) == OF_TEN
    assert parsed == [[1, 3]]
    assert find_kept() is None
    assert answers(source) == OF_TEN
    assert parsed == [[1, 3], [1], [3]]


def test_a_run_parses_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: list[list[int]]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.xlsx")
    middle = {"statistic": "quantile", "column": "n", "q": [0.5]}
    spec = builders.spec(
        data={"path": "t.xlsx"},
        ledger={"epsilon_cap": 10},
        columns={
            "s": {"type": "string", "keys": ["a", "b"]},
            "n": {"type": "integer", "lower": 0, "upper": 10},
        },
        query=[
            {"name": "rows", "statistic": "count", "by": ["s"]},
            {"name": "middle", **middle},
            {"name": "middles", **middle, "by": ["s"]},
        ],
    )
    dprelease.run(spec)
    assert parsed == [[1, 3]]
    assert find_kept() is None


@pytest.mark.parametrize("module", [xlsx_source, kept_parts])
def test_a_sheet_that_is_too_large_to_keep_is_parsed_anew(
    module: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: list[list[int]]
) -> None:
    monkeypatch.setattr(xlsx_source, "BATCH", 3)
    monkeypatch.setattr(module, "MOST_KEPT", 20)
    with keep_parsed():
        assert answers(write(tmp_path / "t.xlsx")) == OF_TEN
    assert len(parsed) == 2


def test_a_workbook_that_is_replaced_between_requests_is_parsed_anew(tmp_path: Path) -> None:
    with keep_parsed():
        assert answers(write(tmp_path / "t.xlsx")) == OF_TEN
        assert answers(write(tmp_path / "t.xlsx", 20, 2.5)) == OF_TWENTY


def test_a_workbook_that_changes_while_it_is_parsed_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "t.xlsx")
    read = xlsx_source.read_rows

    def changing(*given: Any) -> Iterator[Any]:
        yield from read(*given)
        write(tmp_path / "t.xlsx", 20, 2.5)

    with keep_parsed():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(xlsx_source, "read_rows", changing)
            with pytest.raises(Failure) as caught:
                get("duckdb").aggregate(requests(source)[0])
        assert caught.value.exit_code is ExitCode.AFTER_CHARGE
        assert answers(source) == OF_TWENTY
