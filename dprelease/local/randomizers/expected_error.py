r"""Error of one answer of a local randomizer, its lower bound, and the variance of estimates.

Figures are floats and public: they depend on the law and the column's declaration alone. No
(epsilon, delta) mechanism errs less than the lower bounds.

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

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.local.randomizers import local_laplace, window_response
from dprelease.model.columns import Grid
from dprelease.model.record_tables import LaplaceLaw, Response, SubsetLaw, Window, WindowLaw
from dprelease.privacy.interval_arithmetic import ZERO, bound_exp, round_down

Floats = npt.NDArray[np.float64]
_MANY = 4096  # of a finer grid so many numbers stand for all, where a mean over it is taken


class Expected(Struct, frozen=True):
    """Of one answer, over its own randomness, for the value that is worst unless said otherwise.

    Labels: ``error`` is the chance of a wrong answer: of an answer of several labels, that one of
    them picked at random is wrong. Numbers: ``error`` is the mean distance from the truth, in units
    of the column. ``floor`` is below what any mechanism with the same epsilon and delta has of it.

    The variance of an estimate from n records is ``variance``/n at most: of the share of a label,
    or of the mean of a numeric column in squared units of it. ``typical``, likewise: the mean over
    all labels, which is the same whatever the shares are; or over all numbers of the grid.

    Numbers only: ``scale`` is that of Laplace noise, where this is the law, and ``classical`` the
    one that diameter/(epsilon - ln(1 - delta)) gives; both in units of the column.
    """

    error: float
    floor: float
    variance: float
    typical: float
    scale: float | None = None
    classical: float | None = None


def compute_expected(response: Response) -> Expected:
    """Compute the expected error of one answer, its lower bound and the variance of estimates.

    Args:
        response: A column with its law and loss.

    Returns:
        Public figures, in the unit of the column; the module derives the bounds.

    Raises:
        ValueError: The law does not fit the column.
    """
    law, column, loss = response.law, response.column, response.loss
    if isinstance(law, SubsetLaw):
        floor = bound_wrong_label(law.labels, loss.epsilon, loss.delta)
        return _compute_label_error(law, float(floor))
    if column.quantity is None:
        raise ValueError("a law of numbers needs a column with a grid")
    grid = column.quantity.grid
    step, diameter = float(grid.step), grid.width * grid.step
    floor = bound_distance(diameter, loss.epsilon, loss.delta)
    classical = (
        local_laplace.compute_classical_scale(grid.width, loss.epsilon, loss.delta) * grid.step
    )
    if isinstance(law, LaplaceLaw):
        variance = local_laplace.compute_variance(law.scale) * step**2
        return Expected(
            local_laplace.mean_distance(law.scale) * step,
            float(floor),
            variance,
            variance,
            float(law.scale * grid.step),
            float(classical),
        )
    half = float(diameter) / 2
    numbers = np.linspace(-1, 1, min(grid.width, _MANY) + 1)
    return Expected(
        _find_worst(law, grid, lambda places: _compute_distances(law, places)) * half,
        float(floor),
        _find_worst(law, grid, lambda places: window_response.compute_variances(law, places))
        * half**2,
        float(window_response.compute_variances(law, numbers).mean()) * half**2,
        None,
        float(classical),
    )


def _compute_label_error(law: SubsetLaw, floor: float) -> Expected:
    if law.labels == law.size:
        return Expected(1 - 1 / law.size, floor, 0.0, 0.0)
    others = law.labels - 1
    wrong = (law.size - law.keep) / others
    gain = (law.keep - wrong) ** 2
    true_part, wrong_part = law.keep * (1 - law.keep) / gain, wrong * (1 - wrong) / gain
    return Expected(
        float(1 - law.keep / law.size),
        floor,
        float(max(true_part, wrong_part)),
        float((true_part + others * wrong_part) / law.labels),
    )


def _find_worst(law: WindowLaw, grid: Grid, curve: Callable[[Floats], Floats]) -> float:
    """Find the largest value, on the grid, of a curve that is quadratic between the law's bends."""
    bends = _list_bends(law)
    marks = list(bends)
    middles = [(a + b) / 2 for a, b in pairwise(bends)]
    ends, between = curve(np.array(bends)), curve(np.array(middles))
    for i, (a, b) in enumerate(pairwise(bends)):
        bent = ends[i] - 2 * between[i] + ends[i + 1]
        if bent < 0:
            top = (ends[i] - ends[i + 1]) / (4 * bent)
            marks.append(min(b, max(a, middles[i] + (b - a) * top)))
    width = grid.width
    numbers = {
        min(width, max(0, near))
        for mark in marks
        for exact in [(mark + 1) / 2 * width]
        for near in (floor(exact), ceil(exact))
    }
    return float(curve(np.array([2 * number / width - 1 for number in sorted(numbers)])).max())


def _list_bends(law: WindowLaw) -> list[float]:
    """List where a window starts at a level, and what levels stand for, in [-1, 1] half ranges."""
    bends: set[float] = set()
    for _, window in window_response.list_parts(law):
        starts = window.levels - window.width
        bends.update(2 * start / starts - 1 for start in range(starts + 1))
        bends.update(float(value) for value in _list_values(window) if -1 < value < 1)
    return sorted(bends)


def _list_values(window: Window) -> Floats:
    """List what levels stand for, in half ranges from the middle."""
    gap, middle = float(window.gap), (window.levels - 1) / 2
    return np.array([(level - middle) * gap for level in range(window.levels)])


def _compute_distances(law: WindowLaw, places: Floats) -> Floats:
    """Compute the mean distance of answers from the numbers x."""
    total: Floats = np.zeros(len(places))
    for share, window in window_response.list_parts(law):
        distances = np.abs(_list_values(window)[None, :] - places[:, None])
        total += float(share) * np.einsum(
            "ij,ij->i", _compute_level_chances(window, places), distances
        )
    return total


def _compute_level_chances(window: Window, places: Floats) -> Floats:
    """Compute the chance of each level (columns) for each number x (rows)."""
    starts, above = window.levels - window.width, float(window.ratio - 1)
    place = (places + 1) / 2 * starts
    start = np.minimum(np.floor(place), starts - 1)
    part = (place - start)[:, None]
    level = np.arange(window.levels)[None, :] - start[:, None]
    is_inside = (level >= 0) & (level < window.width)
    after = (level >= 1) & (level <= window.width)
    chances: Floats = (1 + above * ((1 - part) * is_inside + part * after)) / (
        window.levels + above * window.width
    )
    return chances


def bound_wrong_label(labels: int, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Bound from below the chance of a wrong answer, for the worst of ``labels`` labels."""
    _check(labels >= 1, epsilon, delta)
    others, rate = labels - 1, bound_exp(-epsilon)[0]
    return round_down((1 - delta) * others * rate / (1 + others * rate))


def bound_distance(diameter: Fraction, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Bound from below the mean distance from the truth, over numbers ``diameter`` apart."""
    _check(diameter >= 0, epsilon, delta)
    rate = bound_exp(-epsilon)[0]
    return round_down((1 - delta) * diameter / 2 * rate / (1 + rate))


def _check(sound: bool, epsilon: Fraction, delta: Fraction) -> None:
    if not sound or epsilon < 0 or not 0 <= delta <= 1:
        raise ValueError("needs a domain, epsilon >= 0 and a delta from 0 to 1")
