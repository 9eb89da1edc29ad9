"""Half-widths of sums of noise: of w_1 S_1 + w_2 S_2 + ..., each S a sum of draws of one law.

The sum Y is symmetric, and its characteristic function is a product of known ones:

    Laplace of scale s:  1/(1 + (sin(t/2)/sinh(1/(2s)))^2),
    staircase:           c (D(first - 1) + 2 Re(q e^(i t m) B/(1 - q e^(i t stair)))), where q is
                         exp(-stair/s), D(n) and B are sums of e^(i t k) over -n..n and over a
                         stair, from its middle, and m is the middle of the first stair, in
    Gaussian of sigma2:  sum over k of exp(-k^2/(2 sigma2)) cos(k t), over its value at t = 0; by
    Poisson's formula also sum over l of exp(-sigma2 (t + 2 pi l)^2/2), over its value at t = 0.

It is inverted by a fast Fourier transform of N points. ``R`` bounds the reach: P(|Y| > R) <= 1e-13,
by Chernoff's bound.

*On the lattice.* Y takes multiples of a unit, the greatest common divisor of the weights. If N
multiples of it cover -R to R, their probabilities are exact, up to that of values beyond.

*Smoothed.* Otherwise W takes multiples of a coarser G: given Y = y it is the multiple jG with
probability G n(jG - y), n the normal density of standard deviation d = 3 G. By Poisson's formula
these add up to 1, and the characteristic function of W is that of Y times exp(-d^2 t^2/2), both up
to exp(-pi^2 9/2) < 1e-19. As P(|W - Y| > 7d) < 1e-11, P(|Y| > h + 7d) <= P(|W| > h) + 1e-11.

A single draw has its exact half-width, ``kernel.distributions.laws``. Where Y is smoothed, or alpha
is small, smaller bounds count: the half-width there of up to three draws of one weight or of
Gaussian ones, and for two or three of other weights that of ``noise_mixture``.

*Noise that is drawn together* (CUBE): a part is a weighted sum of the integers of a cell, with
weights of its own for each. ``cube_noise`` has its law. Where many reaches stand in groups, Y is
smoothed, at fewer points.

Floats: the tail must be lower by 1e-9, which covers the reach, the smoothing and the rounding of
the transform; half-widths are rounded up by 1e-9 of their size. For probabilities below 1e-7
Chernoff's bound replaces the transform, P(|Y| > h) <= 2 M(u) exp(-u h), with

    M(u) = 1/(1 - (sinh(u/2)/sinh(1/(2s)))^2) for a Laplace draw and 0 <= u < 1/s, what the
    function above is at t = -iu for a staircase one, and at most exp(sigma2 u^2/2) for a Gaussian
    one (CKS20, arXiv 2004.00010).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dprelease.kernel.distributions.laws import find_halfwidth, sum_halfwidth
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals import cube_noise
from dprelease.postprocess.intervals.cube_noise import ScaledCube
from dprelease.postprocess.intervals.noise_mixture import bound_mixed_halfwidth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SLACK = 1e-9
LEAST_CHANCE = 1e-6
"""Chances that are this small are not told from others as small."""
LEAST_ALPHA = Fraction(1, 10**7)
_REACH = math.log(2e13)  # of a chance of 1e-13 on both sides
_MOST_POINTS = 1 << 17
_FEWEST_POINTS = 1 << 13
_MOST_WORK = 1 << 25  # so many values of kernels are computed for cubes
_SPREAD = 3.0
_BEYOND = 7.0
_STEEP = 600.0  # exp(600) is a float
_ROUNDED = 1e-13
_NOTHING = -50.0  # exp(-50) < 1e-21: no frequency of less counts
_DUAL_FROM = 0.5
_TURN = 2 * math.pi
_TABULATED_POINTS = 1 << 16
_LARGEST = 8
_VANISHING = 60.0
_FEW = 3  # draws whose half-widths are known otherwise
_UP = Fraction(10**9 + 1, 10**9)


class Part(NamedTuple):
    """A sum of ``draws`` independent draws of a law, times a weight above 0.

    ``others``, of CUBE noise: the weights of the other integers of a cell that enter.
    """

    noise: Noise
    weight: Fraction
    draws: int
    others: tuple[Fraction, ...] = ()

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """Return the weights of all integers of a cell that enter."""
        return (self.weight, *self.others)

    def multiply(self, factor: Fraction, times: int = 1) -> Part:
        """Multiply the sum by a factor, and take it so many times, independently."""
        weights = [weight * factor for weight in self.weights]
        return Part(self.noise, weights[0], self.draws * times, tuple(weights[1:]))


def combine_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Merge parts of the same law and size of weight, and drop parts without noise.

    Parts are independent, and signs of weights do not matter, as laws are symmetric.
    """
    draws: Counter[tuple[Noise, tuple[Fraction, ...]]] = Counter()
    for part in parts:
        weights = tuple(sorted(abs(weight) for weight in part.weights if weight))
        if part.noise.family is not NoiseFamily.NONE and weights:
            draws[part.noise, weights] += part.draws
    return tuple(
        Part(noise, weights[0], count, weights[1:]) for (noise, weights), count in draws.items()
    )


