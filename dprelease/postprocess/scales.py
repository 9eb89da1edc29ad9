"""Shares of a public span as fixed-point integers. Post-processing, in floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDEST = 1 << 59  # sums of a few such integers fit 64 bits


def on_scale(shares: NDArray[np.float64], span: int, low: int = 0) -> list[int]:
    """``low`` + share * span for each share, rounded.

    The offset is added in integers: a double would lose digits of a distant one.
    """
    import numpy as np

    return _integers(np.rint(float(span) * shares), low)


def halves_on_scale(halves: NDArray[np.float64], span: int) -> list[int]:
    """Half-widths, widened by what the rounding of a value ``on_scale``, and of doubles, can be."""
    import numpy as np

    return _integers(np.ceil(float(span) * halves), 1 + (span >> 50))


def lanes(integers: Sequence[int], width: int) -> NDArray[Any]:
    """The integers on lanes of 64 bits, or as Python integers where sums might not fit.

    ``width`` times a count, too, is to fit.
    """
    import numpy as np

    least, greatest = min(integers, default=0), max(integers, default=0)
    fits = width < _WIDEST and least > -_WIDEST and greatest < _WIDEST
    return np.array(integers, dtype=np.int64 if fits else object)


def _integers(whole: NDArray[np.float64], offset: int) -> list[int]:
    """The whole numbers that the doubles hold, each plus the offset, exactly."""
    fits = abs(offset) < _WIDEST and bool((whole < _WIDEST).all())  # none is negative
    if fits:
        found: list[int] = (whole.astype("int64") + offset).tolist()
        return found
    return [int(each) + offset for each in whole.tolist()]
