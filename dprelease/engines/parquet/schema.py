"""What the footers of Parquet files say: names, types and sizes of columns. No value is read.

One reader reads all Parquet files. What it makes of a cell follows from the type of the column and
from that cell alone. The types that it knows are a closed list; a column of any other type is
refused before anything is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dprelease.engines.base import bad_data, columns_read
from dprelease.engines.common.files import resolve
from dprelease.engines.common.locations import is_uri, open_binary
from dprelease.model import NUMERIC_TYPES, ColumnType, InputColumn, Source

WIDEST = 38  # digits of a decimal that DuckDB holds exactly
BATCH_ROWS = 1 << 16
BATCH_BYTES = 1 << 26  # a batch has about so many, by the sizes in the footers
SHORTEST_TEXT = 4  # bytes of a text in a file, at least, unless it is a number in a dictionary
_SHOWN = 80  # characters of a type's name

_DUCKDB_TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date32[day]": "DATE",
    "timestamp[ms]": "TIMESTAMP_MS",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}


@dataclass(frozen=True, slots=True)
class ParquetLayout:
    """The columns to be read, the same in all files.

    ``types`` gives the Arrow type of each column as the reader hands it on. Texts of the columns
    ``coded`` come as places in a dictionary: faster, and the same texts. ``records`` is their
    number by the footers, ``batch`` how many are read at once; neither decides what is read.
    ``row_groups`` has, for each file, the bytes of each row group: of the columns that are read.
    """

    paths: tuple[str, ...]
    types: dict[str, Any]
    coded: frozenset[str]
    records: int
    batch: int
    row_groups: tuple[tuple[int, ...], ...]

    def duckdb_types(self) -> dict[str, str]:
        """The DuckDB type of each column."""
        return {name: _duckdb_type(kind) for name, kind in self.types.items()}


def lay_out_parquet(source: Source, inputs: Sequence[InputColumn]) -> ParquetLayout:
    """Find the files and the columns that are read from them; raises Failure(DATA)."""
    paths = resolve(source)
    wanted = columns_read(inputs)
    sizes = dict.fromkeys((column.name for column in wanted), 0)
    types_of_files: list[dict[str, Any]] = []
    row_groups: list[tuple[int, ...]] = []
    records = 0
    for path in paths:
        with _opened(path, source.pattern) as file:
            types_of_files.append(
                {column.name: _found(file, column, source.pattern) for column in wanted}
            )
            records += file.metadata.num_rows
            of_columns = {name: _sizes(file, name) for name in sizes}
            for name, of_groups in of_columns.items():
                sizes[name] += sum(of_groups)
            groups = zip([1] * file.num_row_groups, *of_columns.values(), strict=True)
            row_groups.append(tuple(map(sum, groups)))
    if any(types != types_of_files[0] for types in types_of_files):
        raise bad_data(
            "E407",
            f"the files of {source.pattern} have different types in a column",
            "write all of them with the same types",
        )
    types = {column.name: _handed_on(types_of_files[0][column.name], column) for column in wanted}
    coded = {
        name
        for name, kind in types.items()
        if _duckdb_type(kind) == "VARCHAR" and sizes[name] < SHORTEST_TEXT * records
    }
    batch = BATCH_BYTES * records // max(sum(sizes.values()), 1)
    return ParquetLayout(
        paths, types, frozenset(coded), records, max(1, min(batch, BATCH_ROWS)), tuple(row_groups)
    )


def open_file(path: str, coded: Sequence[str] = ()) -> Any:
    """A pyarrow ParquetFile; raises OSError or a pyarrow error."""
    import pyarrow.parquet as pq

    # Moments of INT96 wrap around in nanoseconds within three centuries; in microseconds, beyond
    # all dates. A buffer, not a whole column of a row group, is held in memory.
    return pq.ParquetFile(
        open_binary(path) if is_uri(path) else path,
        read_dictionary=list(coded),
        coerce_int96_timestamp_unit="us",
        buffer_size=1 << 20,
    )


def _opened(path: str, pattern: str) -> Any:
    import pyarrow as pa

    try:
        file = open_file(path)
        file.schema_arrow.names  # noqa: B018 - raises where a name is no text
    except (OSError, ValueError, MemoryError, pa.ArrowException):
        raise bad_data(
            "E409", f"{pattern} is no readable Parquet file", "it may be cut short or damaged"
        ) from None
    return file


def _sizes(file: Any, name: str) -> list[int]:
    """Bytes of a column before compression in each row group, by the footer."""
    footer, leaf = file.metadata, _leaf(file, name)
    groups = (footer.row_group(place) for place in range(footer.num_row_groups))
    return [0 if leaf is None else group.column(leaf).total_uncompressed_size for group in groups]


def _leaf(file: Any, name: str) -> int | None:
    """The place of a column that isn't nested among all columns of values."""
    leaves = (file.schema.column(place) for place in range(file.metadata.num_columns))
    places = (place for place, leaf in enumerate(leaves) if leaf.path == name == leaf.name)
    return next(places, None)


