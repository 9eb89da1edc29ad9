"""Flags and empty cells that follow from the plan and the noisy figures of other columns.

The error of a quantile is bounded in ranks, that of a chosen name by how far its count may fall
short of the largest. Such a figure is unreliable if the bound is large beside the number of
records, which a noisy count in the release estimates. If that count includes records without a
value, it can show that a figure is unreliable, but not that it is reliable: then the flag is empty.

A share, a mean or a quantile says nothing of a group whose count, of records or of units, is within
its noise of 0: the group may have no records. Such cells are empty. A mean whose own number of
values selects private keys is never empty: its groups have records, and its intervals hold among
all keys that are shown (``intervals.selected_sums``), not among those that a count would leave.

Where only a part of each unit's rows counts, figures lie below those of all rows, and no noise
interval covers the difference. Publishing how much was cut would cost budget, so all figures that
the limits can cut have the flag ``bounded``, which depends on the spec alone. An unreliable figure
has both flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.model import Bounding, Form, OutputColumn, OutputTable, Plan, Query
from dprelease.model.outputs import BOUNDED, OK, UNRELIABLE
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.postprocess.finishing.finished_tables import COUNT, FLAG, HALF, RANKS
from dprelease.postprocess.intervals.number_text import number, write_percent
from dprelease.statistics.statistic_registry import get_statistic

FEW_RECORDS = 10
"""An error in ranks is large if it exceeds the count divided by this number."""

Change = Callable[[OutputTable, Query], dict[str, OutputColumn | None]]


class CountBeside(NamedTuple):
    """A column with the number of a figure's records, in its table.

    ``of_values``: it counts only records with a value of the figure's column.
    """

    name: str
    of_values: bool


def count_beside(query: Query, plan: Plan, *, by_condition: bool = True) -> CountBeside | None:
    """Find the column with the number of a figure's records, if its table has one.

    ``by_condition``: accept a count of the records whose value is not null.
    """
    alike = [
        mate
        for mate in plan.queries_by_table.get(query.table, ())
        if mate.groups == query.groups
        and mate.survey_weight == query.survey_weight
        and mate.clip is None
    ]
    mates = [mate for mate in alike if mate.where == query.where]
    for mate in mates:
        if mate.column == query.column and COUNT in get_statistic(mate.statistic).suffixes:
            return CountBeside(f"{mate.column_name}{COUNT}", of_values=True)
    for mate in alike if by_condition else ():
        if get_statistic(mate.statistic).combines and _is_counting_values(mate, query, plan):
            return CountBeside(mate.column_name, of_values=True)
    counts = (mate.column_name for mate in mates if get_statistic(mate.statistic).combines)
    name = next(counts, None)
    return None if name is None else CountBeside(name, of_values=False)


def find_unit_count(query: Query, plan: Plan) -> str | None:
    """Find the column that counts the units behind a figure, if its table has one."""
    for mate in plan.queries_by_table.get(query.table, ()):
        alike = (mate.groups, mate.where) == (query.groups, query.where)
        if alike and get_statistic(mate.statistic).counts_units:
            return mate.column_name
    return None


def _is_counting_values(count: Query, query: Query, plan: Plan) -> bool:
    """Check if a count is of exactly the records with a value of the figure's column."""
    column = query.column
    if column is None:
        return False
    if column.null_value is not None:  # which a record without a value has
        return count.where == query.where
    if count.where is None:
        return False
    # Imported here for start-up: the parser is large.
    from dprelease.expressions import ExpressionError
    from dprelease.expressions.canonical import write_canonical

    filter_text = f'"{column.name}" IS NOT NULL'
    if query.where is not None:
        filter_text = f"({query.where.text}) AND ({filter_text})"
    types = {name: declared.type for name, declared in plan.release.columns.items()}
    try:
        return write_canonical(count.where.text, types) == write_canonical(filter_text, types)
    except ExpressionError:  # such as a name that can't be quoted
        return False


# --- flags of what has no half-width of its own ---------------------------------------------------


