"""SQL as text, from parts that can't leave their place.

Only this module makes ``Sql`` of text. A name or a text of any content goes in through
``identifier`` or ``text`` and stays a name or a text; types and operators are from short lists; the
names of functions are written in the code. Operators stand in parentheses, so that no precedence
matters. DuckDB knows no escapes within quotes but the doubled quote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NewType

Sql = NewType("Sql", str)
"""An expression, a relation or a statement, complete in itself."""

Kind = Literal[
    "BIGINT", "BIT", "BOOLEAN", "DATE", "DOUBLE", "HUGEINT", "INTEGER", "TIMESTAMP", "UBIGINT",
    "VARCHAR",
]  # fmt: skip
Operator = Literal[
    "+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE",
    "//", "<<", ">>", "&", "|", "IS NOT DISTINCT FROM",
]  # fmt: skip
Join = Literal["CROSS JOIN", "LEFT JOIN"]

NULL, TRUE, FALSE = Sql("NULL"), Sql("TRUE"), Sql("FALSE")
STAR = Sql("*")
COUNT_ALL = Sql("COUNT(*)")


def identifier(name: str, table: str | None = None) -> Sql:
    """A name, whatever its characters, with that of its table before it if there is one."""
    quoted = '"' + name.replace('"', '""') + '"'
    return Sql(quoted) if table is None else Sql(f"{identifier(table)}.{quoted}")


def text(value: str) -> Sql:
    """A string literal."""
    return Sql("'" + value.replace("'", "''") + "'")


def number(value: int) -> Sql:
    """An integer literal."""
    return Sql(format(value, "d"))


def double(value: float) -> Sql:
    """A DOUBLE constant, bit for bit (also inf and nan)."""
    return cast(text(repr(value)), "DOUBLE")


def truth(value: bool) -> Sql:
    """A BOOLEAN constant."""
    return TRUE if value else FALSE


def call(name: str, *args: Sql) -> Sql:
    """A function call."""
    return Sql(f"{name}({', '.join(args)})")


def cast(value: Sql, kind: Kind) -> Sql:
    """``CAST(value AS kind)``."""
    return Sql(f"CAST({value} AS {kind})")


def try_cast(value: Sql, kind: Kind) -> Sql:
    """``TRY_CAST(value AS kind)``: null where the value can't be converted."""
    return Sql(f"TRY_CAST({value} AS {kind})")


def binary(first: Sql, operator: Operator, second: Sql) -> Sql:
    """Two values and what is between them, in parentheses."""
    return Sql(f"({first} {operator} {second})")


def negative(value: Sql) -> Sql:
    """The value with its sign changed; two signs never meet, which would begin a comment."""
    return Sql(f"(-({value}))")


def no(value: Sql) -> Sql:
    """``NOT value``."""
    return Sql(f"(NOT {value})")


def is_null(value: Sql) -> Sql:
    """``value IS NULL``."""
    return Sql(f"({value} IS NULL)")


def between(value: Sql, low: Sql, high: Sql) -> Sql:
    """``value BETWEEN low AND high``."""
    return Sql(f"({value} BETWEEN {low} AND {high})")


def within(value: Sql, options: Iterable[Sql]) -> Sql:
    """``value IN (options)``."""
    return Sql(f"({value} IN ({', '.join(options)}))")


def case(pairs: Iterable[tuple[Sql, Sql]], default: Sql | None = None) -> Sql:
    """``CASE WHEN condition THEN value ... ELSE default END``; null without a default."""
    branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return Sql(f"CASE {branches} END" if default is None else f"CASE {branches} ELSE {default} END")


def array(values: Iterable[Sql]) -> Sql:
    """A list of values."""
    return Sql(f"[{', '.join(values)}]")


def struct(fields: Iterable[tuple[str, Sql]]) -> Sql:
    """Named values."""
    return Sql("{" + ", ".join(f"{text(name)}: {value}" for name, value in fields) + "}")


