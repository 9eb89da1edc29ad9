"""How much each figure errs, by the noise of what it is read from: to compare plans by.

In floats, and by continuous laws: nothing rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.mechanisms.mechanism_registry import get_law
from dprelease.model import AxisMatrix, Group, Query, Read, Reading, Term
from dprelease.planning.steps import Choices, Draft
from dprelease.postprocess.intervals.figure_terms import (
    group_by_integer,
    list_entering_of_terms,
    weigh_terms,
)
from dprelease.statistics.statistic_registry import get_statistic

Errors = Mapping[str, float]
"""Variances by name of what has them, or what stands for these: 0 without noise."""


def name_aspects(query: Query) -> list[str]:
    """Name all that is to err little of a query's figures, the figure itself as the query."""
    others = get_statistic(query.statistic).list_aspects(query)[1:]
    return [query.name, *(f"{query.name} #{place}" for place in range(1, len(others) + 1))]


def compute_errors(drafts: Sequence[Draft], noise: Errors) -> Errors:
    """Compute the error of every figure; ``noise`` is the error of one integer of each draft.

    Figures that are not linear in the integers have the error of these: they are compared where
    the same integers are released. Of a share each aspect has an error (``name_aspects``).
    """
    return {
        aspect: sum(amount * noise[name] for name, amount in amounts)
        for aspect, amounts in _list_amounts_of_all(tuple(drafts))
    }


@lru_cache(maxsize=4)  # the same drafts are compared with different noise
def _list_amounts_of_all(drafts: tuple[Draft, ...]) -> list[tuple[str, list[tuple[str, float]]]]:
    by_name = {draft.name: draft for draft in drafts}
    return [
        named
        for draft in drafts
        for read in draft.reads
        for named in zip(name_aspects(read.query), _iter_amounts(read, by_name), strict=True)
    ]


def _iter_amounts(read: Read, drafts: Mapping[str, Draft]) -> Iterator[list[tuple[str, float]]]:
    """Give for each aspect how often the error of an integer of each step enters it."""
    aspects = get_statistic(read.query.statistic).list_aspects(read.query)
    if read.reading is Reading.COMBINED:
        for factors in aspects:
            terms = weigh_terms(read.terms, factors)
            yield [
                (name, spread(drafts[name].query.groups, drafts[name].released.axes, members))
                for (name, _), members in group_by_integer(terms).items()
            ]
    elif read.reading is Reading.OWN and aspects:
        for factors in aspects:
            yield [(read.step, float(sum(factor**2 for factor in factors)))]
    else:
        draft = drafts[read.step]
        if read.reading is Reading.LINEAR:
            cells = prod(len(draft.query.groups[place].labels) for place in read.merged)
            amount = cells * float(sum(factor**2 for factor in read.factors))
        else:
            statistic = get_statistic(read.query.statistic)
            amount = float(statistic.spread(read.query, draft.released.axes))
        yield from [[(read.step, amount)]] * max(1, len(aspects))


def spread(groups: Sequence[Group], axes: Sequence[AxisMatrix], terms: Sequence[Term]) -> float:
    """Compute the variance of terms of one released integer, in units of that of its noise."""
    sizes = [len(group.labels) for group in groups]
    cells = list_entering_of_terms(sizes, axes, terms)
    return sum(float(part.factor**2) * part.cells for part in cells)


def estimate_errors(drafts: Sequence[Draft], *, concentrated: bool) -> Errors:
    """Estimate the noise of drafts with budgets of their own, or with a share of a total of 1."""
    paying = [draft for draft in drafts if not draft.free and not draft.demand.is_stated]
    # The closed forms that ``budget_split`` follows: all losses concentrated, or all pure.
    roots = {draft.name: _compute_root(draft, concentrated=concentrated) for draft in paying}
    whole = sum(roots.values())

    def estimate_noise(draft: Draft) -> float:
        if draft.free:
            return 0.0
        sensitivity, demand = draft.sensitivity, draft.demand
        if demand.rho is not None:
            return float(sensitivity.l2_squared / demand.rho)
        if demand.epsilon is not None:
            return float(2 * (sensitivity.l1 / demand.epsilon) ** 2)
        intensity = roots[draft.name] / whole
        if draft.together:
            size = float(draft.mechanisms.pure.estimate_error(draft, Fraction(1)))
            return size * sensitivity.l1**2 / intensity**2
        if concentrated:
            return float(sensitivity.l2_squared if draft.additive else 1) / intensity
        return float(2 * sensitivity.l1**2 if draft.additive else 2) / intensity**2

    return {draft.name: estimate_noise(draft) for draft in drafts}


def _compute_root(draft: Draft, *, concentrated: bool) -> float:
    weight, sensitivity = float(draft.demand.weight), draft.sensitivity
    if draft.together:
        weight *= float(draft.mechanisms.pure.estimate_error(draft, Fraction(1))) / 2
    if not concentrated:
        return math.cbrt(weight)
    if draft.additive:
        weight *= sensitivity.l2_squared / sensitivity.l1**2
    return math.sqrt(weight)


def compute_planned_errors(
    drafts: Sequence[Draft], choices: Choices, *, exactly: bool = False
) -> Errors:
    """Compute the variance of the chosen noise of each draft; ``exactly``: of the discrete law."""

    def get_noise(draft: Draft) -> float:
        noise = choices[draft.name].noise
        if not noise.parameter:
            return 0.0
        if draft.additive and exactly:
            return compute_noise_variance(noise)
        if draft.additive:
            return float(get_law(noise.family).compute_variance(noise))
        return float(1 / noise.parameter**2)

    return {draft.name: get_noise(draft) for draft in drafts}
