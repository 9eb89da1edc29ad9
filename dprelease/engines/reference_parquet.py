"""Parquet for the reference engine: rows as Python values, through pyarrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from dprelease.engines.base import bad_data, columns_read, lost
from dprelease.engines.files import resolve
from dprelease.engines.reference_values import Record
from dprelease.engines.sampling import bits_of
from dprelease.engines.values import EXACT
from dprelease.expressions.nodes import Value
from dprelease.model import NUMERIC_TYPES, ColumnType, InputColumn, Source

UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def check_parquet(source: Source, inputs: Sequence[InputColumn]) -> None:
    """Check names and types in the footers; raises Failure(DATA)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in resolve(source):
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError):
            raise bad_data(
                "E409", f"{source.pattern} is no readable Parquet file", "it may be cut short"
            ) from None
        for each in columns_read(inputs):
            if schema.get_all_field_indices(each.name) == []:
                raise bad_data(
                    "E405", f'{source.pattern} has no column "{each.name}"', "check its spelling"
                )
            if not _holds(schema.field(each.name).type, each):
                wanted, hint = each.type.value, "declare the type that the file has"
                if each.opaque:
                    wanted, hint = "one value", "name a column that is no list and no struct"
                raise bad_data(
                    "E412",
                    f'column "{each.name}" of {source.pattern} can\'t be read as {wanted}',
                    hint,
                )


def _holds(physical: Any, declared: InputColumn) -> bool:
    from pyarrow import types

    kind = declared.type
    if declared.opaque:
        return not types.is_nested(physical)
    if types.is_dictionary(physical):
        physical = physical.value_type
    if kind is ColumnType.BOOLEAN:
        return bool(types.is_boolean(physical))
    if kind in NUMERIC_TYPES:
        tests = (types.is_integer, types.is_floating, types.is_decimal)
        return any(test(physical) for test in tests)
    if kind is ColumnType.STRING:
        return bool(types.is_string(physical) or types.is_large_string(physical))
    if kind is ColumnType.DATE:
        return bool(types.is_date32(physical))
    return bool(types.is_timestamp(physical) and physical.tz is None)


def parquet_records(source: Source, read: Sequence[InputColumn]) -> Iterator[Record]:
    """Typed records of all files; raises Failure(AFTER_CHARGE)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [each.name for each in read]
    try:
        for path in resolve(source):
            file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
            for batch in file.iter_batches(columns=names or None):
                columns = {each.name: _values(batch.column(each.name), each) for each in read}
                for row in range(batch.num_rows):
                    values = {name: columns[name][row] for name in names}
                    yield _record(values, read)
    except pa.ArrowException:
        raise lost() from None


def _values(column: Any, declared: InputColumn) -> list[Any]:
    """Python values; dates and timestamps as days or microseconds since 1970."""
    import pyarrow as pa

    if declared.opaque:
        return _texts(column)
    if declared.type is ColumnType.DATE:
        return list(column.cast(pa.int32()).to_pylist())
    if declared.type is ColumnType.TIMESTAMP:
        unit = column.type.unit
        stamps = column.cast(pa.int64()).to_pylist()
        if unit == "ns":
            return [None if stamp is None else stamp // 1000 for stamp in stamps]
        return [None if stamp is None else stamp * UNITS[unit] for stamp in stamps]
    return _plain(column)


def _texts(column: Any) -> list[str | None]:
    """A text of each value, whatever the type: equal texts for equal values and no others.

    Moments are whole numbers of days, microseconds or, where so stored, nanoseconds since 1970 or
    midnight; doubles are bits, bytes hexadecimal digits.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage  # a UUID, for one
    if pa.types.is_temporal(column.type):  # Python has no value for some moments
        return [None if each is None else _moment_text(each, column.type) for each in _raw(column)]
    show = _shown(column.type)
    return [None if each is None else show(each) for each in _plain(column)]


def _raw(column: Any) -> list[int | None]:
    """The integers that stand for moments."""
    import pyarrow as pa

    if pa.types.is_date64(column.type):
        column = column.cast(pa.date32())
    return list(column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist())


def _moment_text(raw: int, physical: Any) -> str:
    import pyarrow as pa

    if pa.types.is_timestamp(physical) and abs(raw) == 2**63 - 1:
        return "infinity" if raw > 0 else "-infinity"  # for DuckDB it is
    if pa.types.is_date(physical) or pa.types.is_duration(physical):
        return str(raw)
    return str(raw * UNITS.get(physical.unit, 1))


def _shown(physical: Any) -> Callable[[Any], str]:
    """How a value of the type is written."""
    import pyarrow as pa

    if pa.types.is_floating(physical):
        return lambda value: bits_of(float(value))
    if pa.types.is_decimal(physical):
        # without a digit before the point where the type has none
        whole = physical.precision > physical.scale
        return lambda value: format(value, "f") if whole else format(value, "f").replace("0.", ".")
    if pa.types.is_boolean(physical):
        return lambda value: str(value).lower()
    return lambda value: value.hex().upper() if isinstance(value, bytes) else str(value)


def _plain(column: Any) -> list[Any]:
    """Python values of a column that holds no moments."""
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:  # wrong bytes become U+FFFD, as in CSV
        texts = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        raw = texts.cast(pa.large_binary()).to_pylist()
        return [None if each is None else each.decode("utf-8", "replace") for each in raw]


def _record(raw: dict[str, Any], read: Sequence[InputColumn]) -> Record:
    values: dict[str, Value] = {}
    numbers: dict[str, float | None] = {}
    for each in read:
        value = raw[each.name]
        if each.opaque:
            values[each.name] = value
        elif each.type in NUMERIC_TYPES:
            number = None if value is None or math.isnan(value) else float(value)
            numbers[each.name] = number
            values[each.name] = _number(value, number, each.type)
        else:
            values[each.name] = _moment(value, each.type)
    return Record(values, numbers)


def _number(value: Any, number: float | None, kind: ColumnType) -> Value:
    if number is None:
        return None
    if kind is ColumnType.BOOLEAN:
        return bool(value)
    if kind is not ColumnType.INTEGER:
        return number
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return int(number) if number.is_integer() and abs(number) < EXACT else None


def _moment(value: Any, kind: ColumnType) -> Value:
    """A string as it is; a day or moment outside the years 1 to 9999 is null."""
    if kind is ColumnType.STRING or value is None:
        text: Value = value
        return text
    try:
        if kind is ColumnType.DATE:
            return date(1970, 1, 1) + timedelta(days=value)
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    except OverflowError:
        return None
