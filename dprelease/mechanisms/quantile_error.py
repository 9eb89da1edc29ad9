"""Rank error of released quantiles, without a look at the data.

A selection takes a candidate that is t ranks off or more with a chance that ``Selection`` bounds
by the number of candidates: few data that share a lot of the grid can make that many candidates
equally far off. A single selection can't be bounded better: the bound is reached by data that all
lie at one end of the grid, which leave the rest of it in one gap.

The part that is selected from may itself end at wrong ranks. Its target was set relative to its
ends, so if they are off by f and g ranks, target p of the part is off by (1 - p) f + p g. What all
selections that a quantile depends on add to its error is summed up in ``bound_several``.

*What it is worth.* Where values are spread over the grid, the number of candidates does not show:
errors are a few 1/rate, for a median with all of epsilon 1.4 records/epsilon in the root mean
square. There a single quantile is off by a fourth or less of what is stated, and one of a list by
a tenth. No bound that holds without a look at the data can say so. For there are data of which the
worst is true, lists too: if all records lie at the lower bound, the median is selected in the gap
above them as soon as its weight exp(-rate n/2) times the grid is large; the lower quartile is then
one of all of these records, and goes astray by as much again.

*What it leaves out.* Parts end at a 4096-th of a value's records
(``chapters.choices.quantile_sampler``), or less finely on grids of 2^48 values and more. The bound
allows 1 rank for that, and counts on a candidate for each rank where parts end; both cover values
that up to 4096 records of a cell share. In larger heaps of m records add m/4096 for each end, and
ln(m/4096) over the rate of each selection. Targets have denominators up to 10^6 (``quantiles``), so
that quantiles with more than three decimals may be off by a millionth of the records more.

*Weights.* A weighted record is as many records as its weight has steps. Distances of a single
quantile are then whole numbers of b-ths of a step, and all of the above holds in steps. Where parts
end, all of it holds in ranks of the largest weight each: the 4096-th of a value's weight is no more
than such a rank, where that is at most 4096 times the largest weight.

*Sums of errors.* How large a weighted sum of the errors of several selections may be.
``Selection`` says how likely the error of one selection by the exponential mechanism is t or more,
given all selections before it, whatever the data are. With N candidates at distance t or more,
none heavier than exp(-rate t), beside G of weight that are nearer, that is at most

    N exp(-rate t)/(G + N exp(-rate t)).

G is at least 1: some candidate has distance 0. Where it is known that there is a candidate for
every rank (``dense``), G is also at least the sum of exp(-rate x) over ranks from the target
towards those far candidates: the integral of exp(-rate x) from 0 to t, (1 - exp(-rate t))/rate.

As the bound holds given the past, the errors are no larger than independent ones that follow the
bounds exactly (take the same uniform number for each pair). So a sum of them is found by
convolution: on a lattice, each error rounded up to its next point, in integers, and every
probability that an error is small rounded down. Errors that are small for their selection are
rounded up a lot, to where the lattice begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil

from msgspec import Struct

from dprelease.model.plans import QuantileScheme, QuantileStep
from dprelease.privacy.interval_arithmetic import bound_exp, bound_ln, round_down, round_up

SLOTS = 1 << 12  # of a value at most, as in noise.ranks
_ROOM = 60


@lru_cache(maxsize=1024)
def rank_halfwidth(  # noqa: PLR0913 - which quantile of what, and how surely
    scheme: QuantileScheme, index: int, lower: int, upper: int, alpha: Fraction, *, largest: int = 1
) -> int:
    """Bound the rank error of a released quantile, whatever the data are.

    The target rank of quantile q among n records is n q. A value is off by the distance from the
    target rank to the interval from the number of records below the value to the number below or
    at it. All values are taken after rounding to the grid, or to the nearest listed value; see the
    module for what else is assumed.

    Args:
        scheme: The selections and their rates.
        index: The quantile, from 0.
        lower: The least integer that can come out; 0 for a list.
        upper: The greatest integer that can come out; k - 1 for a list of k.
        alpha: The chance that the error is larger, between 0 and 1.
        largest: The largest weight of a record in steps; 1 without weights.

    Returns:
        The bound in ranks, of weighted records in steps of weight.

    Raises:
        ValueError: alpha is out of range, the bounds do not rise, or there is no such quantile.
    """
    if not 0 < alpha < 1:
        raise ValueError("a chance lies between 0 and 1")
    if lower > upper:
        raise ValueError("bounds rise")
    steps = {step.index: step for step in scheme.steps}
    needed = _list_ancestry(steps, index + 1)
    ends = {end for step in scheme.steps for end in (step.lower, step.upper)}
    if len(needed) == 1:
        (step,) = needed
        # Of whole records the distances are whole in units of a b-th of a record.
        least_excess = Fraction(0 if step.index in ends else 1, step.target.denominator)
        whole = 1 if step.index not in ends else largest
        selection = _build_selection(step, ends, upper - lower + 1, whole)
        return whole * bound_single(selection, least_excess, alpha)
    shares = _compute_shares(needed, index + 1)
    parts = [
        (shares[step.index], _build_selection(step, ends, upper - lower + 1, largest))
        for step in needed
    ]
    return largest * ceil(
        bound_several(parts, alpha) + sum(shares[step.index] for step in needed[:-1])
    )


def _compute_shares(needed: Sequence[QuantileStep], index: int) -> dict[int, Fraction]:
    """Compute the share of each selection's error in that of a quantile."""
    shares = {index: Fraction(1)}
    for step in reversed(needed):
        share = shares[step.index]
        for end, part in ((step.lower, 1 - step.target), (step.upper, step.target)):
            shares[end] = shares.get(end, Fraction(0)) + share * part
    return shares


