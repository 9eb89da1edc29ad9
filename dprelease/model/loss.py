"""Sensitivity, noise and privacy loss: what a step claims of itself."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from dprelease.model.sentences import Text


class Sensitivity(Struct, frozen=True):
    """Worst change of the released integers between neighbours, over all cells together.

    ``coordinates``: how many released integers can change at once. ``shapes``, if there are any:
    every change is, up to order and signs of its entries, entry by entry at most one of them.
    """

    l1: int
    l2_squared: int
    coordinates: int
    shapes: tuple[tuple[int, ...], ...] = ()
    derivation: Text = ""
    monotone: bool = False  # of scores: neighbours move all of them in the same direction
    choice_l1: int = 0  # of scores: over all cells, each by its candidate that moves most
    cube: int = 0  # for CUBE noise: of each cell the largest change, added up over cells


class NoiseFamily(StrEnum):
    """A family of noise; NONE is for integers that are equal in all neighbouring tables."""

    NONE = "none"
    LAPLACE = "laplace"
    CUT_LAPLACE = "cut-laplace"
    STAIRCASE = "staircase"
    GAUSSIAN = "gaussian"
    CUBE = "cube"
    EXPONENTIAL = "exponential"
    PERMUTE_AND_FLIP = "permute-and-flip"


class Noise(Struct, frozen=True):
    """A discrete law on the integers, independent for each released integer; or of a choice.

    LAPLACE: P(k) proportional to exp(-abs(k)/s), ``parameter`` s. CUT_LAPLACE: up to ``reach``.
    STAIRCASE: P(k) proportional to exp(-level * stair/s). The level of k is abs(k) + stair - first
    over stair, rounded down: 0 for abs(k) < first, and 1 more with every ``stair`` further.
    GAUSSIAN: ``parameter`` is sigma squared, P(k) proportional to exp(-k^2/(2 sigma^2)).
    CUBE: ``integers`` of one cell are drawn together, P(z) proportional to exp(-max abs(z_i)/s).
    NONE: ``parameter`` is 0. EXPONENTIAL: ``parameter`` is the rate r of a choice, P(candidate)
    proportional to exp(r * score). PERMUTE_AND_FLIP: candidates in random order, the first that is
    accepted, each with probability exp(-r * (best score - score)).
    """

    family: NoiseFamily
    parameter: Fraction
    stair: int = 0
    first: int = 0
    integers: int = 0
    reach: int = 0


class Loss(Struct, frozen=True):
    """Privacy loss: (epsilon, delta)-DP, and rho-zCDP where known. Upper bounds, all of them."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
