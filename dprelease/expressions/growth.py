"""How much longer than its operands a text can become: bounded before any data is read.

Joined texts are held in memory whole, with every piece that is joined on the way, and an engine
takes that memory beside its limit. A text of the data may be a megabyte long, so that an expression
that repeats it thousands of times could end a run because of what one record holds.
"""

from __future__ import annotations

from dprelease.expressions.nodes import ExpressionError, Node
from dprelease.model import ColumnType

MOST_PIECES = 200
"""Texts of the data in all results of joining, intermediate ones included: 20 columns in a row."""

_JOINS = ("concat", "||")


def check_growth(node: Node) -> None:
    """Refuse an expression that joins too many texts; raises ExpressionError."""
    if _pieces(node)[1] > MOST_PIECES:
        raise ExpressionError(
            "the expression joins texts too often, so that the result could fill the memory",
            f"with all intermediate results at most {MOST_PIECES} texts: join fewer columns",
        )


def _pieces(node: Node) -> tuple[int, int]:
    """Texts of the data in the longest result, and in all results of joining up to it."""
    if node.op == "column":
        return int(node.type is ColumnType.STRING), 0
    found = [_pieces(each) for each in node.args]
    before = sum(joined for _, joined in found)
    if node.op in _JOINS:
        length = sum(each for each, _ in found)
        return length, before + length
    return max((each for each, _ in found), default=0), before
