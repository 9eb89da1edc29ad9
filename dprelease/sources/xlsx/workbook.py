"""The cells of a workbook as texts, read by openpyxl, each cell by itself.

openpyxl's own loop fails at a cell that it can't understand, and warns of some with their values.
So this module has its own loop over cells, which makes such a cell null, and one over the texts
that cells share; openpyxl converts the single cell. Only the list of sheets, the styles, the shared
texts and one sheet are read: no formula, link, comment or picture.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time
from typing import IO, Any, NamedTuple
from xml.etree.ElementTree import iterparse
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.datetime import from_excel
from openpyxl.utils.escape import unescape
from openpyxl.worksheet._reader import (
    CELL_TAG,
    DATA_TAG,
    INLINE_STRING,
    ROW_TAG,
    VALUE_TAG,
    WorkSheetParser,
)
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS

from dprelease.sources.shared.locations import open_binary

LONGEST = 32_767  # characters of a cell: Excel holds no more
LARGEST_PART = 1 << 26  # bytes of a part that is read whole, unpacked
LARGEST_SHEET = 1 << 33  # bytes of the sheet, and of the texts
MOST_TEXT = 1 << 29  # characters of all shared texts, and 50 for each of them
_STRING_TAG, _RUN_TAG, _TEXT_TAG = (f"{{{SHEET_MAIN_NS}}}{name}" for name in ("si", "r", "t"))
_BEYOND_INTEGERS = 1 << 63
NOWHERE = 0  # the column of a cell that is left out, as of one that is not there

DAMAGED = (
    OSError, BadZipFile, zlib.error, SyntaxError, EOFError, RuntimeError, LookupError, ValueError,
)  # fmt: skip
"""Exceptions for a file whose bytes have changed; XML is a SyntaxError, a password a
RuntimeError, a part that is gone or an encoding that is not known a LookupError or ValueError."""
BROKEN = (*DAMAGED, TypeError, AttributeError)
"""Exceptions for a file that is not a workbook, or is packed or locked unreadably."""

Row = dict[int, str | None]  # by the number of the column, from 1


class Sheet(NamedTuple):
    """A sheet of a workbook: its part in the file, and how its numbers may be dates."""

    part: str
    texts: str | None  # the part of the texts that cells share
    dates: frozenset[int]  # styles that show a day or a time of day
    epoch: datetime


class Parts(ZipFile):
    """The parts of a file; raises ValueError for one whose stated size is too large."""

    def read(self, name: Any, pwd: bytes | None = None) -> bytes:
        """Read a small part as a whole."""
        self.check(name, LARGEST_PART)
        return super().read(name, pwd)

    def check(self, name: str, limit: int) -> None:
        """Refuse a part whose stated size is larger; no more than that size is ever unpacked."""
        part = self.getinfo(name)
        if part.file_size > limit or part.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError("too large, or not compressed like a workbook")


@contextmanager
def open_workbook(path: str) -> Iterator[Parts]:
    """Open the parts of a file; raises one of ``BROKEN``."""
    with open_binary(path) as stream, Parts(stream) as parts:
        yield parts


def list_sheets(parts: Parts) -> dict[str, Sheet]:
    """List the sheets with cells, by name, in order; raises one of ``BROKEN``."""
    reader = ExcelReader(parts.fp, read_only=True, data_only=True, keep_links=False)
    reader.archive = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like
        reader.read_manifest()
        reader.read_workbook()
        apply_stylesheet(parts, reader.wb)
        listed = [(sheet.name, related) for sheet, related in reader.parser.find_sheets()]
    shared, book = reader.package.find(SHARED_STRINGS), reader.wb
    texts = None if shared is None else shared.PartName.lstrip("/")
    dates = frozenset(book._date_formats) - frozenset(book._timedelta_formats)
    sheets = {
        name: Sheet(related.target, texts, dates, book.epoch)
        for name, related in listed
        if related.Type.endswith("/worksheet")
    }
    for part in (texts, *(sheet.part for sheet in sheets.values())):
        if part is not None:
            parts.check(part, LARGEST_SHEET)
    return sheets


class Cells(WorkSheetParser):  # type: ignore[misc] # of no known type
    """The cells of a sheet; without ``texts``, those that cells share are empty.

    Dates of the columns in ``templates`` are written by ``str.format``; an empty one writes null.
    """

    def __init__(
        self,
        sheet: Sheet,
        texts: list[str | None] | None,
        templates: Mapping[int, str | None] | None = None,
    ) -> None:
        super().__init__(None, self, data_only=True)  # dates stay numbers
        self._sheet, self._texts, self._templates = sheet, texts, templates or {}
        self.col_counter = 0
        self.most_shared = -1

    def __getitem__(self, place: int) -> str | None:
        """Return the shared text at a place."""
        self.most_shared = max(self.most_shared, place)
        if self._texts is None:
            return ""
        return self._texts[place] if place >= 0 else None

    def read_text(self, element: Any) -> tuple[int, str | None]:
        """Read the column of a cell and its text; null if it can't be understood."""
        before, inline = self.col_counter, element.find(INLINE_STRING)
        try:
            if inline is not None:  # openpyxl would refuse one with invalid fonts
                element.remove(inline)
            cell = self.parse_cell(element)
            if inline is not None and cell["data_type"] == "inlineStr":
                cell.update(data_type="s", value=_read_content(inline))
            return cell["column"], self._convert_value(**cell)
        except MemoryError:
            raise
        except Exception:  # whatever openpyxl makes of an odd cell
            self.col_counter = max(self.col_counter, before + 1)
            return NOWHERE, None

    def _convert_value(
        self, value: Any, data_type: str, style_id: int, column: int, **_place: int
    ) -> str | None:
        if data_type == "s":
            return None if value is None else unescape_text(value)
        if data_type == "b" and value is not None:
            return str(value).lower()
        if isinstance(value, date | time):  # which some programs write so
            return self._write_date(value, column)
        if data_type != "n" or value is None:
            return None
        if style_id in self._sheet.dates:
            moment = from_excel(value, self._sheet.epoch) if value >= 0 else None
            return None if moment is None else self._write_date(moment, column)
        whole = isinstance(value, int) or (value.is_integer() and abs(value) < _BEYOND_INTEGERS)
        return str(int(value)) if whole else repr(value)

    def _write_date(self, value: Any, column: int) -> str | None:
        """Write a date or time in the column's format, or as ISO 8601 does."""
        template = self._templates.get(column)
        if template is None or not isinstance(value, date):
            return str(value).removesuffix("000")  # milliseconds
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        return template.format(value) or None


