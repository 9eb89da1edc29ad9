"""What other totals would buy: the plan again, with another total.

Where queries share by weight, what others state by themselves and their targets stay as they are.
Where all of it is stated, all of it is multiplied, and so is the epsilon of record-level tables;
what follows from a chance of true answers stays.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dprelease.errors import Failure
from dprelease.model import Perturb, Plan, Query, Release
from dprelease.planning.planner import make_plan

FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


def what_if(plan: Plan) -> list[tuple[Fraction, Plan | None]]:
    """Plan at a quarter, half, once, twice and four times the total.

    None where what is stated or targeted leaves no plan. Not certified: nothing is run by these.
    Empty where all follows from targets.
    """
    release = plan.release
    stated = any(_stated(query) or _weighted(query) for query in release.queries)
    if not stated and all(perturb.truth is not None for perturb in release.perturbs):
        return []
    return [(factor, plan if factor == 1 else _at(release, factor)) for factor in FACTORS]


def _at(release: Release, factor: Fraction) -> Plan | None:
    privacy = replace(
        release.privacy,
        epsilon=_times(release.privacy.epsilon, factor),
        rho=_times(release.privacy.rho, factor),
    )
    queries, perturbs = release.queries, release.perturbs
    if not any(map(_weighted, queries)):
        queries = tuple(_query(query, factor) for query in queries)
        perturbs = tuple(_perturb(perturb, factor) for perturb in perturbs)
    try:
        return make_plan(replace(release, privacy=privacy, queries=queries, perturbs=perturbs))
    except (Failure, ValueError):
        return None


def _stated(query: Query) -> bool:
    return query.epsilon is not None or query.rho is not None


def _weighted(query: Query) -> bool:
    return not _stated(query) and query.accuracy is None


def _query(query: Query, factor: Fraction) -> Query:
    return replace(query, epsilon=_times(query.epsilon, factor), rho=_times(query.rho, factor))


def _perturb(perturb: Perturb, factor: Fraction) -> Perturb:
    return replace(perturb, epsilon=_times(perturb.epsilon, factor))


def _times(budget: Fraction | None, factor: Fraction) -> Fraction | None:
    return None if budget is None else budget * factor
