"""Number of records by each of several sets of columns."""

from __future__ import annotations

from dprelease.statistics.count import Count
from dprelease.statistics.shared.statistic import SpecKeys


class Marginals(Count):
    """Counts in one table for each set of columns: what is planned are the counts."""

    name = "marginals"
    keys = SpecKeys(tables_of="count", needs=("attributes",), may=("columns", "ways"))
    selects_keys = False
    what_weighted = ""
