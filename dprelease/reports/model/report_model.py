"""The facts of a report as values: everything that the renderers may say, and nothing private.

Fields have the names, and the order, of the keys of report.json (see report.schema.json). One
without a default is always there; one with a default is left out where it has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from dprelease.model.loss import NoiseFamily
from dprelease.model.source_registry import SOURCES
from dprelease.reports.model.record_model import Digest, Fact, Number, RecordTable, extend_schema
from dprelease.reports.model.strategy_model import Agreement, LinearFigure, StrategyFacts

Scalar = str | int | float | bool | None


# What a privacy loss means: beliefs, several units together, all releases so far.


class Belief(Fact, frozen=True, kw_only=True):
    """What somebody may believe afterwards who believed ``prior`` before."""

    prior: Number
    posterior_low: Number
    posterior_high: Number


class Beliefs(Fact, frozen=True, kw_only=True):
    """Beliefs about one thing, before and after."""

    about: str
    epsilon: Number
    delta: Number
    rows: tuple[Belief, ...]

    def get_row(self, prior: float) -> Belief:
        """Return the row of a belief before."""
        return next(row for row in self.rows if row.prior == prior)


class GroupLoss(Fact, frozen=True, kw_only=True):
    """The loss of so many units together, and the beliefs that 50% before may become.

    ``posterior_high`` is the first of ``beliefs``; version 0.2 wrote no others.
    """

    units: int
    epsilon: Number
    delta: Number
    posterior_high: Annotated[
        Number | None, extend_schema("the most that a belief of one half may become, but for delta")
    ] = None
    protected: Annotated[
        bool | None,
        extend_schema("false where one of the beliefs is above 0.999, or has no bound"),
    ] = None
    beliefs: Annotated[
        tuple[Number | None, ...],
        extend_schema(
            "the most that a belief of one half may become about each thing that beliefs are "
            "about, in their order; null where delta is 0.01 or more, so that there is no bound"
        ),
    ] = ()


class TotalLoss(Fact, frozen=True, kw_only=True):
    """The loss of all releases of the dataset: "so far", or of its "cap" if that is used up.

    Of a plan, which is in no report, it is "planned": if nothing else is charged before.

    ``delta`` None: no cap.
    """

    of: Annotated[str, extend_schema(enum=["so far", "cap"])]
    epsilon: Number
    delta: Number | None
    beliefs: tuple[Beliefs, ...]


class Meaning(Fact, frozen=True, kw_only=True):
    """What the loss means; ``of`` is "row" or "person"."""

    beliefs: tuple[Beliefs, ...]
    of: Annotated[str, extend_schema(enum=["row", "person"])]
    groups: tuple[GroupLoss, ...]
    totals: Annotated[
        tuple[TotalLoss, ...],
        extend_schema(
            "the loss of all releases of the dataset so far, and of its cap if that is used up"
        ),
    ] = ()


# Privacy facts: a form that stays, for portals to read.

Bounds = tuple[Number, Number]


class LearntAtMost(Fact, frozen=True, kw_only=True):
    """Between what a belief of one half stays about what a unit's records say; None: no bound."""

    this_release: Bounds | None
    all_releases: Bounds | None
    cap_used_up: Bounds | None
    ten_together: Bounds | None


class Checklist(Fact, frozen=True, kw_only=True):
    """How many hazards of the privacy checklist stand how."""

    ruled_out: int
    to_judge: int
    stated: int
    not_checked: int
    attention: int


class PrivacyFacts(Fact, frozen=True, kw_only=True):
    """What a release protects, how strongly, and who vouches for it.

    ``protects`` is the unit in the curator's words; ``noise_added_to`` the model: "central" to
    statistics, "local" to each record, or both. ``epsilon_of_all`` is of all releases of the
    dataset, this one included; None where that is not known, or there is no cap.
    """

    unit: Annotated[str, extend_schema(enum=["row", "person"])]
    protects: str | None
    adjacency: str
    noise_added_to: str
    epsilon: Number
    delta: Number
    epsilon_of_all: Number | None
    epsilon_cap: Number | None
    learnt_at_most: LearntAtMost
    checklist: Checklist
    reviewer: str | None
    decision: str | None
    plan: str | None


# The report itself.


class Basic(Fact, frozen=True, kw_only=True):
    """Who releases what, and for what."""

    name: str
    title: str
    data_curator: str | None
    contact: str | None
    intended_use: str | None
    region: str | None
    sector: str | None
    approved_by: str | None
    licence: Annotated[
        str | None, extend_schema("Of the figures: an identifier of SPDX, or a URL.")
    ] = None


