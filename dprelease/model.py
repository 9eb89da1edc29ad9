"""The vocabulary: every frozen value that flows through the pipeline.

Standard library only. ``Release`` is what the spec says, ``Plan`` what will be done,
``AggregateRequest`` what an engine is asked, ``ExactTable`` what it answers (never shown to
anyone), ``NoisyTable`` what may be published.

Two units run through everything: a *value* is what people read (euros, days), a *grid integer*
``k`` stands for the value ``k * grid.step``. Everything private is counted in grid integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import prod

from dprelease.errors import Complaint, Place


class Adjacency(StrEnum):
    """Which two tables count as neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


class ColumnType(StrEnum):
    """Declared type of a column."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


NUMERIC_TYPES = frozenset(
    {ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DECIMAL, ColumnType.BOOLEAN}
)


@dataclass(frozen=True, slots=True)
class Grid:
    """The public lattice of a numeric column: values ``k * step`` with ``lower <= k <= upper``."""

    step: Fraction
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """K, the number of steps from the lower to the upper bound."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> int:
        """The largest absolute grid integer one record can hold."""
        return max(abs(self.lower), abs(self.upper))


@dataclass(frozen=True, slots=True)
class Expression:
    """A row-local SQL expression that passed the whitelist; ``columns`` are those it reads."""

    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column.

    Texts (``keys``, ``edges``, ``null_value``) are canonical: integers without sign or leading
    zeros but a minus, decimals in plain notation, booleans ``true``/``false``, dates
    ``YYYY-MM-DD``, timestamps ``YYYY-MM-DD HH:MM:SS[.ffffff]``.
    ``null_value`` None means that records with a null are dropped from what uses the column.
    """

    name: str
    type: ColumnType
    grid: Grid | None = None
    step_chosen: bool = False
    keys: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    other: str | None = None
    null_value: str | None = None
    expression: Expression | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written; declared or defaulted, never sniffed."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ("",)
    header: bool = True
    names: tuple[str, ...] | None = None
    strip: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Where the table is: ``pattern`` is an absolute file, glob or directory."""

    pattern: str
    format: str  # "csv" | "parquet"
    dialect: Dialect = field(default_factory=Dialect)


@dataclass(frozen=True, slots=True)
class Data:
    """The ``[data]`` section."""

    source: Source
    written_path: str  # as the spec writes it, {period} filled in; part of the identity
    engine: str = "duckdb"
    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class About:
    """The ``[release]`` section."""

    name: str
    title: str | None = None
    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    region: str | None = None
    sector: str | None = None
    approved_by: str | None = None


