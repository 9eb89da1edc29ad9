"""What works but deserves a second look."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.model import Data
from dprelease.spec.models import ColumnSection
from dprelease.spec.reporter import Reporter
from dprelease.spec.structure import Part, Parts
from dprelease.spec.wording import show


def check_usage(parts: Parts, data: Data | None, reporter: Reporter) -> None:
    """Warn of what is not described, and of keys that no record can match."""
    if parts.privacy.model.unit_description is None and parts.privacy.sound("unit_description"):
        message = "nothing says what one row stands for"
        hint = 'unit_description = "one employee"'
        reporter.warn("W202", message, ("privacy",), hint, "key")
    for part in parts.columns.values():
        _check_source(part, reporter)
    if data is not None and data.source.format == "csv":
        _check_keys(parts.columns, data, reporter)


def _check_source(part: Part[ColumnSection], reporter: Reporter) -> None:
    model = part.model
    declared = [
        what
        for what, value in (
            ("bounds", model.lower),
            ("keys", model.keys),
            ("keys", model.keys_file),
            ("bins", model.bins),
        )
        if value is not None
    ]
    exempt = model.type == "boolean" or model.expression is not None
    if declared and model.source is None and not exempt and part.sound("source"):
        message = f"nothing says where the {declared[0]} of {show(part.path[-1])} come from"
        hint = 'source = "public: ..."; what is read off the data itself would leak'
        reporter.warn("W203", message, part.path, hint, "key")


def _check_keys(columns: Mapping[str, Part[ColumnSection]], data: Data, reporter: Reporter) -> None:
    dialect = data.source.dialect
    for part in columns.values():
        if part.model.expression is not None or part.model.type != "string":
            continue
        for number, key in enumerate(part.model.keys or ()):
            path = (*part.path, "keys", number)
            if not isinstance(key, str):
                continue
            if key in dialect.null_values and part.model.nulls != key:
                message = f"no record can match the key {show(key)}: null_values makes it a null"
                hint = f"nulls = {show(key)} counts the nulls there"
                reporter.warn("W205", message, path, hint)
            elif dialect.strip and key != key.strip():
                message = f"no record can match the key {show(key)}: strip takes its blanks off"
                reporter.warn("W205", message, path, "take the blanks off the key")
