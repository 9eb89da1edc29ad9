"""Lines that DuckDB leaves out are read carefully, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oracle.engine import get

from dprelease.engines.duckdb import duckdb_engine as embedded
from dprelease.engines.duckdb import duckdb_session
from dprelease.errors import ExitCode, Failure
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.csv import csv_reader, csv_source
from dprelease.sources.csv.rejected_lines import MOST_REJECTED, find_rejected_lines
from dprelease.sources.shared.files import Split

LINE = b'"a",x,1.5\n'
DAMAGED = {
    "too few": b"a,x\n",
    "too many": b"a,x,1,2\n",
    "too few, with quotes": b'"a, ""b""","x"\n',
    "too many, with quotes": b'"a","",1,"2"\n',
    "not UTF-8": b"a,\xff,1\n",
    "not UTF-8, too many": b"a,\xff,1,2,3,4\n",
    "longer than DuckDB keeps": b"a,x," + b"y" * 20_000 + b"," + b"z" * 20_000 + b"\n",
}


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"s,t,n\n" + b"".join(lines))
    return path


def request(path: Path, *, bound: Bound | None = None, kind: str = "sums") -> AggregateRequest:
    inputs = (
        InputColumn("s", ColumnType.STRING),
        InputColumn("t", ColumnType.STRING),
        InputColumn("n", ColumnType.FLOAT),
    )
    keys = ("a", "b", "none")
    groups = {
        "keys": (Group("s", ColumnType.STRING, keys, keys=keys[:2], null_label="none"),),
        "private": (Group("s", ColumnType.STRING, (), private=True),),
    }
    quantity = Quantity("n", Grid(Fraction(1, 4), -20, 400), 3)
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, quantity))
    if kind == "points":
        return AggregateRequest(Source(str(path), "csv"), inputs, (), (), points=quantity)
    groups_of = groups.get(kind, ())
    return AggregateRequest(Source(str(path), "csv"), inputs, groups_of, measures, bound=bound)


def by_key(engine: str, asked: AggregateRequest) -> list[tuple[Any, ...]]:
    table = get(engine).aggregate(asked)
    columns = [list(column) for column in table.reveal()]
    if not asked.private:
        return list(zip(*columns, strict=True))
    return sorted(zip(table.reveal_keys(), *columns, strict=True))


@pytest.fixture
def careful_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each block that the careful reader splits."""
    sizes: list[int] = []
    split = csv_reader.Splitter.iter_tables

    def note(splitter: csv_reader.Splitter, block: bytes, broken: int) -> Iterator[Any]:
        sizes.append(len(block))
        return split(splitter, block, broken)

    monkeypatch.setattr(csv_reader.Splitter, "iter_tables", note)
    return sizes


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize(
    "kind",
    [
        "sums",
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("keys", "private", "points")),
    ],
)
def test_a_broken_line_costs_no_second_reading(
    damaged: bytes, kind: str, tmp_path: Path, careful_bytes: list[int]
) -> None:
    read = []
    for lines in (100, 1000):
        some = [LINE, b"b,x,2\n"] * (lines // 2)
        asked = request(write(tmp_path / "t.csv", *some, damaged, *some), kind=kind)
        careful_bytes.clear()
        assert by_key("duckdb", asked) == by_key("reference", asked)
        read.append(sum(careful_bytes))
    assert read[0] == read[1] <= 50_000


def test_lines_of_several_files_are_read(tmp_path: Path, careful_bytes: list[int]) -> None:
    for number, damaged in enumerate(DAMAGED.values()):
        write(tmp_path / f"{number} [a]*.csv", LINE, damaged, *[LINE] * 500)
    asked = request(tmp_path)
    assert by_key("duckdb", asked) == by_key("reference", asked)
    assert sum(careful_bytes) < 50_000


@pytest.mark.parametrize(
    "lines",
    [
        [b"a,x\n"] * (MOST_REJECTED + 1),  # more than DuckDB names
        [b'"a,x,1\n', *[b"a,x,1\n"] * 3000],  # a quote that nothing closes
        [b'"a,x,1\n', *[LINE] * 3000],  # one that the next line closes
        [b'"a"b,x,1\n', *[LINE] * 3000],  # text behind a quote
        [b'a,x\n"a"b,x,1\n', *[LINE] * 3000],  # one that is left out, and one that may not be
        [b'a" ,x\n', *[LINE] * 3000],  # a quote in a field
        [b"\n", b"a,x,1\n"],  # an empty line, which DuckDB does not tell of
    ],
)
def test_all_is_read_carefully_where_records_and_lines_do_not_add_up(
    lines: list[bytes], tmp_path: Path, careful_bytes: list[int]
) -> None:
    asked = request(write(tmp_path / "t.csv", b"b,x,2\n", *lines))
    assert by_key("duckdb", asked) == by_key("reference", asked)
    assert sum(careful_bytes) >= (tmp_path / "t.csv").stat().st_size - len(b"s,t,n\n")


def test_an_answer_that_does_not_add_up_is_of_one_reader(tmp_path: Path) -> None:
    """Each unit keeps two records: of each reader would be four."""
    path = write(tmp_path / "t.csv", *[LINE] * 5, b"a,x,\xff\n", b"a,x,\xff\n")
    asked = request(path, bound=Bound("s", 2, 2, 2, leading=0, null_unit=True))
    assert by_key("duckdb", asked)[0][0] == by_key("reference", asked)[0][0] == 2


# --- what DuckDB says ----------------------------------------------------------------------------


def told(*parts: tuple[str, int, bool]) -> Any:
    """A connection that names these parts."""
    return SimpleNamespace(execute=lambda _: SimpleNamespace(fetchall=lambda: list(parts)))


def test_a_line_that_duckdb_names_for_another_is_not_believed(tmp_path: Path) -> None:
    """It goes on one byte before the line feed, and takes it into the next record."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'n\n8\n""6,"\n"4\n')
    n = InputColumn("n", ColumnType.STRING)
    groups = (Group("n", ColumnType.STRING, ("8", "none"), keys=("8",), null_label="none"),)
    asked = AggregateRequest(
        Source(str(path), "csv"), (n,), groups, (Measure(MeasureKind.RECORDS),)
    )
    assert by_key("duckdb", asked) == by_key("reference", asked) == [(1,), (2,)]


