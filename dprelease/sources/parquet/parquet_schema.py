"""Names, types and sizes of columns from the footers of Parquet files. No value is read.

How a cell is read depends on the type of its column and on that cell alone. A column of a type that
is not in ``arrow_types`` is refused before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from dprelease.files.uris import is_uri
from dprelease.model import InputColumn, Source
from dprelease.sources.shared.arrow_types import (
    build_unknown_type_failure,
    choose_type,
    convert_type,
    describe_columns,
    find_common_type,
    find_zones,
    name_duckdb_type,
)
from dprelease.sources.shared.column_layout import ColumnLayout, name_fields
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.files import read_marks, resolve
from dprelease.sources.shared.kept_parts import find_kept
from dprelease.sources.shared.locations import open_binary
from dprelease.sources.shared.partitions import check_apart, find_partitions
from dprelease.sources.shared.source_format import StoredColumn

BATCH_ROWS = 1 << 16
BATCH_BYTES = 1 << 26  # bytes of a batch, roughly, by the sizes in the footers
SHORTEST_TEXT = 4  # least bytes of a text in a file, unless it is a place in a dictionary


class ParquetLayout(ColumnLayout, frozen=True):
    """See ``ColumnLayout``.

    Attributes:
        paths: The files.
        records: The number of records by the footers; it does not decide what is read.
        batch_rows: The number of records read at once; it does not decide what is read, either.
        row_groups: For each file, the bytes of the columns that are read in each row group.
        plain: Whether all columns are in the files, and of types whose values DuckDB's own reader
            reads as Arrow does.
        dictionaries: For each file, the columns whose texts its writer had in a dictionary.
    """

    paths: tuple[str, ...]
    records: int
    batch_rows: int
    row_groups: tuple[tuple[int, ...], ...]
    plain: bool
    dictionaries: Mapping[str, frozenset[str]]


def lay_out_parquet(source: Source, inputs: Sequence[InputColumn]) -> ParquetLayout:
    """Find the files and the columns that are read from them; raises Failure(DATA)."""
    paths = resolve(source)
    partitions = find_partitions(source, paths, list_read_columns(inputs))
    columns = [column for column in list_read_columns(inputs) if column.name not in partitions]
    sizes = dict.fromkeys((column.name for column in columns), 0)
    types_of_files: list[dict[str, Any]] = []
    row_groups: list[tuple[int, ...]] = []
    without_dictionary: set[str] = set()
    dictionaries: dict[str, frozenset[str]] = {}
    zones: dict[str, str] = {}
    records = 0
    plain = not partitions
    footer: Footer | None = None
    structure: _Structure | None = None
    for path in paths:
        before, footer = footer, _read_footer(path, source.pattern)
        if structure is None or before is None or not footer.is_structured_like(before):
            check_apart(partitions, footer.schema_arrow.names, source.pattern)
            structure = _lay_out_structure(footer, columns, source.pattern)
            zones |= find_zones(footer.schema_arrow, structure.types)
        plain = plain and structure.plain
        types_of_files.append(structure.types)
        dictionaries[path] = structure.dictionaries
        records += footer.metadata.num_rows
        chunks = {
            column.name: _list_chunks(footer, column.name, structure, source.pattern)
            for column in columns
        }
        for name, of_groups in chunks.items():
            sizes[name] += sum(chunk.size for chunk in of_groups)
            if not all(chunk.has_dictionary for chunk in of_groups):
                without_dictionary.add(name)
        of_columns = [[chunk.size for chunk in of_groups] for of_groups in chunks.values()]
        groups = zip([1] * footer.metadata.num_row_groups, *of_columns, strict=True)
        row_groups.append(tuple(map(sum, groups)))
    common = {
        column.name: find_common_type(
            [types[column.name] for types in types_of_files], column, source.pattern
        )
        for column in columns
    }
    plain = plain and all(types == common for types in types_of_files)
    types = {column.name: convert_type(common[column.name], column) for column in columns}
    coded = {
        name
        for name in set(types) - without_dictionary
        if sizes[name] < SHORTEST_TEXT * records
        and all(str(of_file[name]) == "string" for of_file in types_of_files)
    }
    batch = BATCH_BYTES * records // max(sum(sizes.values()), 1)
    return ParquetLayout(
        types,
        frozenset(coded),
        partitions,
        name_fields(*types, *partitions),
        zones,
        paths,
        records,
        max(1, min(batch, BATCH_ROWS)),
        tuple(row_groups),
        plain,
        dictionaries,
    )


def list_parquet_columns(source: Source) -> list[StoredColumn]:
    """List the columns of the first file; raises Failure(DATA)."""
    return describe_columns(_read_footer(resolve(source)[0], source.pattern).schema_arrow)


class Footer(NamedTuple):
    """What the footer of a file says of it: sizes of column chunks, and types in both schemas."""

    metadata: Any
    schema: Any
    schema_arrow: Any

    def is_structured_like(self, other: Footer) -> bool:
        """Tell if the files have the same columns, of the same types."""
        return bool(
            self.schema.equals(other.schema)
            and self.schema_arrow.equals(other.schema_arrow, check_metadata=True)
        )


class _Structure(NamedTuple):
    """The columns that are read, in a file: their types, places among all leaves, and storage."""

    types: dict[str, Any]
    leaves: dict[str, int | None]
    dictionaries: frozenset[str]
    plain: bool


def _lay_out_structure(footer: Footer, columns: Sequence[InputColumn], pattern: str) -> _Structure:
    """Find the columns in the schemas of a file; raises Failure(DATA)."""
    types: dict[str, Any] = {}
    leaves: dict[str, int | None] = {}
    plain = True
    for column in columns:
        leaf = leaves[column.name] = _find_leaf(footer, column.name)
        kind = choose_type(footer.schema_arrow, column, pattern, enum=_is_enum(footer, leaf))
        types[column.name] = kind
        read_as = name_duckdb_type(convert_type(kind, column))
        plain = plain and _is_plain(footer, column.name, leaf, read_as)
    dictionaries = frozenset(
        column.name for column in columns if _has_dictionary(footer, column.name)
    )
    return _Structure(types, leaves, dictionaries, plain)


# DuckDB type -> the stored and annotated types whose values DuckDB reads as Arrow does
_SAME = {
    "BOOLEAN": ("BOOLEAN None",),
    "INTEGER": ("INT32 None", "INT32 Int(bitWidth=32, isSigned=true)"),
    "BIGINT": ("INT64 None", "INT64 Int(bitWidth=64, isSigned=true)"),
    "DOUBLE": ("DOUBLE None",),
    "VARCHAR": ("BYTE_ARRAY String",),
    "DATE": ("INT32 Date",),
    "TIMESTAMP": ("INT64 Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",),
}


def _is_plain(file: Footer, name: str, leaf: int | None, kind: str) -> bool:
    """Tell if DuckDB finds the column by its name, and reads every value as Arrow does.

    DuckDB doesn't tell upper from lower case in names.
    """
    folded = name.casefold()
    alike = [other for other in file.schema_arrow.names if other.casefold() == folded]
    if leaf is None or len(alike) > 1:
        return False
    column = file.schema.column(leaf)
    stored = f"{column.physical_type} {column.logical_type}".partition(", is_from")[0]
    return stored in _SAME.get(kind, ())


def open_file(path: str, coded: Sequence[str] = ()) -> Any:
    """Open a pyarrow ParquetFile; raises OSError or a pyarrow error."""
    import pyarrow.parquet as pq

    # Moments of INT96 wrap around after three centuries if read in nanoseconds; in microseconds,
    # beyond all dates. The buffer keeps pyarrow from holding a whole column of a row group.
    return pq.ParquetFile(
        open_binary(path) if is_uri(path) else path,
        read_dictionary=list(coded),
        coerce_int96_timestamp_unit="us",
        buffer_size=1 << 20,
    )


def _read_footer(path: str, pattern: str) -> Footer:
    """Read a footer, or find that of the same file as it was in this run; raises Failure(DATA)."""
    import pyarrow as pa

    try:
        marks = read_marks(path)
        kept, key = None if marks is None else find_kept(), ("footer", path, marks)
        if kept is not None and (footer := kept.find(key)) is not None:
            return cast("Footer", footer)
        with open_file(path) as file:
            footer = Footer(file.metadata, file.schema, file.schema_arrow)
            footer.schema_arrow.names  # noqa: B018 - raises if a name is not a valid text
    except (OSError, ValueError, MemoryError):
        raise build_data_failure("E409", f"{pattern} is not a readable Parquet file") from None
    except pa.ArrowException:  # a damaged file raises an ArrowInvalid, which is a ValueError
        raise build_unknown_type_failure(pattern) from None
    if kept is not None:
        kept.keep(key, footer, footer.metadata.serialized_size)
    return footer


# Encodings that pyarrow can read as places in a dictionary
_DICTIONARY_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_ENCODINGS = _DICTIONARY_ENCODINGS | {
    "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT",
}  # fmt: skip
# The Arrow schema that the writer stored may declare a column a dictionary whatever its pages are;
# these encodings can't be read as one then.
_NOT_OF_A_DICTIONARY = {"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"}
_COMPRESSIONS = {"UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "LZ4_RAW", "ZSTD"}


class _Chunk(NamedTuple):
    """A column in a row group: its bytes before compression, and if it can be read as places."""

    size: int
    has_dictionary: bool


def _list_chunks(file: Footer, name: str, structure: _Structure, pattern: str) -> list[_Chunk]:
    """Read the sizes and encodings of a column in each row group; raises Failure(DATA)."""
    leaf, chunks = structure.leaves[name], []
    readable = _ENCODINGS
    if name in structure.dictionaries:
        readable = _ENCODINGS - _NOT_OF_A_DICTIONARY
    for place in range(file.metadata.num_row_groups if leaf is not None else 0):
        chunk = file.metadata.row_group(place).column(leaf)
        encodings = set(chunk.encodings)
        for form in sorted(encodings - readable) + sorted({chunk.compression} - _COMPRESSIONS):
            raise build_data_failure(
                "E412",
                f'column "{name}" of {pattern} can\'t be read: it is stored as {form}',
                "write the file with another encoding or compression, or name another column",
            )
        has_dictionary = encodings <= _DICTIONARY_ENCODINGS
        chunks.append(_Chunk(chunk.total_uncompressed_size, has_dictionary))
    return chunks


def _has_dictionary(file: Footer, name: str) -> bool:
    """Tell if the Arrow schema that the writer stored declares the column a dictionary."""
    from pyarrow import types

    # Of two columns of one name, which are refused elsewhere, the schema finds none by name.
    return any(
        field.name == name and types.is_dictionary(field.type) for field in file.schema_arrow
    )


def _find_leaf(file: Footer, name: str) -> int | None:
    """Find the place of a column that is not nested among all leaves; None if there is none."""
    leaves = (file.schema.column(place) for place in range(file.metadata.num_columns))
    places = (place for place, leaf in enumerate(leaves) if leaf.path == name == leaf.name)
    return next(places, None)


def _is_enum(file: Footer, leaf: int | None) -> bool:
    """Tell if the column is annotated as an enumeration, whose bytes are texts."""
    return leaf is not None and file.schema.column(leaf).logical_type.type == "ENUM"
