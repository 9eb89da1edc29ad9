"""Every change of a plan by one field, in every way that the field's type allows.

A number becomes larger, smaller, 0, negative; a text another one of the same field, a choice each
other one; what may be missing is left out, or put in; a list loses an element, has one twice, two
swapped, or one more; and any part becomes another part of its class that a plan holds.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict

from dprelease.errors import Complaint, Place
from dprelease.model import Plan

RECORDS = (Struct, Complaint, Place)
FEW = 8
"""So many other parts of a class, or texts of a field, are put in the place of one."""


class Difference(NamedTuple):
    """A place in two plans where they differ, and what stands there in each."""

    path: str
    old: Any
    new: Any


def get_contents(value: Any) -> dict[str, Any]:
    """The fields of a record by name."""
    return asdict(value) if isinstance(value, Struct) else value._asdict()


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


class Parts:
    """The parts of some plans by their classes, and the texts and integers of each field."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        self._objects: dict[type, dict[str, Any]] = {}
        self._words: dict[tuple[type, str], dict[Any, None]] = {}
        for plan in plans:
            self._add(plan)

    def _add(self, value: object) -> None:
        if isinstance(value, RECORDS):
            self._objects.setdefault(type(value), {}).setdefault(repr(value), value)
            for name, held in get_contents(value).items():
                if type(held) in {str, int}:
                    self._words.setdefault((type(value), name), {})[held] = None
                self._add(held)
        elif isinstance(value, tuple):
            for part in value:
                self._add(part)
        elif isinstance(value, Mapping):
            for part in value.values():
                self._add(part)

    def others(self, kind: type) -> list[Any]:
        """Some parts of a class; where any record may stand, one of some class."""
        if kind is Struct:
            kind = next(held for held in self._objects if issubclass(held, Struct))
        return list(self._objects.get(kind, {}).values())[:FEW]

    def words(self, field: tuple[type, str] | None) -> list[Any]:
        """Some texts or integers of a field."""
        return [] if field is None else list(self._words.get(field, ()))[:FEW]

    def some(self, kind: Any, field: tuple[type, str] | None) -> Iterator[Any]:
        """Values of a type, where there is none yet."""
        origin = get_origin(kind)
        if origin in (Union, types.UnionType):
            for option in get_args(kind):
                yield from self.some(option, field)
        elif origin is tuple and get_args(kind)[-1] is Ellipsis:
            yield ()
            yield from ((value,) for value in self.some(get_args(kind)[0], field))
        elif kind in (int, Fraction, bool):
            yield from map(kind, (0, 1, 3))
        elif kind is str:
            yield from [*self.words(field), "x"]
        elif isinstance(kind, type) and issubclass(kind, Enum):
            yield from kind
        elif kind is not type(None):
            yield from self.others(kind)


def list_changes(value: Any, kind: Any, parts: Parts) -> Iterator[Any]:
    """Give a value of a declared type with every change of one of its fields."""
    yield from _change(value, kind, parts, None)


def _change(value: Any, kind: Any, parts: Parts, field: tuple[type, str] | None) -> Iterator[Any]:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        yield from _change_options(value, get_args(kind), parts, field)
    elif origin is tuple and get_args(kind)[-1] is not Ellipsis:
        yield from _change_row(value, get_args(kind), parts, field)
    elif origin is tuple:
        yield from _change_tuple(value, get_args(kind), parts, field)
    elif origin is collections.abc.Mapping:
        yield from _change_mapping(value, get_args(kind)[1], parts, field)
    elif isinstance(value, RECORDS):
        yield from _change_fields(value, parts)
    elif kind is bool:
        yield not value
    elif kind is int:
        whole = (value + 1, value - 1, -value, 0, 2 * value, value + 10**30)
        yield from (other for other in (*whole, *parts.words(field)) if other != value)
    elif kind is Fraction:
        others = (value * Fraction(11, 10), value * Fraction(9, 10), value + 1, -value, Fraction(0))
        yield from (other for other in others if other != value)
    elif kind is str:
        yield from (other for other in (value + "x", *parts.words(field)) if other != value)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield from (other for other in kind if other is not value)
    else:
        raise TypeError(f"no change of {kind} is known")


def _change_options(
    value: Any, options: tuple[Any, ...], parts: Parts, field: tuple[type, str] | None
) -> Iterator[Any]:
    if value is not None and type(None) in options:
        yield None
    for option in options:
        if value is None:
            yield from parts.some(option, field)
        elif option is not type(None) and isinstance(value, get_origin(option) or option):
            yield from _change(value, option, parts, field)


def _change_tuple(
    value: tuple[Any, ...], kinds: tuple[Any, ...], parts: Parts, field: tuple[type, str] | None
) -> Iterator[tuple[Any, ...]]:
    if value:
        yield ()
    for place, part in enumerate(value):
        before, after = value[:place], value[place + 1 :]
        if len(value) > 1:
            yield (*before, *after)
        yield (*value, part)
        if after and after[0] != part:
            yield (*before, after[0], part, *after[1:])
        for changed in _change(part, kinds[0], parts, field):
            yield (*before, changed, *after)
    if value[::-1] != value:
        yield value[::-1]
    for more in parts.some(kinds[0], field):
        yield (*value, more)


def _change_row(
    value: tuple[Any, ...], kinds: tuple[Any, ...], parts: Parts, field: tuple[type, str] | None
) -> Iterator[tuple[Any, ...]]:
    """Change one place of a tuple that has a type for each."""
    for place, kind in enumerate(kinds):
        for changed in _change(value[place], kind, parts, field):
            yield (*value[:place], changed, *value[place + 1 :])


def _change_mapping(
    value: Mapping[str, Any], kind: Any, parts: Parts, field: tuple[type, str] | None
) -> Iterator[Mapping[str, Any]]:
    for key, part in value.items():
        yield {other: held for other, held in value.items() if other != key}
        for changed in _change(part, kind, parts, field):
            yield {**value, key: changed}
    for more in list(parts.some(kind, field))[:1]:
        yield {**value, "one more": more}


def _change_fields(value: Any, parts: Parts) -> Iterator[Any]:
    kind: Any = type(value)
    fields = get_contents(value)
    for name, held in fields.items():
        for changed in _change(held, _types(kind)[name], parts, (kind, name)):
            yield kind(**{**fields, name: changed})
    yield from (other for other in parts.others(kind) if other != value)


# --- what a change changed -----------------------------------------------------------------------


def find_differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Give each place where two plans differ; a list of other length or order is one."""
    if old == new:
        return
    if isinstance(old, RECORDS) and type(old) is type(new):
        for name in get_contents(old):
            yield from find_differences(getattr(old, name), getattr(new, name), f"{path}.{name}")
    elif isinstance(old, tuple) and _is_changed_inside(old, new):
        for place, parts in enumerate(zip(old, new, strict=True)):
            yield from find_differences(*parts, f"{path}[{place}]")
    elif isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() == new.keys():
        for key in old:
            yield from find_differences(old[key], new[key], f"{path}[{key}]")
    else:
        yield Difference(path, old, new)


def _is_changed_inside(old: tuple[Any, ...], new: object) -> bool:
    """Whether two lists differ by elements that changed, not by their number or order."""
    if not isinstance(new, tuple) or len(old) != len(new):
        return False
    return sorted(map(repr, old)) != sorted(map(repr, new))
