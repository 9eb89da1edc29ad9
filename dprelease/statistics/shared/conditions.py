"""Conditions put together."""

from __future__ import annotations

from dprelease.model import Expression


def both(first: Expression | None, second: Expression | None) -> Expression | None:
    """The condition that both are true; None is always true."""
    if first is None or second is None:
        return first or second
    columns = tuple(dict.fromkeys(first.columns + second.columns))
    return Expression(f"({first.text}) AND ({second.text})", columns)