@dataclass(frozen=True, slots=True)
class Privacy:
    """The ``[privacy]`` section. ``epsilon`` None and ``rho`` None: the queries state their own."""

    unit: str  # "row"
    adjacency: Adjacency
    unit_description: str | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    accounting: str = "auto"  # "auto" | "pure" | "zcdp"


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The ``[ledger]`` section, defaults filled in; ``path`` is absolute."""

    path: str
    dataset: str
    epsilon_cap: Fraction | None = None
    delta_cap: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """The ``[output]`` section; ``path`` is absolute."""

    path: str
    format: str = "csv"  # "csv" | "parquet"
    interval: Fraction = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Group:
    """One public grouping column of a query: it maps each record to a label, or to none.

    Exactly one of ``keys`` (declared values) and ``edges`` (bins: half-open, the last one closed)
    is set. ``labels`` are the published labels in order: the keys or bins, then ``other``.
    Undeclared values go to ``other`` if set, else the record belongs to no cell; nulls go to
    ``null_label`` if set (one of ``labels``), else to no cell.
    """

    column: str
    type: ColumnType
    labels: tuple[str, ...]
    keys: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    other: str | None = None
    null_label: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One ``[[query]]``. Budget: ``epsilon`` (and ``delta``), ``rho``, or else ``weight``."""

    name: str
    statistic: str
    table: str
    groups: tuple[Group, ...] = ()
    column: Column | None = None
    where: Expression | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    weight: Fraction = Fraction(1)
    mechanism: str = "auto"  # "auto" | "laplace" | "gaussian"
    number: int = 0  # position in the spec, from 0

    @property
    def cells(self) -> int:
        """Number of cells of the cross product of the groups (1 when there are none)."""
        return prod(len(group.labels) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Release:
    """A whole validated spec. ``places`` maps dotted key paths to where they stand."""

    file: str
    about: About
    data: Data
    privacy: Privacy
    ledger: LedgerSettings
    columns: Mapping[str, Column]
    queries: tuple[Query, ...]
    output: Output
    report_formats: tuple[str, ...] = ("md", "json")
    period: str | None = None
    warnings: tuple[Complaint, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, repr=False, compare=False)

    def place(self, key: str) -> Place | None:
        """Where the dotted key path stands, or its nearest enclosing table."""
        while key:
            if key in self.places:
                return self.places[key]
            cut = max(key.rfind("."), key.rfind("["))
            key = key[:cut] if cut > 0 else ""
        return Place(self.file, 1, 1) if self.places else None


# --- what an engine is asked -------------------------------------------------------------------


class MeasureKind(StrEnum):
    """RECORDS: number of records; VALUES: number of records with a value; SUM: sum of their k."""

    RECORDS = "records"
    VALUES = "values"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A numeric column put on its grid: ``k = clamp(round(x / step), lower, upper)``.

    Nulls, NaN and unreadable values become ``null_fill`` (a grid integer inside the bounds) or,
    when it is None, the record has no value. Infinities clamp to the bounds.
    """

    column: str
    grid: Grid
    null_fill: int | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One exact integer for each cell, over the records of the cell for which ``where`` is true."""

    kind: MeasureKind
    quantity: Quantity | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column that the request reads: from the file, or computed when ``expression`` is set."""

    name: str
    type: ColumnType
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class AggregateRequest:
    """One table of exact integers: every cell of the cross product of ``groups``, row-major."""

    source: Source
    inputs: tuple[InputColumn, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]

    @property
    def cells(self) -> int:
        """Number of cells (1 when there are no groups)."""
        return prod(len(group.labels) for group in self.groups)


class ExactTable:
    """Exact aggregates: one sequence of integers per measure, one integer per cell.

    Private. It shows nothing of itself, can't be pickled, and has no equality.
    """

    __slots__ = ("_measures",)

    def __init__(self, measures: Sequence[Sequence[int]]) -> None:
        self._measures = tuple(measures)

    def reveal(self) -> tuple[Sequence[int], ...]:
        """The integers themselves: called by ``privatize`` and by tests of engines only."""
        return self._measures

    def __repr__(self) -> str:
        return "<ExactTable: private>"

    def __reduce__(self) -> str:
        raise TypeError("exact aggregates are never serialised")


# --- what will be done -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Worst change of the released integers between neighbours, over all cells together.

    ``coordinates`` is how many released integers can change at once. ``shapes``, where not
    empty, says more: every change is, up to order and signs of its entries, entry by entry at
    most one of the shapes.
    """

    l1: int
    l2_squared: int
    coordinates: int
    shapes: tuple[tuple[int, ...], ...] = ()
    derivation: str = ""


class NoiseFamily(StrEnum):
    """NONE is for integers that are the same in all neighbouring tables."""

    NONE = "none"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True)
class Noise:
    """A discrete law on the integers, independent for each released integer.

    LAPLACE: ``parameter`` is the scale s, P(k) proportional to exp(-abs(k)/s).
    GAUSSIAN: ``parameter`` is sigma squared, P(k) proportional to exp(-k^2/(2 sigma^2)).
    NONE: ``parameter`` is 0.
    """

    family: NoiseFamily
    parameter: Fraction


@dataclass(frozen=True, slots=True)
class Loss:
    """Privacy loss: (epsilon, delta)-DP, and rho-zCDP where known. Upper bounds, all of them."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One query as it will be executed.

    For each cell the released integers are ``transform @ measures`` (row i, column j: integer
    coefficient of measure j in released integer i); each gets independent noise.
    ``unit[i]`` is the value of one integer step of released integer i.
    """

    query: Query
    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...]
    unit: tuple[Fraction, ...]
    sensitivity: Sensitivity
    noise: Noise
    loss: Loss


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run will do, fixed before any data is opened.

    ``loss`` is what is charged, composed by ``method``; ``basic`` is the plain sum for comparison.
    """

    release: Release
    steps: tuple[Step, ...]
    loss: Loss
    method: str
    basic: Loss
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Released integers by query name: ``values[name][i][cell]``. Safe to publish."""

    values: Mapping[str, tuple[tuple[int, ...], ...]]


# --- what is published -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a published table. ``kind``: "key", "integer", "number" or "text".

    The values of a "number" column are fixed-point integers: ``v`` stands for
    ``v * 10**-decimals``, and exactly ``decimals`` places are printed.
    None is a missing value. ``query`` names the query it belongs to, if any.
    """

    name: str
    kind: str
    values: Sequence[str | int | None]
    description: str
    decimals: int = 0
    query: str | None = None
    type: ColumnType | None = None  # of a key


@dataclass(frozen=True, slots=True)
class OutputTable:
    """A published table: rows in declared key order, all cells of the public domain present."""

    name: str
    columns: tuple[OutputColumn, ...]
    title: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0
