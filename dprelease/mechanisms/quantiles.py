"""Quantiles of one column by recursive halving with the exponential mechanism.

Kaplan, Schnapp, Stemmer, "Differentially Private Approximate Quantiles" (arXiv 2110.05429): a
middle quantile is selected first; the records below it hold the quantiles to its left, those above
it the ones to its right, and so on. Records of different parts are disjoint, so all selections of
one level cost as much as one. Here besides:

*Score.* With M records in the part, ``below`` of them under a candidate and ``upto`` under or at
it, a target a/b of the part (lowest terms, 0 < a < b) has the distance

    d = max(0, b below - a M, a M - b upto),

b times how far the target rank aM/b lies outside the candidate's rank interval [below, upto]. It
is 0 for a true quantile, however many records share its value. (The usual score
|(b-a) below - a (M - upto)| is not: of 60 fives and 50 nines the median is 5, with a score of 50;
a six has 10.) It is drawn with P proportional to exp(-rate d).

*Sensitivity.* Let a record of weight w be added, 0 <= w <= 1. ``below`` and ``upto`` rise by
numbers in [0, w] and M by w: b below - a M moves by a number in [-aw, (b-a)w], a M - b upto by one
in [-(b-a)w, aw]. A maximum moves by no more than what moves most: d by at most w max(a, b-a).
If the record is replaced by another of the part, M stays and ``below``, ``upto`` move by at most
w: d by at most w b. (Both are reached.)

*Ties.* A record's unit of mass is spread evenly over equal slots of its value, and a part can end
within a value: the mass of a value is shared out among two parts instead of left to one of
them, which would shift all targets there. A record then has weights in several parts of a level,
with the sum 1.

*Loss.* A selection at ``rate`` from a part costs 2 rate max(a, b-a) =: e for a record of weight 1,
and w e for one of weight w. The ends of all parts cut the line into bins; each slot lies in one.
Given all outputs, a slot in bin j is touched by the steps whose part holds bin j, and the sum of
their e is at most E, the largest over all bins: so a record costs the mean over its slots,
at most E, and m rows m E. If a neighbour's rows lie in several cells, cell j loses m_j E, in all
no more than (sum of m_j) E. A replaced row is one removal and one addition, wherever they
are: 2 E. It is less, if it ``stays``: if neither grouping nor filters nor nulls ever move a record
between cells or out of sight. Then the steps that hold its old and its new slot cost 2 rate b,
those that hold one of the two e: the largest sum over all pairs of bins. (Weights w <= v are worth
b w + (v-w) max(a, b-a). As b <= 2 max(a, b-a), that is at most what independent slots of the two
records cost in the mean.)

*Concentrated.* The log-ratio of a selection lies within an interval as long as its loss: it is
f(loss)-zCDP, with the f of ``privacy.bounded_range``. f(0) = 0, and f is convex: its second
derivative has the sign of sinh(x)^2/x^2 - 3 + 2 x coth(x), x = loss/2, where sinh(x) >= x and
x coth(x) >= 1. So f of a mean is at most the mean of f, and the sum of f(m e) over the steps that
hold a bin, largest over bins, bounds the tree; and several cells, as sum of f(m_j e) <= f(m e).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt

from msgspec import structs

from dprelease.mechanisms import Choice, Target
from dprelease.mechanisms.exponential import Exponential
from dprelease.model import Adjacency, Form, Loss, Noise
from dprelease.model.plans import QuantileScheme, QuantileStep
from dprelease.model.privacy_events import Range
from dprelease.privacy.bounded_range import bound_range_rho
from dprelease.privacy.interval_arithmetic import round_down

FINEST = 10**6  # the largest denominator of a target within its part
_ZERO = Fraction(0)
_HALVINGS = 60
_UNIT = 10**12


def compute_sensitivity(step: QuantileStep) -> int:
    """Bound the change of d when one record is added to the step's part or removed."""
    return max(step.target.numerator, step.target.denominator - step.target.numerator)


def compute_cost(step: QuantileStep) -> Fraction:
    """Compute the epsilon of this step alone, for one record added or removed."""
    return 2 * step.rate * compute_sensitivity(step)


def compute_replaced_epsilon(step: QuantileStep) -> Fraction:
    """Compute the epsilon of this step alone, for one record replaced within its part."""
    return 2 * step.rate * step.target.denominator


def plan_levels(
    quantiles: Sequence[Fraction],
    epsilon: Fraction,
    rows: int,
    replace: bool,
    *,
    stays: bool = False,
) -> QuantileScheme:
    """Build the scheme that costs exactly ``epsilon`` for a person of up to ``rows`` rows.

    ``quantiles`` rise strictly within (0, 1). ``replace``: neighbours differ in replaced rows,
    which must stay in their cell if ``stays`` is given; otherwise in added or removed ones.
    """
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    draft = _draft_scheme(quantiles, lambda share: share)
    return _scale_scheme(draft, epsilon / compute_loss(draft, rows, replace, stays=stays)[0])


