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
    if data is not None and data.source.format == "csv":
        _check_keys(parts.columns, data, reporter)


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
