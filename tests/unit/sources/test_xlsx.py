"""Sheets of workbooks: what each cell means, what a record is, and what is refused."""

from __future__ import annotations

import sys
import tracemalloc
import zipfile
from collections.abc import Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pytest
import tables
import workbooks
from tables import COUNT, T
from workbooks import cell, write, write_rows

from dprelease.errors import ExitCode, Failure
from dprelease.model import AggregateRequest, InputColumn, Source
from dprelease.sources.xlsx import workbook
from dprelease.sources.xlsx.xlsx_source import SOURCE

X = InputColumn("x", T.STRING)
HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'


def build_source(path: Path, sheet: str | None) -> Source:
    return Source(str(path), "xlsx", own=() if sheet is None else (("sheet", sheet),))


def texts(path: Path, *names: str, sheet: str | None = None) -> list[tuple[str | None, ...]]:
    """What is handed on of each record."""
    columns = [InputColumn(name, T.STRING) for name in names]
    with closing(SOURCE.lay_out(build_source(path, sheet), columns).stream()) as made:
        _, batches = made.opened(lambda _count: None, None)
        return [
            row for batch in batches for row in zip(*(c.to_pylist() for c in batch), strict=True)
        ]


def one(folder: Path, xml: str, shared: Sequence[str] = (), **more: str) -> str | None:
    """The text of a cell, in a record that has a value beside it."""
    beside = '<c r="B2"><v>1</v></c>'
    rows = f'{HEADER}<row r="2">{xml}{beside}</row>'
    ((found,),) = texts(write(folder / "t.xlsx", {"S": rows}, shared, **more), "x")
    return found


def refused(path: Path, *names: str, sheet: str | None = None) -> str:
    columns = [InputColumn(name, T.STRING) for name in names]
    return tables.refused(build_source(path, sheet), *columns).code


@pytest.mark.parametrize(
    ("xml", "found"),
    [
        ("<v>1.5</v>", "1.5"),
        ("<v>5</v>", "5"),
        ("<v>5.0</v>", "5"),
        ("<v>0.10000000000000001</v>", "0.1"),
        ("<v>1E+20</v>", "1e+20"),
        ("<v>1e999</v>", "inf"),
        ("<v>-0.25</v>", "-0.25"),
        ("<v> 7 </v>", "7"),
        ("<v>abc</v>", None),
        ("<v>1_0</v>", "10"),
        ("<v>nan</v>", None),
        ("<v></v>", None),
        ("", None),
        ("<f>1+1</f>", None),
        ("<f>1+1</f><v>2</v>", "2"),
    ],
)
def test_numbers(xml: str, found: str | None, tmp_path: Path) -> None:
    assert one(tmp_path, f'<c r="A2">{xml}</c>') == found


@pytest.mark.parametrize(
    ("xml", "found"),
    [
        ('t="b"><v>1</v>', "true"),
        ('t="b"><v>0</v>', "false"),
        ('t="b"><v>q</v>', None),
        ('t="e"><v>#N/A</v>', None),
        ('t="e"><v>#SPILL!</v>', None),
        ('t="new"><v>1</v>', None),
        ('t="d"><v>2026-01-31</v>', "2026-01-31"),
        ('t="d"><v>2026-01-31T06:30:00</v>', "2026-01-31 06:30:00"),
        ('t="d"><v>no day</v>', None),
        ('t="str"><v>a_x000A_b</v>', "a\nb"),
        ('t="str"><v></v>', None),
        ('t="s"><v>0</v>', "one"),
        ('t="s"><v>1</v>', "bold and plain"),
        ('t="s"><v>2</v>', ""),
        ('t="s"><v>99</v>', None),
        ('t="s"><v>-1</v>', None),
        ('t="s"><v>\u0660</v>', "one"),
        ('t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is>', "ab"),
        ('t="inlineStr"><is><t>a_xD800_</t></is>', "a\ufffd"),
        ('s="99"><v>1</v>', "1"),
        ('s="x"><v>1</v>', None),
    ],
)
def test_cells_of_other_types(xml: str, found: str | None, tmp_path: Path) -> None:
    spoken = "<t>hidden</t>"
    shared = ["<t>one</t>", f"<r><t>bold</t></r><r><t> and plain</t></r><rPh>{spoken}</rPh>", ""]
    assert one(tmp_path, f'<c r="A2" {xml}</c>', shared) == found