def plan_levels_rho(
    quantiles: Sequence[Fraction], rho: Fraction, rows: int, replace: bool, *, stays: bool = False
) -> QuantileScheme:
    """Build the scheme for a rho; at most a part in 10^12 of rho stays unused.

    Arguments and result are those of ``plan_levels``.
    """
    if rho <= 0:
        raise ValueError("rho must be positive")
    draft = _draft_scheme(quantiles, _bound_root)

    def is_fitting(factor: Fraction) -> bool:
        return compute_loss(_scale_scheme(draft, factor), rows, replace, stays=stays)[1] <= rho

    low = high = Fraction(1)
    while not is_fitting(low):
        low /= 2
    while is_fitting(high):
        high *= 2
    low = max(low, high / 2) if is_fitting(high / 2) else low
    for _ in range(_HALVINGS):
        middle = round_down((low + high) / 2)
        low, high = (middle, high) if is_fitting(middle) else (low, middle)
    return _scale_scheme(draft, low)


def compute_loss(
    scheme: QuantileScheme, rows: int, replace: bool, *, stays: bool = False
) -> tuple[Fraction, Fraction]:
    """Compute (epsilon, rho) for a person with at most ``rows`` rows in all cells together.

    Epsilon is exact and linear in ``rows``, rho an upper bound (15 digits); see the module for the
    proof. ``replace``: up to ``rows`` rows are replaced, by rows of any cell or of none, or of
    the same cell if a replaced row ``stays``.
    """
    if rows < 1:
        raise ValueError("a person has at least one row")
    moved = 2 * rows if replace and not stays else rows
    worst = _find_dearest_pair if replace and stays else _find_dearest_path
    priced = lru_cache(maxsize=None)(lambda cost_of_path: bound_range_rho(moved * cost_of_path))
    return moved * worst(scheme, lambda cost_of_path: cost_of_path), worst(scheme, priced)


def compute_spans(
    scheme: QuantileScheme, rows: int, replace: bool, *, stays: bool = False
) -> tuple[Fraction, ...]:
    """Bound the range of the log-ratio of each level of the tree."""
    if rows < 1:
        raise ValueError("a person has at least one row")
    # Given the outputs of earlier levels, the selections of one level, in all cells, are drawn
    # independently, so their ranges add up: a record's weights in the parts of a level sum to 1,
    # and m rows have m times the range of the level's most expensive step.
    depths = {(0, len(scheme.quantiles) + 1): 0}
    widest: list[Fraction] = []
    for step in scheme.steps:
        depth = depths[step.lower, step.upper]
        depths |= dict.fromkeys(_split_parts(step), depth + 1)
        widest.extend([_ZERO] * (depth + 1 - len(widest)))
        widest[depth] = max(widest[depth], compute_cost(step))
    # A replaced record counts twice, as one removal and one addition. If it ``stays``, twice is
    # still enough (weights v <= w of a part are worth b v + (w - v) max(a, b-a) <=
    # (v + w) max(a, b-a)), and at the root, which holds both its places, 2 rate b.
    moved = [(2 if replace else 1) * rows * span for span in widest]
    if replace and stays:
        moved[0] = rows * compute_replaced_epsilon(scheme.steps[0])
    return tuple(moved)


def _find_dearest_path(scheme: QuantileScheme, price: Callable[[Fraction], Fraction]) -> Fraction:
    """Compute the largest sum of prices along the steps that hold one bin."""
    return _price_paths(scheme, price)[0, len(scheme.quantiles) + 1]


def _price_paths(
    scheme: QuantileScheme, price: Callable[[Fraction], Fraction]
) -> dict[tuple[int, int], Fraction]:
    """Compute the largest sum of prices for every part of the tree, last step first."""
    worst: dict[tuple[int, int], Fraction] = {}
    for step in reversed(scheme.steps):
        inner = (worst.get(part, _ZERO) for part in _split_parts(step))
        worst[step.lower, step.upper] = price(compute_cost(step)) + max(inner)
    return worst


def _find_dearest_pair(scheme: QuantileScheme, price: Callable[[Fraction], Fraction]) -> Fraction:
    """Compute the largest sum of prices over two bins; steps that hold both cost a replacement."""
    alone, shared = _price_paths(scheme, price), dict[tuple[int, int], Fraction]()
    for step in reversed(scheme.steps):
        # The two bins lie on the same side of the step, or one on either side.
        lower_part, upper_part = _split_parts(step)
        separate = alone.get(lower_part, _ZERO) + alone.get(upper_part, _ZERO)
        inner = max(separate, shared.get(lower_part, _ZERO), shared.get(upper_part, _ZERO))
        shared[step.lower, step.upper] = price(compute_replaced_epsilon(step)) + inner
    return shared[0, len(scheme.quantiles) + 1]


