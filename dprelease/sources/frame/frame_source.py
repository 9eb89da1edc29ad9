"""Tables in memory that a program passes: of pyarrow, pandas and polars.

Of these libraries only pyarrow is imported: module and name of its type identify a table of the
others. The types of columns are found without reading values, and how a cell is read depends on
that cell alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NoReturn, Protocol

import numpy as np

from dprelease.errors import Failure, InternalError
from dprelease.expressions.nodes import BLANKS
from dprelease.model import NUMERIC_TYPES, ColumnType, InputColumn, Source
from dprelease.model.date_formats import build_date_template
from dprelease.sources.shared.arrow_types import (
    choose_type,
    convert_type,
    find_common_type,
    find_zones,
)
from dprelease.sources.shared.column_layout import ColumnLayout, name_fields
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.record_stream import RecordStream

ROWS = 1 << 16  # rows of a batch
LARGEST_BITS = 1100  # bits of an integer: with more it exceeds all doubles
KEY = "data.format"
WHAT = "the table from the program"


class Frame(Protocol):
    """A table in memory."""

    records: int

    def build_schema(self, inputs: Sequence[InputColumn]) -> Any:
        """Build the Arrow schema of the wanted columns, without a look at values.

        Args:
            inputs: The wanted columns.

        Returns:
            A schema that has every wanted column that is in the table; it may have others.
        """
        ...

    def iter_batches(self, names: Sequence[str], schema: Any) -> Iterator[Any]:
        """Iterate over all records in order, as Arrow record batches.

        Args:
            names: Columns of the schema, in the order of the batches' columns.
            schema: What ``build_schema`` returned.
        """
        ...


def recognize_frame(table: object) -> Frame:
    """Wrap a table that a program handed over.

    Args:
        table: A pyarrow Table or RecordBatch, or a DataFrame of pandas or polars.

    Raises:
        Failure: Exit code 4 for any other object, which is not read.
    """
    import pyarrow as pa

    home = type(table).__module__.partition(".")[0]
    if isinstance(table, pa.RecordBatch):
        return ArrowFrame(pa.Table.from_batches([table]))
    if isinstance(table, pa.Table):
        return ArrowFrame(table)
    if home == "polars" and type(table).__name__ == "DataFrame":
        return PolarsFrame(table)
    if home == "pandas" and type(table).__name__ == "DataFrame":
        return PandasFrame(table)
    kind = f"{type(table).__module__}.{type(table).__qualname__}"
    hint = _REMEDIES.get((home, type(table).__name__), "")
    raise build_data_failure("E431", f"a {kind} is not a table that can be read", hint, KEY)


# package and class of what is no table yet -> how to make one of it
_REMEDIES = {
    ("polars", "LazyFrame"): "pass the table that its collect() returns",
    ("pyspark", "DataFrame"): "pass the table that its toPandas() returns; or write it as Parquet, "
    'which engine = "spark" reads',
    ("duckdb", "DuckDBPyRelation"): "pass the table that its to_arrow_table() returns",
    ("dask", "DataFrame"): "pass the table that its compute() returns",
    ("pyarrow", "RecordBatchReader"): "pass the table that its read_all() returns",
    ("ibis", "Table"): "pass the table that its to_pyarrow() returns",
}


class ArrowFrame:
    """A pyarrow Table. See ``Frame``."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.records: int = table.num_rows

    def build_schema(self, inputs: Sequence[InputColumn]) -> Any:
        """See ``Frame``."""
        return self._table.schema

    def iter_batches(self, names: Sequence[str], schema: Any) -> Iterator[Any]:
        """See ``Frame``."""
        yield from self._table.select(list(names)).to_batches(max_chunksize=ROWS)


class PolarsFrame:
    """A polars DataFrame; only wanted columns are converted to Arrow. See ``Frame``."""

    def __init__(self, table: Any) -> None:
        self._table = table.clone()
        self.records: int = table.height

    def build_schema(self, inputs: Sequence[InputColumn]) -> Any:
        """See ``Frame``; raises Failure(DATA)."""
        import pyarrow as pa

        columns = {column.name: column for column in inputs}
        fields = [
            self._build_field(columns[name]) if name in columns else pa.field(name, pa.null())
            for name in self._table.columns
        ]
        return pa.schema(fields)

    def _build_field(self, column: InputColumn) -> Any:
        import pyarrow as pa

        stored = self._table.schema[column.name]
        if str(stored) == "Object":  # Arrow would get addresses in memory
            raise _build_unreadable_failure(column, "Object")
        try:
            return pa.table(self._table.select(column.name).clear()).schema.field(0)
        except (pa.ArrowException, TypeError, ValueError, RuntimeError):
            raise _build_unreadable_failure(column, str(stored)) from None

    def iter_batches(self, names: Sequence[str], schema: Any) -> Iterator[Any]:
        """See ``Frame``."""
        import pyarrow as pa

        yield from pa.table(self._table.select(list(names))).to_batches(max_chunksize=ROWS)


