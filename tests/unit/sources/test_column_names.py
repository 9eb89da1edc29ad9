"""Names in headers: one spelling of accents for all, and a hint where a name is almost there."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import databases
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import T, asked, refused

from dprelease.engines import open_for_table
from dprelease.errors import Failure
from dprelease.model import (
    AggregateRequest,
    Dialect,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

SPELT = ("Gr\u00f6\u00dfe", "Gro\u0308\u00dfe")
ALIKE = (
    "gr\u00f6\u00dfe",
    "Gr\u00f6\u00dfe ",
    " Gr\u00f6\u00dfe",
    "\ufeffGr\u00f6\u00dfe",
    "Gr \u00f6\u00dfe",
    "GR\u00d6SSE",
)


def written(folder: Path, form: str, names: Sequence[str]) -> Source:
    """A table of two records, which the last column tells apart; the columns have these names."""
    path = folder / f"t.{form}"
    others = ["a"] * (len(names) - 1)
    rows = [names, [*others, "a"], [*others, "b"]]
    if form == "csv":
        path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    elif form == "parquet":
        pq.write_table(pa.table(list(map(list, zip(*rows[1:], strict=True))), names), path)
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(list(row))
        book.save(path)
    return Source(str(path), form)


def hint(source: Source, name: str = SPELT[0]) -> str:
    complaint = refused(source, InputColumn(name, T.STRING))
    assert complaint.code == "E405"
    return complaint.hint or ""


def count_values(source: Source, name: str) -> int:
    distinct = (Measure(MeasureKind.DISTINCT, column=name),)
    read = (InputColumn(name, T.STRING),)
    ((number,),) = asked("duckdb", AggregateRequest(source, read, (), distinct))
    return number


@pytest.mark.parametrize("form", ["csv", "xlsx"])
@pytest.mark.parametrize("stored", SPELT)
@pytest.mark.parametrize("name", SPELT)
def test_a_name_is_met_however_its_accents_are_encoded(
    form: str, stored: str, name: str, tmp_path: Path
) -> None:
    assert count_values(written(tmp_path, form, ["x", stored]), name) == 2


def test_declared_names_are_compared_alike(tmp_path: Path) -> None:
    source = written(tmp_path, "csv", ["a", "b"])
    source = Source(source.pattern, "csv", Dialect(header=False, names=("x", SPELT[1])))
    assert count_values(source, SPELT[0]) == 2


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_two_spellings_of_one_name_are_refused(form: str, tmp_path: Path) -> None:
    source = written(tmp_path, form, SPELT)
    assert refused(source, InputColumn(SPELT[0], T.STRING)).code == "E406"


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("names", [("SIZE", "size"), ("size", "SIZE"), ("\u00c4", "\u00e4")])
def test_names_that_differ_in_case_are_two(
    form: str, names: tuple[str, str], tmp_path: Path
) -> None:
    source = written(tmp_path, form, names)
    assert [count_values(source, name) for name in names] == [1, 2]


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
def test_a_name_that_is_almost_there_is_said_to_be(form: str, tmp_path: Path) -> None:
    for stored in (*ALIKE, *(SPELT[1:] if form == "parquet" else ())):
        if form == "csv" and stored.startswith("\ufeff"):
            continue  # a mark of the file, not of the name
        found = hint(written(tmp_path, form, [stored, "x"]))
        assert found.startswith("a column there differs only in blanks"), stored
    assert "exactly this name" in hint(written(tmp_path, form, ["Groesse", "x"]))


def test_a_name_that_is_almost_in_a_frame_or_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_for_table("duckdb", "frame", pa.table({SPELT[1]: ["a"]}))
    with pytest.raises(Failure) as caught:
        engine.inspect(Source("", "frame"), [InputColumn(SPELT[0], T.STRING)])
    assert "a column there differs only" in str(caught.value.complaints[0].hint)
    databases.require("sqlite")
    monkeypatch.setenv(databases.VARIABLE, str(tmp_path / "t.db"))
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute('CREATE TABLE t ("Pay " TEXT)')
    found = hint(databases.source("sqlite", "t"), "pay")
    assert found.startswith("a column there differs only")
