"""Permute-and-flip for integer scores: what it costs, and that its choice is never worse.

McKenna and Sheldon 2020: in a random order, a coin for each candidate with probability of heads
p = exp(-rate (best score - score)); the first head wins. It is drawn by
``dprelease.kernel.chapters.choices.choice_sampler`` with ``draw_permute_and_flip``.
Same arguments as ``exponential``, whose ``calibrate`` gives the rate here too.

The same law otherwise (Ding et al. 2021): add independent exponential noise, P(noise > z) =
exp(-rate z), to every score and take the largest. For only those above the best true score can
win; candidate o is above it with probability p(o), and those that are have excesses that are
alike and without memory, so that one of them wins, each with the same chance.

Privacy: fix the noise of all candidates but o, and let h be the largest of their noisy scores.
Then o wins with probability min(1, exp(-rate (h - score of o))). For neighbours h and the score
of o move by at most D each, in the same direction if monotone, so their difference moves by at
most D if monotone and 2 D if not: epsilon is rate D or 2 rate D, as for the exponential mechanism.

Unlike there, the range of the loss can be up to twice epsilon, and rho = epsilon^2/8 doesn't hold;
it is at most epsilon tanh(epsilon/2) <= epsilon^2/2, as for any epsilon-DP mechanism.

It is never worse for one selection at the same rate, hence at the same pure epsilon: for every
number c, the chance of a score of c or more is at least that of the exponential mechanism.
Proof. Candidate o wins with probability p(o) times the integral of prod over i != o of
(1 - p(i) u) over u in [0, 1] (u the place of o in the order). As the exponential mechanism takes o
in proportion to p(o), the quotient of the two probabilities is proportional to the integral of
C(u)/(1 - p(o) u), with C(u) = prod over all i of (1 - p(i) u) the same for all o. It rises with
p(o), that is, with the score; and of two laws whose quotient rises with the score, the one above
has the larger scores (stochastically). So every bound on the exponential mechanism's choice holds
here too. Under zCDP it can be worse: the exponential mechanism then has up to twice the rate.

*The largest k counts*, by whichever way errs least for the loss. One shot: Laplace noise on
every count at the whole epsilon, by the L1 sensitivity of all counts together; the k largest noisy
counts are post-processing, and may be published with them. In turn: k selections by
permute-and-flip, one after the other without replacement, each at epsilon/k, by how far one person
can move one count; the number of candidates one person is in costs nothing.

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

from dprelease.mechanisms import NO_LOSS, Choice, Mechanism, Target, exponential, laplace
from dprelease.model import Form, Loss, Noise, NoiseFamily
from dprelease.model.privacy_events import Pure
from dprelease.privacy import zcdp
from dprelease.privacy.composition import repeat

if TYPE_CHECKING:
    import numpy.typing as npt


def compute_loss(rate: Fraction, sensitivity: int, monotone: bool) -> Loss:
    """Compute the loss of one selection: epsilon exact, rho an upper bound (15 digits)."""
    if rate <= 0:
        raise ValueError("the rate of a selection is positive")
    if sensitivity == 0:
        return NO_LOSS
    epsilon = rate * exponential.compute_span(sensitivity, monotone)
    return Loss(epsilon, Fraction(0), zcdp.bound_pure_rho(epsilon))


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


class PermuteAndFlip(Mechanism):
    """A choice by score; several choices by noisy counts instead, where these err less.

    If a spec asks for "laplace", several choices are always made by noisy counts.
    """

    family = NoiseFamily.PERMUTE_AND_FLIP
    words = "mechanisms.permute_and_flip"
    form = Form.CHOICE
    keyword = "laplace"

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose by ``exponential.calibrate`` for each pick, or by Laplace noise on all counts."""
        sensitivity, picks = target.sensitivity, target.query.picks
        l1, choice_l1, monotone = sensitivity.l1, sensitivity.choice_l1, sensitivity.monotone
        if picks > 1 and (
            target.query.mechanism == self.keyword
            or is_one_shot_better(picks, choice_l1, l1, epsilon, monotone=monotone)
        ):
            return laplace.build_choice(target, laplace.calibrate(l1, epsilon))
        rate = exponential.calibrate(epsilon / picks, choice_l1, monotone)
        pick_loss = compute_loss(rate, choice_l1, monotone)
        events = ((Pure(pick_loss.epsilon), picks),)
        return Choice(Noise(self.family, rate), repeat(pick_loss, picks), events, Form.CHOICE)

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the exponential mechanism, which has up to twice the rate for the same rho.

        Where a spec asks for "laplace", choose by that at the largest epsilon with this rho.
        """
        if target.query.mechanism == self.keyword:
            return self.calibrate(target, zcdp.find_epsilon_for_rho(rho), delta)
        return exponential.EXPONENTIAL.calibrate_rho(target, rho, delta)

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Compute 1/intensity^2."""
        return 1 / intensity**2


PERMUTE_AND_FLIP = PermuteAndFlip()
