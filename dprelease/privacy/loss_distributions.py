r"""Composition of privacy losses by FFT: the epsilon of many events together, in floats.

Each event has a law of its loss Z = ln P/Q under P; ``kernel.chapters.composition`` proves for each
kind that no pair of neighbours is worse. Independent losses add up, and

    delta(epsilon) = E (1 - e^(epsilon - Z))+ .

*Not trusted.* Nothing here is rounded to the safe side: the figures are off by about a part in
10^5, up or down. An epsilon counts only after ``kernel.chapters.composition`` has confirmed it,
which shares no code with this file and no method.

*Tilt.* All laws are taken as e^(theta z) times themselves, with the theta at which the tilted sum
lies about epsilon: so a delta of 10^-100 is found as accurately as one of 10^-2. With
K(t) = ln E e^(t Z), ln delta(epsilon) is at most K(t) - t epsilon + t ln t - (1+t) ln(1+t) for
every t > 0, and near it for the best one. As P and Q may change places, K(-1-t) = K(t).

*Grid.* A mass between two points of the grid goes to the nearest four, by Lagrange's weights: the
first three moments of every tilted law stay as they are. Each law's grid has an origin of its own,
so that losses on a lattice of the grid's step are not moved at all.

*Gaussian noise* of sigma^2 >= 2 on integers has, to a part in 10^16, the moments of the normal law.
Where its lattice is fine beside all other losses it is one, and all such become one normal law.
Moves of which little is known are bounded as in ``kernel.chapters.composition.gaussian_events``.

Sources: Koskela, Jälkö, Honkela 2020, arXiv 1906.03049 (FFT); Doroshenko et al. 2022, arXiv
2207.04380 (a curve from its values on a grid); Zhu, Dong, Wang 2022, arXiv 2106.08567 (dominating
pairs).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.model.privacy_events import (
    Approximate,
    Counted,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Range,
)
from dprelease.model.shift import Shift

Floats = npt.NDArray[np.float64]
Waves = npt.NDArray[np.complex128]
Shapes = tuple[tuple[int, ...], ...]

_TILTS = 10 ** np.linspace(-3, 5, 81)  # in units of one over the deviation of all losses
_TAIL = 28.0  # -ln of the tilted mass that a window may miss
_LOWEST = 45.0  # -ln of the tilted mass, beside the largest, that a law may miss
_FEW_LAWS, _SMALL, _LARGE = 64, 1 << 12, 1 << 13  # points of a grid
_EDGE = 32  # points at each end that are kept free, as masses are shared among neighbours
_MANY_STEPS = 512  # from so many steps on, discrete Laplace noise is continuous
_COARSE = 4e-5  # a lattice is fine if its squared spacing is this part of all losses' variance
_SMOOTH_SIGMA2 = 2.0
_ONE_SHAPE, _SOME_SHAPES = 100_000, 10_000  # the largest sigma^2 of which shapes are looked at
_LISTED_SIGMA2, _LISTED_LENGTH = 256, 24  # up to which all shapes of a length are listed
_NEWTON = 60


class _Lattice(Struct, frozen=True):
    """Discrete Gaussian noise on integers that move by whichever of ``shapes`` is the worst."""

    sigma2: float
    shapes: Shapes


_Law = Pure | Range | Laplace | _Lattice


class _Laws(Struct, frozen=True):
    """The laws to compose, each with its count, and one normal law of variance ``mu2``.

    ``variance`` is about the variance of all their losses, ``top`` the largest loss. The composed
    delta is e^``log_factor`` times the delta of the laws at epsilon - ``offset``.
    """

    counts: Counter[_Law]
    variance: float
    top: float
    mu2: float
    log_factor: float
    offset: float


class _Grid(Struct, frozen=True):
    """A grid of ``size`` losses from ``low``, ``step`` apart; laws on it are tilted by ``tilt``."""

    tilt: float
    low: float
    step: float
    size: int


def estimate_epsilon(events: Sequence[Counted], delta: Fraction) -> float:
    """Estimate the least epsilon at which all events together are (epsilon, delta)-DP.

    The order of events does not matter. The estimate is off by about a part in 10^5, up or down.

    Args:
        events: Events with the number of times that each occurs.
        delta: In [0, 1).

    Returns:
        epsilon, as a float.

    Raises:
        ValueError: delta is out of range, an event is invalid, or there is no epsilon: delta is
            not above the probability that an event with a delta fails, is 0 with Gaussian noise,
            or is too small for floats.
    """
    if not 0 <= delta < 1:
        raise ValueError("delta must lie in [0, 1)")
    counts = _count_events(events)
    failing = [(float(e.delta), n) for e, n in counts.items() if isinstance(e, Approximate)]
    if any(chance == 1 for chance, _ in failing):
        raise ValueError("these events have no epsilon at this delta")
    failed = Fraction(-math.expm1(math.fsum(n * math.log1p(-chance) for chance, n in failing)))
    bounds = []
    if failed <= delta * (1 + Fraction(1, 10**12)) and not any(
        isinstance(event, Gaussian) for event in counts
    ):
        bounds.append(math.fsum(n * _bound_span(event) for event, n in counts.items()))
    # What floats leave of a delta that is all spent is nothing.
    if failed * (1 + Fraction(1, 10**9)) < delta:
        # The delta that is left, given that no event fails.
        rest = (delta - failed) / (1 - failed)
        with np.errstate(all="ignore"):
            bounds.append(
                _compose_events(counts, math.log(rest.numerator) - math.log(rest.denominator))
            )
    bounds = [bound for bound in bounds if math.isfinite(bound)]
    if not bounds:
        raise ValueError("these events have no epsilon at this delta")
    return min(bounds)


def _count_events(events: Sequence[Counted]) -> Counter[Event]:
    """Count equal events; leave out those that cost nothing."""
    counts: Counter[Event] = Counter()
    for event, times in events:
        if times < 0:
            raise ValueError("an event can't occur a negative number of times")
        if isinstance(event, Gaussian):
            if event.sigma2 <= 0:
                raise ValueError("sigma squared must be positive")
            costs = event.shift.l2_squared > 0
        else:
            costs = _bound_span(event) > 0 or (isinstance(event, Approximate) and event.delta > 0)
        if times and costs:
            counts[event] += times
    return counts


def _bound_span(event: Event) -> float:
    """Compute the largest loss of a non-Gaussian event; of an approximate one, unless it fails."""
    match event:
        case Laplace(scale, l1) if scale > 0 and l1 >= 0:
            return float(l1 / scale)
        case Range(span) if span >= 0:
            return float(span)
        case Pure(epsilon) if epsilon >= 0:
            return float(epsilon)
        case Approximate(epsilon, delta) if epsilon >= 0 and 0 <= delta <= 1:
            return float(epsilon)
    raise ValueError("an event's scale is positive, its epsilon isn't negative, delta in [0, 1]")


# --- from events to laws ------------------------------------------------------------------------


def _build_laws(events: Counter[Event], log_delta: float) -> _Laws:
    """Build the laws of these events."""
    counts: Counter[_Law] = Counter()
    gaussians: list[tuple[Gaussian, int]] = []
    variance = top = 0.0
    for event, times in events.items():
        if isinstance(event, Gaussian):
            gaussians.append((event, times))
            variance += times * float(event.shift.l2_squared / event.sigma2)
            top = math.inf
        elif span := _bound_span(event):
            counts[Pure(event.epsilon) if isinstance(event, Approximate) else event] += times
            variance += times * span * span
            top += times * span
    mu2 = log_factor = offset = 0.0
    # Delta only decides which of several valid bounds is the better one.
    slope = 0.5 + math.sqrt(-2 * log_delta / variance) / 2 if variance else 1.0
    for gaussian, times in gaussians:
        sigma2, shift = float(gaussian.sigma2), gaussian.shift
        shapes = _list_shapes(shift, sigma2)
        if not shapes:
            width, eta = _choose_smoothing(shift, sigma2, slope)
            mu2 += times * shift.l2_squared / (sigma2 - width)
            log_factor += times * shift.coordinates * math.log1p(eta)
            offset += times * shift.coordinates * (math.log1p(eta) - math.log1p(-eta))
        elif sigma2 >= _SMOOTH_SIGMA2 and shift.l2_squared / sigma2**2 <= _COARSE * variance:
            mu2 += times * shift.l2_squared / sigma2
        else:
            counts[_Lattice(sigma2, shapes)] += times
    return _Laws(counts, variance, top, mu2, log_factor, offset)


def _list_shapes(shift: Shift, sigma2: float) -> Shapes:
    """List the shapes to compose one by one; none if there are too many."""
    shapes = tuple(filter(any, shift.shapes))
    if shapes and sigma2 <= (_ONE_SHAPE if len(shapes) == 1 else _SOME_SHAPES):
        return shapes
    if sigma2 <= _LISTED_SIGMA2 and shift.l2_squared <= _LISTED_LENGTH:
        return tuple(_iter_squares(shift.l2_squared, shift.coordinates, shift.l2_squared))
    return ()


def _iter_squares(length: int, places: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Give the shapes of this squared length, leaving out those that could be made longer."""
    if not length or not places:
        yield ()
        return
    for entry in range(math.isqrt(min(length, largest * largest)), 0, -1):
        for others in _iter_squares(length - entry * entry, places - 1, entry):
            yield (entry, *others)


