r"""A second opinion on what one answer about one record loses, from the chances of the answers.

Shares no code with the calibration, and no formula: the sets of labels are counted by which of two
labels they hold, the levels of windows compared one by one, Laplace noise is summed part by part.

For all laws: an answer about a mixture of values is a mixture of their answers, and the delta of
two mixtures is at most the largest of a pair of what they are made of. So a number between two
places of windows, and a record without a label, lose nothing that the single ones don't.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from dprelease.kernel.core import numerics as numbers
from dprelease.model.loss import Loss
from dprelease.model.record_tables import LaplaceLaw, Law, SubsetLaw, Window, WindowLaw

_ZERO = Fraction(0)
_UNIT = 1 << 64
_PLACES = 1 << 62
_MOST_LEVELS = 1 << 10
_FAR = 10_000  # the verifier's exponentials reach so far; a smaller epsilon is a stronger claim


def is_law_confirmed(law: Law, grid_width: int | None, loss: Loss) -> bool:
    """Tell whether the law is as ``model.record_tables`` defines it and loses at most ``loss``.

    ``grid_width`` is the number of steps of the column's grid, None for labels. A rho is confirmed
    only where delta is 0, as that of an epsilon-DP mechanism.
    """
    if loss.epsilon < 0 or not 0 <= loss.delta < 1 or not _is_rho_confirmed(loss):
        return False
    if isinstance(law, SubsetLaw):
        return grid_width is None and _is_subset_law(law) and _is_subset_confirmed(law, loss)
    if grid_width is None or grid_width < 1:
        return False
    if isinstance(law, LaplaceLaw):
        return (
            law.scale > 0 and bound_laplace_delta(law.scale, grid_width, loss.epsilon) <= loss.delta
        )
    return _is_window_law(law, grid_width) and bound_windows_delta(law, loss.epsilon) <= loss.delta


def _is_rho_confirmed(loss: Loss) -> bool:
    """Confirm rho by e tanh(e/2), where delta is 0; the claim's last digits may be rounded off."""
    if loss.rho is None or (loss.rho == 0 and loss.epsilon == 0):
        return loss.rho is None or loss.delta == 0
    shrunk = numbers.enclose_exp(-loss.epsilon)[0]
    return loss.delta == 0 and loss.rho * (1 + shrunk) >= loss.epsilon * (1 - shrunk)


# --- sets of labels -----------------------------------------------------------------------------


def _is_subset_law(law: SubsetLaw) -> bool:
    possible = 1 <= law.size <= law.labels and 0 <= law.keep <= 1
    return (
        possible and _UNIT % law.keep.denominator == 0 and (law.size < law.labels or law.keep == 1)
    )


def _is_subset_confirmed(law: SubsetLaw, loss: Loss) -> bool:
    """Compare kinds of sets: with both of two labels, one of them, the other, none."""
    if law.size == law.labels:
        return True  # one answer whatever is true
    k, d = law.labels, law.size
    with_true, without = math.comb(k - 1, d - 1), math.comb(k - 1, d)
    chance, rest = law.keep / with_true, (1 - law.keep) / without
    kinds = [
        (math.comb(k - 2, d - 2) if d > 1 else 0, chance, chance),
        (math.comb(k - 2, d - 1), chance, rest),
        (math.comb(k - 2, d - 1), rest, chance),
        (math.comb(k - 2, d), rest, rest),
    ]
    # A record without a label: the mean of all labels, the same for every set.
    mean = (d * chance + (k - d) * rest) / k
    against = [(with_true, mean, chance), (without, mean, rest)]
    turned = [(count, second, first) for count, first, second in against]
    return all(
        sum(count * first for count, first, _ in sets) == 1
        and sum(count * second for count, _, second in sets) == 1
        and _bound_excess(sets, loss.epsilon) <= loss.delta
        for sets in (kinds, against, turned)
    )


def _bound_excess(outcomes: list[tuple[int, Fraction, Fraction]], epsilon: Fraction) -> Fraction:
    """Bound the delta of two laws from above: how many outcomes, and their chance by each."""
    # A lower bound of e^epsilon.
    factor = numbers.enclose_exp(min(epsilon, Fraction(_FAR)))[0] if epsilon else Fraction(1)
    return sum((n * max(_ZERO, p - factor * q) for n, p, q in outcomes), _ZERO)