@pytest.mark.parametrize(
    ("serial", "found"),
    [
        ("46053", "2026-01-31 00:00:00"),
        ("46053.5", "2026-01-31 12:00:00"),
        ("46053.99999", "2026-01-31 23:59:59.136"),
        ("1", "1900-01-01 00:00:00"),
        ("59", "1900-02-28 00:00:00"),
        ("61", "1900-03-01 00:00:00"),
        ("0.25", "06:00:00"),
        ("-1", None),
        ("99999999", None),
        ("1e400", None),
        ("2958465", "9999-12-31 00:00:00"),
        ("2958466", None),
    ],
)
def test_dates(serial: str, found: str | None, tmp_path: Path) -> None:
    assert one(tmp_path, f'<c r="A2" s="1"><v>{serial}</v></c>') == found


@pytest.mark.parametrize(
    ("serial", "form", "found"),
    [
        ("46053", "%d.%m.%Y", "31.01.2026"),
        ("46053.5", "{%d}%m%%%Y %H:%M", "{31}01%2026 12:00"),
        ("46053.5", "%Y-%m-%d %H:%M:%S", "2026-01-31 12:00:00.000000"),
        ("46053.99999", "%d.%m.%Y %H:%M:%S.%f", "31.01.2026 23:59:59.136000"),
        ("46053.99999", "%d%m%Y%H%M%S%f", "31012026235959136000"),
        ("46053", "%d.%m.%Y %H:%M %z", None),
        ("0.25", "%d.%m.%Y", "06:00:00"),
    ],
)
def test_dates_of_a_column_with_a_format(
    serial: str, form: str, found: str | None, tmp_path: Path
) -> None:
    rows = f'{HEADER}<row r="2"><c r="A2" s="1"><v>{serial}</v></c></row>'
    path = write(tmp_path / "t.xlsx", {"S": rows})
    column = InputColumn("x", T.TIMESTAMP, format=form)
    with closing(SOURCE.lay_out(Source(str(path), "xlsx"), [column]).stream()) as made:
        _, batches = made.opened(lambda _count: None, None)
        assert [batch.column(0).to_pylist() for batch in batches] == [[found]]


def test_which_styles_are_dates(tmp_path: Path) -> None:
    """Letters in quotes or brackets are no date; a short month is."""
    found = [one(tmp_path, f'<c r="A2" s="{style}"><v>46053</v></c>') for style in range(5)]
    day = "2026-01-31 00:00:00"
    assert found == ["46053", day, "46053", day, "46053"]


def test_days_from_1904(tmp_path: Path) -> None:
    properties = '<workbookPr date1904="1"/>'
    xml = '<c r="A2" s="1"><v>1</v></c>'
    assert one(tmp_path, xml, properties=properties) == "1904-01-02 00:00:00"


def test_a_text_that_is_too_long_is_null(tmp_path: Path) -> None:
    long = "x" * (workbook.LONGEST + 1)
    assert one(tmp_path, f'<c r="A2" t="str"><v>{long}</v></c>') is None
    assert one(tmp_path, f'<c r="A2" t="inlineStr"><is><t>{long}</t></is></c>') is None
    assert one(tmp_path, '<c r="A2" t="s"><v>0</v></c>', [f"<t>{long}</t>"]) is None


def test_what_is_a_record(tmp_path: Path) -> None:
    """A row with anything in any cell, declared, understood or not; an empty one is none."""
    rows = (
        f'<row r="1"/>{HEADER}<row r="2"><c r="A2"/></row><row r="3"><c r="C3"><v>1</v></c></row>'
        '<row><c t="str"><v>no place</v></c></row><row r="4"/><row r="99"><c r="A9" s="1"/></row>'
        '<row r="5"><c r="9A"><v>1</v></c></row>'
        '<row r="7"><c r="A7" t="e"><v>#N/A</v></c></row>'
        '<row r="8"><c r="A8" t="str"><f>""</f><v></v></c></row>'
        f'<row r="9"><c r="A9" t="str"><v>{"x" * (workbook.LONGEST + 1)}</v></c></row>'
    )
    path = write(tmp_path / "t.xlsx", {"S": rows})
    assert texts(path, "x") == [(None,), ("no place",), (None,), (None,), (None,)]
    request = AggregateRequest(Source(str(path), "xlsx"), (X,), (), COUNT)
    assert tables.asked("duckdb", request) == [[5]]


def test_more_rows_than_a_batch_holds(tmp_path: Path) -> None:
    rows = [("x", "y"), *((f"a{number}", number) for number in range(10_000))]
    path = workbooks.table(tmp_path / "t.xlsx", rows)
    assert texts(path, "y", "x") == [(str(number), text) for text, number in rows[1:]]


