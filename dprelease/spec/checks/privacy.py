"""The unit of privacy, within bounds, and the budgets of the release and of its queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dprelease.model import Bounding, Data
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import listed, meant, show
from dprelease.spec.schema.models import BoundingSection, PrivacySection, QuerySection
from dprelease.spec.schema.structure import Part
from dprelease.statistics.registry import STATISTICS

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
    same = next((column for column in columns if column.casefold() == name.casefold()), None)
    if same is not None:
        message = f"column {show(name)} is not declared"
        reporter.complain("E216", message, path, f"did you mean {show(same)}?")
        return
    names = data.source.dialect.names if data is not None else None
    if names and name not in names:
        message = f"column {show(name)} is not among the names of [data]"
        hint = meant(name, names, "add it there in its place")
        reporter.complain("E216", message, path, hint)


def check_budgets(
    privacy: Part[PrivacySection],
    queries: Sequence[Part[QuerySection]],
    paid: Collection[int],
    reporter: Reporter,
) -> None:
    """Check that every query has a budget, in terms that don't contradict each other.

    ``paid`` holds the numbers of the queries that have theirs from elsewhere.
    """
    _check_total(privacy, reporter)
    for number, query in enumerate(queries):
        _check_terms(query, reporter)
        _check_mechanism(query, privacy, reporter)
        if number not in paid:
            _check_stated(query, privacy, reporter)


def _check_total(privacy: Part[PrivacySection], reporter: Reporter) -> None:
    model = privacy.model
    if model.epsilon is not None and model.rho is not None:
        hint = "keep one of them"
        reporter.complain("E224", "both epsilon and rho as the total", ("privacy", "rho"), hint)
    if model.rho is not None and model.accounting == "pure":
        hint = 'accounting = "auto", or a total epsilon'
        reporter.complain("E224", "rho is no pure budget", ("privacy", "rho"), hint)


def _check_terms(query: Part[QuerySection], reporter: Reporter) -> None:
    model = query.model
    stated = [
        key for key in ("epsilon", "rho", "accuracy", "weight") if getattr(model, key) is not None
    ]
    for extra in stated[1:]:
        message = f"both {stated[0]} and {extra}"
        hint = (
            "a query states epsilon, rho, an accuracy, or its weight in what is left of the total"
        )
        reporter.complain("E224", message, (*query.path, extra), hint)
    if model.delta is None:
        return
    path = (*query.path, "delta")
    if model.mechanism == "laplace" and model.delta > 0:
        hint = "leave delta out, or use the gaussian mechanism"
        reporter.complain("E225", "Laplace noise needs no delta", path, hint)
    elif model.rho is not None:
        reporter.complain("E224", "both rho and delta", path, "rho needs no delta")
    elif model.epsilon is None and model.mechanism != "gaussian" and query.sound("epsilon"):
        reporter.complain("E224", "delta without epsilon", path, "state epsilon as well")


def _check_mechanism(
    query: Part[QuerySection], privacy: Part[PrivacySection], reporter: Reporter
) -> None:
    model, total = query.model, privacy.model
    path = (*query.path, "mechanism")
    if total.accounting == "pure" and model.rho is not None:
        hint = 'state epsilon, or accounting = "auto"'
        reporter.complain("E224", "rho is no pure budget", (*query.path, "rho"), hint)
    statistic = STATISTICS.get(model.statistic or "")
    if statistic is not None and model.mechanism not in statistic.keys.mechanisms:
        message = f"{model.statistic} can't use the {model.mechanism} mechanism"
        reporter.complain("E235", message, path, f"use {listed(statistic.keys.mechanisms)}")
        return
    if model.mechanism != "gaussian":
        return
    if total.accounting == "pure":
        message = 'accounting = "pure" has no room for Gaussian noise'
        reporter.complain("E225", message, path, 'mechanism = "laplace", or accounting = "auto"')
    has_delta = bool(model.delta) or bool(total.delta)
    has_rho = model.rho is not None or total.rho is not None
    unknown = not (query.sound("delta", "rho") and privacy.sound("delta", "rho"))
    if not has_delta and not has_rho and not unknown:
        hint = "state a delta above 0 here or in [privacy], or rho"
        reporter.complain("E225", "Gaussian noise needs a delta or rho", path, hint)


def _check_stated(
    query: Part[QuerySection], privacy: Part[PrivacySection], reporter: Reporter
) -> None:
    total, model = privacy.model, query.model
    if total.epsilon is not None or total.rho is not None:
        return
    if model.epsilon is not None or model.rho is not None or model.accuracy is not None:
        return
    if privacy.sound("epsilon", "rho") and query.sound("epsilon", "rho", "accuracy"):
        hint = "state epsilon or rho in [privacy], or epsilon, rho or accuracy in this query"
        message = "the query has no budget, and there is no total to share"
        reporter.complain("E223", message, query.path, hint, "key")
