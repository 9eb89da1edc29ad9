"""The k candidates with the largest counts, by whichever method errs least for the loss.

One shot: Laplace noise on every count at the whole epsilon, by the L1 sensitivity of all counts
together; the k largest noisy counts are post-processing, and may be published with them.

Peeling: k selections, one after the other without replacement, each at epsilon/k, by how far one
person can move one count; the number of candidates one person is in costs nothing. By
permute-and-flip; or, if a delta is allowed, by the exponential mechanism with the k-th part of the
rho that epsilon and delta are good for, which grows with sqrt(k) rather than with k.

Which errs less is a matter of the width of the noise, for all three are noise added to counts:
Laplace of scale s, exponential of scale 1/rate (permute-and-flip), Gumbel of scale 1/rate
(exponential mechanism). Measured as regret, the sum of the true top k less that of the chosen, on
counts with a gap, in a line, and falling like 1/rank, at equal widths: Laplace and Gumbel have 0.9
to 2.6 times the regret of the exponential noise, and at 4/5 of its width 0.4 to 1.0 times.
So a width counts as it is for Laplace and Gumbel, and as 4/5 of it for permute-and-flip;
``benchmarks/selection.py`` measures that again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprelease.mechanisms import exponential, laplace, permute_and_flip
from dprelease.model import Loss, Noise
from dprelease.privacy import composition as accounting
from dprelease.privacy import zcdp

if TYPE_CHECKING:
    import numpy.typing as npt

_WORTH = Fraction(5, 4)  # how much more rate permute-and-flip is worth; see the module


class Way(StrEnum):
    """How the top k are found."""

    ONE_SHOT = "one-shot"
    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Method:
    """A way, its ``noise`` (one shot) or the ``rate`` of each selection, and the whole loss."""

    way: Way
    noise: Noise | None
    rate: Fraction | None
    loss: Loss


def method(  # noqa: PLR0913, PLR0917 - what is asked for, and what bounds it
    k: int, l_infinity: int, l1: int, epsilon: Fraction, delta: Fraction, monotone: bool
) -> Method:
    """The best way to find the top k within (epsilon, delta).

    One person moves any one count by at most ``l_infinity`` and all together by at most ``l1``;
    ``monotone`` if always in the same direction. The loss is that of all k selections together.
    With a delta of 0 the loss is pure. Raises ValueError for numbers out of range.
    """
    return max(methods(k, l_infinity, l1, epsilon, delta, monotone), key=_worth)


def methods(  # noqa: PLR0913, PLR0917 - as above
    k: int, l_infinity: int, l1: int, epsilon: Fraction, delta: Fraction, monotone: bool
) -> list[Method]:
    """Every way there is within (epsilon, delta), each as good as it can be made."""
    if k < 1:
        raise ValueError("at least one candidate is selected")
    if not 1 <= l_infinity <= l1:
        raise ValueError("sensitivities are at least 1, and L1 is no less than L-infinity")
    if epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError("epsilon must be positive, and delta lie in [0, 1)")
    noise = laplace.calibrate(l1, epsilon)
    rate = permute_and_flip.calibrate(epsilon / k, l_infinity, monotone)
    one_pick = permute_and_flip.loss(rate, l_infinity, monotone)
    options = [
        Method(Way.ONE_SHOT, noise, None, laplace.loss(noise, l1)),
        Method(Way.PERMUTE_AND_FLIP, None, rate, accounting.repeat(one_pick, k)),
    ]
    if delta > 0:
        options.append(_by_rho(k, l_infinity, epsilon, delta, monotone))
    return options


def noisy_top(noisy_counts: Sequence[int] | npt.NDArray[Any], k: int) -> list[int]:
    """Positions of the k largest noisy counts, largest first, of equal ones the earlier first.

    All positions if there are no more than k. Post-processing: deterministic, and costs nothing.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    counts = [int(count) for count in noisy_counts]
    return heapq.nlargest(k, range(len(counts)), key=counts.__getitem__)


def _by_rho(k: int, l_infinity: int, epsilon: Fraction, delta: Fraction, monotone: bool) -> Method:
    """K selections by the exponential mechanism, composed by zCDP and converted once."""
    share = zcdp.rho_for(epsilon, delta) / k
    rate = exponential.calibrate_rho(share, l_infinity, monotone)
    rho = accounting.repeat(exponential.loss(rate, l_infinity, monotone), k).rho
    if rho is None:
        raise ValueError("a selection's loss has a rho")
    return Method(Way.EXPONENTIAL, None, rate, Loss(zcdp.epsilon_of(rho, delta), delta, rho))


def _worth(option: Method) -> Fraction:
    """How narrow the noise is, in units of what the same regret takes by Laplace noise."""
    if option.rate is not None:
        return option.rate * (_WORTH if option.way is Way.PERMUTE_AND_FLIP else 1)
    return 1 / option.noise.parameter if option.noise is not None else Fraction(0)
