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
the node's sum C/(S + 1), the *gain*. Nodes of the highest level are independent, and are added up.
Gains are rounded to steps of 2^-64: an estimate is unbiased whatever they are, and its variance
least where they are these. Figures are rounded to whole numbers. Half-widths come of the law of the
weighted sum of draws, ``intervals.combined_noise``: nodes that hold none of the first labels, or
all of their own, have the same weights on all numbers of a level, so that there are few of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import floor
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
_FEW_LABELS = 256
Widths = tuple[int, ...]
"""Labels of a whole node of each level; each a multiple of the one before, the first of them 1."""

_BITS = 64
_ONE = 1 << _BITS
_HALF = _ONE // 2
_ZERO = Fraction(0)


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

    In steps of 2^-64 of the variance of one draw.
    """

    variance: int
    covariance: int


@lru_cache(maxsize=1024)
def _compute_moments(widths: Widths, labels: int) -> tuple[Moments, ...]:
    """Compute the moments of the sums of the first 0, 1, ..., ``labels`` labels of a node.

    Args:
        widths: Labels of a whole node of each level, the node's own last.
        labels: Labels of the node; at the end of the order it may have fewer than a whole one.
    """
    *below, _ = widths
    if not below:
        return Moments(0, 0), Moments(_ONE, _ONE)
    before, prior = 0, [Moments(0, 0)]
    for start in range(0, labels, below[-1]):
        child = _compute_moments(tuple(below), min(below[-1], labels - start))
        prior += [Moments(before + own.variance, before + own.covariance) for own in child[1:]]
        before = prior[-1].variance
    gains = [(own.covariance << _BITS) // (before + _ONE) for own in prior]
    return tuple(
        Moments(own.variance - (own.covariance * gain >> _BITS), gain)
        for own, gain in zip(prior, gains, strict=True)
    )


class _Child(NamedTuple):
    """So many nodes alike: how many labels each has, and how many of these are first labels."""

    nodes: int
    labels: int
    inside: int


def _list_children(width: int, labels: int, inside: int) -> Iterator[_Child]:
    """List the nodes of a width among so many labels, where the first ``inside`` are asked for."""
    whole, rest = divmod(labels, width)
    before, within = divmod(min(inside, whole * width), width)
    yield _Child(before, width, width)
    if within:
        yield _Child(1, width, within)
    yield _Child(whole - before - (within > 0), width, 0)
    if rest:
        yield _Child(1, rest, max(inside - whole * width, 0))


def _count_node_weights(
    counts: Counter[int], widths: Widths, child: _Child, first: int, every: int
) -> None:
    """Count the weights of draws in estimates of nodes, in steps of 2^-64.

    Of each it is ``first`` times the sum of its first labels and ``every`` times that of all.
    """
    nodes, labels, inside = child
    if not nodes or not (every or (first and inside)):
        return
    if not inside or inside == labels:
        first, every = 0, every + (first if inside else 0)
    *below, _ = widths
    if not below:
        counts[every] += nodes
        return
    moments = _compute_moments(widths, labels)
    own = first * moments[inside].covariance + every * moments[labels].covariance >> _BITS
    counts[own] += nodes
    for part in _list_children(below[-1], labels, inside):
        parts = part._replace(nodes=nodes * part.nodes)
        _count_node_weights(counts, tuple(below), parts, first, every - own)


@lru_cache(maxsize=64)
def _compute_all_moments(widths: Widths, labels: int) -> tuple[Moments, ...]:
    """Compute the moments of the sums of the first 1, 2, ... of all labels."""
    before, moments = 0, list[Moments]()
    for start in range(0, labels, widths[-1]):
        own = _compute_moments(widths, min(widths[-1], labels - start))
        moments += [
            Moments(before + variance, before + covariance) for variance, covariance in own[1:]
        ]
        before = moments[-1].variance
    return tuple(moments)


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
        sums = [number << _BITS for number in block[: self.labels]]
        done, below = self.labels, 1
        for level, width in enumerate(self.widths[1:], start=2):
            # ``sums`` are those within each node of the level below.
            for place, start in enumerate(range(0, self.labels, width)):
                node = sums[start : start + width]
                _add_up_nodes(node, below)
                moments = _compute_moments(self.widths[:level], len(node))
                excess = (block[done + place] << _BITS) - node[-1]
                sums[start : start + width] = [
                    own + (gain * excess >> _BITS)
                    for own, (_, gain) in zip(node, moments[1:], strict=True)
                ]
            done, below = done + -(-self.labels // width), width
        _add_up_nodes(sums, below)
        return [(number + _HALF) >> _BITS for number in sums]  # to nearest

    def spread(self) -> Fraction:
        """Compute the mean variance of the sums, in units of that of one draw."""
        variances = [own.variance for own in self._compute_all_moments()]
        return Fraction(sum(variances), self.labels << _BITS)

    def compute_halfwidth(self, noise: Noise, number: int, alpha: Fraction) -> int:
        """Bound the noise of the first ``number`` labels' sum, but for a chance of alpha."""
        half = self._bound_noise(noise, number, _ZERO, alpha)
        return floor(half + Fraction(1, 2))

    def compute_largest_halfwidth(self, noise: Noise, alpha: Fraction) -> int:
        """Bound the noise of the sum that errs most, but for a chance of alpha.

        It is looked for among those with the largest variances: these have many draws each, whose
        sums have laws of one shape.
        """
        variances = [own.variance for own in self._compute_all_moments()]
        by_size = sorted(range(self.labels), key=lambda at: (variances[at], at), reverse=True)
        return max(self.compute_halfwidth(noise, at + 1, alpha) for at in by_size[:_MOST_LAWS])

    def balance_half(self, noise: Noise, number: int, q: Fraction, alpha: Fraction) -> Fraction:
        """Bound the noise of the first ``number`` labels' sum less q times that of all."""
        # Rounding to whole numbers moves both sums by up to a half.
        return self._bound_noise(noise, number, q, alpha) + (1 + q) / 2

    def _bound_noise(self, noise: Noise, number: int, q: Fraction, alpha: Fraction) -> Fraction:
        """Bound the noise of the first ``number`` labels' sum less q times that of all, unrounded.

        Of many labels each half-width is about 1 % larger, to be found sooner.
        """
        weights = self._count_weights(number, q)
        parts = combine_parts(Part(noise, weight, draws) for weight, draws in weights.items())
        points = 1 << (16 if self.labels <= _FEW_LABELS else 14)
        return compute_combined_halfwidth(parts, alpha, points=points)

    def compute_balance_variance(self, number: int, q: Fraction) -> Fraction:
        """Compute the variance of the first ``number`` labels' sum less q times that of all.

        In units of that of one draw.
        """
        moments = (Moments(0, 0), *self._compute_all_moments())
        variance, covariance = moments[number]
        return (variance - 2 * q * covariance + q * q * moments[-1].variance) / _ONE

    def find_most_unbalanced(self, q: Fraction) -> int:
        """Find the number of first labels, none to all, with the largest such variance."""
        a, b = q.numerator, q.denominator
        moments = (Moments(0, 0), *self._compute_all_moments())
        # The last term is that of all labels, whichever the first ones are.
        parts = [b * variance - 2 * a * covariance for variance, covariance in moments]
        return max(range(self.labels + 1), key=parts.__getitem__)

    def _compute_all_moments(self) -> tuple[Moments, ...]:
        return _compute_all_moments(self.widths, self.labels)

    def _count_weights(self, number: int, q: Fraction) -> Counter[Fraction]:
        """Count the weights of draws in the sum of ``number`` labels less q times that of all."""
        counts: Counter[int] = Counter()
        every = -(q.numerator << _BITS) // q.denominator
        for child in _list_children(self.widths[-1], self.labels, number):
            _count_node_weights(counts, self.widths, child, _ONE, every)
        return Counter({Fraction(weight, _ONE): draws for weight, draws in counts.items()})


def _add_up_nodes(sums: list[int], width: int) -> None:
    """Add to the sums of each node of a width those of all nodes before it, in place."""
    for start in range(width, len(sums), width):
        before = sums[start - 1]
        sums[start : start + width] = [before + own for own in sums[start : start + width]]
