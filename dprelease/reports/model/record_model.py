"""The facts of record-level tables as values: laws, errors and estimates.

As in ``model.report_model``, fields have the names and the order of the keys of report.json.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Number = int | float


def extend_schema(description: str | None = None, **more: object) -> Meta:
    """Say more of a field in the JSON Schema of reports than its type does.

    Nothing of it is checked when a report is read: another version may have written it.
    """
    return Meta(description=description, extra_json_schema=more)


Exact = Annotated[str, extend_schema(pattern="^-?[0-9]+/[0-9]+$")]
Digest = Annotated[str, extend_schema(pattern="^[0-9a-f]{64}$")]


def _name_key(field: str) -> str:
    return field.rstrip("_")


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_name_key):
    """A part of report.json. The names of ``with_`` and ``asked_`` have no `_` there."""


class Asked(Fact, frozen=True, kw_only=True):
    """What the spec asks of a record-level table, exactly."""

    epsilon: str | None
    delta: Exact
    truth: str | None


class Labels(Fact, frozen=True, kw_only=True):
    """The labels that a cell may hold."""

    type: str
    labels: Annotated[tuple[str, ...], extend_schema(minItems=1)]
    keys: int | None
    bins: tuple[str, ...] | None
    other: str | None
    null_label: str | None
    separator: str | None


class NumberGrid(Fact, frozen=True, kw_only=True):
    """The grid of a numeric column, in steps."""

    step: Exact
    lower: int
    upper: int
    null_fill: int | None


class ResponseWindow(Fact, frozen=True, kw_only=True):
    """The levels of a piecewise response."""

    levels: int
    width: int
    ratio: str
    gap: str


class SubsetResponse(Fact, frozen=True, kw_only=True, tag_field="law", tag="subset"):
    """The law of an answer of labels."""

    labels: int
    size: int
    keep: str


class LaplaceResponse(Fact, frozen=True, kw_only=True, tag_field="law", tag="laplace"):
    """The law of an answer with Laplace noise."""

    scale: str


class WindowsResponse(Fact, frozen=True, kw_only=True, tag_field="law", tag="windows"):
    """The law of a piecewise response."""

    share: str
    windows: tuple[ResponseWindow, ...]


ResponseLaw = SubsetResponse | LaplaceResponse | WindowsResponse


class Truth(Fact, frozen=True, kw_only=True):
    """The chance that an answer holds the true label, and a given other one."""

    own: Number
    given_other: Number
    labels_in_answer: Annotated[int, extend_schema(minimum=1)]


class RecordsHalfwidth(Fact, frozen=True, kw_only=True):
    """The half-width of an estimate from so many records."""

    records: Annotated[int, extend_schema(minimum=1)]
    halfwidth: Annotated[Number, extend_schema(minimum=0)]


class AnswerError(Fact, frozen=True, kw_only=True):
    """What an answer errs; see ``table_facts.answer_error``."""

    of: Annotated[str, extend_schema(enum=["chance", "distance"])]
    expected: Annotated[Number, extend_schema(minimum=0)]
    floor: Annotated[Number, extend_schema(minimum=0)]
    deviation: Annotated[Number, extend_schema(minimum=0)]
    typical_deviation: Annotated[Number, extend_schema(minimum=0)]
    halfwidths: tuple[RecordsHalfwidth, ...]
    scale: Number | None
    classical_scale: Number | None


class RecordColumn(Fact, frozen=True, kw_only=True):
    """One column of a record-level table: how it is perturbed, and what its answers err."""

    name: str
    mechanism: Annotated[
        str, extend_schema(enum=["randomized-response", "subset-selection", "laplace", "piecewise"])
    ]
    epsilon: Annotated[Number, extend_schema(minimum=0)]
    epsilon_exact: Exact
    delta: Annotated[Number, extend_schema(minimum=0)]
    delta_exact: Exact
    weight: Exact
    null_chosen: bool
    labels: Labels | None
    grid: NumberGrid | None
    law: ResponseLaw
    truth: Truth | None
    error: AnswerError
    explained: tuple[str, ...]


class LabelEstimate(Fact, frozen=True, kw_only=True):
    """The estimated share and number of the records with a label."""

    label: str
    share: Number
    share_lower: Number
    share_upper: Number
    number: Number
    number_lower: Number
    number_upper: Number


class Frequencies(Fact, frozen=True, kw_only=True):
    """The estimates of a column with labels."""

    column: str
    labels: tuple[LabelEstimate, ...]


class MeanEstimate(Fact, frozen=True, kw_only=True):
    """The estimated mean and sum of a numeric column."""

    column: str
    mean: Number
    mean_lower: Number
    mean_upper: Number
    sum: Number
    sum_lower: Number
    sum_upper: Number


class CrossCell(Fact, frozen=True, kw_only=True):
    """The estimated share and number of the records with two labels."""

    labels: Annotated[tuple[str, ...], extend_schema(minItems=2, maxItems=2)]
    share: Number
    share_lower: Number
    share_upper: Number
    number: Number
    number_lower: Number
    number_upper: Number


class CrossTable(Fact, frozen=True, kw_only=True):
    """The estimates of a pair of columns."""

    columns: Annotated[tuple[str, ...], extend_schema(minItems=2, maxItems=2)]
    cells: tuple[CrossCell, ...]


class Estimates(Fact, frozen=True, kw_only=True):
    """All that is estimated from a record-level table."""

    rows: Annotated[int, extend_schema(minimum=0)]
    interval: Number
    frequencies: tuple[Frequencies, ...]
    means: tuple[MeanEstimate, ...]
    crosses: tuple[CrossTable, ...]


class RecordTable(Fact, frozen=True, kw_only=True):
    """A record-level table. What has a default is known once the records are drawn."""

    name: str
    model: Annotated[str, extend_schema(const="local")]
    rows_per_unit: Annotated[int, extend_schema(minimum=1)]
    epsilon: Annotated[Number, extend_schema(minimum=0)]
    epsilon_exact: Exact
    delta: Annotated[Number, extend_schema(minimum=0)]
    delta_exact: Exact
    asked_: Asked
    columns: Annotated[tuple[RecordColumn, ...], extend_schema(minItems=1)]
    file: str | None = None
    format: Annotated[str | None, extend_schema(enum=["csv", "parquet"])] = None
    sha256: Annotated[str | None, extend_schema(pattern="^[0-9a-f]{64}$")] = None
    bytes: Annotated[int | None, extend_schema(minimum=0)] = None
    rows: Annotated[int | None, extend_schema(minimum=0)] = None
    estimates: Estimates | None = None
    explained: tuple[str, ...]
