"""The numerator and denominator of a ratio or a proportion."""

from __future__ import annotations

from typing import Literal

from dprelease.model import Part as RatioPart
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.spec.complaints.quoting import show
from dprelease.spec.schema.models import PartStatistic
from dprelease.statistics.registry import STATISTICS

Key = Literal["numerator", "denominator"]

_SUMMED: PartStatistic = "sum"  # what a part with a column is


def read_part(asked: Asked, key: Key) -> RatioPart | None:
    """Make the numerator or denominator of a ratio; None with a complaint."""
    half = asked.model.numerator if key == "numerator" else asked.model.denominator
    if half is None:
        return None
    section = half.section
    where = None
    if section.where is not None:
        where = asked.condition(section.where, key, *(() if half.short else ("where",)))
    statistic = STATISTICS.get(section.statistic or "")
    if statistic is not None and not statistic.keys.column and section.column is not None:
        message, path = f"a count takes no column in the {key}", asked.path(key, "column")
        hint = f"where = '{show(section.column)} IS NOT NULL' counts its values"
        asked.context.reporter.complain("E217", message, path, hint)
        return None
    if section.column is None:
        if statistic is None or not statistic.keys.column:
            return RatioPart(None, where)
        message, path = f"the sum in the {key} has no `column`", asked.path(key)
        asked.context.reporter.complain("E110", message, path, 'column = "..."', "key")
        return None
    known = asked.find(section.column, key, "column")
    if known is None:
        return None
    asked.check_numeric(known, _SUMMED, key, "column")
    return RatioPart(known.column, where)


def read_proportion(asked: Asked) -> tuple[RatioPart, RatioPart] | None:
    """Make both parts of a proportion: the records for which `where` is true, and all."""
    text = asked.model.where
    if text is None:
        asked.miss("where", "the condition whose share of the records is asked for")
        return None
    where = asked.condition(text, "where")
    return (RatioPart(None, where), RatioPart()) if where is not None else None
