"""Whether a plan means to the engines what ``certify`` takes it to mean.

``certify`` enumerates what a record can do from measures, transform and groups. That is only right
for plans of the form below; any other is refused, whatever it claims.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Group, Loss, Measure, MeasureKind, Noise, NoiseFamily, Plan, Step

EXACT = 2**53 - 1
"""Grid integers up to here are exact in a double, in which the engines clamp."""

NOTHING = Loss(Fraction(0), Fraction(0), Fraction(0))


def is_executable(plan: Plan) -> bool:
    """Say whether every step, the steps together and all stated losses have a meaning."""
    return (
        [step.query for step in plan.steps] == list(plan.release.queries)
        and len({step.query.name for step in plan.steps}) == len(plan.steps) > 0
        and _is_loss(plan.loss)
        and all(map(_step, plan.steps))
    )


def _is_loss(loss: Loss) -> bool:
    return loss.epsilon >= 0 and 0 <= loss.delta < 1 and (loss.rho is None or loss.rho >= 0)


def _step(step: Step) -> bool:
    rows = [len(row) == len(step.measures) for row in step.transform]
    return (
        all(_measure(measure, step) for measure in step.measures)
        and len(step.measures) > 0
        and len(rows) > 0
        and all(rows)
        and len(step.unit) == len(rows)
        and len({each.quantity for each in step.measures if each.quantity is not None}) <= 1
        and all(map(_group, step.query.groups))
        and _is_loss(step.loss)
        and _noise(step.noise, step.loss)
    )


def _noise(noise: Noise, loss: Loss) -> bool:
    if noise.family is NoiseFamily.NONE:
        return loss == NOTHING
    return noise.parameter > 0 and loss.epsilon > 0


def _measure(measure: Measure, step: Step) -> bool:
    """Records need no quantity, values and sums need one; all obey the query's filter."""
    if measure.where != step.query.where:
        return False
    quantity = measure.quantity
    if measure.kind is MeasureKind.RECORDS or quantity is None:
        return measure.kind is MeasureKind.RECORDS and quantity is None
    grid, fill = quantity.grid, quantity.null_fill
    return (
        -EXACT <= grid.lower <= grid.upper <= EXACT
        and grid.step > 0
        and (fill is None or grid.lower <= fill <= grid.upper)
    )


def _group(group: Group) -> bool:
    """One label for each key or bin, then one for other values; no label twice."""
    if (group.keys is None) == (group.edges is None):
        return False
    declared = len(group.keys) if group.keys is not None else len(group.edges or ()) - 1
    extra = group.other is not None and group.other not in group.labels[:declared]
    return (
        declared > 0
        and len(group.labels) == declared + extra
        and len(set(group.labels)) == len(group.labels)
        and (group.other is None or group.other in group.labels)
        and (group.null_label is None or group.null_label in group.labels)
    )
