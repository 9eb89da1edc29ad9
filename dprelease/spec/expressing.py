"""Passes SQL expressions of the spec to the whitelist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dprelease.model import ColumnType, Expression
from dprelease.spec.reporter import Reporter
from dprelease.spec.tree import Path


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
