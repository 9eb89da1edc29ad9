"""Noise that the integers of a cell have together (CUBE): what it needs, and what it costs.

*The cost.* In a cell P(z) is proportional to exp(-max abs(z_i)/s) on all integer vectors. If a
neighbour's integers are v apart there, the log-ratio of the two laws at z is
(max abs(z_i + v_i) - max abs(z_i))/s, as both have one constant. By the triangle inequality that is
at most max abs(v_i)/s, and exactly that at z = 0. Cells are independent, so their losses add up:
epsilon is 1/s times the sum over cells of how far the integer that changes most does so. (Hardt and
Talwar, "On the Geometry of Differential Privacy", arXiv 0907.3754, theorem 3.2, with the maximum
norm; integers are some of the vectors there.)

*The worst change.* Let a row add to integer i a number in [l_i, h_i], whatever it adds to the
others, with l_i <= 0 <= h_i where it may be missing. If v rows enter a cell and u leave, it
moves by at most max(v h_i - u l_i, u h_i - v l_i), as by rows that are alike, at an end of the
interval. The largest of these is a maximum of linear functions of (v, u), so convex, and
``worst_change`` adds it up over cells. The ends are found integer by integer, from the measures
that it has alone: so many corners are few (``unit_limits.find_corners``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import compress
from math import floor

from msgspec import Struct
from msgspec.structs import replace

from dprelease.kernel.core.additive_loss import bound_pure_rho
from dprelease.kernel.core.rules import AtMost, Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.step_loss import COVERED
from dprelease.kernel.core.unit_limits import derive_limits, find_corners
from dprelease.kernel.core.worst_change import maximize_over_cells
from dprelease.model import Form, Loss, NoiseFamily, Plan, Privacy, Step

MOST_TOGETHER = 1 << 12
"""So many integers of a cell are drawn together at most."""


def find_joint_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps with noise that is drawn together have or lack."""
    for name, step in name_steps(plan):
        is_joint = step.noise.family is NoiseFamily.CUBE
        yield from find_breaches(TOGETHER if is_joint else APART, step, name)


def find_joint_loss_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what such steps lose beyond their claim."""
    privacy = plan.release.privacy
    for name, step in name_steps(plan):
        if step.noise.family is NoiseFamily.CUBE:
            cube = bound_largest_change(step, privacy)
            yield from find_breaches(STATED, _Priced(cube, step.sensitivity.cube), name)
            epsilon = compute_joint_epsilon(step, privacy)
            cost = Loss(epsilon, Fraction(0), bound_pure_rho(epsilon))
            yield from find_breaches(COVERED, (cost, step.loss), name)


class _Priced(Struct, frozen=True):
    """The largest change as derived here, and as the step states it."""

    derived: int
    stated: int


APART: Rules[Step] = (
    Rule("only the integers of a cube are drawn together", lambda step: step.noise.integers == 0),
)
TOGETHER: Rules[Step] = (
    Rule(
        "the noise of a cell has an integer for each that is released, and no more than 4,096",
        lambda step: (
            type(step.noise.integers) is int
            and step.noise.integers == len(step.transform) <= MOST_TOGETHER
        ),
    ),
    Rule(
        "integers that have noise together are noisy numbers of public cells, and not mixed",
        lambda step: (
            step.form is Form.NUMBERS
            and step.query.axis is None
            and not step.axes
            and not step.query.private
            and step.threshold is None
            and step.query.clip is None
        ),
    ),
)
STATED: Rules[_Priced] = (
    AtMost(
        "over all cells, the integer that changes most does so by no more than it states",
        lambda it: (it.derived, it.stated),
    ),
)


def compute_joint_epsilon(step: Step, privacy: Privacy) -> Fraction:
    """Compute the exact epsilon of noise that is drawn together."""
    return bound_largest_change(step, privacy) / step.noise.parameter


@lru_cache(maxsize=4096)
def bound_largest_change(step: Step, privacy: Privacy) -> int:
    """Bound the sum over cells of how far the integer that changes most does so."""
    limits = derive_limits(step, privacy)
    ends = {_find_ends(step, row, certain=limits.certain) for row in step.transform}

    @cache
    def bound_move(entering: int, leaving: int) -> Fraction:
        return max(
            max(entering * high - leaving * low, leaving * high - entering * low)
            for low, high in ends
        )

    return floor(maximize_over_cells(limits, bound_move))


def _find_ends(step: Step, row: Sequence[int], *, certain: bool) -> tuple[Fraction, Fraction]:
    """Find the least and the most that a row of the table adds to a released integer."""
    used = tuple(compress(step.measures, row))
    alone = replace(step, measures=used, transform=(tuple(filter(None, row)),))
    missing = [] if certain else [Fraction(0)]
    amounts = [*missing, *(amount for (amount,) in find_corners(alone))]
    return min(amounts), max(amounts)
