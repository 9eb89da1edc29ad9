"""The small typed tree that an accepted expression becomes.

Nothing outside these operations reaches an engine: the SQL and the plain-Python evaluator are both
made from this tree, never from the text.
"""

from __future__ import annotations

from datetime import date, datetime

from msgspec import Struct

from dprelease.model import ColumnType

Value = bool | int | float | str | date | datetime | None

# What a declared type is inside an expression: decimals are binary doubles there.
INSIDE = {kind: kind for kind in ColumnType} | {ColumnType.DECIMAL: ColumnType.FLOAT}

EXACT = 2**53  # up to it all whole numbers are doubles
BLANKS = " \t\n\v\f\r"  # around a field that is no text of its own, they mean nothing

NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT)
TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)


class ExpressionError(Exception):
    """An expression is refused: what is wrong, what to do, and where (0-based) in the text.

    ``column`` is the name that is no column, if that is wrong.
    """

    def __init__(self, message: str, hint: str = "", offset: int = 0, column: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.offset = offset
        self.column = column


class Node(Struct, frozen=True):
    """One operation. ``type`` is one of the values of ``INSIDE``, or None for a bare NULL.

    ``op`` "column" has its name and "literal" its value in ``value``; all others have operands.
    Every operation is total: it gives a value or null for all operands, never an error.
    """

    op: str
    type: ColumnType | None
    args: tuple[Node, ...] = ()
    value: Value = None

    def list_columns(self) -> tuple[str, ...]:
        """List the columns read, each once, in order of appearance."""
        names: dict[str, None] = {}
        stack = [self]
        while stack:
            node = stack.pop()
            if node.op == "column":
                names[str(node.value)] = None
            stack.extend(reversed(node.args))
        return tuple(names)


def build_literal(value: Value, kind: ColumnType | None) -> Node:
    """Build a constant of the given type."""
    return Node("literal", kind, (), value)


def cast_to_float(node: Node) -> Node:
    """Cast the operand to a double, unless it is one."""
    return node if node.type is ColumnType.FLOAT else Node("to_float", ColumnType.FLOAT, (node,))


def widen(node: Node, kind: ColumnType | None) -> Node:
    """Widen an operand to a type.

    Args:
        node: The operand; a bare null fits any type.
        kind: Its own type, a double for an integer, a timestamp for a date, or None.
    """
    if node.type is kind or kind is None:
        return node
    if node.type is None:
        return Node("literal", kind)
    return Node("to_float" if kind is ColumnType.FLOAT else "to_timestamp", kind, (node,))
