"""Share of a cell's records for which a condition is true, with their number for free.

A proportion is a mean of zeros and ones, with K = 1: it releases how many records meet the
condition and how many don't. A record for which the condition is null is in neither count, as a
null is in no mean. Every record is in at most one of the two, so both counts get the whole budget
at once: see ``two_sums``. With survey weights both are sums of weights.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.model import Measure, MeasureKind, OutputColumn, Part, Query, Step
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.fitted_count import KNOTS, CountTogether
from dprelease.postprocess.intervals.fixed_point import choose_places
from dprelease.postprocess.intervals.quotient_intervals import divide_by_totals
from dprelease.statistics.shared.spec_keys import Details, QueryReader
from dprelease.statistics.shared.statistic import (
    Noisy,
    Released,
    SpecKeys,
    Spell,
    build_weight,
    conjoin,
    weight_step,
)
from dprelease.statistics.shared.two_sums import Scale, TwoSums, build_count_columns

_ONE = Fraction(1)


class Proportion(TwoSums):
    """The share of a cell's records that meet the numerator's condition.

    It is a share of the records for which the condition is known, not null. In releases of versions
    up to 0.2, whose queries have no ``among``, it is a share of all records.
    """

    name = "proportion"
    word = "spec_words.statistic.proportion"
    definition = "statistics.proportion.definition.of_known"
    what = "statistics.proportion.what_of_known"
    what_weighted = "statistics.proportion.what_of_known_weighted"
    keys = SpecKeys(where_is_numerator=True)
    has_feature = True
    example_error = "statistics.error.at_records"
    behind = "statistics.proportion.count"
    behind_weighted = "statistics.proportion.count_weighted"
    compared_with = ("statistics.proportion.reference", Fraction(1, 2))

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the condition; the share is among the records for which it is known."""
        text = spec.read_where()
        if text is None:
            spec.note_missing("where", "the condition whose share of the records is asked for")
        where = spec.read_condition(text, "where")
        if where is None:
            return None
        # Read like any other: it may be too long or too deep where the condition itself is not.
        among = spec.read_condition(f"({where.text}) IS NOT NULL", "where")
        if among is None:
            return None
        return Details(numerator=Part(None, where), denominator=Part(), among=among)

    def describe_meaning(self, query: Query) -> Text:
        """Describe the share and the records that it is a share of."""
        if query.among is not None:
            return super().describe_meaning(query)
        if query.survey_weight is None:
            return sentence("statistics.proportion.what")
        return sentence("statistics.proportion.what_weighted")

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define the share by its condition, and the records that it is a share of."""
        if query.numerator is None or query.numerator.where is None:
            raise ValueError("a proportion has a condition")
        of_all = "statistics.proportion.definition.of_all"
        key = of_all if query.among is None else self.definition
        return (sentence(key, condition=spell(query.numerator.where)),)

    def scale(self, query: Query) -> Scale:
        """Return the scale from 0 to 1."""
        return Scale(Fraction(0), _ONE, 1, choose_places(_ONE), self.describe_meaning(query))

    def define_release(self, query: Query) -> Released:
        """Define two integers for each cell: records that meet the condition, and that do not."""
        if query.numerator is None:
            raise ValueError("a proportion has a condition")
        weight, unit = build_weight(query), weight_step(query)
        true, among = (
            Measure(MeasureKind.RECORDS, None, conjoin(query.where, where), survey_weight=weight)
            for where in (query.numerator.where, query.among)
        )
        # Sealed integers name the transform they were made by. That of a share among all records
        # has another order, so that integers of the one are never read as the other.
        if query.among is None:
            return Released((true, among), ((1, 0), (-1, 1)), (unit, unit))
        return Released((among, true), ((0, 1), (1, -1)), (unit, unit))

    def build_joint_columns(
        self, step: Step, noisy: Noisy, interval: Fraction, together: CountTogether
    ) -> list[OutputColumn]:
        """Publish a share whose records are those of other shares; see ``fitted_count``."""
        fit, own, totals, width = together
        alpha = 1 - interval
        share, half = divide_by_totals(
            [width * (a - b) + total for a, b, total in zip(*noisy, totals, strict=True)],
            [2 * total for total in totals],
            2 * width,
            lambda knot: fit.bound_share_noise(own, alpha, knot),
            KNOTS,
        )
        behind = self.name_sentence_behind(step.query)
        meaning = sentence(
            "statistics.proportion.fitted_count", count=sentence(behind, name=step.query.name)
        )
        counts = [(2 * total + width) // (2 * width) for total in totals]
        error = math.floor(fit.bound_count_noise(alpha) + Fraction(1, 2))
        return [
            *self.share_columns(step, share, half, interval),
            *build_count_columns(step, counts, error, interval, meaning),
        ]

    def explain_step(self, step: Step) -> Text:
        """Explain which records the share is a share of."""
        if step.query.among is None:
            return sentence("statistics.proportion.of_all")
        return sentence("statistics.proportion.of_known")
