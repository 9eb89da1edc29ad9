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


def find_weakest_choice(release: Release, draft: Draft, mechanism: Mechanism) -> Choice:
    """Find the weakest noise of a mechanism at which every query of the draft meets its target.

    Raises Failure where no noise does.
    """
    return find_weakest(release, draft, lambda intensity: mechanism.scale_noise(draft, intensity))


def find_weakest(release: Release, draft: Draft, make: Callable[[Fraction], Choice]) -> Choice:
    """Find the weakest noise of ``make`` that meets the targets; it takes an intensity."""

    def try_intensity(intensity: Fraction) -> Choice | None:
        choice = make(intensity)
        step = draft.step(choice)
        return choice if all(_is_met(read, step) for read in draft.reads) else None

    # Widen by factors of 4 until one end misses a target and the other meets all, then halve.
    low, high = None, Fraction(1)
    while (weakest_choice := try_intensity(high)) is None:
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
        weaker = try_intensity(lower)
        if weaker is None or lower < _WEAKEST:
            low = lower
        else:
            high, weakest_choice = lower, weaker
    for _ in range(_HALVINGS):
        middle = round_up((low + high) / 2, _DIGITS)
        if not low < middle < high:
            break
        outcome = try_intensity(middle)
        if outcome is None:
            low = middle
        else:
            high, weakest_choice = middle, outcome
    return weakest_choice


def _is_met(read: Read, step: Step) -> bool:
    target = read.query.accuracy
    if target is None:
        return True
    error = compute_error(read, step, target)
    return error is not None and error <= target.within


def compute_error(read: Read, step: Step, target: Accuracy) -> Fraction | None:
    """Compute the half-width at the target's confidence, in the unit of its ``within``."""
    if target.records is not None:
        noise_example = reading.build_example(read, step, target.confidence, target.records)
        return None if noise_example is None else Fraction(noise_example["halfwidth"])
    return reading.compute_target_halfwidth(read, step, target.confidence)


def choose_drafts(
    release: Release, together: Sequence[Draft], separate_drafts: Sequence[Draft], *, by_rho: bool
) -> list[Draft]:
    """Choose for each shared release of targets whether to keep it or to release its parts."""
    drafts: list[Draft] = []
    draft_of_query = {read.query.name: draft for draft in separate_drafts for read in draft.reads}
    for draft in together:
        names = {read.query.name for read in draft.reads}
        parts = list({draft_of_query[name].name: draft_of_query[name] for name in names}.values())
        same = {read.query.name for part in parts for read in part.reads} == names
        if not same or len(parts) == 1 or not draft.demand.targeted:
            drafts.append(draft)
            continue
        # Only a guide: the whole plan decides how all losses compose.
        costs = [
            sum((_compute_cost(release, member, by_rho=by_rho) for member in option), Fraction(0))
            for option in ([draft], parts)
        ]
        drafts.extend([draft] if costs[0] <= costs[1] else parts)
    return sorted(drafts, key=lambda draft: draft.query.number)


def _compute_cost(release: Release, draft: Draft, *, by_rho: bool) -> Fraction:
    """Compute the least cost that meets the draft's targets; a large number where nothing does."""
    pure, concentrated = list_options(draft, "auto")
    mixes = [pure, concentrated] if by_rho else [pure]
    costs = []
    for mechanism in mixes if draft.additive else [concentrated]:
        try:
            loss = find_weakest_choice(release, draft, mechanism).loss
        except Failure:
            continue
        cost = loss.rho if by_rho else loss.epsilon
        if cost is not None:
            costs.append(cost)
    return min(costs, default=_UNMET)


_UNMET = Fraction(10**9)
