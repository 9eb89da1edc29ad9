"""Conditions on the figures of a row, such as ``value >= 90``: parsing, checks and evaluation.

The grammar is that of the spec's other expressions; only numbers, comparisons and their
combinations are allowed here. Figures are exact decimals, so comparisons are exact. An empty figure
is null: a comparison with it is neither true nor false. A division by 0 is null, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import add, eq, ge, gt, le, lt, mul, ne, neg, not_, pos, sub
from typing import Any

from dprelease.expressions import ExpressionError, Node, parse_tree
from dprelease.model import ColumnType
from dprelease.postprocess.intervals.shown_figures import Limits

Value = Fraction | bool | None

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_COMPUTED: dict[str, Callable[..., Any]] = _COMPARED | {
    "+": add,
    "-": sub,
    "*": mul,
    "/": lambda first, second: first / second if second else None,
    "neg": neg,
    "abs": abs,
    "to_float": pos,
    "not": not_,
    "between": lambda value, low, high: low <= value <= high,
}
_OF_NULLS: dict[str, Callable[[list[Any]], bool | None]] = {
    "is_null": lambda values: values[0] is None,
    "and": lambda values: False if False in values else None if None in values else True,
    "or": lambda values: True if True in values else None if None in values else False,
}
_HINT = "numbers, + - * /, ABS, comparisons, BETWEEN, IS NULL, AND, OR and NOT"


def read(text: str, names: Sequence[str]) -> Node:
    """Parse a condition on figures with these names.

    Raises ExpressionError if it is malformed, not true or false, or uses more than numbers,
    comparisons and their combinations.
    """
    node = parse_tree(text, dict.fromkeys(names, ColumnType.FLOAT))
    if node.type not in (ColumnType.BOOLEAN, None):
        raise ExpressionError(
            "a condition must be true or false", "write a condition such as value >= 20"
        )
    for part in _iter_parts(node):
        number = part.op == "literal" and isinstance(part.value, int | float | None)
        if not (number or part.op in {"column", *_COMPUTED, *_OF_NULLS}):
            raise ExpressionError(f"a condition on figures has no {part.op.upper()}", _HINT)
    return node


def _iter_parts(node: Node) -> Iterator[Node]:
    yield node
    for operand in node.args:
        yield from _iter_parts(operand)


def evaluate_rows(node: Node, figures: Sequence[tuple[Sequence[Any], int]]) -> list[bool]:
    """Evaluate a condition for each row; a figure is a column of integers in 10^-places.

    ``figures`` are in the order of ``node.list_columns()``.
    """
    names, scales = node.list_columns(), [10**places for _, places in figures]
    # Equal rows are computed once.
    results: dict[tuple[Any, ...], bool] = {}
    result = []
    for row in zip(*(values for values, _ in figures), strict=True):
        if row not in results:
            fractions = (
                None if value is None else Fraction(value, scale)
                for value, scale in zip(row, scales, strict=True)
            )
            results[row] = _evaluate(node, dict(zip(names, fractions, strict=True))) is True
        result.append(results[row])
    return result


def _evaluate(node: Node, row: Mapping[str, Fraction | None]) -> Value:
    if node.op == "column":
        return row[str(node.value)]
    if node.op == "literal":  # a constant as it was written: 0.1 is a tenth
        constant = node.value
        if constant is None or isinstance(constant, bool):
            return constant
        return Fraction(repr(constant))
    values = [_evaluate(operand, row) for operand in node.args]
    if node.op in _OF_NULLS:
        return _OF_NULLS[node.op](values)
    result: Value = None if None in values else _COMPUTED[node.op](*values)
    return result


def is_never_true(node: Node, minimums: Mapping[str, Fraction]) -> bool:
    """Check if a condition certainly never holds; ``minimums`` are the least possible figures.

    It recognizes constants, and bounds on one figure that exclude each other.
    """
    if not node.list_columns():
        return _evaluate(node, {}) is not True
    if node.op == "or":
        return all(is_never_true(operand, minimums) for operand in node.args)
    ends: dict[str, list[tuple[Fraction, bool]]] = {}
    lows = {name: (low, False) for name, low in minimums.items()}
    for part in _list_conjuncts(node):
        if part is not node and is_never_true(part, minimums):
            return True
        bound = _bound(part)
        if bound is None:
            continue
        name, op, value = bound
        if op in (">", ">=", "="):
            lows[name] = max(lows.get(name, (value, False)), (value, op == ">"))
        if op in ("<", "<=", "="):
            ends.setdefault(name, []).append((value, op == "<"))
    return any(
        end < lows[name][0] or (end == lows[name][0] and (open_end or lows[name][1]))
        for name, highs in ends.items()
        if name in lows
        for end, open_end in highs
    )


_TRIED = 16
_FARTHEST = 40
_POWERS = range(2, 9)


def find_limits(
    node: Node, own: Collection[str], fixed: Mapping[str, Fraction], size: Fraction, places: int
) -> Limits | None:
    """Find from when on a figure is shown, if that depends on the figure itself.

    Args:
        node: The syntax tree of the condition.
        own: The names of the figure.
        fixed: Figures that are the same for all cells, by name.
        size: How much noise the figure has, about.
        places: Decimals of the figure.

    Returns:
        The limits. None if no part of the condition is about this figure alone, or if the figures
        shown are not all those beyond limits.
    """
    names = {*own, *fixed}
    parts = [part for part in _list_conjuncts(node) if names.issuperset(part.list_columns())]
    parts = [part for part in parts if not set(own).isdisjoint(part.list_columns())]
    if not parts:
        return None
    scale, grain = 10**places, max(int(size * 10**places), 1)

    def is_shown(figure: int) -> bool:
        row = {**fixed, **dict.fromkeys(own, Fraction(figure, scale))}
        return all(_evaluate(part, row) is True for part in parts)

    # Figures are tried close to 0, where limits lie, and far out.
    far = [sign * grain * 10**power for power in _POWERS for sign in (-1, 1)]
    near = range(-_TRIED * _FARTHEST, _TRIED * _FARTHEST + 1)
    tried = sorted({*far, *(step * grain // _TRIED for step in near)})
    shown = [is_shown(figure) for figure in tried]
    changes = [at for at, pair in enumerate(pairwise(shown)) if pair[0] != pair[1]]
    if not (shown[-1] and len(changes) == (2 if shown[0] else 1)):
        return None
    edges = []
    for at in changes:
        low, high = tried[at], tried[at + 1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_shown(middle) == shown[at] else (low, middle)
        edges.append((low, high))
    lower = Fraction(edges[0][0], scale) if shown[0] else None
    return Limits(Fraction(edges[-1][1], scale), lower)


def _list_conjuncts(node: Node) -> list[Node]:
    """List the conditions that must all be true for the node to be true."""
    if node.op != "and":
        return [node]
    return [part for operand in node.args for part in _list_conjuncts(operand)]


def _bound(node: Node) -> tuple[str, str, Fraction] | None:
    """Read a comparison of a figure with a constant as figure, operator, constant."""
    if node.op not in _COMPARED:
        return None
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    (first, second), op = node.args, node.op
    if second.op == "column":
        first, second, op = second, first, turned.get(op, op)
    if first.op != "column" or second.list_columns():
        return None
    value = _evaluate(second, {})
    return None if value is None or isinstance(value, bool) else (str(first.value), op, value)
