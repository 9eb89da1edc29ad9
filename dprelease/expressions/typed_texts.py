"""Typed values of texts in SQL, by the definition in ``dprelease.engines.common.text_values``."""

from __future__ import annotations

from dprelease.expressions.nodes import BLANKS, EXACT
from dprelease.expressions.sqltext import NULL, Kind, Sql, call, case, literal
from dprelease.model import ColumnType

SQL_TYPES: dict[ColumnType, Kind] = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.FLOAT: "DOUBLE",
    ColumnType.DECIMAL: "DOUBLE",
    ColumnType.STRING: "VARCHAR",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}
_INTEGER_TEXT = "[[:space:]]*[+-]?[0-9]+[[:space:]]*"
# DuckDB misreads an underscore after many digits: null, or a number ten times too large.
_UNDERSCORES_READ = 10  # bytes of a text in which it reads them right
_UNDERSCORE_ALONE = "(^|[^0-9])_|_([^0-9]|$)"  # one that is not between two digits
_DATE_TEXT = "[[:space:]]*[0-9]{4}-[0-9]{2}-[0-9]{2}[[:space:]]*"
_TIMESTAMP_TEXT = (
    "[[:space:]]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    "(\\.[0-9]{1,9})?[[:space:]]*"
)


def without_nan(value: Sql) -> Sql:
    """The DOUBLE, or null when it is NaN."""
    return call("NULLIF", value, float("nan"))


def when(condition: Sql, value: Sql) -> Sql:
    """``CASE WHEN condition THEN value END``."""
    return case([(condition, value)])


def whole(value: Sql, beyond: Sql | None = None) -> Sql:
    """The DOUBLE as BIGINT if it is whole and below 2^53 in size; ``beyond`` for larger ones."""
    small = call("ABS", value) < float(EXACT)
    is_whole = call("FLOOR", value).equals(value)
    return case([(~is_whole, NULL), (small, value.cast("BIGINT"))], beyond)


def in_calendar(value: Sql, kind: ColumnType) -> Sql:
    """The date or timestamp if its year is from 1 to 9999, else null."""
    sql = SQL_TYPES[kind]
    last = "9999-12-31" if kind is ColumnType.DATE else "9999-12-31 23:59:59.999999"
    return when(value.between(literal("0001-01-01").cast(sql), literal(last).cast(sql)), value)


def double_of_text(value: Sql) -> Sql:
    """The DOUBLE that a text means, NaN included."""
    parted = (call("STRLEN", value) > _UNDERSCORES_READ) & call("CONTAINS", value, "_")
    wrong = call("REGEXP_MATCHES", value, _UNDERSCORE_ALONE)
    joined = when(~wrong, call("REPLACE", value, "_", ""))
    return case([(parted, joined)], value).try_cast("DOUBLE")


def number_of_text(value: Sql) -> Sql:
    """The DOUBLE that a text means."""
    return without_nan(double_of_text(value))


def value_of_text(value: Sql, kind: ColumnType, as_number: Sql | None = None) -> Sql:
    """The typed value of a text; ``as_number`` is its DOUBLE for numeric types."""
    if kind is ColumnType.STRING:
        return value
    if as_number is not None:
        exact = when(call("REGEXP_FULL_MATCH", value, _INTEGER_TEXT), value.try_cast("BIGINT"))
        return whole(as_number, exact) if kind is ColumnType.INTEGER else as_number
    made = value.try_cast(SQL_TYPES[kind])
    if kind is ColumnType.BOOLEAN:
        # Most texts are words, or 1 and 0, without blanks: the others are looked at alone.
        word = trim_blanks(value).try_cast("BOOLEAN")
        other = call("COALESCE", word, truth_of_number(double_of_text(value)))
        return case([(made.not_null(), made)], other)
    if kind is ColumnType.DATE:
        # DuckDB reads more forms than ours; ours is the one it writes.
        plain = made.cast("VARCHAR").equals(value) & call("LENGTH", value).equals(10)
        among_blanks = call("REGEXP_FULL_MATCH", value, _DATE_TEXT)
        return case(
            [(plain, made), (among_blanks, in_calendar(made, kind))], _moment(value).cast("DATE")
        )
    return _moment(value)


def trim_blanks(value: Sql) -> Sql:
    """The text without blanks around it."""
    return call("TRIM", value, BLANKS)


def truth_of_number(value: Sql) -> Sql:
    """The BOOLEAN of a number that is 1 or 0, else null."""
    return case([(value.equals(1.0), literal(True)), (value.equals(0.0), literal(False))])


def _moment(value: Sql) -> Sql:
    shaped = call("REGEXP_FULL_MATCH", value, _TIMESTAMP_TEXT)
    made = trim_blanks(value).try_cast("TIMESTAMP")
    return when(shaped, in_calendar(made, ColumnType.TIMESTAMP))
