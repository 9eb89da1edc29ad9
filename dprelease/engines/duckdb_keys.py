"""Labels of private keys: the one text of each typed value, and cells back into labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dprelease.engines.values import parse_value
from dprelease.expressions.sql import SQL_TYPES
from dprelease.expressions.sqltext import Sql, cast, text
from dprelease.model import Group

Labels = tuple[str, ...]


def label_of(value: Any) -> str:
    """The canonical text of a typed value that is not null.

    Integers and dates as they are written, ``true`` and ``false``, a moment with six decimals of a
    second or none, a double as the shortest decimal that means it, without exponent.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _plain(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else str(value)


def _plain(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return str(value)
    if value.is_integer():
        return str(int(Decimal(repr(value))))
    return format(Decimal(repr(value)), "f")


def null_key(group: Group) -> Sql | None:
    """The value whose text is the null label, if there is one: nulls share its cell."""
    value = parse_value(group.null_label, group.type)
    if group.null_label is None or value is None or label_of(value) != group.null_label:
        return None
    return cast(text(group.null_label), SQL_TYPES[group.type])


def labeller(groups: Sequence[Group]) -> Callable[[int, Sequence[Any]], Labels]:
    """A function that gives the labels of a cell: of its number and its values of private keys.

    The number is row-major over the groups that are not private.
    """

    def labels(cell: int, values: Sequence[Any]) -> Labels:
        found: list[str] = []
        left = list(values)
        for group in reversed(groups):
            if group.private:
                value = left.pop()
                found.append((group.null_label or "") if value is None else label_of(value))
            else:
                cell, place = divmod(cell, len(group.labels))
                found.append(group.labels[place])
        return tuple(reversed(found))

    return labels
