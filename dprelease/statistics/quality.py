"""How many fields of each column are null, can't be read, are undeclared or are clamped."""

from __future__ import annotations

from dprelease.statistics.count import Count
from dprelease.statistics.shared.statistic import SpecKeys


class Quality(Count):
    """Counts by the state of a field, in one table for each column: what is planned are the counts.

    A record has one state in each column, so that it moves one count of each table by 1.
    """

    name = "quality"
    keys = SpecKeys(tables_of="count", states=True, may=("columns", "max_unreadable"))
    selects_keys = False
    what_weighted = ""
