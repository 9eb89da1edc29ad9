"""Public values of a column: typed values, keys and bins, with their canonical texts and labels."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from itertools import pairwise

from dprelease.model import ColumnType
from dprelease.postprocess.intervals.fixed_point import write_decimal
from dprelease.specfile.checks.columns.list_files import Lines
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.number_texts import read_exact

# Not in every spec: compiled when they are needed.
_INTEGER = r"[+-]?[0-9]{1,40}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
LONGEST_KEY = 1000
_USUAL = 10**12
_NUMBERS = (int, Decimal, Fraction)
_NUMERIC = frozenset({ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DECIMAL})
_PLAIN_NUMBER = re.compile(r"-?(?:0\.[0-9]{0,11}[1-9]|[1-9][0-9]{0,11}(?:\.[0-9]{1,12})?)")
_WANTED = {
    ColumnType.INTEGER: "a whole number",
    ColumnType.FLOAT: "a number",
    ColumnType.DECIMAL: "a number",
    ColumnType.STRING: "a text in quotes",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date such as 2026-01-31",
    ColumnType.TIMESTAMP: "a date and time such as 2026-01-31 12:00:00",
}


def write_canonical(kind: ColumnType, value: object) -> str:
    """Give the canonical text of a value written in the spec. Raises ``Refused`` (E210).

    Guarantee: two values of one type are equal exactly when their texts are equal.
    """
    if kind in _NUMERIC:
        return _write_numeral(kind, value)
    if kind is ColumnType.STRING and isinstance(value, str):
        return _write_text(value)
    if kind is ColumnType.BOOLEAN and isinstance(value, bool):
        return "true" if value else "false"
    if kind is ColumnType.DATE:
        return _write_date(value)
    if kind is ColumnType.TIMESTAMP:
        return _write_timestamp(value)
    raise _build_refusal(kind, value)


def write_canonical_line(kind: ColumnType, line: str) -> str:
    """Give the canonical text of a line of a keys_file. Raises ``Refused`` (E210)."""
    if kind is ColumnType.INTEGER:
        if not re.fullmatch(_INTEGER, line):
            raise _build_refusal(kind, line)
        return _number(int(line))
    if kind in (ColumnType.FLOAT, ColumnType.DECIMAL):
        try:
            return _number(Decimal(line))
        except InvalidOperation:
            raise _build_refusal(kind, line) from None
    if kind is ColumnType.BOOLEAN:
        if line not in ("true", "false"):
            raise _build_refusal(kind, line)
        return line
    return write_canonical(kind, line)


def _write_numeral(kind: ColumnType, value: object) -> str:
    # Usual numbers without the detour of a fraction: lists can be long.
    if type(value) is int and -_USUAL < value < _USUAL:
        return str(value)
    whole = kind is ColumnType.INTEGER
    if type(value) is Decimal and not whole:
        text = str(value)
        if _PLAIN_NUMBER.fullmatch(text):
            return text.rstrip("0").rstrip(".") if text[-1] == "0" and "." in text else text
    if isinstance(value, bool) or not isinstance(value, int if whole else _NUMBERS):
        raise _build_refusal(kind, value)
    return _number(value)


def _number(value: object) -> str:
    return write_decimal(read_exact(value, "E210"))


def _write_text(value: str) -> str:
    if not value:
        raise Refused("the empty text can't be a key", 'nulls = "..." names empty fields', "E210")
    if UNPRINTABLE.search(value):
        raise Refused(f"{show(value)} holds a control character", "remove it", "E210")
    if len(value) > LONGEST_KEY:
        raise Refused(f"a text is longer than {LONGEST_KEY} characters", "shorten it", "E210")
    return value


def _write_date(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(_DATE, value):
        value = _parse(value)
    elif not isinstance(value, date) or isinstance(value, datetime):
        raise _build_refusal(ColumnType.DATE, value)
    return value.isoformat()[:10]


def _write_timestamp(value: object) -> str:
    if isinstance(value, str) and (re.fullmatch(_TIMESTAMP, value) or re.fullmatch(_DATE, value)):
        value = _parse(value)
    elif not isinstance(value, date):
        raise _build_refusal(ColumnType.TIMESTAMP, value)
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is not None:
        hint = "write the local time that the data holds, without a zone"
        raise Refused(f"{show(value)} has a time zone", hint, "E210")
    return value.isoformat(" ")


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        hint = "check the day, the month and the time"
        raise Refused(f"{show(text)} is not in the calendar", hint, "E210") from None


def _build_refusal(kind: ColumnType, value: object) -> Refused:
    hint = f"write {_WANTED[kind]}"
    return Refused(f"{show(value)} is not a value of type {kind.value}", hint, "E210")


_MOST_WRONG = 1000
BINNED = _NUMERIC | {ColumnType.DATE, ColumnType.TIMESTAMP}
ENCODED = "they differ only in how accents are encoded"
Complain = Callable[[int, Refused], None]


def normalize(text: str) -> str:
    """Give what labels are compared by: as in the data, how accents are encoded does not matter."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def read_keys(kind: ColumnType, values: Sequence[object], complain: Complain) -> tuple[str, ...]:
    """Give the canonical texts of declared keys; each mistake goes to ``complain`` by position."""
    return _require_unique(values, partial(write_canonical, kind), complain)


