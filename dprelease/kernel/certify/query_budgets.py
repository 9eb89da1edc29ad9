"""Whether steps cost no more than their queries state, where a spec gives them budgets.

Without a total nothing else holds what is spent. Queries that share steps state it together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.certify.record_tables import added
from dprelease.kernel.certify.rules import AtMost, Breach, Rules, breaches
from dprelease.model import Loss, Plan
from dprelease.model.strategies import Strategy, tied


def budget_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps cost beyond what the queries that are read from them state."""
    for strategy in tied((read.query.name, read.steps) for read in plan.reads):
        yield from breaches(STATED, _stated(plan, strategy), f'"{strategy.queries[0]}"')


class _Stated(Struct, frozen=True):
    """What the queries of some steps state that these may cost, and what the steps claim.

    None for what not all queries state: then it is a share of the total.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    claimed: Loss


def _stated(plan: Plan, strategy: Strategy) -> _Stated:
    queries = [query for query in plan.release.queries if query.name in strategy.queries]
    return _Stated(
        _sum_of([query.epsilon for query in queries]),
        _sum_of([query.rho for query in queries]),
        _sum_of([query.delta for query in queries]),
        added(step.loss for step in plan.steps if step.query.name in strategy.steps),
    )


def _sum_of(amounts: Sequence[Fraction | None]) -> Fraction | None:
    stated = [amount for amount in amounts if amount is not None]
    return sum(stated, Fraction(0)) if len(stated) == len(amounts) else None


STATED: Rules[_Stated] = (
    AtMost(
        "it costs no more epsilon than its queries state",
        lambda it: None if it.epsilon is None else (it.claimed.epsilon, it.epsilon),
    ),
    AtMost(
        "it costs no more rho than its queries state",
        lambda it: None if it.rho is None or it.claimed.rho is None else (it.claimed.rho, it.rho),
    ),
    AtMost(
        "it costs no more delta than its queries state",
        lambda it: None if it.delta is None else (it.claimed.delta, it.delta),
    ),
)
