"""Checks the names of the declared columns, among themselves and against those of the file."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.model import Source
from dprelease.spec.checks.columns.values import UNPRINTABLE
from dprelease.spec.complaints.did_you_mean import nearest
from dprelease.spec.complaints.quoting import show
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import ColumnSection
from dprelease.spec.schema.structure import Part

_LONGEST_NAME = 200


def check_names(parts: Mapping[str, Part[ColumnSection]], reporter: Reporter) -> None:
    """Complain of names that no table could have, and of names that differ only in case."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        if not name.strip() or UNPRINTABLE.search(name) or len(name) > _LONGEST_NAME:
            message = f"{show(name)} can't be the name of a column"
            hint = f"1 to {_LONGEST_NAME} characters, no control characters"
            reporter.complain("E107", message, part.path, hint, "key")
        folded = name.casefold()
        if folded in seen:
            message = f"columns {show(seen[folded])} and {show(name)} differ only in case"
            hint = "rename one in the data: databases take them for the same"
            reporter.complain("E231", message, part.path, hint, "key")
        seen.setdefault(folded, name)


def check_declared(
    parts: Mapping[str, Part[ColumnSection]], data: Source | None, reporter: Reporter
) -> None:
    """Without a header the columns of the file are those of ``names``: complain of others."""
    names = data.dialect.names if data is not None else None
    for name, part in parts.items():
        derived = part.model.expression is not None or "expression" in part.bad
        if names and name not in names and not derived:
            message = f"column {show(name)} is not among the names of [data]"
            close = nearest(name, names)
            hint = f"did you mean {show(close)}?" if close else "add it there in its place"
            reporter.complain("E216", message, part.path, hint, "key")
