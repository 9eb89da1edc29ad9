"""How values and words of a spec are written in complaints, and which word a misspelt one means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from dprelease.model.plan_json import exact
from dprelease.postprocess.intervals.fixed_point import write_decimal

_LONGEST = 80
_MOST_BITS = 256
_ESCAPES = str.maketrans(
    {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
)


def show(value: object) -> str:
    """Show a value of the spec as TOML would write it; never long, never with control characters.

    Total: never raises, whatever the value.
    """
    for kind, text in _SHOWN:
        if isinstance(value, kind):
            return _cut(text(value))
    return f"a value of type {type(value).__name__}" if value is not None else "nothing"


def show_fraction(value: Fraction) -> str:
    """Show an exact number in plain decimal notation if it has one, else as a ratio."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        return "a very long number"
    try:
        return write_decimal(value)
    except ValueError:
        return exact(value)


def join_quoted(words: Iterable[str]) -> str:
    """Join words for a sentence, each in quotes: "a", "b" or "c"."""
    quoted = [_quote(word) for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun: "1 key", "2 keys"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _quote(text: str) -> str:
    quoted_text = text[: _LONGEST + 20].translate(_ESCAPES)
    if not quoted_text.isprintable():
        quoted_text = "".join(
            char if char.isprintable() else f"\\u{ord(char):04x}" for char in quoted_text
        )
    return f'"{quoted_text}"'


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST + 2 else text[:_LONGEST] + "…"


def _show_integer(value: int) -> str:
    return str(value) if value.bit_length() <= _MOST_BITS else "a very large number"


def _show_decimal(value: Decimal) -> str:
    return str(value).replace("E", "e").replace("Infinity", "inf").replace("NaN", "nan")


# The order matters: a bool is an int.
_SHOWN: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (str, _quote),
    (bool, lambda value: "true" if value else "false"),
    (int, _show_integer),
    (Decimal, _show_decimal),
    (Fraction, show_fraction),
    (date, str),
    (time, str),
    (list, lambda _: "a list"),
    (dict, lambda _: "a table"),
)
_LONGEST_GUESSED = 64
_MOST_TRIED = 1_000  # all time zones, too


def find_nearest(word: str, words: Iterable[str]) -> str | None:
    """Give the known word closest to ``word``, or None when none is close.

    Case and the difference between ``-`` and ``_`` don't count. Ties go to the first in order;
    only the first 1,000 known words are tried.
    """
    # 60 of 100 letters in common, in order: enough to be a misspelling.
    if len(word) > _LONGEST_GUESSED:
        return None
    # Imported here for start-up: most specs hold no misspelling.
    from difflib import SequenceMatcher

    target = _fold(word)
    best, best_score = None, 60
    for candidate in islice(words, _MOST_TRIED):
        score = round(100 * SequenceMatcher(None, target, _fold(candidate), autojunk=False).ratio())
        if score > best_score:
            best, best_score = candidate, score
    return best


def suggest_word(word: object, words: Iterable[str], otherwise: str) -> str:
    """Ask whether the known word closest to ``word`` is meant; else say what to do otherwise."""
    close = find_nearest(word, words) if isinstance(word, str) else None
    return f"did you mean {show(close)}?" if close else otherwise


def _fold(word: str) -> str:
    return word.casefold().replace("-", "_")