def test_parts_that_can_not_be_are_not_believed(tmp_path: Path) -> None:
    path = str(write(tmp_path / "t.csv", LINE, LINE, LINE))
    first, size = len(b"s,t,n\n"), len(LINE)
    second = first + size
    believed = find_rejected_lines(told((path, first, True), (path, second, True)), Dialect())
    assert believed == [Split(path, first, second), Split(path, second, second + size)]
    for parts in (
        [(path, first, True), (path, first, True)],  # overlaps another
        [(path, first, True), (path, first + 1, True)],  # begins inside of a line
        [(path, first, True), (path, second, False)],  # left out for another reason
        [(path, second + 3 * size + 1, True)],  # beyond the end
    ):
        assert find_rejected_lines(told(*parts), Dialect()) == ()


def test_no_line_is_believed_beside_one_with_a_quote_elsewhere(tmp_path: Path) -> None:
    """DuckDB may name a good line for it, and read the next ones otherwise."""
    first = len(b"s,t,n\n")
    for odd in (b"a" + LINE, b'"a,x,1\n', b'a,"x" ,1\n', b'""a,x,1\n'):
        lines = [LINE] * 100_000  # of several blocks
        path = str(write(tmp_path / "t.csv", *lines, odd, LINE))
        assert find_rejected_lines(told((path, first, True)), Dialect()) == ()
    path = str(write(tmp_path / "t.csv", *lines, b'a,""\n', LINE))
    assert find_rejected_lines(told((path, first, True)), Dialect()) != ()


def test_a_part_that_overlaps_another_leads_to_the_careful_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, careful_bytes: list[int]
) -> None:
    path = write(tmp_path / "t.csv", *[LINE] * 400, b"a,x\n", *[LINE] * 400)
    start = path.read_bytes().index(b"a,x\n")
    parts = told((str(path), start, True), (str(path), start, True))
    monkeypatch.setattr(
        csv_source, "find_rejected_lines", lambda _, dialect: find_rejected_lines(parts, dialect)
    )
    asked = request(path)
    assert by_key("duckdb", asked) == by_key("reference", asked)
    assert sum(careful_bytes) >= 800 * len(LINE)


@pytest.mark.parametrize("damaged", [b"", DAMAGED["too few"]])
def test_a_file_that_changes_while_it_is_read_is_refused(
    damaged: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.csv", *[LINE] * 9, damaged)
    opened = duckdb_session.open_session

    @contextmanager
    def changing(*given: Any, **named: Any) -> Iterator[Any]:
        with opened(*given, **named) as connection:
            yield connection
        with open(path, "ab") as stream:
            stream.write(LINE)

    monkeypatch.setattr(embedded, "open_session", changing)
    with pytest.raises(Failure) as caught:
        get("duckdb").aggregate(request(path))
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert [complaint.code for complaint in caught.value.complaints] == ["E501"]
    assert "changed while they were read" in str(caught.value.complaints[0].message)
