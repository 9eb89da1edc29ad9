"""Conditions of which a record meets one at most, found by the values that each is true for.

A condition that is true says something of its operands: ``x >= 18 AND x < 65`` that x is in [18,
65), ``NOT c`` that c is false. So each condition has, for some operands, a set of values that holds
the operand's for certain: intervals of the operand's order, or null alone. Two conditions whose
sets for one operand have no value in common are never both true of a record, whatever else they
say; a condition that is null is not true. Certification proves it again by trying all places that a
value can have (``kernel.chapters.strategies.exclusive_filters``).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import reduce
from itertools import chain
from typing import Any

from dprelease.expressions import Node, parse_tree
from dprelease.expressions.nodes import EXACT
from dprelease.model import ColumnType, Expression

MOST_NODES = 700
"""Conditions of more operations together are not one family: certification tries them all."""

Cut = tuple[Any, ...]
"""A place between values: just before one (v, 0), or just after it (v, 1)."""

Values = tuple[tuple[Cut, Cut], ...]
"""A set of values: intervals in order, none of which touches the next one."""

Facts = Mapping[Node, Values]
"""Of some operands the values of which they have one where a condition is true."""

_NULL: Values = (((-3,), (-2,)),)
_LEAST: Cut = (-1,)
_MOST: Cut = (1,)
_KNOWN: Values = ((_LEAST, _MOST),)


def find_exclusive(
    filters: Sequence[Expression], types: Mapping[str, ColumnType]
) -> list[list[int]]:
    """Find families of conditions of which no record meets two.

    Returns the places of the conditions of each family, at least two, in order; each is in one at
    most.
    """
    trees = [parse_tree(condition.text, types) for condition in filters]
    sizes = [_count_nodes(tree) for tree in trees]
    left = {place: _find_facts(tree) for place, tree in enumerate(trees)}
    families: list[list[int]] = []
    while True:
        by_operand: dict[Node, list[tuple[Values, int]]] = {}
        for place, facts in left.items():
            for operand, values in facts.items():
                by_operand.setdefault(operand, []).append((values, place))
        options = [_choose_apart(own, sizes) for own in by_operand.values() if len(own) > 1]
        best = max(options, key=len, default=[])
        if len(best) < 2:
            return sorted(families)
        families.append(sorted(best))
        for place in best:
            del left[place]


def _choose_apart(own: Sequence[tuple[Values, int]], sizes: Sequence[int]) -> list[int]:
    """Choose conditions whose values of one operand are apart, first those that end first."""
    taken: list[tuple[Cut, Cut]] = []
    chosen: list[int] = []
    nodes = 0
    for values, place in sorted(own, key=lambda pair: (pair[0][-1][1], pair[1])):
        if nodes + sizes[place] <= MOST_NODES and all(_is_free(part, taken) for part in values):
            chosen.append(place)
            nodes += sizes[place]
            taken = sorted([*taken, *values])
    return chosen


def _is_free(interval: tuple[Cut, Cut], taken: Sequence[tuple[Cut, Cut]]) -> bool:
    """Tell if an interval has no value of those that are taken, which are in order."""
    start, end = interval
    place = bisect(taken, interval)
    before, after = taken[:place][-1:], taken[place:][:1]
    return all(other <= start for _, other in before) and all(end <= other for other, _ in after)


def _count_nodes(tree: Node) -> int:
    return 1 + sum(map(_count_nodes, tree.args))


# --- what a condition says of its operands --------------------------------------------------------


def _find_facts(tree: Node) -> Facts:
    """Find what is certain of operands where a condition is true."""
    facts = {tree: _list_points([True]), **_find_own_facts(tree)}
    return {of: values for of, values in facts.items() if values and of.op != "literal"}


def _find_own_facts(tree: Node) -> Facts:
    if tree.op == "and":
        parts = [_find_facts(arg) for arg in tree.args]
        return reduce(_join_facts, parts)
    if tree.op == "or":
        parts = [_find_facts(arg) for arg in tree.args]
        common = set(parts[0]).intersection(*parts[1:])
        return {
            of: _order([*chain.from_iterable(part[of] for part in parts)])
            for of in parts[0]
            if of in common
        }
    if tree.op == "is_null":
        return {tree.args[0]: _NULL}
    if tree.op == "not":
        (inner,) = tree.args
        facts = {inner: _list_points([False])}
        if inner.op == "is_null":
            return {**facts, inner.args[0]: _KNOWN}
        operand, values = _read_comparison(inner)
        return {**facts, operand: _invert(values)} if operand is not None else facts
    operand, values = _read_comparison(tree)
    return {operand: values} if operand is not None else {}


def _join_facts(left: Facts, right: Facts) -> Facts:
    both = {
        of: _order([(max(a, c), min(b, d)) for a, b in left[of] for c, d in right[of]])
        for of in left
        if of in right
    }
    return {**left, **right, **both}


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def _read_comparison(tree: Node) -> tuple[Node | None, Values]:
    """Read the operand that a condition compares with constants, and the values where it holds."""
    op, args = tree.op, tree.args
    if op in _MIRRORED and _read_constant(args[0]) is not None:
        op, args = _MIRRORED[op], args[::-1]
    constants = [_read_constant(arg) for arg in args[1:]]
    if not constants or any(constant is None for constant in constants):
        return None, ()
    if op == "in":
        return args[0], _list_points(constants)
    if op == "between":
        start, end = (0, constants[0], 0), (0, constants[1], 1)
        return args[0], _order([(start, end)])
    if op not in _MIRRORED:
        return None, ()
    before, after = (0, constants[0], 0), (0, constants[0], 1)
    pieces: dict[str, list[tuple[Cut, Cut]]] = {
        "=": [(before, after)],
        "<>": [(_LEAST, before), (after, _MOST)],
        "<": [(_LEAST, before)],
        "<=": [(_LEAST, after)],
        ">": [(after, _MOST)],
        ">=": [(before, _MOST)],
    }
    return args[0], _order(pieces[op])


def _read_constant(node: Node) -> object:
    """Read the value of a constant, as its comparison takes it; None if it is none, or null."""
    if node.op == "literal":
        return node.value
    inner = node.args[0].value if node.args and node.args[0].op == "literal" else None
    if node.op == "to_float" and type(inner) is int and abs(inner) <= EXACT:
        return float(inner)
    if node.op == "to_timestamp" and isinstance(inner, date) and not isinstance(inner, datetime):
        return datetime(inner.year, inner.month, inner.day)
    return None


# --- sets of values -------------------------------------------------------------------------------


def _list_points(values: Sequence[object]) -> Values:
    return _order([((0, value, 0), (0, value, 1)) for value in values])


def _order(intervals: Sequence[tuple[Cut, Cut]]) -> Values:
    """Put intervals in order and join those that touch; empty ones are left out."""
    ordered: list[tuple[Cut, Cut]] = []
    for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if ordered and start <= ordered[-1][1]:
            ordered[-1] = (ordered[-1][0], max(ordered[-1][1], end))
        else:
            ordered.append((start, end))
    return tuple(ordered)


def _invert(values: Values) -> Values:
    """Give all known values that are not among these."""
    ends = [_LEAST, *chain.from_iterable(values), _MOST]
    return _order([*zip(ends[::2], ends[1::2], strict=True)])
