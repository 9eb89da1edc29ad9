"""Types of published key columns: the declared one if every label fits, else text.

Labels are public (they come from the spec), so the type never depends on the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime

from dprelease.model import ColumnType, OutputColumn

KeyValue = int | bool | date | datetime | str

_INTEGER = re.compile(r"-?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?")
_INT64 = range(-(2**63), 2**63)


def published_type(column: OutputColumn) -> ColumnType:
    """INTEGER (64 bits), BOOLEAN, DATE or TIMESTAMP where all labels fit it, else STRING."""
    if column.type not in _READERS:
        return ColumnType.STRING
    return typed_labels(column)[0]


def typed_labels(column: OutputColumn) -> tuple[ColumnType, dict[str, KeyValue]]:
    """The published type, and the value of each distinct label (None left out)."""
    distinct = dict.fromkeys(column.values)  # first: labels repeat, and there may be many rows
    labels = dict.fromkeys(str(value) for value in distinct if value is not None)
    reader = _READERS.get(column.type) if column.type else None
    if column.type is None or reader is None:
        return ColumnType.STRING, {label: label for label in labels}
    try:
        return column.type, {label: reader(label) for label in labels}
    except ValueError:
        return ColumnType.STRING, {label: label for label in labels}


def _integer(label: str) -> int:
    if _INTEGER.fullmatch(label) is None or len(label) > 20 or int(label) not in _INT64:
        raise ValueError("not a 64-bit integer")
    return int(label)


def _boolean(label: str) -> bool:
    if label not in ("true", "false"):
        raise ValueError("not a boolean")
    return label == "true"


def _date(label: str) -> date:
    if _DATE.fullmatch(label) is None:
        raise ValueError("not a date")
    return date.fromisoformat(label)


def _timestamp(label: str) -> datetime:
    if _TIMESTAMP.fullmatch(label) is None:
        raise ValueError("not a timestamp")
    return datetime.fromisoformat(label)


_READERS: Mapping[ColumnType, Callable[[str], KeyValue]] = {
    ColumnType.INTEGER: _integer,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.DATE: _date,
    ColumnType.TIMESTAMP: _timestamp,
}
