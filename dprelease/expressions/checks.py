"""What the shapes share: operands, their types, and the refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dprelease.expressions.grammar import Reader, offset
from dprelease.expressions.nodes import NUMBERS, TIMES, ExpressionError, Node, as_type
from dprelease.expressions.wording import written
from dprelease.model import ColumnType

if TYPE_CHECKING:
    from sqlglot import exp

INTEGER, FLOAT, STRING = ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.STRING
BOOLEAN, DATE, TIMESTAMP = ColumnType.BOOLEAN, ColumnType.DATE, ColumnType.TIMESTAMP

Build = Callable[["Reader", "exp.Expr"], Node]


def type_name(kind: ColumnType | None) -> str:
    """The type as people write it."""
    return kind.value if kind else "null"


def want(node: Node, kinds: Sequence[ColumnType], tree: exp.Expr, hint: str = "") -> Node:
    """The operand, which must be of one of the kinds (or a bare null, typed as the first)."""
    if node.type is None:
        return as_type(node, kinds[0])
    if node.type in kinds:
        return node
    wanted = " or ".join(type_name(kind) for kind in kinds)
    raise ExpressionError(
        f"{written(tree)} needs {wanted}, not {type_name(node.type)}",
        hint or _remedy(node.type, kinds),
        offset(tree),
    )


def _remedy(kind: ColumnType, kinds: Sequence[ColumnType]) -> str:
    if kind is BOOLEAN and INTEGER in kinds:
        return "CAST(x AS integer) makes a boolean 0 or 1"
    if kind is STRING and DATE in kinds:
        return "write dates as DATE '2026-01-31'"
    return "check the declared type of the column"


def unify(nodes: Sequence[Node], tree: exp.Expr) -> tuple[Node, ...]:
    """The operands on their common type: numbers mix, dates and timestamps mix, no others."""
    kinds = {node.type for node in nodes} - {None}
    if len(kinds) <= 1:
        target = next(iter(kinds), None)
    elif kinds <= set(NUMBERS):
        target = FLOAT
    elif kinds <= set(TIMES):
        target = TIMESTAMP
    else:
        mixed = " and ".join(sorted(type_name(kind) for kind in kinds))
        hint = "compare like with like"
        if STRING in kinds and kinds & set(TIMES):
            hint = "write dates as DATE '2026-01-31', timestamps as TIMESTAMP '2026-01-31 00:00:00'"
        elif STRING in kinds and kinds & set(NUMBERS):
            hint = "a string column compares with quoted text, a number column with a number"
        raise ExpressionError(f"{mixed} don't mix in {written(tree)}", hint, offset(tree))
    return tuple(as_type(node, target) for node in nodes)


def operands(reader: Reader, tree: exp.Expr) -> list[Node]:
    """The typed operands: first ``this``, then ``expression``, then ``expressions``."""
    parts = [tree.args.get("this"), tree.args.get("expression"), *tree.args.get("expressions", [])]
    return [reader.node(part) for part in parts if part is not None]


def small(reader: Reader, part: exp.Expr, tree: exp.Expr, limit: int) -> int:
    """An integer literal from 0 to ``limit``."""
    node = reader.node(part)
    if node.op == "literal" and isinstance(node.value, int) and 0 <= node.value <= limit:
        return node.value
    raise ExpressionError(
        f"{written(tree)} takes whole numbers from 0 to {limit:,} here",
        "write the number itself",
        offset(tree),
    )
