"""Running sums of counts that are released as a tree of sums along an order.

Each level of the tree has a number for every so many labels in order: one for each label, one for
each ``widths[1]`` labels, and so on. A record adds 1 to one number of each level, so that the L1
norm of its change is the number of levels, however many labels there are. Laplace noise of running
sums then grows with a power of the logarithm of the number of labels, where that of single counts
grows with its square root (Hay, Rastogi, Miklau and Suciu, "Boosting the Accuracy of Differentially
Private Histograms Through Consistency", arXiv 0904.0942; Qardaji, Yang and Li, "Understanding
Hierarchical Methods for Differentially Private Histograms", 2013). No number is of all labels:
its part of the loss is better spent on the others.

*Reading.* All numbers have independent noise of one law. The sum of the first labels is read by the
best linear unbiased estimate. Let t be the estimate of a node's sum from the levels below it, S its
variance in units of that of one draw, p the estimate of the sum of its first labels, A its variance
and C its covariance with t. The node's own number x, of variance 1, makes of p the estimate
p + C/(S + 1) (x - t). Its variance is A - C^2/(S + 1), and its covariance with the new estimate of
the node's sum C/(S + 1). Nodes of the highest level are independent, and are added up. Weights are
exact fractions; figures are rounded to whole numbers. Half-widths come of the law of the weighted
sum of draws, ``intervals.combined_noise``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import floor, lcm
from typing import NamedTuple

from msgspec import Struct

from dprelease.model import AxisKind, AxisMatrix, Noise
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)

MOST_LEVELS = 4
_MOST_LAWS = 64
Widths = tuple[int, ...]
"""Labels of a whole node of each level; each a multiple of the one before, the first of them 1."""

_ZERO, _ONE = Fraction(0), Fraction(1)
_HALF = Fraction(1, 2)


def build_tree(labels: int) -> AxisMatrix | None:
    """Build the tree with the least mean variance of running sums under Laplace noise.

    Args:
        labels: The number of labels.

    Returns:
        The matrix of sums; None where single counts err less.
    """
    errors = {
        widths: len(widths) ** 2 * TreeSums(labels, widths).spread()
        for widths in _list_widths(labels)
    }
    widths = min(errors, key=lambda widths: (errors[widths], widths))
    return AxisMatrix(AxisKind.TREE, (widths,)) if len(widths) > 1 else None


def _list_widths(labels: int) -> Iterator[Widths]:
    """List trees whose nodes have about equally many children."""
    yield (1,)
    for levels in range(2, MOST_LEVELS + 1):
        for children in count(2):
            if children ** (levels - 1) >= labels or children**levels > 2**levels * labels:
                break
            # The highest level is only added up: it has few nodes, at most twice as many.
            if labels <= 2 * children**levels:
                yield tuple(children**level for level in range(levels))


class Moments(NamedTuple):
    """Of an estimated sum of a node's first labels: variance, and covariance with the node's sum.

    In units of the variance of one draw.
    """

    variance: Fraction
    covariance: Fraction


@lru_cache(maxsize=1024)
def _compute_moments(widths: Widths, labels: int) -> tuple[Moments, ...]:
    """Compute the moments of the sums of the first 0, 1, ..., ``labels`` labels of a node.

    Args:
        widths: Labels of a whole node of each level, the node's own last.
        labels: Labels of the node; at the end of the order it may have fewer than a whole one.
    """
    *below, _ = widths
    if not below:
        return Moments(_ZERO, _ZERO), Moments(_ONE, _ONE)
    before, prior = _ZERO, [Moments(_ZERO, _ZERO)]
    for start in range(0, labels, below[-1]):
        child = _compute_moments(tuple(below), min(below[-1], labels - start))
        prior += [Moments(before + own.variance, before + own.covariance) for own in child[1:]]
        before = prior[-1].variance
    gains = [own.covariance / (before + 1) for own in prior]
    return tuple(
        Moments(own.variance - own.covariance * gain, gain)
        for own, gain in zip(prior, gains, strict=True)
    )


Weights = Mapping[tuple[int, int], Fraction]
"""Weights of numbers of a node, by level and by place among the node's numbers of that level."""

IntegerWeight = tuple[int, int, int]
"""Level, place and weight of a number."""


