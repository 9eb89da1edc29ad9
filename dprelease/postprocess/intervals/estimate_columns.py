"""The columns of an estimate: value, half-width of its noise interval, flag, and its ends.

The ends are published where not every value is possible, and are clamped to the possible values: an
interval that held the true figure still does.

Tables in which no figure can be told from noise are named, often the sign of a spec that does not
match the data. This reads published figures only, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from dprelease.model import AS_RELEASED, OutputColumn, OutputTable
from dprelease.model.outputs import OK, UNRELIABLE
from dprelease.model.queries import name_column
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.postprocess.intervals.number_text import write_percent

UNRELIABLE_AT = AS_RELEASED.flag_unreliable_at
"""A value is flagged low_reliability if its noise half-width is more than this share of it."""


class Layout(Struct, frozen=True):
    """How an estimate is published: name of the query, decimal places, meaning, interval level."""

    name: str
    places: int
    meaning: Text
    interval: Fraction


class Ends(NamedTuple):
    """The ends of intervals, by cell; None where nothing can be told from noise."""

    low: Sequence[int | None]
    high: Sequence[int | None]


def clip_intervals(
    values: Sequence[int | None],
    halves: Sequence[int | None],
    minimum: int | None = None,
    maximum: int | None = None,
) -> Ends:
    """Compute the ends of the intervals around values, moved into the possible range."""
    pairs = list(zip(values, halves, strict=True))
    ends = (
        [None if v is None or h is None else v + sign * h for v, h in pairs] for sign in (-1, 1)
    )
    low, high = (_clip(of_all, minimum, maximum) for of_all in ends)
    return Ends(low, high)


def _clip(
    values: Sequence[int | None], minimum: int | None, maximum: int | None
) -> Sequence[int | None]:
    if minimum is not None:
        values = [value if value is None or value > minimum else minimum for value in values]
    if maximum is not None:
        values = [value if value is None or value < maximum else maximum for value in values]
    return values


def end_columns(
    name: str, query: str, places: int, interval: Fraction, ends: Ends
) -> list[OutputColumn]:
    """Build the columns ``_low`` and ``_high`` of a figure's intervals, in 10^-places."""
    kind, level = "number" if places else "integer", write_percent(interval)
    low = sentence("tables.columns.low", level=level, name=name)
    high = sentence("tables.columns.high", level=level, name=name)
    return [
        OutputColumn(f"{name}_low", kind, ends.low, low, places, query),
        OutputColumn(f"{name}_high", kind, ends.high, high, places, query),
    ]


def estimate_columns(
    layout: Layout,
    values: Sequence[int | None],
    halves: Sequence[int | None] | int,
    ends: Ends | None = None,
) -> list[OutputColumn]:
    """Build the columns of an estimate: value, half-width, flag, and ends if they are published.

    Values and half-widths are in 10^-places, by cell, None where nothing can be told from noise;
    one half-width may serve all cells.
    """
    name, places = name_column(layout.name), layout.places
    kind = "number" if places else "integer"
    if isinstance(halves, int):
        # One noise law serves all cells, so one half-width does too.
        halves = [halves] * len(values)
    flags = flag_values(values, halves, UNRELIABLE_AT)
    level = write_percent(layout.interval)
    return [
        OutputColumn(name, kind, values, layout.meaning, places, layout.name),
        OutputColumn(
            f"{name}_noise_moe",
            kind,
            halves,
            sentence("tables.columns.noise_moe_alone", level=level, name=name),
            places,
            layout.name,
        ),
        OutputColumn(
            f"{name}_flag", "text", flags, flag_meaning(name, UNRELIABLE_AT), 0, layout.name
        ),
        *(() if ends is None else end_columns(name, layout.name, places, layout.interval, ends)),
    ]


def flag_values(
    values: Sequence[int | None], halves: Sequence[int | None], share: Fraction
) -> list[str]:
    """Flag values that are unknown or whose half-width exceeds that share of them."""
    top, bottom = share.numerator, share.denominator
    return [
        UNRELIABLE if value is None or half is None or half * bottom > abs(value) * top else OK
        for value, half in zip(values, halves, strict=True)
    ]


def flag_meaning(name: str, share: Fraction) -> Sentence:
    """Describe the column of an estimate's flags."""
    return sentence("flags.estimate", share=write_percent(share), name=name)


def find_blank_figures(table: OutputTable) -> list[str]:
    """Find the number columns whose figures all lie within their noise of zero.

    A figure of which nothing is known counts as such. Columns without a half-width are left out.
    """
    halves = {column.figure: column for column in table.columns if column.aspect == "_noise_moe"}
    return [
        column.name
        for column in table.columns
        if not column.aspect
        and column.kind != "text"
        and (half := halves.get(column.name)) is not None
        and column.query == half.query
        and all(
            not (isinstance(value, int) and isinstance(size, int)) or abs(value) <= size
            for value, size in zip(column.values, half.values, strict=True)
        )
    ]
