"""Excel workbooks as a source of records: a sheet whose first row names the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from dprelease.expressions.nodes import BLANKS
from dprelease.expressions.sqltext import col
from dprelease.model import Dialect, InputColumn, Source
from dprelease.model.date_formats import build_date_template
from dprelease.sources.shared.arrow_texts import build_texts
from dprelease.sources.shared.column_names import choose_place, find_places
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.files import Split, read_marks, resolve
from dprelease.sources.shared.kept_parts import MOST_KEPT, find_kept
from dprelease.sources.shared.locations import get_size
from dprelease.sources.shared.record_stream import RECORDS, Columns, Fields, RecordStream
from dprelease.sources.shared.source_format import StoredColumn

if TYPE_CHECKING:
    from dprelease.sources.xlsx.workbook import Parts, Row, Sheet

BATCH = 4096  # records
UNPACKED = 10  # bytes for each byte of a file, roughly; no figure depends on it
AS_STORED = Dialect(null_values=())
"""Dialect of texts of a sheet: a cell without a value is null; an empty text is not."""


class Place(NamedTuple):
    """A file, its sheet, and the number, from 1, of each named column.

    ``templates`` are the forms in which dates of columns with a ``format`` become texts.
    """

    path: str
    sheet: Sheet
    columns: dict[str, int]
    templates: dict[int, str]

    def find_wanted(self) -> dict[int, str | None]:
        """Find the numbers of the columns that this run has asked for, and their templates."""
        kept = find_kept()
        asked = {} if kept is None else kept.columns.get((self.path, self.sheet.part), {})
        own = {number: self.templates.get(number) for number in self.columns.values()}
        return dict(sorted((asked | own).items()))


class SheetTable(Struct, frozen=True):
    """See ``Table``."""

    places: tuple[Place, ...]
    names: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """See ``Table``."""
        return tuple(place.path for place in self.places)

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``; a split is a whole file."""
        paths = {split.path for split in splits}
        places = [place for place in self.places if not splits or place.path in paths]
        return RecordStream(
            Fields(
                col(RECORDS),
                {name: col(f"f{number}") for number, name in enumerate(self.names)},
                {},
                AS_STORED,
            ),
            lambda count, only: _open(places, self.names, count, only),
            lambda: sum(get_size(place.path) for place in places),
        )

    def fast(self) -> None:
        """Return None: one reader reads all sheets."""

    def pieces(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """See ``Table``; each file is one part."""
        return [(place.path, (get_size(place.path) * UNPACKED,)) for place in self.places]


class Xlsx:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> SheetTable:
        """See ``SourceFormat``; reads no texts but those of the header; raises Failure(DATA)."""
        _check_installed()
        names = tuple(dict.fromkeys(column.name for column in list_read_columns(inputs)))
        templates = {
            column.name: build_date_template(column.format.strip(BLANKS)) or ""
            for column in list_read_columns(inputs)
            if column.format is not None
        }
        places = tuple(_place(path, source, names, templates) for path in resolve(source))
        return SheetTable(places, names)

    def list_columns(self, source: Source) -> list[StoredColumn]:
        """See ``SelfDescribing``: the names in the first row of the sheet, which has no types."""
        _check_installed()
        _, header = _find_sheet(resolve(source)[0], source)
        return [StoredColumn(header.get(at) or "") for at in range(1, max(header, default=0) + 1)]


SOURCE = Xlsx()


def _check_installed() -> None:
    if find_spec("openpyxl") is None:
        message = "openpyxl, which reads workbooks, is not installed"
        raise build_data_failure("E426", message, "pip install 'dprelease[xlsx]'", "data.format")


def _place(path: str, source: Source, names: Sequence[str], templates: Mapping[str, str]) -> Place:
    sheet, header = _find_sheet(path, source)
    columns = {name: _find_column(header, name, source.pattern) for name in names}
    place = Place(
        path, sheet, columns, {columns[name]: template for name, template in templates.items()}
    )
    if (kept := find_kept()) is not None:
        kept.columns[path, sheet.part] = place.find_wanted()
    return place


def _find_sheet(path: str, source: Source) -> tuple[Sheet, Row]:
    """Find the sheet of a source and its header, or both as they were in this run."""
    from dprelease.sources.xlsx.workbook import BROKEN, list_sheets, open_workbook

    try:
        marks = read_marks(path)
        kept, key = None if marks is None else find_kept(), ("header", path, marks, source.own)
        found: tuple[Sheet, Row] | None = None if kept is None else kept.find(key)
        if found is None:
            with open_workbook(path) as parts:
                sheet = _choose_sheet(list_sheets(parts), source)
                found = sheet, _read_header(parts, sheet)
            if kept is not None:
                kept.keep(key, found, 0)
        return found
    except (*BROKEN, MemoryError):
        raise build_data_failure(
            "E409",
            f"{source.pattern} is not a readable xlsx workbook",
            "it may be damaged, too large or locked by a password: save it again as .xlsx",
        ) from None


def _read_header(parts: Parts, sheet: Sheet) -> Row:
    """Read the first row with a value.

    It is read twice: for the places of its texts among the shared ones, then with these texts.
    """
    from dprelease.sources.xlsx.workbook import Cells, iter_rows, read_shared_texts

    cells = Cells(sheet, None)
    next(iter_rows(parts, sheet, cells), None)
    cells = Cells(sheet, read_shared_texts(parts, sheet.texts, cells.most_shared + 1))
    return next(iter_rows(parts, sheet, cells), {})


def _choose_sheet(sheets: dict[str, Sheet], source: Source) -> Sheet:
    if not sheets:
        hint = "save it again as an Excel workbook, not as a strict one"
        raise build_data_failure("E409", f"{source.pattern} has no sheet that can be read", hint)
    name = source.get_own("sheet")
    if name is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    if name is None:
        hint = 'name one, as sheet = "Data"'
        raise build_data_failure("E433", f"{source.pattern} has several sheets", hint, "data.sheet")
    if name not in sheets:
        message = f'{source.pattern} has no sheet "{name}"'
        hint = "it must have exactly this name, including upper and lower case"
        raise build_data_failure("E433", message, hint, "data.sheet")
    return sheets[name]


def _find_column(header: Row, name: str, pattern: str) -> int:
    numbers, names = list(header), list(header.values())
    usual = "the first row must hold exactly this name, including upper and lower case"
    return numbers[choose_place(find_places(names, name), names, name, pattern, usual)]


def _open(
    places: Sequence[Place], names: Sequence[str], count: Callable[[int], None], only: Columns
) -> tuple[Any, Iterator[Any]]:
    """Open the schema and its batches. Taking a batch raises OSError if a file can't be read."""
    import pyarrow as pa

    fields = [(f"f{number}", name) for number, name in enumerate(names)]
    fields = [(field, name) for field, name in fields if only is None or name in only]
    schema = pa.schema([(field, pa.string()) for field, _ in fields] or [("f0", pa.null())])

    def iter_batches() -> Iterator[Any]:
        for place in places:
            columns = [place.columns[name] for _, name in fields]
            for size, arrays in _iter_parts(place, count):
                chosen = [arrays[number] for number in columns]
                yield pa.record_batch(chosen or [pa.nulls(size)], schema=schema)

    return schema, iter_batches()


Part = tuple[int, dict[int, Any]]
"""A number of records, and the array of each column by its number."""


def _iter_parts(place: Place, count: Callable[[int], None]) -> Iterator[Part]:
    """Iterate over the columns of a sheet; a run parses it once if there is room to keep it."""
    marks, wanted = read_marks(place.path), place.find_wanted()
    kept = None if marks is None else find_kept()
    key = ("sheet", place.path, marks, place.sheet.part, tuple(wanted.items()))
    parts: list[Part] | None = None if kept is None else kept.find(key)
    if parts is not None:
        yield from parts
        count(get_size(place.path))
        return
    parts, size = [], 0
    for rows in read_rows(place, wanted, count):
        arrays = {number: build_texts([row.get(number) for row in rows]) for number in wanted}
        yield len(rows), arrays
        size += sum(array.nbytes for array in arrays.values())
        if size <= MOST_KEPT:
            parts.append((len(rows), arrays))
        else:
            parts.clear()
    if kept is not None and size <= MOST_KEPT and read_marks(place.path) == marks:
        kept.keep(key, parts, size)


def read_rows(
    place: Place, columns: Mapping[int, str | None], count: Callable[[int], None]
) -> Iterator[list[Row]]:
    """Iterate over the rows of a sheet after its header; columns have templates of dates."""
    from dprelease.sources.xlsx.workbook import (
        DAMAGED,
        Cells,
        iter_rows,
        open_workbook,
        read_shared_texts,
    )

    waiting: list[Row] = []
    try:
        with open_workbook(place.path) as parts:
            cells = Cells(place.sheet, read_shared_texts(parts, place.sheet.texts), columns)
            rows = iter_rows(parts, place.sheet, cells, columns)
            next(rows, None)
            for row in rows:
                waiting.append(row)
                if len(waiting) >= BATCH:
                    yield waiting
                    waiting = []
            count(get_size(place.path))
    except DAMAGED:
        raise OSError("a workbook can't be read") from None
    yield waiting