def compute_share_variance(scheme: QuantileScheme, index: int) -> Fraction:
    """Compute the variance of a quantile's rank error, from 0, where no two records share a value.

    Each selection then errs by a Laplace draw of its rate, as if ranks were numbers.
    """
    needed = _list_ancestry({step.index: step for step in scheme.steps}, index + 1)
    shares = _compute_shares(needed, index + 1)
    return sum(
        (2 * (shares[step.index] / (step.rate * step.target.denominator)) ** 2 for step in needed),
        Fraction(0),
    )


def _list_ancestry(steps: dict[int, QuantileStep], index: int) -> list[QuantileStep]:
    """List the steps that a quantile depends on, first to last, itself included."""
    if index not in steps:
        raise ValueError("the scheme has no such quantile")
    needed, ahead = [], {index}
    for step in reversed(list(steps.values())):
        if step.index in ahead:
            needed.append(step)
            ahead |= {step.lower, step.upper}
    return needed[::-1]


def _build_selection(step: QuantileStep, ends: set[int], outputs: int, rank: int) -> Selection:
    """Build the error bound of one selection; a rank is ``rank`` steps of weight."""
    rate = step.rate * step.target.denominator * rank
    # A selection that ends parts chooses among the slots of all values.
    slots = count_slots(outputs) if step.index in ends else 1
    return Selection(outputs * slots - 1, rate, step.index in ends)


def count_slots(outputs: int) -> int:
    """Count the slots of each of so many outputs."""
    return max(1, min(SLOTS, 1 << max(0, _ROOM - outputs.bit_length())))


_POINTS = 160
_BITS = 64  # of a probability
_ONE = 1 << _BITS
_LIKELY = 3
_FINE = 160  # bits of a weight exp(-rate t), which can be of one of 2^62 candidates