def _choose_smoothing(shift: Shift, sigma2: float, slope: float) -> tuple[float, float]:
    """Choose t and eta so that a normal law of sigma^2 - t bounds all such shifts."""
    square = 2 * math.pi**2
    best = math.log(4 * square * shift.coordinates * sigma2**2 / (slope * shift.l2_squared))
    width = min(max(best / square, 0.125), sigma2 / 2)
    power = math.exp(-square * width)
    eta = 2 * power / (1 - power)
    return (width, eta) if eta < 0.5 else (width, math.nan)


# --- where to look ------------------------------------------------------------------------------


def _estimate_cumulants(laws: _Laws, tilts: Floats) -> Floats:
    """Estimate ln E e^(t Z) of all laws together at these t > 0."""
    total = laws.mu2 * tilts * (1 + tilts) / 2
    two: list[tuple[float, int]] = []
    ranges: list[tuple[float, int]] = []
    laplaces: list[tuple[float, int]] = []
    for law, times in laws.counts.items():
        if isinstance(law, _Lattice):
            longest = max(sum(v * v for v in shape) for shape in law.shapes)
            total += times * longest / law.sigma2 * tilts * (1 + tilts) / 2
        elif isinstance(law, Range):
            ranges.append((float(law.span), times))
        elif isinstance(law, Laplace) and law.l1 > 1:
            laplaces.append((_bound_span(law), times))
        else:
            two.append((_bound_span(law), times))
    for group, kind in ((two, Pure), (ranges, Range), (laplaces, Laplace)):
        if not group:
            continue
        spans, times_ = np.array(group).T
        reach = -np.expm1(-np.outer(1 + 2 * tilts, spans))  # of the mass, below the largest loss
        if kind is Pure:
            parts = np.log(2 - reach) - np.log1p(np.exp(-spans))
        elif kind is Range:
            parts = np.log(reach / (1 + 2 * tilts)[:, None] / -np.expm1(-spans))
        else:
            parts = np.log((reach / (1 + 2 * tilts)[:, None] + 2 - reach) / 2)
        total = total + ((parts + np.outer(tilts, spans)) * times_).sum(axis=1)
    return np.asarray(total, dtype=np.float64)


