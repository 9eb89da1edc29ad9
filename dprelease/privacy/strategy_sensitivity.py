"""Sensitivity of the steps of a strategy, in closed form.

A record in the cell (k_1, ..., k_d) adds to cells mixed along their axes the product of one column
of each matrix, so its L1 norm and its squared L2 norm are the products of those of the columns:

* EACH: a unit vector; 1 and 1.
* CENTRED, n labels: n - 1 at its own label and -1 at the others; 2(n - 1) and n(n - 1), whichever
  label it is. That all records add vectors of one length is why such steps together lose no more
  than each by itself (Xiao, He, Zhang and Kifer, "An Optimal and Scalable Matrix Mechanism for
  Noisy Marginals under Convex Loss Functions", arXiv 2305.08175, section 4).
* RUNNING: the first column is the longest, as the others are its beginning, moved down.
* SCALED: as RUNNING, each column times its factor; the longest of these products.
* TREE: 1 in one node of each level; so both norms are the number of levels.
* BASIS: the longest column. Of two columns of the only such axis the difference is looked at for
  every pair, as long as these are few; else twice the longest column bounds it.

*A record replaced.* The change is the difference of two such products, p - q, and its squared
length |p|^2 + |q|^2 - 2 <p, q>. Where the two differ along an axis of EACH, or entries are not
negative, <p, q> >= 0. Along an axis of CENTRED the inner product of two different columns is -n, of
equal ones n(n - 1): <p, q> is smallest, -|p|^2/(n - 1), where the labels differ along one axis
alone, that with the fewest labels. Its L1 norm is at most the sum of both, and for a single CENTRED
axis 2n, as one entry rises by n and one falls by n.

*Features.* Of 2 x - n, with x the records that meet a condition and n all, a record changes each by
1 or -1, whether it meets the condition or not (Lebeda, "Better Gaussian Mechanism using Correlated
Noise", arXiv 2408.06853). So twice a sum of numbers in [L, U], less (L + U) n, changes by at most
K = U - L; and where a record without a number changes another integer by K instead, both together
by no more. One record in the place of another moves each feature by 2 K at most.

*Features and the total, with noise that is drawn together.* Of integers each of which a record
changes by C at most, one in the place of another changes each by 2 C, or if that is in another
cell by C in both cells. So the largest change, added up over cells, is C, or 2 C; for 2 x - n of
each condition and n, C is 1.

*Counts by conditions of a single cell, with such noise.* A record changes each by 1 at most, and so
does one in the place of another.

*A condition and its complement.* Of x and n - x a record changes one, by 1. One in the place of
another changes two by 1, or one by 1. So it is for conditions of which no record meets two, with
the records that meet none of them: each record is in one of these counts (parallel composition:
McSherry 2009, "Privacy Integrated Queries", theorem 4).

*Units of R rows.* The change is a sum of R such vectors, or of R differences: R times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul

from msgspec.structs import replace

from dprelease.model import AxisKind, AxisMatrix, Sensitivity
from dprelease.model.sentences import Sentence, sentence
from dprelease.privacy.sensitivity import Contribution


def bound_mixed_change(
    contribution: Contribution, sizes: Sequence[int], axes: Sequence[AxisMatrix], *, replaced: bool
) -> Sensitivity:
    """Bound the change of cells that are mixed along axes.

    Args:
        contribution: The limits on a unit's rows.
        sizes: Number of labels of each axis.
        axes: One matrix for each axis.
        replaced: Another unit takes the place of one; otherwise a unit comes or goes.

    Returns:
        L1 and squared L2 bound of the mixed integers, with the derivation.
    """
    norms = [_compute_norms(size, axis) for size, axis in zip(sizes, axes, strict=True)]
    l1, l2_squared = prod(norm for norm, _ in norms), prod(norm for _, norm in norms)
    if replaced:
        l1, l2_squared = _bound_difference(sizes, axes, l1, l2_squared)
    outputs = prod(axis.count_outputs(size) for size, axis in zip(sizes, axes, strict=True))
    return _build_sensitivity(
        contribution, l1, l2_squared, outputs, sentence("sensitivity.strategy.mixed")
    )


def bound_feature_change(
    contribution: Contribution,
    widths: Sequence[int],
    outputs: int,
    *,
    replaced: bool,
    conditions: bool,
) -> Sensitivity:
    """Bound the change of all features and cells together.

    Args:
        contribution: The limits on a unit's rows.
        widths: The most that a record moves each feature by.
        outputs: Number of released integers, over all cells.
        replaced: Another unit takes the place of one; otherwise a unit comes or goes.
        conditions: All features are conditions.

    Returns:
        L1 and squared L2 bound of the released integers, with the derivation.
    """
    step = 2 if replaced else 1
    l1, l2_squared = step * sum(widths), step**2 * sum(width**2 for width in widths)
    text = (
        sentence("sensitivity.strategy.halves")
        if conditions
        else sentence("sensitivity.strategy.centred")
    )
    return _build_sensitivity(contribution, l1, l2_squared, outputs, text)


def bound_joint_change(
    contribution: Contribution, widths: Sequence[int], outputs: int, *, replaced: bool
) -> Sensitivity:
    """Bound the change of features and of the number of records, over all cells together.

    Args:
        contribution: The limits on a unit's rows.
        widths: The most that a record moves each feature by, times its factor, and the number.
        outputs: Number of released integers, over all cells.
        replaced: Another unit takes the place of one; otherwise a unit comes or goes.

    Returns:
        The bounds of the released integers, with that of noise that is drawn together.
    """
    own = bound_feature_change(
        contribution, widths, outputs, replaced=replaced, conditions=max(widths) == 1
    )
    cube = contribution.rows * (2 if replaced else 1) * max(widths)
    text = (
        sentence("sensitivity.strategy.joint", cube=cube)
        if max(widths) == 1
        else sentence("sensitivity.strategy.joint_features", cube=cube)
    )
    return replace(own, cube=cube, derivation=text)


def bound_counts_change(contribution: Contribution, conditions: int) -> Sensitivity:
    """Bound the change of the counts of conditions in a single cell, by any kind of neighbours.

    Args:
        contribution: The limits on a unit's rows.
        conditions: Number of conditions.

    Returns:
        The bounds of the released integers, with that of noise that is drawn together.
    """
    counts = _build_sensitivity(
        contribution, conditions, conditions, conditions, sentence("sensitivity.strategy.counts")
    )
    words = sentence("sensitivity.strategy.counts_together", cube=contribution.rows)
    return replace(counts, cube=contribution.rows, derivation=words)


def bound_split_change(
    contribution: Contribution, outputs: int, *, replaced: bool, several: bool = False
) -> Sensitivity:
    """Bound the change of counts of disjoint records, such as those that meet a condition or not.

    Args:
        contribution: The limits on a unit's rows.
        outputs: Number of released integers, over all cells.
        replaced: Another unit takes the place of one; otherwise a unit comes or goes.
        several: By several conditions that exclude each other.

    Returns:
        L1 and squared L2 bound of the released integers, with the derivation.
    """
    moved = 2 if replaced else 1
    text = (
        sentence("sensitivity.strategy.apart")
        if several
        else sentence("sensitivity.strategy.split")
    )
    return _build_sensitivity(contribution, moved, moved, outputs, text)


def _compute_norms(size: int, axis: AxisMatrix) -> tuple[int, int]:
    """Compute the largest L1 norm and the largest squared L2 norm of a column of the matrix."""
    if axis.kind is AxisKind.EACH:
        return 1, 1
    if axis.kind is AxisKind.CENTRED:
        return 2 * (size - 1), size * (size - 1)
    if axis.kind is AxisKind.TREE:
        (widths,) = axis.entries
        return len(widths), len(widths)
    if axis.kind is AxisKind.SCALED:
        column, factors = axis.entries
        sums = list(accumulate(map(abs, column)))[::-1]
        squares = list(accumulate(entry * entry for entry in column))[::-1]
        return (
            max(map(mul, factors, sums)),
            max(factor**2 * square for factor, square in zip(factors, squares, strict=True)),
        )
    columns = (
        axis.entries if axis.kind is AxisKind.RUNNING else tuple(zip(*axis.entries, strict=True))
    )
    return (
        max(sum(map(abs, column)) for column in columns),
        max(sum(entry * entry for entry in column) for column in columns),
    )


def _bound_difference(
    sizes: Sequence[int], axes: Sequence[AxisMatrix], l1: int, l2_squared: int
) -> tuple[int, int]:
    """Bound the norms of a difference of two products, each within these norms."""
    kinds = [axis.kind for axis in axes]
    negative = any(min(min(row) for row in axis.entries) < 0 for axis in axes if axis.entries)
    if AxisKind.BASIS in kinds:
        mixing = [axis for axis in axes if axis.kind is not AxisKind.EACH]
        pairs = _compute_pair_norms(mixing[0]) if len(mixing) == 1 else None
        if pairs is not None:
            # Records that differ along an EACH axis share no cell, so their norms add up.
            several = (AxisKind.EACH, True) in zip(kinds, (size > 1 for size in sizes), strict=True)
            disjoint = (2 * l1, 2 * l2_squared) if several else (l1, l2_squared)
            return max(disjoint[0], pairs[0]), max(disjoint[1], pairs[1])
        negative = True
    if negative:
        return 2 * l1, 4 * l2_squared
    centred = [size for size, kind in zip(sizes, kinds, strict=True) if kind is AxisKind.CENTRED]
    if kinds == [AxisKind.CENTRED]:
        l1 = min(l1, sizes[0])
    if not centred or min(centred) < 2:
        return 2 * l1, 2 * l2_squared
    fewest = min(centred)
    return 2 * l1, 2 * l2_squared * fewest // (fewest - 1)


_MOST_PAIRS = 1 << 22
"""So many pairs of entries are looked at; certification looks at no more."""

_LARGEST = 1 << 24


def _compute_pair_norms(axis: AxisMatrix) -> tuple[int, int] | None:
    """Compute the largest norms of a difference of two columns; None with too many pairs."""
    import numpy as np

    labels = len(axis.entries[0])
    is_large = labels * (labels + 1) // 2 * len(axis.entries) > _MOST_PAIRS
    if is_large or max(max(map(abs, row)) for row in axis.entries) > _LARGEST:
        return None
    columns = np.array(axis.entries, dtype=np.int64).T
    differences = [abs(columns[place:] - column) for place, column in enumerate(columns)]
    return (
        max(int(difference.sum(axis=1).max()) for difference in differences),
        max(int((difference * difference).sum(axis=1).max()) for difference in differences),
    )


def _build_sensitivity(
    contribution: Contribution, l1: int, l2_squared: int, outputs: int, outputs_text: Sentence
) -> Sensitivity:
    rows = contribution.rows
    l1, l2_squared = rows * l1, rows**2 * l2_squared
    text = sentence(
        "sensitivity.strategy.change", numbers=outputs_text, total=l1, squares=l2_squared
    )
    return Sensitivity(l1, l2_squared, max(1, min(outputs, l1)), derivation=text)
