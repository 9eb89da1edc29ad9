"""Whether steps cost no more than their queries state, where a spec gives them budgets.

Without a total nothing else holds what is spent. Queries that share steps state it together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.certify.record_tables import add_losses
from dprelease.kernel.certify.rules import AtMost, Breach, Rules, find_breaches
from dprelease.model import Loss, Plan
from dprelease.model.strategies import Strategy, group_strategies


def find_budget_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps cost beyond what the queries that are read from them state."""
    for strategy in group_strategies((read.query.name, read.steps) for read in plan.reads):
        yield from find_breaches(
            STATED, _find_stated_budget(plan, strategy), f'"{strategy.queries[0]}"'
        )


class _Stated(Struct, frozen=True):
    """What the queries of some steps state that these may cost, and what the steps claim.

    None for what not all queries state: then it is a share of the total.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    claimed: Loss


def _find_stated_budget(plan: Plan, strategy: Strategy) -> _Stated:
    queries = [query for query in plan.release.queries if query.name in strategy.queries]
    return _Stated(
        _sum_amounts([query.epsilon for query in queries]),
        _sum_amounts([query.rho for query in queries]),
        _sum_amounts([query.delta for query in queries]),
        add_losses(step.loss for step in plan.steps if step.query.name in strategy.steps),
    )


def _sum_amounts(amounts: Sequence[Fraction | None]) -> Fraction | None:
    summands = [amount for amount in amounts if amount is not None]
    return sum(summands, Fraction(0)) if len(summands) == len(amounts) else None


STATED: Rules[_Stated] = (
    AtMost(
        "it costs no more epsilon than its queries state",
        lambda case: None if case.epsilon is None else (case.claimed.epsilon, case.epsilon),
    ),
    AtMost(
        "it costs no more rho than its queries state",
        lambda case: (
            None if case.rho is None or case.claimed.rho is None else (case.claimed.rho, case.rho)
        ),
    ),
    AtMost(
        "it costs no more delta than its queries state",
        lambda case: None if case.delta is None else (case.claimed.delta, case.delta),
    ),
)
