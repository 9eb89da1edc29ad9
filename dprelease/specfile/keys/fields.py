"""What a key of the spec can hold besides a number: texts, lists, quantiles.

Each function reads one TOML value, or raises ``Refused`` or ``Unread``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dprelease.model.source_registry import VARIABLE, is_variable_name
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused, build_word_refusal
from dprelease.specfile.keys.number_texts import PLACES, SHARE, read_exact
from dprelease.specfile.keys.section_reader import (
    Finding,
    Fragment,
    Unread,
    build_count_refusal,
    build_list_reader,
    read_each,
    takes,
)
from dprelease.specfile.toml.tree import MAX_VALUES

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSEEN = re.compile("[\u2028-\u202e\u2066-\u2069]")
_LONGEST = 10_000
LONGEST_LABEL = 200
MAX_WAYS = 100

# Parts of the JSON Schema.
_LINE: Fragment = {"type": "string", "pattern": r"^[^\n\t]*[^\s][^\n\t]*$"}
_LABEL: Fragment = _LINE | {"maxLength": LONGEST_LABEL}
_NAMES: Fragment = {"type": "array", "items": {"type": "string"}}
_VALUE: Fragment = {"type": ["string", "number", "boolean"]}
_WAY: Fragment = {"type": "integer", "minimum": 0, "maximum": MAX_WAYS}


@takes("text", {"type": "string", "pattern": r"\S"})
def read_text(value: object) -> str:
    """Read a text that people will read: not empty, no control characters but tab and newline."""
    checked = read_option(value)
    if not checked.strip():
        raise Refused("the text is empty", "write it, or leave the key out", "E107")
    if _CONTROL.search(checked):
        raise Refused(f"{show(checked)} contains a control character", "remove it", "E107")
    if len(checked) > _LONGEST:
        raise Refused(f"the text is longer than {_LONGEST} characters", "shorten it", "E107")
    return checked


@takes("line", _LINE)
def read_line(value: object) -> str:
    """Read a text of one line."""
    checked = read_text(value)
    if "\n" in checked or "\t" in checked:
        raise Refused(f"{show(checked)} is more than one line", "write it in one line", "E107")
    return checked


@takes("date", {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
def read_day(value: object) -> str:
    """Read a day, as a date or as a text such as 2026-03-31; it comes as that text."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(read_option(value)).isoformat()
    except ValueError:
        message, hint = f"{show(value)} is not a day", "write a date such as 2026-03-31"
        raise Refused(message, hint, "E103") from None


@takes("short text", _LABEL)
def read_label(value: object) -> str:
    """Read a short text of one line that stands in a heading, a row or a chart."""
    checked = read_line(value)
    if len(checked) > LONGEST_LABEL:
        message = f"the text is longer than {LONGEST_LABEL} characters"
        raise Refused(message, "shorten it: a report has one line for it", "E107")
    if _UNSEEN.search(checked):
        message = (
            f"{show(checked)} contains a character that changes text direction or breaks lines"
        )
        raise Refused(
            message, "remove it; reports set the direction of a text by themselves", "E107"
        )
    return checked


@takes("table of short texts", {"type": "object", "additionalProperties": _LABEL})
def read_labels(value: object) -> Mapping[str, str]:
    """Read a table of labels."""
    if not isinstance(value, Mapping):
        raise Refused(f"{show(value)} is not a table", 'write { key = "..." }', "E103")
    return dict(zip(value, read_each(value.items(), read_label), strict=True))


