"""Typed values in SQL: the same meaning of text as ``values``, and of Parquet columns.

Every column has a typed value and, if numeric, its number as a DOUBLE that is never NaN.
"""

from __future__ import annotations

from dprelease.engines.common.text_values import EXACT, parse_number, parse_value
from dprelease.engines.duckdb.unit_text import bits_of
from dprelease.expressions.sql import SQL_TYPES, without_nan
from dprelease.expressions.sqltext import (
    NULL,
    Sql,
    between,
    binary,
    call,
    case,
    cast,
    double,
    no,
    number,
    text,
    try_cast,
)
from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect

INTEGER_TEXT = "[[:space:]]*[+-]?[0-9]+[[:space:]]*"
# DuckDB misreads an underscore after many digits: null, or a number ten times too large.
UNDERSCORES_READ = 10  # bytes of a text in which it reads them right
UNDERSCORE_ALONE = "(^|[^0-9])_|_([^0-9]|$)"  # one that is not between two digits
TIMESTAMP_TEXT = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?"
)


def field_text(field: Sql, dialect: Dialect, kind: ColumnType) -> Sql:
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


def double_of_text(value: Sql) -> Sql:
    """The DOUBLE that a text means, NaN included."""
    long = binary(call("STRLEN", value), ">", number(UNDERSCORES_READ))
    parted = binary(long, "AND", call("CONTAINS", value, text("_")))
    wrong = call("REGEXP_MATCHES", value, text(UNDERSCORE_ALONE))
    joined = when(no(wrong), call("REPLACE", value, text("_"), text("")))
    return try_cast(case([(parted, joined)], value), "DOUBLE")


def double_of_typed(value: Sql) -> Sql:
    """The DOUBLE of a typed number, NaN included."""
    return cast(value, "DOUBLE")


def number_of_text(value: Sql) -> Sql:
    """The DOUBLE that a text means."""
    return without_nan(double_of_text(value))


def value_of_text(value: Sql, kind: ColumnType, as_number: Sql | None) -> Sql:
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
        same = binary(cast(made, "VARCHAR"), "=", value)
        length = binary(call("LENGTH", value), "=", number(10))
        return when(binary(same, "AND", length), made)
    if kind is ColumnType.TIMESTAMP:
        shaped = call("REGEXP_FULL_MATCH", value, text(TIMESTAMP_TEXT))
        return when(shaped, in_calendar(made, kind))
    return made


def number_of_typed(value: Sql) -> Sql:
    """The DOUBLE of a typed number or boolean."""
    made = cast(value, "DOUBLE")
    return when(no(call("ISNAN", made)), made)


def value_of_typed(value: Sql, kind: ColumnType, physical: str) -> Sql:
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


def value_of_opaque(value: Sql, physical: str) -> Sql:
    """What stands for the text of a value in comparisons.

    It is the value itself where equal values have equal texts. 0.0 and -0.0 are equal and have
    not, and a NaN can have a sign.
    """
    if physical not in ("FLOAT", "DOUBLE"):
        return value
    return case([(call("ISNAN", value), text("nan"))], bits_of(value))


def one_zero(value: Sql, kind: ColumnType) -> Sql:
    """The typed value, in which 0.0 and -0.0 are one and the same."""
    if kind not in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return value
    zero = double(0.0)
    return case([(binary(value, "=", zero), zero)], value)


def whole(value: Sql, beyond: Sql | None = None) -> Sql:
    """The DOUBLE as BIGINT if it is whole and below 2^53 in size; ``beyond`` for larger ones."""
    small = binary(call("ABS", value), "<", double(float(EXACT)))
    is_whole = binary(call("FLOOR", value), "=", value)
    return case([(no(is_whole), NULL), (small, cast(value, "BIGINT"))], beyond)


def in_calendar(value: Sql, kind: ColumnType) -> Sql:
    """The date or timestamp if its year is from 1 to 9999, else null."""
    sql = SQL_TYPES[kind]
    last = "9999-12-31" if kind is ColumnType.DATE else "9999-12-31 23:59:59.999999"
    return when(between(value, cast(text("0001-01-01"), sql), cast(text(last), sql)), value)


def when(condition: Sql, value: Sql) -> Sql:
    """``CASE WHEN condition THEN value END``."""
    return case([(condition, value)])