class Bounding(Fact, frozen=True, kw_only=True):
    """How much of one unit counts in a table."""

    max_rows_per_unit: int
    max_groups_per_unit: int
    max_rows_per_unit_per_group: int


class PrivacyUnit(Fact, frozen=True, kw_only=True):
    """What is protected, and under which neighbours."""

    unit: Annotated[str, extend_schema(enum=["row", "column"])]
    unit_column: str | None
    description: str | None
    adjacency: Annotated[str, extend_schema(enum=["add-remove", "replace-one"])]
    bounding: Bounding | None
    population: Annotated[
        int | None,
        extend_schema("How many units there are in all, as the spec states: a public number."),
    ] = None

    @property
    def groups_per_unit(self) -> int | None:
        """In how many cells of a table a unit counts at most; None: the report states no limit."""
        return None if self.bounding is None else self.bounding.max_groups_per_unit


class PrivacyLoss(Fact, frozen=True, kw_only=True):
    """The loss of the whole release, rounded up."""

    epsilon: Number
    delta: Number
    rho: Number | None


class Composition(Fact, frozen=True, kw_only=True):
    """How the losses of the queries add up."""

    composition: str


class Implementation(Fact, frozen=True, kw_only=True):
    """The tool, and the mechanisms in words."""

    tool: Annotated[str, extend_schema(const="dprelease")]
    mechanisms: tuple[str, ...]


class Deployment(Fact, frozen=True, kw_only=True):
    """The release in the terms of the registry of deployments."""

    basic: Basic
    privacy_unit: PrivacyUnit
    dp_variant: Annotated[
        str,
        extend_schema(
            enum=["pure", "approximate", "zero-concentrated", "approximate zero-concentrated"]
        ),
    ]
    privacy_loss: PrivacyLoss
    model: Annotated[str, extend_schema(enum=["central", "local", "central and local"])]
    accounting: Composition
    implementation: Implementation


class RatioPart(Fact, frozen=True, kw_only=True):
    """Numerator or denominator of a ratio."""

    column: str | None
    where: str | None


class Shares(Fact, frozen=True, kw_only=True):
    """The release that a query reads together with other queries."""

    release: str
    with_: tuple[str, ...]


class Sensitivity(Fact, frozen=True, kw_only=True):
    """How far neighbours move what is noised: figures, scores of a choice, rows or weight."""

    l1: Number
    l2: Number | None
    of: Annotated[str, extend_schema(enum=["figures", "score", "rows", "weight"])]
    monotone: bool | None = None
    derivation: str


class NoiseScale(Fact, frozen=True, kw_only=True):
    """Scale and granularity of the noise of a denominator."""

    scale: Number
    granularity: Number


class Threshold(Fact, frozen=True, kw_only=True):
    """From which noisy count on a private key is published."""

    at_least: int
    delta: Number
    counts: str | None = None
    shown_from: int | None = None
    hidden_below: int | None = None
    column: Annotated[
        str | None,
        extend_schema("The published number that reaches it, unless that is the query's figure."),
    ] = None


class Accuracy(Fact, frozen=True, kw_only=True):
    """The error that a query asks for."""

    within: Number
    confidence: str
    records: int | None


class ExampleHalfwidth(Fact, frozen=True, kw_only=True):
    """The half-width at so many values."""

    values: int
    halfwidth: Number


class Finishing(Fact, frozen=True, kw_only=True):
    """What is done to a query's noisy figures before they are published, and what comes of it."""

    consistent: bool = False
    nonnegative: bool = False
    integer: bool = False
    publish_if: str | None = None
    round_to: str | None = None
    flag_unreliable_at: str | None = None
    explained: tuple[str, ...]


class Clipping(Fact, frozen=True, kw_only=True):
    """What the totals of one person are scaled to, in the unit of the figure."""

    norm: Annotated[str, extend_schema(enum=["l1", "l2"])]
    bound: Number