def test_names_of_columns_and_sheets(tmp_path: Path) -> None:
    rows = write_rows([("x", "x", "y", 5, None, datetime(2026, 1, 31)), (1, 2, 3, 4, 5, 6)])
    path = write(tmp_path / "t.xlsx", {"One": rows, "Two <&> 2": rows})
    assert refused(path, "y") == "E433"
    assert refused(path, "y", sheet="one") == "E433"
    assert refused(path, "X", sheet="One") == "E405"
    assert refused(path, "x", sheet="One") == "E406"
    assert texts(path, "y", "5", sheet="Two <&> 2") == [("3", "4")]


def test_a_sheet_without_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", {"S": ""})
    assert refused(path, "x") == "E405"
    assert texts(write(path, {"S": HEADER}), "x") == []


def test_a_strict_workbook_is_told_so(tmp_path: Path) -> None:
    """Excel has a second kind, of other namespaces."""
    path = write(tmp_path / "t.xlsx", {"S": HEADER})
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, body in parts.items():
            strict = body.replace(workbooks.MAIN, "http://purl.oclc.org/ooxml/spreadsheetml/main")
            office = "http://purl.oclc.org/ooxml/officeDocument/relationships"
            file.writestr(name, strict.replace(workbooks.OFFICE, office))
    for sheet in (None, "S"):
        complaint = tables.refused(build_source(path, sheet), X)
        assert (complaint.code, "strict" in (complaint.hint or "")) == ("E409", True)


def test_what_is_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    good = write(path, {"S": HEADER}).read_bytes()
    for content in (b"no zip", good[:-30], good.replace(b"xl/workbook.xml", b"xl/workbuch.xml")):
        path.write_bytes(content)
        assert refused(path, "x") == "E409"
    assert refused(write(path, {"S": "<row>"}), "x") == "E409"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_rels/.rels", workbooks.relations([]))
    assert refused(path, "x") == "E409"


def test_a_file_that_is_damaged_further_on(tmp_path: Path) -> None:
    """After the charge: exit code 5, and nothing of the file is said."""
    rows = [("x",), *((f"canary{number * 7919 % 10007}",) for number in range(60_000))]
    path = workbooks.table(tmp_path / "t.xlsx", rows, share=False)
    source = Source(str(path), "xlsx")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(Failure) as caught:
        tables.asked("duckdb", AggregateRequest(source, (X,), (), COUNT))
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("what", ["encoding", "name", "another workbook"])
def test_a_part_that_is_found_to_be_odd_after_the_charge(what: str, tmp_path: Path) -> None:
    """The texts are looked at then, if the header has none of them."""
    path = write(tmp_path / "t.xlsx", {"S": HEADER}, ["<t>canary</t>"])
    content = path.read_bytes()
    table = SOURCE.lay_out(Source(str(path), "xlsx"), [X])
    if what == "another workbook":
        path.write_bytes(content.replace(b"worksheets/sheet1.xml", b"worksheets/sheet2.xml"))
    elif what == "name":
        head = content.index(b"xl/sharedStrings.xml") - 30  # of the part; bit 11 says UTF-8
        odd = b"\xff" + content[head + 31 :]
        path.write_bytes(content[: head + 7] + b"\x08" + content[head + 8 : head + 30] + odd)
    else:
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        with zipfile.ZipFile(path, "w") as file:
            for name, body in parts.items():
                part = body.replace(b"UTF-8", b"shift_jis") if "shared" in name else body
                file.writestr(name, part)
    with closing(table.stream()) as made:
        _, batches = made.opened(lambda _count: None, None)
        with pytest.raises(OSError, match="can't be read"):
            list(batches)


def test_too_many_texts_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("x",), *((f"text {number}",) for number in range(9000))]
    path = workbooks.table(tmp_path / "t.xlsx", rows)
    monkeypatch.setattr(workbook, "MOST_TEXT", 300_000)
    with pytest.raises(Failure) as caught:
        tables.asked("duckdb", AggregateRequest(Source(str(path), "xlsx"), (X,), (), COUNT))
    assert [each.code for each in caught.value.complaints] == ["E510"]


def test_the_last_column_of_a_sheet() -> None:
    assert workbooks.letters(16_383) == "XFD"
    assert cell(1, "XFD1") == '<c r="XFD1"><v>1</v></c>'