@takes("whole number from 0 to 12", {"type": "integer", "minimum": 0, "maximum": PLACES})
def read_decimals(value: object) -> int:
    """Read how many decimal places of a figure are shown: 0 to 12. Raises ``Refused`` (E281)."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= PLACES:
        message = f"decimals {show(value)} is not a whole number from 0 to {PLACES}"
        raise Refused(
            message,
            "write the number of decimal places that are shown, such as decimals = 1",
            "E281",
        )
    return value


LICENCES = (
    "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0",
    "OGL-UK-3.0", "DL-DE-BY-2.0", "DL-DE-ZERO-2.0", "etalab-2.0",
)  # fmt: skip
"""Identifiers of SPDX that data is often published under."""
LICENCE = r"https?://[^\s<>\"']+|[A-Za-z0-9][A-Za-z0-9.+-]{0,99}"


@takes("SPDX identifier, or URL", {"type": "string", "pattern": f"^({LICENCE})$"})
def read_licence(value: object) -> str:
    """Read an identifier of SPDX, or the URL of a licence. Raises ``Refused`` (E282)."""
    checked = read_line(value)
    usual = {name.casefold(): name for name in LICENCES}
    close = usual.get(re.sub(r"[\s_]+", "-", checked.strip()).casefold())
    if re.fullmatch(LICENCE, checked) and close in {None, checked}:
        return checked
    hint = f"write {show(close)}" if close else ""
    raise Refused(f"{show(checked)} is neither an SPDX identifier nor a URL", hint, "E282")


@takes("file-safe name", {"type": "string", "pattern": rf"^(?!.*\.\.){SAFE_NAME.pattern}$"})
def read_safe_name(value: object) -> str:
    """Read a name that is safe as a file name on every system."""
    checked = read_option(value)
    if not SAFE_NAME.fullmatch(checked) or ".." in checked or _DEVICES.fullmatch(checked):
        raise Refused(f"{show(checked)} is not safe as a file name", code="E106")
    return checked


@takes("name of a variable", {"type": "string", "pattern": f"^{VARIABLE.pattern}$"})
def read_variable(value: object) -> str:
    """Read the name of an environment variable. What is refused is not shown: a URL has secrets."""
    name = read_option(value)
    if not is_variable_name(name):
        hint = "use A-Z, a-z, 0-9 and _, as in LEDGER_URL; the value itself must not be in the spec"
        raise Refused("this is not the name of an environment variable", hint, "E106")
    return name


@takes("true or false", {"type": "boolean"})
def read_flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Refused(f"{show(value)} is not true or false", "write true or false", "E103")
    return value


@takes("list of texts", _NAMES)
def read_texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
        raise Refused(f"{show(value)} is not a list of texts", 'write ["...", "..."]', "E103")
    return tuple(value)


@takes("list of texts", _NAMES | {"minItems": 1})
def read_names(value: object) -> tuple[str, ...]:
    """Read a list of texts that holds at least one."""
    if value == []:
        raise Refused("the list is empty", 'write ["...", "..."], or leave the key out', "E110")
    return read_texts(value)


@takes("list of lists of texts", {"type": "array", "items": _NAMES, "minItems": 1})
def read_sets(value: object) -> tuple[tuple[str, ...], ...]:
    """Read a list of at least one list of texts; these may be empty."""
    hint = 'write [["...", "..."], ["..."]]'
    if not isinstance(value, list) or not all(isinstance(element, list) for element in value):
        raise Refused(f"{show(value)} is not a list of lists", hint, "E103")
    if not value:
        raise Refused("the list is empty", f"{hint}, or leave the key out", "E110")
    return build_list_reader(read_texts)(value)


@takes(
    "whole number from 1, or list from 0",
    {
        "oneOf": [
            _WAY | {"minimum": 1},
            {"type": "array", "items": _WAY, "minItems": 1, "uniqueItems": True},
        ]
    },
)
def read_ways(value: object) -> tuple[int, ...]:
    """Read how many columns tables have: each number of a list, or all from 1 to a number."""
    if isinstance(value, list) and value:
        numbers = build_list_reader(_read_way)(value)
        if len(set(numbers)) < len(numbers):
            raise Refused("a number of columns is listed twice", "keep one", "E233")
        return tuple(sorted(numbers))
    way = _read_way(value)
    if not way:
        hint = "ways = 2 makes all tables of one and of two columns; ways = [0] the total alone"
        raise Refused("ways is 0", hint, "E233")
    return tuple(range(1, way + 1))


def _read_way(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_WAYS:
        hint = "ways = 2 makes all tables of one and of two columns, ways = [2] those of two"
        raise Refused(f"{show(value)} is not a number of columns", hint, "E233")
    return value


WEIGHED_ALIKE = ("tables", "cells")


@takes("`tables` or `cells`", {"enum": list(WEIGHED_ALIKE)})
def read_weighed_alike(value: object) -> str:
    """Read what matters alike."""
    if isinstance(value, str) and value in WEIGHED_ALIKE:
        return value
    raise build_word_refusal(value, "weigh", WEIGHED_ALIKE)


@takes("list of values", {"type": "array", "items": _VALUE})
def read_scalars(value: object) -> tuple[object, ...]:
    """Read a list of single values; their types are checked against the column's later."""
    if not isinstance(value, list):
        raise Refused(f"{show(value)} is not a list", "write the values in [ ]", "E103")
    if len(value) > MAX_VALUES:
        raise build_count_refusal(len(value))
    kinds = set(map(type, value))
    if not all(issubclass(kind, _SCALAR_TYPES) for kind in kinds):
        raise Refused("the list contains a list or a table", "write single values in [ ]", "E103")
    return tuple(value)


@takes("value", _VALUE)
def read_scalar(value: object) -> object:
    """Read a single value; its type is checked against the column's later."""
    if not isinstance(value, _SCALAR_TYPES):
        raise Refused(f"{show(value)} is not a single value", "write one value", "E103")
    return value


_SCALAR_TYPES = (str, bool, int, Decimal, Fraction, date, datetime)


@takes("text", {"type": "string"})
def read_option(value: object) -> str:
    """Read a text that may be empty or hold any character (CSV options)."""
    if not isinstance(value, str):
        hint = f'write "{show(value)}"' if isinstance(value, int | Decimal | date) else ""
        raise Refused(f"{show(value)} is not a text", hint or "write a text in quotes", "E103")
    return value


Quantiles: TypeAlias = tuple[Fraction, ...]
MAX_QUANTILES = 100


@takes(
    "number in (0, 1), or list of them",
    {
        "oneOf": [
            SHARE,
            {
                "type": "array",
                "items": SHARE,
                "minItems": 1,
                "maxItems": MAX_QUANTILES,
                "uniqueItems": True,
            },
        ]
    },
)
def read_quantiles(value: object) -> Quantiles:
    """Read one quantile or a list, at most 100, each inside (0, 1) and once; they come rising."""
    if not isinstance(value, list):
        return (_read_quantile(value),)
    if not value:
        raise Refused(
            "q is empty", "write q = 0.5, or a list such as q = [0.25, 0.5, 0.75]", "E232"
        )
    if len(value) > MAX_QUANTILES:
        message = f"q has {len(value)} quantiles, more than {MAX_QUANTILES}"
        raise Refused(message, "each additional quantile makes all of them less exact", "E232")
    numbers = build_list_reader(_read_quantile)(value)
    twice = [
        Finding((place,), Refused(f"{show(number)} is named twice", "keep one", "E232"))
        for place, number in enumerate(numbers)
        if number in numbers[:place]
    ]
    if twice:
        raise Unread(*twice)
    return tuple(sorted(numbers))


def _read_quantile(value: object) -> Fraction:
    number = read_exact(value, "E232")
    if not 0 < number < 1:
        hint = "0.5 is the median, 0.9 is above nine tenths of the values"
        raise Refused(f"{show(value)} is not between 0 and 1", hint, "E232")
    return number
