"""Conversion of Arrow columns of a file to columns in which every value can be read.

How a cell is converted depends on the cell alone, whatever else is in the column. Bytes of a text
that are not UTF-8 become U+FFFD, as they do in CSV. Texts and bytes longer than a line of CSV may
be become null. Numbers that are passed on as texts are read back from them exactly.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from dprelease.sources.shared.arrow_types import is_number
from dprelease.sources.shared.files import CELL_LIMIT


def convert_readable(values: Any, kind: Any) -> Any:
    """Convert a column to the type that is handed on, every value by itself."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(values, pa.ExtensionArray):
        return convert_readable(values.storage, kind)
    if types.is_run_end_encoded(values.type):
        return convert_readable(_decode_runs(values), kind)
    if types.is_null(values.type):
        return pa.nulls(len(values), kind)
    if types.is_dictionary(kind):
        return _encode_dictionary(values, kind)
    if types.is_dictionary(values.type):
        return convert_readable(values.dictionary, kind).take(values.indices)
    return _convert_values(values, kind)


def _convert_values(values: Any, kind: Any) -> Any:
    """Convert plain values to a plain type."""
    from pyarrow import types

    if types.is_string(kind) and is_number(values.type):
        return number_texts(values)
    if types.is_string(kind) or types.is_binary(kind):
        return _convert_texts(values, kind)
    if types.is_temporal(values.type) and not types.is_temporal(kind):
        return values.view(kind)
    if types.is_decimal(kind):
        return _convert_decimals(values, kind)
    if types.is_timestamp(kind) and kind.unit == "us":
        return _convert_microseconds(values).view(kind)
    return values.cast(kind)


def _decode_runs(values: Any) -> Any:
    """Convert a run-end encoded column to places in a dictionary of its runs."""
    import pyarrow as pa

    places = np.arange(values.offset, values.offset + len(values))
    runs = pa.array(np.searchsorted(values.run_ends.to_numpy(), places, side="right"), pa.int32())
    if pa.types.is_dictionary(values.values.type):
        return values.values.take(runs)
    return pa.DictionaryArray.from_arrays(runs, values.values)


def number_texts(values: Any) -> Any:
    """Write each number as a text that means exactly that number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(values.type):
        return _convert_decimals(values, values.type).cast(pa.string())
    if not pa.types.is_floating(values.type):
        return values.cast(pa.string())
    doubles = values.cast(pa.float64())
    is_whole = pc.and_(pc.equal(pc.floor(doubles), doubles), pc.less(pc.abs(doubles), 2.0**63))
    digits = pc.if_else(is_whole, doubles, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(digits, doubles.cast(pa.string()))


def _encode_dictionary(values: Any, kind: Any) -> Any:
    """Convert texts to places in a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(values.type):
        return _convert_texts(values, kind.value_type).dictionary_encode()
    texts = convert_readable(values.dictionary, kind.value_type)
    places = values.indices.cast(kind.index_type)
    if texts.null_count:
        places = pc.if_else(texts.is_null().take(places), None, places)
        texts = texts.fill_null("")
    return pa.DictionaryArray.from_arrays(places, texts)


def _convert_decimals(values: Any, kind: Any) -> Any:
    """Convert decimals; those with more digits than their type become null."""
    import pyarrow as pa

    try:
        values.validate(full=True)
        return values.cast(kind)
    except pa.ArrowInvalid:
        return pa.array(list_decimals(values), kind)


def list_decimals(values: Any) -> list[Decimal | None]:
    """Convert each value; None where it has more digits than its type."""
    end = Decimal(10) ** (values.type.precision - values.type.scale)
    decoded = values.to_pylist()
    return [None if value is None or value.copy_abs() >= end else value for value in decoded]


def _convert_microseconds(values: Any) -> Any:
    """Convert to whole microseconds, rounded down: digits after the sixth are dropped.

    That holds before 1970, too. A moment is null where 64 bits can't hold it, far outside of the
    calendar.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date32(values.type):
        stored, unit = values.view(pa.int32()).cast(pa.int64()), "day"
    else:
        stored, unit = values.view(pa.int64()), values.type.unit
    if unit == "us":
        return stored
    if unit != "ns":
        times = {"day": 86_400 * 10**6, "s": 10**6, "ms": 10**3}[unit]
        limit = (2**63 - 1) // times
        is_within = pc.and_(pc.less_equal(stored, limit), pc.greater_equal(stored, -limit))
        return pc.multiply(pc.if_else(is_within, stored, None), times)
    towards_zero = pc.divide(stored, 1000)
    below = pc.less(stored, pc.multiply(towards_zero, 1000))
    return pc.subtract(towards_zero, below.cast("int64"))


def _convert_texts(values: Any, kind: Any) -> Any:
    """Convert texts, or bytes, to readable ones; those that are too long become null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(kind)
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    too_long = pc.greater(pc.binary_length(values), CELL_LIMIT)
    if pc.any(too_long).as_py():
        values = pc.if_else(too_long, None, values)
    if pa.types.is_binary(kind):
        return values.cast(kind)
    try:
        texts = values.cast(kind)
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.large_binary()).to_pylist()
        readable = (None if value is None else value.decode("utf-8", "replace") for value in raw)
        return pa.array(readable, kind)
    return texts
