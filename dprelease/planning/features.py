"""Features of records: what several statistics of the same rows are made of, beside their number.

A feature is a number k in [lower, upper] of each record, on its grid: a value, or 1 where a record
meets a condition and 0 where it does not. With K = upper - lower it is released as

    2 sum of k - (lower + upper) V    and, if some record may have no k,    K (n - V),

with V the records that have one and n all. A record moves the first by at most K, whatever its k
is; without k it moves the second by K and the first not at all. So a record moves both together by
at most K, and features of one record move independently of each other: D features with widths K_i
move by the sum of K_i in all, and by the sum of K_i^2 in squares (Lebeda, "Better Gaussian
Mechanism using Correlated Noise", arXiv 2408.06853, has the case of conditions). The number n, one
for all of them, is released beside. What a statistic would release by itself is a fixed combination
of these integers and n: it is unbiased, and the noise of n is in it only as far as k is off centre.

A sum needs no V: a record without a value adds 0 to it, a number like any other.

Where the noise of all of them and of n is drawn together, each is multiplied so that all move by
about the same (``find_factors``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import Expression, Measure, MeasureKind, Query
from dprelease.statistics.shared.statistic import Released
from dprelease.statistics.statistic_registry import get_statistic

MOST_FACTOR = 10**4
"""What is multiplied moves by more than all but one in so many parts of what moves most."""


class Feature(Struct, frozen=True):
    """A number of each record, by the measure of its sum; ``known``: not every record has one."""

    total: Measure
    known: Measure | None
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """Return K, the most that a record moves the released integers by."""
        return self.upper - self.lower

    @property
    def unit(self) -> Fraction:
        """Return the value of one step of the released integers."""
        return Fraction(1) if self.total.quantity is None else self.total.quantity.grid.step

    @property
    def rows(self) -> int:
        """Return the number of integers that are released of it."""
        return 1 if self.known is None else 2


class Mix(NamedTuple):
    """So much of the two integers of a feature, by its place, and of the number of all records."""

    feature: int
    centred: Fraction
    missing: Fraction
    records: Fraction


def find_feature(query: Query) -> Feature | None:
    """Find the feature that a query's figures are made of; None if they are not."""
    statistic = get_statistic(query.statistic)
    # Version 0.2 took a share among all records, and planned none with others.
    is_old = query.numerator is not None and query.among is None
    if not statistic.has_feature or query.survey_weight is not None or is_old:
        return None
    measures = statistic.define_release(query).measures
    if query.column is not None and not statistic.combines:
        return _find_value(measures)
    # The others are counts, of a condition or of where it is known.
    known, total = (None, *measures)[-2:]
    return Feature(total, known, 0, 1) if total is not None else None


def _find_value(measures: Sequence[Measure]) -> Feature:
    """Find the feature of a column, of the measures of a sum or a mean."""
    total = next(measure for measure in measures if measure.kind is MeasureKind.SUM)
    known = next((measure for measure in measures if measure.kind is MeasureKind.VALUES), None)
    quantity = total.quantity
    if quantity is None:
        raise ValueError("a sum is of a quantity")
    lower, upper = quantity.grid.lower, quantity.grid.upper
    if quantity.null_fill is not None:
        return Feature(total, None, lower, upper)
    if known is not None:
        return Feature(total, known, lower, upper)
    return Feature(total, None, min(lower, 0), max(upper, 0))


def collect_features(queries: Sequence[Query]) -> tuple[Feature, ...]:
    """Collect the features of queries of the same rows, each sum once.

    Where one of two queries must know which records have a number, the other is told as well.
    """
    by_total: dict[Measure, Feature] = {}
    for query in queries:
        feature = find_feature(query)
        if feature is not None:
            other = by_total.get(feature.total)
            if other is None or other.known is None:
                by_total[feature.total] = feature
    return tuple(by_total.values())


def mix_parts(
    query: Query, feature: Feature, place: int, where: Expression | None
) -> tuple[Mix, ...]:
    """Express what a query's statistic would release by itself by a feature of its rows.

    ``place`` is that of the feature, ``where`` the filter that the rows pass. Returns a mix for
    each integer of the statistic.
    """
    released = get_statistic(query.statistic).define_release(query)
    worth = _express_measures(feature, place, where)
    mixes = [worth[measure] for measure in released.measures]
    return tuple(add_up_mixes(mixes, row) for row in released.transform)


def add_up_mixes(mixes: Sequence[Mix], factors: Sequence[Fraction | int]) -> Mix:
    """Add up mixes of one feature, each times its factor."""
    parts = zip(*(mix[1:] for mix in mixes), strict=True)
    sums = (
        sum((amount * factor for amount, factor in zip(part, factors, strict=True)), Fraction(0))
        for part in parts
    )
    return Mix(mixes[0].feature, *sums)


def _express_measures(
    feature: Feature, place: int, where: Expression | None
) -> Mapping[Measure, Mix]:
    """Express the measures of a feature by its integers and the number n of all records."""
    zero, one = Fraction(0), Fraction(1)
    records = known = Mix(place, zero, zero, one)
    if feature.known is not None:
        known = Mix(place, zero, Fraction(-1, feature.width), one)
    centre = Fraction(feature.lower + feature.upper, 2)
    total = Mix(place, one / 2, centre * known.missing, centre * known.records)
    worth = {feature.total: total, Measure(MeasureKind.RECORDS, None, where): records}
    if feature.known is not None:
        worth[feature.known] = known
    elif feature.total.quantity is not None and feature.total.quantity.null_fill is not None:
        worth[replace(feature.total, kind=MeasureKind.VALUES)] = records
    return worth


def define_feature_release(features: Sequence[Feature], where: Expression | None) -> Released:
    """Define the integers that are released of features of the rows that pass one filter."""
    records = Measure(MeasureKind.RECORDS, None, where)
    own = (measure for feature in features for measure in (feature.total, feature.known))
    measures = list(dict.fromkeys(measure for measure in own if measure is not None))
    measures = [*(measure for measure in measures if measure != records), records]
    place_of = {measure: place for place, measure in enumerate(measures)}
    transform: list[tuple[int, ...]] = []
    units: list[Fraction] = []
    for feature in features:
        row = [0] * len(measures)
        row[place_of[feature.total]] += 2
        row[place_of[feature.known or records]] -= feature.lower + feature.upper
        transform.append(tuple(row))
        units.append(feature.unit)
        if feature.known is not None:
            row = [0] * len(measures)
            row[place_of[records]] += feature.width
            row[place_of[feature.known]] -= feature.width
            transform.append(tuple(row))
            units.append(feature.unit)
    return Released(tuple(measures), tuple(transform), tuple(units))


def find_factors(widths: Sequence[int]) -> tuple[int, ...]:
    """Find factors with which numbers of these widths have the same width, or about the same.

    Args:
        widths: Positive widths.

    Returns:
        The factors of the least common multiple; if that is more than ``MOST_FACTOR`` times the
        largest width, the least ones for which no width is smaller by more than that part.
    """
    widest = max(widths)
    whole = lcm(*widths)
    if whole <= MOST_FACTOR * widest:
        return tuple(whole // width for width in widths)
    for times in range(1, MOST_FACTOR):
        most = times * widest
        if all(most % width * MOST_FACTOR <= most for width in widths):
            return tuple(most // width for width in widths)
    return tuple(MOST_FACTOR * widest // width for width in widths)
