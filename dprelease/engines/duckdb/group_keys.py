"""Keys of groups: which texts are one key, the one text of each typed value, cells back to labels.

What becomes of texts is said in ``key_texts``; here it is in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dprelease.engines.common.key_normalization import (
    BEGINNING,
    CONTROLS,
    ELLIPSIS,
    LONGEST_KEY,
    LONGEST_TEXT,
    REPLACEMENT,
    SIMPLE,
)
from dprelease.engines.common.text_values import parse_value
from dprelease.expressions.sql import SQL_TYPES
from dprelease.expressions.sqltext import Sql, binary, call, case, cast, number, text
from dprelease.model import ColumnType, Group

Labels = tuple[str, ...]


def one_line(value: Sql) -> Sql:
    """The private key of a text: see ``key_texts``.

    Most texts are short and plain, which is quickly seen: bytes are written as text with an escape
    for each that isn't printable ASCII. The next quickest are those of simple characters.
    """
    length, encoded = call("STRLEN", value), cast(call("ENCODE", value), "VARCHAR")
    plain = binary(call("STRLEN", encoded), "=", length)
    short = binary(length, "<=", number(LONGEST_KEY))  # so many bytes are no more characters
    # Controls go first: DuckDB's normal form ends at a NUL.
    shown = call("REGEXP_REPLACE", value, text(CONTROLS), text(REPLACEMENT), text("g"))
    in_form = call("NFC_NORMALIZE", shown)
    whole = case([(_longer(value, LONGEST_TEXT), shown)], in_form)
    beginning = call("LEFT", whole, number(BEGINNING))
    cut = binary(binary(beginning, "||", text(ELLIPSIS)), "||", call("SHA256", whole))
    long = case([(_longer(whole, LONGEST_KEY), cut)], whole)
    pairs = [
        (binary(short, "AND", plain), value),
        (binary(short, "AND", _simple(value)), value),
        (short, in_form),
    ]
    return case(pairs, long)


def normal(value: Sql) -> Sql:
    """What a text is compared by where keys are declared: see ``key_texts``.

    A text with a NUL is no declared key, and DuckDB's normal form would end there.
    """
    ascii_ = binary(call("STRLEN", value), "=", call("LENGTH", value))
    nul = call("CONTAINS", value, call("CHR", number(0)))
    alone = binary(nul, "OR", _longer(value, LONGEST_TEXT))
    return case(
        [(ascii_, value), (_simple(value), value), (alone, value)], call("NFC_NORMALIZE", value)
    )


def _simple(value: Sql) -> Sql:
    return call("REGEXP_FULL_MATCH", value, text(SIMPLE))


def _longer(value: Sql, most: int) -> Sql:
    """Whether a text has more characters; texts with no more bytes aren't counted through."""
    longer = [binary(call(name, value), ">", number(most)) for name in ("STRLEN", "LENGTH")]
    return binary(longer[0], "AND", longer[1])


def key_of(group: Group, value: Sql) -> Sql:
    """The key of a typed value of the group's column that is not null, if it isn't binned."""
    if group.type is not ColumnType.STRING:
        return value
    return one_line(value) if group.private else normal(value)


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
    """The key whose text is the null label, if there is one: nulls share its cell."""
    value = parse_value(group.null_label, group.type)
    if group.null_label is None or value is None or label_of(value) != group.null_label:
        return None
    return key_of(group, cast(text(group.null_label), SQL_TYPES[group.type]))


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
