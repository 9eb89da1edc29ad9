"""The facts of a release: everything that a report may say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from dprelease.files.uris import get_last_part
from dprelease.language import say, word
from dprelease.local.report.record_wording import record_words
from dprelease.mechanisms.mechanism_registry import get_words
from dprelease.model import (
    AS_WRITTEN,
    Adjacency,
    Column,
    ColumnNames,
    Dialect,
    OutputTable,
    Plan,
    Release,
    Review,
    StoredTable,
)
from dprelease.model.key_thresholds import add_failures
from dprelease.model.source_registry import SOURCES
from dprelease.postprocess.finishing.finished_tables import Finished
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.facts.explanations import word_warnings
from dprelease.reports.facts.finished import describe_agreements, word_finishings
from dprelease.reports.facts.hazard_facts import list_bounded_columns, list_hazards
from dprelease.reports.facts.privacy_facts import summarize_privacy
from dprelease.reports.facts.query_facts import (
    define_queries,
    describe_composition,
    describe_linear_figures,
    describe_queries,
    explain_shared_noise,
)
from dprelease.reports.facts.strategy_facts import describe_strategies
from dprelease.reports.facts.unit_facts import (
    build_beliefs,
    choose_unit,
    describe_protection,
    describe_total_losses,
    describe_unit,
    tabulate_groups,
    word_bounding,
)
from dprelease.reports.model.record_model import RecordTable
from dprelease.reports.model.report_model import (
    Basic,
    Composition,
    DataFile,
    Deployment,
    Implementation,
    Ledger,
    LedgerStanding,
    ListFile,
    Meaning,
    PlanFacts,
    PrivacyLoss,
    Provenance,
    PublishedTable,
    ReportFacts,
    ReviewFacts,
    Spent,
    TableColumn,
)
from dprelease.reports.model.report_model import Column as ColumnFacts
from dprelease.reports.model.report_model import ColumnNames as NamesFacts
from dprelease.reports.text.shown_numbers import (
    format_number,
    number_or_none,
    to_json_number,
    write_exact,
    write_headline,
)
from dprelease.statistics.read_release import build_views
from dprelease.statistics.statistic_registry import STATISTICS


class HeldTo(Struct, frozen=True):
    """A saved plan that a run was held to, with the total that it was saved with."""

    total: Spent | None = None


class Outcome(Struct, frozen=True):
    """What a run knows beyond its plan; nothing of it depends on the private data."""

    run_id: str
    released_at: str
    ledger: Ledger
    versions: Mapping[str, str]
    files: Mapping[str, str]  # table file -> sha256
    tables: Sequence[PublishedTable]
    plan_digest: str | None = None
    held: HeldTo | None = None
    flags: Mapping[str, int] = field(default_factory=dict)  # of published figures
    remarks: tuple[str, ...] = ()  # on the published figures
    records: Mapping[str, StoredTable] = field(default_factory=dict)


def build(plan: Plan, outcome: Outcome) -> ReportFacts:
    """Build the report of a release; none of its facts is a true figure or a record."""
    release = plan.release
    planned = collect_plan_facts(plan, outcome.records, outcome.ledger, outcome.flags)
    # a saved plan has no need of what figures are made of, for nothing is published yet
    queries = tuple(
        replace(query, linear=linear)
        for query, linear in zip(planned.queries, describe_linear_figures(plan), strict=True)
    )
    return ReportFacts(
        **asdict(planned) | {"queries": queries},
        tables=tuple(outcome.tables),
        ledger=outcome.ledger,
        notes=(*map(word, plan.notes), *outcome.remarks),
        warnings=word_warnings(plan),
        provenance=Provenance(
            run_id=outcome.run_id,
            released_at=outcome.released_at,
            snapshot=release.data.snapshot,
            period=release.period,
            versions=dict(outcome.versions),
            files=dict(outcome.files),
            interval=write_exact(release.output.interval),
            plan=outcome.plan_digest,
            held_to_plan=None if release.rehearsal else outcome.held is not None,
            total_when_planned=None if outcome.held is None else outcome.held.total,
        ),
        language=release.report_language,
        rehearsal=release.rehearsal,
        privacy_facts=summarize_privacy(planned, outcome.plan_digest),
    )


def collect_plan_facts(
    plan: Plan,
    records: Mapping[str, StoredTable] | None = None,
    standing: Ledger | LedgerStanding | None = None,
    flags: Mapping[str, int] | None = None,
) -> PlanFacts:
    """Collect the facts that a plan for approval and a report share; none needs data.

    Args:
        plan: The plan.
        records: Stored record-level tables, if they were drawn.
        standing: The ledger's standing, if it is known.
        flags: Numbers of flagged figures, if they were published.
    """
    release, local = plan.release, record_words(plan)
    source, review = release.data.source, release.review
    totals = describe_total_losses(release, standing)
    private = {group.column for step in plan.steps for group in step.query.groups if group.private}
    return PlanFacts(
        deployment=_describe_deployment(release, plan),
        guarantee=" ".join(filter(None, (_word_guarantee(plan), local.guarantee))),
        bounding=(*(word_bounding(plan) if plan.reads else ()), *local.bounding),
        queries=explain_shared_noise(plan, define_queries(plan, describe_queries(plan))),
        strategies=describe_strategies(plan),
        agreements=describe_agreements(plan),
        perturb=record_tables(plan, records),
        accounting=describe_composition(plan),
        meaning=Meaning(
            beliefs=build_beliefs(release.privacy, plan.loss),
            of=choose_unit(release.privacy).one,
            groups=tabulate_groups(plan.release.privacy, plan.loss),
            totals=totals,
        ),
        not_protected=(*_list_unprotected(release, plan), *local.unprotected),
        data=_describe_data(release),
        columns=tuple(
            _describe_column(column, column.name in private)
            for column in _iter_told_columns(release)
        ),
        lists=list_files(release),
        processing=(
            *(_word_figures(plan) if plan.reads else ()),
            *word_finishings(plan),
            *local.processing,
            *([_describe_csv_lines(source.dialect)] if source.format == "csv" else ()),
        ),
        hazards=list_hazards(plan, totals, local.hazards, flags or {}),
        review=None
        if review == Review()
        else ReviewFacts(**{name: getattr(review, name) for name in ReviewFacts.__struct_fields__}),
    )


def record_tables(
    plan: Plan, records: Mapping[str, StoredTable] | None = None
) -> tuple[RecordTable, ...]:
    """State the record-level tables; with what was drawn of them, their estimates too."""
    if not plan.records:
        return ()
    # Imported here for start-up: most releases have no table of records.
    from dprelease.local.report.table_facts import describe_tables

    return describe_tables(plan, records)


def describe_published_table(
    table: OutputTable,
    file: str,
    finish: Finished | None = None,
) -> PublishedTable:
    """Describe a released table so that its file can be read back exactly.

    ``finish`` has figures as they were before the changes that followed the noise.
    """
    finish = finish or Finished(())
    return PublishedTable(
        name=table.name,
        file=file,
        title=table.title,
        rows=table.rows,
        columns=tuple(
            TableColumn(
                name=column.name,
                kind=column.kind,
                decimals=column.decimals,
                type=None if column.type is None else str(column.type),
                query=column.query,
                description=word(column.description),
                raw=_encode_raw(finish.raw.get((table.name, column.name))),
                agreed=_encode_raw(finish.agreed.get((table.name, column.name))),
                names=_describe_names(column.names),
            )
            for column in table.columns
        ),
    )


def _describe_names(names: ColumnNames) -> NamesFacts | None:
    """Name what people read, None where there are no names."""
    if names == AS_WRITTEN:
        return None
    return NamesFacts(
        title=names.title,
        unit=names.unit,
        decimals=names.decimals,
        labels=names.labels or None,
        bins=None if names.bins is None else str(names.bins),
    )


def _encode_raw(
    figures: tuple[Sequence[str | int | None], int] | None,
) -> tuple[int | float | None, ...] | None:
    if figures is None:
        return None
    values, decimals = figures
    whole = (value if isinstance(value, int) else None for value in values)
    scale: int = 10**decimals
    return tuple(whole if not decimals else (v if v is None else v / scale for v in whole))


def _describe_deployment(release: Release, plan: Plan) -> Deployment:
    about, model = release.about, "central"
    if plan.records:  # noise is added to each record
        model = "central and local" if plan.reads else "local"
    return Deployment(
        basic=Basic(
            name=about.name,
            title=about.title or about.name,
            data_curator=about.curator,
            contact=about.contact,
            intended_use=about.purpose,
            region=about.region,
            sector=about.sector,
            approved_by=about.approved_by,
            licence=about.licence,
        ),
        privacy_unit=describe_unit(release),
        dp_variant=_name_variant(plan),
        privacy_loss=PrivacyLoss(
            epsilon=to_json_number(plan.loss.epsilon),
            delta=to_json_number(plan.loss.delta),
            rho=number_or_none(plan.loss.rho),
        ),
        model=model,
        accounting=Composition(composition=plan.method),
        implementation=Implementation(
            tool="dprelease",
            mechanisms=(
                *sorted(
                    {say(words) for words in {get_words(step.noise.family) for step in plan.steps}}
                ),
                *record_words(plan).mechanisms,
            ),
        ),
    )


def _name_variant(plan: Plan) -> str:
    """Name the notion of privacy: zCDP where the total is stated in rho, in which it is held."""
    if plan.loss.delta == 0:
        return "pure"
    privacy, queries = plan.release.privacy, plan.release.queries
    if plan.loss.rho is None or privacy.epsilon is not None:
        return "approximate"
    # The budget is stated in rho: as the total, or else by all that is released.
    in_rho = privacy.rho is not None or (bool(queries) and all(query.rho for query in queries))
    if not in_rho:
        return "approximate"
    return APPROXIMATELY if add_failures(plan.steps) else "zero-concentrated"


APPROXIMATELY = "approximate zero-concentrated"
"""Zero-concentrated but for a chance: that a private key of one unit alone is shown."""


def _word_guarantee(plan: Plan) -> str:
    privacy = plan.release.privacy
    loss = say("guarantee.loss.epsilon", epsilon=write_headline(to_json_number(plan.loss.epsilon)))
    if plan.loss.delta:
        delta = say("guarantee.loss.delta", delta=write_headline(to_json_number(plan.loss.delta)))
        loss = say("guarantee.loss.both", epsilon=loss, delta=delta)
    variant = _name_variant(plan)
    if plan.loss.rho is not None and variant in {"zero-concentrated", APPROXIMATELY}:
        rho = write_headline(to_json_number(plan.loss.rho))
        loss = (
            say("guarantee.loss.zcdp", loss=loss, rho=rho)
            if variant != APPROXIMATELY
            else say(
                "guarantee.loss.approximate_zcdp",
                loss=loss,
                rho=rho,
                delta=write_headline(to_json_number(add_failures(plan.steps))),
            )
        )
    neighbours = choose_unit(privacy).neighbours
    return say(
        "guarantee.sentence",
        loss=loss,
        unit=describe_protection(privacy),
        neighbours=f"{neighbours[0].upper()}{neighbours[1:]}",
    )


def _list_unprotected(release: Release, plan: Plan) -> list[str]:
    column = release.privacy.unit_column
    sentences = [
        say("guarantee.not_protected.spec"),
        say("guarantee.not_protected.patterns"),
        say("guarantee.not_protected.rows_of_person")
        if column is None
        else say("guarantee.not_protected.values_of_person", column=column),
    ]
    if release.privacy.adjacency is Adjacency.REPLACE_ONE and (
        release.privacy.unit_column is not None or release.privacy.has_fixed_records
    ):
        plural = say("words.people" if choose_unit(release.privacy).people else "words.rows")
        sentences.append(say("guarantee.not_protected.number", units=plural))
    sentences.extend(
        say("guarantee.not_protected.exact", figure=step.query.name)
        for step in build_views(plan)
        if step.noise.parameter == 0
    )
    return sentences


KEYS_SHOWN = 100


def _describe_data(release: Release) -> DataFile:
    """Describe how the file is read: what counts as missing decides what is counted."""
    # The path's last part alone: a report is public, and the names of folders are private.
    source, path = release.data.source, get_last_part(release.data.written_path)
    design_effect = release.data.design_effect
    effect = None if design_effect is None else float(design_effect)
    if "encoding" not in SOURCES[source.format].options:
        return DataFile(format=source.format, path=path, design_effect=effect)
    dialect = source.dialect
    return DataFile(
        format=source.format,
        path=path,
        design_effect=effect,
        delimiter=dialect.delimiter,
        quote=dialect.quote,
        encoding=dialect.encoding,
        null_values=dialect.null_values,
        header=dialect.header,
        strip=dialect.strip,
        decimal=dialect.decimal if dialect.decimal != "." else None,
        thousands=dialect.thousands or None,
        max_lines_per_record=dialect.max_lines if dialect.max_lines > 1 else None,
        skip_rows=dialect.skip_rows or None,
        unnamed_field=dialect.unnamed_field or None,
    )


def _describe_column(column: Column, private: bool) -> ColumnFacts:
    grid = column.grid
    return ColumnFacts(
        name=column.name,
        type=str(column.type),
        lower=None if grid is None else to_json_number(grid.lower * grid.step),
        upper=None if grid is None else to_json_number(grid.upper * grid.step),
        step=None if grid is None else to_json_number(grid.step),
        step_chosen_by_tool=column.step_chosen,
        keys=None if column.keys is None else len(column.keys),
        key_list=tuple(column.keys[:KEYS_SHOWN]) if column.keys else None,
        private_keys=private,
        bins=column.edges,
        other=column.other,
        nulls="drop" if column.null_value is None else column.null_value,
        expression=_describe_computation(column),
        source=column.source,
        written=" ".join(filter(None, (column.format, column.zone))) or None,
        state_of=None if column.observed_column is None else column.observed_column.name,
    )


def _iter_told_columns(release: Release) -> Iterator[Column]:
    """List the columns, without the states of fields that no query of the release counts."""
    # Both halves of `run --quality-first` have the columns of the spec, as their identities do.
    groups = {group.column for query in release.queries for group in query.groups}
    for column in release.columns.values():
        if column.observed_column is None or column.name in groups:
            yield column


def _describe_computation(column: Column) -> str | None:
    """Say what a column is computed from, if it is computed."""
    if column.observed_column is not None and column.observed_column.expression is not None:
        return say("guarantee.not_protected.values", column=column.observed_column.name)
    if column.observed_column is not None:
        return say("guarantee.not_protected.fields", column=column.observed_column.name)
    return column.expression.text if column.expression else None


def _describe_csv_lines(dialect: Dialect) -> str:
    """Say what a record of a CSV file is."""
    if dialect.max_lines == 1:
        return say("data.csv.one_line")
    return say("data.csv.multiline", lines=dialect.max_lines)


def _word_figures(plan: Plan) -> list[str]:
    """Say how values are bounded, rounded, left out, and how figures are read from noisy ones."""
    queries = [step.query for step in build_views(plan)]
    statistics = {query.statistic for query in queries}
    axes = [axis for query in queries for axis in (*query.groups, query.axis) if axis is not None]
    sentences = []
    if bounded := list_bounded_columns(plan):
        sentences = [
            say("data.values.clamped", columns=join_names(bounded)),
            say("data.values.rounded"),
        ]
    if bounded or any(axis.keys or axis.edges for axis in axes):
        sentences.append(say("data.values.nulls"))
    sentences.extend(_word_weights(plan))
    words = [statistic.processing for name, statistic in STATISTICS.items() if name in statistics]
    return [*sentences, *map(say, filter(None, dict.fromkeys(words)))]


def _word_weights(plan: Plan) -> Iterator[str]:
    """Say which figures are weighted, by what, and which are not; nothing where none are."""
    names: dict[str | None, list[str]] = {}
    columns: dict[str, Column] = {}
    for query in plan.release.queries:
        column = query.survey_weight
        names.setdefault(None if column is None else column.name, []).append(query.column_name)
        columns |= {} if column is None else {column.name: column}
    for name, column in columns.items():
        grid = column.grid
        if grid is None:
            raise ValueError("a survey weight has bounds")
        none = (
            say("data.weight.does_not_count")
            if column.null_value is None
            else say("data.weight.counts_as", weight=column.null_value)
        )
        yield say(
            "data.weight.weighted",
            names=join_names(list(dict.fromkeys(names[name]))),
            column=name,
            lower=format_number(to_json_number(grid.lower * grid.step)),
            upper=format_number(to_json_number(grid.upper * grid.step)),
            unreadable=none,
        )
    if columns and None in names:
        yield say("data.weight.not_weighted", names=join_names(list(dict.fromkeys(names[None]))))


LINES = {
    "keys_file": "data.source.label",
    "candidates_file": "data.source.choice",
}


def list_files(release: Release) -> tuple[ListFile, ...]:
    """List the files of public values that a release reads, and what their lines become."""
    return tuple(
        ListFile(
            key=entry.key,
            name=entry.name,
            file=entry.file,
            lines=say(LINES[entry.key]),
            sha256=entry.sha256,
        )
        for entry in release.lists
    )
