"""Texts that the spec says are written in another way, in plain Python, character by character."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect, InputColumn
from dprelease.sources.shared.text_values import BLANKS, parse_number

DIGITS = "0123456789"
WIDTHS = {"Y": (4, 4), "m": (1, 2), "d": (1, 2), "H": (1, 2), "M": (2, 2), "S": (2, 2), "f": (1, 9)}


def default_form(text: str, declared: InputColumn, dialect: Dialect) -> str | None:
    """The text as the default form writes it, on the clock of the column's zone; or None."""
    if declared.opaque:
        return text
    if declared.format is not None:
        return _iso(text.strip(BLANKS), declared.format.strip(BLANKS), declared.zone or "UTC")
    if declared.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return _default_moment(text, declared.zone or "UTC")
    if declared.type in NUMERIC_TYPES and (dialect.decimal, dialect.thousands) != (".", ""):
        if declared.type is ColumnType.BOOLEAN and text.strip(BLANKS).isalpha():
            return text
        return plain_number(text, dialect.decimal, dialect.thousands)
    return text


def plain_number(text: str, decimal: str, thousands: str) -> str | None:
    """The number without marks of thousands, and with a point; None if it is written otherwise."""
    body = text.strip(BLANKS)
    sign = ""
    for each in "+-":
        if body.startswith(each):
            sign, body = sign + each, body[1:]
    if "_" in body and thousands != "_":
        return None
    if body.lower() in ("inf", "infinity", "nan"):
        return sign + body
    mantissa, letter, exponent = body.replace("E", "e").partition("e")
    whole, mark, fraction = mantissa.partition(decimal)
    groups = whole.split(thousands) if thousands else [whole]
    if len(groups) > 1 and not (
        0 < len(groups[0]) < 4 and {len(each) for each in groups[1:]} == {3}
    ):
        return None
    if any(char not in DIGITS for char in "".join(groups) + fraction):
        return None
    if any(mark in exponent for mark in (".", "_")):
        return None
    plain = sign + "".join(groups) + ("." if mark else "") + fraction + letter + exponent
    return plain if parse_number(plain) is not None else None


def _iso(text: str, form: str, zone: str) -> str | None:
    found: dict[str, str] = {}
    if not _match(text, _items(form), "", found):
        return None
    try:
        moment = datetime(
            *(int(found[each]) for each in "Ymd"),
            *(int(found.get(each, "0")) for each in "HMS"),
            int((found.get("f", "0") + "000000")[:6]),
        )
        if "z" in found:
            moment = (moment - _offset(found["z"])).replace(tzinfo=UTC)
            moment = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(" ") if "H" in found else moment.date().isoformat()


def _default_moment(text: str, zone: str) -> str | None:
    """A text with an offset as the zone's clocks show it; others as they are."""
    for mark in " T":
        for clock in ("%H:%M", "%H:%M:%S"):
            found: dict[str, str] = {}
            items = _items(f"%Y-%m-%d{mark}{clock}%z")
            if _match(text.strip(BLANKS), items, "", found):
                wide = all(len(found[each]) == 2 for each in "mdH")
                return _iso(text.strip(BLANKS), "".join(items), zone) if wide else None
    return text


def _items(form: str) -> list[str]:
    """Directives of two characters, and single ones that stand for themselves."""
    items: list[str] = []
    while form:
        size = 2 if form[0] == "%" else 1
        items.append("%" if form[:2] == "%%" else form[:size])
        form = form[size:]
    return _with_fraction(items)


def _with_fraction(items: list[str]) -> list[str]:
    """Seconds that may have a fraction are the item %s, for %S and for %S.%f."""
    if "%S" not in items:
        return items
    place = items.index("%S")
    rest = items[place + 1 :]
    rest = rest[2:] if rest[:2] == [".", "%f"] else rest
    touching = bool(rest) and (_is_number(rest[0]) or rest[0] == ".")
    if touching or "%f" in items[:place] + rest:
        return items
    return [*items[:place], "%s", *rest]


def _match(text: str, items: list[str], before: str, found: dict[str, str]) -> bool:
    """Whether the whole text has the format; of several ways the one with most digits first."""
    if not items:
        return not text
    item, rest = items[0], items[1:]
    if len(item) == 1:
        return text.startswith(item) and _match(text[1:], rest, item, found)
    name = item[1]
    if name == "s":
        seconds = _digits(text[:2], "S", before, [])
        fractions = [""]
        if text[2:3] == ".":
            parts = _digits(text[3:], "f", ".", [])
            fractions = ["." + part for part in parts] + fractions
        for fraction in fractions if seconds else []:
            found["S"], found["f"] = seconds[0], fraction[1:]
            if _match(text[2 + len(fraction) :], rest, item, found):
                return True
        return False
    for taken in _zone_texts(text) if name == "z" else _digits(text, name, before, rest):
        found[name] = taken
        if _match(text[len(taken) :], rest, item, found):
            return True
    return False


def _is_number(item: str) -> bool:
    """Whether an item of a format stands for digits."""
    return item in tuple(DIGITS) or (len(item) == 2 and item[1] != "z")


def _digits(text: str, name: str, before: str, rest: list[str]) -> list[str]:
    least, most = WIDTHS[name]
    beside = [before, rest[0] if rest else ""]
    touching = any(
        each in DIGITS if len(each) == 1 else each[1:] not in ("", "z") for each in beside
    )
    if most == 2 and touching:
        least = 2
    number = 0
    while number < len(text) and text[number] in DIGITS:
        number += 1
    taken = [text[:size] for size in range(min(number, most), least - 1, -1)]
    limit = {"H": 23, "M": 59, "S": 59}.get(name)
    return [each for each in taken if limit is None or int(each) <= limit]


def _zone_texts(text: str) -> list[str]:
    """Beginnings of the text that are offsets."""
    return [part for part in (text[:6], text[:5], text[:3], text[:1]) if _is_offset(part)]


def _is_offset(part: str) -> bool:
    digits = part[1:3] + part[-2:]
    if part == "Z" or (len(part) == 6 and part[3] != ":"):
        return part == "Z"
    right = len(part) in (3, 5, 6) and part[0] in "+-" and all(char in DIGITS for char in digits)
    return right and int(digits[:2]) < 24 and (len(part) == 3 or int(digits[2:]) < 60)


def _offset(text: str) -> timedelta:
    if text == "Z":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -size if text[0] == "-" else size
