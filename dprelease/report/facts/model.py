"""The facts of a report as values: everything that the renderers may say, and nothing private.

Fields have the names, and the order, of the keys of report.json (report.schema.json says what
they mean). A field without a default is always there; one with a default is a key that may be
absent, and is not written where it has its default (see ``facts.json_form``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dprelease.report.facts.record_model import Number, RecordTable

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """Who releases what, and for what."""

    name: str
    title: str
    data_curator: str | None
    contact: str | None
    intended_use: str | None
    region: str | None
    sector: str | None
    approved_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """How much of one unit counts in a table."""

    max_rows_per_unit: int
    max_groups_per_unit: int
    max_rows_per_unit_per_group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """What is protected, and under which neighbours."""

    unit: str
    unit_column: str | None
    description: str | None
    adjacency: str
    bounding: Bounding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLoss:
    """The loss of the whole release, rounded up."""

    epsilon: Number
    delta: Number
    rho: Number | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """How the losses of the queries add up."""

    composition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """The tool, and the mechanisms in words."""

    tool: str
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The release in the terms of the registry of deployments."""

    basic: Basic
    privacy_unit: PrivacyUnit
    dp_variant: str
    privacy_loss: PrivacyLoss
    model: str
    accounting: Composition
    implementation: Implementation


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPart:
    """Numerator or denominator of a ratio."""

    column: str | None
    where: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The release that a query reads together with other queries."""

    release: str
    with_: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How far neighbours move what is noised: figures, the scores of a choice, or rows."""

    l1: Number
    l2: Number | None
    of: str
    monotone: bool | None = None
    derivation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseScale:
    """Scale and granularity of the noise of a denominator."""

    scale: Number
    granularity: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """From which noisy count on a private key is published."""

    at_least: int
    delta: Number
    counts: str | None = None
    shown_from: int | None = None
    hidden_below: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The error that a query asks for."""

    within: Number
    confidence: str
    records: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleHalfwidth:
    """The half-width at so many values."""

    values: int
    halfwidth: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
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
    implied: bool | None = None
    cells: int | None
    candidates: int | None
    form: str
    shares: Shares | None
    mechanism: str
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

    @property
    def title(self) -> str:
        """What the query computes, in a few words."""
        subject = f" of {self.column}" if self.column else ""
        condition = f" where {self.where}" if self.where else ""
        return f"{self.statistic}{subject}{condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """The composed loss, and what plain addition would have charged."""

    method: str
    epsilon: Number
    epsilon_exact: str
    delta: Number
    rho: Number | None
    basic_epsilon: Number
    basic_delta: Number
    advanced_epsilon: Number | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What somebody may believe afterwards who believed ``prior`` before."""

    prior: Number
    posterior_low: Number
    posterior_high: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """Beliefs about one thing, before and after."""

    about: str
    epsilon: Number
    delta: Number
    rows: tuple[Belief, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoss:
    """The loss of so many units together."""

    units: int
    epsilon: Number
    delta: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the loss means; ``of`` is "row" or "person"."""

    beliefs: tuple[Beliefs, ...]
    of: str
    groups: tuple[GroupLoss, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """How the file is read; of Parquet there is only the path."""

    format: str
    path: str
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] | None = None
    header: bool | None = None
    strip: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFile:
    """A file of public values that the release names."""

    key: str
    name: str
    file: str
    lines: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """A hazard of NIST SP 800-226: "pass", "attention" or "attested", and why."""

    hazard: str
    status: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What is known of a release before any data is opened."""

    deployment: Deployment
    guarantee: str
    bounding: tuple[str, ...]
    queries: tuple[Query, ...]
    perturb: tuple[RecordTable, ...] = ()
    accounting: Accounting
    meaning: Meaning
    not_protected: tuple[str, ...]
    data: DataFile
    columns: tuple[Column, ...]
    lists: tuple[ListFile, ...] = ()
    processing: tuple[str, ...]
    hazards: tuple[Hazard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a published table; its file can be read again to the letter."""

    name: str
    kind: str
    decimals: int
    type: str | None
    query: str | None
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """A published table of statistics."""

    name: str
    file: str
    title: str
    rows: int
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """A loss in the ledger, plainly added up."""

    epsilon: Number
    delta: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedTotal:
    """What is held against the caps, and how it is composed: "zCDP" or "plain sums"."""

    epsilon: Number
    delta: Number
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedTotals:
    """What is held against the caps, before and after this release."""

    before: ComposedTotal
    after: ComposedTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The most that the dataset may lose; None where there is no cap."""

    epsilon: Number | None
    delta: Number | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A charge of the dataset, with the total so far."""

    entry: int
    at: str
    epsilon: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStanding:
    """Where the ledger stands around a release: charged, or only planned."""

    before: Spent
    after: Spent
    composed: ComposedTotals | None = None
    cap: Cap
    disjoint_periods: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The run, its versions, and the hashes of what it published."""

    run_id: str
    released_at: str
    snapshot: str | None
    period: str | None
    versions: Mapping[str, str]
    files: Mapping[str, str]
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts(PlanFacts):
    """All facts of a release: what report.json holds."""

    tables: tuple[PublishedTable, ...]
    ledger: Ledger
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What the page of a plan has beside its facts: what an approval is of."""

    interval: str
    digest: str | None
    holds: Mapping[str, Scalar | tuple[str, ...]]
    leaves_open: tuple[str, ...]
    ledger: LedgerStanding | None
    notes: tuple[str, ...]
