"""Where the mass of a sparse histogram lies, on a line of slots.

Possible outputs ("candidates") are numbered from 0 in rising order, and each has the same number of
slots, which is a power of two; slot s belongs to candidate s // slots. A record's mass, ``slots``
in these units, is spread evenly over the slots of its value, one for each. Records between two
candidates lie between their slots, all in one place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dprelease.kernel.noise.selection.big_integers import Integers, as_integers, exact_sum

Lanes = npt.NDArray[np.int64]

_FITS = 1 << 62
_FINE = 12  # bits of a slot's number, where the outputs leave room for them
_ROOM = 60


@dataclass(frozen=True, slots=True)
class Grid:
    """Every integer from lower to upper is a possible output."""

    lower: int
    upper: int

    def __post_init__(self) -> None:
        if not -_FITS < self.lower <= self.upper < _FITS:
            raise ValueError("the bounds of an output rise and fit 63 bits")

    def __len__(self) -> int:
        return self.upper - self.lower + 1

    def __getitem__(self, index: int) -> int:
        return self.lower + index

    def spans(self, values: Lanes) -> tuple[Lanes, Lanes]:
        """How many outputs lie below each value, and how many below or at it."""
        return values - self.lower, values - (self.lower - 1)


@dataclass(frozen=True, slots=True)
class Listed:
    """The possible outputs, one by one, in rising order."""

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in pairwise(self.values))
        if not self.values or not rising or max(map(abs, self.values)) >= _FITS:
            raise ValueError("possible outputs rise and fit 63 bits")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index]

    def spans(self, values: Lanes) -> tuple[Lanes, Lanes]:
        """How many outputs lie below each value, and how many below or at it."""
        held = np.array(self.values, dtype=np.int64)
        low, high = np.searchsorted(held, values), np.searchsorted(held, values, side="right")
        return low.astype(np.int64), high.astype(np.int64)


Outputs = Grid | Listed


@dataclass(frozen=True, slots=True, eq=False)
class Mass:
    """Records of one cell: values, how many hold each, and how many lie before each (and all)."""

    outputs: Outputs
    slots: int
    points: Lanes
    counts: Lanes
    before: Lanes

    @property
    def total(self) -> int:
        """The mass of all records."""
        return int(self.before[-1]) * self.slots

    def below(self, slot: int) -> int:
        """The mass under a slot."""
        return self._at(slot, slot % self.slots)

    def upto(self, slot: int) -> int:
        """The mass under a slot and in it."""
        return self._at(slot, slot % self.slots + 1)

    def _at(self, slot: int, filled: int) -> int:
        value = self.outputs[slot // self.slots]
        place = bisect_left(self.points, value)
        mass = int(self.before[place]) * self.slots
        if bisect_right(self.points, value, lo=place) > place:
            mass += int(self.counts[place]) * filled
        return mass


def slots_of(outputs: int, parted: bool) -> int:
    """How many slots each of so many outputs has: one, if no part ever ends within a value."""
    return 1 << max(0, min(_FINE, _ROOM - outputs.bit_length())) if parted else 1


def gather(points: Integers, counts: Integers, outputs: Outputs, slots: int) -> Mass:
    """The mass of a sparse histogram.

    TypeError for numbers that aren't integers; ValueError unless values rise and counts are
    positive, and both, and the sum of counts, are below 2^62.
    """
    values, sizes = as_integers(points), as_integers(counts)
    if values.ndim != 1 or values.shape != sizes.shape:
        raise ValueError("a histogram has one count for each value")
    if object in {values.dtype, sizes.dtype} or exact_sum(sizes) >= _FITS:
        raise ValueError("a histogram holds values and counts below 2^62")
    if values.size and ((values[1:] <= values[:-1]).any() or sizes.min() < 1):
        raise ValueError("the values of a histogram rise, and their counts are positive")
    before = np.zeros(values.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=before[1:])
    return Mass(outputs, slots, values, sizes, before)
