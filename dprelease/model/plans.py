"""What will be done, and the noisy integers that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import prod

from msgspec import Struct, field

from dprelease.model.loss import Loss, Noise, Sensitivity
from dprelease.model.queries import Query
from dprelease.model.record_tables import RecordStep
from dprelease.model.release import Release
from dprelease.model.requests import Measure, Quantity
from dprelease.model.sentences import Text
from dprelease.model.strategies import AxisMatrix, Strategy, Term, group_strategies


class QuantileStep(Struct, frozen=True):
    """One selection: quantile ``index`` from the part between two quantiles selected before.

    Quantiles are numbered 1, ..., k; ``lower`` 0 is the lower bound of the column, ``upper`` k + 1
    the upper one. ``target`` is the quantile within the part, a/b in lowest terms; P is
    proportional to exp(-rate d), where d is the candidate's distance from the target rank in units
    of a b-th of a record (see ``mechanisms.quantiles``).
    """

    index: int
    lower: int
    upper: int
    target: Fraction
    rate: Fraction


class QuantileScheme(Struct, frozen=True):
    """All selections, in the order they are made; quantiles rise."""

    quantiles: tuple[Fraction, ...]
    steps: tuple[QuantileStep, ...]


class Form(StrEnum):
    """Form of a step's release: noisy integers, candidates chosen by score, or grid integers."""

    NUMBERS = "numbers"
    CHOICE = "choice"
    QUANTILES = "quantiles"


class Step(Struct, frozen=True):
    """One query as it will be executed.

    NUMBERS: for each cell the released integers are ``transform @ measures`` (row i, column j:
    integer coefficient of measure j in released integer i); each gets independent noise.
    ``unit[i]`` is the value of one integer step of released integer i. With ``threshold``, the
    step selects its table's private keys: those whose released integers together reach it. These
    are the cells of all other steps of the table, whatever their form;
    see ``kernel.chapters.private_keys.shown_keys``.
    With ``axes``, one for each group and the axis of the query, the cells are mixed along each
    before noise is added. With ``points``, in place of measures, the records of each value of their
    grid are counted, along the last axis. ``apart``: no record meets two filters of measures.
    CHOICE: for each cell of the query's groups, ``query.picks`` candidates by the one score that
    ``transform`` makes of the measures, or of ``query.candidates``; released are positions.
    QUANTILES: for each cell and quantile a grid integer, by ``scheme``.
    """

    query: Query
    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...]
    unit: tuple[Fraction, ...]
    sensitivity: Sensitivity
    noise: Noise
    loss: Loss
    form: Form = Form.NUMBERS
    threshold: int | None = None
    scheme: QuantileScheme | None = None
    points: Quantity | None = None  # of QUANTILES and of counts by value: what is put in order
    axes: tuple[AxisMatrix, ...] = ()
    survey_weight: Quantity | None = None  # of QUANTILES: how much of it each record is
    apart: bool = False

    @property
    def draws(self) -> int:
        """Number of draws of noise for each released integer (NUMBERS, no private group)."""
        outputs = map(AxisMatrix.count_outputs, self.axes, self.sizes)
        return prod(outputs if self.axes else self.sizes)

    @property
    def sizes(self) -> list[int]:
        """Numbers of labels of the groups, and of the axis or of the values of points (NUMBERS)."""
        sizes = [len(group.labels) for group in self.query.groups_and_axis]
        if self.points is not None and self.form is Form.NUMBERS:
            sizes.append(self.points.grid.width + 1)
        return sizes


class Reading(StrEnum):
    """Way in which a query's figures are read from the released integers of a step.

    OWN: as the query's statistic reads what it would have released itself. LINEAR: one figure for
    each cell, a combination of its released integers. MOMENTS: a mean, of the three sums of a
    variance. COMBINED: the integers that the query's statistic would have released itself are made
    of those of several steps, and its figures of them.
    """

    OWN = "own"
    LINEAR = "linear"
    MOMENTS = "moments"
    COMBINED = "combined"


class Read(Struct, frozen=True):
    """A query and the step whose release it is read from: post-processing, at no cost.

    ``rows`` are the released integers that it is made of. LINEAR: the figure is ``factors @`` these
    integers; of the cells that differ in the step's groups at ``merged`` only, the sum.
    ``screened``: the last row counts records without a value, of which none are expected: it is
    left out where it can't be told from 0 (see ``intervals.screened_counts``). COMBINED: each
    part of a figure is the sum of its ``terms``; ``factors @`` the parts is the figure, published
    with so many ``decimals``, or of a share that of a half; without factors the part is the figure.
    ``step`` is the first term's, and there are no ``rows``.
    """

    query: Query
    step: str  # the name of the step's query
    rows: tuple[int, ...]
    reading: Reading = Reading.OWN
    factors: tuple[Fraction, ...] = ()
    merged: tuple[int, ...] = ()
    screened: bool = False
    terms: tuple[Term, ...] = ()
    decimals: int = 0

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of all steps that the query is read from."""
        return tuple(dict.fromkeys(term.step for term in self.terms)) or (self.step,)


class Plan(Struct, frozen=True, dict=True):
    """All that a run will do, fixed before any data is opened.

    ``steps`` is what is released; ``reads``, one for each query of the release in order, what is
    made of that. ``records`` are the record-level tables. ``loss`` is what is charged, composed by
    ``method``; ``basic`` is the plain sum for comparison, and so is ``alone``: the variance that
    each combined figure would have had if its query had not been planned together with others.
    """

    release: Release
    steps: tuple[Step, ...]
    loss: Loss
    method: str
    basic: Loss
    notes: tuple[Text, ...] = ()
    advanced: Loss | None = None  # by advanced composition, for comparison
    reads: tuple[Read, ...] = ()
    records: tuple[RecordStep, ...] = ()
    alone: Mapping[str, Fraction] = field(default_factory=dict)

    def step(self, read: Read) -> Step:
        """Return the step that a query is read from; the first of several."""
        return self.steps_by_name[read.step]

    @cached_property
    def steps_by_name(self) -> Mapping[str, Step]:
        """The steps by the names of their queries; of several with one name the first."""
        return {step.query.name: step for step in reversed(self.steps)}

    def list_readers(self, step: Step) -> tuple[Query, ...]:
        """List the queries that are read from a step."""
        return self._readers.get(step.query.name, ())

    @cached_property
    def _readers(self) -> Mapping[str, tuple[Query, ...]]:
        readers: dict[str, list[Query]] = {}
        for read in self.reads:
            for name in read.steps:
                readers.setdefault(name, []).append(read.query)
        return {name: tuple(queries) for name, queries in readers.items()}

    @cached_property
    def reads_by_name(self) -> Mapping[str, Read]:
        """The reads by the names of their queries."""
        return {read.query.name: read for read in self.reads}

    @cached_property
    def queries_by_table(self) -> Mapping[str, tuple[Query, ...]]:
        """The queries of each table, in the order of the release."""
        tables: dict[str, list[Query]] = {}
        for read in self.reads:
            tables.setdefault(read.query.table, []).append(read.query)
        return {table: tuple(queries) for table, queries in tables.items()}

    @cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        """Queries and steps that combined figures tie together."""
        combined = (read for read in self.reads if read.reading is Reading.COMBINED)
        return group_strategies((read.query.name, read.steps) for read in combined)


class NoisyTable(Struct, frozen=True):
    """Released integers by query name: ``values[name][i][cell]``. Safe to publish.

    ``keys`` holds, for each table with private keys, the selected ones in order; its cells.
    """

    values: Mapping[str, tuple[tuple[int, ...], ...]]
    keys: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
