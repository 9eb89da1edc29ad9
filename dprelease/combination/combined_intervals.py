"""Noise intervals of weighted sums and quotients of published figures.

*Sums.* The noise of a weighted sum of linear figures has an exact law, ``combined_noise``. What
roundings come to is added to its half-width.

*Means and proportions* of two sums lie within q(m)/N of the published one: Fieller's argument, see
``quotient_intervals``. Over n cells together the same holds of the sums of both integers, with q
that of n draws each; q is largest at a share of 0 or 1, as weights (1 - m, m) are majorized by
(1, 0) and the laws are log-concave (Proschan 1965): staircase noise, which is not, is on single
integers alone. So it is where the number N is fitted to the integers of several shares
(``postprocess.intervals.fitted_count``). That holds of continuous laws; on the integers q may fall
again, by no more than ``compute_lattice_step``, which is added.

*Sums of several means*, such as a difference. The mean m of published sums over the number N = n +
K errs by Y/N = r u, where Y = C + (1/2 - m) K, u = Y/n and r = n/N; K is the noise of N. So a sum
of means of weights w errs by r_1 (w_1 u_1 + ...) + w_2 (r_2 - r_1) u_2 + .... On the event that the
sum of all w u is within its half-width, whose law is known, and each abs(K) <= k and abs(Y) <= y,
but for small parts of alpha, this is at most r_1 times that half-width and, for each further mean,
w (k_1/N_1 + k/N) y/(N - k). Larger weights have larger quantiles, as above: r_1 is at most
1 + k_1/N_1, and n at least N - k. The first mean is the one that errs most; beside linear figures
r_1 is 1. Means whose released integers overlap each get a part of alpha instead.

*Figures that were changed* after the noise have the interval of those before, whose noise is known:
of tables that were made to agree, that of the figures that agree (``finishing.agreement``), before
they were moved to 0 or more or rounded. It holds what it should, whatever is made of them. The
value is that of what was published, to which the interval is stretched where it lies outside. A
single cell whose interval was published has that one.

*Quotients* L/M of linear figures: L - r M has noise of known law at the true r, so that r is among
the numbers with abs(L - r M) <= q(r). Its ends are fixed points of r = L/M +- q(r)/abs(M).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from dprelease.combination.combined_figures import Figures, Published, Weighted, Weights
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
    compute_lattice_step,
)

KNOTS = 64
_ROUNDS = 4
_FINE = 10**6
_HALF = Fraction(1, 2)
_RARE = Fraction(1, 20)
"""The part of alpha for errors of single numbers; the rest is for the sum of all."""
_DIGITS = 12


class Interval(NamedTuple):
    """An estimate, and the interval that holds the figure without noise."""

    value: Fraction
    low: Fraction
    high: Fraction

    @property
    def half(self) -> Fraction:
        """The distance to the end that is further away."""
        return max(self.high - self.value, self.value - self.low)

    def move_to(self, value: Fraction) -> Interval:
        """Move to another value, and stretch the interval to reach it."""
        return Interval(value, min(self.low, value), max(self.high, value))


def compute_value(weighted: Weighted) -> Fraction:
    """Compute the weighted sum of published figures. Raises ValueError if one is suppressed."""
    total = Fraction(0)
    for figures, weights in weighted:
        for place, weight in weights.items():
            value = figures.values[place]
            if value is None:
                raise ValueError("suppressed")
            total += weight * value
    return total


def bound_error(alpha: Fraction, *sums: tuple[Published, Weighted]) -> Fraction:
    """Bound the noise and the rounding of a sum of published figures.

    Args:
        alpha: Chance that the noise exceeds the bound, between 0 and 1.
        sums: Weighted sums of linear figures, each of a release with noise of its own.

    Returns:
        An h with P(|error| > h) <= alpha, in the unit of the figures.

    Raises:
        ValueError: The noise is not known, or too many released integers enter.
    """
    parts: list[Part] = []
    rounding = Fraction(0)
    for published, weighted in sums:
        parts += published.collect_noise(weighted)
        for figures, weights in weighted:
            rounding += figures.rounding * sum(map(abs, weights.values()))
    return compute_combined_halfwidth(tuple(parts), alpha) + rounding


def sum_interval(published: Published, weighted: Weighted, alpha: Fraction) -> Interval:
    """Compute the interval of a weighted sum of linear figures."""
    half = bound_error(alpha, (published, weighted))
    steps = [abs(w) * figures.unit for figures, weights in weighted for w in weights.values() if w]
    grid = Fraction(gcd(*(s.numerator for s in steps)), lcm(*(s.denominator for s in steps)))
    value = compute_value(weighted)
    # The true sum is a multiple of the grid: the ends are moved to these, inward.
    low, high = -(-(value - half) // grid) * grid, (value + half) // grid * grid
    return Interval(value, low, max(low, high))


def compute_mean(figures: Figures, places: Sequence[int]) -> Fraction | None:
    """Compute the mean over cells, weighted by the numbers behind them; None if one is unknown."""
    total = weighed = Fraction(0)
    for place in places:
        mean, count = figures.values[place], figures.share and figures.share.behind.values[place]
        if mean is None or count is None or count <= 0:
            return None
        total, weighed = total + count, weighed + mean * count
    return weighed / total


def mean_interval(
    published: Published, figures: Figures, places: Sequence[int], alpha: Fraction
) -> Interval | None:
    """Compute the interval of a mean or proportion over cells together.

    The cells are weighted by the numbers behind them. Method: Fieller's argument, see the module.

    Args:
        published: The release; supplies the laws of the noise.
        figures: Means or proportions with a share of two sums.
        places: Places of the cells' rows.
        alpha: Chance that the interval misses, between 0 and 1.

    Returns:
        The interval, cut to the bounds of the column; None if a number may be 0, or if a mean
        among several lies at the bounds.

    Raises:
        ValueError: The figures have no share, or too many released integers enter.
    """
    share = figures.share
    if share is None:
        raise ValueError("no share of two sums")
    span, counts, means = share.high - share.low, share.behind, []
    for place in places:
        mean, count = figures.values[place], counts.values[place]
        clipped = len(places) > 1 and mean in {share.low, share.high}
        if mean is None or count is None or count <= counts.rounding or clipped:
            return None
        means.append((mean, count))
    total = sum((count for _, count in means), Fraction(0))
    value = sum((mean * count for mean, count in means), Fraction(0)) / total

    once: Weights = dict.fromkeys(places, Fraction(1))
    lattice_step = compute_lattice_step(published.collect_noise([(share.contrast, once)]))

    def bound(off_centre: Fraction) -> Fraction:
        behind: Weights = dict.fromkeys(places, off_centre)
        noise = published.collect_noise([(share.contrast, once), (counts, behind)])
        return compute_combined_halfwidth(noise, alpha) + lattice_step

    # The published numbers are rounded: divide by the least that they can stand for.
    fewest = total - counts.rounding * len(places)
    slack = figures.rounding
    if len(places) > 1:
        slack += span * counts.rounding * len(places) / fewest
    centre = abs((value - share.low) / span - _HALF)
    off_centre = centre + bound(_HALF) / fewest
    # Round the distance up to one of 64 knots, so that few laws are computed.
    knot = min(KNOTS, -(-(off_centre * 2 * KNOTS) // 1))
    half = span * bound(Fraction(knot, 2 * KNOTS)) / fewest + slack
    return Interval(value, max(share.low, value - half), min(share.high, value + half))


class MeanTerm(NamedTuple):
    """A mean or proportion of some cells together, and its weight in a sum."""

    published: Published
    figures: Figures
    places: Sequence[int]
    weight: Fraction


def bound_mean_errors(
    means: Sequence[MeanTerm], alpha: Fraction, *linear: tuple[Published, Weighted]
) -> Fraction | None:
    """Bound the error of a weighted sum of means and linear figures, of one release or several.

    Args:
        means: The means.
        alpha: Chance that the error exceeds the bound, between 0 and 1.
        linear: Weighted sums of linear figures that are added.

    Returns:
        An h with P(|error| > h) <= alpha; None where the module's argument does not apply.

    Raises:
        ValueError: The figures have no law, or too many released integers enter.
    """
    rare = alpha * _RARE / (2 * len(means))
    known = [_describe_mean(mean, rare) for mean in means]
    described = [mean for mean in known if mean is not None]
    if len(described) < len(known):
        return None
    first = (
        None if linear else max(described, key=lambda mean: mean.size * mean.error / mean.fewest)
    )
    if any(mean.least <= 0 for mean in described if mean is not first):
        return None
    ratio = Fraction(1) if first is None else 1 + first.off / first.fewest
    entering: dict[int, tuple[Published, list[tuple[Figures, Weights]]]] = {}
    bound, draws = Fraction(0), 0
    for published, weighted in linear:
        entering.setdefault(id(published), (published, []))[1].extend(weighted)
        draws += _count_draws(published.collect_noise(weighted))
        for figures, weights in weighted:
            bound += figures.rounding * sum(map(abs, weights.values()))
    for term, mean in zip(means, described, strict=True):
        weight = mean.size * (1 / mean.fewest if mean is first else ratio / mean.least)
        bound += weight * mean.lattice_step + abs(term.weight) * mean.slack
        if mean is not first:
            apart = ratio - 1 + mean.off / mean.fewest
            bound += mean.size * apart * mean.error / mean.least
        short, sign = _round_up(weight), 1 if term.weight > 0 else -1
        own: list[tuple[Figures, Weights]] = [
            (mean.contrast, dict.fromkeys(term.places, sign * short)),
            (mean.behind, dict.fromkeys(term.places, sign * _round_up(short * mean.off_centre))),
        ]
        entering.setdefault(id(term.published), (term.published, []))[1].extend(own)
        draws += _count_draws(term.published.collect_noise(own))
    parts = combine_parts(
        part for published, own in entering.values() for part in published.collect_noise(own)
    )
    if _count_draws(parts) != draws:
        return None  # integers that enter twice
    return compute_combined_halfwidth(parts, alpha * (1 - _RARE)) + bound


class _Mean(NamedTuple):
    """What bounds the error of a mean, as the module names it.

    ``size`` is its weight times its span; ``fewest`` is N and ``least`` N - k; ``off`` is k and
    ``error`` y; ``off_centre`` bounds abs(1/2 - m).
    """

    contrast: Figures
    behind: Figures
    size: Fraction
    fewest: Fraction
    off: Fraction
    error: Fraction
    off_centre: Fraction
    slack: Fraction
    lattice_step: Fraction

    @property
    def least(self) -> Fraction:
        return self.fewest - self.off


def _describe_mean(term: MeanTerm, rare: Fraction) -> _Mean | None:
    published, figures, places, weight = term
    share, value = figures.share, compute_mean(figures, places)
    if share is None:
        raise ValueError("no share of two sums")
    if value is None or any(figures.values[place] in {share.low, share.high} for place in places):
        return None
    span, counts = share.high - share.low, share.behind
    once: Weights = dict.fromkeys(places, Fraction(1))
    half: Weights = dict.fromkeys(places, _HALF)
    step = compute_lattice_step(published.collect_noise([(share.contrast, once)]))
    ends = published.collect_noise([(share.contrast, once), (counts, half)])
    error = compute_combined_halfwidth(ends, rare) + step
    off = compute_combined_halfwidth(published.collect_noise([(counts, once)]), rare)
    rounding = counts.rounding * len(places)
    numbers = (counts.values[place] for place in places)
    fewest = sum((number for number in numbers if number is not None), -rounding)
    if fewest <= 0:
        return None
    off_centre = min(abs((value - share.low) / span - _HALF) + error / fewest, _HALF)
    slack = figures.rounding + (span * rounding / fewest if len(places) > 1 else 0)
    size = abs(weight) * span
    return _Mean(share.contrast, counts, size, fewest, off, error, off_centre, slack, step)


def _count_draws(parts: Sequence[Part]) -> int:
    return sum(part.draws for part in parts)


def _round_up(size: Fraction) -> Fraction:
    """Round up to 12 binary digits: short weights make laws cheap."""
    scale = Fraction(2) ** (_DIGITS - (size.numerator // size.denominator).bit_length())
    while size * scale < 1 << (_DIGITS - 1) and size:
        scale *= 2
    return -(-(size * scale) // 1) / scale


def compute_quotient_interval(
    published: Published, above: Weighted, below: Weighted, alpha: Fraction
) -> Interval | None:
    """Compute the interval of a quotient of weighted sums; None if the divisor may be 0."""
    divisor = compute_value(below)
    wide = bound_error(alpha, (published, below))
    if abs(divisor) <= wide:
        return None
    value = compute_value(above) / divisor

    def reach(at: Fraction) -> Fraction:
        # Short fractions keep the weights short; `wide / _FINE` below makes up for the change.
        at = at.limit_denominator(_FINE)
        half = bound_error(alpha, (published, add_weighted(above, below, -at)))
        return (half + wide / _FINE) / abs(divisor)

    # The ends are fixed points of r = L/M +- q(r)/abs(M): iterate towards them from the value.
    low = high = value
    for _ in range(_ROUNDS):
        low, high = value - reach(low), value + reach(high)
    low, high = min(low, value - reach(low)), max(high, value + reach(high))
    return Interval(value, low, high)


def add_weighted(left: Weighted, right: Weighted, factor: Fraction) -> Weighted:
    """Add ``factor`` times the second weighted sum to the first."""
    total: dict[tuple[str, str], tuple[Figures, dict[int, Fraction]]] = {}
    for weighted, times in ((left, Fraction(1)), (right, factor)):
        for figures, weights in weighted:
            weights_by_place = total.setdefault((figures.table, figures.name), (figures, {}))[1]
            for place, weight in weights.items():
                weights_by_place[place] = weights_by_place.get(place, Fraction(0)) + times * weight
    return [
        (figures, {place: weight for place, weight in weights.items() if weight})
        for figures, weights in total.values()
    ]