def _choose_grid(laws: _Laws, log_delta: float) -> tuple[_Grid, float]:
    """Choose tilt, window and step for this delta, and estimate epsilon."""
    tilts = _TILTS / math.sqrt(laws.variance)
    cumulants = _estimate_cumulants(laws, tilts)
    share = -tilts * np.log1p(1 / tilts) - np.log1p(tilts)
    costs = (cumulants + share - log_delta) / tilts
    best = int(np.nanargmin(costs))
    tilt, epsilon = float(tilts[best]), float(costs[best])
    # P and Q may change places: K(-1 - t) = K(t).
    all_tilts = np.concatenate((tilts, -1 - tilts))
    ends = (np.concatenate((cumulants, cumulants)) - cumulants[best] + _TAIL) / (all_tilts - tilt)
    high = min(laws.top, float(np.nanmin(np.where(all_tilts > tilt, ends, np.inf))))
    low = float(np.nanmax(np.where(all_tilts < tilt, ends, -np.inf)))
    margin = 1e-3 * math.sqrt(laws.variance)
    low, high = min(low, epsilon) - margin, max(high, epsilon) + margin
    size = _LARGE if len(laws.counts) <= _FEW_LAWS else _SMALL
    step = (high - low) / (size - 2 * _EDGE)
    spacing = max(
        ((times * gap * gap, gap) for gap, times in _iter_spacings(laws)), default=(0, 0)
    )[1]
    # Losses on a lattice stay where they are if its spacing is a multiple of the step.
    if spacing > step:
        step = spacing / math.floor(spacing / step)
    return _Grid(tilt, low - _EDGE * step, step, size), epsilon