class Query(Fact, frozen=True, kw_only=True):
    """One query: what it computes, with which noise, at what loss."""

    name: str
    statistic: str
    table: str
    column: str | None
    by: tuple[str, ...]
    where: str | None
    picks: int | None = None
    quantiles: tuple[str, ...] | None = None
    score: str | None = None
    numerator: RatioPart | None = None
    denominator_part: RatioPart | None = None
    among: str | None = None
    judged_by: str | None = None
    implied: bool | None = None
    cells: int | None
    candidates: int | None
    form: Annotated[str, extend_schema(enum=["numbers", "choice", "quantiles"])]
    shares: Shares | None
    mechanism: Annotated[str, extend_schema(enum=list(map(str, NoiseFamily)))]
    epsilon: Number
    epsilon_exact: str
    delta: Number
    rho: Number | None
    sensitivity: Sensitivity
    scale: Number
    granularity: Number
    denominator: NoiseScale | None
    threshold: Threshold | None
    accuracy: Accuracy | None
    noise_halfwidth: Number | None
    example_halfwidth: ExampleHalfwidth | None
    expected_error: str
    meaningful_from: int | None
    explained: tuple[str, ...]
    stairs: tuple[int, ...] | None = None
    finishing: Annotated[
        Finishing | None, extend_schema("What is done to the noisy figures, and what comes of it.")
    ] = None
    together: Annotated[
        str | None,
        extend_schema(
            "The first of the queries that it is planned together with, if it is: their "
            "loss is stated by each, and paid for once."
        ),
    ] = None
    linear: Annotated[
        tuple[LinearFigure, ...],
        extend_schema(
            "Published columns whose figures are factors times the released integers of "
            "one step at rows, each with independent noise of this law: parameter is a "
            "scale, or the variance of Gaussian noise. Cells over the labels of merged "
            "groups are added up. Of a mean or proportion it is the number of what is "
            "behind it, and share says the values of a share of 0 and of 1."
        ),
    ] = ()
    survey_weight: Annotated[
        str | None,
        extend_schema(
            "The column of survey weights by which its records count; without it each counts once."
        ),
    ] = None
    clipping: Annotated[
        Clipping | None,
        extend_schema(
            "The norm to which all that one person adds is scaled down; else rows are limited."
        ),
    ] = None
    description: Annotated[str | None, extend_schema("What the spec says of it in words.")] = None
    definition: Annotated[
        tuple[str, ...],
        extend_schema("What a figure is: whole sentences, made from the spec alone."),
    ] = ()
    groups: Annotated[
        tuple[str, ...],
        extend_schema("For which groups there is a figure."),
    ] = ()
    outside: Annotated[
        tuple[str, ...],
        extend_schema("In which group a record is that has no listed value of a grouping column."),
    ] = ()

    @property
    def lender(self) -> str | None:
        """The query that states the cost of what several are read from; None where none share."""
        return self.together or (None if self.shares is None else self.shares.release)


class Accounting(Fact, frozen=True, kw_only=True):
    """The composed loss, and what plain addition would have charged."""

    method: str
    epsilon: Number
    epsilon_exact: str
    delta: Number
    rho: Number | None
    basic_epsilon: Number
    basic_delta: Number
    advanced_epsilon: Number | None


class DataFile(Fact, frozen=True, kw_only=True):
    """How the file is read; of Parquet there is only the path."""

    format: Annotated[str, extend_schema(enum=list(SOURCES))]
    path: str
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] | None = None
    header: bool | None = None
    strip: bool | None = None
    decimal: str | None = None
    thousands: str | None = None
    max_lines_per_record: int | None = None
    skip_rows: int | None = None
    unnamed_field: str | None = None
    design_effect: Annotated[
        Number | None,
        extend_schema(
            "how many times the variance of a simple random sample that of the survey's "
            "estimates is, as the spec states",
            exclusiveMinimum=0,
        ),
    ] = None


class Column(Fact, frozen=True, kw_only=True):
    """Where bounds and groups of a column come from."""

    name: str
    type: str
    lower: Number | None
    upper: Number | None
    step: Number | None
    step_chosen_by_tool: bool
    keys: int | None
    key_list: tuple[str, ...] | None
    private_keys: bool
    bins: tuple[str, ...] | None
    other: str | None
    nulls: Scalar
    expression: str | None
    source: str | None
    written: str | None = None  # format and zone
    state_of: Annotated[
        str | None,
        extend_schema("The column of whose fields it tells the state, in counts of data quality."),
    ] = None


class ListFile(Fact, frozen=True, kw_only=True):
    """A file of public values that the release names."""

    key: Annotated[str, extend_schema(enum=["keys_file", "candidates_file"])]
    name: str
    file: str
    lines: str
    sha256: Digest


class Hazard(Fact, frozen=True, kw_only=True):
    """A hazard of NIST SP 800-226, how it stands, and why."""

    hazard: str
    status: Annotated[
        str,
        extend_schema(
            "checked: ruled out by the tool; see: a number for people to judge; stated in the spec "
            "by people; not checked by anybody; attention: to be looked at. Version 0.2 wrote "
            "other words",
            enum=["checked", "see", "stated", "not checked", "attention"],
        ),
    ]
    note: str


