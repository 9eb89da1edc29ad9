"""Which records an expression is null for, as far as its form proves that."""

from __future__ import annotations

from dprelease.expressions.nodes import Node

Columns = frozenset[str]
"""Columns such that an expression is null for just the records in which one of them is."""

NEVER: Columns = frozenset()

_STRICT = {
    "=", "<>", "<", "<=", ">", ">=", "not", "like", "in", "lower", "upper", "trim", "length",
    "to_float",
}  # fmt: skip
"""Operations that are null where an operand is, and nowhere else.

Arithmetic is none: it is null too where a number would be too large, or is divided by 0."""


def find_null_columns(node: Node) -> Columns | None:
    """Name the columns that decide where an expression is null.

    Args:
        node: The typed tree of the expression.

    Returns:
        The columns, none if it is never null. None where its form does not prove that there are
        such columns.
    """
    if node.op == "column":
        return frozenset({str(node.value)})
    if node.op == "is_null" or (node.op == "literal" and node.value is not None):
        return NEVER
    parts = [find_null_columns(arg) for arg in node.args]
    if node.op == "coalesce" and NEVER in parts:
        return NEVER
    columns = [part for part in parts if part is not None]
    return _join(node.op, columns) if columns and len(columns) == len(parts) else None


def _join(operation: str, parts: list[Columns]) -> Columns | None:
    # FALSE AND NULL is false: what is joined must be null together.
    together = operation in {"and", "or"} and len(set(parts)) == 1
    # x BETWEEN 1 AND y is false for an x of 0, whether or not y is null: ends must never be.
    between = operation == "between" and not any(parts[1:])
    if together or between:
        return parts[0]
    return frozenset().union(*parts) if operation in _STRICT else None