def _iter_spacings(laws: _Laws) -> Iterator[tuple[float, int]]:
    """Give the spacing of the losses of each law on a lattice, and how often the law occurs."""
    for law, times in laws.counts.items():
        if isinstance(law, Pure):
            yield 2 * float(law.epsilon), times
        elif isinstance(law, Laplace) and law.l1 <= _MANY_STEPS:
            yield 2 / float(law.scale), times
        elif isinstance(law, _Lattice) and len(law.shapes) == 1:
            yield min(filter(None, law.shapes[0])) / law.sigma2, times


# --- single laws --------------------------------------------------------------------------------


def _transform(law: _Law, grid: _Grid) -> tuple[Waves, float, float]:
    """Transform the tilted law of mass 1; return the transform, its log-mass and its origin."""
    if isinstance(law, _Lattice):
        if len(law.shapes) > 1:
            return _transform_largest(law, grid)
        return _transform_shifted_noise(law.sigma2, law.shapes[0], grid, common=False)
    span = _bound_span(law)
    if isinstance(law, Range):
        log_density = -span / 2 - math.log(-2 * math.expm1(-span))
        losses, log_weights = _transform_density(span, grid, log_density)
    elif isinstance(law, Laplace) and law.l1 > _MANY_STEPS:
        half = 0.5 / float(law.scale)
        span += 2 * (half + math.log1p(math.exp(-2 * half)) - math.log(2))  # ln cosh
        losses, log_weights = _transform_density(span, grid, -span / 2 - math.log(4))
        losses = np.append(losses, [span, -span])
        log_weights = np.append(log_weights, [math.log(0.5), -span - math.log(2)])
    else:
        # Laplace noise with l1 = 1 is randomised response.
        slope, l1 = (float(1 / law.scale), law.l1) if isinstance(law, Laplace) else (span, 1)
        steps = np.arange(l1 + 1, dtype=np.float64)
        losses, log_weights = (l1 - 2 * steps) * slope, -slope * steps
        log_weights[1:l1] += math.log(math.tanh(slope / 2))
        log_weights[[0, l1]] -= math.log1p(math.exp(-slope))
    return _transform_masses(losses, log_weights + grid.tilt * losses, grid)


