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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import prod

from msgspec import Struct

from dprelease.model import Term

Axes = frozenset[int]

DIGITS = 6
"""Weights are rounded to so many places, so that they add up to exactly 1."""

_EXACT = 1e-30
"""Stands for the variance of a table without noise: all weight is on it."""


class Estimates(Struct, frozen=True):
    """Tables to estimate and tables that are released, each as the positions of its groups.

    ``sizes`` are the numbers of labels of all groups.
    """

    tables: Sequence[Axes]
    released: Sequence[Axes]
    sizes: Sequence[int]

    def build_figures(self, variances: Sequence[float]) -> Mapping[Axes, Sequence[Term]]:
        """Build the terms of each table's figures; steps are named by the position of their table.

        ``variances``: those of the noise of the released tables.
        """
        weights = {
            axes: _round_weights(weights)
            for axes, weights in self._compute_weights(variances).items()
        }
        return {table: list(self._iter_terms(table, weights)) for table in self.tables}

    def compute_amounts(self, variances: Sequence[float]) -> Mapping[Axes, Mapping[int, float]]:
        """Compute how much of the noise of each released table is in each table's figures."""
        amounts: dict[Axes, dict[int, float]] = {}
        weights = self._compute_weights(variances)
        for table in self.tables:
            shares = amounts.setdefault(table, {})
            for component in _iter_subsets(table):
                # Component B has the product of n - 1 over its groups as its share of all cells.
                parts = prod(self.sizes[at] - 1 for at in component) / self._count_cells(table) ** 2
                for place, weight in weights[component].items():
                    cells = self._count_cells(self.released[place])
                    shares[place] = shares.get(place, 0.0) + parts * weight**2 * cells
        return amounts

    def _count_cells(self, axes: Iterable[int]) -> int:
        return prod(self.sizes[place] for place in axes)

    def _compute_weights(self, variances: Sequence[float]) -> dict[Axes, dict[int, float]]:
        """Compute the weight of each released table in the estimates of its components."""
        inverse: dict[Axes, dict[int, float]] = {}
        for place, axes in enumerate(self.released):
            for component in _iter_subsets(axes):
                precision = 1 / ((variances[place] or _EXACT) * self._count_cells(axes))
                inverse.setdefault(component, {})[place] = precision
        return {
            component: {place: part / sum(parts.values()) for place, part in parts.items()}
            for component, parts in inverse.items()
        }

    def _iter_terms(
        self, table: Axes, weights: Mapping[Axes, Mapping[int, Fraction]]
    ) -> Iterator[Term]:
        """Give the terms of a table's figures."""
        for place, axes in enumerate(self.released):
            # A centred component over B is the sum over C in B of (-1)^|B - C| times the cells over
            # C.
            common = axes & table
            for agreeing in _iter_subsets(common):
                factor = Fraction(0)
                for extra_axes in _iter_subsets(common - agreeing):
                    factor += (-1) ** len(extra_axes) * weights[agreeing | extra_axes][place]
                if factor:
                    places = tuple(at for at, axis in enumerate(sorted(axes)) if axis in agreeing)
                    yield Term(str(place), factor / self._count_cells(table - agreeing), 0, places)


def _round_weights(weights: Mapping[int, float]) -> dict[int, Fraction]:
    """Round the weights to fractions that add up to 1."""
    parts = {place: round(weight * 10**DIGITS) for place, weight in weights.items()}
    parts[min(parts)] += 10**DIGITS - sum(parts.values())
    return {place: Fraction(part, 10**DIGITS) for place, part in parts.items()}


def _iter_subsets(axes: Iterable[int]) -> Iterator[Axes]:
    places = sorted(axes)
    sizes = range(len(places) + 1)
    return map(Axes, chain.from_iterable(combinations(places, size) for size in sizes))
