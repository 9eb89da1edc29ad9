r"""How much an answer about one record must err: no (epsilon, delta) mechanism errs less.

Labels: let g be the largest chance of a wrong answer. Of label v the answer v has a chance of at
least 1 - g, so of any other label w at least (1 - g - delta) e^-epsilon; the chances of all answers
given w add up to one, the true one's being at least 1 - g too. So with m = k - 1 others
1 >= (1 - g) + m (1 - g - delta) e^-epsilon, and this leaves

    g >= (1 - delta) m/(m + e^epsilon).

Numbers: let L and U be ``diameter`` apart and g the largest mean distance of an answer from the
truth. An answer on the nearer side of the middle is right about which of the two it is; a wrong
one, of two labels, has by the above a chance of (1 - delta)/(1 + e^epsilon) for one of them, and is
half the diameter or more off:

    g >= (1 - delta) diameter/(2 (1 + e^epsilon)).
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.privacy.interval_arithmetic import ZERO, exp_bounds, round_down


def wrong_label(labels: int, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Lower bound of the chance of a wrong answer, the worst of ``labels`` labels."""
    _check(labels >= 1, epsilon, delta)
    others, rate = labels - 1, exp_bounds(-epsilon)[0]
    return round_down((1 - delta) * others * rate / (1 + others * rate))


def distance(diameter: Fraction, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Lower bound of the mean distance from the truth, the worst of numbers ``diameter`` apart."""
    _check(diameter >= 0, epsilon, delta)
    rate = exp_bounds(-epsilon)[0]
    return round_down((1 - delta) * diameter / 2 * rate / (1 + rate))


def _check(sound: bool, epsilon: Fraction, delta: Fraction) -> None:
    if not sound or epsilon < 0 or not 0 <= delta <= 1:
        raise ValueError("needs a domain, epsilon >= 0 and a delta from 0 to 1")
