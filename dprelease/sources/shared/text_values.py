"""Typed values of fields of text, by declared type: the definition that every engine follows.

Blanks are space, tab, line feed, vertical tab, form feed and carriage return. Around a field of
any type but string they are ignored.

* number (integer, float, decimal): ``[+][-]digits[.digits][e[+-]digits]`` or
  ``[+][-].digits[...]``, where digits are ASCII and may be parted by single underscores, or
  ``inf``, ``infinity``, ``nan`` in any case with the same sign. It is the nearest double; too large
  is an infinity. NaN is null. As a quantity the double goes onto the grid; decimals are no
  different, so a decimal halfway between two grid points falls where its double falls.
* integer as a key or in an expression: the number that the text means exactly, if it is whole and
  within 64 bits; else null.
* boolean: ``true t yes y`` and ``false f no n``, in any case; or a number as above that is 1 or 0.
* date: ``YYYY-MM-DD``, a day of the calendar from year 1 to 9999; or a timestamp, whose day it is.
* timestamp: ``YYYY-MM-DD HH:MM:SS`` or with ``T``, with up to nine decimals of a second (digits
  after the sixth are dropped), hours to 23; seconds, or the whole time, may be left out. After a
  time there may be an offset: ``Z``, ``+HH:MM``, ``+HHMM`` or ``+HH``. Such a text is a moment,
  which becomes what clocks of the column's zone, or of UTC, show then; null where that or UTC is
  outside of the years 1 to 9999.
* string: the text itself, in the normal form NFC (see ``expressions.normal_form``).

Any other text is null. Where the spec declares how a column is written, that form replaces the
forms above:

* number with marks: as above, with the decimal mark for the point, and without underscores. The
  digits before it may be in groups of three with the mark for thousands between, the first group of
  one to three; or without any. A boolean takes 1 and 0 in this form, and its words.
* date or timestamp with a format: see ``dprelease.model.date_formats``. A text with an offset is a
  moment, as above.

This module parses the texts of a spec in Python: null texts, and the labels of nulls. Fields of the
data are parsed in SQL by the same definition.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

from dprelease.expressions.nodes import BLANKS, Value
from dprelease.model import ColumnType

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_NUMBER = re.compile(
    rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]"
)
_LONGEST_INTEGER, _LONGEST_EXPONENT = 19, 9  # digits
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:(:[0-5][0-9])(?:\.([0-9]{1,9}))?)?"
    r"(Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?"
)
_WORDS = dict.fromkeys(("true", "t", "yes", "y"), True) | dict.fromkeys(
    ("false", "f", "no", "n"), False
)
_TRUTHS = {0.0: False, 1.0: True}


def parse_number(text: str) -> float | None:
    """Parse a text to the double that it means; None for other texts and NaN."""
    body = text.strip(BLANKS)
    body = body.removeprefix("+")
    sign = -1.0 if body.startswith("-") else 1.0
    body = body.removeprefix("-")
    if not _NUMBER.fullmatch(body):
        return None
    value = sign * float(body)
    return None if math.isnan(value) else value


def parse_integer(text: str) -> int | None:
    """Parse a text to the 64-bit integer that it means exactly; None for other texts."""
    value = parse_number(text)
    if value is None or not value.is_integer():
        return None
    body = text.strip(BLANKS).removeprefix("+").replace("_", "").lower()
    mantissa, _, exponent = body.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    if len(exponent.lstrip("+-0")) > _LONGEST_EXPONENT:
        return None
    size = len(digits) - len(fraction) + int(exponent or "0")  # digits before the point
    if not len(digits.rstrip("0")) <= size <= _LONGEST_INTEGER:
        return None
    exact = int(digits[:size].ljust(size, "0")) * (-1 if body.startswith("-") else 1)
    return exact if -(2**63) <= exact < 2**63 else None


def parse_boolean(text: str) -> bool | None:
    """Parse a text to a boolean; None for other texts."""
    number = parse_number(text)
    if number is not None:
        return _TRUTHS.get(number)
    return _WORDS.get(text.strip(BLANKS).lower()) if text.isascii() else None


def parse_date(text: str) -> date | None:
    """Parse a text to a day; None for other texts."""
    day = text.strip(BLANKS)
    if not _DATE.fullmatch(day):
        moment = parse_timestamp(day)
        return None if moment is None else moment.date()
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None  # not in the calendar


def parse_timestamp(text: str) -> datetime | None:
    """Parse a text to the time on a clock, to the microsecond; None for other texts.

    A text with an offset gives the time in UTC.
    """
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if not match:
        return None
    day, clock, seconds, fraction, offset = match.groups()
    clock = (clock or "00:00") + (seconds or ":00")
    try:
        time = datetime.fromisoformat(f"{day} {clock}.{(fraction or '0')[:6]:0<6}{offset or ''}")
        return time.astimezone(UTC).replace(tzinfo=None) if offset else time
    except (ValueError, OverflowError):
        return None  # not in the calendar


_PARSERS = {
    ColumnType.INTEGER: parse_integer,
    ColumnType.FLOAT: parse_number,
    ColumnType.DECIMAL: parse_number,
    ColumnType.BOOLEAN: parse_boolean,
    ColumnType.DATE: parse_date,
    ColumnType.TIMESTAMP: parse_timestamp,
}


def parse_value(text: str | None, kind: ColumnType) -> Value:
    """Parse a field to a value of a declared type.

    Args:
        text: The field; None if it is missing or null.
        kind: The declared type.

    Returns:
        The value; None if the text means none.
    """
    if text is None:
        return None
    if kind is ColumnType.STRING:
        return text
    return _PARSERS[kind](text)
