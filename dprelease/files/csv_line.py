"""One line, or record, of a CSV file into its fields; nothing but the line decides."""

from __future__ import annotations

import re

_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE | re.DOTALL)


def read_separator(line: bytes) -> str | None:
    """Read the delimiter of a line ``sep=;``, as spreadsheets write it; None for other lines."""
    match = _SEPARATOR_LINE.fullmatch(line.decode("latin-1"))
    return match and match[1]


def split_line(line: str, delimiter: str, quote: str, *, strict: bool = False) -> list[str] | None:
    """Split a record of a CSV file into its fields.

    Args:
        line: The record without its line end.
        delimiter: What separates fields.
        quote: Quotation mark; "" for none. A doubled one inside quotes is one.
        strict: Refuse a quote in a field that does not begin with one; else it is a plain
            character.

    Returns:
        The fields; None if the record is malformed.
    """
    if not quote or quote not in line:
        return line.split(delimiter)
    fields: list[str] = []
    place = 0
    while True:
        start = _skip_spaces(line, place, delimiter)
        if line.startswith(quote, start):
            field, place = _read_quoted(line, start + 1, delimiter, quote)
            if place < 0:
                return None
        else:
            end = line.find(delimiter, place)
            field, place = (line[place:end], end) if end >= 0 else (line[place:], len(line))
            if strict and quote in field:
                return None
        fields.append(field)
        if place == len(line):
            return fields
        place += len(delimiter)


def _skip_spaces(line: str, place: int, delimiter: str) -> int:
    if delimiter == " ":
        return place
    while line.startswith(" ", place):
        place += 1
    return place


def _read_quoted(line: str, place: int, delimiter: str, quote: str) -> tuple[str, int]:
    """Read a quoted field and find where it ends; -1 if it is malformed."""
    pieces: list[str] = []
    while True:
        end = line.find(quote, place)
        if end < 0:
            return "", -1
        pieces.append(line[place:end])
        place = end + 1
        if not line.startswith(quote, place):
            break
        pieces.append(quote)
        place += 1
    place = _skip_spaces(line, place, delimiter)
    if place < len(line) and not line.startswith(delimiter, place):
        return "", -1
    return "".join(pieces), place
