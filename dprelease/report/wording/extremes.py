"""Minima and maxima that say nothing of the end of the values, unless groups are large."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.errors import Complaint
from dprelease.model import Plan, Step
from dprelease.report.wording.explanations import EXTREMES
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.read_release import views

MANY = 10_000
"""A number of values that the groups of many a table do not have."""


def plan_warnings(plan: Plan) -> tuple[Complaint, ...]:
    """Warn of what only the plan shows: a function of the spec, as the plan is."""
    return tuple(_warnings(plan))


def _warnings(plan: Plan) -> Iterator[Complaint]:
    for step in views(plan):
        interval = plan.release.output.interval
        needed = statistic_of(step.query.statistic).meaningful_from(step, interval)
        if needed is not None and needed > MANY:
            yield _too_many(plan, step, needed)


def _too_many(plan: Plan, step: Step, needed: int) -> Complaint:
    end, key = EXTREMES[step.query.statistic], f"query[{step.query.number}].statistic"
    return Complaint(
        "W301",
        f'in a group of fewer than {needed:,} values "{step.query.name}" says nothing of the {end}:'
        " it may be off by more ranks than lie beyond it",
        "give it more epsilon, a larger step or a short list of candidates; or ask for a quantile "
        "further inside",
        plan.release.place(key),
        key,
    )
