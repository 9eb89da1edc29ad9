"""What works but deserves a second look."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dprelease.model import Data
from dprelease.spec.complaints.quoting import show
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import ColumnSection
from dprelease.spec.schema.structure import Part, Parts
from dprelease.spec.toml.tree import Path

LARGE_DELTA = Fraction(1, 10**5)


def check_usage(parts: Parts, data: Data | None, reporter: Reporter) -> None:
    """Warn of what is not described, and of keys that no record can match."""
    if parts.privacy.model.unit_description is None and parts.privacy.sound("unit_description"):
        people = parts.privacy.model.unit == "column"
        message = f"nothing says what one {'unit' if people else 'row'} stands for"
        hint = 'unit_description = "one employee"'
        reporter.warn("W202", message, ("privacy",), hint, "key")
    for part in parts.columns.values():
        _check_source(part, reporter)
    _check_deltas(parts, reporter)
    if data is not None and data.source.format == "csv":
        _check_keys(parts.columns, data, reporter)


def _check_deltas(parts: Parts, reporter: Reporter) -> None:
    sections: list[tuple[Fraction | None, Path]] = [
        (parts.privacy.model.delta, ("privacy", "delta"))
    ]
    sections += [(part.model.delta, (*part.path, "delta")) for part in parts.queries]
    sections += [(part.model.delta, (*part.path, "delta")) for part in parts.perturbs]
    sections += [
        (part.model.partition_selection.delta, (*part.path, "partition_selection", "delta"))
        for part in parts.queries
        if part.model.partition_selection is not None
    ]
    stated = [(delta, path) for delta, path in sections if delta]
    for delta, path in stated:
        if delta > LARGE_DELTA:
            message = "a large delta: with that probability nothing is promised"
            reporter.warn("W207", message, path, "choose one far below one over the number of rows")
    if stated and parts.ledger.model.delta_cap is None and parts.ledger.sound("delta_cap"):
        message = "no delta_cap: the deltas of this data set are not limited"
        reporter.warn(
            "W206", message, ("ledger",), "agree on a cap and write it in [ledger]", "key"
        )


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
