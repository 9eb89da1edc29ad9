"""Facts as JSON values and back: report.json.

Written, a value is a dict of its fields in their order. Read, anybody may have written it: a key
that is missing, or of another type, is a ValueError; keys that are not known are those of a later
version, and are left out.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from dprelease.reports.model.report_model import ReportFacts

SCHEMA = "dprelease/report/1"
REHEARSED = "dprelease/rehearsed-report/1"
T = TypeVar("T")


def render(_document: object, facts: ReportFacts) -> str:
    """Write report.json."""
    return json.dumps(report_json(facts), indent=2, ensure_ascii=False) + "\n"


def report_json(facts: ReportFacts) -> dict[str, Any]:
    """State a report as report.json holds it; that of a rehearsal is nothing that reads one."""
    return {"schema": REHEARSED if facts.rehearsal else SCHEMA, **to_json(facts)}


def report_from_json(content: object) -> ReportFacts:
    """Read what ``report_json`` wrote. Raises ValueError for anything else."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"not of the schema {SCHEMA}")
    return from_json(ReportFacts, content)


def to_json(value: Any) -> Any:
    """Turn a value of ``model.report_model`` into dicts, lists and plain values."""
    if isinstance(value, tuple | list):
        return [to_json(member) for member in value]
    if isinstance(value, Mapping):
        return {key: to_json(member) for key, member in value.items()}
    if not isinstance(value, Struct):
        return value
    content = {}
    for name, key, default in _keys(cast("Any", type(value))):
        member = getattr(value, name)
        if default is NODEFAULT or member != default:
            content[key] = to_json(member)
    return content


def from_json(kind: type[T], content: object) -> T:
    """Read a value of that class. Raises ValueError where the content is of another form."""
    value: T = _read(kind, content)
    return value


@cache
def _keys(kind: Any) -> tuple[tuple[str, str, object], ...]:
    """Field, key and default of each fact; ``with`` and ``asked`` are no names of fields."""
    return tuple((field.name, field.name.rstrip("_"), field.default) for field in fields(kind))


_hints = cache(get_type_hints)


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _read(hint: Any, content: object) -> Any:
    origin, members = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        for member in members:
            with suppress(ValueError):
                return _read(member, content)
        raise ValueError("of no type that is allowed here")
    kind = origin or hint
    expected = {tuple: list, Mapping: dict}.get(kind, dict if _is_struct(hint) else kind)
    if not isinstance(content, expected) or (isinstance(content, bool) and kind is not bool):
        raise ValueError(f"no {kind.__name__}")
    if isinstance(content, list):
        return tuple(_read(members[0], member) for member in content)
    if not isinstance(content, dict):
        return content
    if not _is_struct(hint):
        return {key: _read(members[1], value) for key, value in content.items()}
    hints, values = _hints(kind), {}
    for name, key, default in _keys(kind):
        if key in content:
            values[name] = _read(hints[name], content[key])
        elif default is NODEFAULT:
            raise ValueError(f"no {key} in {kind.__name__}")
    return kind(**values)
