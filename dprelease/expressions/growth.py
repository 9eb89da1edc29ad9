"""How much an expression can grow, in texts and in statements: bounded before any data is read.

Joined texts are held in memory whole, with every piece that is joined on the way, and an engine
takes that memory beside its limit. So are texts in which pieces are replaced by longer ones. A text
of the data may be a megabyte long, so that an expression that repeats it thousands of times could
end a run because of what one record holds.

DuckDB holds the operand of a NULLIF or BETWEEN twice, and that of a short IN as often as it has
values; what is nested doubles at each level. Ten levels take a second, thirty would take for ever.
"""

from __future__ import annotations

from dprelease.expressions.nodes import ExpressionError, Node
from dprelease.model import ColumnType

MOST_PIECES = 200
"""Texts of the data in all results of joining, intermediate ones included: 20 columns in a row."""

MOST_OPERATIONS = 4000
"""Operations of a statement in which every operand stands as often as DuckDB holds it."""

SHORT_IN = 5  # values; a longer IN is looked up and holds its operand once

# As often the text stands in the SQL of what it is cast to.
READINGS = {"read_integer": 43, "read_float": 10, "read_date": 14, "read_timestamp": 6}

_JOINS = ("concat", "||")
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
_HANDING_ON = _ARITHMETIC | {"neg", "abs", "floor", "ceil", "round"}


def check_growth(node: Node) -> None:
    """Refuse an expression that grows too much; raises ExpressionError."""
    if _pieces(node)[1] > MOST_PIECES:
        raise ExpressionError(
            "the expression joins texts too often, or puts long ones for short ones, so that "
            "the result could fill the memory",
            f"with all intermediate results at most {MOST_PIECES} texts: join fewer columns",
        )
    if _cleared(node) > MOST_OPERATIONS:
        raise ExpressionError(
            "the expression nests /, %, BETWEEN, IN, NULLIF or choices of computed values too deep",
            "simplify it",
        )


def hands_on(node: Node) -> bool:
    """Whether the operation gives NaN for an operand that is NaN, as it gives null for null."""
    return node.op in _HANDING_ON and node.type is ColumnType.FLOAT


def may_be_nan(node: Node) -> bool:
    """Whether the operation can give NaN, its operands handed on as they are."""
    if not hands_on(node):
        return False
    return node.op in _ARITHMETIC or any(map(may_be_nan, node.args))


def _cleared(node: Node) -> int:
    """Operations that DuckDB makes of the tree, where NaN has become null at the end."""
    operations = _operations(node)
    return 2 * operations if may_be_nan(node) else operations


def _operations(node: Node) -> int:
    counted = _operations if hands_on(node) else _cleared
    counts = list(map(counted, node.args))
    if node.op in ("/", "%"):  # by what is not 0
        counts[1] *= 2
    elif node.op in ("nullif", "between"):
        counts[0] *= 2
    elif node.op == "in":
        counts[0] *= min(len(counts) - 1, SHORT_IN)
    counts[:1] = [count * READINGS.get(node.op, 1) for count in counts[:1]]
    return 1 + sum(counts)


def _pieces(node: Node) -> tuple[int, int]:
    """Texts of the data in the longest result, and in all results of joining up to it."""
    if node.op == "column":
        return int(node.type is ColumnType.STRING), 0
    pieces = [_pieces(operand) for operand in node.args]
    before = sum(joined for _, joined in pieces)
    if node.op in _JOINS:
        length = sum(size for size, _ in pieces)
        return length, before + length
    if node.op == "replace":
        _, old, new = (len(str(part.value).encode()) for part in node.args)
        size = pieces[0][0] * max(1, -(-new // old))  # as if it were nothing but what is replaced
        return size, before + size * (new > old)
    return max((size for size, _ in pieces), default=0), before