class ReviewFacts(Fact, frozen=True, kw_only=True):
    """Who reviewed the release, and on which grounds it is made, in the words of the spec."""

    reviewer: str | None = None
    role: str | None = None
    decision: Annotated[
        str | None, extend_schema(enum=["approved", "approved with conditions", "refused"])
    ] = None
    date: str | None = None
    reference: str | None = None
    legal_basis: str | None = None
    necessity: str | None = None


class PlanFacts(Fact, frozen=True, kw_only=True):
    """What is known of a release before any data is opened."""

    deployment: Deployment
    guarantee: str
    bounding: tuple[str, ...]
    queries: tuple[Query, ...]
    strategies: Annotated[
        tuple[StrategyFacts, ...],
        extend_schema(
            "Counts planned together, if there are any: what is released in their place, "
            "with exact laws, and how figures are combined of it. Noise is independent, "
            "so that variances and covariances of all sums of figures follow.",
            minItems=1,
        ),
    ] = ()
    agreements: Annotated[
        tuple[Agreement, ...],
        extend_schema(
            "How tables were made to agree, if any were: each part of them is the mean of "
            "what was observed of it, by these weights, and then follows the coarser ones. So "
            "the law of the noise of all sums of agreed figures follows.",
            minItems=1,
        ),
    ] = ()
    perturb: Annotated[
        tuple[RecordTable, ...],
        extend_schema(
            "Record-level tables, if there are any: laws exactly, and what they tell.", minItems=1
        ),
    ] = ()
    accounting: Accounting
    meaning: Meaning
    not_protected: tuple[str, ...]
    data: DataFile
    columns: tuple[Column, ...]
    lists: Annotated[
        tuple[ListFile, ...],
        extend_schema(
            "Files of public values, if there are any. Their lines are published: those "
            "of a column's keys_file as labels, those of a query's candidates_file as "
            "what it may choose. The path is as the spec writes it.",
            minItems=1,
        ),
    ] = ()
    processing: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    review: Annotated[
        ReviewFacts | None,
        extend_schema(
            "the words of [review], but for its attestations, which are among the hazards"
        ),
    ] = None


class ColumnNames(Fact, frozen=True, kw_only=True):
    """What people read of a published column in place of its name and keys."""

    title: Annotated[str | None, extend_schema("Of the query, or of the column.")] = None
    unit: str | None = None
    decimals: int | None = None
    labels: Annotated[Mapping[str, str] | None, extend_schema("Texts for keys.")] = None
    bins: Annotated[str | None, extend_schema("The type of the edges, where keys are bins.")] = None


class TableColumn(Fact, frozen=True, kw_only=True):
    """A column of a published table; its file can be read again to the letter.

    ``raw`` has the figures as released, where they were changed afterwards; None where hidden.
    ``agreed`` has those that agree with other tables, before they were moved or rounded.
    """

    name: str
    kind: Annotated[str, extend_schema(enum=["key", "edge", "integer", "number", "text"])]
    decimals: Annotated[int, extend_schema(minimum=0)]
    type: str | None
    query: str | None
    description: str
    raw: Annotated[
        tuple[Number | None, ...] | None,
        extend_schema("The figures as released, where changed; null where hidden."),
    ] = None
    agreed: Annotated[
        tuple[Number | None, ...] | None,
        extend_schema(
            "The figures that agree with other tables, before they were moved or rounded."
        ),
    ] = None
    names: Annotated[
        ColumnNames | None, extend_schema("What people read in place of the name and the keys.")
    ] = None


class PublishedTable(Fact, frozen=True, kw_only=True):
    """A published table of statistics."""

    name: str
    file: str
    title: str
    rows: Annotated[int, extend_schema(minimum=0)]
    columns: tuple[TableColumn, ...]


class Spent(Fact, frozen=True, kw_only=True):
    """A loss in the ledger; ``by`` says how it is composed where it is: "zCDP", "plain sums".

    ``rho`` is told where a cap of rho is.
    """

    epsilon: Number
    delta: Number
    by: str | None = None
    rho: Annotated[Number | None, extend_schema("where a cap of rho is")] = None


class ComposedTotals(Fact, frozen=True, kw_only=True):
    """What is held against the caps, before and after this release."""

    before: Spent
    after: Spent