def _build_unreadable_failure(column: InputColumn, stored: str) -> Failure:
    """Refuse a column of a type that Arrow doesn't have."""
    type_text = "one value" if column.opaque else column.type.value
    # Inner names of types, such as those of a struct's fields, can be values: they are not shown.
    name = re.split(r"[\[(<{]", stored)[0]
    return build_data_failure(
        "E412",
        f'column "{column.name}" of {WHAT} can\'t be read as {type_text}: its type is {name}',
        "convert the column to a type of the table in the documentation",
        KEY,
    )


_OBJECTS = "object"  # of pandas, which may be any Python objects
_TEXTS = frozenset({"str", "string"})  # of pandas: Python's, or what Arrow has


class PandasFrame:
    """A pandas DataFrame without its index. See ``Frame``."""

    def __init__(self, table: Any) -> None:
        self._table = table.copy(deep=False)  # with its columns, whatever the program drops later
        self._places: dict[str, list[int]] = {}
        self._readers: dict[str, Callable[[object], str | None]] = {}
        for place, name in enumerate(table.columns):
            self._places.setdefault(name if isinstance(name, str) else "", []).append(place)
        self.records: int = len(table)

    def build_schema(self, inputs: Sequence[InputColumn]) -> Any:
        """See ``Frame``."""
        import pyarrow as pa

        fields = []
        for column in inputs:
            for place in self._places.get(column.name, ()):
                kind = self._choose_type(self._table.iloc[:0, place], column)
                fields.append(pa.field(column.name, kind))
        return pa.schema(fields)

    def iter_batches(self, names: Sequence[str], schema: Any) -> Iterator[Any]:
        """See ``Frame``."""
        import pyarrow as pa

        for start in range(0, self.records, ROWS):
            yield pa.record_batch([self._convert(name, start) for name in names], list(names))

    def _choose_type(self, empty: Any, column: InputColumn) -> Any:
        import pyarrow as pa

        stored = _name_stored_type(empty)
        if stored:
            # Objects are read cell by cell, as texts: Python has several kinds of numbers.
            self._readers[column.name] = _build_reader(column) if stored == _OBJECTS else _read_text
            return pa.string()
        try:
            kind = pa.array(_make_dense(empty), from_pandas=True).type
        except (pa.ArrowException, TypeError, ValueError):
            raise _build_unreadable_failure(column, str(empty.dtype)) from None
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _convert(self, name: str, start: int) -> Any:
        import pyarrow as pa

        values = self._table.iloc[start : start + ROWS, self._places[name][0]]
        if name not in self._readers:
            array = pa.array(_make_dense(values), from_pandas=True)
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
            return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        read = self._readers[name]
        return pa.array([read(value) for value in values.astype(object)], pa.string())


def _make_dense(values: Any) -> Any:
    """Return the column with all values of a sparse one."""
    return values.sparse.to_dense() if type(values.dtype).__name__ == "SparseDtype" else values


def _name_stored_type(values: Any) -> str:
    """Name the type of a column of objects or texts; "" for any other column."""
    kind = values.dtype
    if str(kind) == "category":
        kind = kind.categories.dtype
    name = str(kind).partition("[")[0]
    return name if name in {_OBJECTS, *_TEXTS} and "pyarrow" not in str(kind) else ""


