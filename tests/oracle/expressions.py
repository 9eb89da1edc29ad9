"""The typed tree in plain Python: the meaning that the SQL must have.

Three-valued logic, nulls as None. Used by the reference engine only.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

from dprelease.expressions.nodes import Node, Value
from dprelease.model import ColumnType as T
from dprelease.sources.shared.text_values import parse_value

INT64 = 2**63
Args = Sequence[Any]  # operands, whose types the reader of the expression has checked


def evaluate(node: Node, row: Mapping[str, Value]) -> Value:
    """The value of the expression for one record of typed values."""
    if node.op == "column":
        return row[str(node.value)]
    if node.op == "literal":
        return node.value
    args = [evaluate(arg, row) for arg in node.args]
    if node.op in _NULL_AWARE:
        return _NULL_AWARE[node.op](args)
    if any(arg is None for arg in args):
        return None
    return _total(_STRICT[node.op](args))


def _total(value: Value) -> Value:
    """NaN and integers beyond 64 bits are null."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, int) and not -INT64 <= value < INT64:
        return None
    return value


# --- operations that give null for any null operand ----------------------------------------------


def _times(args: Args) -> Value:
    return float(args[0] * args[1]) if isinstance(args[0], float) else int(args[0] * args[1])


def _divide(args: Args) -> Value:
    return None if args[1] == 0 else float(args[0] / args[1])


def _remainder(args: Args) -> Value:
    """Takes the sign of the first operand, as in C."""
    left, right = args
    if right == 0:
        return None
    if isinstance(left, int):
        size: int = abs(left) % abs(right)
        return -size if left < 0 else size
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _round(args: Args) -> Value:
    """Half away from zero, on the double ``x * 10**places``."""
    value, places = args
    scale = 10.0**places
    scaled = value * scale if places else value
    if not math.isfinite(scaled):
        return float(value)
    whole = float(math.floor(abs(scaled)))
    whole += abs(scaled) - whole >= 0.5
    return math.copysign(whole, scaled) / scale if places else math.copysign(whole, scaled)


def _whole(step: Callable[[float], int]) -> Callable[[Args], Value]:
    return lambda args: float(step(args[0])) if math.isfinite(args[0]) else float(args[0])


def _to_integer(args: Args) -> Value:
    """Half to even; null for what 64 bits can't hold."""
    return round(args[0]) if math.isfinite(args[0]) else None


def _like(args: Args) -> Value:
    wild = {"%": ".*", "_": "."}
    pattern = "".join(wild.get(char) or re.escape(char) for char in args[1])
    return re.fullmatch(pattern, args[0], re.DOTALL) is not None


def _lower(args: Args) -> Value:
    """Character by character (the one that has two lower-case letters keeps the first)."""
    return "".join(char.lower()[0] for char in args[0])


def _upper(args: Args) -> Value:
    """Character by character: the single upper- or title-case letter, if there is one."""
    return "".join(_capital(char) for char in args[0])


def _capital(char: str) -> str:
    forms = ("\u1e9e" if char == "\xdf" else char.upper(), char.title())
    return next((form for form in forms if len(form) == 1), char)


MOST_BYTES = 10_000
"""Of a text that is longer than its parts; what would be longer is null."""


def _joined(parts: Args) -> Value:
    return "".join(parts) if sum(len(part.encode()) for part in parts) <= MOST_BYTES else None


def _replace(args: Args) -> Value:
    """Null where a text of nothing but what is replaced could become too long."""
    text, old, new = args
    before, after, size = (len(each.encode()) for each in (old, new, text))
    if after > before and size * -(-after // before) > MOST_BYTES:
        return None
    made: str = text.replace(old, new)
    return made


def _day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _make_date(args: Args) -> Value:
    try:
        return date(*args)
    except (ValueError, OverflowError):
        return None


_STRICT: dict[str, Callable[[Args], Value]] = {
    "+": lambda args: args[0] + args[1],
    "-": lambda args: args[0] - args[1],
    "*": _times,
    "/": _divide,
    "%": _remainder,
    "neg": lambda args: -args[0],
    "abs": lambda args: abs(args[0]),
    "to_float": lambda args: float(args[0]),
    "to_integer": _to_integer,
    "to_timestamp": lambda args: datetime.combine(args[0], time()),
    "=": lambda args: operator.eq(*args),
    "<>": lambda args: operator.ne(*args),
    "<": lambda args: operator.lt(*args),
    "<=": lambda args: operator.le(*args),
    ">": lambda args: operator.gt(*args),
    ">=": lambda args: operator.ge(*args),
    "not": lambda args: not args[0],
    "in": lambda args: args[0] in args[1:],
    "like": _like,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _round,
    "lower": _lower,
    "upper": _upper,
    "trim": lambda args: args[0].strip(" "),
    "replace": _replace,
    "to_date": lambda args: args[0].date(),
    **{
        f"read_{kind}": lambda args, kind=kind: parse_value(args[0], kind)
        for kind in (T.INTEGER, T.FLOAT, T.DATE, T.TIMESTAMP)
    },
    "length": lambda args: len(args[0]),
    "substring": lambda args: args[0][args[1] - 1 : args[1] - 1 + args[2]],
    "||": _joined,
    "year": lambda args: args[0].year,
    "quarter": lambda args: (args[0].month + 2) // 3,
    "month": lambda args: args[0].month,
    "week": lambda args: args[0].isocalendar().week,
    "isodow": lambda args: args[0].isoweekday(),
    "make_date": _make_date,
    "day": lambda args: args[0].day,
    "hour": lambda args: args[0].hour,
    "date_diff": lambda args: (_day(args[1]) - _day(args[0])).days,
}


# --- operations with a say about nulls -----------------------------------------------------------


def _and(args: Args) -> Value:
    if False in args:
        return False
    return None if None in args else True


def _or(args: Args) -> Value:
    if True in args:
        return True
    return None if None in args else False


def _between(args: Args) -> Value:
    value, low, high = args
    above = None if value is None or low is None else value >= low
    below = None if value is None or high is None else value <= high
    return _and([above, below])


def _case(args: Args) -> Value:
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if condition is True:
            return _any(value)
    return _any(args[-1])


def _any(value: Any) -> Value:
    chosen: Value = value
    return chosen


def _present(args: Args) -> list[Any]:
    return [arg for arg in args if arg is not None]


_NULL_AWARE: dict[str, Callable[[Args], Value]] = {
    "and": _and,
    "or": _or,
    "between": _between,
    "case": _case,
    "is_null": lambda args: args[0] is None,
    "coalesce": lambda args: next(iter(_present(args)), None),
    "nullif": lambda args: None if args[0] is not None and args[0] == args[1] else args[0],
    "greatest": lambda args: max(_present(args), default=None),
    "least": lambda args: min(_present(args), default=None),
    "concat": lambda args: _joined(_present(args)),
}
