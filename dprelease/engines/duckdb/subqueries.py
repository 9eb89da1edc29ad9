"""Subqueries one inside the other, with column names of our own making."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.expressions import sqltext
from dprelease.expressions.sqltext import STAR, Sql, alias, identifier, select, subquery


def name(letter: str, index: int) -> Sql:
    """The column ``<letter><index>``."""
    return identifier(f"{letter}{index}")


def layer(inner: Sql, columns: Mapping[str, Sql], keep: bool = True) -> Sql:
    """``(SELECT *, expression AS name ... FROM inner)``; without ``keep`` only the new columns."""
    new = [alias(value, key) for key, value in columns.items()]
    return subquery(select([STAR, *new] if keep else new, inner), "inside")


def replaced(inner: Sql, key: str, value: Sql) -> Sql:
    """The same rows with column ``key`` computed anew."""
    return subquery(select([sqltext.replaced(value, key)], inner), "inside")


def only(inner: Sql, condition: Sql | None) -> Sql:
    """The rows for which the condition is true; all of them if there is none."""
    return (
        inner if condition is None else subquery(select([STAR], inner, where=condition), "inside")
    )
