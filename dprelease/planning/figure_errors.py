"""How much each figure errs, by the noise of what it is read from: to compare plans by.

In floats, and by continuous laws: nothing rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import prod

from dprelease.mechanisms.registry import law_of
from dprelease.model import CENTRED, AxisMatrix, Group, Read, Reading
from dprelease.planning.stated_budgets import Choices
from dprelease.planning.steps import Draft

Errors = Mapping[str, float]
"""The variance of a figure by the name of its query, or what stands for it: 0 without noise."""


def errors_of(drafts: Sequence[Draft], error_of: Callable[[Draft], float]) -> Errors:
    """Give the error of every figure; ``error_of`` is that of one integer or choice of a draft.

    Figures that are not linear in the integers have the error of these: they are compared where
    the same integers are released.
    """
    by_name = {draft.name: draft for draft in drafts}
    single = {name: error_of(draft) for name, draft in by_name.items()}
    return {
        read.query.name: sum(amount * single[name] for name, amount in _amounts(read, by_name))
        for draft in drafts
        for read in draft.reads
    }


def _amounts(read: Read, drafts: Mapping[str, Draft]) -> list[tuple[str, float]]:
    """How often the error of an integer of each step is in the figure."""
    if read.reading is Reading.COMBINED:
        return [
            (term.step, float(term.factor**2) * _spread(read, drafts[term.step]))
            for term in read.terms
        ]
    if read.reading is Reading.LINEAR:
        groups = drafts[read.step].query.groups
        cells = prod(len(groups[place].labels) for place in read.merged)
        return [(read.step, cells * float(sum(factor**2 for factor in read.factors)))]
    return [(read.step, 1.0)]


def _spread(read: Read, draft: Draft) -> int:
    """The variance that a term of factor 1 has in a combined figure, in units of the noise."""
    own = {group.completed() for group in read.query.groups}
    cells = prod(len(group.labels) for group in draft.query.groups if group not in own)
    return cells * spread_of(draft.query.groups, draft.released.axes)


def spread_of(groups: Sequence[Group], axes: Sequence[AxisMatrix]) -> int:
    """The variance of a cell that is centred once more, in units of that of the noise.

    It has n - 1 times its own noise, less that of the n - 1 others: n(n - 1) for each such axis.
    """
    sizes = [
        len(group.labels) for group, axis in zip(groups, axes, strict=False) if axis == CENTRED
    ]
    return prod(size * (size - 1) for size in sizes)


def expected(drafts: Sequence[Draft], *, concentrated: bool) -> Errors:
    """The errors that drafts come to with budgets of their own, or a share of a total of 1.

    By the closed forms that ``budget_split`` follows: with all losses concentrated, or all pure.
    """
    paying = [draft for draft in drafts if not draft.free and not draft.demand.stated]
    roots = {draft.name: _root(draft, concentrated=concentrated) for draft in paying}
    whole = sum(roots.values())

    def error_of(draft: Draft) -> float:
        if draft.free:
            return 0.0
        sensitivity, demand = draft.sensitivity, draft.demand
        if demand.rho is not None:
            return float(sensitivity.l2_squared / demand.rho)
        if demand.epsilon is not None:
            return float(2 * (sensitivity.l1 / demand.epsilon) ** 2)
        intensity = roots[draft.name] / whole
        if concentrated:
            return float(sensitivity.l2_squared if draft.additive else 1) / intensity
        return float(2 * sensitivity.l1**2 if draft.additive else 2) / intensity**2

    return errors_of(drafts, error_of)


def _root(draft: Draft, *, concentrated: bool) -> float:
    weight, sensitivity = float(draft.demand.weight), draft.sensitivity
    if not concentrated:
        return math.cbrt(weight)
    if draft.additive:
        weight *= sensitivity.l2_squared / sensitivity.l1**2
    return math.sqrt(weight)


def planned(drafts: Sequence[Draft], choices: Choices) -> Errors:
    """The errors of drafts whose noise is chosen."""

    def error_of(draft: Draft) -> float:
        noise = choices[draft.name].noise
        if not noise.parameter:
            return 0.0
        if draft.additive:
            return float(law_of(noise.family).variance(noise))
        return float(1 / noise.parameter**2)

    return errors_of(drafts, error_of)
