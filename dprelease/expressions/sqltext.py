"""SQL as text, from parts that can't leave their place.

Only this module makes ``Sql`` of text. A name of any content goes in through ``col``, a value
through ``literal``, and stays a name or a value; types and operators are from short lists; the
names of functions are written in the code. Operators stand in parentheses, so that no precedence
matters. DuckDB knows no escapes within quotes but the doubled quote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

Kind = Literal[
    "BIGINT", "BIT", "BOOLEAN", "DATE", "DOUBLE", "HUGEINT", "INTEGER", "TIMESTAMP",
    "TIMESTAMPTZ", "UBIGINT", "VARCHAR",
]  # fmt: skip
Operator = Literal[
    "+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE",
    "//", "<<", ">>", "&", "|", "IS NOT DISTINCT FROM",
]  # fmt: skip
Join = Literal["CROSS JOIN", "LEFT JOIN"]


def operator(name: Operator) -> Callable[[Sql, Value], Sql]:
    """What puts an operator between two values, in parentheses."""
    return lambda first, second: Sql(f"({first} {name} {literal(second)})")


class Sql:
    """An expression, a relation or a statement, complete in itself; ``str`` gives its text.

    Python's operators make those of SQL; ``&``, ``|`` and ``~`` are AND, OR and NOT, and ``==`` is
    none of them. A value of Python beside an expression is a literal: see ``literal``.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        raise TypeError("what SQL says is true in the database alone")

    # --- expressions -----------------------------------------------------------------------------

    __add__, __sub__, __mul__ = operator("+"), operator("-"), operator("*")
    __truediv__, __floordiv__, __mod__ = operator("/"), operator("//"), operator("%")
    __lshift__, __rshift__ = operator("<<"), operator(">>")
    __lt__, __le__, __gt__, __ge__ = operator("<"), operator("<="), operator(">"), operator(">=")
    __and__, __or__ = operator("AND"), operator("OR")
    equals, differs, same = operator("="), operator("<>"), operator("IS NOT DISTINCT FROM")
    concat, bits_and, bits_or = operator("||"), operator("&"), operator("|")

    def __invert__(self) -> Sql:
        return Sql(f"(NOT {self})")

    def __neg__(self) -> Sql:
        return Sql(f"(-({self}))")  # two signs never meet, which would begin a comment

    def is_null(self) -> Sql:
        """``self IS NULL``."""
        return Sql(f"({self} IS NULL)")

    def not_null(self) -> Sql:
        """Whether there is a value."""
        return ~self.is_null()

    def between(self, low: Value, high: Value) -> Sql:
        """``self BETWEEN low AND high``."""
        return Sql(f"({self} BETWEEN {literal(low)} AND {literal(high)})")

    def cast(self, kind: Kind) -> Sql:
        """``CAST(self AS kind)``."""
        return Sql(f"CAST({self} AS {kind})")

    def try_cast(self, kind: Kind) -> Sql:
        """``TRY_CAST(self AS kind)``: null where the value can't be converted."""
        return Sql(f"TRY_CAST({self} AS {kind})")

    def alias(self, name: str) -> Sql:
        """``self AS name``."""
        return Sql(f"{self} AS {col(name)}")

    def filter(self, condition: Sql) -> Sql:
        """An aggregate over the rows where the condition is true."""
        return Sql(f"{self} FILTER (WHERE {condition})")

    def over(self, partition: Sequence[Sql], order: Sequence[Sql] = ()) -> Sql:
        """A function over the rows of a partition, or over all, in order."""
        parts = [f"PARTITION BY {_join_values(partition)}"] if partition else []
        parts += [f"ORDER BY {_join_values(order)}"] if order else []
        return Sql(f"{self} OVER ({' '.join(parts)})")

    def nulls_first(self) -> Sql:
        """A value to order by, nulls before all others."""
        return Sql(f"{self} NULLS FIRST")

    # --- relations and queries -------------------------------------------------------------------

    def select(
        self,
        columns: Iterable[Sql],
        group: Sequence[Sql] = (),
        limit: int | None = None,
        where: Sql | None = None,
    ) -> Sql:
        """A query of the relation, grouped if there is something to group by."""
        query = f"SELECT {_join_values(columns)} FROM {self}"  # noqa: S608 - all parts are Sql
        if where is not None:
            query += f" WHERE {where}"
        if group:
            query += f" GROUP BY {_join_values(group)}"
        return Sql(query if limit is None else f"{query} LIMIT {literal(limit)}")

    def subquery(self, name: str, columns: Sequence[str] = ()) -> Sql:
        """The rows of a query as a relation, with other names of its columns if they are given."""
        names = f"({_join_values(map(col, columns))})" if columns else ""
        return Sql(f"({self}) AS {col(name)}{names}")

    def layer(self, columns: Mapping[str, Value], keep: bool = True) -> Sql:
        """``(SELECT *, expression AS name ... FROM self)``; without ``keep`` only what is new."""
        new = [literal(value).alias(key) for key, value in columns.items()]
        return self.select([STAR, *new] if keep else new).subquery("inside")

    def replace_column(self, key: str, value: Value) -> Sql:
        """The same rows with column ``key`` computed anew."""
        return self.select([Sql(f"* REPLACE ({literal(value).alias(key)})")]).subquery("inside")

    def only(self, condition: Sql | None) -> Sql:
        """The rows for which the condition is true; all of them if there is none."""
        if condition is None:
            return self
        return self.select([STAR], where=condition).subquery("inside")

    def join(self, kind: Join, table: Sql, on: Sql | None = None) -> Sql:
        """Two relations as one."""
        return Sql(f"{self} {kind} {table}" if on is None else f"{self} {kind} {table} ON {on}")

    def create(self, name: str) -> Sql:
        """A statement that keeps a query's rows in a table of the connection, replacing one."""
        return Sql(f"CREATE OR REPLACE TEMP TABLE {col(name)} AS {self}")

    def insert(self, name: str) -> Sql:
        """A statement that adds the rows of a query to such a table."""
        return Sql(f"INSERT INTO {col(name)} {self}")


