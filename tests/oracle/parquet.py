"""Parquet and Arrow for the reference engine: rows as Python values, through pyarrow."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote
from zoneinfo import ZoneInfo

from oracle.key_texts import normal
from oracle.sampling import bits_of
from oracle.values import Record, text_record, whole

from dprelease.expressions.nodes import Value
from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect, InputColumn, Source
from dprelease.sources.shared.data_failures import build_lost_failure
from dprelease.sources.shared.files import resolve
from dprelease.sources.shared.first_lines import LINE_LIMIT

UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def parquet_records(source: Source, read: Sequence[InputColumn]) -> Iterator[Record]:
    """Typed records of all files; raises Failure(AFTER_CHARGE)."""
    import pyarrow as pa

    try:
        for path in resolve(source):
            given = _of_folders(path, source, read)
            inside = [each for each in read if each.name not in given]
            names = [each.name for each in inside]
            for batch in _batches(path, source.format, names):
                columns = {each.name: _values(batch.column(each.name), each) for each in inside}
                for row in range(batch.num_rows):
                    values = {name: columns[name][row] for name in names}
                    yield _joined(_record(values, inside), given, read)
    except pa.ArrowException:
        raise build_lost_failure() from None


def _batches(path: str, form: str, names: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        kinds = pq.read_schema(path)
        places = [each for each in names if pa.types.is_dictionary(kinds.field(each).type)]
        file = pq.ParquetFile(path, read_dictionary=places, coerce_int96_timestamp_unit="us")
        yield from file.iter_batches(columns=names or None)
        return
    with open(path, "rb") as stream:
        reader = pa.ipc.open_file(stream.read())
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def _of_folders(path: str, source: Source, read: Sequence[InputColumn]) -> dict[str, str | None]:
    """The texts that folders give; the pattern is a folder."""
    given: dict[str, str | None] = {}
    inside = os.path.relpath(path, source.pattern)
    for each in read:
        found = re.search(rf"(?:^|/){re.escape(quote(each.name))}=([^/]*)/", inside)
        if found is not None:
            text = unquote(found[1])
            given[each.name] = None if text in ("", "__HIVE_DEFAULT_PARTITION__") else text
    return given


def _joined(record: Record, given: Mapping[str, str | None], read: Sequence[InputColumn]) -> Record:
    if not given:
        return record
    more = text_record(given, [each for each in read if each.name in given], Dialect())
    return Record(
        record.values | more.values, record.numbers | more.numbers, record.nulls | more.nulls
    )


def _values(column: Any, declared: InputColumn) -> list[Any]:
    """Python values; dates and timestamps as days or microseconds since 1970."""
    import pyarrow as pa

    column = _unpacked(column)
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if declared.opaque:
        return _texts(column)
    if pa.types.is_date(column.type):
        days = list(column.cast(pa.int32()).to_pylist())
        if declared.type is ColumnType.DATE:
            return days
        return [None if day is None else day * 86_400_000_000 for day in days]
    if pa.types.is_timestamp(column.type):
        return [_on_the_clock(stamp, column.type, declared) for stamp in _raw(column)]
    values = _plain(column)
    if declared.type is ColumnType.STRING:  # those of an enumeration come as bytes
        return [
            each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in values
        ]
    return values


def _unpacked(column: Any) -> Any:
    """The values of a column, each by itself."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return _unpacked(column.storage)  # of a UUID its bytes, for one
    if pa.types.is_dictionary(column.type):
        return _picked(column.dictionary, column.indices.to_pylist())
    if pa.types.is_run_end_encoded(column.type):
        ends, first = column.run_ends.to_pylist(), column.offset
        runs = [sum(end <= first + place for end in ends) for place in range(len(column))]
        return _picked(column.values, runs)
    return column