def _transform_density(span: float, grid: _Grid, log_density: float) -> tuple[Floats, Floats]:
    """Discretize a density e^(z/2) times e^``log_density`` on [-span, span]: two masses a cell."""
    reach = min(2 * span, _LOWEST / (0.5 + grid.tilt))
    cells = max(1, math.ceil(reach / grid.step))
    width = reach / cells
    middles = span - width * (np.arange(cells) + 0.5)
    away = width / (2 * math.sqrt(3))  # Gauss and Legendre: the first three moments are right
    losses = np.concatenate((middles - away, middles + away))
    return losses, losses / 2 + (log_density + math.log(width / 2))


def _transform_shifted_noise(
    sigma2: float, shape: tuple[int, ...], grid: _Grid, *, common: bool
) -> tuple[Waves, float, float]:
    """Transform noise on independent integers, one for each entry of the shape."""
    waves, log_mass, origin = np.ones(grid.size // 2 + 1, dtype=np.complex128), 0.0, 0.0
    for move, times in Counter(filter(None, shape)).items():
        coordinate_waves = _transform_masses(
            *_build_bell(sigma2, move, grid.tilt), grid, common=common
        )
        waves *= coordinate_waves[0] ** times
        log_mass += times * coordinate_waves[1]
        origin += times * coordinate_waves[2]
    return waves, log_mass, origin


def _build_bell(sigma2: float, move: int, tilt: float) -> tuple[Floats, Floats]:
    """List the losses of discrete Gaussian noise on a moved integer, with tilted log-masses."""
    center, reach = -tilt * move, math.sqrt(2 * _LOWEST * sigma2) + 1
    x = np.arange(math.floor(center - reach), math.ceil(center + reach) + 1, dtype=np.float64)
    near = np.arange(1, 40, dtype=np.float64)
    # From sigma^2 = 9 on the lattice sum equals the integral to float accuracy.
    total = math.sqrt(2 * math.pi * sigma2)
    if sigma2 < 9:
        total = 1 + 2 * float(np.exp(-near * near / (2 * sigma2)).sum())
    losses = (move * move - 2 * move * x) / (2 * sigma2)
    return losses, -x * x / (2 * sigma2) - math.log(total) + tilt * losses


def _transform_masses(
    losses: Floats, log_weights: Floats, grid: _Grid, *, common: bool = False
) -> tuple[Waves, float, float]:
    """Transform tilted masses; their origin is the largest mass, or ``common`` to all grids."""
    peak = int(log_weights.argmax())
    weights = np.exp(log_weights - log_weights[peak])
    total, origin = float(weights.sum()), float(losses[peak])
    if common:
        origin = round(origin / grid.step) * grid.step
    row = _share_masses((losses - origin) / grid.step, weights / total, grid.size)
    return np.fft.rfft(row), float(log_weights[peak]) + math.log(total), origin


def _share_masses(places: Floats, weights: Floats, size: int) -> Floats:
    """Share masses at any places among the nearest four points of a circle of ``size``."""
    below = np.floor(places)
    f = places - below
    first = np.fmod(below - 1, size).astype(np.int64)
    row = np.zeros(size)
    # Lagrange's weights for the points -1, 0, 1, 2 at the fraction f.
    parts = (
        f * (f - 1) * (2 - f) / 6,
        (f + 1) * (f - 1) * (f - 2) / 2,
        f * (f + 1) * (2 - f) / 2,
        f * (f + 1) * (f - 1) / 6,
    )
    for place, part in enumerate(parts):
        row += np.bincount((first + place) % size, weights * part, minlength=size)
    return row


def _transform_largest(law: _Lattice, grid: _Grid) -> tuple[Waves, float, float]:
    """Transform the law whose curve is the largest over all shapes at every point of the grid."""
    longest = max(sum(v * v for v in shape) for shape in law.shapes)
    half = grid.size // 2
    middle = round(longest / law.sigma2 * (0.5 + grid.tilt) / grid.step)
    depth = (np.arange(grid.size) - half) * grid.step  # above the middle of the law's window
    falling = np.exp(np.clip(-grid.tilt * depth, -700, 600))
    rising = np.exp(np.clip(depth, -300, 300))
    curve = np.zeros(grid.size)
    for shape in law.shapes:
        waves, log_mass, origin = _transform_shifted_noise(law.sigma2, shape, grid, common=True)
        row = np.roll(np.fft.irfft(waves, grid.size), half + round(origin / grid.step) - middle)
        mass = row * falling * math.exp(log_mass - grid.tilt * middle * grid.step)
        curve = np.maximum(curve, _sum_above(mass) - rising * _sum_above(mass / rising))
    shrunk = math.exp(-grid.step)
    tails = (curve - shrunk * np.append(curve[1:], 0.0)) / (1 - shrunk)
    weights = (np.append(tails[0], tails[:-1]) - tails) / falling
    total = float(weights.sum())
    row = np.roll(weights / total, -half)
    origin = middle * grid.step
    return np.fft.rfft(row), math.log(total) + grid.tilt * origin, origin


def _sum_above(mass: Floats) -> Floats:
    """Sum the mass beyond each place."""
    return np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)


