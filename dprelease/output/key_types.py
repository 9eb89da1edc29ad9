"""Types of published key columns: the declared one if every label fits, else text.

Labels are public (they come from the spec), so the type never depends on the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime

from dprelease.model import ColumnType, OutputColumn

KeyValue = int | bool | date | datetime | str

# How the labels of a type are written, and read.
_READERS: Mapping[ColumnType, tuple[str, Callable[[str], KeyValue]]] = {
    ColumnType.INTEGER: (r"-?[0-9]{1,19}|[0-9]{20}", int),
    ColumnType.BOOLEAN: ("true|false", "true".__eq__),
    ColumnType.DATE: (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date.fromisoformat),
    ColumnType.TIMESTAMP: (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?",
        datetime.fromisoformat,
    ),
}
_INT64 = range(-(2**63), 2**63)


def choose_published_type(column: OutputColumn) -> ColumnType:
    """Choose the type of a published key column.

    Args:
        column: A column of labels. They are public, so the type does not depend on the data.

    Returns:
        The declared type if it is INTEGER (64 bits), BOOLEAN, DATE or TIMESTAMP and every label
        fits it, else STRING.
    """
    if column.type not in _READERS:
        return ColumnType.STRING
    return convert_labels(column)[0]


def convert_labels(column: OutputColumn) -> tuple[ColumnType, dict[str, KeyValue]]:
    """Convert the labels of a key column to its published type.

    Args:
        column: A column of labels.

    Returns:
        The published type, and the value of each distinct label other than None.
    """
    distinct = dict.fromkeys(column.values)  # first: labels repeat, and there may be many rows
    labels = dict.fromkeys(str(value) for value in distinct if value is not None)
    if column.type is not None and column.type in _READERS:
        with suppress(ValueError):
            # One label that does not fit makes the column text: a file has one type a column.
            return column.type, {label: _convert_label(label, column.type) for label in labels}
    return ColumnType.STRING, {label: label for label in labels}


def _convert_label(label: str, kind: ColumnType) -> KeyValue:
    form, read = _READERS[kind]
    if re.fullmatch(form, label) is None:
        raise ValueError("another form")
    value = read(label)
    if kind is ColumnType.INTEGER and value not in _INT64:
        raise ValueError("not a 64-bit integer")
    return value
