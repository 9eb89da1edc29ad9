"""The workbook and the long layout: the figures of the tables, and no formula."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import builders
import pytest

import dprelease
from dprelease.errors import Failure
from dprelease.model import ColumnNames, ColumnType, OutputColumn, OutputTable
from dprelease.reports.renderers import long_table, tables_workbook

REGIONS = OutputColumn(
    "region", "key", ["=1+1", "north", "_x0041_", None], "", type=ColumnType.STRING,
    names=ColumnNames(labels={"north": "North"}),
)  # fmt: skip
DAYS = OutputColumn(
    "day", "key", ["2025-01-31", "2025-02-28", "1899-01-01", "2025-03-31"], "",
    type=ColumnType.DATE,
)  # fmt: skip
FIGURES = (
    OutputColumn("n", "integer", [5, -3, None, 10**16], "Count.", 0, "n"),
    OutputColumn("n_noise_moe", "integer", [4, 4, 4, 4], "", 0, "n"),
    OutputColumn("n_flag", "text", ["ok", "low_reliability", None, "ok"], "", 0, "n"),
    OutputColumn("m", "number", [125, 50, 0, 7], "Mean.", 2, "m"),
    OutputColumn("m_low", "number", [100, 0, 0, 0], "", 2, "m"),
    OutputColumn("m_high", "number", [200, 99, 9, 9], "", 2, "m"),
    OutputColumn("top", "text", ["+a", "-1+1", "b\x00", "c"], "", 0, "top"),
)
TABLE = OutputTable("by_region", (REGIONS, DAYS, *FIGURES), "By region")


def read_long(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_each_figure_is_a_line_with_its_interval() -> None:
    rows = read_long(long_table.render_tables(None, {"by_region.csv": TABLE}))
    assert list(rows[0]) == ["table", "keys", "figure", "value", "low", "high", "flag"]
    assert len(rows) == 4 * 3
    found = {(row["keys"], row["figure"]): list(row.values())[3:] for row in rows}
    first, second = "region==1+1; day=2025-01-31", "region=north; day=2025-02-28"
    assert found[first, "n"] == ["5", "1", "9", "ok"]
    assert '""' not in long_table.render_tables(None, {"by_region.csv": TABLE})
    assert found[second, "n"] == ["-3", "-7", "1", "low_reliability"]
    assert found["region=_x0041_; day=1899-01-01", "n"] == ["", "", "", ""]
    assert found[first, "m"] == ["1.25", "1.00", "2.00", ""]


def test_a_count_beside_a_bounded_mean_is_bounded_too() -> None:
    table = OutputTable("t", (
        OutputColumn("x", "number", [15, 16], "", 1, "x"),
        OutputColumn("x_flag", "text", ["low_reliability bounded", "low_reliability"], "", 0, "x"),
        OutputColumn("x_count", "number", [4, 5], "", 0, "x"),
    ))  # fmt: skip
    found = [row["flag"] for row in read_long(long_table.render_tables(None, {"t.csv": table}))]
    assert found == ["low_reliability bounded", "bounded", "low_reliability", ""]


def test_no_text_of_the_long_layout_is_a_formula() -> None:
    rows = read_long(long_table.render_tables(None, {"by_region.csv": TABLE}))
    names = [row["value"] for row in rows if row["figure"] == "top"]
    assert names == ["'+a", "'-1+1", "b\x00", "c"]


def test_half_widths_of_other_decimals_are_added_exactly() -> None:
    table = OutputTable("t", (
        OutputColumn("x", "number", [15], "", 1, "x"),
        OutputColumn("x_noise_moe", "number", [25], "", 2, "x"),
    ))  # fmt: skip
    assert read_long(long_table.render_tables(None, {"t.csv": table}))[0]["low"] == "1.25"


def write_data(folder: Path) -> dict[str, Any]:
    (folder / "t.csv").write_text("region,x\n" + "north,4\nsouth,2\n" * 200)
    return builders.spec(
        release={"name": "visits", "title": "Visits", "curator": "=Office"},
        data={"path": str(folder / "t.csv")},
        privacy={"unit": "row", "unit_description": "a visit", "adjacency": "add-remove",
                 "epsilon": 2},
        columns={"region": {"type": "string", "keys": ["north", "south"]},
                 "x": {"type": "integer", "lower": 0, "upper": 9}},
        query=[{"name": "n", "statistic": "count", "by": ["region"]},
               {"name": "m", "statistic": "mean", "column": "x"}],
        ledger={"path": str(folder / "ledger.sqlite")},
        output={"path": str(folder / "out"), "format": "xlsx", "layout": "long"},
        report={"formats": ["json"]},
    )  # fmt: skip


def test_both_hold_the_figures_of_the_files_and_are_listed(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    dprelease.run(write_data(tmp_path))
    out = tmp_path / "out"
    book = openpyxl.load_workbook(out / "tables.xlsx")
    assert book.sheetnames[1:] == ["by_region", "overall"]
    for name in book.sheetnames[1:]:
        with open(out / f"{name}.csv", encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream)
        shown = list(book[name].iter_rows(values_only=True))
        assert list(shown[0]) == header
        for line, row in zip(lines, shown[1:], strict=True):
            for text, value in zip(line, row, strict=True):
                is_number = isinstance(value, int | float)
                assert (
                    (Decimal(str(value)) == Decimal(text)) if is_number else value == (text or None)
                )
    rows = read_long((out / "all-figures.csv").read_text(encoding="utf-8"))
    assert {(row["table"], row["figure"]) for row in rows} >= {("by_region", "n"), ("overall", "m")}
    listed = (out / "datapackage.json").read_text()
    assert '"tables.xlsx"' in listed
    assert '"all-figures.csv"' in listed
    for form, file in (("xlsx", "tables.xlsx"), ("long", "all-figures.csv")):
        assert dprelease.report(out, format=form).content == (out / file).read_bytes()


def cells(table: OutputTable, released: Any) -> list[list[Any]]:
    openpyxl = pytest.importorskip("openpyxl")
    content = tables_workbook.render_tables(released, {f"{table.name}.csv": table})
    assert content == tables_workbook.render_tables(released, {f"{table.name}.csv": table})
    sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[1]
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    return [list(row) for row in sheet.iter_rows(values_only=True)]


@pytest.fixture
def released(tmp_path: Path) -> Any:
    spec = write_data(tmp_path)
    spec["output"] = {"path": str(tmp_path / "out")}
    dprelease.run(spec)
    from dprelease.reports.rerender import read_release

    return read_release(str(tmp_path / "out"))[0]


def test_cells_have_types_and_no_formula(released: Any) -> None:
    _, first, second, third, last = cells(TABLE, released)
    assert first[:3] == ["=1+1", datetime(2025, 1, 31), 5]
    assert second[:2] == ["North", datetime(2025, 2, 28)]
    assert third[1] == "1899-01-01"  # before the first day of a spreadsheet
    assert last[2] == str(10**16)  # a spreadsheet would round it
    assert first[5] == 1.25
    assert [row[-1] for row in (first, second, third)] == ["+a", "-1+1", "b\ufffd"]


def test_sheets_have_names_of_their_own(released: Any) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    names = ["a" * 40, "a" * 41, "A" * 31, "About"]
    tables = {f"{name}.csv": OutputTable(name, FIGURES[:1]) for name in names}
    content = tables_workbook.render_tables(released, tables)
    found = openpyxl.load_workbook(io.BytesIO(content)).sheetnames
    assert len({name.casefold() for name in found}) == 5
    assert all(len(name) <= 31 for name in found)


def test_a_table_that_no_sheet_holds_is_left_out_and_told(
    released: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.setattr(tables_workbook, "MOST_ROWS", 3)
    book = openpyxl.load_workbook(
        io.BytesIO(tables_workbook.render_tables(released, {"by_region.csv": TABLE}))
    )
    assert len(book.sheetnames) == 1
    told = [cell for row in book.worksheets[0].iter_rows(values_only=True) for cell in row]
    assert (
        "by_region.csv has 4 rows, more than a sheet can hold: it is not in this workbook." in told
    )


@pytest.mark.parametrize("key", ["format", "layout"])
def test_tables_of_records_are_refused(tmp_path: Path, key: str) -> None:
    spec = write_data(tmp_path)
    value = spec["output"].pop(key)
    spec["output"] = {"path": str(tmp_path / "out"), key: value}
    spec["perturb"] = [{"name": "records", "columns": ["region"], "epsilon": 1}]
    with pytest.raises(Failure) as refused:
        dprelease.load(spec)
    assert "E111" in {complaint.code for complaint in refused.value.complaints}
