"""Facts as JSON values and back: report.json.

Written, a value is a dict of its fields in their order. Read, anybody may have written it: a key
that is missing, or of another type, is a ValueError; keys that are not known are those of a later
version, and are left out.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from dprelease.report.facts.model import ReportFacts

SCHEMA = "dprelease/report/1"
T = TypeVar("T")
Reader = Callable[[object], Any]


def render(_document: object, facts: ReportFacts) -> str:
    """Write report.json."""
    return json.dumps(report_json(facts), indent=2, ensure_ascii=False) + "\n"


def report_json(facts: ReportFacts) -> dict[str, Any]:
    """State a report as report.json holds it."""
    return {"schema": SCHEMA, **to_json(facts)}


def report_from_json(content: object) -> ReportFacts:
    """Read what ``report_json`` wrote. Raises ValueError for anything else."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"not of the schema {SCHEMA}")
    return from_json(ReportFacts, content)


def to_json(value: Any) -> Any:
    """Turn a value of ``facts.model`` into dicts, lists and plain values."""
    if isinstance(value, tuple | list):
        return [to_json(member) for member in value]
    if isinstance(value, Mapping):
        return {key: to_json(member) for key, member in value.items()}
    if not is_dataclass(value):
        return value
    content = {}
    for name, key, default in _keys(cast("Any", type(value))):
        member = getattr(value, name)
        if default is MISSING or member != default:
            content[key] = to_json(member)
    return content


def from_json(kind: type[T], content: object) -> T:
    """Read a value of that class. Raises ValueError where the content is of another form."""
    value: T = _reader(cast("Any", kind))(content)
    return value


@cache
def _keys(kind: Any) -> tuple[tuple[str, str, object], ...]:
    """Field, key and default of each fact; ``with`` is no name of a field."""
    return tuple((field.name, field.name.rstrip("_"), field.default) for field in fields(kind))


@cache
def _reader(hint: Any) -> Reader:
    """Make the function that reads a type."""
    origin, members = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _fields_reader(hint)
    if origin in {types.UnionType, Union}:
        return _union_reader(members)
    if origin is tuple:
        return _list_reader(members[0])
    if origin is not None:  # a mapping of texts
        return _mapping_reader(members[1])
    return _plain_reader(hint)


def _fields_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    keys = [(name, key, default, _reader(hints[name])) for name, key, default in _keys(kind)]

    def read(content: object) -> Any:
        if not isinstance(content, dict):
            raise ValueError(f"no {kind.__name__}")
        values = {}
        for name, key, default, reader in keys:
            if key in content:
                values[name] = reader(content[key])
            elif default is MISSING:
                raise ValueError(f"no {key} in {kind.__name__}")
        return kind(**values)

    return read


def _union_reader(members: tuple[Any, ...]) -> Reader:
    readers = [_reader(member) for member in members]

    def read(content: object) -> Any:
        for reader in readers:
            try:
                return reader(content)
            except ValueError:
                continue
        raise ValueError("of no type that is allowed here")

    return read


def _list_reader(member: Any) -> Reader:
    reader = _reader(member)

    def read(content: object) -> Any:
        if not isinstance(content, list):
            raise ValueError("no list")
        return tuple(map(reader, content))

    return read


def _mapping_reader(member: Any) -> Reader:
    reader = _reader(member)

    def read(content: object) -> Any:
        if not isinstance(content, dict):
            raise ValueError("no object")
        return {key: reader(value) for key, value in content.items()}

    return read


def _plain_reader(kind: type[Any]) -> Reader:
    def read(content: object) -> Any:
        if not isinstance(content, kind) or (isinstance(content, bool) and kind is not bool):
            raise ValueError(f"no {kind.__name__}")
        return content

    return read