def add_count_flags(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Flag quantiles and names by the released counts of their records."""
    by_name = {table.name: table for table in tables}

    def flag_columns(table: OutputTable, query: Query) -> dict[str, OutputColumn | None]:
        if get_statistic(query.statistic).in_ranks:
            return _rank_flags(table, query, count_beside(query, plan))
        return _name_flags(table, query, plan, by_name) if is_chosen(query, plan) else {}

    return _change_columns(tables, plan, flag_columns)


def restate_listed_ranks(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Describe quantiles among listed candidates as of version 0.2, which moved no value."""

    def describe_columns(table: OutputTable, query: Query) -> dict[str, OutputColumn | None]:
        if query.points is None:
            return {}
        return {
            column.name: replace(
                column,
                description=sentence("flags.if_values_are_listed", description=column.description),
            )
            for column in table.columns
            if column.query == query.name and column.aspect == RANKS
        }

    return _change_columns(tables, plan, describe_columns)


def add_rank_flags(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Flag quantiles alone, by counts that may hold records without a value, like version 0.2."""

    def flag_columns(table: OutputTable, query: Query) -> dict[str, OutputColumn | None]:
        if not get_statistic(query.statistic).in_ranks:
            return {}
        beside = count_beside(query, plan, by_condition=False)
        return _rank_flags(table, query, beside and beside._replace(of_values=True))

    return _change_columns(tables, plan, flag_columns)


def _rank_flags(
    table: OutputTable, query: Query, beside: CountBeside | None
) -> dict[str, OutputColumn | None]:
    if beside is None:
        return {}
    columns = {column.name: column for column in table.columns}
    flag_columns: dict[str, OutputColumn | None] = {}
    for name in _list_flags(table, query):
        ranks = columns[name.removesuffix(FLAG) + RANKS]
        described = sentence("flags.ranks.beside_count", ranks=ranks.name, count=beside.name)
        if not beside.of_values:
            described = sentence(
                "flags.ranks.beside_count_with_gaps", ranks=ranks.name, count=beside.name
            )
        weak = _flag_excess(ranks, columns[beside.name], Fraction(1, FEW_RECORDS))
        flags = _judge_rows(weak, OK if beside.of_values else None)
        flag_columns[name] = replace(columns[name], values=flags, description=described)
    return flag_columns


def is_chosen(query: Query, plan: Plan) -> bool:
    """Check if figures are names and nothing else about them was released."""
    read = plan.reads_by_name[query.name]
    names = get_statistic(query.statistic).names and not read.terms
    return names and plan.step(read).form is Form.CHOICE


def _name_flags(
    table: OutputTable, query: Query, plan: Plan, tables: Mapping[str, OutputTable]
) -> dict[str, OutputColumn | None]:
    """Flag names by their own counts, or by those of all records that could have them."""
    columns = {column.name: column for column in table.columns}
    (flag,) = (columns[name] for name in _list_flags(table, query))
    short, share = columns[query.column_name + HALF], query.finish.flag_unreliable_at
    own, beside = find_name_count(query, plan), count_beside(query, plan)
    if own is not None:
        counts = _compute_name_counts(table, query, tables[own.table], own)
        described = sentence(
            "flags.score.beside_count",
            short=short.name,
            share=write_percent(share),
            count=own.column_name,
            table=own.table,
        )
        flags = _judge_rows(_flag_excess(short, counts, share), OK)
    elif beside is not None and query.axis is not None:
        described = sentence(
            "flags.score.beside_other_count",
            short=short.name,
            share=write_percent(share),
            count=beside.name,
        )
        flags = _judge_rows(_flag_excess(short, columns[beside.name], share), None)
    else:
        return {}
    return {flag.name: replace(flag, values=flags, description=described)}


def find_name_count(query: Query, plan: Plan) -> Query | None:
    """Find a count of the same records by their names too, in any table."""
    if query.axis is None or query.private:
        return None
    groups = {*query.groups, query.axis}
    for mate in (read.query for read in plan.reads if read.query.clip is None):
        same = (mate.where, mate.survey_weight) == (query.where, query.survey_weight)
        if get_statistic(mate.statistic).combines and same and set(mate.groups) == groups:
            return mate
    return None


def _compute_name_counts(
    table: OutputTable, query: Query, counted: OutputTable, count: Query
) -> OutputColumn:
    """Compute for each row the least count of the names that it shows."""
    numbers = next(column for column in counted.columns if column.name == count.column_name)
    names = [c for c in table.columns if c.query == query.name and not c.aspect]
    groups = [group.column for group in count.groups]
    keys = {column.name: column.values for column in counted.columns if column.kind == "key"}
    labels_counted = zip(*(keys[group] for group in groups), strict=True)
    by_labels = dict(zip(labels_counted, numbers.values, strict=True))
    axis = None if query.axis is None else query.axis.column
    lowest_counts: list[int] = []
    for row in range(table.rows):
        labels = {c.name: c.values[row] for c in table.columns if c.kind == "key"}
        name_counts = [
            by_labels[tuple((labels | {axis: name.values[row]})[group] for group in groups)]
            for name in names
            if name.values[row] is not None
        ]
        lowest_counts.append(min((int(number or 0) for number in name_counts), default=0))
    return replace(numbers, values=lowest_counts)


def _judge_rows(weak: Sequence[bool], other: str | None) -> list[str | None]:
    return [UNRELIABLE if is_weak else other for is_weak in weak]


def _flag_excess(errors: OutputColumn, counts: OutputColumn, share: Fraction) -> list[bool]:
    """Flag errors that exceed a share of a count; a count below 0 is taken as 0."""
    scaled = share * Fraction(10**errors.decimals, 10**counts.decimals)
    return [
        int(error or 0) > scaled * max(int(count or 0), 0)
        for error, count in zip(errors.values, counts.values, strict=True)
    ]


# --- empty cells, and cells at their ends ---------------------------------------------------------


def remove_empty_groups(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Remove the figures of groups that may well have no records: they would be noise alone.

    These are shares, means, spreads and quantiles of groups whose count of records or units is
    within its noise of 0.
    """
    return _change_columns(tables, plan, lambda table, query: _leave_out_empty(table, query, plan))


def _leave_out_empty(
    table: OutputTable, query: Query, plan: Plan
) -> dict[str, OutputColumn | None]:
    """Change the columns of a query's figures; none if no group may be empty."""
    read = plan.reads_by_name[query.name]
    if not read.terms and plan.step(read).threshold is not None:
        return {}  # its own integers select the keys of the table
    statistic = get_statistic(query.statistic)
    count = f"{query.column_name}{COUNT}" if COUNT in statistic.suffixes else None
    if statistic.in_ranks:
        beside = count_beside(query, plan)
        count = find_unit_count(query, plan) if beside is None else beside.name
    columns = {column.name: column for column in table.columns}
    if count is None or count + HALF not in columns:
        return {}
    empty = [
        int(number or 0) <= int(half or 0)
        for number, half in zip(columns[count].values, columns[count + HALF].values, strict=True)
    ]
    kept_columns: dict[str, OutputColumn | None] = {}
    for column in table.columns:  # described so whether or not a cell is empty this time
        if column.query != query.name or column.suffix.startswith(COUNT) or column.aspect == RANKS:
            continue
        nothing = UNRELIABLE if column.aspect == FLAG else None
        values = [nothing if e else value for e, value in zip(empty, column.values, strict=True)]
        described = column.description
        if not column.aspect:
            described = sentence(
                "flags.empty_near_zero", description=column.description, count=count
            )
        kept_columns[column.name] = replace(column, values=values, description=described)
    return kept_columns


def clip_figures(tables: Sequence[OutputTable]) -> tuple[OutputTable, ...]:
    """Move figures that noise made impossible, such as a ratio below 0, to the nearest end.

    Half-widths still hold, as no true figure lies beyond the ends. Moved figures are flagged as
    unreliable.
    """
    return tuple(_clip_table(table) for table in tables)


def _clip_table(table: OutputTable) -> OutputTable:
    columns = {column.name: column for column in table.columns}
    beside = {(column.figure, column.aspect): column for column in table.columns}
    for name, column in list(columns.items()):
        low, high = (beside.get((name, end)) for end in ("_low", "_high"))
        if low is None or high is None:
            continue
        values = [
            min(max(value, lowest), highest)
            if isinstance(value, int) and isinstance(lowest, int) and isinstance(highest, int)
            else value
            for value, lowest, highest in zip(column.values, low.values, high.values, strict=True)
        ]
        columns[name] = replace(column, values=values)
        if (flag := beside.get((name, FLAG))) is not None:
            pairs = zip(flag.values, column.values, values, strict=True)
            flags = [flag if old == new else UNRELIABLE for flag, old, new in pairs]
            columns[flag.name] = replace(flag, values=flags)
    return replace(table, columns=tuple(columns.values()))


# --- limits on a unit's rows ----------------------------------------------------------------------


def mark_bounded(
    tables: Sequence[OutputTable], plan: Plan, *, with_others: bool = True
) -> tuple[OutputTable, ...]:
    """Mark figures that the limits on a unit's rows can cut, and leave out empty flags.

    ``with_others``: also mark unreliable figures; if False, replace ok alone, like version 0.2.
    """
    flags: dict[object, str] = {None: BOUNDED, OK: BOUNDED}
    if with_others:
        flags[UNRELIABLE] = f"{BOUNDED} {UNRELIABLE}"
    return _change_columns(
        tables, plan, lambda table, query: _mark_columns(table, query, plan, flags)
    )


def is_cut_by_limits(query: Query, bounding: Bounding | None) -> bool:
    """Check if some unit can have more rows, or more groups, than may count in a figure."""
    if bounding is None:
        return False
    if not get_statistic(query.statistic).counts_units:
        return True
    return query.private or query.cells > min(bounding.rows, bounding.groups)


def _mark_columns(
    table: OutputTable, query: Query, plan: Plan, marks: Mapping[object, str]
) -> dict[str, OutputColumn | None]:
    bounding = plan.release.privacy.bounding
    if bounding is None or not is_cut_by_limits(query, bounding):
        hides = query.finish.publish_if is not None or query.finish.hide_below is not None
        empty = not hides and _has_no_flags(query, plan)
        return dict.fromkeys(_list_flags(table, query) if empty else ())
    columns: dict[str, OutputColumn | None] = {}
    meaning = _describe_bounded(query, plan, with_others=UNRELIABLE in marks)
    limits = _describe_limits(query, plan, bounding)
    for column in table.columns:
        if column.query != query.name:
            continue
        if column.aspect == FLAG:
            flags = [marks.get(flag, flag) for flag in column.values]
            described: Text = meaning
            if column.description:
                described = sentence("words.remark", text=column.description, remark=meaning)
            columns[column.name] = replace(column, values=flags, description=described)
        elif not column.aspect:
            described = sentence("words.remark", text=column.description, remark=limits)
            columns[column.name] = replace(column, description=described)
    return columns


def _describe_limits(query: Query, plan: Plan, bounding: Bounding) -> Sentence:
    """Describe what is kept of a unit's rows, or what its totals are scaled to."""
    if query.clip is None:
        return sentence(
            "flags.bounded.rows_that_count",
            rows=bounding.rows,
            groups=bounding.groups,
            within=bounding.per_group,
        )
    step = plan.step(next(read for read in plan.reads if read.query == query))
    bound = number(query.clip.bound * step.unit[0], 6)
    return sentence("flags.clipped.norm", norm=query.clip.norm.upper(), bound=bound)


def _describe_bounded(query: Query, plan: Plan, *, with_others: bool) -> Sentence:
    """Describe what the flag stands for."""
    if query.clip is not None:
        if with_others:
            return sentence("flags.clipped.for_ok_and_low_reliability")
        return sentence("flags.clipped.for_ok")
    if not with_others:
        return sentence("flags.bounded.for_ok")
    # A figure that no count judges never had ``ok``.
    by_count = get_statistic(query.statistic).in_ranks or is_chosen(query, plan)
    if by_count and find_judge(query, plan) is None:
        return sentence("flags.bounded.for_empty_and_low_reliability")
    return sentence("flags.bounded.for_ok_and_low_reliability")


def _has_no_flags(query: Query, plan: Plan) -> bool:
    """Check if the plan leaves every flag of a query empty."""
    if get_statistic(query.statistic).in_ranks:
        return count_beside(query, plan) is None
    if not is_chosen(query, plan) or find_name_count(query, plan) is not None:
        return False
    # Names among the labels of an axis can be found unreliable by the count of all records.
    return query.axis is None or count_beside(query, plan) is None


def find_judge(query: Query, plan: Plan) -> str | None:
    """Find the column with the count by which quantiles or names can be found reliable.

    None if there is none, and for figures with a half-width, which judges them.
    """
    if get_statistic(query.statistic).in_ranks:
        beside = count_beside(query, plan)
        return beside.name if beside is not None and beside.of_values else None
    count = find_name_count(query, plan) if is_chosen(query, plan) else None
    return None if count is None else count.column_name


def _list_flags(table: OutputTable, query: Query) -> list[str]:
    columns = (column for column in table.columns if column.query == query.name)
    return [column.name for column in columns if column.aspect == FLAG]


def _change_columns(
    tables: Sequence[OutputTable], plan: Plan, change: Change
) -> tuple[OutputTable, ...]:
    """Replace columns of every query by those that ``change`` returns; None removes a column."""
    changed_tables = []
    for table in tables:
        new: dict[str, OutputColumn | None] = {}
        for read in plan.reads:
            if read.query.table == table.name:
                new |= change(table, read.query)
        columns = (new.get(column.name, column) for column in table.columns)
        remaining = tuple(column for column in columns if column is not None)
        changed_tables.append(replace(table, columns=remaining))
    return tuple(changed_tables)