def test_no_text_but_the_header_s_is_looked_at(tmp_path: Path) -> None:
    rows = [("x", "y"), *((f"text {number}", "x") for number in range(100))]
    path = workbooks.table(tmp_path / "t.xlsx", rows)
    with workbook.open_workbook(str(path)) as parts:
        (sheet,) = workbook.list_sheets(parts).values()
        made = workbook.Cells(sheet, None)
        assert next(workbook.iter_rows(parts, sheet, made)) == {1: "", 2: ""}
        assert made.most_shared == 1
        assert workbook.read_shared_texts(parts, sheet.texts, 2) == ["x", "y"]


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize(
    "entity", ['<!ENTITY e SYSTEM "canary.txt">', f'<!ENTITY l0 "ha">{LAUGHS}<!ENTITY e "&l11;">']
)
def test_entities_are_not_followed(entity: str, tmp_path: Path) -> None:
    (tmp_path / "canary.txt").write_text("x")
    path = write(tmp_path / "t.xlsx", {"S": HEADER.replace("<t>x</t>", "<t>&e;</t>")})
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, body in parts.items():
            file.writestr(name, body.replace("<worksheet", f"<!DOCTYPE w [{entity}]><worksheet"))
    assert refused(path, "x") == "E409"


@pytest.mark.parametrize("limit", ["LARGEST_PART", "LARGEST_SHEET"])
def test_a_part_that_says_that_it_is_huge(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.xlsx", {"S": HEADER})
    monkeypatch.setattr(workbook, limit, 100)
    assert refused(path, "x") == "E409"


def test_a_workbook_as_openpyxl_writes_it(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Data"
    book.create_sheet("More").sheet_state = "hidden"
    written = [
        ("text", "number", "day", "span"),
        ("a", 5, date(2026, 1, 31), timedelta(hours=36)),
        ("c\nd", 0.1, datetime(2026, 1, 31, 12, 30, 0, 250_000), None),
        ("=1+1", -2.0, time(6, 30), True),
        ("#N/A", 1e300, None, "x"),
    ]
    for row in written:
        book.active.append(row)
    book.active.merge_cells("A5:D5")
    book.active.row_dimensions[3].hidden = True
    book.save(tmp_path / "t.xlsx")
    assert texts(tmp_path / "t.xlsx", "text", "number", "day", "span", sheet="Data") == [
        ("a", "5", "2026-01-31 00:00:00", "1.5"),
        ("c\nd", "0.1", "2026-01-31 12:30:00.250", None),
        (None, "-2", "06:30:00", "true"),
        (None, None, None, None),  # an error, and cells that are merged with it
    ]


def test_a_cell_that_is_left_out_takes_no_place_of_another(tmp_path: Path) -> None:
    """Its reference or style may be what is wrong."""
    header = f"<row>{cell('x', 'A1')}{cell('y', 'B1')}{cell('z', 'C1')}</row>"
    bad = '<c r="?" t="str"><v>q</v></c><c s="?"><v>9</v></c>'
    rows = (
        f'<row>{cell("a", "A2")}{cell("b", "B2")}<c r="A2" t="b"><v>q</v></c>{bad}</row>'
        f"<row>{cell('a', 'C3')}{cell('b', 'A3')}{bad}</row>"
        '<row><c><v>1</v></c><c s="?"><v>9</v></c><c><v>3</v></c></row>'
    )
    path = write(tmp_path / "t.xlsx", {"S": header + rows})
    assert texts(path, "x", "y", "z") == [
        ("a", "b", None), ("b", None, "a"), ("1", None, "3"),
    ]  # fmt: skip


@pytest.mark.thorough
def test_one_cell_at_a_time_is_held(tmp_path: Path) -> None:
    """Of a row of a million cells too."""
    wide = '<c t="str"><v>some text of a cell</v></c>' * 60_000
    path = write(tmp_path / "t.xlsx", {"S": f"{HEADER}<row>{wide}</row>" + "<row/>" * 1000})
    tracemalloc.start()
    try:
        with workbook.open_workbook(str(path)) as parts:
            (sheet,) = workbook.list_sheets(parts).values()
            rows = workbook.iter_rows(parts, sheet, workbook.Cells(sheet, []))
            assert [len(row) for row in rows] == [1, 60_000]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_without_the_extra_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.xlsx", {"S": HEADER})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr("dprelease.sources.xlsx.xlsx_source.find_spec", lambda _name: None)
    assert refused(path, "x") == "E426"
