"""SQL expressions of a spec, held against the whitelist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dprelease.model import ColumnType, Expression
from dprelease.spec.complaints.places import Path
from dprelease.spec.complaints.reporter import Reporter


def read_expression(
    text: str,
    types: Mapping[str, ColumnType],
    want: Literal["condition", "value"],
    path: Path,
    reporter: Reporter,
) -> Expression | None:
    """Parse an expression over the columns of the file; complain and give None if refused."""
    # The SQL parser is large; specs without expressions don't pay for it.
    from dprelease.expressions import ExpressionError, parse

    try:
        return parse(text, types, want)
    except ExpressionError as error:
        spot = f" (at character {error.offset + 1})" if error.offset else ""
        reporter.complain("E215", f"{error.message}{spot}", path, error.hint)
        return None


def read_score(
    text: str, types: Mapping[str, ColumnType], path: Path, reporter: Reporter
) -> tuple[Expression, ColumnType] | None:
    """Read an expression whose value is a number, with its type; complain if it is refused."""
    expression = read_expression(text, types, "value", path, reporter)
    if expression is None:
        return None
    from dprelease.expressions import result_type

    kind = result_type(text, types)
    if kind not in (ColumnType.INTEGER, ColumnType.FLOAT):
        message = f"a score is a number, this is {kind.value if kind else 'null'}"
        hint = "CASE WHEN ... THEN 1 ELSE 0 END makes a number of a condition"
        reporter.complain("E215", message, path, hint)
        return None
    return expression, kind
