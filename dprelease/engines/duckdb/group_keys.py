"""Groups in SQL: the key of a value, the position of its label, and a cell's labels.

What becomes of texts is said in ``key_normalization``. Declared keys are looked up in tables
``keys0..`` (columns ``v``, ``i``), bins by binary search in the lists of edges of tables
``edges0..``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

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
from dprelease.expressions.sqltext import (
    NULL,
    Sql,
    between,
    binary,
    call,
    case,
    cast,
    identifier,
    indexed,
    is_null,
    join,
    layer,
    no,
    number,
    replaced,
    text,
    try_cast,
)
from dprelease.model import NUMERIC_TYPES, ColumnType, Group

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Labels = tuple[str, ...]


def one_line(value: Sql) -> Sql:
    """The private key of a text: see ``key_normalization``.

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
    """What a text is compared by where keys are declared: see ``key_normalization``.

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
        texts: list[str] = []
        remaining = list(values)
        for group in reversed(groups):
            if group.private:
                value = remaining.pop()
                texts.append((group.null_label or "") if value is None else label_of(value))
            else:
                cell, place = divmod(cell, len(group.labels))
                texts.append(group.labels[place])
        return tuple(reversed(texts))

    return labels


def put_labels(connection: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Tables of declared keys and edges, typed."""
    for index, group in enumerate(groups):
        if group.edges is not None:
            kind = "DOUBLE" if group.type in NUMERIC_TYPES else SQL_TYPES[group.type]
            connection.execute(
                f"CREATE TEMP TABLE edges{index} AS SELECT CAST($1 AS {kind}[]) AS e{index}",
                [list(group.edges)],
            )
        elif not group.private:
            # Two texts of one key would count a record twice: the first one has it.
            key = key_of(group, try_cast(identifier("t"), SQL_TYPES[group.type]))
            connection.execute(
                f"CREATE TEMP TABLE keys{index} AS SELECT v, MIN(i) AS i FROM ("  # noqa: S608
                f"SELECT {key} AS v, i FROM ("
                "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE($2)) AS i)"
                ") GROUP BY v",
                [list(group.keys or ()), len(group.keys or ())],
            )


def look_up(source: Sql, groups: Sequence[Group]) -> Sql:
    """The rows beside what the tables of keys say of them."""
    for index, group in enumerate(groups):
        if group.edges is None and not group.private:
            keys = f"keys{index}"
            match = binary(identifier("v", keys), "=", indexed("g", index))
            source = join(source, "LEFT JOIN", identifier(keys), match)
    return source


def numbered(groups: Sequence[Group], places: Sequence[int]) -> Sql:
    """Row-major number of the labels of the groups at ``places``; NULL if one has none.

    A private group adds nothing to the number, but it has no label for a null without a null label.
    """
    total = number(0)
    present: Sql | None = None
    for index in places:
        group = groups[index]
        if group.private:
            if group.null_label is None:
                some = indexed("s", index)
                present = some if present is None else binary(present, "AND", some)
            continue
        scaled = binary(total, "*", number(len(group.labels)))
        total = binary(scaled, "+", place_of_label(index, group))
    total = cast(total, "BIGINT")
    return total if present is None else case([(present, total)])


def place_of_label(index: int, group: Group) -> Sql:
    """Position of the record's label in the group, or NULL."""
    value = indexed("g", index)
    if group.edges is not None:
        return value
    position = identifier("i", f"keys{index}")
    pairs = [(is_null(value), _null_label(group)), (no(is_null(position)), position)]
    return case(pairs, _other_label(group))


def binned(query: Sql, index: int, group: Group, place: int) -> Sql:
    """Add ``b``: the label's position of the bin, ``other`` or null label that a value takes.

    Binary search by halving steps over the list of lower edges, which ``edges<index>`` holds.
    """
    letter = "n" if group.type in NUMERIC_TYPES else "v"
    value, bins = indexed(letter, place), len(group.edges or ()) - 1
    query = layer(join(query, "CROSS JOIN", identifier(f"edges{index}")), {})
    query = layer(query, {f"b{index}": number(0)})
    edges, bin_place = indexed("e", index), indexed("b", index)
    step = 1 << max(bins - 1, 0).bit_length()
    while step := step // 2:
        ahead = binary(bin_place, "+", number(step))
        edge = call("LIST_EXTRACT", edges, binary(ahead, "+", number(1)))
        further = binary(binary(ahead, "<", number(bins)), "AND", binary(value, ">=", edge))
        query = replaced(query, f"b{index}", case([(further, ahead)], bin_place))
    first = call("LIST_EXTRACT", edges, number(1))
    last = call("LIST_EXTRACT", edges, number(bins + 1))
    pairs = [(is_null(value), _null_label(group)), (between(value, first, last), bin_place)]
    return replaced(query, f"b{index}", case(pairs, _other_label(group)))


def _null_label(group: Group) -> Sql:
    """Position of the label that nulls take, or NULL."""
    label = group.null_label
    return NULL if label is None else number(group.labels.index(label))


def _other_label(group: Group) -> Sql:
    """Position of the label that undeclared values take, or NULL."""
    return NULL if group.other is None else number(group.labels.index(group.other))
