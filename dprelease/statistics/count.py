"""Number of records by cell."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Measure, MeasureKind, Query, Read, Reading
from dprelease.privacy.sensitivity import COUNT, Scalar
from dprelease.statistics.shared.one_integer import Single
from dprelease.statistics.shared.spec_keys import (
    BOUNDING,
    COLUMNS,
    Details,
    OwnKey,
    QueryReader,
)
from dprelease.statistics.shared.statistic import (
    Released,
    SharedSums,
    Sharing,
    SpecKeys,
    build_weight,
    weight_step,
)
from dprelease.statistics.shared.survey_weights import apply_weight

LEVELS = OwnKey(
    "levels",
    COLUMNS,
    "of a count: columns from coarse to fine; a table for each, of it and all before it, with "
    "those of `by` first",
    example='write columns from coarse to fine, such as levels = ["state", "county"]',
)


class Count(Single):
    """The number of records, released as one integer for each cell."""

    name = "count"
    word = "spec_words.statistic.count"
    definition = "statistics.count.definition"
    what = "words.number_of_records"
    what_weighted = "statistics.count.what_weighted"
    keys = SpecKeys(may=(BOUNDING, LEVELS))
    sharing: Sharing | None = Sharing(lead=0, linear=True, counts_rows=True)
    counts = "words.records"
    combines = True
    has_feature = True
    compared_with = ("statistics.count.reference", Fraction(1))
    selects_keys = True
    adds_up = True

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read what numbers of rows of people are scaled to; a histogram has no such key."""
        return Details(clip=spec.read_clip() if self.keys.has_key(BOUNDING.name) else None)

    def define_release(self, query: Query) -> Released:
        """Define one integer for each cell: its number of records, or the sum of their weights."""
        measure = Measure(MeasureKind.RECORDS, None, query.where, survey_weight=build_weight(query))
        return Released((measure,), unit=(weight_step(query),))

    def describe_row(self, query: Query) -> Scalar:
        """Describe the 1 that each row adds, or its weight."""
        return apply_weight(COUNT, query)

    def plan_shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Add up the sums of values, and of nulls: each record adds the same to all together."""
        rows = (*sums.rows, len(sums.rows)) if sums.counts_nulls else sums.rows
        factors = (Fraction(1, sums.width),) * len(rows)
        screened = sums.counts_nulls and sums.screens
        return Read(query, sums.step, rows, Reading.LINEAR, factors, screened=screened)
