"""What one mechanism does to the privacy loss, in the terms in which losses compose tightly.

An event is a promise about every pair of neighbouring tables, whatever was released before. Each
has a curve: the largest delta(g) = sup over sets S of P(S) - e^g Q(S), for every real g, where P
and Q are the laws of the output on two neighbouring tables, in either order. Composed curves are
bounded by composing, for each event, a pair of laws whose curve is nowhere below the event's (Zhu,
Dong and Wang 2022, "Optimal accounting of differential privacy via characteristic function").
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from dprelease.model.shift import Shift


class Laplace(Struct, frozen=True):
    """Discrete Laplace noise of ``scale`` on integers that move by at most ``l1`` in all."""

    scale: Fraction
    l1: int


class Gaussian(Struct, frozen=True):
    """Discrete Gaussian noise of ``sigma2`` on integers that move by ``shift``."""

    sigma2: Fraction
    shift: Shift


class Range(Struct, frozen=True):
    """Log-ratios of all outputs lie within an interval of length ``span`` (bounded range).

    The exponential mechanism: which interval it is may depend on the pair and on what was released
    before.
    """

    span: Fraction


class Pure(Struct, frozen=True):
    """epsilon-DP, and nothing more is known: permute-and-flip."""

    epsilon: Fraction


class Approximate(Struct, frozen=True):
    """(epsilon, delta)-DP, and nothing more is known: the selection of private keys."""

    epsilon: Fraction
    delta: Fraction


Event = Laplace | Gaussian | Range | Pure | Approximate
Counted = tuple[Event, int]
"""An event and how many times it occurs."""
