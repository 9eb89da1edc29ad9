"""How a piece of SQL is called in a message: as the user wrote it, not as the parser names it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS, _ACCEPTED = "dprelease words", "dprelease accepted"

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
    "DateFromParts": ("MAKE_DATE", "DATE_FROM_PARTS", "DATEFROMPARTS"),
    "DayOfMonth": ("DAY", "DAYOFMONTH"),
    "DayOfWeekIso": ("ISODOW", "DAYOFWEEK_ISO"),
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


def remember(tree: exp.Expr, words: Sequence[str], accepted: Iterable[str]) -> None:
    """Keep with a tree the words of its text and the accepted classes of the parser."""
    tree.meta[_WORDS] = [word.upper() for word in words]
    tree.meta[_ACCEPTED] = frozenset(accepted)


def name_node(tree: exp.Expr) -> str:
    """Name a node of the tree as its text spells it."""
    kind = type(tree).__name__
    words = _list_words(tree)
    spelled = _FUNCTIONS.get(kind)
    if spelled is not None:
        return _find_word(spelled, words)
    if kind in _OPERATORS:
        as_operator = not _is_function(tree) or set(_OPERATORS[kind]) & set(words)
        function = "" if as_operator else _find_refused_call(tree)
        name = function or _find_word(_OPERATORS[kind], words)
        return name if name[0].isalpha() else f'"{name}"'
    if kind in _THINGS:
        return _THINGS[kind]
    if kind == "Anonymous":
        return f"{tree.name.upper()}()"
    if _is_function(tree) and kind not in _list_accepted(tree):
        return _find_refused_call(tree) or _capitalize(kind, words)
    return kind.upper()


def name_tree_type(tree: exp.Expr, name: str) -> str:
    """Name a type as the text of the tree spells it."""
    return _find_word(_TYPES.get(name, (name,)), _list_words(tree))


def _list_words(tree: exp.Expr) -> list[str]:
    words: list[str] = tree.root().meta.get(_WORDS, [])
    return words


def _list_accepted(tree: exp.Expr) -> frozenset[str]:
    accepted: frozenset[str] = tree.root().meta.get(_ACCEPTED, frozenset())
    return accepted


def _find_word(spelled: Sequence[str], words: Sequence[str]) -> str:
    return next((word for word in spelled if word in words), spelled[0])


def _is_function(tree: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(tree, exp.Func)


def _find_refused_call(tree: exp.Expr) -> str:
    """Find the first function called that is not accepted; "" if there is none."""
    accepted = {name.upper() for name in _list_accepted(tree)}
    accepted.update(name for spelled in _FUNCTIONS.values() for name in spelled)
    accepted |= {"AND", "OR", "NOT", "IN", "WHEN", "THEN", "ELSE", "BETWEEN", "LIKE", "IS", "AS"}
    return next(
        (
            f"{word}()"
            for word, after in pairwise(_list_words(tree))
            if after == "(" and word.isidentifier() and word not in accepted
        ),
        "",
    )


def _capitalize(kind: str, words: Sequence[str]) -> str:
    """Turn CurrentDate into CURRENT_DATE if the text has that word, else into a call."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).upper()
    return name if name in words else f"{name}()"
