"""How far a released quantile may lie from its target, in ranks, without a look at the data.

A selection takes a candidate that is t ranks off or more with a chance that ``error_sums`` bounds
by the number of candidates: few data that share a lot of the grid can make that many candidates
equally far off. A single selection can't be bounded better: the bound is reached by data that all
lie at one end of the grid, which leave the rest of it in one gap.

The part that is selected from may itself end at wrong ranks. Its target was set relative to its
ends, so if they are off by f and g ranks, target p of the part is off by (1 - p) f + p g. What all
selections that a quantile depends on add to its error is summed up in ``error_sums.several``.

*What it is worth.* Where values are spread over the grid, the number of candidates does not show:
errors are a few 1/rate, for a median with all of epsilon 1.4 records/epsilon in the root mean
square. There a single quantile is off by a fourth or less of what is stated, and one of a list by
a tenth. No bound that holds without a look at the data can say so. For there are data of which the
worst is true, lists too: if all records lie at the lower bound, the median is selected in the gap
above them as soon as its weight exp(-rate n/2) times the grid is large; the lower quartile is then
one of all of these records, and goes astray by as much again.

*What it leaves out.* Parts end at a 4096-th of a value's records (``noise.ranks``), or less finely
on grids of 2^48 values and more. The bound allows 1 rank for that, and counts on a candidate for
each rank where parts end; both cover values that up to 4096 records of a cell share. In larger
heaps of m records add m/4096 for each end, and ln(m/4096) over the rate of each selection. Targets
have denominators up to 10^6 (``quantiles``), so that quantiles with more than three decimals may
be off by a millionth of the records more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from dprelease.mechanisms.selection_error_sum import Selection, several, single
from dprelease.model.plans import QuantileScheme, QuantileStep
from dprelease.privacy.interval_arithmetic import ln_bounds

SLOTS = 1 << 12  # of a value at most, as in noise.ranks
_ROOM = 60


@lru_cache(maxsize=1024)
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
    if len(needed) == 1:
        (step,) = needed
        # Of whole records the distances are whole in units of a b-th of a record.
        apart = Fraction(0 if step.index in ends else 1, step.target.denominator)
        return single(_selection(step, ends, upper - lower + 1), apart, alpha)
    shares = {index + 1: Fraction(1)}  # of each error in that of the quantile
    for step in reversed(needed):
        share = shares[step.index]
        for end, part in ((step.left, 1 - step.target), (step.right, step.target)):
            shares[end] = shares.get(end, Fraction(0)) + share * part
    whole = several(
        [(shares[step.index], _selection(step, ends, upper - lower + 1)) for step in needed], alpha
    )
    return ceil(whole + sum(shares[step.index] for step in needed[:-1]))


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


def _selection(step: QuantileStep, ends: set[int], outputs: int) -> Selection:
    """One selection; where it ends parts, it is among the slots of all values."""
    rate = step.rate * step.target.denominator
    slots = _slots(outputs) if step.index in ends else 1
    return Selection(outputs * slots - 1, rate, step.index in ends)


def _slots(outputs: int) -> int:
    return max(1, min(SLOTS, 1 << max(0, _ROOM - outputs.bit_length())))
