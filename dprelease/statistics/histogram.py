"""Number of records by bin or value of a column, within each group."""

from __future__ import annotations

from dprelease.statistics.count import Count
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import SpecKeys


class Histogram(Count):
    """A count whose last grouping column is the histogram's own: same integers, same law."""

    name = "histogram"
    word = "spec_words.statistic.histogram"
    what = "statistics.histogram.what"
    what_weighted = "statistics.histogram.what_weighted"
    keys = SpecKeys(column=ColumnUse.GROUPS)
    sharing = None
    selects_keys = False
