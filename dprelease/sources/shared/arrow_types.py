"""The types of Arrow columns that can be read, and the types that they are read as: a closed list.

A column of any other type is refused before anything is charged. A column without a type holds
nulls. Files whose types differ in width, unit or encoding are read as one type that holds every
value of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dprelease.errors import Failure
from dprelease.model import NUMERIC_TYPES, ColumnType, InputColumn
from dprelease.sources.shared.column_names import choose_place
from dprelease.sources.shared.data_failures import build_data_failure
from dprelease.sources.shared.source_format import StoredColumn

WIDEST = 38  # digits of a decimal that DuckDB holds exactly
_SHOWN = 80  # characters of a type's name

_DUCKDB_TYPES = {
    "null": "NULL",
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


def choose_type(
    schema: Any, declared: InputColumn, pattern: str, *, enum: bool = False, inferred: bool = False
) -> Any:
    """Choose the type as which a column of one file is read.

    Args:
        schema: Arrow schema of the file.
        declared: The column of the spec.
        pattern: Name of the source for messages.
        enum: The column is annotated as an enumeration: its bytes are a text.
        inferred: The type was inferred from values, as for a table in memory: inner names of it are
            values, and are not shown.

    Raises:
        Failure: Exit code 4 if the column is missing or doubled, or has a type that is not read.
    """
    name = declared.name
    place = choose_place(schema.get_all_field_indices(name), schema.names, name, pattern)
    physical = schema.field(place).type
    kind = read_type(physical, enum)
    if kind is None or not (declared.opaque or _is(kind, ("null", *_HELD[declared.type]))):
        type_text = "one value" if declared.opaque else declared.type.value
        found_text = show_type(physical, inferred=inferred)
        raise build_data_failure(
            "E412",
            f'column "{name}" of {pattern} can\'t be read as {type_text}: its type is {found_text}',
            "name another column, or write it with a type of the table in the documentation"
            if declared.opaque
            else "",
        )
    if str(kind) in ("null", "string"):
        return kind
    if declared.zone is not None and getattr(kind, "tz", None) is None:
        raise build_data_failure(
            "E412",
            f'column "{name}" of {pattern} has no zone: its type is {physical}',
            f"leave zone out of [columns.{name}]: what stands in the file is read as it is",
        )
    if declared.format is not None:
        raise build_data_failure(
            "E412",
            f'column "{name}" of {pattern} has no texts: its type is {physical}',
            f"leave format out of [columns.{name}]",
        )
    return kind


def find_zones(schema: Any, columns: Iterable[str]) -> dict[str, str]:
    """Find the time zones that the stored types of columns name.

    Args:
        schema: Arrow schema of a file.
        columns: Names of columns that are there once.
    """
    types = {name: _get_stored_type(schema.field(name).type) for name in columns}
    return {name: kind.tz for name, kind in types.items() if getattr(kind, "tz", None) is not None}


def describe_columns(schema: Any) -> list[StoredColumn]:
    """Describe the columns of a schema by the types of a spec that hold all of their values."""
    columns = []
    for field in schema:
        kind = read_type(field.type)
        declared = next((own for name, own in _DECLARED.items() if _is(kind, (name,))), None)
        zone = None if kind is None else getattr(_get_stored_type(field.type), "tz", None)
        readable = declared is not None or _is(kind, ("null",))
        columns.append(StoredColumn(field.name, declared, zone, readable))
    return columns


def build_unknown_type_failure(pattern: str) -> Failure:
    """Report a file with a type that Arrow's library doesn't have."""
    return build_data_failure(
        "E412",
        f"{pattern} has a column of an unsupported type, such as integers of 128 bits",
        "write the file without this column, or with decimals of 38 digits in its place",
    )


def show_type(physical: Any, *, inferred: bool = False) -> str:
    """Name a type for a message."""
    from pyarrow import types

    name, inner = str(physical), physical.value_type if types.is_dictionary(physical) else physical
    if inferred and types.is_nested(inner):
        name = name.partition("<")[0]
    return "".join(char if char.isprintable() else "?" for char in name[:_SHOWN])


def read_type(physical: Any, enum: bool = False) -> Any:
    """Map a stored type to the type that it is read as: the closed list.

    Returns:
        One type for all that differ only in how values are stored; None for types not read.
    """
    import pyarrow as pa
    from pyarrow import types

    physical = _get_stored_type(physical)
    if types.is_float16(physical):
        return pa.float32()
    if types.is_decimal(physical):
        narrow = physical.precision <= WIDEST
        return pa.decimal128(physical.precision, physical.scale) if narrow else None
    if is_text(physical):
        return pa.string()
    if str(physical) in _BINARIES:
        return pa.string() if enum else pa.binary()
    if types.is_fixed_size_binary(physical):
        return pa.binary()
    simple = ("null", "boolean", "integer", "floating", "date32", "timestamp", "time", "duration")
    kind = physical if _is(physical, simple) else None
    try:
        zoned = getattr(kind, "tz", None) is not None
    except UnicodeDecodeError:  # a damaged file: the name of the zone is no text
        kind, zoned = None, False
    return pa.timestamp(physical.unit, "UTC") if zoned else kind  # a moment is so in every zone


def _get_stored_type(physical: Any) -> Any:
    """Strip encodings and extensions; unknown extensions become lists."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(physical, pa.BaseExtensionType):
        is_stored = physical.extension_name in _STORED
        return _get_stored_type(physical.storage_type) if is_stored else pa.list_(pa.null())
    if types.is_dictionary(physical) or types.is_run_end_encoded(physical):
        return _get_stored_type(physical.value_type)
    return physical


def is_text(physical: Any) -> bool:
    """Tell if values of the type are texts, however they are stored."""
    return str(physical) in _STRINGS


