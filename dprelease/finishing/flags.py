"""Flags that the plan and the noisy figures of other columns decide.

A quantile is known within ranks. It says little where these are many beside the number of records,
of which a noisy count of the same records in its table tells.

Where each unit counts with a part of its rows only, figures lie below those of all rows, and no
noise interval covers that. How much was cut would cost budget to tell, so that all figures that the
limits can cut have the flag ``bounded`` in place of ``ok``: it depends on the spec alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dprelease.finishing.tables import FLAG, RANKS
from dprelease.language import say
from dprelease.model import Bounding, Form, OutputColumn, OutputTable, Plan, Query
from dprelease.statistics.registry import statistic_of

BOUNDED, UNRELIABLE, OK = "bounded", "low_reliability", "ok"
FEW_RECORDS = 10
"""Ranks are many where they exceed the count divided by so much."""

Change = Callable[[OutputTable, Query], dict[str, OutputColumn | None]]


def with_rank_flags(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Flag the quantiles whose ranks are many beside the count in their row."""
    return _changed(tables, plan, lambda table, query: _rank_flags(table, query, plan))


def count_beside(query: Query, plan: Plan) -> str | None:
    """Name the column with the number of a quantile's records, if its table has one."""
    mates = [
        mate
        for mate in (read.query for read in plan.reads)
        if mate.table == query.table
        and (mate.groups, mate.where) == (query.groups, query.where)
        and mate.survey_weight == query.survey_weight
    ]
    for mate in mates:
        if mate.column == query.column and "_count" in statistic_of(mate.statistic).suffixes:
            return f"{mate.column_name}_count"
    counts = (mate.column_name for mate in mates if statistic_of(mate.statistic).combines)
    return next(counts, None)


def _rank_flags(table: OutputTable, query: Query, plan: Plan) -> dict[str, OutputColumn | None]:
    beside = count_beside(query, plan) if statistic_of(query.statistic).in_ranks else None
    if beside is None:
        return {}
    columns = {column.name: column for column in table.columns}
    made: dict[str, OutputColumn | None] = {}
    count = columns[beside]
    for name in _flags_of(table, query):
        ranks = columns[name.removesuffix(FLAG) + RANKS]
        many = Fraction(FEW_RECORDS * 10**count.decimals, 10**ranks.decimals)
        flags = [
            UNRELIABLE if many * int(rank or 0) > int(number or 0) else OK
            for rank, number in zip(ranks.values, count.values, strict=True)
        ]
        described = say(
            "ok, or low_reliability where {ranks} exceeds a tenth of {count}",
            ranks=ranks.name,
            count=beside,
        )
        made[name] = replace(columns[name], values=flags, description=described)
    return made


def within_ends(tables: Sequence[OutputTable]) -> tuple[OutputTable, ...]:
    """Move figures that noise made impossible, such as a ratio below 0, to the nearest end.

    The true figure is no further from there, so that the half-width holds. They are unreliable.
    """
    return tuple(_within_ends(table) for table in tables)


def _within_ends(table: OutputTable) -> OutputTable:
    columns = {column.name: column for column in table.columns}
    beside = {(column.figure, column.beside): column for column in table.columns}
    for name, column in list(columns.items()):
        low, high = (beside.get((name, end)) for end in ("_low", "_high"))
        if low is None or high is None:
            continue
        values = [
            min(max(value, least), most)
            if isinstance(value, int) and isinstance(least, int) and isinstance(most, int)
            else value
            for value, least, most in zip(column.values, low.values, high.values, strict=True)
        ]
        columns[name] = replace(column, values=values)
        if (flag := beside.get((name, FLAG))) is not None:
            pairs = zip(flag.values, column.values, values, strict=True)
            flags = [said if old == new else UNRELIABLE for said, old, new in pairs]
            columns[flag.name] = replace(flag, values=flags)
    return replace(table, columns=tuple(columns.values()))


def with_bounded(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Mark what the limits on a unit's rows can cut, and leave out flags that would be empty."""
    return _changed(tables, plan, lambda table, query: _bounded(table, query, plan))


def limits_cut(query: Query, bounding: Bounding | None) -> bool:
    """Whether some unit can have more rows, or more groups, than may count in a figure."""
    if bounding is None:
        return False
    if not statistic_of(query.statistic).counts_units:
        return True
    return query.private or query.cells > min(bounding.rows, bounding.groups)


def _bounded(table: OutputTable, query: Query, plan: Plan) -> dict[str, OutputColumn | None]:
    bounding = plan.release.privacy.bounding
    if bounding is None or not limits_cut(query, bounding):
        hides = query.finish.publish_if is not None or query.finish.hide_below is not None
        empty = not hides and _says_nothing(query, plan)
        return dict.fromkeys(_flags_of(table, query) if empty else ())
    made: dict[str, OutputColumn | None] = {}
    for column in table.columns:
        if column.query != query.name:
            continue
        if column.beside == FLAG:
            flags = [BOUNDED if flag in (None, OK) else flag for flag in column.values]
            meaning = say(
                "bounded in place of ok, as rows of a unit beyond the limits do not count"
            )
            described = "; ".join(filter(None, (column.description, meaning)))
            made[column.name] = replace(column, values=flags, description=described)
        elif not column.beside:
            described = f"{column.description}; {_limits(bounding)}"
            made[column.name] = replace(column, description=described)
    return made


def _limits(bounding: Bounding) -> str:
    return say(
        "rows that count of one unit: at most {rows:,} in all and {within:,} in a group, in at "
        "most {groups:,} of the groups",
        rows=bounding.rows,
        groups=bounding.groups,
        within=bounding.per_group,
    )


def _says_nothing(query: Query, plan: Plan) -> bool:
    """Whether the plan leaves every flag of a query empty."""
    statistic = statistic_of(query.statistic)
    if statistic.in_ranks:
        return count_beside(query, plan) is None
    (read,) = [read for read in plan.reads if read.query == query]
    return statistic.names and not read.terms and plan.step(read).form is Form.CHOICE


def _flags_of(table: OutputTable, query: Query) -> list[str]:
    columns = (column for column in table.columns if column.query == query.name)
    return [column.name for column in columns if column.beside == FLAG]


def _changed(tables: Sequence[OutputTable], plan: Plan, change: Change) -> tuple[OutputTable, ...]:
    """Make other columns of those of each query; None leaves a column out."""
    made = []
    for table in tables:
        new: dict[str, OutputColumn | None] = {}
        for read in plan.reads:
            if read.query.table == table.name:
                new |= change(table, read.query)
        columns = (new.get(column.name, column) for column in table.columns)
        remaining = tuple(column for column in columns if column is not None)
        made.append(replace(table, columns=remaining))
    return tuple(made)
