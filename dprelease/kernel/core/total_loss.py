"""What all steps of a plan lose together, by our own arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.core import additive_loss
from dprelease.kernel.core.chapters import Chapters
from dprelease.kernel.core.rules import AtMost, Breach, Rule, Rules, find_breaches
from dprelease.model import Loss, Plan
from dprelease.model.key_thresholds import add_failures, is_selecting_by_epsilon
from dprelease.model.strategies import group_strategies

_ZERO = Fraction(0)


def find_total_loss_breaches(plan: Plan, chapters: Chapters) -> Iterator[Breach]:
    """Give what all steps cost together beyond the claim, and the claim beyond what is declared."""
    records = add_losses(step.loss for step in plan.records)
    losses = add_losses([*(step.loss for step in plan.steps), records])
    yield from find_breaches(TOTAL, _Total(plan, chapters, losses, records), "the total")


def add_losses(losses: Iterable[Loss]) -> Loss:
    """Give the sum of losses; with a rho if all have one."""
    several = list(losses)
    rhos = [loss.rho for loss in several if loss.rho is not None]
    return Loss(
        sum((loss.epsilon for loss in several), Fraction(0)),
        sum((loss.delta for loss in several), Fraction(0)),
        sum(rhos, Fraction(0)) if len(rhos) == len(several) else None,
    )


class _Total(Struct, frozen=True):
    """A plan, the plain sum of its losses, with a rho if all have one, and that of its records."""

    plan: Plan
    chapters: Chapters
    basic: Loss
    records: Loss

    @property
    def rho(self) -> Fraction | None:
        """The sum of all rhos."""
        return self.basic.rho

    @property
    def claimed_rhos(self) -> list[Fraction]:
        """The rhos that the plan claims, or that the spec declares."""
        rhos = self.plan.loss.rho, self.plan.release.privacy.rho
        return [rho for rho in rhos if rho is not None]


def _is_composition_confirmed(total: _Total) -> bool:
    """Confirm the composed loss.

    What selects private keys decides which cells the other steps have. Whatever it decides, these
    together are private as if the cells had been given; so the two losses add up: epsilon and
    delta, or of approximate zCDP the delta but for which it is one of the others. These compose by
    any of three arguments. The fourth takes all steps at once (``chapters``), by what they do to
    the distribution of the privacy loss. Record-level tables are added to that.
    """
    plan = total.plan
    if not plan.steps:
        return True
    epsilon = plan.loss.epsilon - total.records.epsilon
    delta = plan.loss.delta - total.records.delta
    selecting = add_losses(step.loss for step in plan.steps if is_selecting_by_epsilon(step))
    others = [step.loss for step in plan.steps if not is_selecting_by_epsilon(step)]
    rest = epsilon - selecting.epsilon, delta - selecting.delta - add_failures(plan.steps)
    if min(rest) >= 0 and _is_within_sums(others, *rest):
        return True
    return total.chapters.composes(plan, epsilon, delta)


def _is_within_sums(losses: Sequence[Loss], epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether losses compose to (epsilon, delta) by plain sums, by their rhos, or by both."""
    total = add_losses(losses)
    if total.epsilon <= epsilon and total.delta <= delta:
        return True
    if delta == 0 or total.rho is None:
        return False
    if additive_loss.bound_zcdp_delta(total.rho, epsilon) <= delta:
        return True
    # the pure ones added, the others by their rho
    pure = add_losses(loss for loss in losses if loss.delta == 0)
    rho = sum((loss.rho or _ZERO for loss in losses if loss.delta > 0), _ZERO)
    remaining = epsilon - pure.epsilon
    return remaining > 0 and additive_loss.bound_zcdp_delta(rho, remaining) <= delta


def _read_declared_epsilon(total: _Total) -> tuple[Fraction, Fraction] | None:
    privacy = total.plan.release.privacy
    if privacy.rho is not None or privacy.epsilon is None:
        return None
    return total.plan.loss.epsilon, privacy.epsilon


def _read_declared_delta(total: _Total) -> tuple[Fraction, Fraction] | None:
    privacy = total.plan.release.privacy
    if privacy.rho is not None or privacy.epsilon is None:
        return None
    return total.plan.loss.delta, privacy.delta


def _is_stating_plain_sum(total: _Total) -> bool:
    """Tell whether the plain sum is stated: to the ledger only steps of such a plan can fail."""
    claim, basic = total.plan.basic, total.basic
    sums = (claim.epsilon, claim.delta) == (basic.epsilon, basic.delta)
    return sums and claim.rho in {None, basic.rho}


def _is_added_as_stated(total: _Total) -> bool:
    loss, basic = total.plan.loss, total.basic
    if total.plan.method == "basic":
        return basic.epsilon <= loss.epsilon and basic.delta <= loss.delta
    return total.plan.method in {"mixed", "zcdp", "pld"}


TOTAL: Rules[_Total] = (
    Rule(
        "every step has a rho if the total has one",
        lambda case: case.rho is not None or not case.claimed_rhos,
    ),
    AtMost(
        "all steps cost no more rho than is claimed and declared",
        lambda case: (
            (
                case.rho,
                min([rho for rho in case.claimed_rhos if not case.rho <= rho] or case.claimed_rhos),
            )
            if case.rho is not None and case.claimed_rhos
            else None
        ),
    ),
    AtMost(
        "record-level tables cost no more epsilon than the total",
        lambda case: (case.records.epsilon, case.plan.loss.epsilon),
    ),
    AtMost(
        "record-level tables cost no more delta than the total",
        lambda case: (case.records.delta, case.plan.loss.delta),
    ),
    Rule(
        "all steps together cost no more epsilon and delta than the plan claims",
        _is_composition_confirmed,
    ),
    AtMost("the total claims no more epsilon than is declared", _read_declared_epsilon),
    AtMost("the total claims no more delta than is declared", _read_declared_delta),
    Rule("the plain sum that the plan states is the sum of all losses", _is_stating_plain_sum),
    Rule(
        "the losses are added if the plan says so, and otherwise composed by a known method",
        _is_added_as_stated,
    ),
)


# --- what queries state ---------------------------------------------------------------------------

# Whether steps cost no more than their queries state, where a spec gives them budgets.
#
# Without a total nothing else holds what is spent. Queries that share steps state it together.


def find_budget_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps cost beyond what the queries that are read from them state."""
    stating = {query.name: query for query in plan.release.queries}
    claims: dict[str, list[Loss]] = {}
    for step in plan.steps:
        claims.setdefault(step.query.name, []).append(step.loss)
    for strategy in group_strategies((read.query.name, read.steps) for read in plan.reads):
        queries = [stating[name] for name in strategy.queries if name in stating]
        stated = _Stated(
            _sum_amounts([query.epsilon for query in queries]),
            _sum_amounts([query.rho for query in queries]),
            _sum_amounts([query.delta for query in queries]),
            add_losses(loss for name in strategy.steps for loss in claims.get(name, ())),
        )
        yield from find_breaches(STATED, stated, f'"{strategy.queries[0]}"')


class _Stated(Struct, frozen=True):
    """What the queries of some steps state that these may cost, and what the steps claim.

    None for what not all queries state: then it is a share of the total.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    claimed: Loss


def _sum_amounts(amounts: Sequence[Fraction | None]) -> Fraction | None:
    stated = [amount for amount in amounts if amount is not None]
    return sum(stated, Fraction(0)) if len(stated) == len(amounts) else None


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
