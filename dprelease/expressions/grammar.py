"""Parsing of row expressions: text that is safe to parse becomes the parser's tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from dprelease.expressions.nodes import ExpressionError

if TYPE_CHECKING:
    from sqlglot import exp

MAX_LENGTH = 4000
MAX_DEPTH = 60
MAX_NODES = 2000
FORM = "write one SQL condition or value, such as age >= 18 AND sex = 'F'"


def parse(text: str) -> tuple[exp.Expr, list[str]]:
    """Parse one expression after checking that its text is safe to parse.

    Args:
        text: One SQL condition or value.

    Returns:
        The parser's tree, of bounded size and depth, and the words of the text.

    Raises:
        ExpressionError: The text is too long, too deep, or not one expression.
    """
    words = _check_text(text)
    tree = _parse(text)
    _check_size(tree)
    return tree, words


def _check_text(text: str) -> list[str]:
    """Refuse long, deep or odd text, comments and statements; return its words."""
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError

    if not text.strip():
        raise ExpressionError("the expression is empty", "write a condition or a value")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression has more than {MAX_LENGTH} characters", "make it shorter", MAX_LENGTH
        )
    odd = re.search(r"[^\x20-\x7e\t\n\r\u00a0-\ud7ff\ue000-\ufefe\uff00-\U0010ffff]", text)
    if odd:
        raise ExpressionError(
            f"character U+{ord(odd.group()):04X} is not allowed in an expression",
            "remove it",
            odd.start(),
        )
    try:
        tokens = tokenize(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise ExpressionError("the expression can't be read", "check its quotes") from None
    end = 0
    depth = 0
    for token in tokens:
        gap = text[end : token.start]
        if gap.strip() or token.comments:
            raise _build_hidden_error(end)
        if token.token_type.name == "SEMICOLON":
            raise ExpressionError(
                "an expression can't contain a semicolon", "write one expression", token.start
            )
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
        depth += token.text.upper() == "CASE"
        if depth > MAX_DEPTH:
            raise ExpressionError(
                f"the expression is nested more than {MAX_DEPTH} deep", "simplify it", token.start
            )
        end = token.end + 1
    if text[end:].strip():
        raise _build_hidden_error(end)
    # Quoted words are left out: they can't be what the parser took for an operator or function.
    quoted = ("STRING", "IDENTIFIER")
    return ["" if token.token_type.name in quoted else token.text for token in tokens]


def _build_hidden_error(offset: int) -> ExpressionError:
    return ExpressionError(
        "an expression can't contain comments", "put the comment into the TOML file", offset
    )


def _parse(text: str) -> exp.Expr:
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        return parse_one(text, dialect="duckdb", into=exp.Condition)
    except SqlglotError:
        pass
    except (RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        # The parser is not ours: odd text must end in a refusal, not in a traceback.
        pass
    raise ExpressionError(
        "this is not a row expression",
        FORM,
    )


def find_sql_word(text: str, names: Iterable[str]) -> str | None:
    """Find an unquoted word of SQL that is also one of the names; None if there is none."""
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError

    columns = {*names}
    with suppress(SqlglotError, RecursionError):
        for token in tokenize(text, dialect="duckdb"):
            plain = token.token_type.name in ("VAR", "STRING", "IDENTIFIER", "NUMBER")
            if not plain and token.text in columns:
                return str(token.text)
    return None


def _check_size(tree: exp.Expr) -> None:
    """Bound size and depth before anything recursive walks the tree."""
    level: list[exp.Expr] = [tree]
    depth = nodes = 0
    while level:
        depth += 1
        nodes += len(level)
        if depth > 2 * MAX_DEPTH or nodes > MAX_NODES:
            raise ExpressionError("the expression is too large", "simplify it")
        level = [child for node in level for child in node.iter_expressions()]
