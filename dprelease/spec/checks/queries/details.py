"""What only some statistics have: quantiles, candidates, parts of a ratio, accuracy by records."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from dprelease.model import Accuracy, Candidates, Column, Group
from dprelease.model import Part as RatioPart
from dprelease.spec.checks.queries.query_context import SpecQuery
from dprelease.spec.complaints.wording import show
from dprelease.spec.schema.fields import Quantiles
from dprelease.spec.schema.models import PartStatistic
from dprelease.statistics.registry import STATISTICS


class Details(NamedTuple):
    """The parts of a query that most statistics have none of; see ``Query``."""

    quantiles: Quantiles = ()
    points: tuple[int, ...] | None = None
    picks: int = 1
    axis: Group | None = None
    candidates: Candidates | None = None
    numerator: RatioPart | None = None
    denominator: RatioPart | None = None


def read_details(query: SpecQuery, column: Column | None) -> Details | None:
    """Read what the statistic of a query takes besides a column; None when it is not usable.

    Missing keys have had their complaints.
    """
    model, statistic = query.model, STATISTICS.get(query.model.statistic or "")
    details: Details | None = Details()
    if statistic is None:
        return details
    needs = statistic.keys.needs
    if "denominator" in needs:
        details = _ratio(query)
    elif statistic.keys.where_is_numerator:
        details = _proportion(query)
    elif "score" in needs:
        # Imported where it is needed, as below: most specs have no candidates.
        from dprelease.spec.checks.queries.candidates import read_best

        candidates = read_best(query)
        details = Details(candidates=candidates) if candidates else None
    elif "k" in needs:
        details = Details(picks=model.k) if model.k is not None else None
    elif "q" in needs:
        details = _quantiles(query, column, model.q)
    elif statistic.fixed_quantile is not None:
        details = _quantiles(query, column, (statistic.fixed_quantile,))
    return details


def _ratio(query: SpecQuery) -> Details | None:
    numerator, denominator = read_part(query, "numerator"), read_part(query, "denominator")
    if numerator is None or denominator is None:
        return None
    return Details(numerator=numerator, denominator=denominator)


def _proportion(query: SpecQuery) -> Details | None:
    """Both parts of a proportion: the records for which `where` is true, and all."""
    text = query.model.where
    if text is None:
        query.miss("where", "the condition whose share of the records is asked for")
        return None
    where = query.condition(text, "where")
    return Details(numerator=RatioPart(None, where), denominator=RatioPart()) if where else None


def _quantiles(query: SpecQuery, column: Column | None, wanted: Quantiles | None) -> Details | None:
    model, points = query.model, None
    given = model.candidates is not None or model.candidates_file is not None
    if column is not None and column.grid is not None and given:
        from dprelease.spec.checks.queries.candidates import read_points

        points = read_points(query, column, column.grid)
        if points is None:
            return None
    return Details(wanted, points) if wanted is not None else None


Key = Literal["numerator", "denominator"]

SUMMED: PartStatistic = "sum"
"""What a part with a column is."""


def read_part(query: SpecQuery, key: Key) -> RatioPart | None:
    """Make the numerator or denominator of a ratio; None with a complaint."""
    half = query.model.numerator if key == "numerator" else query.model.denominator
    if half is None:
        return None
    section = half.section
    where = None
    if section.where is not None:
        where = query.condition(section.where, key, *(() if half.short else ("where",)))
    statistic = STATISTICS.get(section.statistic or "")
    if statistic is not None and not statistic.keys.column and section.column is not None:
        message, path = f"a count takes no column in the {key}", query.path(key, "column")
        hint = f"where = '{show(section.column)} IS NOT NULL' counts its values"
        query.context.reporter.complain("E217", message, path, hint)
        return None
    if section.column is None:
        if statistic is None or not statistic.keys.column:
            return RatioPart(None, where)
        message, path = f"the sum in the {key} has no `column`", query.path(key)
        query.context.reporter.complain("E110", message, path, 'column = "..."', "key")
        return None
    declared = query.find(section.column, key, "column")
    if declared is None:
        return None
    query.check_numeric(declared, SUMMED, key, "column")
    return RatioPart(declared.column, where)


USUAL = Fraction(95, 100)


def read_target(query: SpecQuery) -> Accuracy | None:
    """Give the accuracy that a query wants; complain of one that can't be told."""
    section, statistic = query.model.accuracy, query.model.statistic
    if section is None or section.within is None:
        return None
    described = STATISTICS.get(statistic or "")
    by_records = described is not None and described.error_by_records
    if by_records and section.records is None:
        message = f"the noise of a {statistic} depends on how many records are behind it"
        hint = "say at how many the target holds, such as records = 1000"
        query.complain("accuracy", "E240", message, hint)
        return None
    if not by_records and section.records is not None:
        message = f"the noise of {statistic} does not depend on the number of records"
        query.complain("accuracy", "E240", message, "leave records out")
        return None
    level = section.confidence if section.confidence is not None else USUAL
    return Accuracy(section.within, level, section.records)
