"""The unit of privacy, within bounds, and the budgets of the release and of its queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dprelease.model import Bounding, Data
from dprelease.specfile.checks.columns.column import check_in_file
from dprelease.specfile.complaints.complaint_wording import join_quoted, show
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.query_keys import ClipSection
from dprelease.specfile.schema.sections import BoundingSection, PrivacySection, QuerySection
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.shared.spec_keys import BOUNDING
from dprelease.statistics.statistic_registry import STATISTICS

_MOST_APART = 10**6

_COLUMN_HINT = 'write unit_column = "...", the name of the column that identifies the unit of a row'
_BOUNDING_HINT = (
    "add it with max_rows_per_unit, the rows of one unit that count, and max_groups_per_unit, the "
    "groups of a table that they are in; larger numbers leave out less and need more noise"
)
_GROUPS_HINT = (
    "write the number of groups of a table in which the rows of one unit count; others are left out"
)
_ROWS_HINT = (
    "add it with max_rows_per_unit, the rows of one unit that go into a table; each row has that "
    "part of epsilon, so larger numbers leave out less and need more noise"
)


def check_unit(parts: Parts, data: Data | None) -> None:
    """Check that the unit is either a row, or a column that can be found, with bounds.

    Without queries there are no groups, and only rows are bounded.
    """
    part, grouped = parts.privacy, not parts.perturbs_only
    model = part.model
    if model.unit == "row":
        for key in part.list_given("unit_column", "bounding"):
            hint = 'unit = "column" protects all rows of one unit; otherwise leave it out'
            part.complain(
                "E111", f"{key} has no effect, because the unit is a row", key, hint=hint, at="key"
            )
    if model.unit != "column":
        return
    if model.unit_column is not None:
        _check_column(model.unit_column, parts.columns, data, part)
    elif part.is_sound("unit_column"):
        part.complain("E110", 'unit = "column" needs `unit_column`', "unit", hint=_COLUMN_HINT)
    if model.bounding is None and part.is_sound("bounding"):
        hint = _BOUNDING_HINT if grouped else _ROWS_HINT
        part.complain("E110", 'unit = "column" needs [privacy.bounding]', "unit", hint=hint)
    if model.bounding is not None and model.bounding.max_groups_per_unit is None and grouped:
        message = "[privacy.bounding] has no `max_groups_per_unit`"
        part.complain("E110", message, "bounding", hint=_GROUPS_HINT, at="key")


def read_bounding(section: BoundingSection | None, *, grouped: bool) -> Bounding | None:
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
    per_group = section.max_rows_per_unit_per_group or rows
    return Bounding(rows, section.max_groups_per_unit, min(per_group, rows))


def _check_column(
    name: str, columns: Collection[str], data: Data | None, part: Part[PrivacySection]
) -> None:
    """Complain of a name that is no column's. It need not be declared, but be in the file."""
    if name in columns:
        return
    same = next((column for column in columns if column.casefold() == name.casefold()), None)
    if same is not None:
        message, hint = f"column {show(name)} is not declared", f"did you mean {show(same)}?"
        part.complain("E216", message, "unit_column", hint=hint)
        return
    check_in_file(name, data.source if data is not None else None, part, "unit_column")


def check_budgets(parts: Parts, paid_places: Collection[int]) -> None:
    """Check that every query has a budget, in terms that don't contradict each other.

    ``paid_places`` holds the numbers of the queries that have theirs from elsewhere.
    """
    privacy, model = parts.privacy, parts.privacy.model
    if model.epsilon is not None and model.rho is not None:
        privacy.complain("E224", "[privacy] states both epsilon and rho as the total", "rho")
    if model.rho is not None and model.accounting == "pure":
        hint = 'write accounting = "auto", or a total epsilon'
        privacy.complain("E224", "rho is not a pure budget", "rho", hint=hint)
    shares = any(
        number not in paid_places and not query.list_given("epsilon", "rho", "accuracy")
        for number, query in enumerate(parts.queries)
    )
    if model.rho is not None and model.accounting == "pld" and shares:
        message = 'accounting = "pld" does not share out a total in rho'
        hint = 'write accounting = "auto", or a total epsilon with a delta'
        privacy.complain("E224", message, "accounting", hint=hint)
    in_rho = model.rho is not None or any(query.model.rho is not None for query in parts.queries)
    if in_rho and model.epsilon is None and model.delta == 0:
        message = "rho needs a delta above 0, at which it implies an epsilon"
        hint = "state a delta, or leave it out for 1e-6; for a delta of 0, state budgets in epsilon"
        privacy.complain("E224", message, "delta", hint=hint)
    for number, query in enumerate(parts.queries):
        _check_terms(query)
        _check_mechanism(query, privacy)
        keys = query.list_given("epsilon", "rho", "accuracy") or privacy.list_given(
            "epsilon", "rho"
        )
        sound = privacy.is_sound("epsilon", "rho") and query.is_sound("epsilon", "rho", "accuracy")
        if number not in paid_places and not keys and sound:
            message = "the query has no budget, and [privacy] has no total to share"
            query.complain("E223", message, at="key")
    _check_weights(parts.queries)


