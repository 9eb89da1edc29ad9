"""The functions on the whitelist: how each is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING

from dprelease.expressions.checks import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    STRING,
    TIMESTAMP,
    Build,
    operands,
    small,
    unify,
    want,
)
from dprelease.expressions.grammar import Reader, offset, refuse
from dprelease.expressions.nodes import NUMBERS, TIMES, ExpressionError, Node, as_float, literal
from dprelease.expressions.wording import written_type
from dprelease.model import ColumnType

if TYPE_CHECKING:
    from sqlglot import exp


def read_same(op: str) -> Build:
    """A function whose operands and value have one common type."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        args = unify(operands(reader, tree), tree)
        return Node(op, args[0].type, args)

    return build


def read_rounding(op: str) -> Build:
    """FLOOR, CEIL and ROUND: integers pass through, doubles stay doubles."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        node = want(reader.node(tree.this), NUMBERS, tree)
        places = tree.args.get("decimals")
        digits = small(reader, places, tree, 15) if places is not None else 0
        if node.type is INTEGER:
            return node
        return Node(op, FLOAT, (node, literal(digits, INTEGER)) if op == "round" else (node,))

    return build


def read_absolute(reader: Reader, tree: exp.Expr) -> Node:
    """ABS of a number."""
    node = want(reader.node(tree.this), NUMBERS, tree)
    return Node("abs", node.type, (node,))


def read_text(op: str, kind: ColumnType = STRING) -> Build:
    """A function of strings."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        nodes = [want(node, (STRING,), tree) for node in operands(reader, tree)]
        return Node(op, kind, tuple(nodes))

    return build


def read_substring(reader: Reader, tree: exp.Expr) -> Node:
    """SUBSTRING(text, start, length) with literal positions, from 1."""
    text = want(reader.node(tree.this), (STRING,), tree)
    start, size = tree.args.get("start"), tree.args.get("length")
    first = small(reader, start, tree, 10**6) if start is not None else 0
    if first < 1:
        raise ExpressionError(
            "SUBSTRING starts at 1 or later", "the first character is number 1", offset(tree)
        )
    count = small(reader, size, tree, 10**6) if size is not None else 2**31 - 1
    return Node("substring", STRING, (text, literal(first, INTEGER), literal(count, INTEGER)))


def read_date_part(op: str) -> Build:
    """YEAR, MONTH, DAY and HOUR."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        kinds = (TIMESTAMP,) if op == "hour" else TIMES
        return Node(op, INTEGER, (want(reader.node(tree.this), kinds, tree),))

    return build


def read_extract(reader: Reader, tree: exp.Expr) -> Node:
    """EXTRACT(year FROM x), the same parts."""
    part = tree.name.lower()
    if part not in ("year", "month", "day", "hour"):
        raise ExpressionError(
            f"EXTRACT of {tree.name} is not allowed", "year, month, day or hour", offset(tree)
        )
    kinds = (TIMESTAMP,) if part == "hour" else TIMES
    return Node(part, INTEGER, (want(reader.node(tree.expression), kinds, tree),))


def read_date_diff(reader: Reader, tree: exp.Expr) -> Node:
    """DATE_DIFF('day', from, to)."""
    if tree.args.get("unit") is None or tree.args["unit"].name.upper() != "DAY":
        raise ExpressionError(
            "DATE_DIFF counts days only", "DATE_DIFF('day', from, to)", offset(tree)
        )
    later, earlier = (want(node, TIMES, tree) for node in operands(reader, tree))
    return Node("date_diff", INTEGER, (earlier, later))


def read_cast(reader: Reader, tree: exp.Expr) -> Node:
    """CAST of numbers, and the literals DATE '...' and TIMESTAMP '...'."""
    target = tree.args["to"]
    kind = target.this.name if target.this is not None else ""
    if target.expressions or target.args.get("nested"):
        raise refuse(tree, "this form of ")
    node = reader.node(tree.this)
    if kind == "DATE" and node.op == "literal" and node.type is STRING:
        return literal(_moment(str(node.value), date.fromisoformat, 10, tree), DATE)
    if kind in ("TIMESTAMP", "TIMESTAMPNTZ") and node.op == "literal" and node.type is STRING:
        return literal(_moment(str(node.value), datetime.fromisoformat, 26, tree), TIMESTAMP)
    number = want(node, (*NUMBERS, BOOLEAN), tree, "only numbers and booleans are cast")
    if kind in ("INT", "BIGINT"):
        return number if number.type is INTEGER else Node("to_integer", INTEGER, (number,))
    if kind in ("FLOAT", "DOUBLE"):
        return as_float(number)
    raise ExpressionError(
        f"CAST to {written_type(tree, kind)} is not allowed", "integer or float", offset(tree)
    )


def _moment(text: str, read: Callable[[str], date], size: int, tree: exp.Expr) -> date:
    pattern = r"\d{4}-\d\d-\d\d" if size == 10 else r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?"
    try:
        if re.fullmatch(pattern, text, re.ASCII):
            return read(text)
    except ValueError:
        pass
    raise ExpressionError(
        "a date or timestamp literal is not in the calendar or not in ISO form",
        "DATE '2026-01-31', TIMESTAMP '2026-01-31 23:59:00'",
        offset(tree),
    )
