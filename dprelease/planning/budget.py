"""Sharing a release's budget among its queries.

Queries with a budget of their own get it. What they leave of the total is shared among the
others by ``weight``: as epsilon where noise is Laplace, as rho where it is Gaussian. Queries that
no neighbour can change cost nothing and take no share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dprelease.model import Loss, Release
from dprelease.planning import noises
from dprelease.planning.draft import Choice, Draft
from dprelease.planning.selecting import selecting_queries, selection_delta
from dprelease.planning.selections import complain, has_own, selecting_loss, selections
from dprelease.privacy import zcdp
from dprelease.privacy.accounting import compose
from dprelease.privacy.enclosure import round_down

Choices = dict[str, Choice]

NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))
STATED_DELTA = Fraction(1, 10**6)
"""Where only rho is declared, epsilon is stated at this delta."""


@dataclass(frozen=True, slots=True)
class Total:
    """What a release may spend. ``epsilon`` and ``rho`` None: whatever its queries say."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    accounting: str

    def loss_of(self, losses: Sequence[Loss], selecting: Loss = NO_LOSS) -> tuple[Loss, str]:
        """Compose losses by the release's accounting; ValueError where it can't.

        Pure losses that fit into the total as they are stay pure: no delta is spent on them.
        ``selecting`` is what the selection of private keys costs, which is added as it is.
        """
        if selecting.epsilon:
            if self.accounting == "zcdp" or self.rho is not None:
                raise ValueError("the selection of keys has no rho")
            left = None if self.epsilon is None else self.epsilon - selecting.epsilon
            spare = max(self.delta - selecting.delta, Fraction(0))
            rest, method = Total(left, None, spare, self.accounting).loss_of(losses)
            whole = Loss(rest.epsilon + selecting.epsilon, rest.delta + selecting.delta)
            return whole, method
        pure = sum((loss.epsilon for loss in losses), Fraction(0))
        fits = self.epsilon is None or pure <= self.epsilon
        if self.accounting == "auto" and fits and all(loss.delta == 0 for loss in losses):
            return compose(losses, Fraction(0), "pure")
        return compose(losses, self.delta, self.accounting)


def total_of(release: Release) -> Total:
    """Read the total from the spec; a delta is taken for rho, and summed where left out."""
    privacy = release.privacy
    queries, selecting = release.queries, selecting_queries(release)
    delta, accounting = privacy.delta, privacy.accounting
    if delta == 0 and privacy.epsilon is None:
        delta = sum((query.delta or Fraction(0) for query in queries), Fraction(0))
        delta += sum(
            (selection_delta(query) for query in queries if query.name in selecting), Fraction(0)
        )
        if delta == 0 and (privacy.rho is not None or any(query.rho for query in queries)):
            delta = STATED_DELTA
    if privacy.rho is not None and accounting == "auto":
        accounting = "zcdp"
    return Total(privacy.epsilon, privacy.rho, delta, accounting)


def choices_of(release: Release, drafts: Sequence[Draft], total: Total) -> Choices:
    """Choose the noise of every query. Raises Failure when the total can't pay for it."""
    chosen: Choices = {draft.query.name: noises.NOTHING for draft in drafts if draft.free}
    chosen |= selections(release, drafts, total.epsilon)
    spent = selecting_loss(drafts, chosen)
    if total.epsilon is not None:
        total = replace(total, epsilon=total.epsilon - spent.epsilon)
    total = replace(total, delta=max(total.delta - spent.delta, Fraction(0)))
    paying = [draft for draft in drafts if draft.query.name not in chosen]
    shared = [draft for draft in paying if not has_own(draft.query)]
    deltas = _free_deltas(paying, shared, total)
    for draft in paying:
        if has_own(draft.query):
            chosen[draft.query.name] = _own_choice(release, draft, total, deltas)
    if shared:
        chosen |= _best_shares(release, shared, chosen, total, deltas)
    return chosen


def _free_deltas(
    paying: Sequence[Draft], shared: Sequence[Draft], total: Total
) -> Mapping[str, Fraction]:
    """Share the delta that no query claims among those that may need some, by weight."""
    claimed = sum((draft.query.delta or Fraction(0) for draft in paying), Fraction(0))
    left = max(total.delta - claimed, Fraction(0))
    takers = [
        draft.query
        for draft in paying
        if (draft in shared and draft.additive)
        or (draft.query.delta is None and (draft.query.mechanism == "gaussian" or draft.query.rho))
    ]
    whole = sum((query.weight for query in takers), Fraction(0))
    return {query.name: left * query.weight / whole for query in takers}


def _own_choice(
    release: Release, draft: Draft, total: Total, deltas: Mapping[str, Fraction]
) -> Choice:
    query = draft.query
    delta = query.delta if query.delta is not None else deltas.get(query.name, Fraction(0))
    wanted = query.mechanism
    if wanted == "gaussian" and delta == 0:
        raise complain(
            release,
            query,
            "E313",
            f'"{query.name}" has no delta left for its gaussian noise',
            "give the query a delta, or [privacy] a larger one",
        )
    if query.rho is not None:
        if not draft.additive or wanted == "laplace" or (wanted == "auto" and delta == 0):
            return noises.pure_for_rho(draft, query.rho)
        normal = noises.normal_for_rho(draft, query.rho, delta)
        if wanted == "gaussian":
            return normal
        return noises.narrower(noises.pure_for_rho(draft, query.rho), normal)
    epsilon = query.epsilon or Fraction(0)
    if not draft.additive or wanted == "laplace" or (wanted == "auto" and not query.delta):
        return noises.pure(draft, epsilon)
    normal = noises.normal(draft, epsilon, delta)
    return normal if wanted == "gaussian" else noises.narrower(noises.pure(draft, epsilon), normal)


