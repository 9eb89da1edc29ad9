"""Tables, report and data package of a release, from sealed noisy integers.

Pure: the same input gives the same bytes. There is one wide table for each set of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, repeat
from math import prod
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dprelease.language import ENGLISH, say, use_language, word
from dprelease.ledger.entries import Run
from dprelease.ledger.privacy_filter import CAPS, Total
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.totals import iter_running_totals, sum_spent_rho
from dprelease.model import (
    AS_WRITTEN,
    NUMERIC_TYPES,
    ColumnNames,
    Group,
    Loss,
    Names,
    NoisyTable,
    OutputColumn,
    OutputTable,
    Plan,
    Query,
    Read,
)
from dprelease.model.key_thresholds import compute_least_units
from dprelease.model.outputs import UNRELIABLE
from dprelease.output.datapackage import write_datapackage
from dprelease.output.read_back import round_as_in_file
from dprelease.output.staging import Content
from dprelease.output.table_files import RecordFile, name_table_file, write_table
from dprelease.postprocess.finishing.finished_tables import (
    FLAG,
    collect_noisy_figures,
    finish_tables,
)
from dprelease.postprocess.finishing.flags import (
    add_count_flags,
    add_rank_flags,
    clip_figures,
    mark_bounded,
    remove_empty_groups,
    restate_listed_ranks,
)
from dprelease.postprocess.finishing.shares_together import fit_joint_counts
from dprelease.postprocess.intervals.estimate_columns import find_blank_figures
from dprelease.postprocess.intervals.fitted_count import CountTogether
from dprelease.postprocess.intervals.fixed_point import count_decimals, to_fixed_point
from dprelease.release.payload import Sealed
from dprelease.release.saved_plan import compute_plan_digest
from dprelease.reports.facts.figure_definitions import define_figure
from dprelease.reports.facts.release_facts import HeldTo, Outcome, build, describe_published_table
from dprelease.reports.model.json_form import build_report_json
from dprelease.reports.model.report_model import Cap, Charge, ComposedTotals, Ledger, Spent
from dprelease.reports.report_formats import list_media_types, name_report_file, render_with_charts
from dprelease.reports.text.shown_numbers import to_json_number
from dprelease.statistics.read_release import build_columns
from dprelease.statistics.statistic_registry import get_statistic

if TYPE_CHECKING:
    from dprelease.reports.facts.change_facts import PreviousRelease


COUNTS_BEHIND = ("_count", "_mean")
"""Endings of figures beside that of the query, which its definition does not define."""


def build_tables(plan: Plan, noisy: NoisyTable) -> list[OutputTable]:
    """Build every published table before figures are finished.

    Args:
        plan: The plan of the release.
        noisy: The released integers of all steps.

    Returns:
        One table for each set of groups: the columns of the groups in declared order, then those of
        each query.
    """
    by_table: dict[str, list[Read]] = {}
    for read in plan.reads:
        by_table.setdefault(read.query.table, []).append(read)
    counts = fit_joint_counts(plan, noisy)
    return [_build_table(plan, name, reads, noisy, counts) for name, reads in by_table.items()]


def _build_table(
    plan: Plan,
    name: str,
    reads: Sequence[Read],
    noisy: NoisyTable,
    counts: Mapping[str, CountTogether],
) -> OutputTable:
    interval = plan.release.output.interval
    query = reads[0].query
    groups = get_statistic(query.statistic).list_published_groups(query)
    private = query.private
    columns = list(
        _build_selected_columns(groups, noisy.keys[name]) if private else iter_key_columns(groups)
    )
    names = plan.release.names
    columns = [
        replace(column, names=_name_key_column(names, group))
        for column, group in zip(columns, groups, strict=True)
    ]
    figures = [
        replace(column, names=_name_figure_column(names, read.query, column))
        for read in reads
        for column in build_columns(read, plan, noisy, interval, counts.get(read.query.name))
    ]
    columns = [*_add_edges(columns, groups, figures), *figures]
    about = plan.release.about
    return OutputTable(name, tuple(columns), names.tables.get(name) or about.title or about.name)


def _add_edges(
    keys: Sequence[OutputColumn], groups: Sequence[Group], figures: Sequence[OutputColumn]
) -> Iterator[OutputColumn]:
    """Add the edges of numeric bins beside their column, unless the names are taken."""
    used_names = {column.name.casefold() for column in (*keys, *figures)}
    for key, group in zip(keys, groups, strict=True):
        yield key
        if group.edges is None or group.type not in NUMERIC_TYPES:
            continue
        edges = [Fraction(edge) for edge in group.edges]
        places = max(map(count_decimals, edges))
        bins = group.labels[: len(edges) - 1]
        lower = say("tables.columns.bin_low", column=group.column)
        upper = say("tables.columns.bin_high", column=group.column)
        for end, meaning, of_bins in (("from", lower, edges[:-1]), ("to", upper, edges[1:])):
            by_bin = dict(
                zip(bins, (to_fixed_point(edge, places) for edge in of_bins), strict=True)
            )
            name = f"{group.column}_{end}"
            if name.casefold() not in used_names:
                values = [by_bin.get(str(label)) for label in key.values]
                yield OutputColumn(name, "edge", values, meaning, places)


def _name_key_column(names: Names, group: Group) -> ColumnNames:
    """Collect the names of a grouping column; keys of bins have the type of their edges."""
    column_names = names.columns.get(group.column, AS_WRITTEN)
    return replace(column_names, bins=None if group.edges is None else group.type)


def _name_figure_column(names: Names, query: Query, column: OutputColumn) -> ColumnNames:
    """Collect the names of a column of a query; with those of keys if it holds keys."""
    query_names = names.queries.get(query.column_name, AS_WRITTEN)
    if column.kind != "text" or column.aspect == "_flag":
        return query_names
    axis = query.groups[-1] if get_statistic(query.statistic).keys.ordered else query.axis
    if axis is None:
        return query_names
    keys = _name_key_column(names, axis)
    return replace(query_names, labels=keys.labels, bins=keys.bins)


def _build_selected_columns(
    groups: Sequence[Group], keys: Sequence[Sequence[str]]
) -> Iterator[OutputColumn]:
    """Build the columns of the private keys that were selected."""
    for place, group in enumerate(groups):
        typed = group.edges is None and group.other is None and group.null_label is None
        yield OutputColumn(
            group.column,
            "key",
            [key[place] for key in keys],
            say("tables.columns.keys.private", column=group.column),
            type=group.type if typed else None,
        )


def iter_key_columns(groups: Sequence[Group]) -> Iterator[OutputColumn]:
    """Build the columns of the cross product of public labels.

    Args:
        groups: Groups with public labels; the last one moves fastest.
    """
    # Row-major order: the labels of the last group change from row to row.
    rows = prod(len(group.labels) for group in groups)
    inner = rows
    for group in groups:
        inner //= len(group.labels)
        once = list(chain.from_iterable(repeat(label, inner) for label in group.labels))
        typed = group.edges is None and (group.other is None or group.other in (group.keys or ()))
        yield OutputColumn(
            group.column,
            "key",
            once * (rows // len(once)),
            say("tables.columns.keys.bins", column=group.column)
            if group.edges
            else say("tables.columns.keys.declared", column=group.column),
            type=group.type if typed else None,
        )


_ENDS = ("_low", "_high", "_mean_low", "_mean_high")
_OF_QUANTILE = ("", "_noise_moe", "_flag", "_rank_moe")


def restore_first_layout(tables: Sequence[OutputTable], plan: Plan) -> tuple[OutputTable, ...]:
    """Lay finished tables out as version 0.2 did.

    Args:
        tables: Tables after finishing.
        plan: The plan of the release.

    Returns:
        Tables without ends of intervals and bins, whose quantiles have an empty half-width.
    """
    # A release keeps the layout that it had when its integers were sealed: publishing it again
    # gives the same files.
    queries = {read.query.name: read.query for read in plan.reads}
    ranked = {name for name, query in queries.items() if get_statistic(query.statistic).in_ranks}

    def iter_columns(table: OutputTable) -> Iterator[OutputColumn]:
        columns_by_name = {column.name: column for column in table.columns}
        for column in table.columns:
            if column.query not in ranked:
                if column.kind == "key" or (column.query and column.suffix not in _ENDS):
                    yield column
            elif f"{column.name}_rank_moe" in columns_by_name:
                half = replace(column, name=f"{column.name}_noise_moe", description="empty")
                columns_by_name[half.name] = replace(half, values=[None] * len(column.values))
                yield from (columns_by_name[column.name + part] for part in _OF_QUANTILE)

    return tuple(replace(table, columns=tuple(iter_columns(table))) for table in tables)


class Publication(Struct, frozen=True):
    """All files of a release by name, in the order of writing, and the report in them."""

    tables: tuple[OutputTable, ...]
    report: dict[str, Any]
    files: dict[str, Content]
    records: tuple[RecordFile, ...] = ()


def assemble(  # noqa: PLR0913, PLR0917 - what a report has besides the plan
    plan: Plan,
    reservation: Reservation,
    sealed: Sealed,
    released_at: str,
    runs: Iterable[Run] = (),
    previous: PreviousRelease | None = None,
    held: HeldTo | None = None,
) -> Publication:
    """Build tables, report and data package of a sealed run.

    Args:
        plan: The plan of the run.
        reservation: Proof of the charge.
        sealed: The noisy integers.
        released_at: Time of the charge, in UTC.
        runs: All runs of the ledger.
        previous: The verified last release, for a section on changes.
        held: The saved plan that the run was held to.

    Returns:
        The files; the same input gives the same bytes.
    """
    release = plan.release
    with use_language(release.report_language):
        flagged = _flag_tables(plan, tuple(build_tables(plan, sealed.noisy)), sealed.layout)
        figures = collect_noisy_figures(plan, plan.reads, sealed.noisy)
        finish = finish_tables(
            flagged, figures, release.output.interval, with_ends=sealed.layout > 3
        )
        if sealed.layout == 1:
            tables = restore_first_layout(finish.tables, plan)
        else:
            tables = mark_bounded(finish.tables, plan, with_others=sealed.layout > 2)
        tables = tuple(map(_word_table, tables))
        table_files = [write_table(table, release.output.format) for table in tables]
        records = _list_record_files(plan, sealed)
        outcome = Outcome(
            run_id=reservation.run_id,
            released_at=released_at,
            ledger=describe_ledger(plan, reservation, runs),
            versions=sealed.versions,
            files={table.file: table.sha256 for table in table_files}
            | {table.file: table.sha256 for table in records},
            tables=tuple(
                describe_published_table(table.table, table.file, finish) for table in table_files
            ),
            plan_digest=None if release.rehearsal else compute_plan_digest(plan),
            held=held,
            flags=_count_flags(finish.tables),
            remarks=(*_collect_remarks(plan, flagged), *map(word, finish.remarks)),
            records=sealed.records,
        )
        facts = build(plan, outcome)
        if release.report_language != ENGLISH:
            # Imported here for start-up: most reports are in English.
            from dprelease.reports.renderers.opendp_registry import build_entry

            with use_language(ENGLISH):
                entry = build_entry(build(plan, outcome))
            facts = replace(facts, registry=entry)
        in_files = {
            table.file: round_as_in_file(table.table, table.format) for table in table_files
        }
        if previous is not None:
            # Imported here for start-up: most releases have none.
            from dprelease.reports.facts.change_facts import add_changes

            facts = add_changes(facts, previous, in_files)
        report_files = render_with_charts(facts, in_files, release.report_formats)
        files: dict[str, Content] = {table.file: table.content for table in table_files}
        files |= {table.file: table.stored for table in records}
        files |= report_files
        definitions = _define_figures(plan)
        defined = [
            replace(table, table=_define_columns(table.table, definitions)) for table in table_files
        ]
        files["datapackage.json"] = write_datapackage(
            release, [*defined, *records], report_files, list_media_types(report_files)
        )
        return Publication(tables, build_report_json(facts), files, tuple(records))


def _define_figures(plan: Plan) -> dict[str, str]:
    """Define the figures of each query, in the language spoken now."""
    release = plan.release
    return {
        query.name: " ".join(
            filter(
                None, (release.names.get_description(query.name), *define_figure(release, query))
            )
        )
        for query in (read.query for read in plan.reads)
    }


def _word_table(table: OutputTable) -> OutputTable:
    """Describe the columns in the language spoken now."""
    columns = [replace(column, description=word(column.description)) for column in table.columns]
    return replace(table, columns=tuple(columns))


def _define_columns(table: OutputTable, definitions: Mapping[str, str]) -> OutputTable:
    """Add the definitions of figures to what their columns are described as."""
    return replace(
        table, columns=tuple(_define_column(column, definitions) for column in table.columns)
    )


def _define_column(column: OutputColumn, definitions: Mapping[str, str]) -> OutputColumn:
    is_figure = not column.aspect and not column.suffix.endswith(COUNTS_BEHIND)
    definition = definitions.get(column.query or "") if is_figure else None
    if definition is None:
        return column
    return replace(column, description=f"{word(column.description)}. {definition}")


def _flag_tables(
    plan: Plan, tables: tuple[OutputTable, ...], layout: int
) -> tuple[OutputTable, ...]:
    """Judge figures by others, as was done when the integers of a layout were sealed."""
    if layout == 1:
        return restate_listed_ranks(tables, plan)
    if layout == 2:
        return add_rank_flags(restate_listed_ranks(clip_figures(tables), plan), plan)
    return remove_empty_groups(add_count_flags(clip_figures(tables), plan), plan)


def _list_record_files(plan: Plan, sealed: Sealed) -> list[RecordFile]:
    if not plan.records:
        return []
    # Imported here for start-up: most releases have no table of records.
    from dprelease.local.store.answer_cells import list_record_files

    return list_record_files(plan, sealed.records)


def _count_flags(tables: Sequence[OutputTable]) -> Counter[str]:
    """Count how often each flag stands beside a published figure."""
    return Counter(
        str(flag)
        for table in tables
        for column in table.columns
        if column.aspect == "_flag"
        for flag in column.values
        if flag is not None  # not judged
    )


def _collect_remarks(plan: Plan, tables: Sequence[OutputTable]) -> list[str]:
    """Say of published figures what may be a sign of a spec that misses the data."""
    thresholds = {
        step.query.table: compute_least_units(step) for step in plan.steps if step.threshold
    }
    empty = [
        say("release.empty.no_key", name=table.name, threshold=thresholds[table.name])
        for table in tables
        if not table.rows and table.name in thresholds
    ]
    made_up = plan.release.rehearsal
    surprise = say("release.empty.made_up" if made_up else "release.empty.surprise")
    filled = [table for table in tables if table.rows]
    blank = [
        say("release.empty.figures", figures=", ".join(figures), table=table.name, remedy=surprise)
        for table in filled
        if (figures := find_blank_figures(table))
    ]
    chance = [
        say("release.empty.names", figures=", ".join(figures), table=table.name, remedy=surprise)
        for table in filled
        if (figures := _find_guessed(plan, table))
    ]
    return [*empty, *blank, *chance]


def _find_guessed(plan: Plan, table: OutputTable) -> list[str]:
    """Name the queries of a table that choose names, where every name is flagged."""
    choosing = {read.query.name for read in plan.reads if get_statistic(read.query.statistic).names}
    return [
        column.figure
        for column in table.columns
        if column.query in choosing and column.aspect == FLAG and set(column.values) == {UNRELIABLE}
    ]


def list_file_names(plan: Plan) -> list[str]:
    """Name every file that the plan will publish."""
    release = plan.release
    tables = dict.fromkeys(read.query.table for read in plan.reads)
    tables |= dict.fromkeys(step.perturb.name for step in plan.records)
    return [
        *(name_table_file(table, release.output.format) for table in tables),
        *(name_report_file(form) for form in release.report_formats),
        "datapackage.json",
    ]


MOST_CHARGES = 200


def describe_ledger(plan: Plan, reservation: Reservation, runs: Iterable[Run]) -> Ledger:
    """Describe where the ledger stood around this release's charge.

    Args:
        plan: The plan of the run.
        reservation: Proof of the charge; its caps are those of that time.
        runs: All runs of the ledger.

    Returns:
        Plain sums and composed totals before and after the charge. ``entry`` and ``hash`` name the
        charge: ``dprelease budget verify`` looks it up.
    """
    run = reservation.run
    of_dataset = sorted(
        (other for other in runs if other.dataset == run.dataset and other.seq <= run.seq),
        key=lambda charge: charge.seq,
    )
    earlier = [other.terms for other in of_dataset if other.seq < run.seq]
    # Neither names nor numbers of other releases: only when each was charged, and the total so far,
    # under the caps of this run.
    totals = iter_running_totals([charge.terms for charge in of_dataset], run.caps)
    history = [
        Charge(entry=charge.seq, at=charge.charged_at, epsilon=to_json_number(total.epsilon))
        for charge, (_, total) in zip(of_dataset, totals, strict=True)
    ]
    has_rho_cap = run.caps.rho is not None
    return Ledger(
        dataset=plan.release.ledger.dataset,
        entry=run.seq,
        hash=run.hash,
        before=_build_spent(reservation.before, sum_spent_rho(earlier) if has_rho_cap else None),
        after=_build_spent(
            reservation.after, sum_spent_rho([*earlier, run.terms]) if has_rho_cap else None
        ),
        composed=ComposedTotals(
            before=_format_total(reservation.total_before),
            after=_format_total(reservation.total_after),
        ),
        cap=Cap(**{name: _format_optional(getattr(run.caps, name)) for name in CAPS}),
        disjoint_periods=run.terms.disjoint,
        history=tuple(history[-MOST_CHARGES:]),
    )


def _build_spent(loss: Loss, rho: Fraction | None) -> Spent:
    return Spent(
        epsilon=to_json_number(loss.epsilon),
        delta=to_json_number(loss.delta),
        rho=_format_optional(rho),
    )


def _format_total(total: Total) -> Spent:
    return Spent(
        epsilon=to_json_number(total.epsilon), delta=to_json_number(total.delta), by=total.by
    )


def _format_optional(value: Fraction | None) -> int | float | None:
    return None if value is None else to_json_number(value)
