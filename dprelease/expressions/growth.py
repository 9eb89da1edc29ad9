"""How much expressions can grow, in texts and in statements: bounded before any data is read.

Joined texts are held in memory whole, with every piece that is joined on the way. So are texts in
which pieces are replaced by longer ones. A text of the data may be a megabyte long, so that joining
it a few times in a few records could end a run because of what they hold. So a joined text has at
most `LONGEST_JOINED` bytes, or it is null, and all expressions of a release together, as one
statement may hold them all, join at most `MOST_PIECES` texts.

DuckDB holds the operand of a NULLIF, of a BETWEEN or of what joins twice, and that of a short IN as
often as it has values; what is nested doubles at each level. Ten levels take a second, thirty would
take for ever.
"""

from __future__ import annotations

from itertools import chain

from dprelease.expressions.nodes import ExpressionError, Node
from dprelease.model import ColumnType

MOST_PIECES = 200
"""Texts of the data in all results of joining, intermediate ones included: 20 columns in a row."""

LONGEST_JOINED = 10_000
"""Bytes of a joined text; what would be longer is null.

A text whose parts are replaced by longer ones counts as if it were nothing but these parts.
"""

MOST_OPERATIONS = 4000
"""Operations of a statement in which every operand stands as often as DuckDB holds it."""

SHORT_IN = 5  # values; a longer IN is looked up and holds its operand once

# As often the text stands in the SQL of what it is cast to.
READINGS = {"read_integer": 43, "read_float": 10, "read_date": 14, "read_timestamp": 6}

JOINS = ("concat", "||")
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
_HANDING_ON = _ARITHMETIC | {"neg", "abs", "floor", "ceil", "round"}


def check_growth(node: Node) -> None:
    """Refuse an expression whose texts or whose SQL could grow too much.

    Raises:
        ExpressionError: It exceeds ``MOST_PIECES`` or ``MOST_OPERATIONS``.
    """
    if count_pieces(node) > MOST_PIECES:
        raise ExpressionError(
            "the expression joins texts too often, or replaces short texts by long ones, so that "
            "the result could fill the memory",
            f"with all intermediate results at most {MOST_PIECES} texts: join fewer columns",
        )
    if _count_nan_operations(node) > MOST_OPERATIONS:
        raise ExpressionError(
            "the expression nests /, %, BETWEEN, IN, NULLIF or choices of computed values too deep",
            "simplify it",
        )


def count_pieces(node: Node) -> int:
    """Count the texts of the data in all results of joining, intermediate ones included."""
    return _count_pieces(node)[1]


def count_joined(node: Node) -> int:
    """Count the operations whose results are longer than the texts that they are made of."""
    return (compute_growth(node) > 0) + sum(map(count_joined, node.args))


def compute_growth(node: Node) -> int:
    """Compute by which factor a result may be longer than its operands; 0 if it is not."""
    if node.op in JOINS:
        return 1
    if node.op != "replace":
        return 0
    _, old, new = (len(str(part.value).encode()) for part in node.args)
    return -(-new // old) if new > old else 0


def list_joined_operands(node: Node) -> tuple[Node, ...]:
    """List the operands that make up a joined text, of a chain of ``||`` all of them."""
    if node.op == "replace":
        return node.args[:1]
    if node.op != "||":
        return node.args
    chains = (list_joined_operands(part) if part.op == "||" else (part,) for part in node.args)
    return tuple(chain.from_iterable(chains))


def is_handing_on(node: Node) -> bool:
    """Tell if the operation gives NaN for an operand that is NaN."""
    return node.op in _HANDING_ON and node.type is ColumnType.FLOAT


def may_be_nan(node: Node) -> bool:
    """Tell if the SQL of the operation can give NaN before NaN is replaced."""
    if not is_handing_on(node):
        return False
    return node.op in _ARITHMETIC or any(map(may_be_nan, node.args))


def _count_nan_operations(node: Node) -> int:
    """Count the operations of the SQL, including the replacement of NaN at its end."""
    operations = _count_operations(node)
    return 2 * operations if may_be_nan(node) else operations


def _count_operations(node: Node) -> int:
    counted = _count_operations if is_handing_on(node) else _count_nan_operations
    grows = compute_growth(node) > 0
    counts = list(map(counted, list_joined_operands(node) if grows else node.args))
    if grows:  # their lengths are looked at first
        counts = [2 * count for count in counts]
    elif node.op in ("/", "%"):  # by what is not 0
        counts[1] *= 2
    elif node.op in ("nullif", "between"):
        counts[0] *= 2
    elif node.op == "in":
        counts[0] *= min(len(counts) - 1, SHORT_IN)
    counts[:1] = [count * READINGS.get(node.op, 1) for count in counts[:1]]
    return 1 + sum(counts)


def _count_pieces(node: Node) -> tuple[int, int]:
    """Count the texts of the longest result, and of all results of joining up to it."""
    if node.op == "column":
        return int(node.type is ColumnType.STRING), 0
    pieces = [_count_pieces(operand) for operand in node.args]
    before = sum(joined for _, joined in pieces)
    if node.op in JOINS:
        length = sum(size for size, _ in pieces)
        return length, before + length
    if node.op == "replace":
        factor = compute_growth(node)
        size = pieces[0][0] * max(1, factor)  # as if it were nothing but what is replaced
        return size, before + size * (factor > 0)
    return max((size for size, _ in pieces), default=0), before
