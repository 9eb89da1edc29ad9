"""How many parts are asked first: by what counts, and without any part in the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dprelease.engines import duckdb_asking, duckdb_parts, get
from dprelease.engines.duckdb_cells import Part
from dprelease.engines.duckdb_parts import IN_LIST, IN_WINDOW, MOST
from dprelease.engines.duckdb_session import memory_of, session
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

ROWS = 4096
X = Quantity("x", Grid(Fraction(1), 0, 10**4))
WIDE = (X, Quantity("x", Grid(Fraction(1), -(2**60), 2**60)))


def asked(path: Path) -> AggregateRequest:
    """Row i is of person i % 100 in cell i % 4, of which there are three."""
    duckdb.execute(
        f"COPY (SELECT i % 100 AS p, i % 4 AS g, i AS x FROM range({ROWS}) AS t(i))"
        f" TO '{path}' (FORMAT parquet)"
    )
    integer = ColumnType.INTEGER
    return AggregateRequest(
        Source(str(path), "parquet"),
        tuple(InputColumn(name, integer) for name in "pgx"),
        (Group("g", integer, ("0", "1", "2"), keys=("0", "1", "2")),),
        (Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, X)),
        bound=Bound("p", 5, 2, 3, leading=1, salt=7),
    )


Tried = Callable[[AggregateRequest, int], tuple[list[Part], list[list[int]]]]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    """A function that asks with so many bytes, and gives the parts and the answer."""

    def run(request: AggregateRequest, memory: int) -> tuple[list[Part], list[list[int]]]:
        parts: list[Part] = []

        def in_parts(run: Callable[[Part], None], first: int) -> None:
            def seen(part: Part) -> None:
                parts.append(part)
                run(part)

            honest(seen, first)

        with monkeypatch.context() as patch:
            honest = duckdb_asking.in_parts
            patch.setattr(duckdb_asking, "in_parts", in_parts)
            patch.setattr(duckdb_parts, "memory_of", lambda _: memory)
            table = get("duckdb").aggregate(request)
        return parts, [list(column) for column in table.reveal()]

    return run


def test_parts_are_as_many_as_memory_wants_and_the_answer_is_the_same(
    tmp_path: Path, tried: Tried
) -> None:
    request = asked(tmp_path / "t.parquet")
    whole = [list(column) for column in get("reference").aggregate(request).reveal()]
    # three fourths of the rows lie in a cell
    counted, size = ROWS * 3 // 4, IN_LIST["BIGINT"]
    for memory, number in (
        (ROWS * size, 1),
        (counted * size, 1),
        (counted * size - 1, 2),
        (counted * size // 4, 4),
        (1, MOST),
    ):
        parts, answer = tried(request, memory)
        assert answer == whole
        assert sorted(part.index for part in parts) == list(range(number))
        assert {part.of for part in parts} == {number}


def test_what_is_left_out_takes_no_room(tmp_path: Path, tried: Tried) -> None:
    request = asked(tmp_path / "t.parquet")
    few = replace(request, where=Expression("x < 40", ("x",)))
    parts, _ = tried(few, 30 * IN_LIST["BIGINT"])
    assert parts == [Part(0, 1)]


def test_wide_rows_and_those_of_windows_take_more(tmp_path: Path, tried: Tried) -> None:
    request = asked(tmp_path / "t.parquet")
    enough = ROWS * 3 // 4 * IN_LIST["BIGINT"]
    assert IN_LIST["BIGINT"] < IN_LIST["HUGEINT"] < IN_WINDOW
    wide = replace(request, measures=tuple(Measure(MeasureKind.SUM, each) for each in WIDE))
    assert len(tried(wide, enough)[0]) == 2
    keys = replace(request, groups=(Group("g", ColumnType.INTEGER, (), private=True),))
    assert len(tried(keys, enough)[0]) == 4


def test_without_a_bound_nothing_is_parted(tmp_path: Path, tried: Tried) -> None:
    request = replace(asked(tmp_path / "t.parquet"), bound=None)
    parts, _ = tried(request, 1)
    assert len(parts) <= 1


@pytest.mark.parametrize(
    ("given", "size"),
    [("400MB", 400e6), ("2GB", 2e9), ("1.5 GiB", 1.5 * 2**30), ("100MB", 1e8), ("3TB", 3e12)],
)
def test_the_memory_of_a_connection(
    given: str, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPRELEASE_MEMORY", given)
    with session(()) as connection:
        found = memory_of(connection)
    assert found == pytest.approx(size, rel=0.1)
