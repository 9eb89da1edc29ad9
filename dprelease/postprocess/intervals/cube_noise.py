"""The law of weighted sums of integers whose noise is drawn together (CUBE).

Given the reach R the integers of a cell are independent and uniform on -R, ..., R
(``kernel.distributions.tails.CubeStart``), and the chance of R is in proportion to exp(-R/s)
(2R+1)^D. So all that is known of sums of uniform integers holds given R, and is mixed over R:

    one integer:      P(abs(z) > h) = 2 (R - h)/(2R + 1) for h < R,
    two, like weight: P(abs(z + y) > h) = (2R - h)(2R - h + 1)/(2R + 1)^2 for h < 2R, as
                      z + y = k in 2R + 1 - k ways,
    any weights w:    the characteristic function is the product of the Dirichlet kernels
                      sin((2R+1) w t/2)/((2R+1) sin(w t/2)), the moment generating function that of
                      sinh((2R+1) w u/2)/((2R+1) sinh(w u/2)).

*Reaches.* Those that all but a ``cut`` of the chance lies in. If they are too many, groups of them
stand together, each by its largest: with R the chances of the first two sums above rise, and so
does the moment generating function. In the transform, too: with E uniform on (-1/2, 1/2), z + E is
uniform on an interval, and sums of such, being symmetric and unimodal, spread further with R
(Birnbaum 1948). Groups are taken only together with smoothing, which by far exceeds w E. The
chance of a group is its number of reaches times that of the middle one, which errs by less than
1e-8 of itself: a group spans less than a ten thousandth of what R varies by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dprelease.model import Noise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FINE = 1 << 17
_COARSE = 1 << 11
_SLACK = 1e-9
MOST_KNOWN = 2
"""So many integers of a cell with like weights have a sum whose law is written out."""
_SMALL = 1e-5  # sin(x) is x to more digits than floats have, below it


class Reaches(NamedTuple):
    """Reaches with their chances, which add up to 1; ``exact``: each stands for itself."""

    values: Floats
    chances: Floats
    exact: bool


@lru_cache(maxsize=64)
def list_reaches(noise: Noise, cut: float, most: int = _COARSE) -> Reaches:
    """List at most ``most`` rising reaches of a cube, with their chances.

    ``cut`` is the chance of reaches that may be left out.
    """
    import numpy as np

    scale, size = float(noise.parameter), noise.integers

    def weigh(reach: float) -> float:
        return size * math.log(2 * reach + 1) - reach / scale

    mode = max(0.0, size * scale - 0.5)
    least = weigh(mode) + math.log(cut) - math.log(scale + 1) - 5
    # Weights fall beyond the mode, and further out at least as exp(-x/(2s)).
    last, first = 2 * mode + 4 * scale + 1, mode
    while weigh(last) > least:
        last *= 1.1
    while first > 1 and weigh(first) + math.log(first) > least:
        first = 0.95 * first - 1
    start = max(0, math.floor(first))
    number = math.ceil(last) - start + 1
    width = -(-number // _FINE)
    width += 1 - width % 2  # odd, so that there is a middle one
    ends = start - 1 + width * np.arange(1, -(-number // width) + 1, dtype=np.float64)
    middles = ends - (width - 1) // 2
    weights = np.exp(size * np.log(2 * middles + 1) - middles / scale - weigh(mode))
    chances = weights / weights.sum()
    if chances.size > most:
        group = -(-chances.size // most)
        starts = np.arange(0, chances.size, group)
        last_places = np.minimum(starts + group, chances.size) - 1
        return Reaches(ends[last_places], np.add.reduceat(chances, starts), False)
    return Reaches(ends, chances, width == 1)


def find_cube_halfwidth(noise: Noise, count: int, alpha: Fraction) -> int:
    """Find an h with P(abs(z) > h) <= alpha, for one or the sum of two integers of a cell.

    It is the least one but for a slack of 1e-9 in the chance, or of 1e-9 of it.
    """
    import numpy as np

    reaches, chances, _ = list_reaches(noise, _choose_cut(alpha), _FINE)
    allowed = float(alpha) - min(_SLACK, float(alpha) * _SLACK * 1000)
    sizes = 2 * reaches + 1

    def is_within(half: int) -> bool:
        beyond = np.maximum(count * reaches - half, 0.0)
        inside = 2 * beyond / sizes if count == 1 else beyond * (beyond + 1) / sizes**2
        return float((chances * inside).sum()) <= allowed

    low, high = -1, 1
    while not is_within(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_within(middle) else (middle, high)
    return high


def _choose_cut(alpha: Fraction) -> float:
    return max(min(1e-20, float(alpha) * 1e-12), 1e-290)


class ScaledCube(NamedTuple):
    """Sums of the integers of ``draws`` cells with these weights, in floats."""

    reaches: Reaches
    weights: tuple[float, ...]
    draws: int

    @property
    def limit(self) -> float:
        """Return a rate up to which the moment generating function is looked at."""
        return 600 / (float(self.reaches.values[-1]) + 1) / sum(self.weights)

    @property
    def rounding(self) -> float:
        """Return how far the sum may be off where reaches stand in groups, each for the largest."""
        values = self.reaches.values
        wide = 0.0 if self.reaches.exact or values.size < 2 else float(values[1] - values[0])
        return wide * sum(self.weights) * self.draws

    def compute_log_moments(self, rates: Floats) -> Floats:
        """Compute the log of the moment generating function of one cell, for rates above 0."""
        import numpy as np

        logs = np.zeros((rates.size, self.reaches.values.size))
        sizes = 2 * self.reaches.values + 1
        for weight in self.weights:
            half = rates[:, None] * weight / 2
            logs += np.log(np.sinh(sizes * half) / (sizes * np.sinh(half)))
        return np.log(np.exp(logs) @ self.reaches.chances)

    def transform(self, turns: Floats) -> Floats:
        """Compute the characteristic function of one cell, which may be negative."""
        import numpy as np

        sizes = 2 * self.reaches.values + 1
        factors: Floats = np.empty_like(turns)
        step = max(1, (1 << 22) // sizes.size)
        for start in range(0, turns.size, step):
            part = turns[start : start + step, None]
            product = np.ones((part.shape[0], sizes.size))
            for weight in self.weights:
                half = part * weight / 2
                # Whole turns change nothing: sizes are odd.
                half = half - math.pi * np.rint(half / math.pi)
                near = np.abs(half) < _SMALL / sizes[-1]
                safe = np.where(near, 1.0, half)
                product *= np.where(near, 1.0, np.sin(sizes * safe) / (sizes * np.sin(safe)))
            factors[start : start + step] = product @ self.reaches.chances
        return factors


def scale_cube(
    noise: Noise, weights: Sequence[Fraction], draws: int, unit: Fraction, alpha: Fraction
) -> ScaledCube:
    """Put the sum of a cube's integers with these weights, of ``draws`` cells, into floats.

    Weights are divided by ``unit``; ``alpha`` is the least chance that is asked for.
    """
    scaled = tuple(float(weight / unit) for weight in weights)
    return ScaledCube(list_reaches(noise, _choose_cut(alpha)), scaled, draws)
