"""Private keys of a plan: from how many units on they are shown, and who need not select."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dprelease.model.plans import Plan, Step
from dprelease.model.queries import Query


def compute_unit_width(step: Step) -> int:
    """Compute what a record with a value adds to all released integers of a key together.

    That is 1 for a count, and the width of the bounds for the two sums of a mean.
    """
    return sum(map(sum, step.transform))


def compute_least_units(step: Step) -> int:
    """Compute the noisy number of units from which a key is shown; 0 if the step selects none."""
    return 0 if step.threshold is None else step.threshold // compute_unit_width(step)


def is_selecting_by_epsilon(step: Step) -> bool:
    """Tell whether a step selects private keys and its loss is in epsilon and delta alone."""
    return step.threshold is not None and step.loss.rho is None


def add_failures(steps: Iterable[Step]) -> Fraction:
    """Add up the chances but for which the rhos of selections of private keys hold.

    They are the deltas that the spec allows: such a step is approximate zCDP.
    """
    selections = (
        step.query.key_selection
        for step in steps
        if step.threshold is not None and step.loss.rho is not None
    )
    return sum((one.delta for one in selections if one is not None), Fraction(0))


def list_wanted_queries(plan: Plan) -> list[Query]:
    """List the queries that a plan has to answer, in order.

    They are all of the release, but a count that is implied to select the private keys of a table
    may be left out if another step selects them.
    """
    answered = {read.query.name for read in plan.reads}
    selected = {step.query.table for step in plan.steps if step.threshold is not None}
    return [
        query
        for query in plan.release.queries
        if query.name in answered
        or not (query.implied and query.private and query.table in selected)
    ]
