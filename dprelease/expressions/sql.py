"""The typed tree as SQL for DuckDB, over columns that hold typed values.

Integers are BIGINT, floats DOUBLE. Operations that could fail are wrapped so that they give null,
and no DOUBLE here is ever NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlglot import exp

from dprelease.expressions.nodes import Node, Value
from dprelease.model import ColumnType

SQL_TYPES = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.FLOAT: "DOUBLE",
    ColumnType.DECIMAL: "DOUBLE",
    ColumnType.STRING: "VARCHAR",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}

Parts = Sequence[exp.Expr]


def call(name: str, *args: exp.Expr) -> exp.Expr:
    """A function call exactly as named: no dialect rewrites it."""
    return exp.Anonymous(this=name, expressions=list(args))


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """``CAST(value AS kind)``."""
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))


def try_cast(value: exp.Expr, kind: str) -> exp.Expr:
    """``TRY_CAST(value AS kind)``: null where the value can't be converted."""
    return exp.TryCast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))


def number(value: int) -> exp.Expr:
    """An integer literal."""
    made = exp.Literal.number(abs(value))
    return exp.Neg(this=made) if value < 0 else made


def text(value: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(value)


def double(value: float) -> exp.Expr:
    """A DOUBLE constant, bit for bit (also inf and nan)."""
    return cast(text(repr(value)), "DOUBLE")


def without_nan(value: exp.Expr) -> exp.Expr:
    """The DOUBLE, or null when it is NaN."""
    return call("NULLIF", value, double(float("nan")))


def paren(value: exp.Expr) -> exp.Expr:
    """The value in parentheses."""
    return exp.Paren(this=value)


def compile_sql(node: Node, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    """SQL of the tree; ``columns`` gives the SQL of each typed input column."""
    if node.op == "column":
        return columns[str(node.value)].copy()
    if node.op == "literal":
        return _constant(node.value, node.type)
    args = [compile_sql(arg, columns) for arg in node.args]
    if node.op in _ARITHMETIC:
        return _arithmetic(node, args)
    return _BUILDERS[node.op](args)


def _constant(value: Value, kind: ColumnType | None) -> exp.Expr:
    if value is None:
        return cast(exp.Null(), SQL_TYPES[kind]) if kind else exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str) or kind is None:
        return text(str(value))
    shown = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return cast(text(shown), SQL_TYPES[kind])


_ARITHMETIC = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div, "%": exp.Mod}


def _arithmetic(node: Node, args: list[exp.Expr]) -> exp.Expr:
    left, right = args
    if node.op in ("/", "%"):
        zero = double(0.0) if node.type is ColumnType.FLOAT else number(0)
        right = call("NULLIF", right, zero)
    made = paren(_ARITHMETIC[node.op](this=paren(left), expression=paren(right)))
    return without_nan(made) if node.type is ColumnType.FLOAT else call("TRY", made)


def _binary(kind: type[exp.Expr]) -> Callable[[Parts], exp.Expr]:
    return lambda args: paren(kind(this=paren(args[0]), expression=paren(args[1])))


def _function(name: str) -> Callable[[Parts], exp.Expr]:
    return lambda args: call(name, *args)


def _case(args: Parts) -> exp.Expr:
    pairs = zip(args[:-1:2], args[1::2], strict=True)
    ifs = [exp.If(this=condition, true=value) for condition, value in pairs]
    return exp.Case(ifs=ifs, default=args[-1])


def _days(args: Parts) -> exp.Expr:
    return call("DATE_DIFF", text("day"), *(cast(arg, "DATE") for arg in args))


def _between(args: Parts) -> exp.Expr:
    value, low, high = (paren(arg) for arg in args)
    return paren(exp.Between(this=value, low=low, high=high))


_BUILDERS: dict[str, Callable[[Parts], exp.Expr]] = {
    "to_float": lambda args: cast(args[0], "DOUBLE"),
    "to_timestamp": lambda args: cast(args[0], "TIMESTAMP"),
    "to_integer": lambda args: try_cast(args[0], "BIGINT"),
    "neg": lambda args: call("TRY", exp.Neg(this=paren(args[0]))),
    "abs": lambda args: call("TRY", call("ABS", args[0])),
    "=": _binary(exp.EQ),
    "<>": _binary(exp.NEQ),
    "<": _binary(exp.LT),
    "<=": _binary(exp.LTE),
    ">": _binary(exp.GT),
    ">=": _binary(exp.GTE),
    "and": _binary(exp.And),
    "or": _binary(exp.Or),
    "not": lambda args: paren(exp.Not(this=paren(args[0]))),
    "is_null": lambda args: paren(exp.Is(this=paren(args[0]), expression=exp.Null())),
    "between": _between,
    "in": lambda args: paren(exp.In(this=paren(args[0]), expressions=list(args[1:]))),
    "like": _binary(exp.Like),
    "case": _case,
    "coalesce": _function("COALESCE"),
    "nullif": _function("NULLIF"),
    "greatest": _function("GREATEST"),
    "least": _function("LEAST"),
    "floor": _function("FLOOR"),
    "ceil": _function("CEIL"),
    "round": lambda args: call("ROUND", args[0], cast(args[1], "INTEGER")),
    "lower": _function("LOWER"),
    "upper": _function("UPPER"),
    "trim": lambda args: call("TRIM", args[0], text(" ")),
    "length": _function("LENGTH"),
    "substring": _function("SUBSTRING"),
    "concat": _function("CONCAT"),
    "||": lambda args: paren(exp.DPipe(this=paren(args[0]), expression=paren(args[1]))),
    "year": _function("YEAR"),
    "month": _function("MONTH"),
    "day": _function("DAY"),
    "hour": _function("HOUR"),
    "date_diff": _days,
}
