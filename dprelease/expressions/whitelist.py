"""The whitelist of row expressions: each accepted piece of SQL, its parts, and how it is read.

``SHAPES`` names the pieces by the parser's class. Whatever isn't there is refused, and so is a part
of a piece that its shape doesn't name.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from dprelease.expressions.expression_wording import name_node, name_tree_type, remember
from dprelease.expressions.grammar import FORM, find_sql_word, parse
from dprelease.expressions.growth import check_growth
from dprelease.expressions.nodes import (
    INSIDE,
    NUMBERS,
    TIMES,
    ExpressionError,
    Node,
    build_literal,
    cast_to_float,
    widen,
)
from dprelease.expressions.normal_form import normalize
from dprelease.model import ColumnType

if TYPE_CHECKING:
    from sqlglot import exp


INTEGER, FLOAT, STRING = ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.STRING
BOOLEAN, DATE, TIMESTAMP = ColumnType.BOOLEAN, ColumnType.DATE, ColumnType.TIMESTAMP

Build = Callable[["Reader", "exp.Expr"], Node]

ALLOWED = (
    "columns, literals, + - * / %, comparisons, AND OR NOT, IS NULL, BETWEEN, IN (list), LIKE, "
    "CASE, COALESCE, NULLIF, ABS, FLOOR, CEIL, ROUND, GREATEST, LEAST, LOWER, UPPER, TRIM, LENGTH, "
    "SUBSTRING, REPLACE, CONCAT, YEAR, QUARTER, MONTH, WEEK, ISODOW, DAY, HOUR, MAKE_DATE, "
    "DATE_DIFF('day', a, b) and CAST to integer, float, date or timestamp"
)


def read(text: str, types: Mapping[str, ColumnType]) -> Node:
    """Parse and type-check one expression over the declared columns.

    Args:
        text: One SQL condition or value.
        types: Types of the declared columns, by name.

    Raises:
        ExpressionError: The text is not an accepted expression, or grows too much.
    """
    try:
        tree, words = parse(text)
        remember(tree, words, SHAPES)
        node = Reader(types).read_node(tree)
    except ExpressionError as error:
        word = find_sql_word(text, types) if error.hint in (FORM, ALLOWED) else None
        if word is None:
            raise
        hint = f'write a column whose name is an SQL keyword in double quotes: "{word}"'
        raise ExpressionError(error.message, hint, error.offset) from None
    check_growth(node)
    return node


class Reader:
    """Reads parser nodes into typed nodes, one method a shape; refuses any other."""

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self.types = types

    def read_node(self, tree: exp.Expr) -> Node:
        """Read a parser node; raises ExpressionError for one that is not accepted."""
        parts, build = SHAPES.get(type(tree).__name__, ("", None))
        if build is None:
            raise refuse(tree)
        keys = {key for key, value in tree.args.items() if value not in (None, False, [])}
        if keys - {*parts.split()}:
            raise refuse(tree, "" if type(tree).__name__ == "Column" else "this form of ")
        return build(self, tree)

    def read_column(self, tree: exp.Expr) -> Node:
        """Read the name of a declared column, plain or quoted; case matters."""
        name = tree.name
        if name in self.types:
            return Node("column", INSIDE[self.types[name]], (), name)
        close = difflib.get_close_matches(name, list(self.types), 1)
        hint = f'did you mean "{close[0]}"?' if close else "declare it under [columns]"
        if signed := [column for column in self.types if column.startswith(f"{name}-")]:
            hint = f'write a name with special characters in double quotes, such as "{signed[0]}"'
        raise ExpressionError(f'unknown column "{name}"', hint, find_offset(tree), name)


def find_offset(tree: exp.Expr) -> int:
    """Find where the node, or the first name inside it, begins in the text; else 0."""
    return min((node.meta["start"] for node in tree.walk() if "start" in node.meta), default=0)


def refuse(tree: exp.Expr, form: str = "") -> ExpressionError:
    """Build the refusal of a piece of SQL that is not on the list."""
    return ExpressionError(
        f"{form}{name_node(tree)} is not allowed in an expression", ALLOWED, find_offset(tree)
    )


# --- operands -------------------------------------------------------------------------------------


def name_type(kind: ColumnType | None) -> str:
    """Name a type as people write it."""
    return kind.value if kind else "null"


def want(node: Node, kinds: Sequence[ColumnType], tree: exp.Expr, hint: str = "") -> Node:
    """Check the type of an operand.

    Args:
        node: The operand; a bare null takes the first of the types.
        kinds: Types that are accepted.
        tree: The operation that messages name.
        hint: What to do; "" for the usual hint.

    Raises:
        ExpressionError: The operand has another type.
    """
    if node.type is None:
        return widen(node, kinds[0])
    if node.type in kinds:
        return node
    kind_names = " or ".join(name_type(kind) for kind in kinds)
    raise ExpressionError(
        f"{name_node(tree)} needs {kind_names}, not {name_type(node.type)}",
        hint or _suggest_remedy(node.type, kinds),
        find_offset(tree),
    )


def _suggest_remedy(kind: ColumnType, kinds: Sequence[ColumnType]) -> str:
    if kind is BOOLEAN and INTEGER in kinds:
        return "CAST(x AS integer) makes a boolean 0 or 1"
    if kind is STRING and DATE in kinds:
        return "write dates as DATE '2026-01-31'"
    return "check the declared type of the column"


def unify(nodes: Sequence[Node], tree: exp.Expr) -> tuple[Node, ...]:
    """Widen the operands to their common type: numbers mix, dates and timestamps mix."""
    kinds = {node.type for node in nodes} - {None}
    if len(kinds) <= 1:
        target = next(iter(kinds), None)
    elif kinds <= set(NUMBERS):
        target = FLOAT
    elif kinds <= set(TIMES):
        target = TIMESTAMP
    else:
        mixed = " and ".join(sorted(name_type(kind) for kind in kinds))
        hint = "compare values of the same type"
        if STRING in kinds and kinds & set(TIMES):
            hint = "write dates as DATE '2026-01-31', timestamps as TIMESTAMP '2026-01-31 00:00:00'"
        elif STRING in kinds and kinds & set(NUMBERS):
            hint = "a string column compares with quoted text, a number column with a number"
        raise ExpressionError(
            f"{mixed} can't be combined in {name_node(tree)}", hint, find_offset(tree)
        )
    return tuple(widen(node, target) for node in nodes)


def read_operands(reader: Reader, tree: exp.Expr) -> list[Node]:
    """Read the operands: first ``this``, then ``expression``, then ``expressions``."""
    parts = [tree.args.get("this"), tree.args.get("expression"), *tree.args.get("expressions", [])]
    return [reader.read_node(part) for part in parts if part is not None]


def read_all_operands(
    reader: Reader, tree: exp.Expr, parts: Sequence[str], kind: ColumnType
) -> tuple[Node, ...]:
    """Read operands of one type; refuses a call that lacks one, which the parser lets pass."""
    if any(tree.args.get(part) is None for part in parts):
        raise refuse(tree, "this form of ")
    return tuple(want(reader.read_node(tree.args[part]), (kind,), tree) for part in parts)


def read_small_integer(reader: Reader, part: exp.Expr, tree: exp.Expr, limit: int) -> int:
    """Read an integer literal from 0 to ``limit``."""
    node = reader.read_node(part)
    if node.op == "literal" and isinstance(node.value, int) and 0 <= node.value <= limit:
        return node.value
    raise ExpressionError(
        f"{name_node(tree)} accepts whole numbers from 0 to {limit:,} here",
        "write the number itself",
        find_offset(tree),
    )


# --- literals and operators -----------------------------------------------------------------------


def read_literal(_: Reader, tree: exp.Expr) -> Node:
    """Read a text, a 64-bit integer, or a double if there is a point or an exponent."""
    text = tree.name
    if tree.args.get("is_string"):
        return build_literal(normalize(text), STRING)
    if text.isascii() and text.isdigit():
        value = int(text)
        if value > 2**63 - 1:
            raise ExpressionError("an integer here is beyond 64 bits", "use a smaller one")
        return build_literal(value, INTEGER)
    if not re.fullmatch(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        raise refuse(tree)
    number = float(text)
    if math.isinf(number):
        raise ExpressionError("a number here is beyond the range of a double", "use a smaller one")
    return build_literal(number, FLOAT)


def read_negative(reader: Reader, tree: exp.Expr) -> Node:
    """Read a unary minus; a negative literal stays a literal."""
    node = want(reader.read_node(tree.this), NUMBERS, tree)
    if node.op == "literal" and isinstance(node.value, int | float):
        return build_literal(-node.value, node.type)
    return Node("neg", node.type, (node,))


def build_uniform(
    op: str, kinds: Sequence[ColumnType] = (), kind: ColumnType | None = None
) -> Build:
    """Build the reader of an operation on values of one type.

    Args:
        op: Name of the operation; division is on doubles.
        kinds: Types that the operands may have; none given accepts all.
        kind: Type of the result; None is that of the operands.
    """

    def build(reader: Reader, tree: exp.Expr) -> Node:
        nodes = read_operands(reader, tree)
        if kinds:
            nodes = [want(node, kinds, tree) for node in nodes]
        if op == "/":
            nodes = list(map(cast_to_float, nodes))
        args = unify(nodes, tree)
        return Node(op, kind or args[0].type, args)

    return build


def read_is_null(reader: Reader, tree: exp.Expr) -> Node:
    """Read IS NULL; the parser gives IS NOT NULL as NOT of it."""
    if type(tree.expression).__name__ != "Null":
        raise ExpressionError("IS takes NULL only", "write x or NOT x", find_offset(tree))
    return Node("is_null", BOOLEAN, (reader.read_node(tree.this),))


def read_between(reader: Reader, tree: exp.Expr) -> Node:
    """Read BETWEEN, both ends included."""
    parts = [reader.read_node(tree.args[key]) for key in ("this", "low", "high")]
    return Node("between", BOOLEAN, unify(parts, tree))


def read_in(reader: Reader, tree: exp.Expr) -> Node:
    """Read IN with a list of literals."""
    nodes = read_operands(reader, tree)
    if len(nodes) < 2 or any(n.op != "literal" or n.value is None for n in nodes[1:]):
        raise ExpressionError("IN takes a list of literals", "x IN ('a', 'b')", find_offset(tree))
    return Node("in", BOOLEAN, unify(nodes, tree))


def read_like(reader: Reader, tree: exp.Expr) -> Node:
    """Read LIKE with a literal pattern, without an escape character."""
    text, pattern = (want(node, (STRING,), tree) for node in read_operands(reader, tree))
    if pattern.op != "literal" or pattern.value is None:
        raise ExpressionError("LIKE takes a quoted pattern", "x LIKE 'abc%'", find_offset(tree))
    node = Node("like", BOOLEAN, (text, pattern))
    return Node("not", BOOLEAN, (node,)) if tree.args.get("negate") else node


def read_case(reader: Reader, tree: exp.Expr) -> Node:
    """Read CASE WHEN condition THEN value ... ELSE value END."""
    if tree.args.get("this") is not None:
        raise ExpressionError(
            "CASE with a value after it is not allowed",
            "CASE WHEN x = 1 THEN ...",
            find_offset(tree),
        )
    branches = tree.args["ifs"]
    conditions = [want(reader.read_node(branch.this), (BOOLEAN,), tree) for branch in branches]
    last = tree.args.get("default")
    values = [reader.read_node(branch.args["true"]) for branch in branches]
    values.append(reader.read_node(last) if last is not None else build_literal(None, None))
    args = unify(values, tree)
    mixed = [part for pair in zip(conditions, args, strict=False) for part in pair]
    return Node("case", args[0].type, (*mixed, args[-1]))


# --- functions ------------------------------------------------------------------------------------


def read_rounding(op: str) -> Build:
    """Build the reader of FLOOR, CEIL or ROUND: integers pass, doubles stay doubles."""

    def build(reader: Reader, tree: exp.Expr) -> Node:
        if tree.this is None:  # the parser lets FLOOR() pass
            raise refuse(tree, "this form of ")
        node = want(reader.read_node(tree.this), NUMBERS, tree)
        places = tree.args.get("decimals")
        digits = read_small_integer(reader, places, tree, 15) if places is not None else 0
        if node.type is INTEGER:
            return node
        return Node(op, FLOAT, (node, build_literal(digits, INTEGER)) if op == "round" else (node,))

    return build


def read_substring(reader: Reader, tree: exp.Expr) -> Node:
    """Read SUBSTRING(text, start, length) with literal positions, from 1."""
    text = want(reader.read_node(tree.this), (STRING,), tree)
    start, size = tree.args.get("start"), tree.args.get("length")
    first = read_small_integer(reader, start, tree, 10**6) if start is not None else 0
    if first < 1:
        raise ExpressionError(
            "SUBSTRING starts at 1 or later", "the first character is number 1", find_offset(tree)
        )
    count = read_small_integer(reader, size, tree, 10**6) if size is not None else 2**31 - 1
    return Node(
        "substring", STRING, (text, build_literal(first, INTEGER), build_literal(count, INTEGER))
    )


def read_replace(reader: Reader, tree: exp.Expr) -> Node:
    """Read REPLACE(text, from, to) with quoted texts, the first of them not empty."""
    args = read_all_operands(reader, tree, ("this", "expression", "replacement"), STRING)
    if any(part.op != "literal" or part.value is None for part in args[1:]) or not args[1].value:
        raise ExpressionError(
            "REPLACE takes a quoted text that is not empty, and a second text to replace it with",
            "REPLACE(x, '.', '')",
            find_offset(tree),
        )
    return Node("replace", STRING, args)


PARTS = ("year", "quarter", "month", "week", "isodow", "day", "hour")
"""Parts of a date or time. WEEK and ISODOW are those of ISO 8601: weeks begin on Monday, which is
1, and week 1 has the year's first Thursday. WEEKDAY and DOW mean other numbers elsewhere."""


