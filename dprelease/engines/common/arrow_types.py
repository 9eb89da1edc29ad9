"""The types of Arrow columns that are read, and as what: a closed list.

A column of any other type is refused before anything is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dprelease.engines.base import bad_data
from dprelease.engines.common.column_names import hint_at_name
from dprelease.model import NUMERIC_TYPES, ColumnType, InputColumn

WIDEST = 38  # digits of a decimal that DuckDB holds exactly
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


def declared_type(
    schema: Any, declared: InputColumn, pattern: str, *, enum: bool = False, inferred: bool = False
) -> Any:
    """The type of a column, in the form that all files must share; raises Failure(DATA).

    Of types that are ``inferred`` of values, such as those of a table in memory, no inner names are
    shown: they are values.
    """
    name = declared.name
    places = schema.get_all_field_indices(name)
    if not places:
        raise bad_data(
            "E405",
            f'{pattern} has no column "{name}"',
            hint_at_name(
                schema.names, name, "it must have exactly this name, upper and lower case included"
            ),
        )
    if len(places) > 1:
        raise bad_data("E406", f'{pattern} has several columns "{name}"', "rename one of them")
    physical = schema.field(places[0]).type
    kind = read_type(physical, enum)
    if kind is None or not _can_hold(kind, declared):
        wanted = "one value" if declared.opaque else declared.type.value
        shown = _shown(physical, inferred=inferred)
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


def _shown(physical: Any, *, inferred: bool) -> str:
    """The name of a type for a message."""
    from pyarrow import types

    name, inner = str(physical), physical.value_type if types.is_dictionary(physical) else physical
    if inferred and types.is_nested(inner):
        name = name.partition("<")[0]
    return "".join(char if char.isprintable() else "?" for char in name[:_SHOWN])


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
    try:
        zoned = getattr(kind, "tz", None) is not None
    except UnicodeDecodeError:  # a damaged file: the name of the zone is no text
        kind, zoned = None, False
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
    ColumnType.BOOLEAN: ("boolean", *_NUMBERS),
    ColumnType.STRING: ("string",),
    ColumnType.DATE: ("date32", "timestamp"),
    ColumnType.TIMESTAMP: ("timestamp",),
}


def _can_hold(kind: Any, declared: InputColumn) -> bool:
    """Whether values of the type that is read can be of the declared one."""
    return declared.opaque or _is(kind, _HELD[declared.type])


def handed_on(kind: Any, declared: InputColumn) -> Any:
    """The type that a reader hands on.

    Of moments that are only compared, it is that of the whole numbers as which they are stored;
    seconds and nanoseconds become microseconds, and so do all moments with a zone.
    """
    import pyarrow as pa
    from pyarrow import types

    if declared.opaque and types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if types.is_timestamp(kind) and (kind.unit in ("s", "ns") or kind.tz is not None):
        return pa.timestamp("us", kind.tz)
    return kind


def duckdb_type(kind: Any) -> str:
    """DuckDB's name of a type that is handed on."""
    from pyarrow import types

    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _DUCKDB_TYPES[str(kind)]
