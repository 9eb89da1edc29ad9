"""What a key of the spec can hold: each function reads one TOML value or raises ``Refused``."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from dprelease.spec.complaints.quoting import show
from dprelease.spec.schema.keys import too_many
from dprelease.spec.toml.numbers import Refused
from dprelease.spec.toml.tree import MAX_VALUES

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 10_000


def text(value: object) -> str:
    """Read a text that people will read: not empty, no control characters but tab and newline."""
    checked = _string(value)
    if not checked.strip():
        raise Refused("the text is empty", "write it, or leave the key out", "E107")
    if _CONTROL.search(checked):
        raise Refused(f"{show(checked)} holds a control character", "remove it", "E107")
    if len(checked) > _LONGEST:
        raise Refused(f"the text is longer than {_LONGEST} characters", "shorten it", "E107")
    return checked


def line(value: object) -> str:
    """Read a text of one line."""
    checked = text(value)
    if "\n" in checked or "\t" in checked:
        raise Refused(f"{show(checked)} is more than one line", "write it in one line", "E107")
    return checked


def safe_name(value: object) -> str:
    """Read a name that is safe as a file name on every system."""
    checked = _string(value)
    if not SAFE_NAME.fullmatch(checked) or ".." in checked or _DEVICES.fullmatch(checked):
        raise Refused(
            f"{show(checked)} is not safe as a file name",
            "use 1 to 100 of A-Z, a-z, 0-9, - and _ (and single dots inside)",
            "E106",
        )
    return checked


def option(value: object) -> str:
    """Read a text that may be empty or hold any character (CSV options)."""
    return _string(value)


def flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Refused(f"{show(value)} is not true or false", "write true or false", "E103")
    return value


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Refused(f"{show(value)} is not a list of texts", 'write ["...", "..."]', "E103")
    return tuple(_string(each) for each in value)


def scalars(value: object) -> tuple[object, ...]:
    """Read a list of single values; their types are checked against the column's later."""
    if not isinstance(value, list):
        raise Refused(f"{show(value)} is not a list", "write the values in [ ]", "E103")
    if len(value) > MAX_VALUES:
        raise too_many(len(value))
    kinds = set(map(type, value))
    if not all(issubclass(kind, _SCALAR_TYPES) for kind in kinds):
        raise Refused("the list holds a list or a table", "write single values in [ ]", "E103")
    return tuple(value)


def scalar(value: object) -> object:
    """Read a single value; its type is checked against the column's later."""
    if not isinstance(value, _SCALAR_TYPES):
        raise Refused(f"{show(value)} is not a single value", "write one value", "E103")
    return value


_SCALAR_TYPES = (str, bool, int, Decimal, Fraction, date, datetime)


def _string(value: object) -> str:
    if not isinstance(value, str):
        hint = f'write "{show(value)}"' if isinstance(value, int | Decimal | date) else ""
        raise Refused(f"{show(value)} is not a text", hint or "write a text in quotes", "E103")
    return value
