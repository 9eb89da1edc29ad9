"""The whitelist: each accepted piece of SQL by its parser class, and the parts it may have."""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.expressions import functions, operators
from dprelease.expressions.checks import BOOLEAN, INTEGER, Build
from dprelease.expressions.grammar import Reader
from dprelease.expressions.nodes import literal


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind of parser node is read; ``args`` are the only parts it may have."""

    args: frozenset[str]
    build: Build


def _shape(args: str, build: Build) -> Shape:
    return Shape(frozenset(args.split()), build)


TWO = "this expression"
MANY = "this expressions"
SHAPES: dict[str, Shape] = {
    # "table", "db" and "catalog" are missing on purpose: columns are unqualified
    "Column": _shape("this", Reader.column),
    "Paren": _shape("this", lambda reader, tree: reader.node(tree.this)),
    "Literal": _shape("this is_string", operators.read_literal),
    "Boolean": _shape("this", lambda _, tree: literal(bool(tree.this), BOOLEAN)),
    "Null": _shape("", lambda _, __: literal(None, None)),
    "Neg": _shape("this", operators.read_negative),
    "Add": _shape(TWO, operators.read_arithmetic("+")),
    "Sub": _shape(TWO, operators.read_arithmetic("-")),
    "Mul": _shape(TWO, operators.read_arithmetic("*")),
    "Div": _shape(f"{TWO} typed safe", operators.read_arithmetic("/")),
    "Mod": _shape(TWO, operators.read_arithmetic("%")),
    "EQ": _shape(TWO, operators.read_comparison("=")),
    "NEQ": _shape(TWO, operators.read_comparison("<>")),
    "LT": _shape(TWO, operators.read_comparison("<")),
    "LTE": _shape(TWO, operators.read_comparison("<=")),
    "GT": _shape(TWO, operators.read_comparison(">")),
    "GTE": _shape(TWO, operators.read_comparison(">=")),
    "And": _shape(TWO, operators.read_logic("and")),
    "Or": _shape(TWO, operators.read_logic("or")),
    "Not": _shape("this", operators.read_logic("not")),
    "Is": _shape(TWO, operators.read_is_null),
    "Between": _shape("this low high", operators.read_between),
    "In": _shape(MANY, operators.read_in),
    "Like": _shape(f"{TWO} negate", operators.read_like),
    "Case": _shape("this ifs default", operators.read_case),
    "Coalesce": _shape(MANY, functions.read_same("coalesce")),
    "Nullif": _shape(TWO, functions.read_same("nullif")),
    "Greatest": _shape(f"{MANY} ignore_nulls", functions.read_same("greatest")),
    "Least": _shape(f"{MANY} ignore_nulls", functions.read_same("least")),
    "Abs": _shape("this", functions.read_absolute),
    "Floor": _shape("this", functions.read_rounding("floor")),
    "Ceil": _shape("this", functions.read_rounding("ceil")),
    "Round": _shape("this decimals", functions.read_rounding("round")),
    "Lower": _shape("this", functions.read_text("lower")),
    "Upper": _shape("this", functions.read_text("upper")),
    "Trim": _shape("this", functions.read_text("trim")),
    "Length": _shape("this", functions.read_text("length", INTEGER)),
    "Substring": _shape("this start length", functions.read_substring),
    "Concat": _shape("expressions safe coalesce", functions.read_text("concat")),
    "DPipe": _shape(f"{TWO} safe", functions.read_text("||")),
    "Year": _shape("this", functions.read_date_part("year")),
    "Month": _shape("this", functions.read_date_part("month")),
    "Day": _shape("this", functions.read_date_part("day")),
    "DayOfMonth": _shape("this", functions.read_date_part("day")),
    "Hour": _shape("this", functions.read_date_part("hour")),
    "Extract": _shape(TWO, functions.read_extract),
    "DateDiff": _shape(f"{TWO} unit date_part_boundary", functions.read_date_diff),
    "Cast": _shape("this to", functions.read_cast),
}