def read_extract(reader: Reader, tree: exp.Expr) -> Node:
    """Read EXTRACT(part FROM x) of the parts that have a function of their own."""
    part = tree.name.lower()
    if part not in PARTS:
        raise ExpressionError(
            f"EXTRACT of {tree.name} is not allowed", ", ".join(PARTS), find_offset(tree)
        )
    node = want(reader.read_node(tree.expression), (TIMESTAMP,) if part == "hour" else TIMES, tree)
    return Node(part, INTEGER, (node,))


def read_make_date(reader: Reader, tree: exp.Expr) -> Node:
    """Read MAKE_DATE(year, month, day)."""
    return Node(
        "make_date", DATE, read_all_operands(reader, tree, ("year", "month", "day"), INTEGER)
    )


def read_date_diff(reader: Reader, tree: exp.Expr) -> Node:
    """Read DATE_DIFF('day', from, to)."""
    if tree.args.get("unit") is None or tree.args["unit"].name.upper() != "DAY":
        raise ExpressionError(
            "DATE_DIFF counts days only", "DATE_DIFF('day', from, to)", find_offset(tree)
        )
    later, earlier = (want(node, TIMES, tree) for node in read_operands(reader, tree))
    return Node("date_diff", INTEGER, (earlier, later))


def read_cast(reader: Reader, tree: exp.Expr) -> Node:
    """Read CAST of numbers, texts and times, and literals DATE '...', TIMESTAMP '...'."""
    target = tree.args["to"]
    kind = target.this.name if target.this is not None else ""
    if target.expressions or target.args.get("nested"):
        raise refuse(tree, "this form of ")
    node = reader.read_node(tree.this)
    if kind == "DATE" and node.op == "literal" and node.type is STRING:
        return build_literal(_read_moment(str(node.value), date.fromisoformat, 10, tree), DATE)
    if kind in ("TIMESTAMP", "TIMESTAMPNTZ") and node.op == "literal" and node.type is STRING:
        return build_literal(
            _read_moment(str(node.value), datetime.fromisoformat, 26, tree), TIMESTAMP
        )
    target_type = _CASTS.get(kind)
    if target_type is None:
        hint = "integer, float, date or timestamp"
        raise ExpressionError(
            f"CAST to {name_tree_type(tree, kind)} is not allowed", hint, find_offset(tree)
        )
    if node.type is STRING:
        return Node(f"read_{target_type}", target_type, (node,))
    if target_type in TIMES:
        node = want(node, TIMES, tree, "only texts, dates and timestamps are cast to these")
    else:
        node = want(node, (*NUMBERS, BOOLEAN), tree, "only numbers, booleans and texts are cast")
    if target_type in (FLOAT, TIMESTAMP) or node.type is target_type:
        return cast_to_float(node) if target_type is FLOAT else widen(node, target_type)
    return Node(f"to_{target_type}", target_type, (node,))


