"""How much noise running sums have that are read from overlapping sums with factors.

The sum of the first j labels has the weights of the one before, and at each place k up to j the
coefficient g_(j-k) over the factor of j besides. Lengths are added up in floats, of positive terms
each, and raised by a part in 10^9, which covers their rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import bound_normal_halfwidth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_UP = Fraction(10**9 + 1, 10**9)


class RowLength(NamedTuple):
    """Bounds of a weighted sum of draws: of its squared weights, and of its absolute weights."""

    squares: Fraction
    whole: Fraction

    def bound_halfwidth(self, noise: Noise, alpha: Fraction) -> Fraction:
        """Bound the half-width of the sum, of Gaussian draws, but for a chance of alpha."""
        if noise.family is NoiseFamily.NONE:
            return Fraction(0)
        return bound_normal_halfwidth(noise, self.squares, self.whole, 1 - alpha)


def measure_rows(
    coefficients: Sequence[Fraction], factors: Sequence[int], q: Fraction
) -> tuple[RowLength, ...]:
    """Measure the weights of each running sum less q >= 0 times that of all, one for each label.

    ``coefficients`` are g_0, g_1, ...; ``factors`` those of the labels.
    """
    import numpy as np

    labels = len(factors)
    backwards = np.array([float(coefficient) for coefficient in coefficients[::-1]])

    def add_label(row: Floats, label: int) -> None:
        row[: label + 1] += backwards[labels - 1 - label :] / factors[label]

    last = np.zeros(labels)
    for label in range(labels if q else 0):
        add_label(last, label)
    row = -float(q) * last
    measured = []
    for label in range(labels):
        add_label(row, label)
        lengths = (float(row @ row), float(np.abs(row).sum()))
        measured.append(RowLength(*(Fraction(length) * _UP for length in lengths)))
    return tuple(measured)
