"""People whose totals are scaled to a norm: what such a step must have, and what a person changes.

*What a person adds.* A step with ``Clip`` counts all rows of a person: v, one integer for each
cell. What remains is T(v), whose norm is at most C whatever the rows were (the proof is at
``Clip``). T looks at one person's rows alone, and the cells are the sum of T(v) over people. So
neighbours differ by one T(v), or by T(v) - T(w). Limits on rows take no part.

*Signs.* An entry of v is a sum of what rows add, and T keeps signs. Rows that add nothing below 0
(or nothing above) leave all people in one orthant.

*The norm L1.* Vectors of L1 norm at most C lie in the convex hull of 0 and the corners C e_i and
-C e_i, in an orthant of those with its signs. Both norms of a difference are convex in each of its
two vectors, so they are largest where both are corners. All cells are alike: two of them, or the
only one, have every pair of corners.

*The norm L2.* Take x, y with norms at most C. |x - y|^2 = |x|^2 + |y|^2 - 2 x y is at most 4 C^2,
reached by x = -y. In one orthant no product x_i y_i is below 0: at most 2 C^2, reached by x and y
along two cells; and if there is one cell, both lie in [0, C] and differ by at most C. The corners
have all three, so the same pairs give the largest square. L1 norms are at most the L2 norm times
the root of the number of cells, by Cauchy and Schwarz.

Bounding the norm of all that a person adds: Liu et al. 2022; Rameshwar and Tandon 2025, arXiv
2502.04749.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import isqrt

from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.unit_limits import find_corners
from dprelease.kernel.core.worst_change import Worst
from dprelease.model import (
    Adjacency,
    Clip,
    ClipNorm,
    Form,
    Measure,
    MeasureKind,
    Plan,
    Privacy,
    Read,
    Reading,
    Step,
)
from dprelease.model.shift import Shift

MOST = 2**50
"""The largest bound: what ``Clip`` holds totals within, so that no sum or product overflows."""


def bound_clipped_change(step: Step, privacy: Privacy) -> Worst:
    """Bound what neighbours can do to the released integers of a step with ``Clip``.

    The proof is at the head of this module.

    Args:
        step: What will be executed, of which the rules of this chapter hold.
        privacy: What a unit is, and which tables are neighbours.

    Returns:
        The largest L1 change over all cells together, and the shift that holds all changes.

    Raises:
        ValueError: The step has no clip.
    """
    clip, cells = step.query.clip, step.query.cells
    if clip is None:
        raise ValueError("only a clipped step has its totals bounded by a norm")
    corners = _list_corners(step, clip.bound)
    others = corners if privacy.adjacency is Adjacency.REPLACE_ONE else [(0,) * len(corners[0])]
    changes = [
        tuple(a - b for a, b in zip(one, other, strict=True))
        for one, other in product(corners, others)
    ]
    l2_squared = max(sum(entry * entry for entry in change) for change in changes)
    l1 = max(sum(map(abs, change)) for change in changes)
    if clip.norm is not ClipNorm.L1:
        l1 = isqrt(cells * l2_squared)
    coordinates = min(cells, l1)
    return Worst(l1, Shift(l2_squared, coordinates, ((l1,),) if coordinates == 1 else ()))


def _list_corners(step: Step, bound: int) -> list[tuple[int, ...]]:
    """List 0 and the corners along two cells, or the only one, in the orthants that there are."""
    width = min(2, step.query.cells)
    effects = [entry for effect in find_corners(step) for entry in effect]
    ends = [bound] if max(effects) > 0 else []
    ends += [-bound] if min(effects) < 0 else []
    along = [
        tuple(end if place == at else 0 for place in range(width))
        for at in range(width)
        for end in ends
    ]
    return [(0,) * width, *along]


# --- what such a step must have ------------------------------------------------------------------


def find_clip_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what a clipped step has beyond sums of people's totals, and who else reads it."""
    for name, step in name_steps(plan):
        if step.query.clip is not None:
            yield from find_breaches(CLIPPED, (step, plan.release.privacy), name)
    steps = {step.query.name: step for step in plan.steps}
    for read in plan.reads:
        sources = [steps[name] for name in read.steps if name in steps]
        yield from find_breaches(READ, (read, sources), f'the figures of "{read.query.name}"')


def _is_clip(clip: Clip | None) -> bool:
    """Tell whether the norm is known, and the bound a whole number that is held exactly."""
    return (
        clip is not None
        and isinstance(clip.norm, ClipNorm)
        and type(clip.bound) is int
        and 1 <= clip.bound <= MOST
    )


def _is_plain_sum(step: Step) -> bool:
    """Tell whether one number or sum of the rows of the query's filter is released as it is."""
    (measure,) = step.measures if len(step.measures) == 1 else (None,)
    if measure is None:
        return False
    kinds = {MeasureKind.RECORDS, MeasureKind.SUM}
    plain = Measure(measure.kind, measure.quantity, step.query.where)
    return measure.kind in kinds and measure == plain and step.transform == ((1,),)


CLIPPED: Rules[tuple[Step, Privacy]] = (
    Rule(
        "totals of people are scaled where a unit is a person",
        lambda case: case[1].bounding is not None and bool(case[1].unit_column),
    ),
    Rule(
        "totals are scaled to a known norm, of 1 to 2^50 steps",
        lambda case: _is_clip(case[0].query.clip),
    ),
    Rule("scaled totals are released as numbers", lambda case: case[0].form is Form.NUMBERS),
    Rule("scaled totals are numbers of rows, or sums", lambda case: _is_plain_sum(case[0])),
    Rule(
        "scaled totals lie in public cells",
        lambda case: (
            not case[0].query.private
            and (case[0].query.axis, case[0].query.candidates) == (None, None)
        ),
    ),
    Rule(
        "scaled totals select no keys, and are not mixed",
        lambda case: case[0].threshold is None and not case[0].axes,
    ),
)
READ: Rules[tuple[Read, list[Step]]] = (
    Rule(
        "figures are read from totals that are scaled as their query says",
        lambda case: all(step.query.clip == case[0].query.clip for step in case[1]),
    ),
    Rule(
        "sums of scaled totals are read as their own",
        lambda case: case[0].query.clip is None or case[0].reading is Reading.OWN,
    ),
)
