"""Queries with a budget of their own, and what is left of the total's delta for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Query, Release
from dprelease.planning import calibration as noises
from dprelease.planning.steps import Choice, Draft

Choices = dict[str, Choice]


def complain(release: Release, query: Query, code: str, message: str, hint: str) -> Failure:
    """State what is wrong with a query's budget."""
    return complain_of(release, f"query[{query.number}]", code, message, hint)


def complain_of(release: Release, key: str, code: str, message: str, hint: str) -> Failure:
    """State what is wrong with what the spec has at a key."""
    return Failure(ExitCode.SPEC, Complaint(code, message, hint, release.place(key), key))


def free_deltas(drafts: Sequence[Draft], remaining_delta: Fraction) -> Mapping[str, Fraction]:
    """Share the delta that no query claims among those that may need some, by weight.

    A delta that is stated of Gaussian noise by itself says nothing of the whole: it is what a sum
    of epsilons would be compared at.
    """
    claimed = sum((draft.demand.delta or Fraction(0) for draft in drafts), Fraction(0))
    spare = max(remaining_delta - claimed, Fraction(0))
    takers = [
        draft
        for draft in drafts
        if draft.additive
        and draft.demand.delta is None
        and (
            not draft.demand.stated
            or draft.query.mechanism == "gaussian"
            or draft.demand.rho is not None
        )
    ]
    whole = sum((draft.demand.weight for draft in takers), Fraction(0))
    return {draft.name: spare * draft.demand.weight / whole for draft in takers}


def own_choice(release: Release, draft: Draft, deltas: Mapping[str, Fraction]) -> Choice:
    """Choose the noise of a query that states epsilon or rho. Raises Failure without a delta."""
    demand, wanted = draft.demand, draft.query.mechanism
    delta = demand.delta if demand.delta is not None else deltas.get(draft.name, Fraction(0))
    if wanted == "gaussian" and delta == 0:
        raise complain(
            release,
            draft.query,
            "E313",
            f'"{draft.name}" has no delta left for its gaussian noise',
            "give the query a delta, or [privacy] a larger one",
        )
    if demand.rho is not None:
        if not draft.additive or wanted == "laplace" or (wanted == "auto" and delta == 0):
            return noises.pure_for_rho(draft, demand.rho)
        normal = noises.normal_for_rho(draft, demand.rho, delta)
        if wanted == "gaussian":
            return normal
        return noises.narrower(noises.pure_for_rho(draft, demand.rho), normal)
    epsilon = demand.epsilon or Fraction(0)
    if not draft.additive or wanted == "laplace" or (wanted == "auto" and not demand.delta):
        return noises.pure(draft, epsilon)
    normal = noises.normal(draft, epsilon, delta)
    return normal if wanted == "gaussian" else noises.narrower(noises.pure(draft, epsilon), normal)