_CASTS = {
    "INT": INTEGER, "BIGINT": INTEGER, "FLOAT": FLOAT, "DOUBLE": FLOAT, "DATE": DATE,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP,
}  # fmt: skip


def _read_moment(text: str, read: Callable[[str], date], size: int, tree: exp.Expr) -> date:
    pattern = r"\d{4}-\d\d-\d\d" if size == 10 else r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?"
    try:
        if re.fullmatch(pattern, text, re.ASCII):
            return read(text)
    except ValueError:
        pass
    raise ExpressionError(
        "a date or timestamp literal is not in the calendar or not in ISO form",
        "DATE '2026-01-31', TIMESTAMP '2026-01-31 23:59:00'",
        find_offset(tree),
    )


# --- the list -------------------------------------------------------------------------------------


TWO = "this expression"
MANY = "this expressions"
# How each kind of parser node is read: the only parts that it may have, and what reads it.
SHAPES: dict[str, tuple[str, Build]] = {
    # "table", "db" and "catalog" are missing on purpose: columns are unqualified
    "Column": ("this", Reader.read_column),
    "Paren": ("this", lambda reader, tree: reader.read_node(tree.this)),
    "Literal": ("this is_string", read_literal),
    "Boolean": ("this", lambda _, tree: build_literal(bool(tree.this), BOOLEAN)),
    "Null": ("", lambda _, __: build_literal(None, None)),
    "Neg": ("this", read_negative),
    "Add": (TWO, build_uniform("+", NUMBERS)),
    "Sub": (TWO, build_uniform("-", NUMBERS)),
    "Mul": (TWO, build_uniform("*", NUMBERS)),
    "Div": (f"{TWO} typed safe", build_uniform("/", NUMBERS)),
    "Mod": (TWO, build_uniform("%", NUMBERS)),
    "EQ": (TWO, build_uniform("=", kind=BOOLEAN)),
    "NEQ": (TWO, build_uniform("<>", kind=BOOLEAN)),
    "LT": (TWO, build_uniform("<", kind=BOOLEAN)),
    "LTE": (TWO, build_uniform("<=", kind=BOOLEAN)),
    "GT": (TWO, build_uniform(">", kind=BOOLEAN)),
    "GTE": (TWO, build_uniform(">=", kind=BOOLEAN)),
    "And": (TWO, build_uniform("and", (BOOLEAN,))),
    "Or": (TWO, build_uniform("or", (BOOLEAN,))),
    "Not": ("this", build_uniform("not", (BOOLEAN,))),
    "Is": (TWO, read_is_null),
    "Between": ("this low high", read_between),
    "In": (MANY, read_in),
    "Like": (f"{TWO} negate", read_like),
    "Case": ("this ifs default", read_case),
    "Coalesce": (MANY, build_uniform("coalesce")),
    "Nullif": (TWO, build_uniform("nullif")),
    "Greatest": (f"{MANY} ignore_nulls", build_uniform("greatest")),
    "Least": (f"{MANY} ignore_nulls", build_uniform("least")),
    "Abs": ("this", build_uniform("abs", NUMBERS)),
    "Floor": ("this", read_rounding("floor")),
    "Ceil": ("this", read_rounding("ceil")),
    "Round": ("this decimals", read_rounding("round")),
    "Lower": ("this", build_uniform("lower", (STRING,))),
    "Upper": ("this", build_uniform("upper", (STRING,))),
    "Trim": ("this", build_uniform("trim", (STRING,))),
    "Length": ("this", build_uniform("length", (STRING,), INTEGER)),
    "Substring": ("this start length", read_substring),
    "Replace": ("this expression replacement", read_replace),
    "Concat": ("expressions safe coalesce", build_uniform("concat", (STRING,), STRING)),
    "DPipe": (f"{TWO} safe", build_uniform("||", (STRING,))),
    "Year": ("this", build_uniform("year", TIMES, INTEGER)),
    "Month": ("this", build_uniform("month", TIMES, INTEGER)),
    "Quarter": ("this", build_uniform("quarter", TIMES, INTEGER)),
    "Week": ("this", build_uniform("week", TIMES, INTEGER)),
    "WeekOfYear": ("this", build_uniform("week", TIMES, INTEGER)),
    "DayOfWeekIso": ("this", build_uniform("isodow", TIMES, INTEGER)),
    "DateFromParts": ("year month day", read_make_date),
    "Day": ("this", build_uniform("day", TIMES, INTEGER)),
    "DayOfMonth": ("this", build_uniform("day", TIMES, INTEGER)),
    "Hour": ("this", build_uniform("hour", (TIMESTAMP,), INTEGER)),
    "Extract": (TWO, read_extract),
    "DateDiff": (f"{TWO} unit date_part_boundary", read_date_diff),
    "Cast": ("this to", read_cast),
}