def _check_weights(queries: Sequence[Part[QuerySection]]) -> None:
    """Complain of the least weight if another one is more than a million times as large."""
    stated = [query for query in queries if query.model.weight is not None]
    if not stated:
        return
    least = min(stated, key=lambda query: query.model.weight or 1)
    smallest = least.model.weight or 1
    # A query without a weight has 1.
    largest = max([1, *(query.model.weight or 1 for query in stated)])
    if largest > _MOST_APART * smallest:
        message = f"weight {show(smallest)} is less than a millionth of {show(largest)}, another's"
        hint = "write weights that are a million apart at most; 8 has twice the epsilon of 1"
        least.complain("E203", message, "weight", hint=hint)


def _check_terms(query: Part[QuerySection]) -> None:
    model = query.model
    keys = query.list_given("epsilon", "rho", "accuracy", "weight")
    for extra in keys[1:]:
        hint = (
            "a query states only one of: epsilon, rho, an accuracy, or its weight in the rest of "
            "the total"
        )
        query.complain("E224", f"the query states both {keys[0]} and {extra}", extra, hint=hint)
    if model.delta is None:
        return
    if model.mechanism == "laplace" and model.delta > 0:
        hint = "leave delta out, or use the gaussian mechanism"
        query.complain("E225", "Laplace noise needs no delta", "delta", hint=hint)
    elif model.rho is not None:
        query.complain(
            "E224", "the query states both rho and delta", "delta", hint="rho needs no delta"
        )
    elif model.epsilon is None and model.mechanism != "gaussian" and query.is_sound("epsilon"):
        query.complain("E224", "a delta needs an epsilon", "delta", hint="state epsilon as well")


def _check_mechanism(query: Part[QuerySection], privacy: Part[PrivacySection]) -> None:
    model, total = query.model, privacy.model
    if total.accounting == "pure" and model.rho is not None:
        hint = 'state epsilon, or accounting = "auto"'
        query.complain("E224", "rho is not a pure budget", "rho", hint=hint)
    statistic = STATISTICS.get(model.statistic or "")
    if statistic is not None and model.mechanism not in statistic.keys.mechanisms:
        message = f"{model.statistic} can't use the {model.mechanism} mechanism"
        query.complain(
            "E235", message, "mechanism", hint=f"use {join_quoted(statistic.keys.mechanisms)}"
        )
        return
    clip, at = query.value(BOUNDING), "mechanism"
    if isinstance(clip, ClipSection) and clip.clip == "l2" and model.mechanism == "auto":
        at = BOUNDING.name
    elif model.mechanism != "gaussian":
        return
    if total.accounting == "pure":
        message = 'accounting = "pure" does not allow Gaussian noise'
        hint = 'write mechanism = "laplace", or accounting = "auto"'
        if at == BOUNDING.name:
            hint = 'write clip = "l1", or accounting = "auto"'
        query.complain("E225", message, at, hint=hint)
    has_delta = model.delta or total.delta or model.rho is not None or total.rho is not None
    if not has_delta and query.is_sound("delta", "rho") and privacy.is_sound("delta", "rho"):
        hint = "state a delta above 0 here or in [privacy], or rho"
        if at == BOUNDING.name:
            hint = f'{hint}; or write clip = "l1"'
        query.complain("E225", "Gaussian noise needs a delta or rho", at, hint=hint)
