"""What will be done, and the noisy integers that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dprelease.model.queries import Query
from dprelease.model.release import Release
from dprelease.model.requests import Measure


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Worst change of the released integers between neighbours, over all cells together.

    ``coordinates`` is how many released integers can change at once. ``shapes``, where not
    empty, says more: every change is, up to order and signs of its entries, entry by entry at
    most one of the shapes.
    """

    l1: int
    l2_squared: int
    coordinates: int
    shapes: tuple[tuple[int, ...], ...] = ()
    derivation: str = ""


class NoiseFamily(StrEnum):
    """NONE is for integers that are the same in all neighbouring tables."""

    NONE = "none"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True)
class Noise:
    """A discrete law on the integers, independent for each released integer.

    LAPLACE: ``parameter`` is the scale s, P(k) proportional to exp(-abs(k)/s).
    GAUSSIAN: ``parameter`` is sigma squared, P(k) proportional to exp(-k^2/(2 sigma^2)).
    NONE: ``parameter`` is 0.
    """

    family: NoiseFamily
    parameter: Fraction


@dataclass(frozen=True, slots=True)
class Loss:
    """Privacy loss: (epsilon, delta)-DP, and rho-zCDP where known. Upper bounds, all of them."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One query as it will be executed.

    For each cell the released integers are ``transform @ measures`` (row i, column j: integer
    coefficient of measure j in released integer i); each gets independent noise.
    ``unit[i]`` is the value of one integer step of released integer i.
    """

    query: Query
    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...]
    unit: tuple[Fraction, ...]
    sensitivity: Sensitivity
    noise: Noise
    loss: Loss


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run will do, fixed before any data is opened.

    ``loss`` is what is charged, composed by ``method``; ``basic`` is the plain sum for comparison.
    """

    release: Release
    steps: tuple[Step, ...]
    loss: Loss
    method: str
    basic: Loss
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Released integers by query name: ``values[name][i][cell]``. Safe to publish."""

    values: Mapping[str, tuple[tuple[int, ...], ...]]
