"""A published table as CSV: UTF-8, LF, a header, quotes where needed (RFC 4180), exact decimals.

Texts that a spreadsheet would take for a formula get a leading apostrophe. That is reversible:
an apostrophe before any apostrophes and one of ``FORMULA`` is always an added one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from dprelease.finish.decimals import placed
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.writers.keys import published_type

# The last four are full-width forms, which some spreadsheets treat like the first four.
FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

_FORMULA = re.compile(f"'*[{re.escape(FORMULA)}]")
_QUOTED = re.compile(r'[",\r\n]|^[ \t]|[ \t]$|^$')


def csv_bytes(table: OutputTable) -> bytes:
    """The table as CSV. None is an empty field, an empty text is a quoted empty field."""
    header = ",".join(_field(header_name(each)) for each in table.columns)
    columns = [_texts(each) for each in table.columns]
    if len(columns) == 1:  # a blank line would be no record to many readers
        columns = [(each or '""' for each in columns[0])]
    lines = [header, *map(",".join, zip(*columns, strict=True)), ""]
    return "\n".join(lines).encode("utf-8")


def header_name(column: OutputColumn) -> str:
    """The name of a column as the CSV header has it, escaped like any text."""
    return escaped(column.name)


def escaped(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def is_escaped(column: OutputColumn) -> bool:
    """Whether any cell of the column is written with an added apostrophe."""
    if not _is_text(column):
        return False
    labels = {str(each) for each in dict.fromkeys(column.values) if each is not None}
    return any(escaped(each) != each for each in labels)


def _is_text(column: OutputColumn) -> bool:
    if column.kind == "key":
        # Of typed keys only numbers can begin with a minus, and they are left alone.
        return published_type(column) is ColumnType.STRING
    return column.kind == "text"


def _texts(column: OutputColumn) -> Iterator[str]:
    if column.kind == "number":
        return _decimals(_numbers(column), column.decimals)
    if column.kind == "integer":
        return iter(["" if each is None else str(each) for each in column.values])
    return _labels(column)


def _decimals(values: Iterable[int | None], places: int) -> Iterator[str]:
    last: object = None
    text = ""
    unit = 10**places if places else math.inf
    for value in values:
        if value is not last:  # runs of one object are cheap
            last = value
            if value is None:
                text = ""
            elif value >= unit:  # most numbers, without the care that small ones need
                digits = str(value)
                text = f"{digits[:-places]}.{digits[-places:]}"
            else:
                text = placed(value, places)
        yield text


def _numbers(column: OutputColumn) -> Iterable[int | None]:
    if str in set(map(type, column.values)):
        raise TypeError("a column of numbers holds a text")
    return column.values  # type: ignore[return-value]


def _labels(column: OutputColumn) -> Iterator[str]:
    escape = _is_text(column)
    written: dict[object, str] = {None: ""}  # labels repeat: write each one once
    for each in column.values:
        if each not in written:
            text = str(each)
            written[each] = _field(escaped(text) if escape else text)
        yield written[each]


def _field(text: str) -> str:
    if _QUOTED.search(text):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
