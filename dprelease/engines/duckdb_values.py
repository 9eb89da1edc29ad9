"""Typed values in SQL: the same meaning of text as ``values``, and of Parquet columns.

Every column has a typed value and, if numeric, its number as a DOUBLE that is never NaN.
"""

from __future__ import annotations

from sqlglot import exp

from dprelease.engines.values import EXACT, parse_number, parse_value
from dprelease.expressions.sql import (
    SQL_TYPES,
    call,
    cast,
    double,
    number,
    paren,
    text,
    try_cast,
    without_nan,
)
from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect

INTEGER_TEXT = "[[:space:]]*[+-]?[0-9]+[[:space:]]*"
TIMESTAMP_TEXT = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?"
)


def field_text(field: exp.Expr, dialect: Dialect, kind: ColumnType) -> exp.Expr:
    """The field after stripping blanks and turning the declared null texts into null."""
    value = call("TRIM", field, text(" \t")) if dialect.strip else field
    for null in dialect.null_values:
        if kind is ColumnType.STRING or _means_something(null, kind):
            value = call("NULLIF", value, text(null))
    return value


def _means_something(null: str, kind: ColumnType) -> bool:
    """Whether a null text would otherwise be read as a value: if not, it is null anyway."""
    if kind in NUMERIC_TYPES and parse_number(null) is not None:
        return True
    return parse_value(null, kind) is not None


def double_of_text(value: exp.Expr) -> exp.Expr:
    """The DOUBLE that a text means, NaN included."""
    return try_cast(value, "DOUBLE")


def double_of_typed(value: exp.Expr) -> exp.Expr:
    """The DOUBLE of a typed number, NaN included."""
    return cast(value, "DOUBLE")


def number_of_text(value: exp.Expr) -> exp.Expr:
    """The DOUBLE that a text means."""
    return without_nan(try_cast(value, "DOUBLE"))


def value_of_text(value: exp.Expr, kind: ColumnType, as_number: exp.Expr | None) -> exp.Expr:
    """The typed value of a text; ``as_number`` is its DOUBLE for numeric types."""
    if kind is ColumnType.STRING:
        return value
    if kind is ColumnType.INTEGER and as_number is not None:
        exact = when(
            call("REGEXP_FULL_MATCH", value, text(INTEGER_TEXT)), try_cast(value, "BIGINT")
        )
        return whole(as_number, exact)
    if as_number is not None:
        return as_number
    made = try_cast(value, SQL_TYPES[kind])
    if kind is ColumnType.DATE:
        # DuckDB reads more forms than ours; ours is the one it writes.
        same = exp.EQ(this=cast(made, "VARCHAR"), expression=value)
        length = exp.EQ(this=call("LENGTH", value), expression=number(10))
        return when(exp.And(this=same, expression=length), made.copy())
    if kind is ColumnType.TIMESTAMP:
        shaped = call("REGEXP_FULL_MATCH", value, text(TIMESTAMP_TEXT))
        return when(shaped, in_calendar(made, kind))
    return made


def number_of_typed(value: exp.Expr) -> exp.Expr:
    """The DOUBLE of a typed number or boolean."""
    made = cast(value, "DOUBLE")
    return when(exp.Not(this=call("ISNAN", made)), made.copy())


def value_of_typed(value: exp.Expr, kind: ColumnType, physical: str) -> exp.Expr:
    """The declared typed value of a Parquet column of the given DuckDB type."""
    if kind is ColumnType.INTEGER:
        if physical in ("FLOAT", "DOUBLE") or physical.startswith("DECIMAL"):
            return whole(number_of_typed(value))
        return try_cast(value, "BIGINT")
    if kind in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return number_of_typed(value)
    # a timestamp in milliseconds can be beyond those in microseconds: null then
    made = try_cast(value, SQL_TYPES[kind])
    return in_calendar(made, kind) if kind in (ColumnType.DATE, ColumnType.TIMESTAMP) else made


def whole(value: exp.Expr, beyond: exp.Expr | None = None) -> exp.Expr:
    """The DOUBLE as BIGINT if it is whole and below 2^53 in size; ``beyond`` for larger ones."""
    small = exp.LT(this=call("ABS", value), expression=double(float(EXACT)))
    is_whole = exp.EQ(this=call("FLOOR", value.copy()), expression=value.copy())
    ifs = [
        exp.If(this=exp.Not(this=paren(is_whole)), true=exp.Null()),
        exp.If(this=small, true=cast(value.copy(), "BIGINT")),
    ]
    return exp.Case(ifs=ifs, default=beyond)


def in_calendar(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    """The date or timestamp if its year is from 1 to 9999, else null."""
    sql = SQL_TYPES[kind]
    last = "9999-12-31" if kind is ColumnType.DATE else "9999-12-31 23:59:59.999999"
    inside = exp.Between(this=value, low=cast(text("0001-01-01"), sql), high=cast(text(last), sql))
    return when(inside, value.copy())


def when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """``CASE WHEN condition THEN value END``."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)])
