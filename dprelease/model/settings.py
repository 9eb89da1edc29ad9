"""The sections of a spec that are not columns or queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction


class Adjacency(StrEnum):
    """Which two tables count as neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


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
class Bounding:
    """``[privacy.bounding]``: what is kept of the rows of one unit, for each table.

    At most ``rows`` rows in all, in at most ``groups`` cells, at most ``per_group`` in one cell.
    """

    rows: int
    groups: int
    per_group: int


@dataclass(frozen=True, slots=True)
class Privacy:
    """The ``[privacy]`` section. ``epsilon`` None and ``rho`` None: the queries state their own.

    With unit "column", all rows of one value of ``unit_column`` are one unit, within ``bounding``.
    """

    unit: str  # "row" | "column"
    adjacency: Adjacency
    unit_description: str | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    accounting: str = "auto"  # "auto" | "pure" | "zcdp"
    unit_column: str | None = None
    bounding: Bounding | None = None


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The ``[ledger]`` section, defaults filled in; ``path`` and ``witness`` are absolute.

    ``witness`` None: beside the ledger. ``disjoint_periods``: each protected unit has records in
    one period only. ``written_path`` and ``written_witness`` are as the spec writes them, and so
    the same on every machine; None: not written by a spec.
    """

    path: str
    dataset: str
    epsilon_cap: Fraction | None = None
    delta_cap: Fraction | None = None
    witness: str | None = None
    disjoint_periods: bool = False
    written_path: str | None = None
    written_witness: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """The ``[output]`` section; ``path`` is absolute, ``written_path`` as the spec writes it."""

    path: str
    format: str = "csv"  # "csv" | "parquet"
    interval: Fraction = Fraction(95, 100)
    written_path: str | None = None
