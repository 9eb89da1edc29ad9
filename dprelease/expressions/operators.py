"""Literals, operators and CASE: how each is read."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from dprelease.expressions.checks import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    STRING,
    Build,
    operands,
    unify,
    want,
)
from dprelease.expressions.grammar import Reader, offset, refuse
from dprelease.expressions.nodes import NUMBERS, ExpressionError, Node, as_float, literal

if TYPE_CHECKING:
    from sqlglot import exp


def read_literal(_: Reader, tree: exp.Expr) -> Node:
    """Text, a 64-bit integer, or a double when there is a point or an exponent."""
    text = tree.name
    if tree.args.get("is_string"):
        return literal(text, STRING)
    if text.isascii() and text.isdigit():
        value = int(text)
        if value > 2**63 - 1:
            raise ExpressionError("an integer here is beyond 64 bits", "use a smaller one")
        return literal(value, INTEGER)
    if not re.fullmatch(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        raise refuse(tree)
    number = float(text)
    if math.isinf(number):
        raise ExpressionError("a number here is beyond the range of a double", "use a smaller one")
    return literal(number, FLOAT)


def read_negative(reader: Reader, tree: exp.Expr) -> Node:
    """Unary minus; a negative literal stays a literal."""
    node = want(reader.node(tree.this), NUMBERS, tree)
    if node.op == "literal" and isinstance(node.value, int | float):
        return literal(-node.value, node.type)
    return Node("neg", node.type, (node,))


def read_arithmetic(op: str) -> Build:
    """A binary operator on numbers; division is on doubles."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        nodes = [want(node, NUMBERS, tree) for node in operands(reader, tree)]
        if op == "/":
            nodes = [as_float(node) for node in nodes]
        args = unify(nodes, tree)
        return Node(op, args[0].type, args)

    return build


def read_comparison(op: str) -> Build:
    """A comparison of two values of one type."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        return Node(op, BOOLEAN, unify(operands(reader, tree), tree))

    return build


def read_logic(op: str) -> Build:
    """AND, OR, NOT."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        nodes = [want(node, (BOOLEAN,), tree) for node in operands(reader, tree)]
        return Node(op, BOOLEAN, tuple(nodes))

    return build


def read_is_null(reader: Reader, tree: exp.Expr) -> Node:
    """IS NULL (IS NOT NULL arrives as NOT of it)."""
    if type(tree.expression).__name__ != "Null":
        raise ExpressionError("IS takes NULL only", "write x or NOT x", offset(tree))
    return Node("is_null", BOOLEAN, (reader.node(tree.this),))


def read_between(reader: Reader, tree: exp.Expr) -> Node:
    """BETWEEN, both ends included."""
    parts = [reader.node(tree.args[key]) for key in ("this", "low", "high")]
    return Node("between", BOOLEAN, unify(parts, tree))


def read_in(reader: Reader, tree: exp.Expr) -> Node:
    """IN with a list of literals."""
    nodes = operands(reader, tree)
    if len(nodes) < 2 or any(n.op != "literal" or n.value is None for n in nodes[1:]):
        raise ExpressionError("IN takes a list of literals", "x IN ('a', 'b')", offset(tree))
    return Node("in", BOOLEAN, unify(nodes, tree))


def read_like(reader: Reader, tree: exp.Expr) -> Node:
    """LIKE with a literal pattern; no escape character."""
    text, pattern = (want(node, (STRING,), tree) for node in operands(reader, tree))
    if pattern.op != "literal" or pattern.value is None:
        raise ExpressionError("LIKE takes a quoted pattern", "x LIKE 'abc%'", offset(tree))
    node = Node("like", BOOLEAN, (text, pattern))
    return Node("not", BOOLEAN, (node,)) if tree.args.get("negate") else node


def read_case(reader: Reader, tree: exp.Expr) -> Node:
    """CASE WHEN condition THEN value ... ELSE value END."""
    if tree.args.get("this") is not None:
        raise ExpressionError(
            "CASE with a value after it is not allowed", "CASE WHEN x = 1 THEN ...", offset(tree)
        )
    branches = tree.args["ifs"]
    conditions = [want(reader.node(each.this), (BOOLEAN,), tree) for each in branches]
    last = tree.args.get("default")
    values = [reader.node(each.args["true"]) for each in branches]
    values.append(reader.node(last) if last is not None else literal(None, None))
    args = unify(values, tree)
    mixed = [part for pair in zip(conditions, args, strict=False) for part in pair]
    return Node("case", args[0].type, (*mixed, args[-1]))