def option(name: str, value: Sql) -> Sql:
    """A named argument of a table function."""
    return Sql(f"{identifier(name)} = {value}")


def alias(value: Sql, name: str) -> Sql:
    """``value AS name``."""
    return Sql(f"{value} AS {identifier(name)}")


def filtered(value: Sql, condition: Sql) -> Sql:
    """An aggregate over the rows where the condition is true."""
    return Sql(f"{value} FILTER (WHERE {condition})")


def distinct(value: Sql) -> Sql:
    """``COUNT(DISTINCT value)``: how many values there are, nulls not counted."""
    return Sql(f"COUNT(DISTINCT {value})")


def over(value: Sql, partition: Sequence[Sql], order: Sequence[Sql] = ()) -> Sql:
    """A function over the rows of a partition, or over all, in order."""
    parts = f"PARTITION BY {', '.join(partition)}" if partition else ""
    in_order = f"ORDER BY {', '.join(order)}" if order else ""
    return Sql(f"{value} OVER ({' '.join(filter(None, (parts, in_order)))})")


def nulls_first(value: Sql) -> Sql:
    """A value to order by, nulls before all others."""
    return Sql(f"{value} NULLS FIRST")


def lambda_of(names: Sequence[str], value: Sql) -> Sql:
    """A function of an element of a list and, if there is a second name, of its place from 1."""
    return Sql(f"LAMBDA {', '.join(identifier(name) for name in names)}: {value}")


def select(
    columns: Iterable[Sql],
    source: Sql,
    group: Sequence[Sql] = (),
    limit: int | None = None,
    where: Sql | None = None,
) -> Sql:
    """A query of the relation ``source``, grouped if there is something to group by."""
    made = f"SELECT {', '.join(columns)} FROM {source}"  # noqa: S608 - all parts are Sql
    if where is not None:
        made += f" WHERE {where}"
    if group:
        made += f" GROUP BY {', '.join(group)}"
    return Sql(made if limit is None else f"{made} LIMIT {number(limit)}")


def subquery(query: Sql, name: str) -> Sql:
    """The rows of a query as a relation."""
    return Sql(f"({query}) AS {identifier(name)}")


def indexed(letter: str, index: int) -> Sql:
    """The column ``<letter><index>``: such names are of our own making."""
    return identifier(f"{letter}{index}")


def layer(inner: Sql, columns: Mapping[str, Sql], keep: bool = True) -> Sql:
    """``(SELECT *, expression AS name ... FROM inner)``; without ``keep`` only the new columns."""
    new = [alias(value, key) for key, value in columns.items()]
    return subquery(select([STAR, *new] if keep else new, inner), "inside")


def replaced(inner: Sql, key: str, value: Sql) -> Sql:
    """The same rows with column ``key`` computed anew."""
    return subquery(select([Sql(f"* REPLACE ({alias(value, key)})")], inner), "inside")


def only(inner: Sql, condition: Sql | None) -> Sql:
    """The rows for which the condition is true; all of them if there is none."""
    if condition is None:
        return inner
    return subquery(select([STAR], inner, where=condition), "inside")


def join(source: Sql, kind: Join, table: Sql, on: Sql | None = None) -> Sql:
    """Two relations as one."""
    return Sql(f"{source} {kind} {table}" if on is None else f"{source} {kind} {table} ON {on}")


def create(name: str, query: Sql) -> Sql:
    """A statement that keeps the rows of a query in a table of the connection, replacing one."""
    return Sql(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {query}")


def drop(name: str) -> Sql:
    """A statement that forgets such a table, if there is one."""
    return Sql(f"DROP TABLE IF EXISTS {identifier(name)}")


def insert(name: str, query: Sql) -> Sql:
    """A statement that adds the rows of a query to such a table."""
    return Sql(f"INSERT INTO {identifier(name)} {query}")