Value = Sql | bool | int | float | str

NULL, STAR, COUNT_ALL = Sql("NULL"), Sql("*"), Sql("COUNT(*)")


def col(name: str, table: str | None = None) -> Sql:
    """A name, whatever its characters, with that of its table before it if there is one."""
    quoted = '"' + name.replace('"', '""') + '"'
    return Sql(quoted) if table is None else Sql(f"{col(table)}.{quoted}")


def literal(value: Value) -> Sql:
    """A constant: a BOOLEAN, an integer, a DOUBLE bit for bit (also inf and nan), or a text.

    SQL is handed on as it is.
    """
    if isinstance(value, Sql):
        return value
    if isinstance(value, str):
        return Sql("'" + value.replace("'", "''") + "'")
    if isinstance(value, bool):
        return Sql("TRUE" if value else "FALSE")
    if isinstance(value, int):
        return Sql(format(value, "d"))
    return literal(repr(value)).cast("DOUBLE")


def call(name: str, *args: Value) -> Sql:
    """A function call."""
    return Sql(f"{name}({_join_values(args)})")


def case(pairs: Iterable[tuple[Sql, Value]], default: Value | None = None) -> Sql:
    """``CASE WHEN condition THEN value ... ELSE default END``; null without a default."""
    branches = " ".join(f"WHEN {condition} THEN {literal(value)}" for condition, value in pairs)
    last = "" if default is None else f" ELSE {literal(default)}"
    return Sql(f"CASE {branches}{last} END")


def array(values: Iterable[Value]) -> Sql:
    """A list of values."""
    return Sql(f"[{_join_values(values)}]")


def struct(fields: Mapping[str, Value]) -> Sql:
    """Named values."""
    members = (f"{literal(name)}: {literal(value)}" for name, value in fields.items())
    return Sql("{" + ", ".join(members) + "}")


def option(name: str, value: Value) -> Sql:
    """A named argument of a table function."""
    return Sql(f"{col(name)} = {literal(value)}")


def is_in(value: Sql, options: Iterable[Value]) -> Sql:
    """``value IN (options)``."""
    return Sql(f"({value} IN ({_join_values(options)}))")


def distinct(value: Sql) -> Sql:
    """``COUNT(DISTINCT value)``: how many values there are, nulls not counted."""
    return Sql(f"COUNT(DISTINCT {value})")


def drop(name: str) -> Sql:
    """A statement that forgets a table of the connection, if there is one."""
    return Sql(f"DROP TABLE IF EXISTS {col(name)}")


def _join_values(values: Iterable[Value]) -> str:
    return ", ".join(str(literal(value)) for value in values)
