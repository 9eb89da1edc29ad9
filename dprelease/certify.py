"""The second opinion: derive the loss again from what will be executed, and refuse what is not so.

Nothing of the planner is used: neither the statistics' sensitivities nor the calibration. What one
record can do is enumerated from the measures, the transform and the groups that will be executed;
what the noise costs is bounded by ``privacy.witness``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.executable import is_executable
from dprelease.model import Adjacency, Loss, Measure, MeasureKind, NoiseFamily, Plan, Step
from dprelease.privacy import witness
from dprelease.privacy.shift import MAX_SHAPES, Shift

FEW = 16
"""Columns with at most this many steps between their bounds are enumerated value by value."""

Change = dict[tuple[int, int], int]
"""What a record adds to the released integers: (cell, released integer) -> amount."""


@dataclass(frozen=True, slots=True)
class CertifiedPlan:
    """A plan whose claim was confirmed. Only ``certify`` makes one."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest L1 change between neighbours, and the shifts that hold all changes."""

    l1: int
    shift: Shift


def certify(plan: Plan) -> CertifiedPlan:
    """Confirm that a plan costs at most what it claims, and at most the declared total.

    Raises Failure (exit code 70: a bug of ours, nothing was released) when it can't.
    """
    _confirm(is_executable(plan), "that it means what it says")
    for step in plan.steps:
        worst = worst_change(step, plan.release.privacy.adjacency)
        _confirm(_step_holds(step, worst), f'the loss of "{step.query.name}"')
    _confirm(_total_holds(plan), "the loss of the release")
    _confirm(_within_declared(plan), "that the release stays within its total")
    return CertifiedPlan(plan)


