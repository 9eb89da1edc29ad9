"""The typed tree as SQL for DuckDB, over columns that hold typed values.

Integers are BIGINT, floats DOUBLE. Operations that could fail are wrapped so that they give null.
No DOUBLE that is compared, chosen, cast or given back is ever NaN: it is null then. Arithmetic
hands NaN on as it hands on null, so that a chain of it is cleared once, at its end. DuckDB writes a
NULLIF out as a CASE that holds its operand twice: one at every step would double with each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce

from dprelease.expressions.growth import (
    LONGEST_JOINED,
    compute_growth,
    is_handing_on,
    list_joined_operands,
    may_be_nan,
)
from dprelease.expressions.nodes import Node, Value
from dprelease.expressions.sqltext import (
    NULL,
    Operator,
    Sql,
    call,
    case,
    is_in,
    literal,
    operator,
)
from dprelease.expressions.typed_texts import (
    SQL_TYPES,
    convert_text,
    convert_text_to_number,
    replace_nan,
)
from dprelease.model import ColumnType

Parts = Sequence[Sql]


def compile_sql(node: Node, columns: Mapping[str, Sql]) -> Sql:
    """Compile a typed tree to SQL for DuckDB.

    Args:
        node: The typed tree.
        columns: SQL of each typed input column, by name.

    Returns:
        SQL that gives a value or null for every record, never an error or NaN.
    """
    sql = _compile(node, columns)
    return replace_nan(sql) if may_be_nan(node) else sql


def _compile(node: Node, columns: Mapping[str, Sql]) -> Sql:
    """Compile to SQL whose DOUBLE may still be NaN."""
    if node.op == "column":
        return columns[str(node.value)]
    if node.op == "literal":
        return _write_constant(node.value, node.type)
    if factor := compute_growth(node):
        return _join_texts(node, factor, columns)
    compiled = _compile if is_handing_on(node) else compile_sql
    args = [compiled(arg, columns) for arg in node.args]
    if node.op in _ARITHMETIC:
        return _compile_arithmetic(node, args)
    return _BUILDERS[node.op](args)


def _join_texts(node: Node, factor: int, columns: Mapping[str, Sql]) -> Sql:
    """Compile a text that is longer than its operands; null beyond `LONGEST_JOINED`."""
    args = [compile_sql(arg, columns) for arg in list_joined_operands(node)]
    if node.op == "replace":
        joined = call(
            "REPLACE", *args, *(_write_constant(arg.value, arg.type) for arg in node.args[1:])
        )
    else:
        joined = call("CONCAT", *args) if node.op == "concat" else reduce(operator("||"), args)
    # CONCAT passes over nulls; of the others a null is null anyway.
    lengths = [call("STRLEN", arg) for arg in args]
    if node.op == "concat":
        lengths = [call("COALESCE", length, 0) for length in lengths]
    # DuckDB computes a branch of a CASE for the rows of its condition alone: no long text is made.
    return case([(reduce(operator("+"), lengths) * factor <= LONGEST_JOINED, joined)])


def _write_constant(value: Value, kind: ColumnType | None) -> Sql:
    if value is None:
        return NULL.cast(SQL_TYPES[kind]) if kind else NULL
    if isinstance(value, bool):
        return literal(value)
    if isinstance(value, str) or kind is None:
        return literal(str(value))
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return literal(text).cast(SQL_TYPES[kind])


_ARITHMETIC: dict[str, Operator] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}


def _compile_arithmetic(node: Node, args: Parts) -> Sql:
    first, second = args
    if node.op in ("/", "%"):
        second = call("NULLIF", second, 0.0 if node.type is ColumnType.FLOAT else 0)
    result = operator(_ARITHMETIC[node.op])(first, second)
    return result if node.type is ColumnType.FLOAT else call("TRY", result)


def _build_binary(name: Operator) -> Callable[[Parts], Sql]:
    return lambda args: operator(name)(*args)


def _build_function(name: str) -> Callable[[Parts], Sql]:
    return lambda args: call(name, *args)


_OPERATORS: tuple[Operator, ...] = ("=", "<>", "<", "<=", ">", ">=")
_FUNCTIONS = (
    "coalesce", "nullif", "greatest", "least", "floor", "ceil", "lower", "upper", "length",
    "replace", "substring", "year", "quarter", "month", "week",
    "isodow", "day", "hour",
)  # fmt: skip
_BUILDERS: dict[str, Callable[[Parts], Sql]] = {
    **{name: _build_binary(name) for name in _OPERATORS},
    **{name: _build_function(name.upper()) for name in _FUNCTIONS},
    "to_float": lambda args: args[0].cast("DOUBLE"),
    "to_timestamp": lambda args: args[0].cast("TIMESTAMP"),
    "to_integer": lambda args: args[0].try_cast("BIGINT"),
    "neg": lambda args: call("TRY", -args[0]),
    "abs": lambda args: call("TRY", call("ABS", args[0])),
    "and": _build_binary("AND"),
    "or": _build_binary("OR"),
    "not": lambda args: ~args[0],
    "is_null": lambda args: args[0].is_null(),
    "between": lambda args: args[0].between(args[1], args[2]),
    "in": lambda args: is_in(args[0], args[1:]),
    "like": _build_binary("LIKE"),
    "case": lambda args: case(zip(args[:-1:2], args[1::2], strict=True), args[-1]),
    "round": lambda args: call("ROUND", args[0], args[1].cast("INTEGER")),
    "to_date": lambda args: args[0].cast("DATE"),
    "read_integer": lambda args: convert_text(
        args[0], ColumnType.INTEGER, convert_text_to_number(args[0])
    ),
    "read_float": lambda args: convert_text_to_number(args[0]),
    "read_date": lambda args: convert_text(args[0], ColumnType.DATE),
    "read_timestamp": lambda args: convert_text(args[0], ColumnType.TIMESTAMP),
    "trim": lambda args: call("TRIM", args[0], " "),
    # A date that the calendar doesn't have is null; years are those of all dates.
    "make_date": lambda args: case(
        [(args[0].between(1, 9999), call("TRY", call("MAKE_DATE", *args)))]
    ),
    "date_diff": lambda args: call("DATE_DIFF", "day", *(arg.cast("DATE") for arg in args)),
}
