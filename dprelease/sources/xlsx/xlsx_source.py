"""Excel workbooks as a source of records: a sheet whose first row names the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from dprelease.engines.duckdb.field_reader import RECORDS, Columns, RecordStream
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.expressions.sqltext import col
from dprelease.model import Dialect, InputColumn, Source
from dprelease.sources.shared.column_names import find_places, hint_at_name
from dprelease.sources.shared.data_failures import bad_data, columns_read
from dprelease.sources.shared.files import Split, resolve
from dprelease.sources.shared.locations import size_of

if TYPE_CHECKING:
    from dprelease.sources.xlsx.workbook import Parts, Row, Sheet

BATCH = 4096  # records
UNPACKED = 10  # bytes for each one of a file, about; no figure depends on it
AS_STORED = Dialect(null_values=())
"""How texts of a sheet are read: a cell without a value is null, and an empty text is a text."""


class Place(NamedTuple):
    """A file, its sheet, and the number of the column, from 1, of each name."""

    path: str
    sheet: Sheet
    columns: dict[str, int]


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
        wanted = {split.path for split in splits}
        places = [place for place in self.places if not splits or place.path in wanted]
        return RecordStream(
            Fields(
                col(RECORDS),
                {name: col(f"f{number}") for number, name in enumerate(self.names)},
                {},
                AS_STORED,
            ),
            lambda count, only: _opened(places, self.names, count, only),
            lambda: sum(size_of(place.path) for place in places),
        )

    def fast(self) -> None:
        """One reader reads all sheets."""

    def pieces(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """See ``Table``; each file is one part."""
        return [(place.path, (size_of(place.path) * UNPACKED,)) for place in self.places]


class Xlsx:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> SheetTable:
        """See ``SourceFormat``; raises Failure(DATA). Of the texts no more than the header's."""
        if find_spec("openpyxl") is None:
            message = "openpyxl, which reads workbooks, is not installed"
            raise bad_data("E426", message, "pip install 'dprelease[xlsx]'", "data.format")
        names = tuple(dict.fromkeys(column.name for column in columns_read(inputs)))
        for column in inputs:
            if column.zone is not None and column.expression is None:
                raise bad_data(
                    "E412",
                    f'column "{column.name}" of {source.pattern} has no zone: a sheet knows none',
                    f"leave zone out of [columns.{column.name}]",
                )
        places = tuple(_place(path, source, names) for path in resolve(source))
        return SheetTable(places, names)


SOURCE = Xlsx()


def _place(path: str, source: Source, names: Sequence[str]) -> Place:
    from dprelease.sources.xlsx.workbook import BROKEN, opened, sheets_of

    try:
        with opened(path) as parts:
            sheet = _chosen(sheets_of(parts), source)
            header = _header(parts, sheet)
    except (*BROKEN, MemoryError):
        raise bad_data(
            "E409",
            f"{source.pattern} is not a readable xlsx workbook",
            "it may be damaged, too large or locked by a password: save it again as .xlsx",
        ) from None
    return Place(path, sheet, {name: _column(header, name, source.pattern) for name in names})


def _header(parts: Parts, sheet: Sheet) -> Row:
    """The first row with a value: read for the places of its texts, then with these texts."""
    from dprelease.sources.xlsx.workbook import Cells, rows_of, shared_texts

    cells = Cells(sheet, None)
    next(rows_of(parts, sheet, cells), None)
    cells = Cells(sheet, shared_texts(parts, sheet.texts, cells.most_shared + 1))
    return next(rows_of(parts, sheet, cells), {})


def _chosen(sheets: dict[str, Sheet], source: Source) -> Sheet:
    if not sheets:
        hint = "save it again as an Excel workbook, not as a strict one"
        raise bad_data("E409", f"{source.pattern} has no sheet that is read", hint)
    if source.sheet is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    if source.sheet is None:
        hint = 'name one, as sheet = "Data"'
        raise bad_data("E433", f"{source.pattern} has several sheets", hint, "data.sheet")
    if source.sheet not in sheets:
        message = f'{source.pattern} has no sheet "{source.sheet}"'
        hint = "it must have exactly this name, upper and lower case included"
        raise bad_data("E433", message, hint, "data.sheet")
    return sheets[source.sheet]


def _column(header: Row, name: str, pattern: str) -> int:
    columns = [list(header)[place] for place in find_places(list(header.values()), name)]
    if not columns:
        usual = "the first row must hold exactly this name, upper and lower case included"
        hint = hint_at_name(header.values(), name, usual)
        raise bad_data("E405", f'{pattern} has no column "{name}"', hint)
    if len(columns) > 1:
        raise bad_data("E406", f'{pattern} has several columns "{name}"', "rename one of them")
    return columns[0]


def _opened(
    places: Sequence[Place], names: Sequence[str], count: Callable[[int], None], only: Columns
) -> tuple[Any, Iterator[Any]]:
    """The schema, and batches of it. Taking one raises OSError where a file can't be read."""
    import pyarrow as pa

    wanted = [(f"f{number}", name) for number, name in enumerate(names)]
    wanted = [(field, name) for field, name in wanted if only is None or name in only]
    schema = pa.schema([(field, pa.string()) for field, _ in wanted] or [("f0", pa.null())])

    def batches() -> Iterator[Any]:
        for place in places:
            columns = [place.columns[name] for _, name in wanted]
            for rows in _gathered(place, columns, count):
                arrays = [pa.array([row.get(at) for row in rows], pa.string()) for at in columns]
                yield pa.record_batch(arrays or [pa.nulls(len(rows))], schema=schema)

    return schema, batches()


def _gathered(
    place: Place, columns: Sequence[int], count: Callable[[int], None]
) -> Iterator[list[Row]]:
    """The rows of a sheet after its header."""
    from dprelease.sources.xlsx.workbook import DAMAGED, Cells, opened, rows_of, shared_texts

    waiting: list[Row] = []
    try:
        with opened(place.path) as parts:
            cells = Cells(place.sheet, shared_texts(parts, place.sheet.texts))
            rows = rows_of(parts, place.sheet, cells, columns)
            next(rows, None)
            for row in rows:
                waiting.append(row)
                if len(waiting) >= BATCH:
                    yield waiting
                    waiting = []
            count(size_of(place.path))
    except DAMAGED:
        raise OSError("a workbook can't be read") from None
    yield waiting
