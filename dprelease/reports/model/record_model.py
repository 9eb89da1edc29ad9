"""The facts of record-level tables as values: laws, errors and estimates.

As in ``model.report_model``, fields have the names and the order of the keys of report.json.
"""

from __future__ import annotations

from msgspec import Struct

Number = int | float


class Fact(Struct, frozen=True, kw_only=True):
    """A part of report.json."""


class Asked(Fact, frozen=True, kw_only=True):
    """What the spec asks of a record-level table, exactly."""

    epsilon: str | None
    delta: str
    truth: str | None


class Labels(Fact, frozen=True, kw_only=True):
    """The labels that a cell may hold."""

    type: str
    labels: tuple[str, ...]
    keys: int | None
    bins: tuple[str, ...] | None
    other: str | None
    null_label: str | None
    separator: str | None


class NumberGrid(Fact, frozen=True, kw_only=True):
    """The grid of a numeric column, in steps."""

    step: str
    lower: int
    upper: int
    null_fill: int | None


class ResponseWindow(Fact, frozen=True, kw_only=True):
    """The levels of a piecewise response."""

    levels: int
    width: int
    ratio: str
    gap: str


class SubsetResponse(Fact, frozen=True, kw_only=True):
    """The law of an answer of labels; ``law`` is "subset"."""

    law: str
    labels: int
    size: int
    keep: str


class LaplaceResponse(Fact, frozen=True, kw_only=True):
    """The law of an answer with Laplace noise; ``law`` is "laplace"."""

    law: str
    scale: str


class WindowsResponse(Fact, frozen=True, kw_only=True):
    """The law of a piecewise response; ``law`` is "windows"."""

    law: str
    share: str
    windows: tuple[ResponseWindow, ...]


ResponseLaw = SubsetResponse | LaplaceResponse | WindowsResponse


class Truth(Fact, frozen=True, kw_only=True):
    """The chance that an answer holds the true label, and a given other one."""

    own: Number
    given_other: Number
    labels_in_answer: int


class RecordsHalfwidth(Fact, frozen=True, kw_only=True):
    """The half-width of an estimate from so many records."""

    records: int
    halfwidth: Number


class AnswerError(Fact, frozen=True, kw_only=True):
    """What an answer errs; see ``record_tables.answer_error``."""

    of: str
    expected: Number
    floor: Number
    deviation: Number
    typical_deviation: Number
    halfwidths: tuple[RecordsHalfwidth, ...]
    scale: Number | None
    classical_scale: Number | None


class RecordColumn(Fact, frozen=True, kw_only=True):
    """One column of a record-level table: how it is perturbed, and what its answers err."""

    name: str
    mechanism: str
    epsilon: Number
    epsilon_exact: str
    delta: Number
    delta_exact: str
    weight: str
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

    labels: tuple[str, ...]
    share: Number
    share_lower: Number
    share_upper: Number
    number: Number
    number_lower: Number
    number_upper: Number


class CrossTable(Fact, frozen=True, kw_only=True):
    """The estimates of a pair of columns."""

    columns: tuple[str, ...]
    cells: tuple[CrossCell, ...]


class Estimates(Fact, frozen=True, kw_only=True):
    """All that is estimated from a record-level table."""

    rows: int
    interval: Number
    frequencies: tuple[Frequencies, ...]
    means: tuple[MeanEstimate, ...]
    crosses: tuple[CrossTable, ...]


class RecordTable(Fact, frozen=True, kw_only=True):
    """A record-level table. What has a default is known once the records are drawn."""

    name: str
    model: str
    rows_per_unit: int
    epsilon: Number
    epsilon_exact: str
    delta: Number
    delta_exact: str
    asked_: Asked
    columns: tuple[RecordColumn, ...]
    file: str | None = None
    format: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    rows: int | None = None
    estimates: Estimates | None = None
    explained: tuple[str, ...]
