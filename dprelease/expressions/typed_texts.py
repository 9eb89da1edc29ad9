"""Typed values of texts in SQL, by the definition in ``dprelease.sources.shared.text_values``."""

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
_INTEGER_TEXT = "[[:space:]]*[+-]?[0-9]+([.]0*)?[[:space:]]*"  # as most are written
_PARTS = "^[[:space:]]*[+]?(-?)([0-9]*)[.]?([0-9]*)([eE]([+-]?[0-9]+))?[[:space:]]*$"
_SIGN, _WHOLE, _FRACTION, _EXPONENT = 1, 2, 3, 5  # groups of it
_SHORT = 16  # bytes of a text with at most 15 digits about a point: no two mean one double
_LONGEST_INTEGER = 19  # digits
# DuckDB misreads an underscore after many digits: null, or a number ten times too large.
_UNDERSCORES_READ = 10  # bytes of a text in which it reads them right
_UNDERSCORE_ALONE = "(^|[^0-9])_|_([^0-9]|$)"  # one that is not between two digits
_DAY = "[[:space:]]*[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?"
_OFFSET = "(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
_DATE_TEXT = f"{_DAY}[[:space:]]*"
_TIMESTAMP_TEXT = f"{_DAY}({_CLOCK})?[[:space:]]*"
_MOMENT_TEXT = f"{_DAY}{_CLOCK}{_OFFSET}[[:space:]]*"


def replace_nan(value: Sql) -> Sql:
    """Replace NaN by null."""
    return call("NULLIF", value, float("nan"))


def case_when(condition: Sql, value: Sql) -> Sql:
    """``CASE WHEN condition THEN value END``."""
    return case([(condition, value)])


def cast_double_to_integer(value: Sql) -> Sql:
    """Cast a DOUBLE to BIGINT; null unless it is whole and within 64 bits."""
    fits = (value >= -(2.0**63)) & (value < 2.0**63)
    return case_when(call("FLOOR", value).equals(value) & fits, value.cast("BIGINT"))


def convert_text_to_integer(value: Sql, number: Sql) -> Sql:
    """Convert a text to the BIGINT that it means exactly.

    Args:
        value: SQL of the text.
        number: SQL of the text's DOUBLE, null if it means no number.
    """
    is_short = call("STRLEN", value) <= _SHORT
    is_small = call("ABS", number).between(1.0, float(EXACT - 1))
    is_usual = call("REGEXP_FULL_MATCH", value, _INTEGER_TEXT)
    return case(
        [
            # The double nearest to a whole number is whole.
            (~call("FLOOR", number).equals(number), NULL),
            (is_short & is_small, number.cast("BIGINT")),
            (value.equals("0"), 0),
            (is_usual, value.try_cast("BIGINT")),
            (call("ABS", number) <= 2.0**63, _parse_digits(value)),
        ]
    )


def _parse_digits(value: Sql) -> Sql:
    """Parse the digits of a text that means a number, without a double on the way."""
    plain = call("REPLACE", value, "_", "")
    sign, whole, fraction, exponent = (
        call("REGEXP_EXTRACT", plain, _PARTS, part)
        for part in (_SIGN, _WHOLE, _FRACTION, _EXPONENT)
    )
    digits = call("LTRIM", whole.concat(fraction), "0")
    shift = case([(exponent.equals(""), 0)], exponent.try_cast("INTEGER"))
    size = call("STRLEN", digits) - call("STRLEN", fraction) + shift  # digits before the point
    is_whole = call("STRLEN", call("RTRIM", digits, "0")) <= size
    length = call("GREATEST", 1, call("LEAST", size, _LONGEST_INTEGER)).cast("INTEGER")
    exact = sign.concat(call("RPAD", digits, length, "0")).try_cast("BIGINT")
    return case([(digits.equals(""), 0), (is_whole & (size <= _LONGEST_INTEGER), exact)])


def limit_to_calendar(value: Sql, kind: ColumnType) -> Sql:
    """Keep dates and timestamps of the years 1 to 9999; null for others."""
    sql = SQL_TYPES[kind]
    last = "9999-12-31" if kind is ColumnType.DATE else "9999-12-31 23:59:59.999999"
    return case_when(value.between(literal("0001-01-01").cast(sql), literal(last).cast(sql)), value)


