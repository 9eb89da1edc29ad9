"""Number of records by each of several sets of columns."""

from __future__ import annotations

from dprelease.statistics.count import Count
from dprelease.statistics.shared.spec_keys import (
    COLUMNS_OF_TABLES,
    SETS_OF_COLUMNS,
    WAYS,
    WEIGHED_ALIKE,
    OwnKey,
)
from dprelease.statistics.shared.statistic import SpecKeys

ATTRIBUTES = OwnKey(
    "attributes",
    SETS_OF_COLUMNS,
    "of marginals: sets of columns, a table for each; `[]` is the total",
    example='write sets of columns, such as attributes = [["sex", "age"], ["region"]], or columns',
    instead="columns",
    has_columns=True,
)
TABLE_WAYS = OwnKey(
    "ways",
    WAYS,
    "how many of `columns` a table has: 2 stands for all tables of one and of two columns, "
    "`[2]` for those of two",
    example="write the number of columns of a table, such as ways = 2",
)
WEIGH = OwnKey(
    "weigh",
    WEIGHED_ALIKE,
    "what of marginals shares the weight evenly: tables, or the cells of all of them",
    '"tables"',
)


class Marginals(Count):
    """Counts in one table for each set of columns; the planner sees these counts."""

    name = "marginals"
    word = "spec_words.statistic.marginals"
    keys = SpecKeys(
        tables_of="count", needs=(ATTRIBUTES,), may=(COLUMNS_OF_TABLES, TABLE_WAYS, WEIGH)
    )
    selects_keys = False
    what_weighted = ""
