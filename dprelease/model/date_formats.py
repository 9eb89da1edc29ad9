"""Formats of dates and moments in texts, such as ``%d.%m.%Y``: a short list of directives.

``%d``, ``%m`` and ``%H`` are one or two digits, but two where they touch another digit. ``%Y`` is
four digits, ``%M`` and ``%S`` two, ``%f`` one to nine, ``%z`` is ``Z`` or an offset such as
``+01:00``, ``+0100`` or ``+01``. All else stands for itself. A text has a meaning if the whole of
it has the format, and what it says is in the calendar and on the clock.

``%S`` and ``%S.%f`` are the same: two digits and an optional fraction of a second after a point.
Programs leave out a fraction of zero, so a column has both. A ``%S`` before another digit or point
has no fraction, nor has one in a format with ``%f`` elsewhere.

A format becomes one regular expression, so that nobody's strptime decides what is read.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from msgspec import Struct

UTC_NAMES = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00"})
"""Names that a type may give UTC as its time zone."""

_DIRECTIVES = {
    "Y": "[0-9]{4}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "H": "[01]?[0-9]|2[0-3]",
    "M": "[0-5][0-9]",
    "S": "[0-5][0-9]",
    "f": "[0-9]{1,9}",
    "z": "Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?",
}
_FRACTION = "(?:\\.[0-9]{1,9})?"
_WRITTEN = {"Y": "{0.year:04}", "z": "+0000"} | {name: f"{{0:%{name}}}" for name in "mdHMSf"}
_ESCAPED = {"{": "{{", "}": "}}"}
_TWO_DIGITS = {"[0-9]{1,2}": "[0-9]{2}", "[01]?[0-9]|2[0-3]": "[01][0-9]|2[0-3]"}
_NEEDED = {"M": "H", "S": "M", "f": "S", "z": "H"}  # what stands beside it in every format
_PART = re.compile(r"%(-?.?)|([^%])", re.DOTALL)
_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_MEANT = {
    "y": "%Y: two digits don't determine the century",
    "b": "%m: names of months are not read",
    "B": "%m: names of months are not read",
    "-d": "%d, which accepts one digit too",
    "-m": "%m, which accepts one digit too",
    "-H": "%H, which accepts one digit too",
    "e": "%d",
    "D": "%m/%d/%Y",
    "F": "%Y-%m-%d",
    "T": "%H:%M:%S",
    "R": "%H:%M",
    "h": "%H",
    "k": "%H",
    "I": "%H: hours are read from 0 to 23",
    "p": "%H: hours are read from 0 to 23",
    "i": "%M",
    "s": "%S",
    "L": "%f",
    "Z": "%z",
}


@cache
def list_zones() -> frozenset[str]:
    """List the names of time zones, once; empty on a machine that has no list of them."""
    from zoneinfo import available_timezones  # imported here for start-up: most specs have none

    return frozenset(available_timezones())


class DateFormatError(ValueError):
    """A format was refused; ``message`` says why and ``hint`` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class DatePattern(Struct, frozen=True):
    """A compiled format: a regular expression of whole texts, and their ISO form by its groups.

    In the ISO form a month, day or hour of one digit still has one. With ``zoned`` it ends with
    the offset. Without ``clock`` it is a date.
    """

    regex: str
    iso: str
    clock: bool
    zoned: bool


def parse_date_format(text: str) -> DatePattern:
    """Compile a format to a regular expression.

    Args:
        text: A format such as ``%d.%m.%Y``.

    Raises:
        DateFormatError: A directive is unknown, repeated or missing.
    """
    parts = _split_directives(text)
    directives = [name for name, _ in parts if name]
    missing = [f"%{name}" for name in "dmY" if name not in directives]
    missing += [
        f"%{_NEEDED[name]}" for name in directives if _NEEDED.get(name, name) not in directives
    ]
    if missing:
        hint = 'write a format such as "%d.%m.%Y" or "%Y-%m-%d %H:%M:%S"'
        raise DateFormatError(f"the format lacks {missing[0]}", hint)
    parts, has_fraction = _merge_fraction(parts)
    directives = [name for name, _ in parts if name]
    shapes = [_DIRECTIVES[name] if name else _escape_literal(char) for name, char in parts]
    for place, (first, second) in enumerate(pairwise(parts)):
        # Parts that touch another digit must have a fixed width, such as %d%m.
        if _is_digits(first) and _is_digits(second):
            for touched in (place, place + 1):
                shapes[touched] = _TWO_DIGITS.get(shapes[touched], shapes[touched])
    if has_fraction:
        shapes[parts.index(("S", ""))] += _FRACTION
    regex = "".join(
        f"({shape})" if name else shape for shape, (name, _) in zip(shapes, parts, strict=True)
    )
    at = {name: f"\\{directives.index(name) + 1}" for name in directives}
    clock = "H" in directives
    iso = f"{at['Y']}-{at['m']}-{at['d']}"
    if clock:
        iso += f" {at['H']}:{at.get('M', '00')}:{at.get('S', '00')}"
        iso += f".{at['f']}" if "f" in at else ""
        iso += at.get("z", "")
    return DatePattern(regex, iso, clock, "z" in directives)


def build_date_template(text: str, *, in_utc: bool = False) -> str | None:
    """Build the template by which ``str.format`` writes a datetime in a format.

    Args:
        text: A format that ``parse_date_format`` accepts.
        in_utc: The datetime is a moment, in UTC; otherwise it is a time on a clock.

    Returns:
        The template; None for a format with an offset, which a time on a clock doesn't have, and
        for one without an offset, which a moment needs.
    """
    parts, has_fraction = _merge_fraction(_split_directives(text))
    written = _WRITTEN | ({"S": "{0:%S}.{0:%f}"} if has_fraction else {})
    if (("z", "") in parts) != in_utc:
        return None
    return "".join(written[name] if name else _ESCAPED.get(char, char) for name, char in parts)


def _split_directives(text: str) -> list[tuple[str, str]]:
    """Split a format into letters of directives and characters between them."""
    parts: list[tuple[str, str]] = []
    for match in _PART.finditer(text):
        directive, char = match.groups()
        if directive is None or directive == "%":
            parts.append(("", char or "%"))
        elif directive not in _DIRECTIVES:
            meant = _MEANT.get(directive)
            hint = (
                f"write {meant}"
                if meant
                else f"the directives are %{', %'.join(_DIRECTIVES)} and %%"
            )
            raise DateFormatError(f"%{directive} is not supported in a format", hint)
        # Two readings of one part could contradict each other.
        elif (directive, "") in parts:
            raise DateFormatError(f"%{directive} occurs twice in the format", "write it once")
        else:
            parts.append((directive, ""))
    return parts


def _merge_fraction(parts: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], bool]:
    """Merge ``%S.%f`` into ``%S``, and tell if ``%S`` takes a fraction."""
    if ("S", "") not in parts:
        return parts, False
    after = parts.index(("S", "")) + 1
    merged = parts
    if parts[after : after + 2] == [("", "."), ("f", "")]:
        merged = parts[:after] + parts[after + 2 :]
    following = merged[after : after + 1]
    takes_fraction = not any(_is_digits(part) or part == ("", ".") for part in following)
    takes_fraction = takes_fraction and ("f", "") not in merged
    return (merged, True) if takes_fraction else (parts, False)


def _is_digits(part: tuple[str, str]) -> bool:
    name, char = part
    return name not in ("", "z") or char.isdigit()


def _escape_literal(char: str) -> str:
    return f"\\{char}" if char in _SPECIAL else char
