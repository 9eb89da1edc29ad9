"""Typed values of the spec (keys, edges, null replacements) and their canonical texts."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache

from dprelease.model import ColumnType
from dprelease.spec.complaints.quoting import plain, show
from dprelease.spec.toml.numbers import Refused, exact

# Not in every spec: compiled when they are needed.
_INTEGER = r"[+-]?[0-9]{1,40}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
LONGEST_KEY = 1000
_USUAL = 10**12
_NUMBERS = (int, Decimal, Fraction)
_NUMERIC = frozenset({ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DECIMAL})
_PLAIN_NUMBER = r"-?(?:0\.[0-9]{0,11}[1-9]|[1-9][0-9]{0,11}(?:\.[0-9]{1,12})?)"
_CALENDAR = "check the day, the month and the time"

_WANTED = {
    ColumnType.INTEGER: "a whole number",
    ColumnType.FLOAT: "a number",
    ColumnType.DECIMAL: "a number",
    ColumnType.STRING: "a text in quotes",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date such as 2026-01-31",
    ColumnType.TIMESTAMP: "a date and time such as 2026-01-31 12:00:00",
}


def canonical(kind: ColumnType, value: object) -> str:
    """Give the canonical text of a value written in the spec. Raises ``Refused`` (E210).

    Guarantee: two values of one type are equal exactly when their texts are equal.
    """
    if kind in _NUMERIC:
        return _numeral(kind, value)
    if kind is ColumnType.STRING and isinstance(value, str):
        return _text(value)
    if kind is ColumnType.BOOLEAN and isinstance(value, bool):
        return "true" if value else "false"
    if kind is ColumnType.DATE:
        return _date(value)
    if kind is ColumnType.TIMESTAMP:
        return _timestamp(value)
    raise _wrong(kind, value)


def canonical_line(kind: ColumnType, line: str) -> str:
    """Give the canonical text of a line of a keys_file. Raises ``Refused`` (E210)."""
    if kind is ColumnType.INTEGER:
        if not re.fullmatch(_INTEGER, line):
            raise _wrong(kind, line)
        return _number(int(line))
    if kind in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return _number(_decimal(kind, line))
    if kind is ColumnType.BOOLEAN:
        if line not in ("true", "false"):
            raise _wrong(kind, line)
        return line
    return canonical(kind, line)


def _numeral(kind: ColumnType, value: object) -> str:
    # Usual numbers without the detour of a fraction: lists can be long.
    if type(value) is int and -_USUAL < value < _USUAL:
        return str(value)
    whole = kind is ColumnType.INTEGER
    if type(value) is Decimal and not whole:
        text = str(value)
        if _plain_number().fullmatch(text):
            return text.rstrip("0").rstrip(".") if text[-1] == "0" and "." in text else text
    if isinstance(value, bool) or not isinstance(value, int if whole else _NUMBERS):
        raise _wrong(kind, value)
    return _number(value)


@cache
def _plain_number() -> re.Pattern[str]:
    return re.compile(_PLAIN_NUMBER)


def _decimal(kind: ColumnType, line: str) -> Decimal:
    try:
        return Decimal(line)
    except InvalidOperation:
        raise _wrong(kind, line) from None


def _number(value: object) -> str:
    text = plain(exact(value, "E210"))
    if text is None:  # ``exact`` lets only divisors of 10^12 through
        raise Refused(f"{show(value)} has no plain decimal notation", "round it", "E210")
    return text


def _text(value: str) -> str:
    if not value:
        raise Refused("the empty text can't be a key", 'nulls = "..." names empty fields', "E210")
    if UNPRINTABLE.search(value):
        raise Refused(f"{show(value)} holds a control character", "remove it", "E210")
    if len(value) > LONGEST_KEY:
        raise Refused(f"a text is longer than {LONGEST_KEY} characters", "shorten it", "E210")
    return value


def _date(value: object) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) and re.fullmatch(_DATE, value):
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise Refused(f"{show(value)} is not in the calendar", _CALENDAR, "E210") from None
    raise _wrong(ColumnType.DATE, value)


def _timestamp(value: object) -> str:
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            hint = "write the local time that the data holds, without a zone"
            raise Refused(f"{show(value)} has a time zone", hint, "E210")
        return value.isoformat(" ")
    if isinstance(value, date):
        return datetime.combine(value, time()).isoformat(" ")
    if isinstance(value, str) and (re.fullmatch(_TIMESTAMP, value) or re.fullmatch(_DATE, value)):
        try:
            return datetime.fromisoformat(value).isoformat(" ")
        except ValueError:
            raise Refused(f"{show(value)} is not in the calendar", _CALENDAR, "E210") from None
    raise _wrong(ColumnType.TIMESTAMP, value)


def _wrong(kind: ColumnType, value: object) -> Refused:
    hint = f"write {_WANTED[kind]}"
    return Refused(f"{show(value)} is no value of type {kind.value}", hint, "E210")