def unescape_text(text: str) -> str | None:
    """Undo the escapes of what XML can't hold; null if the text is too long."""
    if len(text) > LONGEST:
        return None
    if "_x" in text:
        text = unescape(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _iter_events(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Iterate over elements as they begin and end; expat limits entities, and loads none."""
    return iterparse(stream, ("start", "end"))  # noqa: S314 - expat sees to that


def iter_rows(
    parts: Parts, sheet: Sheet, cells: Cells, places: Collection[int] | None = None
) -> Iterator[Row]:
    """Iterate over the rows that have anything in any cell.

    No more than one row and one cell are held at once.

    Args:
        parts: The open file.
        sheet: The sheet to read.
        cells: Reads cells, with the shared texts.
        places: Numbers of the wanted columns, from 1; None for all.

    Yields:
        The text of each wanted cell; null where the cell can't be understood.

    Raises:
        Exception: One of ``BROKEN``.
    """
    texts: Row = {}
    is_record = False
    row: Any = None
    data: Any = None
    with parts.open(sheet.part) as stream:
        for event, element in _iter_events(stream):
            if event == "start":
                if element.tag == DATA_TAG:
                    data = element
                elif element.tag == ROW_TAG and data is not None:
                    row, texts, is_record, cells.col_counter = element, {}, False, 0
            elif row is None:
                element.clear()
            elif element.tag == CELL_TAG:
                is_record = is_record or _is_filled(element)
                column, text = cells.read_text(element)
                if column != NOWHERE and (places is None or column in places):
                    texts[column] = text
                row.clear()
            elif element is row:
                row = None
                data.clear()
                if is_record:
                    yield texts


def _is_filled(element: Any) -> bool:
    """Tell if a cell has a text of its own or a value; an empty result is no value."""
    return element.find(INLINE_STRING) is not None or bool(element.findtext(VALUE_TAG))


def _read_content(element: Any) -> str | None:
    """Read a text by joining its runs, without its pronunciation; null if it is too long."""
    runs = [element, *element.findall(_RUN_TAG)]
    text = "".join(run.findtext(_TEXT_TAG) or "" for run in runs)
    return text if len(text) <= LONGEST else None


def read_shared_texts(parts: Parts, part: str | None, limit: int | None = None) -> list[str | None]:
    """Read the shared texts, or the first ``limit``; raises ``BROKEN`` or MemoryError."""
    texts: list[str | None] = []
    if part is None or limit == 0:
        return texts
    size = 0
    with parts.open(part) as stream:
        events = _iter_events(stream)
        _, root = next(events)
        for event, element in events:
            if event == "start" or element.tag != _STRING_TAG:
                continue
            texts.append(_read_content(element))
            root.clear()
            size += 50 + len(texts[-1] or "")
            if size > MOST_TEXT:
                raise MemoryError
            if len(texts) == limit:
                break
    return texts
