"""Survey weights: records of a sample that count as often as a bounded weight says.

A weight is put on a public grid like any value: w = clamp(rint(weight/g)), an integer from l to W,
0 <= l < W. So sums of w and of w k are sums of integers, and a record of weight w adds what w
records of weight 1 would add. A record without a weight, where nothing stands for it, adds nothing.
The derivations below are this project's own; tests enumerate all tiny tables and their neighbours.

*Sums.* A record adds w k, with w in [l, W] and k in [a, b]. That is linear in either, so over the
whole rectangle it is least and greatest at one of the four corners: between the least and the
greatest of la, lb, Wa and Wb. A count adds w itself: between l and W. What holds of a sum of values
between these bounds (``privacy.sensitivity``) holds of the weighted one: if a record comes or goes,
a count moves by at most W; if one is replaced in the only cell that there is, by at most W - l.

*Shares: one bound, not two.* For x in [L, U], K = U - L in steps, a record adds w (x - L) to A and
w (U - x) to B. Both are at least 0, and their sum is w K, at most W K, whatever x and w are. So the
L1 norm of (A, B) moves by at most W K if a record comes or goes, and by at most 2 W K if one is
replaced: both sums have the whole budget at once, with noise of the scale W K/epsilon. The longest
such pair is (W K, 0), so that L2 moves by at most W K too. Pairs of two records hold no negative
integers, and so the square of the length of their difference is at most 2 (W K)^2: (W K, 0) against
(0, W K). A + B = K (sum of w) gives the weighted count for free, A/(A + B) the weighted mean or
share. A sum and a count with a budget each would have bounds of W max(|L|, |U|) and W beside each
other.

*Quantiles.* The score of a candidate compares the weight below it and above it
(``mechanisms.quantiles``), and a record of weight w is w records of the same value and cell. So
somebody with m records is worth at most m W of them, and all that is said there of ``rows`` holds
of m W. A record that is replaced has another weight too: of w and v, min(w, v) are replaced, and
the rest comes or goes. In one selection with the target a/b that moves the distance by at most
b min(w, v) + |w - v| max(a, b - a). As b >= max(a, b - a), it rises with w and with v, and is at
most b W, which is reached at w = v = W, whatever l is.
"""

from __future__ import annotations

from typing import overload

from dprelease.model import Query
from dprelease.privacy.sensitivity import Scalar, Vector
from dprelease.statistics.shared.statistic import build_weight

NOUNS = {
    "words.count": "statistics.weighted_count",
    "words.sum": "statistics.weighted_sum",
}


@overload
def apply_weight(row: Scalar, query: Query) -> Scalar: ...
@overload
def apply_weight(row: Vector, query: Query) -> Vector: ...
def apply_weight(row: Scalar | Vector, query: Query) -> Scalar | Vector:
    """Bound what a weighted row adds; see the module for the proof.

    A vector must hold no negative integers. Without weights the row is returned as it is.
    """
    weight = build_weight(query)
    if weight is None:
        return row
    lowest, highest = weight.grid.lower, weight.grid.upper
    if isinstance(row, Vector):
        if row.signed:
            raise ValueError("integers that are weighted are 0 or more")
        return Vector(highest * row.l1, highest**2 * row.l2_squared, row.width, plural=row.plural)
    corners = [w * k for w in (lowest, highest) for k in (row.lower, row.upper)]
    return Scalar(min(corners), max(corners), NOUNS[row.noun])
