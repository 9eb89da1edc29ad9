"""One line, or record, of a CSV file into its fields; nothing but the line decides."""

from __future__ import annotations


def split_line(line: str, delimiter: str, quote: str, *, strict: bool = False) -> list[str] | None:
    """The fields of one line, or None if it is malformed.

    Quotes in a field that does not begin with one are ordinary characters, or ``strict``ly none.
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
    """A quoted field from after its opening quote, and where it ends; -1 if it is malformed."""
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
