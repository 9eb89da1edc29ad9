"""The best linear unbiased estimates of tables from tables with noise, over the same records.

A table over the groups A is a sum of components, one for each set B of its groups: what is left of
the table over B after centring it along each axis, spread evenly over the cells that agree in B.
Components of different sets are orthogonal, and independent noise of one variance stays
uncorrelated between them. So each component is estimated for itself: by every released table that
has its groups, added up over its other groups and centred, with weights in inverse proportion to
the variance that this has, which is that of the noise times the number of cells (generalized least
squares; as in Barak et al. 2007 and Hay et al. 2010 for single cases).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from math import prod

from dprelease.model import Group, Term

Groups = frozenset[Group]

DIGITS = 6
"""Weights are rounded to so many places, so that they add up to exactly 1."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Tables to estimate, and the groups of those that are released as they are."""

    tables: Sequence[Groups]
    released: Sequence[tuple[Group, ...]]

    def figures(self, variances: Sequence[float]) -> Mapping[Groups, Sequence[Term]]:
        """Give the terms of each table's figures; steps are named by the place of their table.

        ``variances``: those of the noise of the released tables.
        """
        weights = [self._weights(groups, variances) for groups in self.released]
        return {table: list(self._terms(table, weights)) for table in self.tables}

    def _weights(
        self, groups: Sequence[Group], variances: Sequence[float]
    ) -> Mapping[Groups, Fraction]:
        """The weight of a released table in the estimate of each of its components."""
        place = self.released.index(tuple(groups))
        made = {}
        for component in _subsets(groups):
            having = [at for at, other in enumerate(self.released) if component <= set(other)]
            inverse = [1 / (variances[at] * _labels(self.released[at])) for at in having]
            shares = [round(part / sum(inverse) * 10**DIGITS) for part in inverse]
            shares[0] += 10**DIGITS - sum(shares)
            made[component] = Fraction(shares[having.index(place)], 10**DIGITS)
        return made

    def _terms(self, table: Groups, weights: Sequence[Mapping[Groups, Fraction]]) -> Iterator[Term]:
        """A component over B centred is the sum over C in B of (-1)^|B - C| times cells over C."""
        for place, groups in enumerate(self.released):
            common = [group for group in groups if group in table]
            for agreeing in _subsets(common):
                factor = Fraction(0)
                for component in _subsets(common):
                    if agreeing <= component:
                        sign = (-1) ** len(component - agreeing)
                        factor += sign * weights[place][component]
                if factor:
                    places = tuple(at for at, group in enumerate(groups) if group in agreeing)
                    yield Term(str(place), factor / _labels(table - agreeing), 0, places)


def _labels(groups: Sequence[Group] | Groups) -> int:
    return prod(len(group.labels) for group in groups)


def _subsets(groups: Sequence[Group]) -> Iterator[Groups]:
    sizes = range(len(groups) + 1)
    return map(frozenset, chain.from_iterable(combinations(groups, size) for size in sizes))
