"""Puts the sections together into a release, with the checks that span sections."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from dprelease.errors import ExitCode, Failure
from dprelease.model import (
    ON_SERVER,
    About,
    Adjacency,
    Column,
    ColumnType,
    Data,
    LedgerSettings,
    Output,
    Perturb,
    Privacy,
    Query,
    Release,
    Review,
    Source,
)
from dprelease.model.periods import is_nearly_a_date
from dprelease.report_format import DEFAULT_REPORT_FORMATS, list_stated_formats
from dprelease.specfile.checks.columns.column import (
    DeclaredColumn,
    check_declared,
    check_written,
    resolve_columns,
)
from dprelease.specfile.checks.columns.list_files import Barred, Lists
from dprelease.specfile.checks.data_source import (
    PERIOD_TEXTS,
    check_period,
    has_separate_periods,
    name_dataset,
    resolve_data,
)
from dprelease.specfile.checks.finishing_checks import add_finishes
from dprelease.specfile.checks.name_checks import read_names
from dprelease.specfile.checks.privacy_checks import check_budgets, check_unit, read_bounding
from dprelease.specfile.checks.queries.output_tables import check_tables
from dprelease.specfile.checks.queries.query import resolve_query
from dprelease.specfile.checks.queries.query_context import QueryContext, read_survey_weight
from dprelease.specfile.checks.warnings import check_usage, warn_about_bounding
from dprelease.specfile.complaints.complaint_wording import join_quoted, show
from dprelease.specfile.complaints.spec_paths import (
    RECORDS_NEED_A_FILE,
    Named,
    check_ledger,
    check_output,
    fill_period,
    list_ledger_files,
    make_absolute,
)
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import (
    OutputSection,
    ReleaseSection,
    ReportSection,
    ReviewSection,
)
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.shared.spec_keys import CANDIDATES_FILE

DEFAULT_LEDGER = "dprelease-ledger.sqlite"

T = TypeVar("T")


def resolve(parts: Parts, base: str, period: str | None, outside: bool) -> Release:
    """Make the release. Raises ``Failure`` with every complaint, those of structure included.

    ``outside`` allows lists of values to lie outside of ``base``.
    """
    reporter = parts.privacy.reporter
    period = check_period(period, parts)
    data = resolve_data(parts.data, base, period)
    lists = Lists(base, _list_barred(parts, data, base), outside)
    types = {
        name: ColumnType(part.model.type)
        for name, part in parts.columns.items()
        if part.model.type is not None and part.model.expression is None
    }
    reporter.computed = frozenset(
        name for name, part in parts.columns.items() if part.model.expression is not None
    )
    columns = resolve_columns(parts.columns, types, lists)
    source = data.source if data is not None else None
    check_declared(parts.columns, source)
    check_written(parts.columns)
    check_unit(parts, data)
    people = parts.privacy.model.unit == "column"
    unit_column = parts.privacy.model.unit_column if people else None
    weight = read_survey_weight(parts.data, columns)
    context = QueryContext(columns, types, reporter, unit_column, lists, parts, weight)
    queries, paid = _resolve_queries(parts, context)
    _check_names(parts)
    check_tables(queries, parts)
    if len({query.number for query in queries}) == len(parts.queries):  # none was refused
        queries = add_finishes(queries, parts)
    check_budgets(parts, paid)
    perturbs = _resolve_perturbs(context, queries, source)
    ledger = _resolve_ledger(parts, data, base, period)
    output = _resolve_output(parts.output, base, period)
    formats = (*_resolve_formats(parts.report), *_list_table_forms(parts))
    review = _review(parts)
    spec = [("the spec", reporter.file)] if reporter.marks is not None else []
    check_ledger(ledger, data, spec, reporter)
    if output is not None:
        others = [*list_ledger_files(ledger), *_list_files(parts, base), *spec]
        check_output(output.path, data, others, reporter)
    check_usage(parts, data)
    warn_about_bounding(parts, queries)
    resolved = {name: column.column for name, column in columns.items() if column is not None}
    names = read_names(parts, resolved, queries, period)
    # Checks went on after each mistake, so that all of them are reported together.
    reporter.raise_if_any()
    data, privacy = _set_fixed_records(parts, _unwrap(data), _resolve_privacy(parts))
    return Release(
        reporter.file,
        _read_about(parts, period),
        data,
        privacy,
        ledger,
        _list_columns(columns, queries),
        queries,
        _unwrap(output),
        formats,
        parts.report.model.language,
        period,
        tuple(reporter.warnings),
        reporter.list_places(),
        perturbs,
        tuple(lists.files),
        names,
        review,
    )


def _read_about(parts: Parts, period: str | None) -> About:
    texts = {key: getattr(parts.release.model, key) for key in ReleaseSection.KEYS}
    for key in PERIOD_TEXTS:
        if texts[key] is not None:
            texts[key] = fill_period(texts[key], period)
    return About(**texts)


def _list_columns(
    declared: Mapping[str, DeclaredColumn | None], queries: Sequence[Query]
) -> dict[str, Column]:
    """List the declared columns, and those of the states that are counted."""
    columns = {name: _unwrap(column).column for name, column in declared.items()}
    groups = [group.column for query in queries for group in query.groups]
    states = dict.fromkeys(name for name in groups if name not in columns)
    if not states:
        return columns
    # Imported where it is needed: most specs count no states.
    from dprelease.specfile.checks.queries.several_tables import state_column

    return columns | {name: state_column(columns[name.removesuffix("_state")]) for name in states}


def _unwrap(value: T | None) -> T:
    """Unwrap what can be missing only if there was a complaint."""
    if value is None:
        raise Failure(ExitCode.INTERNAL, [])
    return value


def _resolve_queries(
    parts: Parts, context: QueryContext
) -> tuple[tuple[Query, ...], frozenset[int]]:
    """Make the queries, and those that select private keys where nobody asks for a count.

    Also says which have a budget that the query itself does not state, by their numbers.
    """
    by_part = [resolve_query(part, context) for part in parts.queries]
    queries = [query for resolved in by_part for query in resolved]
    if not all(by_part):
        # One that is missing could be the count that selects.
        unsure = [part for part in parts.queries if part.model.partition_selection is not None]
        return tuple(queries), frozenset(int(part.path[1]) for part in unsure)
    if not any(query.private for query in queries):
        return tuple(queries), frozenset()
    # Imported here for start-up: most tables have public keys.
    from dprelease.specfile.checks.queries.key_selectors import select_keys

    return select_keys(queries, parts)


def _resolve_perturbs(
    context: QueryContext, queries: Sequence[Query], source: Source | None
) -> tuple[Perturb, ...]:
    if not context.parts.perturbs:
        return ()
    # Imported here for start-up: most specs have none.
    from dprelease.local.record_table_checks import resolve_perturbs

    return resolve_perturbs(context, queries, source)


def _resolve_privacy(parts: Parts) -> Privacy:
    model = parts.privacy.model
    return Privacy(
        _unwrap(model.unit),
        Adjacency.REPLACE_ONE if parts.perturbs_only else Adjacency(_unwrap(model.adjacency)),
        model.unit_description,
        model.epsilon,
        model.delta or Fraction(0),
        model.rho,
        model.accounting,
        model.unit_column,
        read_bounding(model.bounding, grouped=not parts.perturbs_only),
        model.population,
    )


def _set_fixed_records(parts: Parts, data: Data, privacy: Privacy) -> tuple[Data, Privacy]:
    """Say whether a record that is replaced is there in any case: lines must end for that."""
    source, replaced = data.source, privacy.adjacency is Adjacency.REPLACE_ONE
    if replaced and (privacy.unit == "row" or parts.perturbs):
        source = replace(source, must_end=source.has_lines)
    fixed = source.has_fixed_records
    return replace(data, source=source), replace(privacy, has_fixed_records=fixed)


def _resolve_ledger(
    parts: Parts, data: Data | None, base: str, period: str | None
) -> LedgerSettings:
    part, model, path = parts.ledger, parts.ledger.model, parts.data.model.path
    if model.epsilon_cap is None and model.rho_cap is None and part.is_sound("epsilon_cap"):
        message = "the spec has no epsilon_cap: it does not limit the budget of its dataset"
        part.warn("W201", message, at="key")
    dataset = model.dataset
    if dataset is None:
        dataset = name_dataset(base, path) if path is not None and data else ""
        if data is not None and path is None and part.is_sound("dataset"):
            message = "[ledger] has no `dataset`, and no data file gives it a name"
            hint = "name it: all specs over the same records must use one name"
            part.complain("E110", message, hint=hint, at="key")
    disjoint = bool(model.disjoint_periods)
    place = path or parts.data.model.table
    if disjoint and period is not None and "." in period and parts.data.model.table is not None:
        message = f"the period {show(period)} would change the schema, not only the table"
        hint = "use a period without a dot; write the schema in [data] table"
        part.complain("E241", message, "disjoint_periods", hint=hint)
    if disjoint and data is not None and not has_separate_periods(place or ""):
        message = "disjoint_periods needs {period} in the path of the data, without a wildcard"
        hint = "give each period its own files: write {period} in [data] path, and no wildcard"
        part.complain("E241", message, "disjoint_periods", hint=hint)
    if disjoint and period is not None and is_nearly_a_date(period):
        message = f"the period {show(period)} looks like a date but is not valid"
        hint = "2026, 2026-02, 2026-02-14, 2026-Q1, 2026-H1, 2026-W07, or a name without a year"
        part.complain("E241", message, "disjoint_periods", hint=hint)
    ledger, witness = model.path or DEFAULT_LEDGER, model.witness
    if model.url_env is not None:
        if model.path is not None:
            hint = "a ledger is either a file or on a server: keep one of them"
            part.complain("E111", "url_env beside path", "url_env", hint=hint, at="key")
        if parts.perturbs:
            message, hint = RECORDS_NEED_A_FILE
            part.complain("E111", message, "url_env", hint=hint)
        ledger, witness = ON_SERVER + model.url_env, witness or f"{model.url_env}.witness"
    return LedgerSettings(
        ledger if model.url_env is not None else make_absolute(base, ledger),
        dataset,
        model.epsilon_cap,
        model.delta_cap,
        make_absolute(base, witness) if witness is not None else None,
        disjoint,
        ledger if model.url_env is not None else os.path.normpath(ledger),
        os.path.normpath(witness) if witness is not None else None,
        model.rho_cap,
    )


def _list_barred(parts: Parts, data: Data | None, base: str) -> list[Barred]:
    """List the files that a keys_file or candidates_file must not be.

    That is the data of any period, the ledger and its companions, and the witness.
    """
    witness = parts.ledger.model.witness
    ledger = make_absolute(base, parts.ledger.model.path or DEFAULT_LEDGER)
    # Names beside the ledger are barred by pattern: SQLite's journals and the witness.
    barred = [
        ("the ledger, or a file that belongs to it", path + end)
        for path in (ledger, os.path.realpath(ledger))
        for end in ("", "-*", ".*")
    ]
    barred += (
        [("the ledger's witness", make_absolute(base, witness))] if witness is not None else []
    )
    if data is not None and not data.source.remote and parts.data.model.path is not None:
        pattern = make_absolute(base, parts.data.model.path)
        barred.append(("the data", data.source.pattern))
        # {period} not filled in: the pattern of the data of every period.
        if pattern != data.source.pattern:
            barred.append(("data of another period", pattern))
    return list(dict.fromkeys(barred))


def _resolve_output(part: Part[OutputSection], base: str, period: str | None) -> Output | None:
    model = part.model
    if model.path is None:
        return None
    path = fill_period(model.path, period)
    interval = model.interval or Fraction(95, 100)
    form = "csv" if model.format == "xlsx" else model.format
    return Output(make_absolute(base, path), form, interval, os.path.normpath(path))


def _resolve_formats(part: Part[ReportSection]) -> tuple[str, ...]:
    formats = part.model.formats
    if formats is None:
        return DEFAULT_REPORT_FORMATS
    for number, name in enumerate(formats):
        if name not in list_stated_formats():
            message, hint = (
                f"{show(name)} is not a valid report format",
                f"use {join_quoted(list_stated_formats())}",
            )
            part.complain("E105", message, "formats", number, hint=hint)
        elif name in formats[:number]:
            part.complain(
                "E105", f"{show(name)} is named twice", "formats", number, hint="keep one"
            )
    return formats


def _list_table_forms(parts: Parts) -> tuple[str, ...]:
    """List the formats of tables that are rendered like a report, beside the files of tables."""
    part = parts.output
    asked = {"format": part.model.format == "xlsx", "layout": part.model.layout == "long"}
    if parts.perturbs:
        for key in (key for key, is_asked in asked.items() if is_asked):
            message = f"`{key}` arranges statistics, and a [[perturb]] table has records"
            hint = "leave it out: the file of a record-level table is a long table as it is"
            part.complain("E111", message, key, hint=hint)
    return tuple(
        name for name, is_asked in zip(("xlsx", "long"), asked.values(), strict=True) if is_asked
    )


def _review(parts: Parts) -> Review:
    part, model = parts.review, parts.review.model
    if (
        model.reviewer is None
        and part.is_sound("reviewer")
        and part.list_given(*ReviewSection.KEYS)
    ):
        message, hint = "[review] has no `reviewer`", "say who reviewed the release"
        part.complain("E110", message, hint=hint, at="key")
    texts = {key: getattr(model, key) for key in ReviewSection.KEYS if key != "attestations"}
    attestations = {} if model.attestations is None else dict(vars(model.attestations))
    local = "trust_in_the_local_model"
    if local in attestations and not parts.perturbs:
        message = f"`{local}` is about record-level tables, but the spec has no [[perturb]]"
        part.complain("E111", message, "attestations", local, hint="leave it out")
    return Review(**texts, attestations=attestations)


def _list_files(parts: Parts, base: str) -> list[Named]:
    files = [
        (f"the keys_file of {show(name)}", make_absolute(base, part.model.keys_file))
        for name, part in parts.columns.items()
        if part.model.keys_file is not None
    ]
    return files + [
        (f"the candidates_file of {show(part.model.name)}", make_absolute(base, listed))
        for part in parts.queries
        if (listed := part.value(CANDIDATES_FILE)) is not None
    ]


def _check_names(parts: Parts) -> None:
    seen: set[str] = set()
    for part in parts.queries:
        name = (part.model.name or "").casefold()
        if name in seen:
            message = f"two queries are named {show(part.model.name)}"
            part.complain("E218", message, "name")
        seen |= {name} if name else set()
