"""Accuracy targets of queries: the budget is found from them."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Accuracy
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.statistics.registry import STATISTICS

USUAL = Fraction(95, 100)


def read_target(asked: Asked) -> Accuracy | None:
    """Give the accuracy that a query wants; complain of one that can't be told."""
    section, statistic = asked.model.accuracy, asked.model.statistic
    if section is None or section.within is None:
        return None
    described = STATISTICS.get(statistic or "")
    by_records = described is not None and described.error_by_records
    if by_records and section.records is None:
        asked.complain(
            "accuracy",
            "E240",
            f"the noise of a {statistic} depends on how many records are behind it",
            "say at how many the target holds, such as records = 1000",
        )
        return None
    if not by_records and section.records is not None:
        asked.complain(
            "accuracy",
            "E240",
            f"the noise of {statistic} does not depend on the number of records",
            "leave records out",
        )
        return None
    level = section.confidence if section.confidence is not None else USUAL
    return Accuracy(section.within, level, section.records)