def convert_text_to_double(value: Sql) -> Sql:
    """Convert a text to the DOUBLE that it means, NaN included."""
    parted = (call("STRLEN", value) > _UNDERSCORES_READ) & call("CONTAINS", value, "_")
    wrong = call("REGEXP_MATCHES", value, _UNDERSCORE_ALONE)
    joined = case_when(~wrong, call("REPLACE", value, "_", ""))
    return case([(parted, joined)], value).try_cast("DOUBLE")


def convert_text_to_number(value: Sql) -> Sql:
    """Convert a text to the DOUBLE that it means; null for NaN."""
    return replace_nan(convert_text_to_double(value))


def convert_text(
    value: Sql, kind: ColumnType, as_number: Sql | None = None, zone: str | None = None
) -> Sql:
    """Convert a text to a value of a declared type; null where it means none.

    Args:
        value: SQL of the text.
        kind: The declared type.
        as_number: SQL of the text's DOUBLE, given for numeric types.
        zone: The zone whose clocks show a text with an offset; UTC if it is None.
    """
    if kind is ColumnType.STRING:
        return value
    if as_number is not None:
        return (
            convert_text_to_integer(value, as_number) if kind is ColumnType.INTEGER else as_number
        )
    result = value.try_cast(SQL_TYPES[kind])
    if kind is ColumnType.BOOLEAN:
        # Most texts are words, or 1 and 0, without blanks: the others are looked at alone.
        word = trim_blanks(value).try_cast("BOOLEAN")
        fallback = call("COALESCE", word, cast_number_to_boolean(convert_text_to_double(value)))
        return case([(result.not_null(), result)], fallback)
    if kind is ColumnType.DATE:
        # DuckDB reads more forms than ours; ours is the one it writes.
        plain = result.cast("VARCHAR").equals(value) & call("LENGTH", value).equals(10)
        among_blanks = call("REGEXP_FULL_MATCH", value, _DATE_TEXT)
        return case(
            [(plain, result), (among_blanks, limit_to_calendar(result, kind))],
            _parse_timestamp(value, zone).cast("DATE"),
        )
    return _parse_timestamp(value, zone)


def trim_blanks(value: Sql) -> Sql:
    """Trim blanks around a text."""
    return call("TRIM", value, BLANKS)


def cast_number_to_boolean(value: Sql) -> Sql:
    """Cast 1 and 0 to BOOLEAN; null for other numbers."""
    return case([(value.equals(1.0), literal(True)), (value.equals(0.0), literal(False))])


def read_wall_clock(moment: Sql, zone: str | None) -> Sql:
    """Convert a TIMESTAMPTZ to the TIMESTAMP on clocks of a zone, or of UTC.

    It is null where that time, or the time in UTC, is outside of the years 1 to 9999. The zone of
    the machine has no effect.
    """
    in_reach = moment.between(
        literal("0001-01-01 00:00:00+00").cast("TIMESTAMPTZ"),
        literal("9999-12-31 23:59:59.999999+00").cast("TIMESTAMPTZ"),
    )
    if zone is None or zone == "UTC":
        return case_when(in_reach, call("MAKE_TIMESTAMP", call("EPOCH_US", moment)))
    return limit_to_calendar(
        case_when(in_reach, call("TIMEZONE", zone, moment)), ColumnType.TIMESTAMP
    )


def _parse_timestamp(value: Sql, zone: str | None) -> Sql:
    has_time = call("REGEXP_FULL_MATCH", value, _TIMESTAMP_TEXT)
    has_offset = call("REGEXP_FULL_MATCH", value, _MOMENT_TEXT)
    text = trim_blanks(value)
    time = limit_to_calendar(text.try_cast("TIMESTAMP"), ColumnType.TIMESTAMP)
    return case(
        [(has_time, time), (has_offset, read_wall_clock(text.try_cast("TIMESTAMPTZ"), zone))]
    )
