"""How far the answers of a numeric column spread around the true value, in grid steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import floor

from dprelease.local.cells import grid_of
from dprelease.model import Noise, NoiseFamily
from dprelease.model.records import LaplaceLaw, Response, Window, WindowLaw
from dprelease.noise.laws import sum_halfwidth, variance

FEW = 3


def half_of_few(law: LaplaceLaw, rows: int, alpha: Fraction) -> float | None:
    """How far the noise of so many records together stays from 0 but with the chance alpha.

    None where that is not known exactly: of more than three records.
    """
    if rows > FEW:
        return None
    return float(sum_halfwidth(Noise(NoiseFamily.LAPLACE, law.scale), rows, alpha))


def excess_kurtosis(law: LaplaceLaw) -> float:
    """Of discrete Laplace noise: 3 + 1/v, where v is its variance.

    With a = exp(-1/s) the variance is v = 2 a/(1 - a)^2, and the fourth moment
    2 a (1 + 10 a + a^2)/(1 - a)^4 = v (1 + 6 v).
    """
    found = variance(Noise(NoiseFamily.LAPLACE, law.scale))
    return 3 + 1 / found if found else 0.0


def worst_variance(response: Response) -> float:
    """The largest variance of an answer, over all values of the column, in squared grid steps."""
    law, grid = response.law, grid_of(response)
    if isinstance(law, LaplaceLaw):
        return variance(Noise(NoiseFamily.LAPLACE, law.scale))
    if not isinstance(law, WindowLaw):
        raise ValueError("a column of labels has no such spread")
    return float(window_variance(law) * Fraction(grid.width, 2) ** 2)


def window_variance(law: WindowLaw) -> Fraction:
    """The same exactly, in squared half ranges of the column.

    The mean square of an answer is linear in the value between the places where a window moves on
    by a whole level; on each such piece, less the square of the value, it is a parabola.
    """
    parts = [(law.share, law.first)]
    if law.second is not None:
        parts.append((1 - law.share, law.second))
    breaks = sorted(
        {
            Fraction(2 * place, window.levels - window.width) - 1
            for _, window in parts
            for place in range(window.levels - window.width + 1)
        }
    )
    squares = [sum(share * _square(window, at) for share, window in parts) for at in breaks]
    largest = Fraction(0)
    for (left, low), (right, high) in pairwise(zip(breaks, squares, strict=True)):
        slope = (high - low) / (right - left)
        top = min(max(slope / 2, left), right)
        largest = max(largest, low + slope * (top - left) - top * top)
    return largest


def _square(window: Window, at: Fraction) -> Fraction:
    """The mean square of what the level stands for, for a value at -1 <= at <= 1."""
    moves = window.levels - window.width
    place = (at + 1) / 2 * moves
    start = min(floor(place), moves - 1)
    further = place - start
    first, second = _started(window, start), _started(window, start + 1)
    return first * (1 - further) + second * further


def _started(window: Window, start: int) -> Fraction:
    """The mean square for a window that starts at that level."""
    total = Fraction(0)
    for level in range(window.levels):
        stands = Fraction(2 * level - (window.levels - 1), 2) * window.gap
        inside = start <= level < start + window.width
        total += stands**2 * (window.ratio if inside else 1)
    return total / (window.levels - window.width + window.ratio * window.width)
