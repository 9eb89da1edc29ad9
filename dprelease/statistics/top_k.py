"""The most frequent values of a column by cell, in order."""

from __future__ import annotations

from dprelease.model import Query
from dprelease.model.sentences import Text, sentence
from dprelease.statistics.shared.choices import AxisChoice
from dprelease.statistics.shared.spec_keys import (
    NUMBER_OF_VALUES,
    ColumnUse,
    Details,
    OwnKey,
    QueryReader,
)
from dprelease.statistics.shared.statistic import SpecKeys, Spell

K = OwnKey(
    "k",
    NUMBER_OF_VALUES,
    "how many values top_k names",
    example="write the number of values to name, such as k = 3",
)


class TopK(AxisChoice):
    """The ``picks`` most frequent values in a cell, one column for each rank."""

    name = "top_k"
    word = "spec_words.statistic.top_k"
    definition = "statistics.top_k.definition"
    what = "statistics.top_k.what"
    suffixes = ("_1", "_noise_moe", "_flag")
    keys = SpecKeys(
        column=ColumnUse.CHOICES, needs=(K,), mechanisms=("auto", "laplace", "exponential")
    )

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the number of values to name."""
        picks = spec.read_value(K)
        return None if picks is None else Details(picks=picks, axis=spec.axis)

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define how many values are named."""
        column = "" if query.axis is None else query.axis.column
        return (sentence(self.definition, column=column, picks=query.picks),)

    def list_endings(self, query: Query) -> tuple[str, ...]:
        """List _1, _2, ..."""
        return tuple(f"_{rank}" for rank in range(1, query.picks + 1))
