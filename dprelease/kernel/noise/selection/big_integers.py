"""Arrays of whole numbers that never wrap: 64 bits where all fit, Python integers elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = Sequence[int] | npt.NDArray[Any]

FITS = 1 << 62  # below this a number is held in 64 bits, and so are sums of two
HALF = 32
_BLOCK = 2048  # entries that are summed at once when a position is looked for


def as_integers(values: Integers) -> npt.NDArray[Any]:
    """An array of 64-bit integers, or of Python's where one is 2^62 or beyond.

    Raises TypeError for anything but integers: a rounded number would skew the law.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.size and (values.max() >= FITS or values.min() <= -FITS)
        return values.astype(object) if wide else values.astype(np.int64)
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = set(map(type, items))
    if not all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        raise TypeError("distances, scores and sizes are integers")
    whole = items if kinds == {int} else [int(item) for item in items]
    small = not whole or (min(whole) > -FITS and max(whole) < FITS)
    return np.array(whole, dtype=np.int64 if small else object)


def exact_sum(values: npt.NDArray[Any]) -> int:
    """The sum, which may be beyond 64 bits: in two halves that stay within."""
    if values.dtype == object:
        return sum(values.tolist())
    upper, lower = values >> HALF, values & ((1 << HALF) - 1)
    return (int(upper.sum()) << HALF) + int(lower.sum())


def locate(sizes: npt.NDArray[Any], position: int) -> tuple[int, int]:
    """The entry that holds a position below the sum of all sizes, and the offset within it."""
    start = 0
    while start < sizes.size and (held := exact_sum(sizes[start : start + _BLOCK])) <= position:
        position -= held
        start += _BLOCK
    for place, size in enumerate(sizes[start : start + _BLOCK].tolist(), start):
        if position < size:
            return place, position
        position -= size
    raise ValueError("the position lies beyond the last entry")
