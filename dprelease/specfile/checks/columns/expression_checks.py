"""SQL expressions of a spec, held against the whitelist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from dprelease.model import ColumnType, Expression
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.keys.section_reader import Part, SectionType

if TYPE_CHECKING:
    from dprelease.expressions import Node


def read_expression(
    text: str | None,
    types: Mapping[str, ColumnType],
    want: Literal["condition", "value"],
    part: Part[SectionType],
    *keys: str | int,
) -> Expression | None:
    """Parse an expression over the columns of the file; complain and give None if refused.

    ``keys``: where it stands in the section. Without a text there is none.
    """
    node = None if text is None else _parse(text, types, want, part, *keys)
    return None if text is None or node is None else Expression(text, node.list_columns())


def _parse(
    text: str,
    types: Mapping[str, ColumnType],
    want: Literal["condition", "value"],
    part: Part[SectionType],
    *keys: str | int,
) -> Node | None:
    # The SQL parser is large; specs without expressions don't pay for it.
    from dprelease.expressions import ExpressionError, parse_tree

    try:
        node = parse_tree(text, types, want)
    except ExpressionError as error:
        spot = f" (at character {error.offset + 1})" if error.offset else ""
        message, hint = error.message, error.hint
        if error.column in part.reporter.computed:
            message = f"{show(error.column)} is computed by an expression, and can't be read in one"
            hint = f"write the expression of {show(error.column)} in its place, in parentheses"
        part.complain("E215", f"{message}{spot}", *keys, hint=hint)
        return None
    _check_joined(text, node, part, *keys)
    return node


def _check_joined(text: str, node: Node, part: Part[SectionType], *keys: str | int) -> None:
    """Complain of the expression with which all of the spec join too many texts."""
    # One statement may compute all of them for each record.
    from dprelease.expressions.growth import MOST_PIECES, count_pieces

    joined = part.reporter.joined
    before = sum(joined.values())
    joined[text] = count_pieces(node)
    if before <= MOST_PIECES < sum(joined.values()):
        part.complain(
            "E215",
            f"with this expression, the expressions of the spec join {sum(joined.values()):,} "
            "texts, intermediate results included",
            *keys,
            hint=f"the limit for all together is {MOST_PIECES}: join fewer columns, or make two "
            "releases",
        )


def read_score(
    text: str, types: Mapping[str, ColumnType], part: Part[SectionType]
) -> tuple[Expression, ColumnType] | None:
    """Read an expression whose value is a number, with its type; complain if it is refused."""
    node = _parse(text, types, "value", part, "score")
    if node is None:
        return None
    if node.type not in (ColumnType.INTEGER, ColumnType.FLOAT):
        message = (
            f"a score must be a number, but this is {node.type.value if node.type else 'null'}"
        )
        hint = "CASE WHEN ... THEN 1 ELSE 0 END turns a condition into a number"
        part.complain("E215", message, "score", hint=hint)
        return None
    return Expression(text, node.list_columns()), node.type
