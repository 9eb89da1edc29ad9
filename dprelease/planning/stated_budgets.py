"""Queries with a budget of their own, and what is left of the total's delta for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.mechanisms import Choice
from dprelease.mechanisms.mechanism_registry import get_law
from dprelease.model import Query, Release
from dprelease.planning.steps import Draft

Choices = dict[str, Choice]


def complain(release: Release, query: Query, code: str, message: str, hint: str) -> Failure:
    """Build the failure of a query's budget."""
    return build_failure(release, f"query[{query.number}]", code, message, hint)


def build_failure(release: Release, key: str, code: str, message: str, hint: str) -> Failure:
    """Build the failure of the value at a key of the spec."""
    return Failure(ExitCode.SPEC, Complaint(code, message, hint, release.place(key), key))


def share_free_deltas(drafts: Sequence[Draft], remaining_delta: Fraction) -> Mapping[str, Fraction]:
    """Share the delta that no query claims among the queries that may need some, by weight."""
    claimed = sum((draft.demand.delta or Fraction(0) for draft in drafts), Fraction(0))
    spare = max(remaining_delta - claimed, Fraction(0))
    # A stated delta of Gaussian noise alone says nothing of the whole: it is the delta at which a
    # sum of epsilons would be compared.
    takers = [
        draft
        for draft in drafts
        if draft.additive
        and draft.demand.delta is None
        and (
            not draft.demand.is_stated
            or draft.mechanisms.pure.needs_delta
            or draft.demand.rho is not None
        )
    ]
    whole = sum((draft.demand.weight for draft in takers), Fraction(0))
    return {draft.name: spare * draft.demand.weight / whole for draft in takers}


def choose_own(release: Release, draft: Draft, deltas: Mapping[str, Fraction]) -> Choice:
    """Choose the noise of a query that states epsilon or rho; raise Failure if it lacks a delta."""
    demand, (pure, concentrated) = draft.demand, draft.mechanisms
    delta = demand.delta if demand.delta is not None else deltas.get(draft.name, Fraction(0))
    if pure.needs_delta and delta == 0:
        raise complain(
            release,
            draft.query,
            "E313",
            f'"{draft.name}" has no delta left for its {pure.family} noise',
            "give the query a delta, or give [privacy] a larger delta",
        )
    options = [pure]
    if concentrated.needs_delta and (demand.delta if demand.rho is None else delta):
        options = list(dict.fromkeys([pure, concentrated]))
    choices = [
        mechanism.calibrate(draft, demand.epsilon or Fraction(0), delta)
        if demand.rho is None
        else mechanism.calibrate_rho(draft, demand.rho, delta)
        for mechanism in options
    ]
    if len(choices) == 1:
        return choices[0]
    return min(
        choices, key=lambda choice: get_law(choice.noise.family).compute_variance(choice.noise)
    )
