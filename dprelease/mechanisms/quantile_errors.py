"""How far a released quantile may lie from its target, in ranks, without a look at the data.

The exponential mechanism takes a candidate at distance d or more from the best with a probability
of at most R exp(-rate d), R candidates: d < (ln R + ln(1/alpha))/rate but for a chance of alpha
(McSherry and Talwar 2007). The best has distance 0, as the rank intervals of a part's candidates
leave no rank out. A b-th of d is the error in ranks, against the target of the part.

The part itself may end at wrong ranks. Its target was set relative to its ends, so if they are off
by f and g ranks, target p of the part is off by (1 - p) f + p g. The bound adds up what may go
wrong in all selections that a quantile depends on, each with its share of alpha.

*What it is worth.* It is nearly reached by data where almost all the grid lies in one gap next to
the true quantile: a narrow cluster, far from the bounds for a quantile in the middle. For data that
are spread over the grid the ln R does not show: errors are a few 1/rate, for a median with all of
epsilon 1.4 records/epsilon in the root mean square.

*What it leaves out.* Parts end at a 4096-th of a value's records (``noise.ranks``), or less finely
on grids of 2^48 values and more. The bound allows 1 rank for that, which covers values that up
to 4096 records of a cell share; in larger heaps, add the heap's size/4096 for each end.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dprelease.model.plans import QuantileScheme, QuantileStep
from dprelease.privacy.enclosure import ln_bounds, round_up

SLOTS = 1 << 12  # of a value at most, as in noise.ranks
_ROOM = 60


def rank_halfwidth(
    scheme: QuantileScheme, index: int, lower: int, upper: int, alpha: Fraction
) -> int:
    """How many ranks quantile ``index`` (from 0) may be off, but for a chance of ``alpha``.

    The target rank of quantile q among n records is n q; a value is off by the distance from
    it to the interval from the number of records below the value to those below or at it. What
    comes out are integers from ``lower`` to ``upper``; for a list of k that holds every value of
    the data, say 0 and k - 1. See the module for what else it assumes.
    Raises ValueError for an alpha outside (0, 1) and for bounds that don't rise.
    """
    if not 0 < alpha < 1:
        raise ValueError("a chance lies between 0 and 1")
    if lower > upper:
        raise ValueError("bounds rise")
    steps = {step.index: step for step in scheme.steps}
    needed = _ancestry(steps, index + 1)
    ends = {end for step in scheme.steps for end in (step.left, step.right)}
    top = len(steps) + 1
    off = {0: Fraction(0), top: Fraction(0)}
    for step in needed:
        outputs = upper - lower + 1
        slots = _slots(outputs) if step.index in ends else 1
        p = step.target
        off[step.index] = (
            _own(step, outputs * slots, alpha / len(needed))
            + (1 - p) * off[step.left]
            + p * off[step.right]
            + (1 if step.index in ends else 0)
        )
    last = needed[-1]
    return ceil(off[last.index] - (1 if last.index in ends else 0))


def extreme(epsilon: Fraction, outputs: int, records: int | None) -> Fraction:
    """The share to leave out at either end when a minimum and a maximum are asked for.

    A true maximum can't be released: the gap above it belongs to a score as good as its own, and
    is wide. The quantile 1 - s can, as soon as s n records are enough to outweigh the gap:
    s n >= (ln R + ln 100)/rate, with rate = epsilon/2 for each record, R = ``outputs``. So for
    ``records`` expected (a public number) it is that over ``records``, but from 1/1000 to 1/4;
    and 1/100 if nothing is known, which is safe from 100 times that many records on.
    ``epsilon`` is what the one selection may cost for one record added or removed.
    Functions of the spec alone; the answer has at most three decimals.
    """
    if records is None:
        return Fraction(1, 100)
    if epsilon <= 0 or outputs < 1 or records < 1:
        raise ValueError("epsilon, outputs and records are positive")
    needed = 2 * ln_bounds(Fraction(100 * outputs))[1] / epsilon
    return min(
        max(Fraction(ceil(1000 * needed / records), 1000), Fraction(1, 1000)), Fraction(1, 4)
    )


def _ancestry(steps: dict[int, QuantileStep], index: int) -> list[QuantileStep]:
    """The steps that a quantile depends on, first to last, itself included."""
    if index not in steps:
        raise ValueError("the scheme has no such quantile")
    needed, ahead = [], {index}
    for step in reversed(list(steps.values())):
        if step.index in ahead:
            needed.append(step)
            ahead |= {step.left, step.right}
    return needed[::-1]


def _own(step: QuantileStep, candidates: int, alpha: Fraction) -> Fraction:
    """The error of one selection within its part, in ranks."""
    weight = ln_bounds(Fraction(candidates))[1] + ln_bounds(1 / alpha)[1]
    return round_up(weight / (step.rate * step.target.denominator))


def _slots(outputs: int) -> int:
    return max(1, min(SLOTS, 1 << max(0, _ROOM - outputs.bit_length())))
