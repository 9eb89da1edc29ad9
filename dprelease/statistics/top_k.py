"""The most frequent values of a column by cell, in order."""

from __future__ import annotations

from dprelease.model import Query
from dprelease.statistics.shared.choices import AxisChoice
from dprelease.statistics.shared.statistic import SpecKeys


class TopK(AxisChoice):
    """The ``picks`` values that most of a cell's records have, one column for each rank."""

    name = "top_k"
    what = "statistics.top_k.what"
    suffixes = ("_1", "_noise_moe", "_flag")
    keys = SpecKeys(
        column=True, chooses=True, needs=("k",), mechanisms=("auto", "laplace", "exponential")
    )

    def endings(self, query: Query) -> tuple[str, ...]:
        """_1, _2, ..."""
        return tuple(f"_{rank}" for rank in range(1, query.picks + 1))