# --- Laplace ------------------------------------------------------------------------------------


def bound_laplace_delta(scale: Fraction, width: int, epsilon: Fraction) -> Fraction:
    """Bound the sum of p(x) - e^epsilon p(x - K) over the x where it is positive, from above.

    With a = e^(-1/s), times (1 + a)/(1 - a) the terms are a^-x - e^epsilon a^(K-x) for x <= 0 and
    a^x - e^epsilon a^(K-x) from 1 to the last x with K - 2 x > epsilon s: geometric sums.
    Values that are less than K apart have smaller terms at the same x, as the noise has one peak.
    """
    if width <= epsilon * scale:
        return _ZERO
    last = math.floor((width - epsilon * scale) / 2)
    if 2 * last == width - epsilon * scale:
        last -= 1
    one, rate = Fraction(1), 1 / scale
    a_low, a_high = numbers.enclose_exp(-rate)
    remainder = one - numbers.enclose_exp(epsilon - width * rate)[0]
    first_to_last = a_high - numbers.enclose_exp(-(last + 1) * rate)[0]
    shifted_low = numbers.enclose_exp(epsilon - (width - last) * rate)[0]
    shifted_high = numbers.enclose_exp(epsilon - width * rate)[1]
    middle = first_to_last - (shifted_low - shifted_high)
    return (remainder + middle) / (1 + a_low)


# --- windows ------------------------------------------------------------------------------------


def _is_window_law(law: WindowLaw, grid_width: int) -> bool:
    windows = [law.first] if law.second is None else [law.first, law.second]
    if not (0 <= law.share <= 1 and _UNIT % law.share.denominator == 0):
        return False
    if law.second is None and law.share != 1:
        return False
    return all(_is_window(window, grid_width) for window in windows)


def _is_window(window: Window, grid_width: int) -> bool:
    """Sound, and right on average at all starts; between them its mean is linear, as the place is.

    The starts 0, ..., P stand for -1, ..., 1 in half ranges, in even steps.
    """
    levels, starts = window.levels, window.levels - window.width
    if not (1 <= window.width < levels <= _MOST_LEVELS and window.ratio > 1 and window.gap > 0):
        return False
    if grid_width * starts >= _PLACES:
        return False
    whole = levels - window.width + window.ratio * window.width
    low, high = 1 / whole, window.ratio / whole
    means = []
    for start in range(starts + 1):
        # The chance of each level, the window starting at ``start``.
        chances = [high if start <= j < start + window.width else low for j in range(levels)]
        if sum(chances) != 1:
            return False
        middle = sum((2 * j - (levels - 1)) * chance for j, chance in enumerate(chances))
        means.append(Fraction(middle) * window.gap / 2)
    return means[0] == -1 and all(b - a == Fraction(2, starts) for a, b in pairwise(means))


def bound_windows_delta(law: WindowLaw, epsilon: Fraction) -> Fraction:
    """Bound the delta of windows: which one was used is part of the answer.

    The places in the two windows belong to one number, so the largest of each is an upper bound,
    and reached at the ends of the column.
    """
    first = _bound_window_delta(law.first, epsilon)
    if law.second is None:
        return first
    return law.share * first + (1 - law.share) * _bound_window_delta(law.second, epsilon)


def _bound_window_delta(window: Window, epsilon: Fraction) -> Fraction:
    """Bound the delta of two starts; levels are counted by their chances under the one and other.

    Levels of a window as the bits of an integer.
    """
    whole = window.levels - window.width + window.ratio * window.width
    low, high = 1 / whole, window.ratio / whole
    bits = (1 << window.width) - 1
    worst = _ZERO
    deltas: dict[int, Fraction] = {}
    for start in range(window.levels - window.width + 1):
        for other_start in range(window.levels - window.width + 1):
            inside, against = bits << start, bits << other_start
            alone = (inside & ~against).bit_count()
            if alone not in deltas:
                overlap = (inside & against).bit_count()
                outside = (against & ~inside).bit_count()
                none = window.levels - overlap - alone - outside
                outcomes = [(overlap, high, high), (alone, high, low), (outside, low, high)]
                deltas[alone] = _bound_excess([*outcomes, (none, low, low)], epsilon)
            worst = max(worst, deltas[alone])
    return worst
