"""Intervals of counts and sums that are moved or hidden after the noise.

An interval is that of the figure before it is moved: as it was released, or as least squares made
it agree with others. Its ends are cut at what is possible, 0 where figures are 0 or more, and lie
on figures that can be true: counts are whole. The half-width beside it reaches from the figure as
it is published to the further end.

*0 or more.* The interval e - h to e + h, cut at 0, holds every n >= 0 as often as before. Where e
is negative its upper end may be close to 0, or below it. So it is the probable error of the noise
at least: any n up to there is missed only by noise above h then, with half the chance.

*Hidden.* Where the figure itself decides if it is shown, intervals hold among the figures shown
(``intervals.shown_figures``). Parts of a condition that read only other figures of the row are left
out. What a figure was moved by is taken as fixed: it moves the limit of the figure before.

No interval is computed where the noise differs by cell. For a condition that holds between limits
only, or reads the figure and others together, and for figures that may be negative, shown from one
limit on, intervals hold among all figures, shown or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.model import Query
from dprelease.postprocess.intervals.combined_noise import Part, compute_combined_halfwidth
from dprelease.postprocess.intervals.estimate_columns import Ends
from dprelease.postprocess.intervals.shown_figures import Limits, bound_distances
from dprelease.statistics.statistic_registry import get_statistic

FINER = 6
"""Decimals of ends before they are rounded to figures that can be true."""
_LIKELY_AS_NOT = Fraction(1, 2)
_SLACK = 1e-9


class Estimate(NamedTuple):
    """Figures before they were moved, in 10^-places, and the noise that each of them has.

    ``least``: no figure that is true is less, in the figure's unit. ``own_places``: the decimals
    of figures that can be true.
    """

    values: Sequence[int | None]
    places: int
    noise: tuple[Part, ...]
    least: int | None
    own_places: int


def find_least(query: Query, threshold: int | None) -> int | None:
    """Find the least possible figure of a count or a sum of what is never negative."""
    if threshold is not None:
        return 1  # of a key that occurs
    grid = query.column.grid if query.column is not None else None
    if get_statistic(query.statistic).counts or (grid is not None and grid.lower >= 0):
        return 0
    return None


def compute_ends(
    estimate: Estimate,
    moved: Sequence[int | None],
    moved_places: int,
    limits: Limits | None,
    interval: Fraction,
) -> Ends:
    """Compute the ends of intervals around figures as they were before they ``moved``.

    ``limits`` are those from which on a moved figure is shown, if it decides that itself. Ends are
    in 10^-own_places; None where there is no figure.
    """
    own = estimate.own_places
    fine = max(estimate.places, moved_places, own) + FINER
    before, unit = 10 ** (fine - estimate.places), 10 ** (fine - own)
    figures = [None if value is None else value * before for value in estimate.values]
    half = _round_up(compute_combined_halfwidth(estimate.noise, 1 - interval), fine)
    least = None if estimate.least is None else estimate.least * 10**fine
    low = [None if figure is None else figure - half for figure in figures]
    high = [None if figure is None else figure + half for figure in figures]
    if least is not None:
        nearest = least + _round_up(
            compute_combined_halfwidth(estimate.noise, _LIKELY_AS_NOT), fine
        )
        high = [None if end is None else max(end, nearest) for end in high]
    if limits is not None and estimate.noise and (least is not None or limits.lower is not None):
        after = 10 ** (fine - moved_places)
        shifts = [
            None if figure is None or value is None else figure - value * after
            for figure, value in zip(figures, moved, strict=True)
        ]
        _widen(low, high, figures, shifts, estimate.noise, limits, fine, 1 - interval)
    if least is not None:
        low, high = (
            [None if end is None else max(end, least) for end in ends] for ends in (low, high)
        )
    # What can be true lies on multiples of the unit: the ends are moved to these, inward.
    lows = [None if end is None else -(-end // unit) for end in low]
    highs = [None if end is None else end // unit for end in high]
    return Ends(
        lows,
        [
            None if first is None or last is None else max(first, last)
            for first, last in zip(lows, highs, strict=True)
        ],
    )


def _round_up(size: Fraction, places: int) -> int:
    whole: int = -(-size.numerator * 10**places // size.denominator)
    return whole


def _widen(  # noqa: PLR0913, PLR0917 - the ends with all that decides them
    low: list[int | None],
    high: list[int | None],
    figures: Sequence[int | None],
    shifts: Sequence[int | None],
    noise: tuple[Part, ...],
    limits: Limits,
    fine: int,
    alpha: Fraction,
) -> None:
    """Move ends out for figures that the noise may have brought beyond a limit."""
    import numpy as np

    scale = 10**fine
    width = None if limits.lower is None else float(limits.upper - limits.lower)
    sides = [(1, limits.upper, low)]
    if limits.lower is not None:
        sides.append((-1, limits.lower, high))
    for sign, limit, ends in sides:
        start = int(limit * scale)
        excess: dict[int, list[int]] = {}
        for at, (figure, shift) in enumerate(zip(figures, shifts, strict=True)):
            if figure is not None and shift is not None:
                above = sign * (figure - shift - start)
                if above >= 0:
                    excess.setdefault(above, []).append(at)
        if not excess:
            continue
        beyond = np.array([float(Fraction(above, scale)) for above in excess])
        distances = bound_distances(noise, beyond, width, alpha).tolist()
        for (above, cells), distance in zip(excess.items(), distances, strict=True):
            for at in cells:
                figure, end = figures[at], ends[at]
                if figure is None or end is None:
                    continue
                if distance == float("inf"):
                    ends[at] = -sign * 10 ** (fine + 30)
                    continue
                true = (
                    sign * (figure - sign * above)
                    - int(Fraction(distance + _SLACK * (1 + abs(distance))) * scale)
                    - 1
                )
                ends[at] = min(end, true) if sign > 0 else max(end, -true)