@lru_cache(maxsize=4096)
def compute_combined_halfwidth(
    parts: tuple[Part, ...], alpha: Fraction, *, points: int = 1 << 16
) -> Fraction:
    """Bound the noise of a sum: find an h with P(|Y| > h) <= alpha; see the module.

    Args:
        parts: The sum Y, as ``combine_parts`` gives it.
        alpha: Positive.
        points: N where Y is smoothed, a power of 2. With 2^14 a half-width is about 1 % larger than
            with 2^16, and found in a fifth of the time.

    Returns:
        h, in the unit of the weights; 0 for alpha of 1 and more.

    Raises:
        ValueError: alpha is not positive, or a part is noise of choices.
    """
    if alpha <= 0:
        raise ValueError("alpha is positive")
    if any(part.noise.family not in _LAWS for part in parts):
        raise ValueError("only noise of numbers is combined")
    if alpha >= 1 or not parts:
        return Fraction(0)
    if any(part.noise.family is NoiseFamily.CUBE for part in parts):
        return _bound_with_cubes(parts, alpha, points)
    if len(parts) == 1 and parts[0].draws == 1:
        return find_halfwidth(parts[0].noise, alpha) * parts[0].weight
    unit, scaled = _scale_parts(parts)
    if _bound_nonzero(scaled) <= float(alpha) * (1 - SLACK):
        return Fraction(0)
    if alpha < LEAST_ALPHA:
        half = _bound_chernoff(scaled, math.log(2) - _log(alpha))
    else:
        reach = _bound_chernoff(scaled, _REACH)
        grid = compute_lattice_step(parts)
        needed = _count_points(reach, unit, grid)
        if needed <= _MOST_POINTS:
            spectrum = _compute_lattice_spectrum(scaled, parts, grid, needed)
            return _find_least(spectrum, needed, alpha) * grid
        half = _solve_smoothed(scaled, reach, points, alpha)
    return min([Fraction(half) * unit * _UP, *_iter_known_bounds(parts, alpha)])