def _split_parts(step: QuantileStep) -> tuple[tuple[int, int], tuple[int, int]]:
    return (step.lower, step.index), (step.index, step.upper)


def _scale_scheme(scheme: QuantileScheme, factor: Fraction) -> QuantileScheme:
    """Multiply all rates by a factor."""
    steps = tuple(structs.replace(step, rate=step.rate * factor) for step in scheme.steps)
    return QuantileScheme(scheme.quantiles, steps)


def _bound_root(share: Fraction) -> Fraction:
    """Compute the square root, rounded down."""
    # This is the epsilon of a share of rho, up to a factor common to all.
    return Fraction(isqrt(share.numerator * _UNIT**2 // share.denominator), _UNIT)


def _draft_scheme(
    quantiles: Sequence[Fraction], cost_of: Callable[[Fraction], Fraction]
) -> QuantileScheme:
    """Build the tree for a share of 1 in every bin; ``cost_of`` turns a share into an epsilon."""
    ranks = tuple(quantiles)
    ends = (_ZERO, *ranks, Fraction(1))
    if not ranks or any(low >= high for low, high in pairwise(ends)):
        raise ValueError("quantiles lie strictly between 0 and 1, and rise")
    # A part of k quantiles needs h levels, 2^(h-1) <= k < 2^h, and a step takes the h-th of
    # what is left of the share: all levels cost the same along the longest branches, and the last
    # step of a shorter branch takes what would be left over. That is within a percent or two of
    # the best rates, for evenly spaced quantiles.
    steps: list[QuantileStep] = []

    def divide(low_end: int, high_end: int, share: Fraction) -> None:
        levels = (high_end - low_end - 1).bit_length()
        if not levels:
            return
        rank_limit = 1 << (levels - 1)  # the quantiles on either side are fewer than this

        def sum_levels(index: int) -> Fraction:
            return (ends[index] - ends[low_end]) / (ends[high_end] - ends[low_end])

        # Of the quantiles that leave both halves with one level less, take the one nearest the
        # middle of the part.
        index = min(
            range(max(low_end + 1, high_end - rank_limit), min(high_end, low_end + rank_limit + 1)),
            key=lambda k: (abs(sum_levels(k) - Fraction(1, 2)), k),
        )
        target = sum_levels(index).limit_denominator(FINEST)
        target = min(max(target, Fraction(1, FINEST)), 1 - Fraction(1, FINEST))
        unit = QuantileStep(index, low_end, high_end, target, Fraction(1))
        rate = cost_of(share / levels) / compute_cost(unit)
        steps.append(QuantileStep(index, low_end, high_end, target, rate))
        divide(low_end, index, share - share / levels)
        divide(index, high_end, share - share / levels)

    divide(0, len(ranks) + 1, Fraction(1))
    return QuantileScheme(ranks, tuple(steps))


class Quantiles(Exponential):
    """Quantiles by recursive halving, each selection by the exponential mechanism."""

    form = Form.QUANTILES

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the scheme of ``plan_levels``."""
        return self._search_choice(target, plan_levels, epsilon)

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the scheme of ``plan_levels_rho``."""
        return self._search_choice(target, plan_levels_rho, rho)

    def _search_choice(
        self, target: Target, plan: Callable[..., QuantileScheme], amount: Fraction
    ) -> Choice:
        rows = target.sensitivity.l1
        replace = target.adjacency is Adjacency.REPLACE_ONE
        stays = replace and target.stays
        scheme, loss, events = _plan_scheme(
            plan, target.query.quantiles, amount, rows, replace, stays
        )
        noise = Noise(self.family, scheme.steps[0].rate)
        return Choice(noise, loss, events, Form.QUANTILES, scheme)


@lru_cache(maxsize=4096)
def _plan_scheme(  # noqa: PLR0913, PLR0917 - all that decides it
    plan: Callable[..., QuantileScheme],
    quantiles: tuple[Fraction, ...],
    amount: Fraction,
    rows: int,
    replace: bool,
    stays: bool,
) -> tuple[QuantileScheme, Loss, tuple[tuple[Range, int], ...]]:
    """Plan a scheme once for all queries with the same share of the budget."""
    scheme = plan(quantiles, amount, rows, replace, stays=stays)
    epsilon, rho = compute_loss(scheme, rows, replace, stays=stays)
    spans = compute_spans(scheme, rows, replace, stays=stays)
    return scheme, Loss(epsilon, Fraction(0), rho), tuple((Range(span), 1) for span in spans)


QUANTILES = Quantiles()
