"""Row expressions: `where` conditions and derived columns, on a whitelist.

An expression is one SQL condition or value over the declared columns of one record. What it means:

* Integer columns are 64-bit integers; float and decimal columns, and literals with a point or an
  exponent, are doubles. An integer beside a double becomes a double.
* ``/`` always divides doubles. ``%`` takes the sign of its left operand. ``ROUND`` rounds half away
  from zero, ``CAST(x AS integer)`` half to even.
* Every expression is total: division by zero, integer overflow and NaN give null; a double that is
  too large becomes an infinity. Null follows SQL's three-valued logic; ``GREATEST``, ``LEAST``
  and ``CONCAT`` pass over nulls, ``||`` does not. A joined text of more than 10,000 bytes is null.
* Text compares by code points and ``LIKE`` minds case; ``LENGTH`` and ``SUBSTRING`` (from 1)
  count characters; ``TRIM`` removes spaces; ``LOWER`` and ``UPPER`` map single characters.
* ``CAST`` of a text reads it as a field of that type in its default form. ``REPLACE`` puts one text
  for another everywhere, from left to right; with a longer one, it gives null for a text that could
  have more than 10,000 bytes then.
* ``DATE_DIFF('day', a, b)`` counts midnights from a to b. Dates and timestamps have no zone.

Names are matched as written, quoted if they hold odd characters: ``"marital-status" = 'single'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from dprelease.expressions.nodes import ExpressionError, Node
from dprelease.model import ColumnType

__all__ = ["ExpressionError", "Node", "parse_tree"]


def parse_tree(
    text: str, types: Mapping[str, ColumnType], want: Literal["condition", "value"] = "value"
) -> Node:
    """Parse and type-check an expression.

    Args:
        text: One SQL condition or value.
        types: Types of the declared columns, by name.
        want: A condition must be boolean, or a bare NULL.

    Returns:
        The typed tree, of operations on the whitelist only.

    Raises:
        ExpressionError: The text is not an accepted expression, or not a condition.
    """
    node = _read_tree(text, tuple(types.items()))
    if want == "condition" and node.type not in (ColumnType.BOOLEAN, None):
        raise ExpressionError(
            f"a condition must be true or false, but this is {node.type}",
            "compare it with something, such as age >= 18",
        )
    return node


@lru_cache(maxsize=1024)  # loading, planning, certifying and reading ask for the same few
def _read_tree(text: str, types: tuple[tuple[str, ColumnType], ...]) -> Node:
    from dprelease.expressions.whitelist import read

    return read(text, dict(types))
