"""A record of the reference engine: its typed values, and two ways to write one down.

How the reference engine puts a value on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from dprelease.engines.common.request_content import scale_of
from dprelease.engines.common.text_values import EXACT, parse_number, parse_value
from dprelease.expressions.nodes import Value
from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect, Grid, InputColumn, Quantity


class Record(NamedTuple):
    """The typed value of each input column, and the number of each numeric one; never NaN."""

    values: dict[str, Value]
    numbers: dict[str, float | None]


def text_record(
    texts: Mapping[str, str | None], read: Sequence[InputColumn], dialect: Dialect
) -> Record:
    """The typed record of fields of text."""
    record = Record({}, {})
    for each in read:
        text = texts[each.name]
        if text is not None and dialect.strip:
            text = text.strip(" \t")
        if text in dialect.null_values:
            text = None
        if each.opaque:
            record.values[each.name] = text
            continue
        value = parse_value(text, each.type)
        record.values[each.name] = value
        if each.type is ColumnType.BOOLEAN:
            record.numbers[each.name] = None if value is None else float(value is True)
        elif each.type in NUMERIC_TYPES:
            record.numbers[each.name] = None if text is None else parse_number(text)
    return record


def declared(result: Value, kind: ColumnType) -> tuple[Value, float | None]:
    """A computed value as a value of the declared type, and its number."""
    if result is None:
        return None, None
    if kind not in NUMERIC_TYPES:
        return parse_value(str(result), kind) if kind is ColumnType.TIMESTAMP else result, None
    number = float(result)  # type: ignore[arg-type]
    if kind is ColumnType.INTEGER and isinstance(result, float):
        return (int(result) if result.is_integer() and abs(result) < EXACT else None), number
    if kind is ColumnType.INTEGER:
        return int(result), number  # type: ignore[arg-type]
    return (result if kind is ColumnType.BOOLEAN else number), number


def canonical_text(value: Value) -> str:
    """The one text of a value that is not null, as ``Column`` says: its label as a private key.

    A double is the shortest decimal that means it, in plain notation; infinities are ``inf`` and
    ``-inf``.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        plain = format(Decimal(repr(value + 0.0)), "f")  # adding 0 makes -0.0 a plain 0
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return plain.replace("Infinity", "inf")
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value)


def encoded(*parts: Value) -> bytes:
    """Bytes that differ whenever the parts do; equal numbers of one type give equal bytes."""
    plain = [part + 0.0 if isinstance(part, float) else part for part in parts]  # -0.0 is 0.0
    return repr(plain).encode("utf-8", "surrogatepass")


def grid_integer(quantity: Quantity, numbers: Mapping[str, float | None]) -> int | None:
    """``clamp(rint(x / step))`` of the quantity's column, or its null fill."""
    x = numbers[quantity.column]
    return quantity.null_fill if x is None else on_grid(x, quantity.grid)


def on_grid(x: float, grid: Grid) -> int:
    """``clamp(rint(x / step))`` of a double that is not NaN."""
    times, over = scale_of(grid)
    scaled = x * times / over
    if math.isinf(scaled):
        return grid.upper if scaled > 0 else grid.lower
    return max(grid.lower, min(grid.upper, round(scaled)))
