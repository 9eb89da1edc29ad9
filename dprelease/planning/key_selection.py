"""The counts that select private keys: an epsilon each, before anything else is planned."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from dprelease.mechanisms import Choice
from dprelease.model import Loss, Release
from dprelease.model.privacy_events import Approximate
from dprelease.planning.accuracy_targets import find_weakest
from dprelease.planning.budget_request import compute_root
from dprelease.planning.stated_budgets import Choices, complain
from dprelease.planning.steps import Draft
from dprelease.planning.total_budget import Total, get_selection_delta
from dprelease.privacy.sensitivity import Contribution


def choose_selections(release: Release, drafts: Sequence[Draft], total: Total) -> Choices:
    """Choose their noise and thresholds: by target, by what they state, or by weight.

    Raises Failure where there is no epsilon for one.
    """
    paying = [draft for draft in drafts if not draft.free]
    choosing = [draft for draft in paying if draft.selects]
    choices = {
        draft.name: find_weakest(release, draft, partial(choose_selection, draft))
        for draft in choosing
        if draft.demand.targeted
    }
    asking = [draft for draft in paying if not draft.demand.is_stated and not draft.demand.targeted]
    whole = sum((compute_root(draft.demand.weight, 3) for draft in asking), Fraction(0))
    owned = sum((draft.demand.epsilon or Fraction(0) for draft in paying), Fraction(0))
    owned += sum((choice.loss.epsilon for choice in choices.values()), Fraction(0))
    for draft in choosing:
        demand = draft.demand
        if demand.targeted:
            continue
        epsilon = demand.epsilon
        if epsilon is None and total.epsilon is not None and demand.rho is None:
            epsilon = (total.epsilon - owned) * compute_root(demand.weight, 3) / whole
        if epsilon is None or epsilon <= 0:
            raise complain(
                release,
                draft.query,
                "E316",
                f'"{draft.name}" selects private keys, but has no epsilon for it',
                "give it an epsilon, or give [privacy] a larger epsilon",
            )
        choices[draft.name] = choose_selection(draft, epsilon)
    return choices


def choose_selection(draft: Draft, epsilon: Fraction) -> Choice:
    """Noise and threshold of a count that selects its table's private keys.

    Of the mechanisms that its spec leaves, the one that shows keys of fewer units.
    """
    # what one unit adds to the count: 1 to each of its keys
    limits = draft.neighbours.contribution
    keys = min(limits.groups, limits.rows)
    counted, delta = Contribution(keys, keys, 1), get_selection_delta(draft.query)
    noise, threshold = min(
        (
            mechanism.select(draft, counted, epsilon, delta)
            for mechanism in dict.fromkeys(draft.mechanisms)
        ),
        key=lambda choice: choice[1],
    )
    event = Approximate(epsilon, delta)
    return Choice(noise, Loss(epsilon, delta), ((event, 1),), threshold=threshold)