def _found(file: Any, declared: InputColumn, pattern: str) -> Any:
    """The type of a column, in the form that all files must share; raises Failure(DATA)."""
    name, schema = declared.name, file.schema_arrow
    places = schema.get_all_field_indices(name)
    if not places:
        raise bad_data(
            "E405",
            f'{pattern} has no column "{name}"',
            "it must have exactly this name, upper and lower case included",
        )
    if len(places) > 1:
        raise bad_data("E406", f'{pattern} has several columns "{name}"', "rename one of them")
    physical = schema.field(places[0]).type
    kind = read_type(physical, _is_enum(file, name))
    if kind is None or not _can_hold(kind, declared):
        wanted = "one value" if declared.opaque else declared.type.value
        shown = "".join(char if char.isprintable() else "?" for char in str(physical)[:_SHOWN])
        raise bad_data(
            "E412",
            f'column "{name}" of {pattern} can\'t be read as {wanted}: its type is {shown}',
            "name another column, or write it with a type of the table in the documentation"
            if declared.opaque
            else "declare the type that the file has, or write the file with the declared type",
        )
    if declared.zone is not None and getattr(kind, "tz", None) is None:
        raise bad_data(
            "E412",
            f'column "{name}" of {pattern} has no zone: its type is {physical}',
            f"leave zone out of [columns.{name}]: what stands in the file is read as it is",
        )
    return kind


def _is_enum(file: Any, name: str) -> bool:
    """Whether the column is annotated as an enumeration: bytes that are a text."""
    leaf = _leaf(file, name)
    return leaf is not None and file.schema.column(leaf).logical_type.type == "ENUM"


def read_type(physical: Any, enum: bool = False) -> Any:
    """The type as which all columns of a type are read, or None: the closed list.

    Types that differ in how values are stored, but not in which there are, are read as one.
    """
    import pyarrow as pa
    from pyarrow import types

    if isinstance(physical, pa.BaseExtensionType):
        physical = physical.storage_type if physical.extension_name in _STORED else pa.null()
    if types.is_dictionary(physical):
        physical = physical.value_type
    if types.is_float16(physical):
        return pa.float32()
    if types.is_decimal(physical):
        narrow = physical.precision <= WIDEST
        return pa.decimal128(physical.precision, physical.scale) if narrow else None
    if str(physical) in _STRINGS:
        return pa.string()
    if str(physical) in _BINARIES:
        return pa.string() if enum else pa.binary()
    if types.is_fixed_size_binary(physical):
        return pa.binary()
    simple = ("boolean", "integer", "floating", "date32", "timestamp", "time", "duration")
    kind = physical if _is(physical, simple) else None
    zoned = getattr(kind, "tz", None) is not None
    return pa.timestamp(physical.unit, "UTC") if zoned else kind  # a moment is so in every zone


def _is(kind: Any, names: Sequence[str]) -> bool:
    """Whether the type is one of those that Arrow calls so."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


_STRINGS = ("string", "large_string", "string_view")
_BINARIES = ("binary", "large_binary", "binary_view")
_STORED = frozenset({"arrow.uuid", "arrow.bool8", "arrow.json"})  # read as what they are stored as


_NUMBERS = ("integer", "floating", "decimal")
_HELD = dict.fromkeys(NUMERIC_TYPES, _NUMBERS) | {
    ColumnType.BOOLEAN: ("boolean",),
    ColumnType.STRING: ("string",),
    ColumnType.DATE: ("date32", "timestamp"),
    ColumnType.TIMESTAMP: ("timestamp",),
}


def _can_hold(kind: Any, declared: InputColumn) -> bool:
    """Whether values of the type that is read can be of the declared one."""
    return declared.opaque or _is(kind, _HELD[declared.type])


def _handed_on(kind: Any, declared: InputColumn) -> Any:
    """The type that the reader hands on.

    Of moments that are only compared, it is that of the whole numbers as which they are stored;
    nanoseconds become microseconds, and so do all moments with a zone.
    """
    import pyarrow as pa
    from pyarrow import types

    if declared.opaque and types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if types.is_timestamp(kind) and (kind.unit == "ns" or kind.tz is not None):
        return pa.timestamp("us", kind.tz)
    return kind


def _duckdb_type(kind: Any) -> str:
    from pyarrow import types

    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _DUCKDB_TYPES[str(kind)]
