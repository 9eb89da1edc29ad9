"""The sections of a spec as strict pydantic models: their keys, and the type of each value.

A key that is not required, or whose absence is judged together with other keys, is None when
absent. ``REQUIRED`` holds the remedy for each missing key, ``LATER`` the keys, and ``LATER_VALUES``
the values, that belong to the format but not to this version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from dprelease.spec.fields import (
    Budget,
    Delta,
    Flag,
    Line,
    Number,
    Option,
    SafeName,
    Scalar,
    Scalars,
    Text,
    Texts,
    Weight,
)


class Section(BaseModel):
    """A section of the spec: unknown keys are errors, and no value changes its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    REQUIRED: ClassVar[Mapping[str, str]] = {}
    LATER: ClassVar[frozenset[str]] = frozenset()
    LATER_VALUES: ClassVar[Mapping[str, frozenset[str]]] = {}


SectionType = TypeVar("SectionType", bound=Section)


class ReleaseSection(Section):
    """``[release]``: who publishes what, and why."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "name": 'name the release, for example name = "staff-pay-2026"'
    }
    name: SafeName | None = None
    title: Line | None = None
    curator: Line | None = None
    contact: Line | None = None
    purpose: Text | None = None
    region: Line | None = None
    sector: Line | None = None
    approved_by: Line | None = None


class DataSection(Section):
    """``[data]``: where the table is and how its CSV is written."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "path": "say where the data is: a file, glob or directory, relative to the spec"
    }
    LATER_VALUES: ClassVar[Mapping[str, frozenset[str]]] = {"engine": frozenset({"spark"})}
    path: Line | None = None
    format: Literal["csv", "parquet"] | None = None
    engine: Literal["duckdb"] = "duckdb"
    snapshot: Line | None = None
    delimiter: Option | None = None
    quote: Option | None = None
    encoding: Option | None = None
    null_values: Texts | None = None
    header: Flag | None = None
    names: Texts | None = None
    strip: Flag | None = None


class PrivacySection(Section):
    """``[privacy]``: what is protected, and with how much budget."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "unit": "say what one protected thing is; there is no default",
        "adjacency": 'say which tables count as neighbours: "add-remove" or "replace-one"',
    }
    LATER: ClassVar[frozenset[str]] = frozenset({"unit_column", "bounding"})
    LATER_VALUES: ClassVar[Mapping[str, frozenset[str]]] = {
        "unit": frozenset({"column"}),
        "accounting": frozenset({"pld"}),
    }
    unit: Literal["row"] | None = None
    unit_description: Line | None = None
    adjacency: Literal["add-remove", "replace-one"] | None = None
    epsilon: Budget | None = None
    delta: Delta | None = None
    rho: Budget | None = None
    accounting: Literal["auto", "pure", "zcdp"] = "auto"


class LedgerSection(Section):
    """``[ledger]``: where spending is written down, and how much there may be."""

    path: Line | None = None
    dataset: Line | None = None
    epsilon_cap: Budget | None = None
    delta_cap: Delta | None = None


class ColumnSection(Section):
    """``[columns.NAME]``: what is publicly known of a column."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "type": "integer, float, decimal, string, boolean, date or timestamp"
    }
    type: (
        Literal["integer", "float", "decimal", "string", "boolean", "date", "timestamp"] | None
    ) = None
    lower: Scalar | None = None
    upper: Scalar | None = None
    step: Number | None = None
    keys: Scalars | None = None
    keys_file: Line | None = None
    other: Line | None = None
    nulls: Scalar | None = None
    bins: Scalars | None = None
    expression: Text | None = None
    source: Text | None = None


class QuerySection(Section):
    """``[[query]]``: one statistic."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "name": "it becomes the name of the published column",
        "statistic": "count, sum, mean or histogram",
    }
    LATER: ClassVar[frozenset[str]] = frozenset(
        {
            "accuracy", "partition_selection", "numerator", "denominator", "q", "k", "candidates",
            "score", "score_upper", "attributes", "consistent", "bandwidth", "points", "columns",
            "integer", "nonnegative", "hide_below", "flag_unreliable_at",
        }
    )  # fmt: skip
    LATER_VALUES: ClassVar[Mapping[str, frozenset[str]]] = {"mechanism": frozenset({"exponential"})}
    name: SafeName | None = None
    statistic: Line | None = None
    by: Texts | None = None
    column: Line | None = None
    bins: Scalars | None = None
    where: Text | None = None
    epsilon: Budget | None = None
    delta: Delta | None = None
    rho: Budget | None = None
    weight: Weight | None = None
    mechanism: Literal["auto", "laplace", "gaussian"] = "auto"
    table: SafeName | None = None


class OutputSection(Section):
    """``[output]``: where the release is written."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "path": "name a directory for the tables and the report, relative to the spec"
    }
    path: Line | None = None
    format: Literal["csv", "parquet"] = "csv"
    interval: Number | None = None


class ReportSection(Section):
    """``[report]``: which reports are written."""

    LATER_VALUES: ClassVar[Mapping[str, frozenset[str]]] = {
        "formats": frozenset({"html", "registry"})
    }
    formats: Texts | None = None
