"""Means whose own number of values selects private keys, in place of a count that nobody asked for.

A table with private keys and no count gets one, with a share of the budget, to select the keys. But
a mean by the same groups releases two sums that add up to its number of values (see *Two sums* in
``privacy.partition_selection``). So it can select, with the budget of both: keys of fewer units are
shown, and its figures have less noise. Its number of values is published in place of the count.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dprelease.model.key_thresholds import compute_least_units
from dprelease.planning.steps import Choices, Draft
from dprelease.statistics.statistic_registry import get_statistic

WIDEST = 10**9
"""Of bounds, in grid steps, up to which a mean selects: its interval is computed in doubles."""


def select_by_means(drafts: Sequence[Draft]) -> list[Draft] | None:
    """Let means select the keys of their tables where they can; None if there are none."""
    # Counts that nobody asked for, with a share of the total.
    selecting = {
        draft.query.table: draft
        for draft in drafts
        if draft.selects
        and [read.query.implied for read in draft.reads] == [True]
        and draft.demand.kind == "weight"
    }
    means: dict[str, Draft] = {}
    for draft in drafts:
        if draft.query.table in selecting and _can_select(draft):
            means.setdefault(draft.query.table, draft)
    if not means:
        return None
    left_out = {selecting[table].name for table in means}
    joined = {}
    for table, mean in means.items():
        weight = mean.demand.weight + selecting[table].demand.weight
        demand = replace(mean.demand, weight=weight)
        joined[mean.name] = replace(mean, selects=True, demand=demand)
    return [joined.get(draft.name, draft) for draft in drafts if draft.name not in left_out]


def _can_select(draft: Draft) -> bool:
    """Tell whether a draft is a mean of all records of which every unit has one in a key."""
    query, limits = draft.query, draft.neighbours.contribution
    sums = get_statistic(query.statistic).selects_keys_by_sums
    is_mean = sums and [read.query for read in draft.reads] == [query]
    plain = query.private and query.where is None and query.survey_weight is None
    mechanisms = draft.mechanisms
    return (
        is_mean
        and plain
        and not draft.selects
        and draft.demand.kind == "weight"
        and limits.per_group == 1
        and 0 < draft.sensitivity.l1 <= WIDEST * limits.rows
        and not mechanisms.pure.needs_delta
    )


def has_lower_thresholds(
    drafts: Sequence[Draft], choices: Choices, before: Sequence[Draft], choices_before: Choices
) -> bool:
    """Tell whether every table shows keys from no more units on than before."""
    earlier = _list_thresholds(before, choices_before)
    return all(
        units <= earlier[table] for table, units in _list_thresholds(drafts, choices).items()
    )


def _list_thresholds(drafts: Sequence[Draft], choices: Choices) -> dict[str, int]:
    steps = [draft.step(choices[draft.name]) for draft in drafts if draft.selects]
    return {step.query.table: compute_least_units(step) for step in steps}