def is_number(kind: Any) -> bool:
    """Tell if the type that is read is one of numbers."""
    return _is(kind, _NUMBERS)


def _is(kind: Any, names: Sequence[str]) -> bool:
    """Tell if the type is of one of Arrow's kinds with these names."""
    from pyarrow import types

    return kind is not None and any(getattr(types, f"is_{name}")(kind) for name in names)


_STRINGS = ("string", "large_string", "string_view")
_BINARIES = ("binary", "large_binary", "binary_view")
_STORED = frozenset({"arrow.uuid", "arrow.bool8", "arrow.json"})  # read as what they are stored as


_NUMBERS = ("integer", "floating", "decimal")
# All types may be stored as texts.
_HELD = dict.fromkeys(NUMERIC_TYPES, ("string", *_NUMBERS)) | {
    ColumnType.BOOLEAN: ("string", "boolean", *_NUMBERS),
    ColumnType.STRING: ("string",),
    ColumnType.DATE: ("string", "date32", "timestamp"),
    ColumnType.TIMESTAMP: ("string", "timestamp"),
}


_DECLARED = {
    "boolean": ColumnType.BOOLEAN,
    "integer": ColumnType.INTEGER,
    "floating": ColumnType.FLOAT,
    "decimal": ColumnType.DECIMAL,
    "string": ColumnType.STRING,
    "date32": ColumnType.DATE,
    "timestamp": ColumnType.TIMESTAMP,
}


def find_common_type(kinds: Sequence[Any], declared: InputColumn, pattern: str) -> Any:
    """Choose the type as which a column of several files is read.

    Args:
        kinds: What ``choose_type`` returned for each file.
        declared: The column of the spec.
        pattern: Name of the source for messages.

    Returns:
        A type that holds every value of each file exactly; texts if only some are floats.

    Raises:
        Failure: Exit code 4 if there is no such type.
    """
    typed = list({str(kind): kind for kind in kinds if str(kind) != "null"}.values())
    if not typed:
        return _choose_null_type(declared)
    common = typed[0]
    for kind in typed[1:]:
        joined = _join_opaque(common, kind) if declared.opaque else _join(common, kind)
        if joined is None:
            types = f"{show_type(common)} in one file and {show_type(kind)} in another"
            raise build_data_failure(
                "E407",
                f'the files of {pattern} have different types in column "{declared.name}": {types}',
            )
        common = joined
    return common


def _choose_null_type(declared: InputColumn) -> Any:
    """Choose a type for a column that has none in any file."""
    import pyarrow as pa

    if declared.zone is not None:
        return pa.timestamp("us", "UTC")
    kinds = {
        ColumnType.INTEGER: pa.int64(),
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.STRING: pa.string(),
        ColumnType.DATE: pa.date32(),
        ColumnType.TIMESTAMP: pa.timestamp("us"),
    }
    return pa.string() if declared.opaque else kinds.get(declared.type, pa.float64())


def _join(left: Any, right: Any) -> Any:
    """Choose a type that holds all values of both for a declared column; None if none does."""
    import pyarrow as pa

    pair = (left, right)
    if all(_is(kind, (*_NUMBERS, "string")) for kind in pair):
        return _join_numbers(left, right) or pa.string()
    if all(_is(kind, ("timestamp",)) for kind in pair) and left.tz == right.tz:
        return pa.timestamp("us", left.tz)
    if all(
        _is(kind, ("date32", "timestamp")) and getattr(kind, "tz", None) is None for kind in pair
    ):
        return pa.timestamp("us")
    return None


def _join_opaque(left: Any, right: Any) -> Any:
    """Choose a type in which equal values of both have equal texts; None if none does."""
    if not is_number(left) or not is_number(right):
        return None
    joined = _join_numbers(left, right)
    places = {_count_digits(kind)[1] for kind in (left, right)}
    return joined if len(places) == 1 else None


def _join_numbers(left: Any, right: Any) -> Any:
    """Choose the narrowest type of numbers that holds all values of both; else None."""
    import pyarrow as pa
    from pyarrow import types

    pair = (left, right)
    if all(map(types.is_floating, pair)):
        return pa.float64()
    if not all(_is(kind, ("integer", "decimal")) for kind in pair):
        return None
    if all(map(types.is_integer, pair)):
        widths = {kind.bit_width * (1 + types.is_unsigned_integer(kind)) for kind in pair}
        if types.is_signed_integer(left) == types.is_signed_integer(right):
            return max(pair, key=lambda kind: kind.bit_width)
        if max(widths) <= 64:  # of a signed integer that holds both
            return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[max(widths)]
    whole, places = map(max, zip(*map(_count_digits, pair), strict=True))
    return pa.decimal128(whole + places, places) if whole + places <= WIDEST else None


def _count_digits(kind: Any) -> tuple[int, int]:
    """Count the digits that values may have before and after the point."""
    from pyarrow import types

    if types.is_decimal(kind):
        return kind.precision - kind.scale, kind.scale
    return len(str(2**kind.bit_width)), 0


def convert_type(kind: Any, declared: InputColumn) -> Any:
    """Convert the type that is read to the one that a reader hands on.

    Seconds and nanoseconds become microseconds, and so do moments with a zone. Dates and times that
    are only compared become the integers that they are stored as.
    """
    import pyarrow as pa
    from pyarrow import types

    if declared.opaque and types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if types.is_timestamp(kind) and (kind.unit in ("s", "ns") or kind.tz is not None):
        return pa.timestamp("us", kind.tz)
    return kind


def name_duckdb_type(kind: Any) -> str:
    """Name a type that is handed on as DuckDB does."""
    from pyarrow import types

    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _DUCKDB_TYPES[str(kind)]
