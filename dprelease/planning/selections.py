"""What the selection of private keys takes of a release's budget: before all the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Loss, Query, Release
from dprelease.planning import noises
from dprelease.planning.draft import Choice, Draft


def selecting_loss(drafts: Sequence[Draft], chosen: Mapping[str, Choice]) -> Loss:
    """Add up what the selection of private keys costs."""
    losses = [chosen[draft.query.name].loss for draft in drafts if draft.selects]
    return Loss(
        sum((loss.epsilon for loss in losses), Fraction(0)),
        sum((loss.delta for loss in losses), Fraction(0)),
    )


def selections(
    release: Release, drafts: Sequence[Draft], total: Fraction | None
) -> dict[str, Choice]:
    """Choose noise and threshold of the counts that select keys: an epsilon each, by weight."""
    paying = [draft for draft in drafts if not draft.free]
    whole = sum((draft.query.weight for draft in paying if not has_own(draft.query)), Fraction(0))
    owned = sum((draft.query.epsilon or Fraction(0) for draft in paying), Fraction(0))
    found: dict[str, Choice] = {}
    for draft in paying:
        query = draft.query
        if not draft.selects:
            continue
        epsilon = query.epsilon
        if epsilon is None and total is not None and query.rho is None:
            epsilon = (total - owned) * query.weight / whole
        if epsilon is None or epsilon <= 0:
            raise complain(
                release,
                query,
                "E316",
                f'"{query.name}" selects private keys, and has no epsilon for that',
                "give it an epsilon, or [privacy] an epsilon that is not yet spent",
            )
        found[query.name] = noises.selecting(draft, epsilon)
    return found


def has_own(query: Query) -> bool:
    """Say whether a query states its own budget."""
    return query.epsilon is not None or query.rho is not None


def complain(release: Release, query: Query, code: str, message: str, hint: str) -> Failure:
    """State what is wrong with a query's budget."""
    key = f"query[{query.number}]"
    return Failure(ExitCode.SPEC, Complaint(code, message, hint, release.place(key), key))
