"""Number of fields of each column that are null, can't be read, are undeclared or are clamped."""

from __future__ import annotations

from dprelease.statistics.count import Count
from dprelease.statistics.shared.spec_keys import (
    COLUMNS_OF_TABLES,
    POSITIVE_NUMBER,
    Details,
    OwnKey,
    QueryReader,
)
from dprelease.statistics.shared.statistic import SpecKeys

MAX_UNREADABLE = OwnKey(
    "max_unreadable",
    POSITIVE_NUMBER,
    "of a quality: with `run --quality-first`, the share of a column's fields up to which the "
    "rest is released; what counts are unreadable fields, and undeclared ones without `other`",
    "0.05",
)


class Quality(Count):
    """Counts by the state of a field, in one table for each column; the planner sees these counts.

    A record has one state in each column, so that it moves one count of each table by 1.
    """

    name = "quality"
    word = "spec_words.statistic.quality"
    keys = SpecKeys(tables_of="count", states=True, may=(COLUMNS_OF_TABLES, MAX_UNREADABLE))

    selects_keys = False
    what_weighted = ""

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the share of unreadable fields up to which a run goes on."""
        return Details(max_unreadable=spec.read_value(MAX_UNREADABLE))