@lru_cache(maxsize=16)
def _compute_weights(widths: Widths, labels: int) -> tuple[Weights, ...]:
    """Compute the weights of the sums of the first 0, 1, ..., ``labels`` labels of a node.

    Args:
        widths: Labels of a whole node of each level, the node's own last.
        labels: Labels of the node.
    """
    *below, _ = widths
    if not below:
        return {}, {(0, 0): _ONE}
    whole: dict[tuple[int, int], Fraction] = {}
    prior: list[dict[tuple[int, int], Fraction]] = [{}]
    for start in range(0, labels, below[-1]):
        for own in _compute_weights(tuple(below), min(below[-1], labels - start))[1:]:
            moved = {(at, start // below[at] + place): w for (at, place), w in own.items()}
            prior.append(whole | moved)
        whole = prior[-1]
    top = len(below)
    return tuple(
        {place: weights.get(place, _ZERO) - gain * weight for place, weight in whole.items()}
        | {(top, 0): gain}
        for weights, (_, gain) in zip(prior, _compute_moments(widths, labels), strict=True)
    )


@lru_cache(maxsize=16)
def _compute_integer_weights(widths: Widths, labels: int) -> list[tuple[int, list[IntegerWeight]]]:
    """Write the weights of each sum of ``_compute_weights`` as integers over one denominator."""
    rows = []
    for weights in _compute_weights(widths, labels)[1:]:
        share = lcm(*(weight.denominator for weight in weights.values()))
        integers = [(*place, int(weight * share)) for place, weight in weights.items() if weight]
        rows.append((share, integers))
    return rows


class TreeSums(Struct, frozen=True):
    """The reader of one block of rows: ``labels`` in order, equal in all other groups."""

    labels: int
    widths: Widths

    @property
    def outputs(self) -> int:
        """Number of noisy integers of a block."""
        return AxisMatrix(AxisKind.TREE, (self.widths,)).count_outputs(self.labels)

    def read(self, block: Sequence[int]) -> list[int]:
        """Compute the sums along the order from the noisy integers, level after level."""
        sizes = [-(-self.labels // width) for width in self.widths]
        firsts = [sum(sizes[:level]) for level in range(len(sizes))]
        sums, before = [], _ZERO
        for start, size in self._list_nodes():
            places = [
                first + start // width for first, width in zip(firsts, self.widths, strict=True)
            ]
            for share, weights in _compute_integer_weights(self.widths, size):
                total = sum(
                    weight * block[places[level] + place] for level, place, weight in weights
                )
                own = before + Fraction(total, share)
                sums.append(floor(own + _HALF))  # to nearest
            before = own
        return sums

    def spread(self) -> Fraction:
        """Compute the mean variance of the sums, in units of that of one draw."""
        total = before = _ZERO
        for _, size in self._list_nodes():
            moments = _compute_moments(self.widths, size)
            total += sum((own.variance for own in moments), _ZERO) + before * size
            before += moments[-1].variance
        return total / self.labels

    def compute_halfwidth(self, noise: Noise, number: int, alpha: Fraction) -> int:
        """Bound the noise of the first ``number`` labels' sum, but for a chance of alpha."""
        return floor(_bound_noise(noise, self._count_weights(number), alpha) + _HALF)

    def compute_largest_halfwidth(self, noise: Noise, alpha: Fraction) -> int:
        """Bound the noise of the sum that errs most, but for a chance of alpha.

        It is looked for among those with the largest variances: these have many draws each, whose
        sums have laws of one shape.
        """
        variances: list[tuple[Fraction, int]] = []
        before = _ZERO
        for start, size in self._list_nodes():
            moments = _compute_moments(self.widths, size)
            variances += [
                (before + own.variance, start + at) for at, own in enumerate(moments) if at
            ]
            before += moments[-1].variance
        largest = sorted(variances, reverse=True)[:_MOST_LAWS]
        return max(self.compute_halfwidth(noise, number, alpha) for _, number in largest)

    def balance_half(self, noise: Noise, number: int, q: Fraction, alpha: Fraction) -> Fraction:
        """Bound the noise of the first ``number`` labels' sum less q times that of all."""
        # Rounding to whole numbers moves both sums by up to a half.
        return _bound_noise(noise, self._count_weights(number, q), alpha) + (1 + q) / 2

    def _list_nodes(self) -> list[tuple[int, int]]:
        """List the first label and the number of labels of each node of the highest level."""
        width = self.widths[-1]
        return [(at, min(width, self.labels - at)) for at in range(0, self.labels, width)]

    def _count_weights(self, number: int, q: Fraction = _ZERO) -> Counter[Fraction]:
        """Count the weights of draws in the sum of ``number`` labels less q times that of all."""
        numbers: Counter[Fraction] = Counter()
        for start, size in self._list_nodes():
            weights = _compute_weights(self.widths, size)
            inside = weights[max(0, min(size, number - start))]
            numbers.update(inside.get(at, _ZERO) - q * of_all for at, of_all in weights[-1].items())
        return numbers


def _bound_noise(noise: Noise, weights: Counter[Fraction], alpha: Fraction) -> Fraction:
    """Bound the noise of a weighted sum of draws, but for a chance of alpha."""
    parts = (Part(noise, weight, draws) for weight, draws in weights.items())
    return compute_combined_halfwidth(combine_parts(parts), alpha)
