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
    """Return a function that puts the operator between two values, in parentheses."""
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
        """Build ``self IS NULL``."""
        return Sql(f"({self} IS NULL)")

    def not_null(self) -> Sql:
        """``NOT (self IS NULL)``."""
        return ~self.is_null()

    def between(self, low: Value, high: Value) -> Sql:
        """Build ``self BETWEEN low AND high``."""
        return Sql(f"({self} BETWEEN {literal(low)} AND {literal(high)})")

    def cast(self, kind: Kind) -> Sql:
        """``CAST(self AS kind)``."""
        return Sql(f"CAST({self} AS {kind})")

    def try_cast(self, kind: Kind) -> Sql:
        """``TRY_CAST(self AS kind)``: null where the value can't be converted."""
        return Sql(f"TRY_CAST({self} AS {kind})")

    def alias(self, name: str) -> Sql:
        """Build ``self AS name``."""
        return Sql(f"{self} AS {col(name)}")

    def filter(self, condition: Sql) -> Sql:
        """Build ``self FILTER (WHERE condition)``, of an aggregate."""
        return Sql(f"{self} FILTER (WHERE {condition})")

    def over(self, partition: Sequence[Sql], order: Sequence[Sql] = ()) -> Sql:
        """Build ``self OVER (PARTITION BY ... ORDER BY ...)``, of a window function."""
        parts = [f"PARTITION BY {_join_values(partition)}"] if partition else []
        parts += [f"ORDER BY {_join_values(order)}"] if order else []
        return Sql(f"{self} OVER ({' '.join(parts)})")

    def nulls_first(self) -> Sql:
        """Build ``self NULLS FIRST``, in an ORDER BY."""
        return Sql(f"{self} NULLS FIRST")

    # --- relations and queries -------------------------------------------------------------------

    def select(
        self,
        columns: Iterable[Sql],
        group: Sequence[Sql] = (),
        limit: int | None = None,
        where: Sql | None = None,
    ) -> Sql:
        """Select columns from this relation.

        Args:
            columns: Expressions to select.
            group: Expressions of GROUP BY; none for no grouping.
            limit: Most rows; None for all.
            where: Condition; None for all rows.
        """
        query = f"SELECT {_join_values(columns)} FROM {self}"  # noqa: S608 - all parts are Sql
        if where is not None:
            query += f" WHERE {where}"
        if group:
            query += f" GROUP BY {_join_values(group)}"
        return Sql(query if limit is None else f"{query} LIMIT {literal(limit)}")

    def subquery(self, name: str, columns: Sequence[str] = ()) -> Sql:
        """Turn a query into a relation; ``columns`` rename its columns if given."""
        names = f"({_join_values(map(col, columns))})" if columns else ""
        return Sql(f"({self}) AS {col(name)}{names}")

    def layer(self, columns: Mapping[str, Value], keep: bool = True) -> Sql:
        """Build ``(SELECT *, expression AS name ... FROM self)``; not ``keep`` drops old ones."""
        new = [literal(value).alias(key) for key, value in columns.items()]
        return self.select([STAR, *new] if keep else new).subquery("inside")

    def replace_column(self, key: str, value: Value) -> Sql:
        """Compute the column ``key`` anew and keep all others."""
        return self.select([Sql(f"* REPLACE ({literal(value).alias(key)})")]).subquery("inside")

    def only(self, condition: Sql | None) -> Sql:
        """Keep the rows for which the condition is true; all of them without a condition."""
        if condition is None:
            return self
        return self.select([STAR], where=condition).subquery("inside")

    def join(self, kind: Join, table: Sql, on: Sql | None = None) -> Sql:
        """Join two relations."""
        return Sql(f"{self} {kind} {table}" if on is None else f"{self} {kind} {table} ON {on}")

    def create(self, name: str) -> Sql:
        """``CREATE OR REPLACE TEMP TABLE name AS self``."""
        return Sql(f"CREATE OR REPLACE TEMP TABLE {col(name)} AS {self}")

    def insert(self, name: str) -> Sql:
        """``INSERT INTO name self``."""
        return Sql(f"INSERT INTO {col(name)} {self}")


Value = Sql | bool | int | float | str

NULL, STAR, COUNT_ALL = Sql("NULL"), Sql("*"), Sql("COUNT(*)")


def col(name: str, table: str | None = None) -> Sql:
    """Quote a name of any content, after the name of its table if given."""
    quoted = '"' + name.replace('"', '""') + '"'
    return Sql(quoted) if table is None else Sql(f"{col(table)}.{quoted}")


def literal(value: Value) -> Sql:
    """Write a constant: a BOOLEAN, an integer, a DOUBLE or a text.

    Args:
        value: A double may be inf or nan and keeps its bits; SQL is returned as it is.
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
    """Build ``name(args)``."""
    return Sql(f"{name}({_join_values(args)})")


def case(pairs: Iterable[tuple[Sql, Value]], default: Value | None = None) -> Sql:
    """``CASE WHEN condition THEN value ... ELSE default END``; null without a default."""
    branches = " ".join(f"WHEN {condition} THEN {literal(value)}" for condition, value in pairs)
    last = "" if default is None else f" ELSE {literal(default)}"
    return Sql(f"CASE {branches}{last} END")


def array(values: Iterable[Value]) -> Sql:
    """Build ``[values]``."""
    return Sql(f"[{_join_values(values)}]")


def struct(fields: Mapping[str, Value]) -> Sql:
    """Build ``{name: value, ...}``."""
    members = (f"{literal(name)}: {literal(value)}" for name, value in fields.items())
    return Sql("{" + ", ".join(members) + "}")


def option(name: str, value: Value) -> Sql:
    """Build ``name = value``, an argument of a table function."""
    return Sql(f"{col(name)} = {literal(value)}")


def is_in(value: Sql, options: Iterable[Value]) -> Sql:
    """Build ``value IN (options)``."""
    return Sql(f"({value} IN ({_join_values(options)}))")


def distinct(value: Sql) -> Sql:
    """``COUNT(DISTINCT value)``: how many values there are, nulls not counted."""
    return Sql(f"COUNT(DISTINCT {value})")


def drop(name: str) -> Sql:
    """``DROP TABLE IF EXISTS name``."""
    return Sql(f"DROP TABLE IF EXISTS {col(name)}")


def _join_values(values: Iterable[Value]) -> str:
    return ", ".join(str(literal(value)) for value in values)
