"""The tables of a release as one workbook for people: a sheet each, after one that explains them.

openpyxl writes it. The same release gives the same bytes: all times in the file are the release's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.language import say, word
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.key_types import convert_labels
from dprelease.report_format import REPORT_FORMATS

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import ReportFacts

Cell = str | int | float | bool | date | None

MOST_ROWS = 1_048_575
"""Rows of a sheet below its header."""

_EXACT = 10**15
"""Spreadsheets hold 15 digits of a number."""

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_SHEET = re.compile(r"[\[\]:*?/\\]")
_WIDEST = 60
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NO_TIME = datetime(1980, 1, 1)
"""What a packed file has without one."""


def prepare() -> None:
    """Import what takes long. Raises Failure (exit 2) where the extra is missing."""
    _import_openpyxl()


def render_tables(facts: ReportFacts, tables: Mapping[str, OutputTable]) -> bytes:
    """Write the workbook.

    A table with more rows than a sheet has is left out, and the first sheet says so.

    Raises:
        Failure: Exit code 2, where the extra is missing.
    """
    openpyxl = _import_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    names = _name_sheets(tables.values())
    _write_sheet(
        book, say("workbook.about"), _iter_explanations(facts, tables, names), [30, 30, 60]
    )
    for table, name in zip(tables.values(), names, strict=True):
        if name is not None:
            _write_sheet(book, name, _iter_rows(table), list(_iter_widths(table)), table.columns)
    day = _DAY.match(facts.provenance.released_at)
    released = datetime.fromisoformat(day[0]) if day else _NO_TIME
    book.properties.creator = facts.deployment.basic.data_curator or "dprelease"
    book.properties.title = facts.deployment.basic.title
    book.properties.created = released
    written = BytesIO()
    book.save(written)
    return _pack_again(written, book.properties, released)


def _import_openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        message = "tables as a workbook need openpyxl, which is not installed"
        raise Failure(ExitCode.SPEC, Complaint("E825", message, key="output.format")) from None
    return openpyxl


def _name_sheets(tables: Any) -> list[str | None]:
    """Name a sheet for each table, of at most 31 letters; None for a table that is too long."""
    used = {say("workbook.about").casefold()}
    names: list[str | None] = []
    for table in tables:
        plain = _SHEET.sub("_", _UNSAFE.sub("_", table.name)).strip("'") or "_"
        name, number = plain[:31], 1
        while name.casefold() in used:
            number += 1
            name = f"{plain[: 30 - len(str(number))]}~{number}"
        used.add(name.casefold())
        names.append(name if table.rows <= MOST_ROWS else None)
    return names


def _iter_explanations(
    facts: ReportFacts, tables: Mapping[str, OutputTable], names: list[str | None]
) -> Iterator[list[Cell]]:
    basic = facts.deployment.basic
    yield [basic.title, None, None]
    if basic.data_curator:
        yield [basic.data_curator, None, None]
    yield [facts.guarantee, None, None]
    yield [say("page.run", run=facts.provenance.run_id), None, None]
    for (file, table), name in zip(tables.items(), names, strict=True):
        yield [None, None, None]
        if name is None:
            yield [say("workbook.too_long", file=file, rows=table.rows), None, None]
            continue
        yield [name, table.title, file]
        for column in table.columns:
            words = " ".join(filter(None, (column.names.title, column.names.unit)))
            yield [column.name, words or None, word(column.description)]


def _iter_rows(table: OutputTable) -> Iterator[list[Cell]]:
    yield [column.name for column in table.columns]
    yield from map(list, zip(*map(_list_values, table.columns), strict=True))


def _list_values(column: OutputColumn) -> list[Cell]:
    if column.kind in {"number", "integer", "edge"}:
        places = 0 if column.kind == "integer" else column.decimals
        return [_convert_number(value, places) for value in column.values]
    if column.kind == "key":
        _, converted = convert_labels(column)
        words = column.names.labels
        return [
            None if label is None else words.get(str(label)) or _bound_time(converted[str(label)])
            for label in column.values
        ]
    return [None if value is None else str(value) for value in column.values]


def _convert_number(value: str | int | None, places: int) -> Cell:
    if value is None or isinstance(value, str):
        return value
    number = Decimal(value).scaleb(-places)
    if abs(value) >= _EXACT:  # a spreadsheet would round it without a word
        return f"{number:f}"
    return value if places == 0 else float(number)


def _bound_time(value: Any) -> Cell:
    # Spreadsheets begin with 1900, and take that year for a leap year.
    early = isinstance(value, date) and value.year <= 1900
    wide = isinstance(value, int) and abs(value) >= _EXACT
    return str(value) if early or wide else value


def _iter_widths(table: OutputTable) -> Iterator[int]:
    for column in table.columns:
        longest = max((len(str(value)) for value in column.values), default=0)
        yield min(max(len(column.name), longest) + 2, _WIDEST)


def _write_sheet(
    book: Any,
    name: str,
    rows: Iterator[list[Cell]],
    widths: list[int],
    columns: tuple[OutputColumn, ...] = (),
) -> None:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    sheet = book.create_sheet(name)
    sheet.freeze_panes = "A2" if columns else None
    for place, width in enumerate(widths, start=1):
        sheet.column_dimensions[get_column_letter(place)].width = width
    bold = Font(bold=True)
    forms = [_choose_form(column) for column in columns]
    for number, row in enumerate(rows):
        cells = []
        for place, value in enumerate(row):
            cell = WriteOnlyCell(sheet, _make_safe(value))
            if isinstance(value, str):
                cell.data_type = "s"  # never a formula, whatever it begins with
            elif columns and forms[place] and value is not None:
                cell.number_format = forms[place]
            if number == 0:
                cell.font = bold
            cells.append(cell)
        sheet.append(cells)


def _choose_form(column: OutputColumn) -> str | None:
    if column.kind in {"number", "edge"} and column.decimals:
        return f"0.{'0' * column.decimals}"
    return {ColumnType.DATE: "yyyy-mm-dd", ColumnType.TIMESTAMP: "yyyy-mm-dd hh:mm:ss"}.get(
        column.type  # type: ignore[arg-type]
    )


def _make_safe(value: Cell) -> Cell:
    """Replace what XML can't hold, and mark what a spreadsheet would take for an escape."""
    return _ESCAPE.sub("_x005F_", _UNSAFE.sub("\ufffd", value)) if isinstance(value, str) else value


def _pack_again(written: BytesIO, properties: Any, released: datetime) -> bytes:
    """Pack the parts again, with the time of the release and the mark of a file of ours."""
    from openpyxl.xml.constants import ARC_CORE
    from openpyxl.xml.functions import tostring

    properties.modified = released  # saving put the present time there
    packed = BytesIO()
    with ZipFile(written) as source, ZipFile(packed, "w", ZIP_DEFLATED) as target:
        for part in source.namelist():
            content = source.read(part)
            if part == ARC_CORE:
                content = tostring(properties.to_tree())
            target.writestr(ZipInfo(part), content, ZIP_DEFLATED)
        target.comment = REPORT_FORMATS["xlsx"].marks[0].encode()
    return packed.getvalue()
