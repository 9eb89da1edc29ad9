"""The sections of a spec: their keys, and what each takes.

Every key may be absent as far as this table goes: it is then its default, which is None unless it
stands here. ``remedy`` marks the keys that are missed when absent, ``LATER`` the keys, and
``later`` the words, that belong to the format but not to this version.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from dprelease.engines.registry import ENGINES
from dprelease.spec.schema.fields import (
    flag,
    line,
    mechanisms,
    option,
    quantiles,
    safe_name,
    scalar,
    scalars,
    text,
    texts,
    truth,
    weights,
)
from dprelease.spec.schema.numbers import (
    bound,
    budget,
    confidence,
    exact,
    interval,
    picks,
    probability,
    selection_delta,
    weight,
    within,
)
from dprelease.spec.schema.sections import Choice, Key, Section, nested

Accounting = Literal["auto", "pure", "zcdp", "pld"]
Format = Literal["csv", "parquet"]
Mechanism = Literal["auto", "laplace", "gaussian", "exponential"]
Neighbours = Literal["add-remove", "replace-one"]
PartStatistic = Literal["sum", "count"]
TypeName = Literal["integer", "float", "decimal", "string", "boolean", "date", "timestamp"]
Unit = Literal["row", "column"]


class ReleaseSection(Section):
    """``[release]``: who publishes what, and why."""

    name = Key(safe_name, remedy='name the release, for example name = "staff-pay-2026"')
    title = Key(line)
    curator = Key(line)
    contact = Key(line)
    purpose = Key(text)
    region = Key(line)
    sector = Key(line)
    approved_by = Key(line)


class DataSection(Section):
    """``[data]``: where the table is and how its CSV is written."""

    path = Key(
        line, remedy="say where the data is: a file, glob or directory, relative to the spec"
    )
    format = Choice[Format | None](Format, None)
    engine = Choice[str](ENGINES, "duckdb", later=("spark",))
    snapshot = Key(line)
    delimiter = Key(option)
    quote = Key(option)
    encoding = Key(option)
    null_values = Key(texts)
    header = Key(flag)
    names = Key(texts)
    strip = Key(flag)


class BoundingSection(Section):
    """``[privacy.bounding]``: how many rows of one unit count, and in how many groups."""

    max_rows_per_unit = Key(
        bound, remedy="how many rows of one unit count in a table; those beyond are left out"
    )
    max_groups_per_unit = Key(bound)  # missed by ``spec.units`` where a query can have groups
    max_rows_per_unit_per_group = Key(bound)


read_bounding = nested(BoundingSection)


class PrivacySection(Section):
    """``[privacy]``: what is protected, and with how much budget."""

    unit = Choice[Unit | None](
        Unit, None, remedy="say what one protected thing is; there is no default"
    )
    unit_column = Key(line)
    unit_description = Key(line)
    adjacency = Choice[Neighbours | None](
        Neighbours,
        None,
        remedy='say which tables count as neighbours: "add-remove" or "replace-one"',
    )
    epsilon = Key(budget)
    delta = Key(probability)
    rho = Key(budget)
    accounting = Choice[Accounting](Accounting, "auto")
    bounding = Key(read_bounding)


class LedgerSection(Section):
    """``[ledger]``: where spending is written down, and how much there may be."""

    path = Key(line)
    dataset = Key(line)
    epsilon_cap = Key(budget)
    delta_cap = Key(probability)
    witness = Key(line)
    disjoint_periods = Key(flag)


class ColumnSection(Section):
    """``[columns.NAME]``: what is publicly known of a column."""

    type = Choice[TypeName | None](
        TypeName, None, remedy="integer, float, decimal, string, boolean, date or timestamp"
    )
    lower = Key(scalar)
    upper = Key(scalar)
    step = Key(exact)
    keys = Key(scalars)
    keys_file = Key(line)
    other = Key(line)
    nulls = Key(scalar)
    bins = Key(scalars)
    expression = Key(text)
    source = Key(text)


class SelectionSection(Section):
    """``partition_selection``: how keys that are not public are selected."""

    delta = Key(
        selection_delta,
        remedy="the chance that a key of one unit alone is shown, such as delta = 1e-8",
    )
    epsilon = Key(budget)


read_selection = nested(SelectionSection)


class PartSection(Section):
    """The numerator or denominator of a ratio: a sum of a column, or a count."""

    column = Key(line)
    where = Key(text)
    statistic = Choice[PartStatistic | None](PartStatistic, None)


class Half(NamedTuple):
    """A numerator or denominator; ``short``: written as nothing but its condition."""

    section: PartSection
    short: bool


_read_table = nested(PartSection)


def read_half(value: object) -> Half:
    """Read a numerator or denominator: a condition, or a table."""
    if isinstance(value, str):
        return Half(PartSection.read({"where": text(value)})[0], short=True)
    return Half(_read_table(value), short=False)


class AccuracySection(Section):
    """``accuracy``: how large the noise of a query may be; the budget follows from that."""

    within = Key(
        within, remedy="how far the noise may move a figure, in its own unit, such as within = 10"
    )
    confidence = Key(confidence)
    records = Key(bound)


read_accuracy = nested(AccuracySection)


class QuerySection(Section):
    """``[[query]]``: one statistic."""

    LATER = frozenset(
        {
            "attributes", "consistent", "bandwidth", "points", "columns", "integer", "nonnegative",
            "hide_below", "flag_unreliable_at",
        }
    )  # fmt: skip
    name = Key(safe_name, remedy="it becomes the name of the published column")
    statistic = Key(line, remedy="such as count, sum, mean, quantile or histogram")
    by = Key(texts)
    column = Key(line)
    bins = Key(scalars)
    where = Key(text)
    q = Key(quantiles)
    k = Key(picks)
    candidates = Key(scalars)
    candidates_file = Key(line)
    score = Key(text)
    score_upper = Key(exact)
    score_step = Key(exact)
    numerator = Key(read_half)
    denominator = Key(read_half)
    partition_selection = Key(read_selection)
    epsilon = Key(budget)
    delta = Key(probability)
    rho = Key(budget)
    weight = Key(weight)
    accuracy = Key(read_accuracy)
    mechanism = Choice[Mechanism](Mechanism, "auto")
    table = Key(safe_name)


# What can be given by another key instead.
INSTEAD = {"candidates": "candidates_file"}

# Keys of a query that only some statistics take (``SpecKeys`` says which), with examples.
OWN_KEYS = {
    "q": "q = 0.5, or a list such as q = [0.25, 0.5, 0.75]",
    "k": "how many values to name, such as k = 3",
    "candidates": "the values to choose from: numbers or texts; or candidates_file",
    "candidates_file": "a file with one candidate a line",
    "score": 'score = "...": what a record adds to the score of `candidate`',
    "score_upper": "the most that one record can add to a score",
    "score_step": "leave it out",
    "numerator": 'numerator = { column = "..." } for a sum, or a condition for a count',
    "denominator": 'denominator = { column = "..." } for a sum, or a condition for a count',
}

LATER_STATISTICS = frozenset({"marginals", "density"})


class PerturbSection(Section):
    """``[[perturb]]``: a record-level table in the local model."""

    name = Key(safe_name, remedy="it becomes the name of the table")
    columns = Key(texts, remedy="list the columns of the table, each declared in [columns.NAME]")
    mechanism = Key(mechanisms)
    epsilon = Key(budget)
    delta = Key(probability)
    truth = Key(truth)
    weights = Key(weights)


class OutputSection(Section):
    """``[output]``: where the release is written."""

    path = Key(line, remedy="name a directory for the tables and the report, relative to the spec")
    format = Choice[Format](Format, "csv")
    interval = Key(interval)


class ReportSection(Section):
    """``[report]``: which reports are written."""

    formats = Key(texts)
