"""The quick way is taken where it can be, and its stand-ins give the same integers."""

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from oracle.engine import get

from dprelease.engines.duckdb import duckdb_engine as embedded
from dprelease.engines.duckdb import duckdb_session, text_numbers
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    ExactTable,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.parquet.parquet_source import ParquetTable


def request(path: Path, form: str, *groups: Group, total: bool = True) -> AggregateRequest:
    inputs = (InputColumn("s", ColumnType.STRING), InputColumn("n", ColumnType.FLOAT))
    quantity = Quantity("n", Grid(Fraction(1, 4), -20, 400), 3)
    sums = (Measure(MeasureKind.SUM, quantity), Measure(MeasureKind.VALUES, quantity))
    measures = (Measure(MeasureKind.RECORDS), *(sums if total else ()))
    return AggregateRequest(Source(str(path), form), inputs, groups, measures)


def plain(table: ExactTable) -> list[list[int]]:
    return [list(column) for column in table.reveal()]


@pytest.fixture(params=["csv", "parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    texts, numbers = ["a", "b", "a", "x"] * 50, [1.5, -7.0, 99.25, 250.0] * 50
    made = tmp_path / f"t.{request.param}"
    if request.param == "csv":
        rows = [f"{s},{n}" for s, n in zip(texts, numbers, strict=True)]
        made.write_text("\n".join(["s,n", *rows, ""]))
    else:
        pq.write_table(pa.table({"s": texts, "n": numbers}), made)
    return made


def form(path: Path) -> str:
    return path.suffix[1:]


@pytest.mark.parametrize("total", [True, False])
def test_a_count_without_groups_needs_no_careful_reader(
    path: Path, total: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(path, form(path), total=total)
    expected = plain(get("reference").aggregate(asked))
    if form(path) == "csv":  # Parquet has one reader
        monkeypatch.delattr(embedded, "read_carefully")
    assert plain(get("duckdb").aggregate(asked)) == expected
    assert expected[0] == [200]


def test_an_optimizer_that_this_duckdb_lacks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_session, "NEVER", (*duckdb_session.NEVER, "telepathy"))
    with duckdb_session.open_session([str(path)]) as connection:
        setting = "SELECT current_setting('disabled_optimizers')"
        ((names,),) = connection.execute(setting).fetchall()
    assert set(names.split(",")) == set(duckdb_session.NEVER) - {"telepathy"}


KEYS = ("a", "\u00e9", "b", "none", "others")


@pytest.mark.parametrize("most", [3, 1 << 17])
@pytest.mark.parametrize(
    "where", [None, Expression("n > 0", ("n",)), Expression("s <> 'b'", ("s",))]
)
def test_texts_in_dictionaries_are_grouped_by_their_numbers(
    most: int, where: Expression | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = ["a", "b", None, "e\u0301"] * 500, ["\u00e9", "x", "b", "A"] * 500
    for name, texts in (("1", one), ("2", two)):
        table = pa.table({"s": texts, "n": [1.5, -7.0, 99.25, None] * 500})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1500)
    group = Group("s", ColumnType.STRING, KEYS, KEYS[:3], null_label="none", other="others")
    asked = replace(request(tmp_path, "parquet", group), where=where)
    given_up = []

    class Told(text_numbers.TooManyTextsError):
        def __init__(self) -> None:
            given_up.append(self)

    monkeypatch.setattr(ParquetTable, "fast", lambda _table: None)
    monkeypatch.setattr(text_numbers, "MOST_TEXTS", most)
    monkeypatch.setattr(text_numbers, "TooManyTextsError", Told)
    expected = plain(get("reference").aggregate(asked))
    assert plain(get("duckdb").aggregate(asked)) == expected
    assert all(expected[0]) or where is not None
    read_by_groups_alone = where is None or "s" not in where.columns
    assert bool(given_up) == (most == 3 and read_by_groups_alone)
