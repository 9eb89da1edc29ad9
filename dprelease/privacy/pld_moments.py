"""The events' bound by zero-concentrated differential privacy, where it is asked for.

Where laws of losses are beyond floats it is the only one; elsewhere it may be the better one.

Composing laws of losses is tight for most events, but not for all: of many selections of bounded
range each has the law that is the worst for every epsilon, while zCDP knows that their variances
are smaller; and of Gaussian noise with a tiny sigma squared on several integers no good law is
known. Exact bounds of rho cost time, so a hint in floats says whether they are worth it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.model.privacy_events import Event, Gaussian, Range
from dprelease.privacy import bounded_range, zcdp
from dprelease.privacy.interval_arithmetic import ZERO
from dprelease.privacy.pld_problem import pure_of
from dprelease.privacy.pld_sums import total

_SMALL = Fraction(1, 50)  # below, the least rho isn't worth its time
_NEAR = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0)  # tilts tried, as multiples of a guess


def epsilon_of(events: dict[Event, int], delta: Fraction, below: Fraction | None) -> Fraction:
    """Upper bound of the epsilon at ``delta``; ``below``, if it can't be less than that."""
    if below is not None:
        rho = _hint(events)
        if not math.isfinite(rho):
            return below
        budget = math.log(delta.denominator) - math.log(delta.numerator)
        guess = math.sqrt(budget / rho)
        tilts = [guess * near for near in _NEAR]
        if min(_cost(rho, tilt) + budget / tilt for tilt in tilts) >= below:
            return below
    found = zcdp.epsilon_of(_rho(events), delta)
    return found if below is None else min(found, below)


def delta_of(events: dict[Event, int], epsilon: Fraction, below: Fraction | None) -> Fraction:
    """Upper bound of the delta at ``epsilon``; ``below``, if it can't be less than that."""
    if below is not None:
        rho, aim = _hint(events), float(epsilon)
        if below == 0 or not rho < aim:
            return below
        guess = (aim - rho) / (2 * rho)
        logs = [tilt * (_cost(rho, tilt) - aim) for tilt in (guess * near for near in _NEAR)]
        if min(logs) >= math.log(below.numerator) - math.log(below.denominator):
            return below
    found = zcdp.delta_of(_rho(events), epsilon)
    return found if below is None else min(found, below)


def _cost(rho: float, tilt: float) -> float:
    """What epsilon is at least for delta = 1, by the order 1 + ``tilt``."""
    return (1 + tilt) * rho - math.log1p(1 / tilt) - math.log1p(tilt) / tilt


def _rho(events: dict[Event, int]) -> Fraction:
    """Upper bound of the events' rho together, without what their deltas stand for."""
    return total(times * _single(event) for event, times in events.items())


def _single(event: Event) -> Fraction:
    if isinstance(event, Gaussian):
        return zcdp.rho_of_gaussian(event.shift.l2_squared, event.sigma2)
    epsilon = pure_of(event) or ZERO
    if isinstance(event, Range):
        return epsilon**2 / 8 if epsilon < _SMALL else bounded_range.rho_of_range(epsilon)
    return epsilon**2 / 2 if epsilon < _SMALL else zcdp.rho_of_pure(epsilon)


def _hint(events: dict[Event, int]) -> float:
    """About rho, or infinity."""
    rho = 0.0
    try:
        for event, times in events.items():
            if isinstance(event, Gaussian):
                rho += times * float(event.shift.l2_squared / event.sigma2) / 2
                continue
            e = float(pure_of(event) or ZERO)
            if not isinstance(event, Range):
                rho += times * e * math.tanh(e / 2)
            elif e < 0.1:
                rho += times * e * e / 8
            else:
                share = -math.expm1(-e)
                rho += times * (math.log(share / e) + e / share - 1)
    except OverflowError:
        return math.inf
    return rho
