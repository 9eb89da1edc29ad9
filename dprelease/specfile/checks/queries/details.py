"""What only some statistics have: quantiles, candidates, parts of a ratio, accuracy by records."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from dprelease.model import Accuracy, Candidates, Column, Expression, Group
from dprelease.model import Part as RatioPart
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.schema.fields import Quantiles
from dprelease.statistics.statistic_registry import STATISTICS


class Details(NamedTuple):
    """The parts of a query that most statistics have none of; see ``Query``."""

    quantiles: Quantiles = ()
    points: tuple[int, ...] | None = None
    picks: int = 1
    axis: Group | None = None
    candidates: Candidates | None = None
    numerator: RatioPart | None = None
    denominator: RatioPart | None = None
    among: Expression | None = None


def read_details(query: SpecQuery, column: Column | None) -> Details | None:
    """Read what the statistic of a query takes besides a column; None when it is not usable.

    Missing keys have had their complaints.
    """
    model, statistic = query.model, query.statistic
    if statistic is None:
        return Details()
    needs = statistic.keys.needs
    details: Details | None = Details()
    if "denominator" in needs:
        numerator, denominator = _ratio_part(query, "numerator"), _ratio_part(query, "denominator")
        usable = numerator is not None and denominator is not None
        details = Details(numerator=numerator, denominator=denominator) if usable else None
    elif statistic.keys.where_is_numerator:
        details = _proportion(query)
    elif "score" in needs:
        # Imported where it is needed, as below: most specs have no candidates.
        from dprelease.specfile.checks.queries.candidate_checks import read_best

        candidates = read_best(query)
        details = Details(candidates=candidates) if candidates else None
    elif "k" in needs:
        details = Details(picks=model.k) if model.k is not None else None
    elif "q" in needs:
        details = _quantiles(query, column, model.q)
    elif "q" in statistic.keys.may:
        details = Details(model.q or ())
    elif statistic.fixed_quantile is not None:
        details = _quantiles(query, column, (statistic.fixed_quantile,))
    return details


def _proportion(query: SpecQuery) -> Details | None:
    """Both parts of a proportion: among the records for which `where` is known, if it is true."""
    if query.model.where is None:
        query.miss("where", "the condition whose share of the records is asked for")
    where = query.condition(query.model.where, "where")
    if where is None:
        return None
    # Read like any other: it may be too long or too deep where the condition itself is not.
    among = query.condition(f"({where.text}) IS NOT NULL", "where")
    if among is None:
        return None
    return Details(numerator=RatioPart(None, where), denominator=RatioPart(), among=among)


def _quantiles(query: SpecQuery, column: Column | None, wanted: Quantiles | None) -> Details | None:
    points = None
    given = query.part.given("candidates", "candidates_file")
    if column is not None and column.grid is not None and given:
        from dprelease.specfile.checks.queries.candidate_checks import read_points

        points = read_points(query, column, column.grid)
        if points is None:
            return None
    return Details(wanted, points) if wanted is not None else None


def _ratio_part(query: SpecQuery, key: Literal["numerator", "denominator"]) -> RatioPart | None:
    """Make the numerator or denominator of a ratio; None with a complaint."""
    half = query.model.numerator if key == "numerator" else query.model.denominator
    if half is None:
        return None
    section = half.section
    where = query.condition(section.where, key, *(() if half.short else ("where",)))
    statistic = STATISTICS.get(section.statistic or "")
    summed = statistic is not None and statistic.keys.column
    if section.column is None:
        if not summed:
            return RatioPart(None, where)
        message = f"the sum in the {key} has no `column`"
        query.part.complain("E110", message, 'column = "..."', key, at="key")
        return None
    if statistic is not None and not summed:
        hint = f"where = '{show(section.column)} IS NOT NULL' counts its values"
        message = f"a count takes no column in the {key}"
        query.part.complain("E217", message, hint, key, "column")
        return None
    declared = query.find(section.column, key, "column")
    if declared is None:
        return None
    query.check_numeric(declared, "sum", key, "column")
    return RatioPart(declared.column, where)


USUAL = Fraction(95, 100)


def read_target(query: SpecQuery) -> Accuracy | None:
    """Give the accuracy that a query wants; complain of one that can't be told."""
    section, statistic, described = query.model.accuracy, query.model.statistic, query.statistic
    if section is None or section.within is None:
        return None
    by_records = described is not None and described.error_by_records
    if by_records is (section.records is not None):
        return Accuracy(section.within, section.confidence or USUAL, section.records)
    if by_records:
        message = f"the noise of a {statistic} depends on how many records are behind it"
        hint = "say at how many the target holds, such as records = 1000"
    else:
        message = f"the noise of {statistic} does not depend on the number of records"
        hint = "leave records out"
    query.part.complain("E240", message, hint, "accuracy")
    return None