class Tails:
    """Bounds of P(Y >= x) for a sum of noise, for many x at once; see the module."""

    def __init__(self, step: float, beyond: Floats, shift: float) -> None:
        """Take P(W >= j step) for each j from 0 on, and how far W may be from Y."""
        self._step, self._beyond, self._shift = step, beyond, shift

    @property
    def reach(self) -> float:
        """Return how far out probabilities are told from 0."""
        return self._step * (int((self._beyond > LEAST_CHANCE).sum()) - 1) - self._shift

    def bound_above(self, at: Floats) -> Floats:
        """Bound P(Y >= x) from above."""
        return self._look_up(at - self._shift) + SLACK

    def bound_below(self, at: Floats) -> Floats:
        """Bound P(Y >= x) from below; 0 at least."""
        import numpy as np

        return _to_floats(np.maximum(self._look_up(at + self._shift) - SLACK, 0.0))

    def _look_up(self, at: Floats) -> Floats:
        """Compute P(W >= x): by symmetry 1 - P(W >= j) for the first j above -x, if x <= 0."""
        import numpy as np

        last = len(self._beyond) - 1
        places = np.ceil(at / self._step - SLACK)
        right = self._beyond[np.clip(places, 0, last).astype(np.int64)]
        left = 1 - self._beyond[np.clip(1 - places, 0, last).astype(np.int64)]
        return _to_floats(np.where(places > 0, right, left))