class Cap(Fact, frozen=True, kw_only=True):
    """The most that the dataset may lose; None where there is no cap."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None = None


class PlannedRho(Fact, frozen=True, kw_only=True):
    """What is held against a cap of rho. ``spent`` and ``after`` None: a release has no bound."""

    spent: Number | None
    after: Number | None
    cap: Number
    left_after: Number


class PlannedTotals(Fact, frozen=True, kw_only=True):
    """What is held against the caps now, and after a run of a plan."""

    now: Spent
    after: Spent


class PlannedLedger(Fact, frozen=True, kw_only=True):
    """Where the ledger stands when a plan is made, and where a run would leave it.

    What is spent is rounded up, what is left rounded down.
    """

    path: str
    dataset: str
    runs: int
    epsilon_spent: Number
    epsilon_after: Number
    epsilon_cap: Number | None
    epsilon_left_after: Number | None
    delta_spent: Number
    delta_after: Number
    delta_cap: Number | None
    delta_left_after: Number | None
    delta_kept: Number
    composed: PlannedTotals
    already_charged: bool
    released_at: str | None
    refused: tuple[Mapping[str, object], ...]
    rho: PlannedRho | None = None


class Charge(Fact, frozen=True, kw_only=True):
    """A charge of the dataset, with the total so far."""

    entry: int
    at: str
    epsilon: Number


class LedgerStanding(Fact, frozen=True, kw_only=True):
    """Where the ledger stands around a release: charged, or only planned."""

    before: Spent
    after: Spent
    composed: ComposedTotals | None = None
    cap: Cap
    disjoint_periods: bool | None = None


class Ledger(Fact, frozen=True, kw_only=True):
    """The charge of a release in the ledger, and where that stood around it."""

    dataset: str
    entry: int
    hash: str | None = None
    before: Spent
    after: Spent
    composed: ComposedTotals | None = None
    cap: Cap
    disjoint_periods: bool | None = None
    history: tuple[Charge, ...]


class Provenance(Fact, frozen=True, kw_only=True):
    """The run, its versions, and the hashes of its plan and of what it published."""

    run_id: str
    released_at: str
    snapshot: str | None
    period: str | None
    versions: Mapping[str, str]
    files: Mapping[str, str]
    interval: str
    plan: Annotated[
        str | None,
        extend_schema(
            "digest of the plan that was run, as a saved plan has it", pattern="^[0-9a-f]{64}$"
        ),
    ] = None
    held_to_plan: Annotated[
        bool | None,
        extend_schema(
            "Whether the run was held to a saved plan of this digest; without it any plan has one."
        ),
    ] = None
    total_when_planned: Annotated[
        Spent | None,
        extend_schema(
            "What all releases of the dataset came to with this one when that plan was saved, by "
            "the file of the plan. What they came to at the run is in the ledger's composed.after."
        ),
    ] = None


class Changed(Fact, frozen=True, kw_only=True):
    """Something that was one thing in the last release and is another now."""

    what: str
    before: str
    now: str


class FigureChange(Fact, frozen=True, kw_only=True):
    """A figure less that of the last release, and whether that is more than the noise of both."""

    table: str
    column: str
    labels: tuple[str, ...]
    difference: str
    noise_halfwidth: str
    real: bool


class Changes(Fact, frozen=True, kw_only=True):
    """What changed since the last release; of very many figures the first."""

    run_id: str
    released_at: str
    guarantee: tuple[Changed, ...]
    new_tables: tuple[str, ...]
    missing_tables: tuple[str, ...]
    noise: tuple[Changed, ...]
    compared: int
    real: int
    figures: tuple[FigureChange, ...]
    redefined: Annotated[
        tuple[str, ...],
        extend_schema(
            "Queries that are defined otherwise than in the last release: only where the "
            "condition alone is another, their figures are compared."
        ),
    ] = ()


class ReportFacts(PlanFacts, frozen=True, kw_only=True):
    """All facts of a release: what report.json holds."""

    tables: tuple[PublishedTable, ...]
    ledger: Ledger
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    provenance: Provenance
    language: Annotated[
        str, extend_schema("Language of the sentences; English if absent.", enum=["de", "fr"])
    ] = "en"
    changes: Annotated[
        Changes | None,
        extend_schema(
            "What changed since the last release, if the spec names one. Figures are "
            "those of this release less those of the last one, with the half-width of "
            "the noise of both; of very many the first."
        ),
    ] = None
    rehearsal: bool = False
    privacy_facts: Annotated[
        PrivacyFacts | None,
        extend_schema("What the label of privacy facts says; its form stays."),
    ] = None
    registry: Annotated[
        dict[str, Any] | None,
        extend_schema(
            "The entry for OpenDP's registry, which is in English, where the report is in another "
            "language."
        ),
    ] = None


class Approval(Fact, frozen=True, kw_only=True):
    """What the page of a plan has beside its facts: what an approval is of."""

    interval: str
    run: str
    digest: str | None
    holds: Mapping[str, Scalar | tuple[str, ...]]
    leaves_open: tuple[str, ...]
    ledger: LedgerStanding | None
    notes: tuple[str, ...]
