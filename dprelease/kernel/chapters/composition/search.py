"""Finer and finer grids, until a claim is confirmed or plainly won't be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.chapters.composition import gaussian_events as normal
from dprelease.kernel.chapters.composition.gaussian_events import AnyOf, Lattice, Merged
from dprelease.kernel.chapters.composition.grid import (
    Law,
    Scale,
    bound_chord,
    bound_delta,
    compose_all,
    count_convolutions,
    find_common_unit,
)
from dprelease.kernel.chapters.composition.worst_pairs import build_largest_law, build_law
from dprelease.model.privacy_events import Gaussian, Laplace, Pure, Range

Bounded = Pure | Range | Laplace
Single = Bounded | Lattice | AnyOf
_POINTS = (1024, 2048, 4096, 8192, 16384, 32768)
_WORK = 1e10  # products of floats: about five seconds
_SPARE = 1e-4  # the part of delta that trimming may take, at 1,024 points
_MANY = 1 << 23  # losses: with more, rounding errors would no longer be known to be small
_LEAST = 1e-140  # far above what is lost by underflow
_NONE = Merged(Fraction(0), Fraction(1), Fraction(0))


class Claim(Struct, frozen=True):
    """A claim about laws of single losses, and many Gaussian events as one.

    No loss is above ``top``, unless it is None.
    """

    singles: Mapping[Single, int]
    merged: Merged
    top: Fraction | None
    epsilon: Fraction
    delta: Fraction


def is_below(
    bounded: Mapping[Bounded, int],
    reaches: Mapping[Bounded, Fraction],
    gaussians: Mapping[Gaussian, int],
    epsilon: Fraction,
    delta: Fraction,
) -> bool:
    """Tell whether the curve of all events together is at most ``delta`` at epsilon, for certain.

    ``reaches`` are the largest losses of the bounded events. Where the curve is below, but by less
    than the finest grid can tell, the answer is False.
    """
    singles: Counter[Single] = Counter()
    for event, count in bounded.items():
        singles[event] += count
    others = []
    for gaussian, count in gaussians.items():
        parts = normal.place_on_lattice(gaussian)
        for part in parts:
            singles[part] += count
        if not parts:
            others.append((gaussian, count))
    merged = normal.merge_events(others, delta) if others else _NONE
    if merged is None:
        return False
    top = sum((count * reaches[event] for event, count in bounded.items()), Fraction(0))
    claim = Claim(singles, merged, None if gaussians else top, epsilon, delta)
    return _search(claim, find_common_unit(reaches.values()))


def _search(claim: Claim, unit: Fraction) -> bool:
    if sum(claim.singles.values()) > _MANY:
        return False
    effort = count_convolutions([*claim.singles.values(), 1])
    last: Fraction | None = None
    for points in _POINTS:
        if last is not None and effort * points**2 > _WORK:
            return False
        value = bound_total_delta(claim, Scale(unit, points))
        if value <= claim.delta:
            return True
        # The error falls to about a quarter from grid to grid, so what is left to gain is about a
        # third of the last gain. Where three times that is far from enough, no grid will do; the
        # first two are trusted less.
        near = 2 if points == _POINTS[1] else 1
        if last is not None and value - (last - value) > near * claim.delta:
            return False
        last = value
    return False


def bound_total_delta(claim: Claim, scale: Scale) -> Fraction:
    """Bound the curve of all events at epsilon from above, by one grid."""
    share = _SPARE * (_POINTS[0] / scale.points) ** 2
    spare = max(_LEAST, float(claim.delta) * share)
    counts, merged = dict(claim.singles), claim.merged
    if merged.mu_squared:
        lattice, merged = normal.return_to_lattice(merged, scale.points // 2)
        counts[lattice] = counts.get(lattice, 0) + 1
    far = spare / (8 * sum(counts.values()))
    law = compose_all(
        scale, [(build_event_law(single, scale, far), n) for single, n in counts.items()], spare
    )
    value = bound_delta(scale, law, claim.epsilon - merged.offset) * merged.factor
    if claim.top is not None and value > claim.delta:
        value = min(value, bound_chord(scale, law, claim.epsilon, claim.top))
    return value


def build_event_law(single: Single, scale: Scale, spare: float) -> Law:
    """Build the privacy loss of one event on a grid; of one of several, the largest of theirs."""
    if isinstance(single, AnyOf):
        return build_largest_law(single, scale, spare)
    return build_law(single, scale, spare)