def _read_text(value: object) -> str | None:
    """Return the text with unpaired surrogates replaced by U+FFFD; None for any other value."""
    if not isinstance(value, str):
        return None
    text = str.__str__(value)  # a member of an enumeration shows itself as another one
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _read_time(value: object) -> str | None:
    """Write a day or a time as a text: of a moment that of UTC, with its offset."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if not isinstance(value, date) or value != value:  # noqa: PLR0124 - NaT
        return None
    if not isinstance(value, datetime):
        return date(value.year, value.month, value.day).isoformat()
    offset = ""
    if value.tzinfo is not None:
        try:
            value, offset = value.astimezone(UTC), "+00:00"
        except (OverflowError, ValueError):
            return None  # outside of the calendar in UTC
    return f"{datetime(*value.timetuple()[:6], value.microsecond).isoformat(' ')}{offset}"


def _get_number(value: object) -> bool | int | float | Decimal | None:
    """Return a number of Python or numpy as one of Python; None for any other value."""
    if isinstance(value, np.timedelta64):  # to numpy a duration is an integer
        return None
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.integer | np.bool_):
        value = value.item()
    return value if isinstance(value, int | float | Decimal) else None


def _read_truth(value: object) -> str | None:
    """Write True, False or a number equal to 1 or 0 as a text; None for any other value."""
    number = _get_number(value)
    if isinstance(number, Decimal) and not number.is_finite():
        return None  # one that signals can't be compared
    return str(bool(number)) if number in (0, 1) else None


def _read_number(value: object) -> str | None:
    """Write a number so that equal numbers have equal texts; None for any other value."""
    value = _get_number(value)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        is_large = value.bit_length() > LARGEST_BITS
        return ("-inf" if value < 0 else "inf") if is_large else int.__repr__(value)
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return None
    if -(2**63) <= value < 2**63 and value == int(value):
        return int.__repr__(int(value))
    return float.__repr__(value) if isinstance(value, float) else Decimal.__str__(value)


_READERS: dict[ColumnType, Callable[[object], str | None]] = {
    **dict.fromkeys((*NUMERIC_TYPES, ColumnType.STRING), _read_number),
    ColumnType.BOOLEAN: _read_truth,
    ColumnType.DATE: _read_time,
    ColumnType.TIMESTAMP: _read_time,
}


def _build_reader(declared: InputColumn) -> Callable[[object], str | None]:
    """Build the function that writes a cell of a column of objects as a text, or gives None."""
    form = None if declared.format is None else declared.format.strip(BLANKS)
    templates = {
        in_utc: form and build_date_template(form, in_utc=in_utc) for in_utc in (False, True)
    }

    def read(value: object) -> str | None:
        text = _read_text(value)
        if text is not None or (declared.type is ColumnType.STRING and not declared.opaque):
            return text
        text = _READERS[declared.type](value)
        if text is None or form is None:
            return text
        time = datetime.fromisoformat(text)
        template = templates[time.tzinfo is not None]
        return template and template.format(time)

    return read


class FrameTable(ColumnLayout, frozen=True):
    """See ``Table`` and ``ColumnLayout``; ``schema`` is that of the table in memory."""

    frame: Frame
    schema: Any

    @property
    def paths(self) -> tuple[str, ...]:
        """Empty: the table is in memory."""
        return ()

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        if splits:
            raise InternalError("splits")
        records = self.frame.records
        return self.open_stream(FrameTable._iter_batches, lambda: records, records)

    def _iter_batches(self, schema: Any, count: Callable[[int], None]) -> Iterator[Any]:
        import pyarrow as pa

        if not self.types:  # of tables without columns libraries don't tell how many rows there are
            for start in range(0, self.frame.records, ROWS):
                size = min(ROWS, self.frame.records - start)
                count(size)
                yield pa.record_batch([pa.nulls(size)], schema=schema)
            return
        for batch in self.frame.iter_batches(list(self.types), self.schema):
            count(batch.num_rows)
            yield self.build_batch(batch, "", schema)

    def fast(self) -> None:
        """Return None: one reader reads all tables."""

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """Raise InternalError: a cluster reads no table of this process."""
        raise InternalError("pieces")


class HandedOver:
    """See ``SourceFormat``: the format of one table that was handed over."""

    def __init__(self, table: object) -> None:
        self._frame = recognize_frame(table)

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> FrameTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        columns = list_read_columns(inputs)
        schema = self._frame.build_schema(columns)
        types = {}
        for column in columns:
            kind = choose_type(schema, column, WHAT, inferred=True)
            types[column.name] = convert_type(find_common_type([kind], column, WHAT), column)
        fields, zones = name_fields(*types), find_zones(schema, types)
        return FrameTable(types, frozenset(), {}, fields, zones, self._frame, schema)


class Missing:
    """See ``SourceFormat``: the format where no table was handed over."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> NoReturn:
        """Raise Failure(DATA)."""
        message = "the spec expects a table from a program, and none was passed"
        raise build_data_failure("E430", message, key=KEY)


SOURCE = Missing()
