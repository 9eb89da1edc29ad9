"""Hazards of reading certain figures: names that were chosen, spreads near 0, ranks, lots."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.model import Form, Plan, Step
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.read_release import views

Row = tuple[str, str, str]

FEW_VALUES = 100
"""A grid of fewer values is coarse: many records share one."""


def figure_hazards(plan: Plan) -> Iterator[Row]:
    """Give hazard, status and note of what this release has."""
    if plan.reads:
        yield from _bounding(plan)
    chosen = [step for step in views(plan) if step.query.axis or step.query.candidates]
    if chosen:
        yield (
            "names chosen by noisy scores",
            "attention",
            "what is named had a large score or luck: a name close behind may be the true first, "
            f"and a small group's name may be a guess. See how far each may fall short: "
            f"{_names(chosen)}",
        )
    spread = [step for step in views(plan) if step.query.statistic in {"variance", "stddev"}]
    if spread:
        yield (
            "spread close to 0",
            "attention",
            "a variance within its noise of 0 says nothing but that it is small, and its "
            f"standard deviation has the wider interval: {_names(spread)}",
        )
    distinct = [step for step in views(plan) if step.query.statistic == "count_distinct"]
    if distinct:
        yield (
            "different values counted",
            "attention",
            "each spelling of a value counts as a value of its own, and cells do not add up: a "
            f"value can be in several: {_names(distinct)}",
        )
    interval = plan.release.output.interval
    yield from _quantiles([step for step in views(plan) if step.form is Form.QUANTILES], interval)


def _bounding(plan: Plan) -> Iterator[Row]:
    limits = plan.release.privacy.bounding
    if limits is not None:
        yield (
            "rows left out by bounding",
            "attention",
            f"of one person at most {limits.rows:,} rows in at most {limits.groups:,} groups of a "
            "table count: figures are too low where people have more, by an amount that is not "
            "published; the bounds come from the spec, and must not be taken from the data",
        )


def _quantiles(steps: list[Step], interval: Fraction) -> Iterator[Row]:
    if not steps:
        return
    yield (
        "quantiles",
        "attention",
        "exact in ranks, not in values: where values are few and far apart, or a group is no "
        "larger than the rank error, a figure can be anywhere between the bounds: "
        f"{_names(steps)}",
    )
    coarse = [step for step in steps if step.points and step.points.grid.width < FEW_VALUES]
    if coarse:
        yield (
            "quantiles of a coarse grid",
            "attention",
            "many records share a value, and a figure is no finer than the step; where one value "
            "has more than 4,096 records of a group, the rank error of several quantiles grows by "
            f"that number/4,096: {_names(coarse)}",
        )

    ends = [step for step in steps if step.query.statistic in {"min", "max"}]
    if ends:
        yield (
            "minimum and maximum",
            "attention",
            "one record in a hundred lies beyond the quantile that stands for each: a group with "
            "fewer than a hundred times its rank error of records may show any of its values "
            "instead, and its figure says nothing of the end: "
            + ", ".join(_needed(step, interval) for step in ends),
        )


def _needed(step: Step, interval: Fraction) -> str:
    needed = statistic_of(step.query.statistic).meaningful_from(step, interval)
    return f"{step.query.name} (in groups of fewer than {needed:,} values)"


def _names(steps: list[Step]) -> str:
    return ", ".join(step.query.name for step in steps)