# --- all together -------------------------------------------------------------------------------


def _compose_events(events: Counter[Event], log_delta: float) -> float:
    """Compute the epsilon of these events if none fails; nan or infinity if there is none."""
    laws = _build_laws(events, log_delta)
    if not laws.variance:
        return 0.0
    log_delta -= laws.log_factor
    if not (log_delta < 0 and math.isfinite(laws.variance)):
        return math.nan
    grid, epsilon = _choose_grid(laws, log_delta)
    if not math.isfinite(grid.step):
        return math.nan
    step, size, tilt = grid.step, grid.size, grid.tilt
    origin = laws.mu2 * (0.5 + tilt)
    log_mass = laws.mu2 * tilt * (1 + tilt) / 2
    squares = np.square(np.arange(size // 2 + 1) * (2 * math.pi / (size * step)))
    product = np.exp(-squares * laws.mu2 / 2).astype(np.complex128)
    for law, times in laws.counts.items():
        waves, one_log_mass, one_origin = _transform(law, grid)
        product *= waves if times == 1 else waves**times
        log_mass += times * one_log_mass
        origin += times * one_origin
    first = math.ceil((grid.low - origin) / step)
    row = np.roll(np.fft.irfft(product, size), -(first % size))
    lowest = origin + first * step
    peak = lowest + int(row.argmax()) * step

    def compute_excess(point: float) -> tuple[float, float]:
        """Compute ln delta at this epsilon less ``log_delta``, and how fast it falls."""
        start = max(0, math.floor((point - lowest) / step) + 1)
        above = lowest - point + np.arange(start, size) * step
        weights = row[start:] * np.exp(-tilt * above)
        excess_mass = float((weights * -np.expm1(-above)).sum())
        if excess_mass <= 0:  # too far from the peak for floats
            return math.copysign(math.inf, peak - point), 1.0
        fall = float((weights * np.exp(-above)).sum()) / excess_mass
        return log_mass - tilt * point + math.log(excess_mass) - log_delta, fall

    return max(0.0, _find_root(compute_excess, epsilon, lowest, lowest + size * step) + laws.offset)


def _find_root(
    excess: Callable[[float], tuple[float, float]], point: float, low: float, high: float
) -> float:
    """Find where a falling function is 0, between low and high, by Newton's method."""
    for _ in range(_NEWTON):
        value, fall = excess(point)
        low, high = (point, high) if value > 0 else (low, point)
        following = point + value / fall if fall > 0 else math.nan
        if not low < following < high:
            # Halve the interval where Newton's step leaves it.
            following = (low + high) / 2
        if abs(following - point) <= 1e-11 * abs(point):
            return following
        point = following
    return high
