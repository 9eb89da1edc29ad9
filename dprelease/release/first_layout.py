"""The columns of tables as releases had them before the ends of intervals were published.

A release is laid out for good as it was when its integers were sealed: whoever publishes it again
gets the same files. So figures have no ends, quantiles an empty half-width, flags are ``ok``,
``low_reliability`` or ``suppressed``, and of quantiles and some names empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dprelease.model import OutputColumn, OutputTable, Plan
from dprelease.statistics.registry import statistic_of

ENDS = ("_low", "_high", "_mean_low", "_mean_high")
_OF_QUANTILE = ("", "_noise_moe", "_flag", "_rank_moe")


def in_first_layout(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Lay finished tables out as the first versions did."""
    queries = {read.query.name: read.query for read in plan.reads}
    ends = {query.column_name + end for query in queries.values() for end in ENDS}
    ranked = {name for name, query in queries.items() if statistic_of(query.statistic).in_ranks}

    def columns(table: OutputTable) -> Iterator[OutputColumn]:
        named = {column.name: column for column in table.columns}
        for column in table.columns:
            if column.query not in ranked:
                if column.query is None or column.name not in ends:
                    yield column
            elif f"{column.name}_rank_moe" in named:
                half = replace(column, name=f"{column.name}_noise_moe", description="empty")
                named[half.name] = replace(half, values=[None] * len(column.values))
                yield from (named[column.name + part] for part in _OF_QUANTILE)

    return tuple(replace(table, columns=tuple(columns(table))) for table in tables)
