"""Whether no record meets two of several filters, proved by trying all that can be.

Filters are read as the typed trees that engines compile, so they mean here what they do there. Take
an *operand* that is in all of the filters: a value that they compare with constants, or a condition
inside of them. Of what it is for a record only its place matters: null; equal to a constant; or
before, between or after them, as values of one type have one order. For each place the filters are
worked out as far as they go, as sets of what each can be, true, false or null: comparisons of the
operand are known, and all else may be anything. So a filter that cannot be true there is not true
of any record in that place. If at each place one filter at most can be true, no record meets two.

What is not proved so may hold all the same, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, time
from itertools import product
from operator import eq, ge, gt, le, lt, ne

from dprelease.expressions import ExpressionError, Node, parse_tree
from dprelease.model import ColumnType, Expression

MOST_TRIED = 1 << 20
"""So many operations are worked out for an operand, about a second's work."""

Outcomes = frozenset[bool | None]
"""What a condition can be: true, false, or None for null."""

_ANYTHING: Outcomes = frozenset({True, False, None})
_COMPARED = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

_LARGEST = 2**53  # all whole numbers up to it are doubles


def are_exclusive(filters: Sequence[Expression], types: Mapping[str, ColumnType]) -> bool:
    """Prove that no record meets two of these filters; False if that is not proved.

    ``types``: those of all columns, by name.
    """
    if len(filters) < 2:
        return True
    try:
        trees = [parse_tree(condition.text, types) for condition in filters]
    except ExpressionError:
        return False
    inside = [dict.fromkeys(_iter_nodes(tree)) for tree in trees]
    nodes = sum(len(list(_iter_nodes(tree))) for tree in trees)
    common = (node for node in inside[0] if all(node in others for others in inside[1:]))
    for operand in common:
        constants = _list_constants(operand, trees)
        places = [None, *range(2 * len(constants) + 1)]
        if operand.type is ColumnType.BOOLEAN:
            constants, places = [False, True], [None, 1, 3]
        order = {constant: 2 * number + 1 for number, constant in enumerate(constants)}
        if nodes * len(places) <= MOST_TRIED and all(
            sum(True in _find_outcomes(tree, operand, place, order) for tree in trees) <= 1
            for place in places
        ):
            return True
    return False


def _iter_nodes(tree: Node) -> Iterator[Node]:
    yield tree
    for part in tree.args:
        yield from _iter_nodes(part)


def _list_constants(operand: Node, trees: Sequence[Node]) -> list[object]:
    """List the constants that an operand is compared with, in order."""
    constants = {
        _read_constant(part)
        for tree in trees
        for node in _iter_nodes(tree)
        if operand in node.args and node.op in {*_COMPARED, "in", "between"}
        for part in node.args
    }
    return sorted(constants - {None})  # type: ignore[type-var]


def _read_constant(node: Node) -> object:
    """Give the value of a constant of the type it is compared in, or None."""
    (part,) = node.args if node.op in {"to_float", "to_timestamp"} else (node,)
    if part.op != "literal" or part.value is None:
        return None
    if node.op == "to_float":
        # A whole number as it is: it compares with doubles as the double would.
        return part.value if abs(part.value) <= _LARGEST else None  # type: ignore
    return datetime.combine(part.value, time()) if node.op == "to_timestamp" else part.value  # type: ignore


def _find_outcomes(
    node: Node, operand: Node, place: int | None, order: Mapping[object, int]
) -> Outcomes:
    """Give all that a condition can be for a record whose operand has this place."""
    if node == operand and node.type is ColumnType.BOOLEAN:
        return frozenset({None if place is None else place == order[True]})
    if node.op in {"and", "or", "not"}:
        parts = [_find_outcomes(part, operand, place, order) for part in node.args]
        return frozenset(_combine(node.op, values) for values in product(*parts))
    if node.op == "is_null" and node.args[0] == operand:
        return frozenset({place is None})
    if node.op == "literal":
        return frozenset({node.value})  # type: ignore[arg-type]
    return _compare(node, operand, place, order)


def _combine(operation: str, values: Sequence[bool | None]) -> bool | None:
    """Combine truths in SQL's three-valued logic."""
    if operation == "not":
        return None if values[0] is None else not values[0]
    decisive = operation == "or"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _compare(node: Node, operand: Node, place: int | None, order: Mapping[object, int]) -> Outcomes:
    """Compare an operand at a place with constants; anything if the condition is another one."""
    if operand not in node.args or node.op not in {*_COMPARED, "in", "between"}:
        return _ANYTHING
    at: list[int | None] = []
    for part in node.args:
        constant = _read_constant(part)
        if part != operand and constant not in order:
            return _ANYTHING
        at.append(place if part == operand else order[constant])
    first, *others = at
    if node.op == "in":
        return frozenset({_combine("or", [_hold(eq, first, other) for other in others])})
    if node.op == "between":
        ends = zip((ge, le), others, strict=True)
        return frozenset({_combine("and", [_hold(test, first, end) for test, end in ends])})
    return frozenset({_hold(_COMPARED[node.op], first, *others)})


def _hold(test: Callable[[int, int], bool], left: int | None, right: int | None) -> bool | None:
    """Compare two places; null if one is. So BETWEEN may be false though one end is null."""
    return None if left is None or right is None else test(left, right)
