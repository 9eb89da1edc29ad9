"""A published table as CSV: UTF-8, LF, a header, quotes where needed (RFC 4180), exact decimals.

Texts that a spreadsheet would take for a formula get a leading apostrophe. That is reversible:
an apostrophe before any apostrophes and one of ``FORMULA`` is always an added one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from operator import is_

from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.key_types import choose_published_type
from dprelease.postprocess.intervals.fixed_point import write_fixed_point

# The last four are full-width forms, which some spreadsheets treat like the first four.
FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

_FORMULA = re.compile(f"'*[{re.escape(FORMULA)}]")
_QUOTED = re.compile(r'[",\r\n]|^[ \t]|[ \t]$|^$')


def write_csv(table: OutputTable) -> bytes:
    """Write a table as CSV: None as an empty field, an empty text as a quoted empty field."""
    # The header is text too: a spreadsheet would run a name that begins like a formula.
    header = ",".join(write_field(escape_formula(column.name)) for column in table.columns)
    # a blank line would be no record to many readers
    blank = '""' if len(table.columns) == 1 else ""
    rows = chain.from_iterable(zip(*_list_pieces(table, blank), strict=True))
    return f"{header}\n{''.join(rows)}".encode()


def _list_pieces(table: OutputTable, blank: str) -> list[list[str]]:
    """List columns of texts that form the lines when read row by row."""
    # Every field ends with its comma or line feed. A column that is the same in all rows, as many
    # half-widths are, is written once, as part of the one before it.
    if any(len(column.values) != table.rows for column in table.columns):
        raise ValueError("a column of the table is shorter than another")
    pieces: list[list[str]] = []
    end = "\n"
    for position, column in reversed(list(enumerate(table.columns))):
        values = column.values
        if position and values and all(map(is_, values, repeat(values[0]))):
            end = f",{_write_texts(column, column.values[:1], blank, end)[0]}"
        else:
            pieces.append(_write_texts(column, column.values, blank, end))
            end = ","
    return pieces[::-1]


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    Args:
        text: A label, a text or the name of a column.

    Returns:
        The text, or the escaped text. ``unescape_formula`` inverts it for every text.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(text: str) -> str:
    """Invert ``escape_formula``."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def is_escaped(column: OutputColumn) -> bool:
    """Check whether any cell of a column is written with an added apostrophe.

    Args:
        column: A published column. Numbers and keys that keep their type are never escaped.

    Returns:
        True if ``escape_formula`` changes one of its texts.
    """
    if not _is_text(column):
        return False
    labels = {str(value) for value in dict.fromkeys(column.values) if value is not None}
    return any(escape_formula(label) != label for label in labels)


def _is_text(column: OutputColumn) -> bool:
    if column.kind in {"key", "label"}:
        # Of typed keys only numbers can begin with a minus, and they are left alone.
        return choose_published_type(column) is ColumnType.STRING
    return column.kind == "text"


def _write_texts(
    column: OutputColumn, values: Sequence[str | int | None], blank: str, end: str
) -> list[str]:
    """Write the fields of the values, each followed by ``end``; ``blank`` for a missing value."""
    if column.kind in ("number", "integer", "edge"):
        kinds = set(map(type, values))
        if column.kind == "number" and str in kinds:
            raise TypeError("a column of numbers holds a text")
        places = 0 if column.kind == "integer" else column.decimals
        if kinds <= {int}:
            return _write_numbers(values, places, end)  # type: ignore[arg-type]
        return [
            f"{blank if value is None else write_fixed_point(value, places)}{end}"  # type: ignore[arg-type]
            for value in values
        ]
    texts = dict.fromkeys(values, "")  # labels repeat: write each one once
    escape = _is_text(column)
    for value in texts:
        text = (
            blank
            if value is None
            else write_field(escape_formula(str(value)) if escape else str(value))
        )
        texts[value] = f"{text}{end}"
    return list(map(texts.__getitem__, values))


def _write_numbers(values: Sequence[int], places: int, end: str) -> list[str]:
    """Apply ``write_fixed_point`` to a whole column."""
    if places == 0:
        return [f"{value}{end}" for value in values]
    unit = 10**places
    if 4 * unit <= len(values):  # fractions repeat: write each one once
        ends = [f".{rest:0{places}d}{end}" for rest in range(unit)]
        return [
            f"{value // unit}{ends[value % unit]}"
            if value >= 0
            else f"-{-value // unit}{ends[-value % unit]}"
            for value in values
        ]
    return [
        f"{(digits := str(value))[:-places]}.{digits[-places:]}{end}"
        if value >= unit  # most numbers, without the care that small ones need
        else f"{write_fixed_point(value, places)}{end}"
        for value in values
    ]


def write_field(text: str) -> str:
    """Quote a text where RFC 4180, or a reader that strips blanks, needs it.

    Args:
        text: The content of one field.

    Returns:
        The field as it stands in the file.
    """
    if _QUOTED.search(text):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