def _picked(values: Any, places: Sequence[int | None]) -> Any:
    """The values at these places, of a column that may be of views, which Arrow can't pick from."""
    import pyarrow as pa

    values = _unpacked(values)
    cells = [
        pa.nulls(1, values.type) if place is None else values.slice(place, 1) for place in places
    ]
    return pa.concat_arrays(cells) if cells else values.slice(0, 0)


def _on_the_clock(stamp: int | None, physical: Any, declared: InputColumn) -> int | None:
    """Microseconds, or days of a date, since 1970; of a moment with a zone those of its clock."""
    if stamp is None:
        return None
    micros = stamp // 1000 if physical.unit == "ns" else stamp * UNITS[physical.unit]
    if physical.tz is not None:
        try:
            utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
            shown = utc.astimezone(ZoneInfo(declared.zone or "UTC"))
        except (OverflowError, ValueError):
            return None
        micros = (shown.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return micros // 86_400_000_000 if declared.type is ColumnType.DATE else micros


def _texts(column: Any) -> list[str | None]:
    """A text of each value, whatever the type: equal texts for equal values and no others.

    Moments are the whole numbers as which they are stored; doubles are bits, bytes hexadecimal
    digits.
    """
    import pyarrow as pa

    if pa.types.is_temporal(column.type):  # Python has no value for some moments
        return [None if each is None else str(each) for each in _raw(column)]
    show = _shown(column.type)
    return [None if each is None else show(each) for each in _plain(column)]


def _raw(column: Any) -> list[int | None]:
    """The integers that stand for moments."""
    import pyarrow as pa

    return list(column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist())


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

    if pa.types.is_decimal(column.type):
        end = Decimal(10) ** (column.type.precision - column.type.scale)
        return [
            None if each is None or each.copy_abs() >= end else each for each in column.to_pylist()
        ]
    if not (_is_text(column.type) or _is_bytes(column.type)):
        return list(column.to_pylist())
    raw = column.cast(pa.large_binary()).to_pylist()
    short = (None if each is None or len(each) > LINE_LIMIT else each for each in raw)
    if _is_bytes(column.type):
        return list(short)
    # wrong bytes become U+FFFD, as in CSV
    return [None if each is None else each.decode("utf-8", "replace") for each in short]


def _is_text(physical: Any) -> bool:
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(physical) for test in tests)


def _is_bytes(physical: Any) -> bool:
    from pyarrow import types

    tests = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(test(physical) for test in tests)


def _record(raw: dict[str, Any], read: Sequence[InputColumn]) -> Record:
    values: dict[str, Value] = {}
    numbers: dict[str, float | None] = {}
    nulls: set[str] = set()
    for each in read:
        value = raw[each.name]
        if isinstance(value, str) and not each.opaque and each.type is not ColumnType.STRING:
            parsed = text_record({each.name: value}, [each], Dialect(null_values=()))
            values |= parsed.values
            numbers |= parsed.numbers
            continue
        if value is None:
            nulls.add(each.name)
        if each.opaque:
            values[each.name] = normal(value) if isinstance(value, str) else value
        elif each.type in NUMERIC_TYPES:
            number = None if value is None or math.isnan(value) else float(value)
            numbers[each.name] = number
            values[each.name] = _number(value, number, each.type)
            if each.type is ColumnType.BOOLEAN and values[each.name] is None:
                numbers[each.name] = None
        else:
            values[each.name] = _moment(value, each.type)
    return Record(values, numbers, nulls)


def _number(value: Any, number: float | None, kind: ColumnType) -> Value:
    if number is None:
        return None
    if kind is ColumnType.BOOLEAN:
        return {0.0: False, 1.0: True}.get(number)
    if kind is not ColumnType.INTEGER:
        return number
    return whole(value)


def _moment(value: Any, kind: ColumnType) -> Value:
    """A string in its normal form; a day or moment outside the years 1 to 9999 is null."""
    if kind is ColumnType.STRING or value is None:
        return None if value is None else normal(value)
    try:
        if kind is ColumnType.DATE:
            return date(1970, 1, 1) + timedelta(days=value)
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    except OverflowError:
        return None
