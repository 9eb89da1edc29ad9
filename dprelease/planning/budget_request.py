"""Budget requests: what each release asks of the total, and roots of weights to share it by."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from dprelease.model import Query

_NOTHING = Fraction(0)


class Demand(Struct, frozen=True):
    """The budget that a release asks for: epsilon (and delta), rho, accuracy targets, or a weight.

    Budgets of queries that share a release add up, and so do weights: they say how much the
    variance of a figure matters.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    weight: Fraction = Fraction(1)
    targeted: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of the request; only requests of one kind can be added up."""
        if self.targeted:
            return "accuracy"
        if self.rho is not None:
            return "rho"
        if self.epsilon is None:
            return "weight" if self.delta is None else "weight and delta"
        return "epsilon" if self.delta is None else "epsilon and delta"

    @property
    def is_stated(self) -> bool:
        """Return True if the budget is stated in numbers."""
        return self.epsilon is not None or self.rho is not None


def add_up_demand(queries: Sequence[Query]) -> Demand:
    """Add up the requests of queries; raise ValueError if they differ in kind."""
    single = [
        Demand(
            query.epsilon, query.delta, query.rho, query.weight, targeted=query.accuracy is not None
        )
        for query in queries
    ]
    if len({demand.kind for demand in single}) != 1:
        raise ValueError("demands of different kinds can't be added up")
    budgets = zip(*((query.epsilon, query.delta, query.rho) for query in queries), strict=True)
    epsilon, delta, rho = map(_sum_amounts, budgets)
    weight = sum((query.weight for query in queries), _NOTHING)
    return Demand(epsilon, delta, rho, weight, single[0].targeted)


def _sum_amounts(parts: Sequence[Fraction | None]) -> Fraction | None:
    amounts = [amount for amount in parts if amount is not None]
    return sum(amounts, _NOTHING) if amounts else None


_UNIT = 10**15


@lru_cache(maxsize=1024)
def compute_root(value: Fraction, degree: int) -> Fraction:
    """Compute the root of a number >= 0, rounded down to 15 places."""
    if value < 0 or degree < 1:
        raise ValueError("roots are taken of numbers that aren't negative")
    whole = value * _UNIT**degree
    radicand = whole.numerator // whole.denominator
    low, high = 0, 1 << -(-radicand.bit_length() // degree) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= radicand else (low, middle)
    return Fraction(low, _UNIT)
