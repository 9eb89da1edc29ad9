"""Accuracy targets: the least intensity of noise that meets them, whatever the budget.

Queries with targets share a release where that costs less, which is found one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from dprelease.errors import Failure
from dprelease.mechanisms import Choice, Mechanism
from dprelease.mechanisms.mechanism_registry import list_options
from dprelease.model import Accuracy, Read, Release, Step
from dprelease.planning.stated_budgets import complain
from dprelease.planning.steps import Draft
from dprelease.privacy.interval_arithmetic import round_up
from dprelease.statistics import read_release as reading

_HALVINGS = 24
_STRONGEST = Fraction(10**6)
_WEAKEST = Fraction(1, 10**12)
_DIGITS = 12


def meets(release: Release, draft: Draft, mechanism: Mechanism) -> Choice:
    """The weakest noise of a mechanism at which every query of the draft meets its target.

    Raises Failure where no noise does.
    """
    return weakest(release, draft, lambda intensity: mechanism.scale_noise(draft, intensity))


def weakest(release: Release, draft: Draft, make: Callable[[Fraction], Choice]) -> Choice:
    """The same of any noise that an intensity makes: the larger, the less noise."""

    def holds(intensity: Fraction) -> Choice | None:
        choice = make(intensity)
        step = draft.step(choice)
        return choice if all(_met(read, step) for read in draft.reads) else None

    low, high = None, Fraction(1)
    while (weakest_choice := holds(high)) is None:
        low, high = high, high * 4
        if high > _STRONGEST:
            raise complain(
                release,
                draft.query,
                "E317",
                f'no noise is small enough for the accuracy of "{draft.name}"',
                "allow a wider `within`, or more `records`",
            )
    while low is None:
        lower = high / 4
        weaker = holds(lower)
        if weaker is None or lower < _WEAKEST:
            low = lower
        else:
            high, weakest_choice = lower, weaker
    for _ in range(_HALVINGS):
        middle = round_up((low + high) / 2, _DIGITS)
        if not low < middle < high:
            break
        made = holds(middle)
        if made is None:
            low = middle
        else:
            high, weakest_choice = middle, made
    return weakest_choice


def _met(read: Read, step: Step) -> bool:
    wanted = read.query.accuracy
    if wanted is None:
        return True
    error = error_of(read, step, wanted)
    return error is not None and error <= wanted.within


def error_of(read: Read, step: Step, wanted: Accuracy) -> Fraction | None:
    """The half-width at the target's confidence, in the unit of its ``within``."""
    if wanted.records is not None:
        noise_example = reading.example_of(read, step, wanted.confidence, wanted.records)
        return None if noise_example is None else Fraction(noise_example["halfwidth"])
    return reading.target_half(read, step, wanted.confidence)


def chosen(
    release: Release, together: Sequence[Draft], separate_drafts: Sequence[Draft], *, by_rho: bool
) -> list[Draft]:
    """Take each release that several targets share, or what they are apart, whichever costs less.

    By the sum of epsilons, or ``by_rho`` of rhos: how all compose is for the whole plan to tell.
    """
    made: list[Draft] = []
    draft_of_query = {read.query.name: draft for draft in separate_drafts for read in draft.reads}
    for draft in together:
        names = {read.query.name for read in draft.reads}
        parts = list({draft_of_query[name].name: draft_of_query[name] for name in names}.values())
        same = {read.query.name for part in parts for read in part.reads} == names
        if not same or len(parts) == 1 or not draft.demand.targeted:
            made.append(draft)
            continue
        costs = [
            sum((_cost(release, member, by_rho=by_rho) for member in option), Fraction(0))
            for option in ([draft], parts)
        ]
        made.extend([draft] if costs[0] <= costs[1] else parts)
    return sorted(made, key=lambda draft: draft.query.number)


def _cost(release: Release, draft: Draft, *, by_rho: bool) -> Fraction:
    """The least that meets the draft's targets; a lot where nothing does."""
    pure, concentrated = list_options(draft, "auto")
    both = [pure, concentrated] if by_rho else [pure]
    costs = []
    for mechanism in both if draft.additive else [concentrated]:
        try:
            loss = meets(release, draft, mechanism).loss
        except Failure:
            continue
        cost = loss.rho if by_rho else loss.epsilon
        if cost is not None:
            costs.append(cost)
    return min(costs, default=_UNMET)


_UNMET = Fraction(10**9)
