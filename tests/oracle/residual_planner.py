r"""How much noise several marginals of one table need, if it is placed best: closed form.

Source: Xiao, He, Wang, Ding and Kifer 2023 (ResidualPlanner). Attributes i have n_i values. For a
set A of attributes that lies in one of the marginals asked for, the marginal A plus independent
Gaussian noise of variance sigma_A^2 a cell is centred along every axis; marginal B is the sum over
all A within B of what was centred, each number shared by the cells of B below it.

*Cost.* One person is one cell of A; centred, that vector has squared length
p_A = prod over A of (n_i - 1)/n_i. Centring is a projection, so mu^2 is the sum of p_A/sigma_A^2.
*Variance.* Of centred noise every cell has variance sigma_A^2 p_A, so a cell of B has the sum over
A within B of sigma_A^2 p_A prod over B\A of n_j^-2.
*Best.* Weighted by w_B and summed over all cells this is sum sigma_A^2 v_A, with
v_A = sum over B holding A of w_B cells_B p_A prod over B\A of n_j^-2. By Cauchy and Schwarz
(sum sigma_A^2 v_A)(sum p_A/sigma_A^2) >= (sum sqrt(v_A p_A))^2, with equality for

    sigma_A^2 = sqrt(p_A/v_A) sum sqrt(v p)/mu^2.

These are numbers to compare with, of continuous noise. No release uses them: it would need noise on
integers whose sums are exact, and marginals are not released together so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

from dprelease.privacy.interval_arithmetic import ZERO, bound_sqrt, round_up

Marginal = tuple[int, ...]
"""Places of attributes, rising."""


@dataclass(frozen=True, slots=True)
class Variances:
    """``sigma2`` of each centred marginal: upper bounds of 15 digits, so mu is not exceeded."""

    sizes: tuple[int, ...]
    sigma2: Mapping[Marginal, Fraction]

    def cell_variance(self, marginal: Marginal) -> Fraction:
        """The variance of every cell of a marginal that was asked for, or of a part of one."""
        return sum(
            (self.sigma2[part] * _effect(self.sizes, part, marginal) for part in _parts(marginal)),
            ZERO,
        )

    @property
    def mu_squared(self) -> Fraction:
        """What all of it costs: mu^2 of the Gaussian noise."""
        return sum(
            (_length(self.sizes, part) / sigma2 for part, sigma2 in self.sigma2.items() if sigma2),
            ZERO,
        )


def least_variances(
    sizes: Sequence[int], weights: Mapping[Marginal, Fraction | int], mu_squared: Fraction | int
) -> Variances:
    """The noise with the least weighted sum of all cells' variances, at this mu^2.

    ``weights`` are those of the marginals asked for. ValueError for an attribute without values, a
    marginal that isn't rising places of attributes, or a weight or mu^2 that isn't positive.
    """
    places = set(range(len(sizes)))
    if min(sizes, default=1) < 1 or mu_squared <= 0 or min(weights.values(), default=1) <= 0:
        raise ValueError("sizes, weights and mu squared must be positive")
    if any(list(part) != sorted(set(part) & places) for part in weights):
        raise ValueError("a marginal is a rising tuple of places of attributes")
    held = tuple(sizes)
    spread: dict[Marginal, Fraction] = {}
    for marginal, weight in weights.items():
        cells = weight * prod(held[place] for place in marginal)
        for part in _parts(marginal):
            spread[part] = spread.get(part, ZERO) + cells * _effect(held, part, marginal)
    lengths = {part: _length(held, part) for part in spread}
    total = sum((bound_sqrt(spread[part] * lengths[part])[1] for part in spread), ZERO)
    # An attribute of one value has nothing left when centred, and needs no noise.
    sigma2 = {
        part: round_up(bound_sqrt(lengths[part] / spread[part])[1] * total / mu_squared)
        if lengths[part]
        else ZERO
        for part in sorted(spread, key=lambda axes: (len(axes), axes))
    }
    return Variances(held, sigma2)


def _parts(marginal: Marginal) -> list[Marginal]:
    return [part for size in range(len(marginal) + 1) for part in combinations(marginal, size)]


def _length(sizes: tuple[int, ...], part: Marginal) -> Fraction:
    """P_A: the squared length of one cell of the part, centred."""
    return prod((Fraction(sizes[i] - 1, sizes[i]) for i in part), start=Fraction(1))


def _effect(sizes: tuple[int, ...], part: Marginal, marginal: Marginal) -> Fraction:
    """By what sigma_A^2 is multiplied in a cell of the marginal."""
    others = prod(sizes[place] for place in marginal if place not in part)
    return _length(sizes, part) / others**2
