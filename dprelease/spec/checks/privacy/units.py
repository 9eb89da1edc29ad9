"""The unit of privacy: a row, or all rows of one value of a column, within bounds."""

from __future__ import annotations

from collections.abc import Collection

from dprelease.model import Bounding, Data
from dprelease.spec.complaints.did_you_mean import nearest
from dprelease.spec.complaints.quoting import show
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import BoundingSection, PrivacySection
from dprelease.spec.schema.structure import Part

_COLUMN_HINT = 'unit_column = "..." names the column that says whose row it is'
_BOUNDING_HINT = (
    "add it with max_rows_per_unit, how many rows of one unit count, and max_groups_per_unit, in "
    "how many groups of a table; larger numbers leave less out and need more noise"
)
_GROUPS_HINT = "in how many groups of a table the rows of one unit count; others are left out"
_ROWS_HINT = (
    "add it with max_rows_per_unit, how many rows of one unit go into a table; each row has that "
    "part of epsilon, so larger numbers leave less out and need more noise"
)


def check_unit(
    part: Part[PrivacySection],
    columns: Collection[str],
    data: Data | None,
    reporter: Reporter,
    *,
    grouped: bool,
) -> None:
    """Check that the unit is either a row, or a column that can be found, with bounds.

    ``grouped``: there are tables with groups, of queries. Without them only rows are bounded.
    """
    model = part.model
    if model.unit == "row":
        for key in ("unit_column", "bounding"):
            if getattr(model, key) is not None:
                message = f"{key}, but the unit is a row"
                hint = 'unit = "column" protects all rows of one unit; else leave it out'
                reporter.complain("E111", message, ("privacy", key), hint, "key")
    if model.unit != "column":
        return
    if model.unit_column is not None:
        _check_column(model.unit_column, columns, data, reporter)
    elif part.sound("unit_column"):
        message = 'unit = "column" without `unit_column`'
        reporter.complain("E110", message, ("privacy", "unit"), _COLUMN_HINT)
    if model.bounding is None and part.sound("bounding"):
        message = 'unit = "column" without [privacy.bounding]'
        hint = _BOUNDING_HINT if grouped else _ROWS_HINT
        reporter.complain("E110", message, ("privacy", "unit"), hint)
    if model.bounding is not None and model.bounding.max_groups_per_unit is None and grouped:
        message = "[privacy.bounding] has no `max_groups_per_unit`"
        reporter.complain("E110", message, ("privacy", "bounding"), _GROUPS_HINT, "key")


def bounding_of(section: BoundingSection | None, *, grouped: bool) -> Bounding | None:
    """Make the bounds on a unit's rows; in one group there are never more rows than in all.

    Where no table is ``grouped`` the bounds on groups are such that nothing is cut by them.
    """
    if section is None or section.max_rows_per_unit is None:
        return None
    rows = section.max_rows_per_unit
    if not grouped:
        return Bounding(rows, rows, rows)
    if section.max_groups_per_unit is None:
        return None
    per_group = section.max_rows_per_unit_per_group
    return Bounding(
        rows, section.max_groups_per_unit, rows if per_group is None else min(per_group, rows)
    )


def _check_column(
    name: str, columns: Collection[str], data: Data | None, reporter: Reporter
) -> None:
    """Complain of a name that is no column's. It need not be declared, but be in the file."""
    if name in columns:
        return
    path = ("privacy", "unit_column")
    same = next((each for each in columns if each.casefold() == name.casefold()), None)
    if same is not None:
        message = f"column {show(name)} is not declared"
        reporter.complain("E216", message, path, f"did you mean {show(same)}?")
        return
    names = data.source.dialect.names if data is not None else None
    if names and name not in names:
        message = f"column {show(name)} is not among the names of [data]"
        close = nearest(name, names)
        hint = f"did you mean {show(close)}?" if close else "add it there in its place"
        reporter.complain("E216", message, path, hint)
