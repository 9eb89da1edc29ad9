"""The sections of a spec: their keys, and what each takes.

Every key may be absent as far as this table goes: it is then its default, which is None unless it
stands here. ``remedy`` marks the keys that are missed when absent, ``LATER`` the keys, and
``later`` the words, that belong to the format but not to this version.
"""

from __future__ import annotations

from typing import Literal

from dprelease.spec.fields import flag, line, option, safe_name, scalar, scalars, text, texts
from dprelease.spec.keys import Choice, Key
from dprelease.spec.numbers import budget, exact, probability
from dprelease.spec.sections import Section

Accounting = Literal["auto", "pure", "zcdp"]
Engine = Literal["duckdb"]
Format = Literal["csv", "parquet"]
Mechanism = Literal["auto", "laplace", "gaussian"]
Neighbours = Literal["add-remove", "replace-one"]
TypeName = Literal["integer", "float", "decimal", "string", "boolean", "date", "timestamp"]
Unit = Literal["row"]


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
    engine = Choice[Engine](Engine, "duckdb", later=("spark",))
    snapshot = Key(line)
    delimiter = Key(option)
    quote = Key(option)
    encoding = Key(option)
    null_values = Key(texts)
    header = Key(flag)
    names = Key(texts)
    strip = Key(flag)


class PrivacySection(Section):
    """``[privacy]``: what is protected, and with how much budget."""

    LATER = frozenset({"unit_column", "bounding"})
    unit = Choice[Unit | None](
        Unit,
        None,
        later=("column",),
        remedy="say what one protected thing is; there is no default",
    )
    unit_description = Key(line)
    adjacency = Choice[Neighbours | None](
        Neighbours,
        None,
        remedy='say which tables count as neighbours: "add-remove" or "replace-one"',
    )
    epsilon = Key(budget)
    delta = Key(probability)
    rho = Key(budget)
    accounting = Choice[Accounting](Accounting, "auto", later=("pld",))


class LedgerSection(Section):
    """``[ledger]``: where spending is written down, and how much there may be."""

    path = Key(line)
    dataset = Key(line)
    epsilon_cap = Key(budget)
    delta_cap = Key(probability)


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


class QuerySection(Section):
    """``[[query]]``: one statistic."""

    LATER = frozenset(
        {
            "accuracy", "partition_selection", "numerator", "denominator", "q", "k", "candidates",
            "score", "score_upper", "attributes", "consistent", "bandwidth", "points", "columns",
            "integer", "nonnegative", "hide_below", "flag_unreliable_at",
        }
    )  # fmt: skip
    name = Key(safe_name, remedy="it becomes the name of the published column")
    statistic = Key(line, remedy="count, sum, mean or histogram")
    by = Key(texts)
    column = Key(line)
    bins = Key(scalars)
    where = Key(text)
    epsilon = Key(budget)
    delta = Key(probability)
    rho = Key(budget)
    weight = Key(budget)
    mechanism = Choice[Mechanism](Mechanism, "auto", later=("exponential",))
    table = Key(safe_name)


class OutputSection(Section):
    """``[output]``: where the release is written."""

    path = Key(line, remedy="name a directory for the tables and the report, relative to the spec")
    format = Choice[Format](Format, "csv")
    interval = Key(exact)


class ReportSection(Section):
    """``[report]``: which reports are written."""

    LATER_FORMATS = frozenset({"html", "registry"})
    formats = Key(texts)
