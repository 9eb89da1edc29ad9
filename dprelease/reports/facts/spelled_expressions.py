"""Expressions of a spec in words, for readers who know no SQL.

Each operation of the typed tree has one sentence. An operand that is itself an operation stands in
parentheses wherever the words around it could be read in two ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime

from msgspec.structs import replace

from dprelease.expressions import Node, parse_tree
from dprelease.expressions.nodes import TIMES
from dprelease.language import number_text, say
from dprelease.model import ColumnType, Expression
from dprelease.reports.text.shown_names import join_by_semicolons
from dprelease.reports.text.spec_words import write_date

COMPARISONS = {
    "=": "expressions.equal",
    "<>": "expressions.not_equal",
    "<": "expressions.less",
    "<=": "expressions.at_most",
    ">": "expressions.more",
    ">=": "expressions.at_least",
}
COMPARISONS_OF_TIMES = {
    "<": "expressions.before",
    "<=": "expressions.not_after",
    ">": "expressions.after",
    ">=": "expressions.not_before",
}
OPPOSITES = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "and": "or",
    "or": "and",
}
"""What NOT makes of an operation; of AND and OR with NOT before their operands."""
NEGATIONS = {
    "is_null": "expressions.present",
    "in": "expressions.none_of",
    "between": "expressions.not_between",
    "like": "expressions.not_like",
}
ARITHMETIC = {
    "+": "expressions.plus",
    "-": "expressions.minus",
    "*": "expressions.times",
    "/": "expressions.divided",
    "%": "expressions.remainder",
    "neg": "expressions.negative",
}
PHRASES = {
    "abs": "expressions.absolute",
    "between": "expressions.between",
    "date_diff": "expressions.days_between",
    "day": "expressions.day",
    "floor": "expressions.rounded_down",
    "ceil": "expressions.rounded_up",
    "hour": "expressions.hour",
    "in": "expressions.one_of",
    "is_null": "expressions.missing",
    "isodow": "expressions.weekday",
    "length": "expressions.length",
    "like": "expressions.like",
    "lower": "expressions.small_letters",
    "make_date": "expressions.made_date",
    "month": "expressions.month",
    "nullif": "expressions.unless",
    "quarter": "expressions.quarter",
    "read_date": "expressions.read_date",
    "read_float": "expressions.read_number",
    "read_integer": "expressions.read_integer",
    "read_timestamp": "expressions.read_timestamp",
    "replace": "expressions.replaced",
    "round": "expressions.rounded",
    "to_date": "expressions.to_date",
    "to_integer": "expressions.to_integer",
    "trim": "expressions.trimmed",
    "upper": "expressions.capital_letters",
    "week": "expressions.week",
    "year": "expressions.year",
}
"""Sentences that show the operands in order, as {a}, {b} and {c}."""
LISTS = {
    "coalesce": "expressions.first_present",
    "concat": "expressions.joined",
    "||": "expressions.joined_if_present",
    "greatest": "expressions.largest",
    "least": "expressions.smallest",
}
"""Sentences that show all operands as one {list}."""
_SILENT = {"to_float", "to_timestamp"}
"""Operations that change no value that a reader would see."""
_ATOMS = {"column", "literal"}
_CONNECTED = {"and": "expressions.and", "or": "expressions.or"}
_PREDICATES = {*COMPARISONS, "is_null", "in", "between", "like"}
_END = 2**31 - 1


def spell_expression(expression: Expression, types: Mapping[str, ColumnType]) -> str:
    """Spell a condition or value of the spec as a part of a sentence.

    Not that of a column of states. ``types`` are those of all columns of the release.
    """
    tree = parse_tree(expression.text, types)
    return _spell_condition(tree) if tree.type is ColumnType.BOOLEAN else _spell(tree)


def _spell_condition(node: Node) -> str:
    """Spell what is true or false; a value alone needs a verb."""
    node = _negate_inside(node)
    if node.op in _CONNECTED:
        parts = [
            _enclose(_spell_condition(arg), arg.op in _CONNECTED and arg.op != node.op)
            for arg in map(_negate_inside, node.args)
        ]
        return say(_CONNECTED[node.op], a=parts[0], b=parts[1])
    if _has_default(node):
        operand = _negate_inside(node.args[0])
        told = _enclose(_spell_condition(operand), operand.op in _CONNECTED)
        return say("expressions.unknown_counts", a=told, b=_spell(node.args[1]))
    if node.op in _PREDICATES:
        return _spell(node)
    if node.op != "not":
        return say("expressions.true", a=_spell_operand(node))
    (operand,) = node.args
    if operand.op in _PREDICATES:
        return _spell_with(NEGATIONS[operand.op], operand)
    return say("expressions.false", a=_spell_operand(operand))


def _negate_inside(node: Node) -> Node:
    """Move a NOT to the operands, as far as it goes: "not true" would take in what is unknown."""
    if node.op != "not":
        return node
    (operand,) = node.args
    if operand.op == "not":
        return _negate_inside(operand.args[0])
    if operand.op in _CONNECTED or _has_default(operand):
        args = tuple(_negate_inside(replace(node, args=(arg,))) for arg in operand.args)
        return replace(operand, op=OPPOSITES.get(operand.op, operand.op), args=args)
    if operand.op in OPPOSITES:
        return replace(operand, op=OPPOSITES[operand.op])
    if isinstance(operand.value, bool):
        return replace(operand, value=not operand.value)
    return node


def _has_default(node: Node) -> bool:
    """Whether this is COALESCE of a condition, and yes or no where it is unknown."""
    constants = [isinstance(arg.value, bool) for arg in node.args]
    return node.op == "coalesce" and constants == [False, True]


def _spell(node: Node) -> str:
    """Spell a value; conditions inside it as conditions."""
    if node.op in _OWN_WAYS:
        return _OWN_WAYS[node.op](node)
    if node.op in COMPARISONS_OF_TIMES and node.args[0].type in TIMES:
        # days and moments are before or after, not less
        return _spell_with(COMPARISONS_OF_TIMES[node.op], node)
    return _spell_with((COMPARISONS | ARITHMETIC | PHRASES)[node.op], node)


def _spell_with(key: str, node: Node) -> str:
    """Put the operands of a node into a sentence."""
    first, *others = node.args
    if node.op == "in":
        values = [_spell(arg) for arg in others]
        *initial, last = values
        listed = say("words.list.or", first=", ".join(initial), last=last) if initial else last
        return say(key, a=_spell_operand(first), list=listed)
    operands = [_spell_operand(arg, within=node) for arg in node.args]
    return say(key, **dict(zip("abc", operands, strict=False)))


def _spell_operand(node: Node, within: Node | None = None) -> str:
    """Spell an operand, in parentheses where it could be read in two ways."""
    while node.op in _SILENT:
        (node,) = node.args
    if within is not None and within.op in COMPARISONS and _is_null(node):
        return say("expressions.none_compared")
    is_plain = node.op in _ATOMS
    if within is not None and within.op in COMPARISONS and node.op in ARITHMETIC:
        is_plain = True
    return _enclose(_spell(node), not is_plain)


def _is_null(node: Node) -> bool:
    return node.op == "literal" and node.value is None


def _enclose(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _spell_list(node: Node) -> str:
    operands = join_by_semicolons([_spell_operand(arg) for arg in node.args])
    return say(LISTS[node.op], list=operands)


def _spell_case(node: Node) -> str:
    """Spell the values, each with its condition, then the one that remains."""
    *branches, last = node.args
    told = [
        say("expressions.if", a=_spell_operand(value), condition=_spell_condition(condition))
        for condition, value in zip(branches[::2], branches[1::2], strict=True)
    ]
    return join_by_semicolons([*told, say("expressions.otherwise", a=_spell_operand(last))])


def _spell_substring(node: Node) -> str:
    text, first, count = node.args
    operand = _spell_operand(text)
    if count.value == _END:
        return say("expressions.characters_from", a=operand, first=first.value)
    return say("expressions.characters", a=operand, first=first.value, count=count.value)


def _spell_literal(node: Node) -> str:
    """Write a constant: texts in quotation marks, days written out."""
    value = node.value
    if value is None:
        return say("expressions.none")
    if isinstance(value, bool):
        return say("expressions.yes" if value else "expressions.no")
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return write_date(value.isoformat())
    if isinstance(value, str):
        return say("expressions.text", text=value)
    return number_text(repr(value).removesuffix(".0"))


_OWN_WAYS: Mapping[str, Callable[[Node], str]] = {
    "column": lambda node: str(node.value),
    "literal": _spell_literal,
    "and": _spell_condition,
    "or": _spell_condition,
    "not": _spell_condition,
    "case": _spell_case,
    "substring": _spell_substring,
    **dict.fromkeys(_SILENT, lambda node: _spell(node.args[0])),
    **dict.fromkeys(LISTS, _spell_list),
}
"""Operations that a sentence with their operands in order would not do for."""
