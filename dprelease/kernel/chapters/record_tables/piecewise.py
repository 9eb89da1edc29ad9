"""Answers of the piecewise mechanism on a grid, exactly by their law (see ``WindowLaw``).

One draw of a finite law gives all that doesn't hang on the value: the window of the two, and
whether the level is inside, and which one of the inside or the outside, counted from below. The
value then says where the window starts: at the whole part of its place, or by a coin of the
fraction that is left one higher. A table of both is the level: inside, start + i; outside, i where
that is below the start, and i + width from there on.

The idea of a window around the value is that of Wang et al. 2019 (piecewise mechanism); two levels
are those of Duchi, Jordan and Wainwright 2018.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.chapters.many_draws.inversion import Int64s
from dprelease.kernel.chapters.many_draws.uniforms import CHANCE_BITS, draw_shares
from dprelease.kernel.chapters.record_tables.finite import (
    MOST_OUTCOMES,
    FiniteTable,
    Shorts,
    build_finite,
)
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import Grid
from dprelease.model.record_tables import Window, WindowLaw

_CHUNK = 1 << 16
_HALF = 1 << 63


class WindowTable(Struct, frozen=True, eq=False):
    """A law ready to be drawn from.

    ``reach``: P = levels - width of each outcome of ``choice``. ``levels``: what is answered, at
    outcome * starts + start.
    """

    choice: FiniteTable
    reach: Int64s
    levels: Shorts
    starts: int


def respond_window(law: WindowLaw, codes: Int64s, grid: Grid, entropy: Entropy) -> Shorts:
    """Draw the noisy levels of a column: int16, numbered as ``WindowLaw`` says.

    Raises ValueError for a law that is none, for a grid too wide for integers of 64 bits, and for
    codes outside the grid.
    """
    table = build_windows(law)
    if grid.magnitude >= _HALF or grid.width * int(table.reach.max()) >= _HALF:
        raise ValueError("the grid has too many steps for this law")
    if codes.size and not (codes.min() >= grid.lower and codes.max() <= grid.upper):
        raise ValueError("a code lies outside the grid")
    answers = np.empty(codes.size, dtype=np.int16)
    for start in range(0, codes.size, _CHUNK):
        piece = codes[start : start + _CHUNK] - np.int64(grid.lower)
        answers[start : start + _CHUNK] = _draw(table, piece, grid.width, entropy)
    return answers


def _draw(table: WindowTable, steps: Int64s, width: int, entropy: Entropy) -> Shorts:
    """Draw the levels of one chunk; ``steps`` are the values above the lower end of the grid."""
    outcome = table.choice.draw(steps.size, entropy)
    start = outcome.astype(np.int64) * table.starts
    if width:  # else all values are the same, and at the place 0
        place = (steps * table.reach.take(outcome)).view(np.uint64)
        whole = place // np.uint64(width)
        rest = (place - whole * np.uint64(width)).view(np.int64)
        start += whole.view(np.int64)
        start += draw_shares(rest, width, entropy)
    levels: Shorts = table.levels.take(start)
    return levels


@lru_cache(maxsize=64)
def build_windows(law: WindowLaw) -> WindowTable:
    """Build the tables of a law, cached. Raises ValueError for an impossible law."""
    if not 0 <= law.share <= 1 or (law.share * (1 << CHANCE_BITS)).denominator != 1:
        raise ValueError("the chance of a window is a multiple of 2^-64 between 0 and 1")
    if law.second is None and law.share != 1:
        raise ValueError("one window has the chance 1")
    windows = [(law.first, law.share, 0)]
    if law.second is not None:
        windows.append((law.second, 1 - law.share, law.first.levels))
    for window, _, _ in windows:
        if not 1 <= window.width < window.levels <= MOST_OUTCOMES // 2 or window.ratio <= 0:
            raise ValueError("a window has levels inside and outside, and a positive ratio")
    starts = max(window.levels - window.width for window, _, _ in windows) + 1
    probabilities: list[Fraction] = []
    reach: list[int] = []
    levels: list[npt.NDArray[Any]] = []
    for window, share, base in windows:
        probabilities += _list_probabilities(window, share)
        reach += [window.levels - window.width] * window.levels
        levels.append(base + _list_levels(window, starts))
    return WindowTable(
        build_finite(probabilities),
        np.array(reach, dtype=np.int64),
        np.concatenate(levels).astype(np.int16).ravel(),
        starts,
    )


def _list_probabilities(window: Window, share: Fraction) -> list[Fraction]:
    """List the probability of each level inside, counted from below, then of each outside."""
    outside = window.levels - window.width
    chance_outside = share / (outside + window.ratio * window.width)
    return [chance_outside * window.ratio] * window.width + [chance_outside] * outside


def _list_levels(window: Window, starts: int) -> npt.NDArray[Any]:
    """List the level of each outcome of ``_list_probabilities`` by start: (levels, starts)."""
    start = np.arange(starts)
    inside = np.arange(window.width)[:, None] + start
    outside = np.arange(window.levels - window.width)[:, None]
    return np.concatenate([inside, outside + window.width * (outside >= start)])