def read_keys_file(kind: ColumnType, lines: Lines) -> tuple[str, ...]:
    """Read keys from the lines of a file. Raises ``Refused`` (E210, E211) for the first wrong."""

    def complain(position: int, refused: Refused) -> None:
        # The line itself is not shown: the file could be the wrong one, and private.
        problem = (
            "repeats an earlier key"
            if refused.code == "E211"
            else f"is not a key of type {kind.value}"
        )
        message = f"line {lines.numbers[position]} of the keys_file {problem}"
        raise Refused(message, refused.hint, refused.code)

    return _require_unique(
        lines.texts, lambda line: write_canonical_line(kind, str(line)), complain
    )


def read_bins(kind: ColumnType, values: Sequence[object]) -> tuple[str, ...]:
    """Give the canonical texts of bin edges. Raises ``Refused`` (E213)."""
    if kind not in BINNED:
        hint = "use keys, which list the values of such a column"
        raise Refused(f"a {kind.value} column can't have bins", hint, "E213")
    if len(values) < 2:
        raise Refused("bins need at least two edges", "bins = [0, 10, 20] makes two bins", "E213")
    try:
        edges = tuple(write_canonical(kind, value) for value in values)
    except Refused as refused:
        hint = f'{refused.hint}; other = "..." collects values outside the bins'
        raise Refused(f"edges: {refused.message}", hint, "E213") from None
    for before, after in pairwise(edges):
        if build_sort_key(kind, before) >= build_sort_key(kind, after):
            message = f"the edges do not increase: {after} comes after {before}"
            raise Refused(message, code="E213")
    return edges


def build_sort_key(kind: ColumnType, text: str) -> tuple[Fraction, str]:
    """Build what a canonical text sorts by: its number, or (dates, timestamps) itself.

    A timestamp without a fraction is the start of the same one with a fraction, so texts sort
    as times do.
    """
    if kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return Fraction(0), text
    return Fraction(text), ""


def write_bin_labels(edges: Sequence[str]) -> tuple[str, ...]:
    """Write the bins as people read them: half-open, the last one closed."""
    last = len(edges) - 2
    return tuple(
        f"[{low}, {high}{']' if number == last else ')'}"
        for number, (low, high) in enumerate(pairwise(edges))
    )


def find_bin_label(kind: ColumnType, edges: Sequence[str], value: str) -> str | None:
    """Give the label of the bin that a canonical value falls into, or None."""
    place, places = build_sort_key(kind, value), [build_sort_key(kind, edge) for edge in edges]
    if not places[0] <= place <= places[-1]:
        return None
    return write_bin_labels(edges)[min(bisect_right(places, place), len(places) - 1) - 1]


def _require_unique(
    values: Sequence[object], read: Callable[[object], str], complain: Complain
) -> tuple[str, ...]:
    texts: dict[str, str] = {}
    wrong = 0
    for position, value in enumerate(values):
        if wrong > _MOST_WRONG:
            break
        try:
            text = read(value)
        except Refused as refused:
            complain(position, refused)
            wrong += 1
            continue
        compared = normalize(text)
        if compared in texts:
            wrong += 1
            same = f" ({ENCODED})" if texts[compared] != text else ""
            complain(position, Refused(f"{show(text)} is declared twice{same}", code="E211"))
            continue
        texts[compared] = text
    return tuple(texts.values())
