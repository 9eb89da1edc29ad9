"""Quantiles of a grid that are read from a tree of counts of its values.

A list of many quantiles takes several selections of each value, one after the other, and their
errors add up. Counts of all values of the grid, released as a tree of sums (``shared.tree_sums``),
give all of them at once: the quantile q is where the estimated number of records up to a value
reaches q times that of all. Every value of the grid has a number of its own, so nothing is assumed
of how records are spread within bins; grids of more than ``MOST_VALUES`` values have no tree.

*Search.* Let F_j be the true number of records up to the value j of M, and T_j = F_j - q F_M, each
with the noise of its estimate. The value is searched by halving: where the noisy T_j of the middle
is at least 0, the lower half is kept with the middle, else the upper half without it. Quantiles of
one list are then in order, as a larger q makes fewer T_j reach 0, unless the noisy F_M is below 0:
such values are put in order.

*Rank error.* Let k be the value that is found, and h a bound that the noise of each T_j exceeds, in
absolute size, with a probability of at most alpha/(L + 1), and by symmetry with half of that on one
side; so it does for j = 0, the noise of q F_M. L is the number of halvings, log2 M rounded up.
Suppose that F_k < q F_M - h. Let y be the last value of which this holds. Compare the search with
that of the value y + 1: both start alike, and part at a middle j <= y whose noisy T_j is at least
0, though T_j <= T_y < -h. There are at most L middles on the way to y + 1, which is fixed by the
data: this has a probability of at most (alpha/2) L/(L + 1). In the same way the number of records
below k exceeds q F_M + h with no larger a probability. Where values are put in order, an error of
more than h takes max(q, 1 - q) F_M > h records, and noise of F_M below -F_M: max(q, 1 - q) times
that is the noise of T_0 or T_M, beyond h. So with probability 1 - alpha the quantile's rank is
within h of the ranks that k has, whatever the records are. The bound adds up all middles, as if
each were as near to the quantile as could be: mostly it holds more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil

from dprelease.mechanisms.quantile_error import compute_share_variance
from dprelease.mechanisms.quantiles import plan_levels
from dprelease.model import EACH, AxisMatrix, Form, Noise, Quantity, Query, Step
from dprelease.statistics.shared.statistic import Released
from dprelease.statistics.shared.tree_sums import TreeSums, build_tree

MANY = 20
"""So many quantiles may be read from a tree."""

MOST_VALUES = 1 << 12


def define_tree(query: Query, quantity: Quantity) -> Released | None:
    """Define counts of the values of a grid as a tree; None where there is none for the query."""
    values = quantity.grid.width + 1
    if (
        len(query.quantiles) < MANY
        or values > MOST_VALUES
        or query.private
        or query.points is not None
        or query.survey_weight is not None
        or query.mechanism != "auto"
        or (tree := build_tree(values)) is None
    ):
        return None
    axes = (*(EACH for _ in query.groups), tree)
    return Released((), ((),), points=quantity, axes=axes)


def get_reader(step: Step) -> TreeSums | None:
    """Return the reader of a step that counts values; None for another."""
    if step.form is not Form.NUMBERS or step.points is None:
        return None
    return TreeSums(step.sizes[-1], step.axes[-1].entries[0])


def find_quantiles(step: Step, noisy: Sequence[int]) -> list[list[int]]:
    """Find the grid integers of all quantiles of a step that counts values, in each cell."""
    reader, points = get_reader(step), step.points
    if reader is None or points is None:
        raise ValueError("quantiles are read from counts of values")
    blocks = range(0, len(noisy), reader.outputs)
    sums = [reader.read(noisy[start : start + reader.outputs]) for start in blocks]
    quantiles, lower = step.query.quantiles, points.grid.lower
    found = [[lower + _search(block, q) for q in quantiles] for block in sums]
    # With a number below 0 of all records the values fall instead of rising.
    ordered = [
        sorted(values) if block[-1] < 0 else values
        for values, block in zip(found, sums, strict=True)
    ]
    return list(map(list, zip(*ordered, strict=True)))


def _search(sums: Sequence[int], q: Fraction) -> int:
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if q.denominator * sums[middle] >= q.numerator * sums[-1]:
            high = middle
        else:
            low = middle + 1
    return low


@lru_cache(maxsize=1024)
def bound_ranks(reader: TreeSums, noise: Noise, q: Fraction, alpha: Fraction) -> int:
    """Bound the rank error of a quantile but for a chance of alpha; see the module."""
    halvings = (reader.labels - 1).bit_length()
    number = reader.find_most_unbalanced(q)
    return ceil(reader.balance_half(noise, number, q, alpha / (halvings + 1)))


def compute_tree_spread(query: Query, values: int, tree: AxisMatrix) -> Fraction:
    """Compute the mean variance of ranks where values are spread evenly, of one draw's."""
    reader = TreeSums(values, tree.entries[0])
    variances = [
        reader.compute_balance_variance(ceil(q * reader.labels), q) for q in query.quantiles
    ]
    return sum(variances, Fraction(0)) / len(variances)


@lru_cache(maxsize=16)
def compute_selected_spread(quantiles: tuple[Fraction, ...]) -> Fraction:
    """Compute that of selected quantiles, times the square of the first selection's rate.

    Of the scheme for pure losses: with others it is about the same.
    """
    scheme = plan_levels(quantiles, Fraction(1), 1, replace=False)
    total = sum(compute_share_variance(scheme, at) for at in range(len(quantiles)))
    return scheme.steps[0].rate ** 2 * total / len(quantiles)
