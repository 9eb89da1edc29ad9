"""A record of the reference engine: its typed values, and two ways to write one down.

How the reference engine puts a value on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from oracle.key_texts import normal
from oracle.written import default_form

from dprelease.expressions.nodes import Value
from dprelease.model import NUMERIC_TYPES, Column, ColumnType, Dialect, Grid, InputColumn, Quantity
from dprelease.sources.shared.request_content import compute_scale
from dprelease.sources.shared.text_values import BLANKS, parse_number, parse_value


class Record(NamedTuple):
    """The typed value of each input column, and the number of each numeric one; never NaN."""

    values: dict[str, Value]
    numbers: dict[str, float | None]
    nulls: set[str]  # whose field is missing, or a null text


def text_record(
    texts: Mapping[str, str | None], read: Sequence[InputColumn], dialect: Dialect
) -> Record:
    """The typed record of fields of text."""
    record = Record({}, {}, set())
    for each in read:
        text = texts[each.name]
        if text is not None and dialect.strip:
            text = text.strip(" \t")
        is_text = each.opaque or each.type is ColumnType.STRING
        if text is not None and _shape(text, is_text) in {
            _shape(null, is_text) for null in dialect.null_values
        }:
            text = None
        if text is None:
            record.nulls.add(each.name)
        if each.opaque:
            record.values[each.name] = None if text is None else normal(text)
            continue
        if text is not None:
            text = default_form(text, each, dialect)
        value = _typed(text, each.type)
        record.values[each.name] = value
        if each.type is ColumnType.BOOLEAN:
            record.numbers[each.name] = None if value is None else float(value is True)
        elif each.type in NUMERIC_TYPES:
            record.numbers[each.name] = None if text is None else parse_number(text)
    return record


def _shape(text: str, is_text: bool) -> str:
    """What tells null texts from others."""
    return normal(text if is_text else text.strip(BLANKS))


def _typed(text: str | None, kind: ColumnType) -> Value:
    value = parse_value(text, kind)
    return normal(value) if isinstance(value, str) else value


def state_of(column: Column, record: Record) -> str:
    """The state of a column's field: see ``STATES``."""
    name = column.name
    value, number = record.values[name], record.numbers.get(name)
    if name in record.nulls:
        return "null"
    if (number if column.type in NUMERIC_TYPES else value) is None:
        return "unreadable" if column.expression is None else "null"
    if column.keys is not None:
        if column.type is ColumnType.STRING:
            declared_keys: set[Value] = {normal(key) for key in column.keys}
        else:
            declared_keys = {parse_value(key, column.type) for key in column.keys}
        if value not in declared_keys or value is None:
            return "undeclared"
    elif column.edges is not None:
        ends = [parse_value(column.edges[place], column.type) for place in (0, -1)]
        position = number if column.type in NUMERIC_TYPES else value
        if not ends[0] <= position <= ends[1]:  # type: ignore[operator]
            return "undeclared"
    if column.grid is not None and number is not None:
        times, over = float(column.grid.step.denominator), float(column.grid.step.numerator)
        if not column.grid.lower <= number * times / over <= column.grid.upper:
            return "clamped"
    return "ok"


def declared(result: Value, kind: ColumnType) -> tuple[Value, float | None]:
    """A computed value as a value of the declared type, and its number."""
    if result is None:
        return None, None
    if kind not in NUMERIC_TYPES:
        value = parse_value(str(result), kind) if kind is ColumnType.TIMESTAMP else result
        return (normal(value) if isinstance(value, str) else value), None
    number = float(result)  # type: ignore[arg-type]
    if kind is ColumnType.INTEGER and isinstance(result, float):
        return whole(result), number
    if kind is ColumnType.INTEGER:
        return int(result), number  # type: ignore[arg-type]
    return (result if kind is ColumnType.BOOLEAN else number), number


def whole(value: float | Decimal) -> int | None:
    """The integer that a number is exactly, if it is one of 64 bits."""
    if not math.isfinite(value) or int(value) != value:
        return None
    return int(value) if -(2**63) <= value < 2**63 else None


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
    times, over = compute_scale(grid)
    scaled = x * times / over
    if math.isinf(scaled):
        return grid.upper if scaled > 0 else grid.lower
    return max(grid.lower, min(grid.upper, round(scaled)))
