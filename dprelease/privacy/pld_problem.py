r"""From events to the laws that are composed: merging, and what needs no grid.

    delta(epsilon) <= lost + (1 - lost) factor delta_laws(epsilon - shift)

where delta_laws is that of the composed laws. ``lost`` is the probability that any of the events
with a delta goes wrong. ``shift`` holds losses that are added as they are, because they are too
large or too small for a grid, and the kappa of ``pld_gaussian``.

Bounded ranges, if they are several, may become one Normal (``pld_ranges``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.model.privacy_events import (
    Approximate,
    Counted,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Range,
)
from dprelease.privacy.interval_arithmetic import ZERO, exp_floor, ln_bounds, round_up
from dprelease.privacy.pld_curves import check
from dprelease.privacy.pld_gaussian import gaussian_laws
from dprelease.privacy.pld_laws import MANY_RUNGS, Ladder, Law, Normal, Slope, Two
from dprelease.privacy.pld_ranges import normal_of, small_ones
from dprelease.privacy.pld_sums import total

_ONE = Fraction(1)
_TINY, _HUGE = Fraction(1, 10**18), 1000  # losses that are simply added

Laws = tuple[tuple[Law, int], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """See the module.

    ``laws`` are choices of what is to be composed, each valid; none if floats don't reach.
    ``basic`` is the sum of epsilons and of deltas, if all events have one.
    """

    laws: tuple[Laws, ...]
    lost: Fraction
    factor: Fraction
    shift: Fraction
    basic: tuple[Fraction, Fraction] | None


def counted(events: Sequence[Counted]) -> dict[Event, int]:
    """Equal events together, in order of first occurrence; those that cost nothing left out.

    ValueError for a negative number of times and for an event that can't be.
    """
    found: dict[Event, int] = {}
    for event, times in events:
        if times < 0:
            raise ValueError("an event can't occur a negative number of times")
        check(event)
        if times and not _is_free(event):
            found[event] = found.get(event, 0) + times
    return found


def problem_of(events: dict[Event, int], *, merged_ranges: bool = False) -> Problem:
    """What has to be composed for these events."""
    lost, basic = _lost(events), _basic(events)
    try:
        laws, factor, shift = _laws(events)
    except (OverflowError, ZeroDivisionError):
        return Problem((), lost, _ONE, ZERO, basic)
    chosen = _choices(laws) if merged_ranges else (tuple(laws.items()),)
    return Problem(chosen, lost, factor, shift, basic)


def _laws(events: dict[Event, int]) -> tuple[dict[Law, int], Fraction, Fraction]:
    laws: dict[Law, int] = {}
    shifts: list[Fraction] = []
    for event, times in events.items():
        law, span = _law_of(event), pure_of(event)
        if law is None or span is None:
            continue
        if _TINY <= span <= _HUGE:
            laws[law] = laws.get(law, 0) + times
        else:
            shifts.append(times * span)
    gaussians = {event: n for event, n in events.items() if isinstance(event, Gaussian)}
    if gaussians:
        apart, normal, factor, kappa = gaussian_laws(gaussians, _variance(laws))
        for bell, times in apart:
            laws[bell] = laws.get(bell, 0) + times
        if normal:
            laws[Normal(normal)] = 1
        return laws, factor, total([*shifts, kappa])
    return laws, _ONE, total(shifts)


def _choices(laws: dict[Law, int]) -> tuple[Laws, ...]:
    """These laws, and with many bounded ranges as one normal law, if that may be better."""
    ranges = [law for law in laws if isinstance(law, Slope) and not law.ends]
    ranges.sort(key=lambda law: law.span)
    spans = [(law.span, laws[law]) for law in ranges]
    small = small_ones(spans) if spans else 0
    if not small:
        return (tuple(laws.items()),)
    merged = set(ranges[:small])
    others = {law: times for law, times in laws.items() if law not in merged}
    squares = [normal_of(spans[:small])]
    for law in laws:
        if isinstance(law, Normal):
            squares.append(law.mu2 * others.pop(law))
    others[Normal(total(squares))] = 1
    return tuple(laws.items()), tuple(others.items())


def pure_of(event: Event) -> Fraction | None:
    """The epsilon of the event, its delta left out; None for Gaussian noise."""
    match event:
        case Laplace(scale, l1):
            return l1 / scale
        case Range(span):
            return span
        case Pure(epsilon) | Approximate(epsilon, _):
            return epsilon
        case _:
            return None


def _is_free(event: Event) -> bool:
    if isinstance(event, Gaussian):
        return event.shift.l2_squared == 0
    return pure_of(event) == 0 and not (isinstance(event, Approximate) and event.delta)


def _law_of(event: Event) -> Law | None:
    match event:
        case Laplace(scale, l1) if l1 <= MANY_RUNGS:
            return Ladder(scale, l1)
        case Laplace(scale, l1):
            return Slope(l1 / scale + _bend(scale), True)
        case Range(span):
            return Slope(span, False)
        case Pure(epsilon) | Approximate(epsilon, _) if epsilon:
            return Two(epsilon)
        case _:
            return None


def _bend(scale: Fraction) -> Fraction:
    """Upper bound of 2 ln cosh(1/(2s)), which is at most 1/(4 s^2) and at most 1/s."""
    return round_up(min(1 / (4 * scale * scale), 1 / scale), 30)


def _lost(events: dict[Event, int]) -> Fraction:
    """Upper bound of 1 - prod (1 - delta)^times, at most the sum of deltas."""
    deltas = {event: n for event, n in events.items() if isinstance(event, Approximate)}
    if any(event.delta == 1 for event in deltas):
        return _ONE
    kept = total(round_up(-n * ln_bounds(1 - event.delta)[0], 40) for event, n in deltas.items())
    return min(_ONE, 1 - exp_floor(-kept), total(n * event.delta for event, n in deltas.items()))


def _basic(events: dict[Event, int]) -> tuple[Fraction, Fraction] | None:
    spans = [(pure_of(event), times) for event, times in events.items()]
    if any(span is None for span, _ in spans):
        return None
    deltas = (n * event.delta for event, n in events.items() if isinstance(event, Approximate))
    return total(span * n for span, n in spans if span is not None), total(deltas)


def _variance(laws: dict[Law, int]) -> float:
    """About the variance of the sum of these losses; a hint."""
    return math.fsum(
        times * float(law.l1 / law.scale if isinstance(law, Ladder) else law.span) ** 2
        for law, times in laws.items()
        if isinstance(law, Ladder | Slope | Two)
    )
