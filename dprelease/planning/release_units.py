"""What is released at once, and what part of the noise each of its queries would have alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.model import Query, Read
from dprelease.planning.budget_request import Demand
from dprelease.planning.shared_sums import Carrier
from dprelease.planning.square_roots import root
from dprelease.statistics.base import Neighbours
from dprelease.statistics.registry import statistic_of


@dataclass(frozen=True, slots=True, eq=False)  # each is itself: thousands are looked up
class Unit:
    """What is released at once: for ``reads``, by ``lead`` or by a ``carrier`` in its place.

    ``demand`` is what the queries ask for together.
    """

    lead: Query
    reads: tuple[Read, ...]
    demand: Demand
    carrier: Carrier | None = None
    selects: bool = False

    @property
    def queries(self) -> tuple[Query, ...]:
        """All queries that are read from it."""
        return tuple(read.query for read in self.reads)


def moves(query: Query, neighbours: Neighbours) -> bool:
    """Whether any neighbour changes the figure: otherwise it needs no noise."""
    return statistic_of(query.statistic).sensitivity(query, neighbours).l1 > 0


def amount(demand: Demand) -> tuple[str, Fraction]:
    """What is asked for, as ``fractions`` takes it."""
    return demand.kind, demand.epsilon or demand.rho or demand.weight


def fractions(asked: Sequence[tuple[str, Fraction]], pure: bool) -> list[Fraction]:
    """What part of the joint intensity (sensitivity over noise) each would have by itself.

    Intensities add up where losses are pure, their squares where they are concentrated. Stated
    budgets are these already; weights give cube roots, or square roots: the least weighted
    variance (``shares``).
    """
    kinds = {kind for kind, _ in asked}
    amounts = [amount for _, amount in asked]
    if kinds == {"rho"}:
        parts = amounts
        return [root(part / sum(parts, Fraction(0)), 2) for part in parts]
    if kinds <= {"epsilon", "epsilon and delta", "accuracy"}:
        return [amount / sum(amounts, Fraction(0)) for amount in amounts]
    if pure:
        parts = [root(amount, 3) for amount in amounts]
        return [part / sum(parts, Fraction(0)) for part in parts]
    parts = [root(amount, 2) for amount in amounts]
    return [root(part / sum(parts, Fraction(0)), 2) for part in parts]
