"""The k candidates with the largest counts, by whichever method errs least for the loss.

One shot: Laplace noise on every count at the whole epsilon, by the L1 sensitivity of all counts
together; the k largest noisy counts are post-processing, and may be published with them.

In turn: k selections by permute-and-flip, one after the other without replacement, each at
epsilon/k, by how far one person can move one count; the number of candidates one person is in costs
nothing.

Which errs less is a matter of the width of the noise, for both are noise added to counts: Laplace
of scale s, exponential of scale 1/rate. Measured as regret, the sum of the true top k less that of
the chosen, on counts with a gap, in a line, and falling like 1/rank, at equal widths: Laplace has
0.9 to 2.6 times the regret of the exponential noise, and at 4/5 of its width 0.4 to 1.0 times. So a
width counts as it is for Laplace, and as 4/5 of it for permute-and-flip;
``benchmarks/selection.py`` measures that again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprelease.mechanisms import exponential, laplace

if TYPE_CHECKING:
    import numpy.typing as npt

_WORTH = Fraction(5, 4)  # how much more rate permute-and-flip is worth; see the module


def is_one_shot_better(
    k: int, l_infinity: int, l1: int, epsilon: Fraction, *, monotone: bool
) -> bool:
    """Check that one shot at ``epsilon`` is no worse than k selections at ``epsilon``/k.

    One person moves any one count by at most ``l_infinity`` and all together by at most ``l1``;
    ``monotone`` if always in the same direction. Raises ValueError for numbers out of range.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    if not 1 <= l_infinity <= l1:
        raise ValueError("sensitivities are at least 1, and L1 is no less than L-infinity")
    rate = exponential.calibrate(epsilon / k, l_infinity, monotone)
    return 1 / laplace.calibrate(l1, epsilon).parameter >= _WORTH * rate


def find_noisy_top(noisy_counts: Sequence[int] | npt.NDArray[Any], k: int) -> list[int]:
    """Find the positions of the k >= 1 largest noisy counts, of equal ones the earlier first.

    Post-processing: it is deterministic and costs no budget. All positions if there are no more
    than k.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    counts = [int(count) for count in noisy_counts]
    return heapq.nlargest(k, range(len(counts)), key=counts.__getitem__)