def _best_shares(
    release: Release,
    shared: Sequence[Draft],
    chosen: Choices,
    total: Total,
    deltas: Mapping[str, Fraction],
) -> Choices:
    """Try Laplace and, where a delta allows it, Gaussian noise for the sharing queries."""
    found: list[Choices] = []
    selecting = selecting_queries(release)
    losses = [choice.loss for name, choice in chosen.items() if name not in selecting]
    if total.rho is not None:
        found = [_rho_shares(shared, total.rho - _rho(losses), deltas)]
    elif total.epsilon is not None:
        if all(draft.query.mechanism != "gaussian" for draft in shared):
            found.append(_laplace_shares(shared, losses, total))
        if total.delta > 0 and total.accounting != "pure":
            found.append(_gaussian_shares(shared, losses, total, deltas))
    found = [choices for choices in found if choices]
    if not found:
        raise complain(
            release,
            shared[0].query,
            "E312",
            f'nothing is left of the total for "{shared[0].query.name}"',
            "raise the total, lower the other queries' budgets, or give this query its own",
        )
    return min(found, key=lambda each: sum(math.log(c.variance) for c in each.values()))


def _rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho that (epsilon, delta) allows; 0 where only a huge delta makes it exceed epsilon."""
    rho = zcdp.rho_for(epsilon, delta)
    return rho if rho < epsilon else Fraction(0)


def _rho(losses: Sequence[Loss]) -> Fraction:
    return sum((loss.rho or Fraction(0) for loss in losses), Fraction(0))


def _parts(shared: Sequence[Draft]) -> list[tuple[Draft, Fraction]]:
    whole = sum((draft.query.weight for draft in shared), Fraction(0))
    return [(draft, draft.query.weight / whole) for draft in shared]


def _laplace_shares(shared: Sequence[Draft], losses: Sequence[Loss], total: Total) -> Choices:
    """Epsilon in proportion to weight: by plain addition, or by zCDP where that gives more."""
    declared = total.epsilon or Fraction(0)
    left = Fraction(0)
    if total.accounting != "zcdp":
        left = declared - _beside_pure(losses, total)
    if total.accounting != "pure" and total.delta > 0:
        rho = _rho_within(declared, total.delta) - _rho(losses)
        left = max(left, _epsilon_under(shared, rho, left))
    if left <= 0:
        return {}
    return {draft.query.name: noises.pure(draft, left * part) for draft, part in _parts(shared)}


def _beside_pure(losses: Sequence[Loss], total: Total) -> Fraction:
    """Epsilon that the losses take when more pure losses are added to them afterwards."""
    others = [loss for loss in losses if loss.delta > 0]
    pure = sum((loss.epsilon for loss in losses if loss.delta == 0), Fraction(0))
    return pure + (total.loss_of(others)[0].epsilon if others else 0)


def _epsilon_under(shared: Sequence[Draft], rho: Fraction, at_least: Fraction) -> Fraction:
    """The largest sum of epsilons, in proportion to weight, whose rhos add up to ``rho``."""

    def fits(epsilon: Fraction) -> bool:
        parts = _parts(shared)
        return sum(zcdp.rho_of_pure(epsilon * part) for _, part in parts) <= rho

    if rho <= 0 or (at_least > 0 and not fits(at_least)):
        return at_least
    low = at_least
    high = max(at_least, Fraction(1, 1000))
    while fits(high):
        low, high = high, high * 2
    for _ in range(45):
        middle = round_down((low + high) / 2)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _gaussian_shares(
    shared: Sequence[Draft],
    losses: Sequence[Loss],
    total: Total,
    deltas: Mapping[str, Fraction],
) -> Choices:
    """Rho in proportion to weight. A lone Gaussian beside pure losses is calibrated exactly."""
    epsilon = total.epsilon or Fraction(0)
    pure = sum((loss.epsilon for loss in losses if loss.delta == 0), Fraction(0))
    others = [loss for loss in losses if loss.delta > 0]
    normal = [draft for draft in shared if draft.additive and draft.query.mechanism != "laplace"]
    if not normal:
        return {}
    if len(shared) == 1 and not others and total.accounting == "auto":
        if epsilon <= pure:
            return {}
        return {shared[0].query.name: noises.normal(shared[0], epsilon - pure, total.delta)}
    left = _rho_within(epsilon, total.delta) - _rho(losses)
    if len(normal) == len(shared) and total.accounting == "auto" and epsilon > pure:
        left = max(left, _rho_within(epsilon - pure, total.delta) - _rho(others))
    return _rho_shares(shared, left, deltas)


def _rho_shares(shared: Sequence[Draft], left: Fraction, deltas: Mapping[str, Fraction]) -> Choices:
    left = round_down(left) if left > 0 else left
    if left <= 0:
        return {}
    found: Choices = {}
    for draft, part in _parts(shared):
        name, wanted = draft.query.name, draft.query.mechanism
        delta = deltas.get(name, Fraction(0))
        if wanted == "gaussian" and delta == 0:
            return {}
        if draft.additive and wanted != "laplace" and delta > 0:
            found[name] = noises.normal_for_rho(draft, left * part, delta)
        else:
            found[name] = noises.pure_for_rho(draft, left * part)
    return found
