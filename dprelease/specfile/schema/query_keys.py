"""The tables within a ``[[query]]``, and how keys that statistics declare are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from dprelease.specfile.keys.fields import (
    read_line,
    read_names,
    read_quantiles,
    read_scalars,
    read_sets,
    read_text,
    read_ways,
    read_weighed_alike,
)
from dprelease.specfile.keys.number_texts import (
    read_bandwidth,
    read_budget,
    read_confidence,
    read_exact,
    read_halfwidth,
    read_picks,
    read_points,
    read_positive,
    read_record_number,
    read_selection_delta,
    read_whole_number,
)
from dprelease.specfile.keys.section_reader import (
    Choice,
    Key,
    Section,
    build_schema_ref,
    build_table_reader,
    takes,
)
from dprelease.statistics.shared import spec_keys as kinds
from dprelease.statistics.shared.spec_keys import Kind
from dprelease.statistics.statistic_registry import list_own_keys

NormName = Literal["l1", "l2"]
PartStatistic = Literal["sum", "count"]


class SelectionSection(Section, header="partition_selection = { ... }"):
    WORDS = (
        "Which groups without public keys are shown: those whose noisy count reaches a threshold. "
        "One selection applies to the whole table and uses its `count` (`count_units` if the unit "
        "is a column). A table without such a query gets `<table>_rows` or `<table>_units`, unless "
        "the number of values of a `mean` selects."
    )

    delta = Key(
        read_selection_delta,
        "the chance that a group of a single unit is shown",
        remedy="write the chance that a key of a single unit is shown, such as delta = 1e-8",
    )
    epsilon = Key(
        read_budget,
        "the budget of the count that selects, if it states none itself",
        "the count's own",
    )


read_selection = build_table_reader(SelectionSection)


class PartSection(Section, header="numerator = { ... }, denominator = { ... }"):
    WORDS = (
        "What a `ratio` divides: the sum of a column or, without a column, the number of records."
    )

    column = Key(read_line, "the column that is summed; it needs bounds")
    where = Key(read_text, "which records count", "all records")
    statistic = Choice[PartStatistic | None](
        PartStatistic, None, "`sum` or `count`", "sum with a column, else count"
    )


class Half(NamedTuple):
    """A numerator or denominator; ``short``: written as nothing but its condition."""

    section: PartSection
    short: bool


@takes(
    "condition, or table, see below",
    {"oneOf": [{"type": "string", "pattern": r"\S"}, build_schema_ref(PartSection)]},
)
def read_half(value: object) -> Half:
    """Read a numerator or denominator: a condition, or a table."""
    if isinstance(value, str):
        return Half(PartSection.read({"where": read_text(value)})[0], short=True)
    return Half(build_table_reader(PartSection)(value), short=False)


class AccuracySection(Section, header="accuracy = { ... }"):
    WORDS = "How large the noise of a query may be; the budget follows from that."

    within = Key(
        read_halfwidth,
        "the largest noise, in the unit of the figure; for a choice in scores, for a quantile in "
        "ranks",
        remedy="write how far the noise may move a figure, in its own unit, such as within = 10",
    )
    confidence = Key(
        read_confidence, "how often the noise must be within that, 0.5 to below 1", "0.95"
    )
    records = Key(
        read_record_number,
        "for means, shares, ratios and variances: the number of records for which the target "
        "holds, if their values are spread evenly over the bounds",
    )


read_accuracy = build_table_reader(AccuracySection)


class ClipSection(Section, header="bounding = { ... }"):
    WORDS = (
        "Of a sum or count, where the unit is a column: all rows of a person count, and what they "
        "add to all groups together is scaled down to a norm of at most `bound`. The limits of "
        "`[privacy.bounding]` then hold for the other queries."
    )

    clip = Choice[NormName | None](
        NormName,
        None,
        "the norm of a person's totals: `l1`, their absolute values added up, or `l2`, the root "
        "of their squares added up, for Gaussian noise",
        remedy='write the norm, clip = "l1", or clip = "l2" for Gaussian noise',
    )
    bound = Key(
        read_positive,
        "the largest norm, in the unit of the figure, from a public rule; a smaller one needs less "
        "noise and takes more off the figures",
        remedy="write the largest norm of a person's totals, such as bound = 500",
    )


read_clip = build_table_reader(ClipSection)


READERS: Mapping[Kind[Any], Callable[[object], object]] = {
    kinds.WHOLE_NUMBER: read_whole_number,
    kinds.NUMBER_OF_VALUES: read_picks,
    kinds.NUMBER: read_exact,
    kinds.POSITIVE_NUMBER: read_positive,
    kinds.BANDWIDTHS: read_bandwidth,
    kinds.CURVE_POINTS: read_points,
    kinds.QUANTILES: read_quantiles,
    kinds.LINE: read_line,
    kinds.EXPRESSION: read_text,
    kinds.VALUES: read_scalars,
    kinds.COLUMNS: read_names,
    kinds.SETS_OF_COLUMNS: read_sets,
    kinds.WAYS: read_ways,
    kinds.WEIGHED_ALIKE: read_weighed_alike,
    kinds.PART_OF_RATIO: read_half,
    kinds.CLIP_OF_PEOPLE: read_clip,
}
"""How a value of each kind is read."""


def read_own_keys() -> dict[str, Key[Any]]:
    """Make the section's keys of those that statistics declare."""
    return {
        name: Key(READERS[own.kind], own.meaning, own.absent)
        for name, own in list_own_keys().items()
    }