@lru_cache(maxsize=16)
def tabulate_tails(parts: tuple[Part, ...]) -> Tails:
    """Compute the chances that a sum of noise, as ``combine_parts`` gives it, reaches any value.

    The bounds are 1e-9 and, where Y is smoothed, a small part of its deviation apart. Raises
    ValueError if there is no noise, or a part is noise of choices.
    """
    import numpy as np

    if not parts or any(part.noise.family not in _LAWS for part in parts):
        raise ValueError("only noise of numbers is combined")
    unit, scaled = _scale_parts(parts)
    cubes = _scale_cubes(parts, unit, LEAST_ALPHA)
    reach = _bound_chernoff(scaled, _REACH, cubes)
    grid = compute_lattice_step(parts)
    points = _count_points(reach, unit, grid)
    if points <= _MOST_POINTS and _is_light(cubes, points):
        spectrum = _compute_lattice_spectrum(scaled, parts, grid, points)
        step, shift = float(grid), 0.0
    else:
        points = _lower_points(cubes, _TABULATED_POINTS)
        width = _choose_smoothed_step(reach, points)
        spectrum = _compute_smoothed_spectrum(scaled, width, points, cubes)
        step = width * float(unit)
        shift = _BEYOND * _SPREAD * step + float(unit) * sum(cube.rounding for cube in cubes)
    chances = np.maximum(np.fft.irfft(spectrum, points)[: points // 2 + 1], 0.0)
    beyond = np.cumsum(chances[::-1])[::-1]
    return Tails(step, np.append(beyond, 0.0), shift)


def _bound_with_cubes(parts: tuple[Part, ...], alpha: Fraction, most: int) -> Fraction:
    """Find such an h where noise of some parts is drawn together; N is at most ``most``."""
    first = parts[0]
    number = len(first.weights)
    is_single = len(parts) == 1 and first.draws == 1
    if is_single and number <= cube_noise.MOST_KNOWN and len({*first.weights}) == 1:
        return cube_noise.find_cube_halfwidth(first.noise, number, alpha) * first.weight
    unit, scaled = _scale_parts(parts)
    cubes = _scale_cubes(parts, unit, alpha)
    if alpha < LEAST_ALPHA:
        return Fraction(_bound_chernoff(scaled, math.log(2) - _log(alpha), cubes)) * unit * _UP
    reach = _bound_chernoff(scaled, _REACH, cubes)
    grid = compute_lattice_step(parts)
    needed = _count_points(reach, unit, grid)
    if needed <= _MOST_POINTS and _is_light(cubes, needed):
        spectrum = _compute_lattice_spectrum(scaled, parts, grid, needed)
        return _find_least(spectrum, needed, alpha) * grid
    half = _solve_smoothed(scaled, reach, _lower_points(cubes, most), alpha, cubes)
    return Fraction(half) * unit * _UP


def _scale_cubes(parts: Sequence[Part], unit: Fraction, alpha: Fraction) -> list[ScaledCube]:
    return [
        cube_noise.scale_cube(part.noise, part.weights, part.draws, unit, alpha)
        for part in parts
        if part.noise.family is NoiseFamily.CUBE
    ]


def _count_work(cubes: Sequence[ScaledCube]) -> int:
    return max((cube.reaches.values.size * len(cube.weights) for cube in cubes), default=0)


def _is_light(cubes: Sequence[ScaledCube], points: int) -> bool:
    """Tell whether each reach stands for itself, and so many points take little work."""
    is_exact = all(cube.reaches.exact for cube in cubes)
    return is_exact and points * _count_work(cubes) <= _MOST_WORK


def _lower_points(cubes: Sequence[ScaledCube], points: int) -> int:
    while points * _count_work(cubes) > _MOST_WORK and points > _FEWEST_POINTS:
        points //= 2
    return points


def _iter_known_bounds(parts: tuple[Part, ...], alpha: Fraction) -> Iterator[Fraction]:
    """Iterate over bounds for draws of one law, Gaussian or few, which are known otherwise."""
    noise, weight, draws, _ = parts[0]
    few = sum(part.draws for part in parts) <= _FEW
    if noise.stair or any(part.noise != noise for part in parts):
        return
    if len(parts) == 1 and (few or noise.family is NoiseFamily.GAUSSIAN):
        yield sum_halfwidth(noise, draws, alpha) * weight
    elif few:
        weights = [part.weight for part in parts for _ in range(part.draws)]
        yield bound_mixed_halfwidth(noise, weights, 1 - alpha)


def compute_lattice_step(parts: Sequence[Part]) -> Fraction:
    """Compute the step of the lattice on which a sum of noise lies; 0 without noise.

    A quantile of abs(S + w T) rises with w for log-concave laws, but on the integers it may fall
    again, by at most the lattice step of S: the values of S alone are steps apart, and more noise
    spreads each to both sides. A quantile at a larger w bounds those at smaller ones with that step
    added.
    """
    return Fraction(
        math.gcd(*(weight.numerator for part in parts for weight in part.weights)),
        math.lcm(*(weight.denominator for part in parts for weight in part.weights)),
    )


class _Scaled(NamedTuple):
    """A part in floats.

    ``inverse`` is 1/(2s), and 0 for Gaussian noise, which alone has ``sigma2``. ``stair`` and
    ``first`` are 0 except for staircase noise.
    """

    inverse: float
    sigma2: float
    weight: float
    draws: int
    stair: int
    first: int

    @property
    def ratio(self) -> float:
        """Return how much less likely a stair is than the one before."""
        return math.exp(-2 * self.inverse * self.stair)

    @property
    def others(self) -> float:
        """Return the chance of all other integers of a staircase, over that of 0."""
        falling = self.stair * self.ratio / -math.expm1(-2 * self.inverse * self.stair)
        return 2 * (self.first - 1 + falling)


_LAWS = (
    NoiseFamily.LAPLACE, NoiseFamily.STAIRCASE, NoiseFamily.GAUSSIAN, NoiseFamily.CUBE
)  # fmt: skip


def _compute_parameters(part: Part) -> tuple[float, float]:
    if part.noise.family is not NoiseFamily.GAUSSIAN:
        return float(1 / (2 * part.noise.parameter)), 0.0
    return 0.0, float(part.noise.parameter)


def _estimate_size(part: Part) -> float:
    """Estimate the binary logarithm of the standard deviation."""
    size = math.log(part.draws * len(part.weights)) / 2 + _log(max(part.weights))
    size += math.log(part.noise.integers + 1)
    of_law = _log(part.noise.parameter)
    size += of_law / 2 if part.noise.family is NoiseFamily.GAUSSIAN else of_law
    return size / math.log(2)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _bound_nonzero(scaled: Sequence[_Scaled]) -> float:
    """Bound the chance that some draw is not 0, for noise so small that it rarely is."""
    # Laplace: 2a/(1 + a) with a = exp(-1/s), at most 2a. Gaussian: 2 (x + x^4/(1 - x)) with x =
    # exp(-1/(2 sigma2)).
    chance = 0.0
    for part in scaled:
        if part.stair:
            chance += part.draws * part.others / (1 + part.others)
        elif part.inverse:
            chance += part.draws * 2 * math.exp(-2 * part.inverse)
        else:
            first = math.exp(-1 / (2 * part.sigma2)) if part.sigma2 > 1e-3 else 0.0
            chance += part.draws * 2 * (first + first**4 / (1 - first)) if first < 1 else math.inf
    return chance


def _bound_chernoff(
    scaled: Sequence[_Scaled], logs: float, cubes: Sequence[ScaledCube] = ()
) -> float:
    """Find an h with M(u) exp(-u h) <= exp(-logs) for the best of many u; every u gives a bound."""
    import numpy as np

    # M(u) of Laplace and staircase noise is finite only below 1/s.
    limit = min(
        (2 * part.inverse / part.weight for part in scaled if part.inverse), default=math.inf
    )
    rates = np.geomspace(1e-4, 1e4, 1601) * math.sqrt(logs)
    if limit < math.inf:
        rates = np.concatenate([rates, limit * (1 - 0.5 ** np.arange(1, 40))])
        rates = rates[rates < limit * (1 - 1e-12)]
    steepest = max((part.weight * (part.stair + part.first) for part in scaled), default=0.0)
    rates = rates[rates * steepest < _STEEP]
    if cubes:
        largest = min(float(rates.max()), *(cube.limit for cube in cubes))
        rates = np.geomspace(largest / 1e3, largest, 128)
    total = np.zeros_like(rates)
    for part in scaled:
        if part.stair:
            total += part.draws * (_log_moment(part, rates * part.weight) + _ROUNDED)
        elif part.inverse:
            ratio = _divide_sinh(rates * part.weight / 2, part.inverse)
            total -= part.draws * np.log1p(-(ratio**2))
        else:
            total += part.draws * part.sigma2 * (rates * part.weight) ** 2 / 2
    for cube in cubes:
        total += cube.draws * (cube.compute_log_moments(rates) + _ROUNDED)
    return float(((total + logs) / rates).min()) * (1 + SLACK)


def _log_moment(part: _Scaled, rates: Floats) -> Floats:
    """Compute ln M(u) for one draw of staircase noise, for 0 < u < 1/s."""
    import numpy as np

    stair, first = part.stair, part.first
    sums = np.sinh((first - 0.5) * rates) / np.sinh(rates / 2)
    for u in (rates, -rates):
        block = np.exp(first * u) * np.expm1(stair * u) / np.expm1(u)
        sums += part.ratio * block / -np.expm1(stair * (u - 2 * part.inverse))
    return _to_floats(np.log(sums) - math.log1p(part.others))


def _divide_sinh(above: Floats, below: float) -> Floats:
    """Compute sinh(above)/sinh(below) for 0 < above < below, without overflow."""
    import numpy as np

    ratio: Floats = np.exp(above - below) * np.expm1(-2 * above) / math.expm1(-2 * below)
    return ratio


def _scale_parts(parts: Sequence[Part]) -> tuple[Fraction, list[_Scaled]]:
    """Scale by about the largest deviation, so that floats neither overflow nor vanish."""
    unit = Fraction(2) ** round(max(map(_estimate_size, parts)))
    scaled = [
        _Scaled(
            *_compute_parameters(part),
            float(part.weight / unit),
            part.draws,
            part.noise.stair,
            part.noise.first,
        )
        for part in _list_independent(parts)
    ]
    return unit, scaled


def _list_independent(parts: Iterable[Part]) -> list[Part]:
    """List the parts whose noise is not drawn together."""
    return [part for part in parts if part.noise.family is not NoiseFamily.CUBE]


def _count_points(reach: float, unit: Fraction, grid: Fraction) -> int:
    """Count the points of the lattice of Y that cover the reach; few enough are used."""
    return 1 << (2 * math.ceil(Fraction(reach) * unit / grid) + 2).bit_length()


def _compute_lattice_spectrum(
    scaled: Sequence[_Scaled], parts: Sequence[Part], grid: Fraction, points: int
) -> Floats:
    """Compute the transform of Y on its lattice."""
    import numpy as np

    logs, signs = np.zeros(points // 2 + 1), np.ones(points // 2 + 1)
    places = np.arange(points // 2 + 1)
    for part, whole in zip(scaled, _list_independent(parts), strict=True):
        step = int(whole.weight / grid) % points
        turns = _to_floats(places * step % points * (_TURN / points))
        places = _multiply_transform(logs, signs, places, part, turns)
    for cube in _scale_cubes(parts, grid, LEAST_ALPHA):
        factor = cube.transform(_to_floats(places * (_TURN / points)))
        places = _multiply_factor(logs, signs, places, cube.draws, factor)
    return _to_floats(signs * _compute_spectrum(logs))


def _choose_smoothed_step(reach: float, points: int) -> float:
    return 2 * reach / (points - 16 * _SPREAD)


def _compute_smoothed_spectrum(
    scaled: Sequence[_Scaled], grid: float, points: int, cubes: Sequence[ScaledCube] = ()
) -> Floats:
    """Compute the transform of the smoothed sum on multiples of ``grid``."""
    import numpy as np

    frequencies = np.arange(points // 2 + 1) * (_TURN / (points * grid))
    logs, signs = -((_SPREAD * grid * frequencies) ** 2) / 2, np.ones_like(frequencies)
    places = np.flatnonzero(logs > _NOTHING)
    # Once the largest parts have left few frequencies, most others are normal there, all as one.
    ordered = sorted(scaled, key=lambda part: (part.inverse, -_compute_size(part)))
    largest, others = ordered[:_LARGEST], ordered[_LARGEST:]
    for part in largest:
        turns = _to_floats(frequencies[places] * part.weight)
        places = _multiply_transform(logs, signs, places, part, turns)
    last = float(frequencies[places].max(initial=0.0))
    normal = math.fsum(_compute_size(part) for part in others if _is_normal(part, last))
    logs[places] -= normal * frequencies[places] ** 2 / 2
    for part in others:
        if not _is_normal(part, last):
            turns = _to_floats(frequencies[places] * part.weight)
            places = _multiply_transform(logs, signs, places, part, turns)
    for cube in cubes:
        factor = cube.transform(_to_floats(frequencies[places]))
        places = _multiply_factor(logs, signs, places, cube.draws, factor)
    return _to_floats(signs * _compute_spectrum(logs))


def _solve_smoothed(
    scaled: Sequence[_Scaled],
    reach: float,
    points: int,
    alpha: Fraction,
    cubes: Sequence[ScaledCube] = (),
) -> float:
    """Find such an h for the smoothed sum, and add what smoothing can have moved it by."""
    grid = _choose_smoothed_step(reach, points)
    spectrum = _compute_smoothed_spectrum(scaled, grid, points, cubes)
    return grid * (_find_least(spectrum, points, alpha) + _BEYOND * _SPREAD)


def _compute_size(part: _Scaled) -> float:
    """Compute the variance of normal noise in place of Gaussian noise on integers."""
    return part.draws * part.sigma2 * part.weight**2


def _is_normal(part: _Scaled, frequency: float) -> bool:
    """Tell if noise is as good as normal up to a frequency: all other images are below e^-60."""
    # That of l = -1 is the largest: exp(-sigma2 2 pi (pi - t)).
    near = part.sigma2 * _TURN * (math.pi - part.weight * frequency)
    return not part.inverse and near >= _VANISHING


def _multiply_transform(
    logs: Floats, signs: Floats, places: NDArray[np.intp], part: _Scaled, turns: Floats
) -> NDArray[np.intp]:
    """Multiply by the transform of a part; return the places that are still not negligible."""
    if part.stair:
        return _multiply_factor(logs, signs, places, part.draws, _transform_stairs(part, turns))
    logs[places] += part.draws * _log_transform(part, turns)
    return places[logs[places] > _NOTHING]


def _multiply_factor(
    logs: Floats, signs: Floats, places: NDArray[np.intp], draws: int, factor: Floats
) -> NDArray[np.intp]:
    """Multiply by the power of a transform that may be negative, as above."""
    import numpy as np

    with np.errstate(divide="ignore"):
        logs[places] += draws * np.log(np.abs(factor))
    signs[places] *= np.sign(factor) ** draws
    return places[logs[places] > _NOTHING]


def _transform_stairs(part: _Scaled, turns: Floats) -> Floats:
    """Compute the characteristic function of one draw of staircase noise; it may be negative."""
    import numpy as np

    stair, first = part.stair, part.first
    angles = turns - _TURN * np.rint(turns / _TURN)
    at_zero = angles == 0
    angles = np.where(at_zero, 1.0, angles)
    middle = np.exp(1j * angles * (first + (stair - 1) / 2))
    later = part.ratio * middle * np.sin(stair * angles / 2)
    later /= 1 - part.ratio * np.exp(1j * stair * angles)
    sums = (np.sin((first - 0.5) * angles) + 2 * later.real) / np.sin(angles / 2)
    return _to_floats(np.where(at_zero, 1.0, sums / (1 + part.others)))


def _compute_spectrum(logs: Floats) -> Floats:
    import numpy as np

    return np.where(logs > _NOTHING, np.exp(np.maximum(logs, _NOTHING)), 0.0)


def _find_least(spectrum: Floats, points: int, alpha: Fraction) -> int:
    """Invert the transform and find the first lattice point with little enough beyond it."""
    import numpy as np

    chances = np.maximum(np.fft.irfft(spectrum, points)[: points // 2 + 1], 0.0)
    # Y is symmetric, so the tail on one side counts twice.
    beyond = 2 * np.cumsum(chances[::-1])[::-1]  # of j and more
    within = np.flatnonzero(beyond <= float(alpha) - SLACK)
    return int(within[0]) - 1 if within.size else points // 2


def _log_transform(part: _Scaled, turns: Floats) -> Floats:
    """Compute the log of the characteristic function of one draw of Laplace or Gaussian noise."""
    import numpy as np

    if part.inverse > 350:
        return np.zeros_like(turns)
    if part.inverse:
        ratio = np.sin(turns / 2) / math.sinh(part.inverse)
        return _to_floats(-np.log1p(ratio * ratio))
    angles = turns - _TURN * np.rint(turns / _TURN)
    sigma2 = part.sigma2
    if sigma2 < _DUAL_FROM:
        weights = [(k, math.exp(-k * k / (2 * sigma2))) for k in range(1, 8) if sigma2 > 1e-3]
        total = 1 + 2 * math.fsum(weight for _, weight in weights)
        lost = sum(
            (4 * weight / total * np.sin(k * angles / 2) ** 2 for k, weight in weights),
            np.zeros_like(angles),
        )
        return _to_floats(np.log1p(-lost))
    images = range(-3, 4)
    others = [
        np.exp(-sigma2 * _TURN * image * (2 * angles + _TURN * image) / 2)
        for image in images
        if image
    ]
    at_zero = math.fsum(math.exp(-sigma2 * (_TURN * image) ** 2 / 2) for image in images if image)
    return _to_floats(-sigma2 * angles**2 / 2 + np.log1p(sum(others)) - math.log1p(at_zero))


def _to_floats(array: NDArray[Any]) -> Floats:
    return array
