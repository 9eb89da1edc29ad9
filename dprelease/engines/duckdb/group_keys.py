"""Groups in SQL: the key of a value, the position of its label, and a cell's labels.

``key_normalization`` says how a text becomes a private key. Declared keys are looked up in tables
``keys0..`` (key ``v``, position of its label ``i``); bins are found by binary search in the lists
of edges of tables ``edges0..``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from dprelease.expressions.normal_form import (
    LONGEST_TEXT,
    build_normal_form,
    is_longer,
    is_simple,
    normalize_text,
)
from dprelease.expressions.sqltext import NULL, Sql, Value, call, case, col, literal
from dprelease.expressions.typed_texts import SQL_TYPES
from dprelease.model import NUMERIC_TYPES, ColumnType, Group
from dprelease.sources.shared.key_normalization import (
    BEGINNING,
    CONTROLS,
    ELLIPSIS,
    LONGEST_KEY,
    REPLACEMENT,
)
from dprelease.sources.shared.text_values import parse_value

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Labels = tuple[str, ...]


def write_one_line(value: Sql) -> Sql:
    """Compute the private key of a text: see ``key_normalization``."""
    # Most texts are short and printable ASCII, which is cheap to detect: DuckDB writes bytes as a
    # text, with an escape for all that isn't. Texts of simple characters are the next cheapest.
    length, encoded = call("STRLEN", value), call("ENCODE", value).cast("VARCHAR")
    plain = call("STRLEN", encoded).equals(length)
    short = length <= LONGEST_KEY  # a text has no more characters than bytes
    # Normalize again: a text with a NUL was left as it is.
    text = call("REGEXP_REPLACE", value, CONTROLS, REPLACEMENT, "g")
    in_form = build_normal_form(text)
    whole = case([(is_longer(value, LONGEST_TEXT), text)], in_form)
    cut = call("LEFT", whole, BEGINNING).concat(ELLIPSIS).concat(call("SHA256", whole))
    long = case([(is_longer(whole, LONGEST_KEY), cut)], whole)
    return case([(short & plain, value), (short & is_simple(value), value), (short, in_form)], long)


def compute_key(group: Group, value: Sql) -> Sql:
    """Compute the key of a value that is not null, for a group without bins."""
    return write_one_line(value) if group.private and group.type is ColumnType.STRING else value


def format_label(value: Any) -> str:
    """Write the canonical text of a typed value that is not null.

    Integers are decimal, booleans ``true`` and ``false``, dates in ISO form. Timestamps have six
    decimals of a second or none. A double is the shortest decimal that is read as the same double,
    without exponent.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return str(value)
        decimal = Decimal(repr(value))
        return str(int(decimal)) if value.is_integer() else format(decimal, "f")
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else str(value)


def find_null_key(group: Group) -> Sql | None:
    """Find the key whose label is the null label, if any: nulls share its cell."""
    value = parse_value(group.null_label, group.type)
    if group.null_label is None or value is None or format_label(value) != group.null_label:
        return None
    return compute_key(group, build_constant(literal(group.null_label), group.type))


def build_constant(text: Sql, kind: ColumnType) -> Sql:
    """Convert a canonical text of the spec to its typed value."""
    return normalize_text(text) if kind is ColumnType.STRING else text.try_cast(SQL_TYPES[kind])


def build_labeller(groups: Sequence[Group]) -> Callable[[int, Sequence[Any]], Labels]:
    """Build a function from a cell's number and its private keys to its labels.

    The number is row-major over the groups that are not private.
    """

    def list_labels(cell: int, values: Sequence[Any]) -> Labels:
        texts: list[str] = []
        remaining = list(values)
        for group in reversed(groups):
            if group.private:
                value = remaining.pop()
                texts.append((group.null_label or "") if value is None else format_label(value))
            else:
                cell, place = divmod(cell, len(group.labels))
                texts.append(group.labels[place])
        return tuple(reversed(texts))

    return list_labels


def put_labels(connection: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Create the tables of declared keys and of edges, with typed values."""
    for index, group in enumerate(groups):
        if group.edges is not None:
            kind = "DOUBLE" if group.type in NUMERIC_TYPES else SQL_TYPES[group.type]
            connection.execute(
                f"CREATE TEMP TABLE edges{index} AS SELECT CAST($1 AS {kind}[]) AS e{index}",
                [list(group.edges)],
            )
        elif not group.private:
            # Two texts with one key would count a record twice, so the first text takes it.
            key = compute_key(group, build_constant(col("t"), group.type))
            connection.execute(
                f"CREATE TEMP TABLE keys{index} AS SELECT v, MIN(i) AS i FROM ("  # noqa: S608
                f"SELECT {key} AS v, i FROM ("
                "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE($2)) AS i)"
                ") GROUP BY v",
                [list(group.keys or ()), len(group.keys or ())],
            )


def look_up(source: Sql, groups: Sequence[Group]) -> Sql:
    """Join the rows with the tables of declared keys."""
    for index, group in enumerate(groups):
        if group.edges is None and not group.private:
            match = col("v", f"keys{index}").equals(col(f"g{index}"))
            source = source.join("LEFT JOIN", col(f"keys{index}"), match)
    return source


def number_labels(groups: Sequence[Group], places: Sequence[int]) -> Sql:
    """Number a record's labels in the groups at ``places``, row-major; NULL if one has no label.

    A private group adds nothing to the number; it has no label for a null without a null label.
    """
    total = literal(0)
    present: list[Sql] = []
    for index in places:
        group = groups[index]
        if group.private:
            present += [col(f"s{index}")] if group.null_label is None else []
        else:
            total = total * len(group.labels) + find_label(index, group)
    total = total.cast("BIGINT")
    return case([(reduce(operator.and_, present), total)]) if present else total


def find_label(index: int, group: Group) -> Sql:
    """Find the position of the record's label in the group, or NULL."""
    value = col(f"g{index}")
    if group.edges is not None:
        return value
    position = col("i", f"keys{index}")
    pairs = [(value.is_null(), _place(group.null_label, group)), (position.not_null(), position)]
    return case(pairs, _place(group.other, group))


def add_bin(query: Sql, index: int, group: Group, place: int) -> Sql:
    """Add ``b``: the position of the label that a value takes, of a bin, of ``other`` or of null.

    It is found by binary search with halving steps in the list of edges of ``edges<index>``.
    """
    letter = "n" if group.type in NUMERIC_TYPES else "v"
    value, bins = col(f"{letter}{place}"), len(group.edges or ()) - 1
    query = query.join("CROSS JOIN", col(f"edges{index}")).layer({}).layer({f"b{index}": 0})
    edges, bin_place = col(f"e{index}"), col(f"b{index}")
    step = 1 << max(bins - 1, 0).bit_length()
    while step := step // 2:
        ahead = bin_place + step
        further = (ahead < bins) & (value >= call("LIST_EXTRACT", edges, ahead + 1))
        query = query.replace_column(f"b{index}", case([(further, ahead)], bin_place))
    first, last = (call("LIST_EXTRACT", edges, place) for place in (1, bins + 1))
    pairs = [
        (value.is_null(), _place(group.null_label, group)),
        (value.between(first, last), bin_place),
    ]
    return query.replace_column(f"b{index}", case(pairs, _place(group.other, group)))


def _place(label: str | None, group: Group) -> Value:
    """Find the position of the null label or of ``other``; NULL if the group has none."""
    return NULL if label is None else group.labels.index(label)
