"""Releases from which several figures of one column are read.

Count, sum and mean of a column follow from the two sums of a mean, and with the three sums of a
variance that as well (``statistics.shared``). One record adds
exactly K to the sums together (K^2 to the three), so the whole joint budget goes to one release.

*Records without a value* add nothing to these sums, but are counted: where the column may hold
nulls, one more sum adds K (K^2) for each of them, and nothing for the others. A record still adds
exactly K in all, to one sum more. See ``statistics.shared.read_release`` for what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.model import (
    Column,
    Measure,
    MeasureKind,
    Query,
    Read,
    Reading,
    Sensitivity,
)
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.base import (
    Neighbours,
    Released,
    SharedSums,
    Sharing,
    may_be_outside,
    moved,
    quantity,
)
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.three_sums import three_sums
from dprelease.statistics.shared.two_sums import two_sums


def sharing_of(query: Query) -> Sharing | None:
    """How the query's statistic is read from a shared release; None if it never is."""
    return statistic_of(query.statistic).sharing


def counts_rows(query: Query) -> bool:
    """Whether it is a count of records, which goes with any column and adds up over cells."""
    sharing = sharing_of(query)
    return sharing is not None and sharing.counts_rows


def _squared(query: Query) -> bool:
    sharing = sharing_of(query)
    return sharing is not None and sharing.squared


@dataclass(frozen=True, slots=True)
class Carrier:
    """A release for all of ``members``; ``lead`` lends it name, groups, filter and column.

    ``screens``: records without a value are left out of counts where they can't be told from noise.
    """

    lead: Query
    members: tuple[Query, ...]
    column: Column
    screens: bool = False

    @property
    def squared(self) -> bool:
        """Whether it has the three sums."""
        return any(map(_squared, self.members))

    @property
    def counts_nulls(self) -> bool:
        """Whether records without a value are counted by a sum of their own."""
        return self.column.null_value is None and any(map(counts_rows, self.members))

    @property
    def sums(self) -> SharedSums:
        """What its members need to know to be read from it."""
        grid, screens = quantity(self.column).grid, self.screens and not self.column.nulls_stated
        return SharedSums(self.lead.name, grid, self.squared, self.counts_nulls, screens)

    @property
    def width(self) -> int:
        """What one record adds to all sums together."""
        return self.sums.width

    def released(self) -> Released:
        """The sums, as combinations of measures; that of nulls is the last."""
        base = (three_sums if self.squared else two_sums)(self.lead)
        if not self.counts_nulls:
            return base
        records = Measure(MeasureKind.RECORDS, None, self.lead.where)
        values = [measure.kind is MeasureKind.VALUES for measure in base.measures]
        nulls = tuple(-self.width * value for value in values)
        return Released(
            (*base.measures, records),
            (*((*row, 0) for row in base.transform), (*nulls, self.width)),
            (*base.unit, base.unit[0]),
        )

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all sums together: of each record L1 = K, L2 at most K."""
        row = Vector(self.width, self.width**2, len(self.released().transform))
        outside = may_be_outside(self.lead, neighbours)
        return moved(self.lead, neighbours, row, outside=outside)

    def reads(self) -> tuple[Read, ...]:
        """How each member is read."""
        return tuple(self._read(member) for member in self.members)

    def variance(self, member: Query, neighbours: Neighbours) -> Fraction:
        """A member's variance at noise of scale L1 norm (a variance of 1 for each such scale).

        For a mean it is that of one record, at a share of one half.
        """
        l1 = self.sensitivity(neighbours).l1
        read = self._read(member)
        if read.reading is Reading.LINEAR:
            return sum((f * f for f in read.factors), Fraction(0)) * l1**2
        return _spread(member) * Fraction(l1, self.width) ** 2

    def _read(self, member: Query) -> Read:
        return statistic_of(member.statistic).shared_read(member, self.sums)


def alone(query: Query, neighbours: Neighbours) -> Fraction:
    """The variance of a figure released by itself, at noise of scale L1 norm."""
    statistic = statistic_of(query.statistic)
    l1 = statistic.sensitivity(query, neighbours).l1
    sharing = statistic.sharing
    if sharing is None or sharing.linear:
        return (l1 * statistic.released(query).unit[0]) ** 2
    width = quantity(query.column).grid.width
    added = width * width if sharing.squared else width
    return _spread(query) * Fraction(l1, added) ** 2


def _spread(query: Query) -> Fraction:
    """Of a mean (and, as good as any to compare itself with, a variance) of one record."""
    grid = quantity(query.column).grid
    return (grid.step * grid.width) ** 2 / 2


def gain(carrier: Carrier, fractions: Sequence[Fraction], neighbours: Neighbours) -> Fraction:
    """Weighted mean of what is left of each member's variance when they share a release.

    ``fractions``: of the joint intensity of noise, what each member would have alone.
    """
    whole = sum((member.weight for member in carrier.members), Fraction(0))
    remaining_variance = Fraction(0)
    for member, own in zip(carrier.members, fractions, strict=True):
        own_variance = alone(member, neighbours) / (own * own)
        remaining_variance += member.weight * carrier.variance(member, neighbours) / own_variance
    return remaining_variance / whole
