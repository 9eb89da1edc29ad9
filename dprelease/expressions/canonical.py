"""One text for all ways to write the same expression: blanks, case and needless brackets aside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from dprelease.expressions import parse_tree
from dprelease.expressions.nodes import Node
from dprelease.model import ColumnType


def write_canonical(text: str, types: Mapping[str, ColumnType]) -> str:
    """Write an expression as its typed tree says: one text for all ways to write it.

    Ledgers keep these texts, so an expression must have the same one in every version.

    Args:
        text: One SQL condition or value.
        types: Types of the declared columns, by name.

    Returns:
        A text; expressions with equal texts have equal values.

    Raises:
        ExpressionError: The text is not an accepted expression.
    """
    return _write(parse_tree(text, types))


def _write(node: Node) -> str:
    if node.op == "column":
        return json.dumps(node.value)
    if node.op == "literal":
        return _write_literal(node)
    return f"{node.op}({', '.join(map(_write, node.args))})"


def _write_literal(node: Node) -> str:
    """Write the type and the value of a constant."""
    value, kind = node.value, node.type
    if value is None or kind is None:
        return "null" if kind is None else f"{kind} null"
    if isinstance(value, datetime):
        return f"{kind} {value.isoformat(' ')}"
    if isinstance(value, str | bool | int | float):
        return f"{kind} {json.dumps(value)}"
    return f"{kind} {value.isoformat()}"