def _confirm(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(
            ExitCode.INTERNAL,
            Complaint(
                "E701",
                f"the plan could not be certified: {what} was not confirmed",
                "this is a bug in dprelease; nothing was read, charged or released",
            ),
        )


def worst_change(step: Step, adjacency: Adjacency) -> Worst:
    """Enumerate what one record can do to a step's released integers, in two cells at most.

    Records are taken at the corners: least value, greatest value, no value, no cell. Norms are
    convex and a record's effect is linear in its value, so the corners are the worst. Columns
    with few values are taken whole, so that the shapes of all changes are known.
    """
    effects = list(_effects(step))
    if adjacency is Adjacency.ADD_REMOVE:
        changes = effects
    else:
        changes = [_minus(left, right) for left, right in combinations(effects, 2)]
    shapes = {
        tuple(sorted((abs(v) for v in change.values() if v), reverse=True)) for change in changes
    } - {()}
    complete = len(step.transform) == 1 or _few_values(step.measures)
    return Worst(
        max((sum(shape) for shape in shapes), default=0),
        Shift(
            max((sum(v * v for v in shape) for shape in shapes), default=0),
            # with one value between the bounds, all sums of both records may change
            max((len(shape) for shape in shapes), default=0)
            if complete
            else len(step.transform) * (1 if adjacency is Adjacency.ADD_REMOVE else 2),
            _largest(shapes) if complete else (),
        ),
    )


def _largest(shapes: set[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Drop the shapes that another one covers entry by entry."""

    def covers(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return len(one) >= len(other) and all(a >= b for a, b in zip(one, other, strict=False))

    kept = [
        shape
        for shape in shapes
        if not any(covers(other, shape) for other in shapes if other != shape)
    ]
    return tuple(sorted(kept)) if len(kept) <= MAX_SHAPES else ()


def _few_values(measures: Sequence[Measure]) -> bool:
    widths = [each.quantity.grid.width for each in measures if each.quantity is not None]
    return max(widths, default=0) <= FEW


def _effects(step: Step) -> Iterator[Change]:
    query = step.query
    filtered = any(measure.where is not None for measure in step.measures)
    closed = all(
        group.other in group.labels and group.null_label in group.labels for group in query.groups
    )
    if filtered or not closed:
        yield {}
    cells = 1
    for group in query.groups:
        cells *= len(group.labels)
    for cell in range(min(cells, 2)):
        for values in _corners(step.measures):
            yield {
                (cell, row): sum(
                    factor * value for factor, value in zip(factors, values, strict=True)
                )
                for row, factors in enumerate(step.transform)
            }


def _corners(measures: Sequence[Measure]) -> Iterator[list[int]]:
    """Give the measures of one record in a cell: without a value, at the least, at the greatest.

    All measures of a step read one quantity; ValueError otherwise.
    """
    quantities = {measure.quantity for measure in measures if measure.quantity is not None}
    if len(quantities) > 1:
        raise ValueError("a step reads one quantity")
    grid = next((each.grid for each in quantities), None)
    values: list[int | None] = [None]
    if grid is not None:
        few = _few_values(measures)
        values += range(grid.lower, grid.upper + 1) if few else (grid.lower, grid.upper)
    if any(each.null_fill is not None for each in quantities):
        values = values[1:]
    for value in values:
        yield [_of_record(measure.kind, value) for measure in measures]


def _of_record(kind: MeasureKind, value: int | None) -> int:
    if kind is MeasureKind.RECORDS:
        return 1
    if value is None:
        return 0
    return 1 if kind is MeasureKind.VALUES else value


def _minus(left: Change, right: Change) -> Change:
    keys = left.keys() | right.keys()
    return {key: left.get(key, 0) - right.get(key, 0) for key in keys}


def _step_holds(step: Step, worst: Worst) -> bool:
    noise, claimed = step.noise, step.loss
    if noise.family is NoiseFamily.NONE:
        return worst.l1 == 0
    if worst.l1 > step.sensitivity.l1 or worst.shift.l2_squared > step.sensitivity.l2_squared:
        return False
    if noise.parameter <= 0 or claimed.epsilon <= 0:
        return False
    if noise.family is NoiseFamily.LAPLACE:
        epsilon = witness.laplace_epsilon(noise.parameter, worst.l1)
        if claimed.rho is not None and witness.pure_rho(epsilon) > claimed.rho:
            return False
        return claimed.delta >= 0 and epsilon <= claimed.epsilon
    delta = witness.gaussian_delta_upper(noise.parameter, worst.shift, claimed.epsilon)
    rho = witness.gaussian_rho(noise.parameter, worst.shift.l2_squared)
    return delta <= claimed.delta and claimed.rho is not None and rho <= claimed.rho


def _total_holds(plan: Plan) -> bool:
    """Confirm the composed loss by any one of three arguments, each enough by itself."""
    losses = [step.loss for step in plan.steps]
    claimed = plan.loss
    if claimed.rho is not None and not _rho_holds(losses, claimed.rho):
        return False
    pure = [loss for loss in losses if loss.delta == 0]
    others = [loss for loss in losses if loss.delta > 0]
    if _added(losses, claimed.epsilon, claimed.delta):
        return True
    if claimed.delta == 0 or any(loss.rho is None for loss in losses):
        return False
    rho = sum((loss.rho or Fraction(0) for loss in losses), Fraction(0))
    if witness.zcdp_delta_upper(rho, claimed.epsilon) <= claimed.delta:
        return True
    rho = sum((loss.rho or Fraction(0) for loss in others), Fraction(0))
    left = claimed.epsilon - sum((loss.epsilon for loss in pure), Fraction(0))
    return left > 0 and witness.zcdp_delta_upper(rho, left) <= claimed.delta


def _rho_holds(losses: Sequence[Loss], claimed: Fraction) -> bool:
    rhos = [loss.rho for loss in losses if loss.rho is not None]
    return len(rhos) == len(losses) and sum(rhos, Fraction(0)) <= claimed


def _added(losses: Sequence[Loss], epsilon: Fraction, delta: Fraction) -> bool:
    """Plain addition."""
    return (
        sum((loss.epsilon for loss in losses), Fraction(0)) <= epsilon
        and sum((loss.delta for loss in losses), Fraction(0)) <= delta
    )


def _within_declared(plan: Plan) -> bool:
    privacy = plan.release.privacy
    if privacy.rho is not None:
        rhos = [step.loss.rho for step in plan.steps]
        known = [rho for rho in rhos if rho is not None]
        return len(known) == len(rhos) and sum(known, Fraction(0)) <= privacy.rho
    if privacy.epsilon is None:
        return True
    return plan.loss.epsilon <= privacy.epsilon and plan.loss.delta <= privacy.delta
