"""Noise that queries decide by themselves: a stated budget, an accuracy target, keys to select.

What no query decides is shared by weight (``budget_split``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

from dprelease.errors import Failure
from dprelease.mechanisms import Choice, Mechanism
from dprelease.mechanisms.mechanism_registry import get_law, list_options
from dprelease.model import Accuracy, Loss, Read, Release, Step
from dprelease.model.privacy_events import Approximate
from dprelease.planning.budgets import (
    Total,
    complain,
    compute_root,
    get_selection_delta,
    sum_selection_deltas,
)
from dprelease.planning.steps import Choices, Draft
from dprelease.postprocess.intervals.number_text import number
from dprelease.privacy.composition import BEYOND_RHO
from dprelease.privacy.interval_arithmetic import round_up
from dprelease.privacy.sensitivity import Contribution, Summed
from dprelease.privacy.zcdp import EPSILON_DIGITS, bound_epsilon, bound_pure_rho
from dprelease.statistics import read_release as reading
from dprelease.statistics.statistic_registry import get_statistic

_HALVINGS = 24
_STRONGEST = Fraction(10**6)
_WEAKEST = Fraction(1, 10**12)
_DIGITS = 12
_UNMET = Fraction(10**9)


# --- stated budgets -------------------------------------------------------------------------------


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


def build_delta_failure(release: Release, draft: Draft) -> Failure:
    """Build the failure of a query that has Gaussian noise alone and no delta for it."""
    message = f'"{draft.name}" has no delta left for its {draft.mechanisms.pure.family} noise'
    selected = sum_selection_deltas(release)
    if not selected or selected < release.privacy.delta:
        return complain(release, draft.query, "E313", message)
    hint = (
        f"raise the delta of [privacy] above {number(selected, 2, up=True)}, lower that of "
        "partition_selection, or choose another mechanism"
    )
    message += ": the selections of keys take all of the total"
    return complain(release, draft.query, "E313", message, hint)


def choose_own(release: Release, draft: Draft, deltas: Mapping[str, Fraction]) -> Choice:
    """Choose the noise of a query that states epsilon or rho; raise Failure if it lacks a delta."""
    demand, (pure, concentrated) = draft.demand, draft.mechanisms
    delta = demand.delta if demand.delta is not None else deltas.get(draft.name, Fraction(0))
    if pure.needs_delta and delta == 0:
        raise build_delta_failure(release, draft)
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


# --- accuracy targets -----------------------------------------------------------------------------


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
        for read in draft.reads:
            target = read.query.accuracy
            if target is not None:
                error = compute_error(read, step, target)
                if error is None or error > target.within:
                    return None
        return choice

    # Widen by factors of 4 until one end misses a target and the other meets all, then halve.
    low, high = None, Fraction(1)
    while (weakest_choice := try_intensity(high)) is None:
        low, high = high, high * 4
        if high > _STRONGEST:
            statistics = [get_statistic(read.query.statistic) for read in draft.reads]
            by_records = any(statistic.error_by_records for statistic in statistics)
            raise complain(
                release,
                draft.query,
                "E317",
                f'no noise is small enough for the accuracy of "{draft.name}"',
                "" if by_records else "allow a wider `within`",  # only some targets have `records`
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


# --- counts that select private keys: an epsilon each, before anything else is planned ------------


def choose_selections(release: Release, drafts: Sequence[Draft], total: Total) -> Choices:
    """Choose noise and thresholds of selecting counts: by target, by stated epsilon, or by weight.

    Raises Failure where no epsilon is left for a selecting count.
    """
    paying = [draft for draft in drafts if not draft.free]
    choosing = [draft for draft in paying if draft.selects]
    if choosing and total.rho is not None:
        return _choose_in_rho(release, paying, choosing, total)
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
            )
        choices[draft.name] = choose_selection(draft, epsilon)
    return choices


def _choose_in_rho(
    release: Release, paying: Sequence[Draft], choosing: Sequence[Draft], total: Total
) -> Choices:
    """Choose noise and thresholds under a total in rho: by stated rho, or by weight."""
    asking = [draft for draft in paying if not draft.demand.is_stated and not draft.demand.targeted]
    # As the square of the intensity that the weights of Gaussian noise stand for.
    roots = {draft.name: compute_root(_weigh_by_length(draft), 2) for draft in asking}
    owned = sum((draft.demand.rho or Fraction(0) for draft in paying), Fraction(0))
    pure = (draft.demand.epsilon for draft in paying if draft.demand.epsilon is not None)
    owned += sum(map(bound_pure_rho, pure), Fraction(0))
    failures = sum((get_selection_delta(draft.query) for draft in choosing), Fraction(0))
    remaining_delta = (total.delta - failures) / len(paying)
    choices: Choices = {}
    for draft in choosing:
        rho = draft.demand.rho
        if rho is None and draft.name in roots and total.rho is not None:
            rho = (total.rho - owned) * roots[draft.name] / sum(roots.values(), Fraction(0))
        if rho is None or rho <= 0:
            raise complain(
                release,
                draft.query,
                "E316",
                f'"{draft.name}" selects private keys, but has no rho for it',
            )
        if remaining_delta <= 0:
            raise ValueError("the deltas of selections leave none to state epsilon at")
        choices[draft.name] = _choose_selection_by_rho(draft, rho, remaining_delta)
    return choices


def _weigh_by_length(draft: Draft) -> Fraction:
    """Weigh the L2 norm, to which Gaussian noise refers; a weight refers to the L1 norm."""
    change = draft.sensitivity
    length = Fraction(change.l2_squared, change.l1**2) if draft.additive else Fraction(1, 16)
    return draft.demand.weight * length


def _choose_selection_by_rho(draft: Draft, rho: Fraction, stated_delta: Fraction) -> Choice:
    """Choose noise and threshold of a count that selects keys; state epsilon at a delta more."""
    keys = count_most_keys(draft)
    counted, failure = Contribution(keys, keys, 1), get_selection_delta(draft.query)
    mechanism = draft.mechanisms.concentrated
    noise, threshold = mechanism.select_by_rho(draft, counted, rho, failure)
    # Beside the claim of all, one that is confirmed by itself.
    epsilon = max(bound_epsilon(rho, stated_delta), rho * BEYOND_RHO)
    loss = Loss(round_up(epsilon, EPSILON_DIGITS), stated_delta + failure, rho)
    event = Approximate(loss.epsilon, loss.delta)
    return Choice(noise, loss, ((event, 1),), threshold=threshold, failure=failure)


def count_most_keys(draft: Draft) -> int:
    """Count in how many keys a unit has rows at most."""
    limits = draft.neighbours.contribution
    return min(limits.groups, limits.rows)


def choose_selection(draft: Draft, epsilon: Fraction) -> Choice:
    """Choose noise and threshold of a count, or a mean, that selects its table's private keys."""
    # One unit adds 1 to the count of each of its keys.
    keys, transform = count_most_keys(draft), draft.released.transform
    counted, delta = Contribution(keys, keys, 1), get_selection_delta(draft.query)
    form = Summed(sum(map(sum, transform)), len(transform))
    mechanisms = [draft.mechanisms.pure] if form.draws > 1 else dict.fromkeys(draft.mechanisms)
    # Of the mechanisms that the spec leaves, take the one with the lower threshold.
    noise, threshold = min(
        (mechanism.select(draft, counted, epsilon, delta, form) for mechanism in mechanisms),
        key=lambda choice: choice[1],
    )
    event = Approximate(epsilon, delta)
    return Choice(noise, Loss(epsilon, delta), ((event, 1),), threshold=threshold)
