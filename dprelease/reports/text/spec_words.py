"""Words that a spec writes, as people read them: statistics, mechanisms, types, decisions, dates.

In English they are those of the spec. Files for programs keep the words of the spec in every
language.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from dprelease.language import say
from dprelease.reports.model.report_model import Query
from dprelease.statistics.statistic_registry import STATISTICS

MECHANISM_WORDS: Mapping[str, str] = {
    "cube": "spec_words.mechanism.cube",
    "cut-laplace": "spec_words.mechanism.cut_laplace",
    "exponential": "spec_words.mechanism.exponential",
    "gaussian": "spec_words.mechanism.gaussian",
    "laplace": "spec_words.mechanism.laplace",
    "none": "spec_words.mechanism.none",
    "permute-and-flip": "spec_words.mechanism.permute_and_flip",
    "staircase": "spec_words.mechanism.staircase",
}
TYPE_WORDS: Mapping[str, str] = {
    "boolean": "spec_words.type.boolean",
    "date": "spec_words.type.date",
    "decimal": "spec_words.type.decimal",
    "float": "spec_words.type.float",
    "integer": "spec_words.type.integer",
    "string": "spec_words.type.string",
    "timestamp": "spec_words.type.timestamp",
}
DECISION_WORDS: Mapping[str, str] = {
    "approved": "spec_words.decision.approved",
    "approved with conditions": "spec_words.decision.approved_with_conditions",
    "refused": "spec_words.decision.refused",
}
_MONTHS = (
    "spec_words.month.january",
    "spec_words.month.february",
    "spec_words.month.march",
    "spec_words.month.april",
    "spec_words.month.may",
    "spec_words.month.june",
    "spec_words.month.july",
    "spec_words.month.august",
    "spec_words.month.september",
    "spec_words.month.october",
    "spec_words.month.november",
    "spec_words.month.december",
)


def write_title(query: Query) -> str:
    """Say what a query computes in a few words: statistic, column, weight and condition."""
    # A report may be of another version, which had other statistics.
    key = STATISTICS[query.statistic].word if query.statistic in STATISTICS else ""
    what = say(key) if key else query.statistic
    if query.column:
        what = say("names.statistic_of_column", statistic=what, column=query.column)
    if query.survey_weight:
        what = say("names.weighted", figure=what, weight=query.survey_weight)
    return say("names.where", figure=what, condition=query.where) if query.where else what


def write_date(written: str) -> str:
    """Write a date in ISO 8601 out, with the name of its month."""
    day = date.fromisoformat(written)
    key = "spec_words.date.first" if day.day == 1 else "spec_words.date.other"
    return say(key, day=str(day.day), month=say(_MONTHS[day.month - 1]), year=str(day.year))
