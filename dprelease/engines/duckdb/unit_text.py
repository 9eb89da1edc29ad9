"""The text of a unit, by which its rows are picked: that of ``sampling.text_of``, in SQL."""

from __future__ import annotations

from dprelease.expressions.sqltext import (
    Sql,
    binary,
    call,
    cast,
    identifier,
    text,
)
from dprelease.model import ColumnType, InputColumn


def text_of_unit(column: InputColumn, physical: str | None) -> Sql:
    """The text of column ``u``, the unit's; ``physical`` is the DuckDB type of an opaque one."""
    unit = identifier("u")
    if column.opaque:
        return _text_of_opaque(unit, physical or "VARCHAR")
    if column.type in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return bits_of(unit)
    if column.type is ColumnType.TIMESTAMP:
        return cast(call("EPOCH_US", unit), "VARCHAR")
    return _days(unit) if column.type is ColumnType.DATE else cast(unit, "VARCHAR")


def bits_of(value: Sql) -> Sql:
    """The text of a number as a DOUBLE."""
    return cast(cast(cast(value, "DOUBLE"), "BIT"), "VARCHAR")


def _text_of_opaque(unit: Sql, physical: str) -> Sql:
    """As ``reference_parquet`` has it: bytes as hexadecimal digits."""
    return call("HEX", unit) if physical == "BLOB" else cast(unit, "VARCHAR")


def _days(unit: Sql) -> Sql:
    return cast(binary(unit, "-", cast(text("1970-01-01"), "DATE")), "VARCHAR")