class Selection(Struct, frozen=True):
    """The error bound of one selection, in ranks; see the module.

    ``others`` is the number of candidates less one, ``rate`` the rate of one rank, and ``dense``
    says that there is a candidate for every rank.
    """

    others: int
    rate: Fraction
    dense: bool

    def compute_tail(self, decay: int) -> int:
        """Compute P(error >= t) in units of 2^-64, rounded up.

        ``decay`` is exp(-rate t) in units of 2^-160, rounded up.
        """
        one = 1 << _FINE
        far, near = self.others * decay, one
        if self.dense:
            near = max(near, (one - decay) * self.rate.denominator // self.rate.numerator)
        return -(-(far << _BITS) // (near + far)) if far else 0

    def start(self) -> Fraction:
        """Compute where the lattice begins: below it the error is not resolved."""
        likely = self.others * (min(self.rate, Fraction(1)) if self.dense else 1)
        return round_down(max(_bound_log(likely) - _LIKELY, Fraction(0)) / self.rate)

    def reach(self, alpha: Fraction) -> Fraction:
        """Compute a t that the error exceeds with a chance of at most alpha."""
        return round_up((_bound_log(self.others) + _bound_log(1 / alpha)) / self.rate)


def bound_single(selection: Selection, least_excess: Fraction, alpha: Fraction) -> int:
    """Find the least whole h that the error exceeds with a chance of at most ``alpha``."""
    low, high = -1, ceil(selection.reach(alpha))
    while high - low > 1:
        middle = (low + high) // 2
        decay = _bound_decay(selection.rate * (middle + least_excess))
        if selection.compute_tail(decay) * alpha.denominator <= alpha.numerator << _BITS:
            high = middle
        else:
            low = middle
    return high


def bound_several(parts: Sequence[tuple[Fraction, Selection]], alpha: Fraction) -> Fraction:
    """Bound the weighted sum of errors; it is exceeded with a chance of at most ``alpha``."""
    shared = alpha / len(parts)
    start = sum((weight * selection.start() for weight, selection in parts), Fraction(0))
    widest = sum((weight * selection.reach(shared) for weight, selection in parts), Fraction(0))
    step = round_up((widest - start) / _POINTS)
    law = [_ONE]
    for weight, selection in parts:
        if weight:
            law = _add_laws(law, _round_up_law(selection, step / weight))
    reached = 0
    for place, chance in enumerate(law):
        reached += chance
        if reached * alpha.denominator >= (alpha.denominator - alpha.numerator) << _BITS:
            return min(start + place * step, widest)
    return widest


def _round_up_law(selection: Selection, step: Fraction) -> list[int]:
    """Compute the law of the error above its start, in steps, rounded up to whole ones."""
    factor = _bound_decay(selection.rate * step)
    law, before, decay = [], _ONE, _bound_decay(selection.rate * selection.start())
    for _ in range(_POINTS + 1):
        beyond = min(before, selection.compute_tail(decay))
        law.append(before - beyond)
        before, decay = beyond, -(-decay * factor >> _FINE)
    return law


def _add_laws(left: list[int], right: list[int]) -> list[int]:
    """Convolve two laws, as far as the lattice goes."""
    # One product of two long integers, in which every coefficient has room enough.
    size = 2 * _BITS // 8 + 2
    first, second = (
        int.from_bytes(b"".join(mass.to_bytes(size, "little") for mass in law), "little")
        for law in (left, right)
    )
    length = (len(left) + len(right)) * size
    product = (first * second).to_bytes(length, "little")
    count = min(_POINTS + 1, len(left) + len(right) - 1)
    return [
        int.from_bytes(product[place * size : (place + 1) * size], "little") >> _BITS
        for place in range(count)
    ]


@lru_cache(maxsize=1024)
def _bound_log(value: Fraction | int) -> Fraction:
    """Bound ln of a number from 1 on from above; give 0 for any below."""
    return bound_ln(Fraction(value))[1] if value > 1 else Fraction(0)


def _bound_decay(exponent: Fraction) -> int:
    """Bound exp(-exponent) from above, in units of 2^-160."""
    high = bound_exp(-exponent)[1]
    return min(-(-(high.numerator << _FINE) // high.denominator), 1 << _FINE)
