"""Which queries with accuracy targets share a release: those that cost less so, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.errors import Failure
from dprelease.model import NoiseFamily, Release
from dprelease.planning.accuracy_targets import meets
from dprelease.planning.draft import Draft


def chosen(
    release: Release, together: Sequence[Draft], apart: Sequence[Draft], *, by_rho: bool
) -> list[Draft]:
    """Take each release that several targets share, or what they are apart, whichever costs less.

    By the sum of epsilons, or ``by_rho`` of rhos: how all compose is for the whole plan to tell.
    """
    made: list[Draft] = []
    left = {read.query.name: draft for draft in apart for read in draft.reads}
    for draft in together:
        names = {read.query.name for read in draft.reads}
        parts = list({left[name].name: left[name] for name in names}.values())
        same = {read.query.name for part in parts for read in part.reads} == names
        if not same or len(parts) == 1 or not draft.demand.targeted:
            made.append(draft)
            continue
        costs = [
            sum((_cost(release, each, by_rho=by_rho) for each in option), Fraction(0))
            for option in ([draft], parts)
        ]
        made.extend([draft] if costs[0] <= costs[1] else parts)
    return sorted(made, key=lambda draft: draft.query.number)


def _cost(release: Release, draft: Draft, *, by_rho: bool) -> Fraction:
    """The least that meets the draft's targets; a lot where nothing does."""
    families = [NoiseFamily.LAPLACE] if draft.additive else [NoiseFamily.EXPONENTIAL]
    if by_rho and draft.additive:
        families.append(NoiseFamily.GAUSSIAN)
    costs = []
    for family in families:
        try:
            loss = meets(release, draft, family).loss
        except Failure:
            continue
        cost = loss.rho if by_rho else loss.epsilon
        if cost is not None:
            costs.append(cost)
    return min(costs, default=_UNMET)


_UNMET = Fraction(10**9)
