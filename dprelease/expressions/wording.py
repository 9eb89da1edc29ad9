"""How a piece of SQL is called in a message: as the user wrote it, not as the parser names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS = "dprelease words"

# By the parser's name: what can be written for it. The first is taken where none is found.
_OPERATORS: dict[str, tuple[str, ...]] = {
    "Add": ("+",),
    "Sub": ("-",),
    "Neg": ("-",),
    "Mul": ("*",),
    "Div": ("/",),
    "Mod": ("%",),
    "IntDiv": ("//",),
    "Pow": ("**", "^"),
    "EQ": ("=", "=="),
    "NEQ": ("<>", "!="),
    "LT": ("<",),
    "LTE": ("<=",),
    "GT": (">",),
    "GTE": (">=",),
    "DPipe": ("||",),
    "BitwiseAnd": ("&",),
    "BitwiseOr": ("|",),
    "BitwiseNot": ("~",),
    "BitwiseLeftShift": ("<<",),
    "BitwiseRightShift": (">>",),
    "JSONExtract": ("->",),
    "JSONExtractScalar": ("->>",),
    "RegexpLike": ("~", "!~"),
    "StartsWith": ("^@",),
    "Glob": ("GLOB",),
    "ILike": ("ILIKE",),
    "SimilarTo": ("SIMILAR TO",),
    "NullSafeEQ": ("IS NOT DISTINCT FROM",),
    "NullSafeNEQ": ("IS DISTINCT FROM",),
    "Cast": ("CAST", "::"),
    "TryCast": ("TRY_CAST",),
}
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "Ceil": ("CEIL", "CEILING"),
    "Coalesce": ("COALESCE", "IFNULL"),
    "DateDiff": ("DATE_DIFF", "DATEDIFF"),
    "DayOfMonth": ("DAY", "DAYOFMONTH"),
    "Length": ("LENGTH", "LEN"),
    "Lower": ("LOWER", "LCASE"),
    "Substring": ("SUBSTRING", "SUBSTR"),
    "Upper": ("UPPER", "UCASE"),
}
_THINGS = {
    "Any": "ANY",
    "Array": "a list",
    "Bracket": "[ ]",
    "ByteString": "this kind of text",
    "Column": "a name with a point",
    "Dot": "a name with a point",
    "Lambda": "->",
    "Placeholder": "a parameter",
    "Parameter": "a parameter",
    "RawString": "this kind of text",
    "Select": "a subquery",
    "Star": "*",
    "Struct": "{ }",
    "Subquery": "a subquery",
    "Tuple": "a list of values",
    "Window": "OVER",
}
_TYPES = {"TEXT": ("VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR")}


def remember(tree: exp.Expr, words: Sequence[str]) -> None:
    """Keep the words of the text with the tree that was made of it."""
    tree.meta[_WORDS] = [word.upper() for word in words]


def written(tree: exp.Expr) -> str:
    """What a node of the tree is called."""
    kind = type(tree).__name__
    words = _words(tree)
    spelled = _FUNCTIONS.get(kind)
    if spelled is not None:
        return _among(spelled, words)
    if kind in _OPERATORS:
        found = (
            _call(words) if _is_function(tree) and not set(_OPERATORS[kind]) & set(words) else ""
        )
        name = found or _among(_OPERATORS[kind], words)
        return name if name[0].isalpha() else f'"{name}"'
    if kind in _THINGS:
        return _THINGS[kind]
    if kind == "Anonymous":
        return f"{tree.name.upper()}()"
    if _is_function(tree) and not _is_accepted(kind):
        return _call(words) or _apart(kind, words)
    return kind.upper()


def written_type(tree: exp.Expr, name: str) -> str:
    """The name of a type."""
    return _among(_TYPES.get(name, (name,)), _words(tree))


def _words(tree: exp.Expr) -> list[str]:
    found: list[str] = tree.root().meta.get(_WORDS, [])
    return found


def _among(spelled: Sequence[str], words: Sequence[str]) -> str:
    return next((each for each in spelled if each in words), spelled[0])


def _is_function(tree: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(tree, exp.Func)


def _is_accepted(kind: str) -> bool:
    from dprelease.expressions.shapes import SHAPES

    return kind in SHAPES


def _call(words: Sequence[str]) -> str:
    """The first function that is called and not on the list."""
    from dprelease.expressions.shapes import SHAPES

    known = {name.upper() for name in SHAPES} | {
        each for spelled in _FUNCTIONS.values() for each in spelled
    }
    known |= {"AND", "OR", "NOT", "IN", "WHEN", "THEN", "ELSE", "BETWEEN", "LIKE", "IS", "AS"}
    return next(
        (
            f"{word}()"
            for word, after in pairwise(words)
            if after == "(" and word.isidentifier() and word not in known
        ),
        "",
    )


def _apart(kind: str, words: Sequence[str]) -> str:
    """CURRENT_DATE of CurrentDate, if that is what was written."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).upper()
    return name if name in words else f"{name}()"
