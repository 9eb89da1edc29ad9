"""A second opinion on every claimed loss, by other means than those that made the claim.

Used by certification only; imports nothing that calibration computes with, only the description
of the shift. Small sigma: the hockey-stick sum over lattice points, term by term, with no use of
thresholds or symmetry. Large sigma: the smoothing bound (proof in
``composition.gaussian_events``) in the verifier's own arithmetic, all widths tried. zCDP: through
delta at a chosen alpha instead of epsilon. Answers are upper bounds, a little looser at most than
what calibration aims at.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dprelease.kernel.core import numerics as numbers
from dprelease.model import Noise
from dprelease.model.shift import Shift

_ONE = Fraction(1)
_SCALE = 1 << 448
_LARGE = 100  # beyond this epsilon zCDP is near enough, and fixed point is not
_DIRECT = {1: 10_000, 2: 128}  # the largest sigma squared summed, by number of entries
_WIDTHS = tuple(
    Fraction(n, 16) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128)
)


def compute_laplace_epsilon(scale: Fraction, l1: int) -> Fraction:
    """Compute the exact epsilon of discrete Laplace noise at L1 distance ``l1``."""
    if l1 == 0:
        return Fraction(0)
    if scale <= 0 or l1 < 0:
        raise ValueError("noise needs a positive scale, a sensitivity can't be negative")
    return Fraction(l1 * scale.denominator, scale.numerator)


def compute_staircase_epsilon(noise: Noise, l1: int, shift: Shift) -> Fraction:
    """Compute the epsilon of staircase noise under all shifts: its stairs, each of stair/s.

    The level of k rises by 1 at abs(k) = first and with every ``stair`` further. Magnitudes of
    integers t apart are at most t apart, and among t integers in a row no more than
    1 + (t - 1) // stair are such a rise: levels differ by no more. They do where one magnitude is
    first - 1, so that one entry costs exactly that, and independent entries add up. It rises with
    t, so that shapes are enough. Without shapes, c entries that are l1 in all cross at most
    (l1 + c (stair - 1)) // stair.
    """
    if l1 == 0:
        return Fraction(0)
    if noise.parameter <= 0 or l1 < 0 or noise.stair < 1:
        raise ValueError("noise needs a positive scale and stair, a sensitivity can't be negative")
    stairs = (l1 + shift.coordinates * (noise.stair - 1)) // noise.stair
    if shift.shapes:
        stairs = max(
            sum(1 + (size - 1) // noise.stair for size in shape if size) for shape in shift.shapes
        )
    return stairs * noise.stair / noise.parameter


def bound_pure_rho(epsilon: Fraction) -> Fraction:
    """Bound the rho of an epsilon-DP mechanism from above: e (1 - e^-e)/(1 + e^-e)."""
    shrunk = numbers.enclose_exp(-epsilon)[0]
    return epsilon * (1 - shrunk) / (1 + shrunk)


def bound_range_rho(span: Fraction) -> Fraction:
    """Bound the rho of a mechanism whose log-ratios lie within a span (bounded range).

    With q = e/(1 - e^-e) it is q - 1 - ln q, the largest Kullback-Leibler divergence at this
    range, and at most e^2/8 (proof beside ``bounded_range``). Rises in q.
    """
    square = span * span / 8
    shrunk = numbers.enclose_exp(-span)[1]
    if span == 0 or shrunk >= 1:
        return square
    q = span / (1 - shrunk)
    return min(square, q - 1 - numbers.enclose_ln(q)[0])


def compute_gaussian_rho(sigma2: Fraction, l2_squared: int) -> Fraction:
    """Compute the exact rho of Gaussian noise: the squared L2 distance by 2 sigma squared."""
    return Fraction(l2_squared * sigma2.denominator, 2 * sigma2.numerator)


@lru_cache(maxsize=4096)
def bound_zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Bound the delta at this epsilon of a rho-zCDP mechanism from above, by 1 if need be.

    With b = alpha - 1 > 0 solved for in floats, delta = e^(b(alpha rho - epsilon)) times
    (b/alpha)^alpha / b (CKS20, arXiv 2004.00010): valid for any b, so no float is relied on.
    """
    if rho == 0:
        return Fraction(0)
    if rho >= epsilon:
        return _ONE
    above = Fraction(find_stationary_order(float(rho), float(epsilon)))
    alpha = 1 + above
    try:
        exponent = above * (alpha * rho - epsilon)
        exponent += above * numbers.enclose_ln(above)[1] - alpha * numbers.enclose_ln(alpha)[0]
    except ValueError:
        return _ONE
    return min(_ONE, numbers.enclose_exp(exponent)[1]) if exponent < 0 else _ONE


def find_stationary_order(rho: float, epsilon: float) -> float:
    """Find by bisection where b(b+1) rho - b epsilon + b ln b - (b+1) ln(b+1) is stationary.

    Its derivative (2b+1) rho - epsilon + ln(b/(b+1)) rises in b.
    """
    low, high = math.log(1e-12), math.log(1e18)
    for _ in range(120):
        middle = (low + high) / 2
        b = math.exp(middle)
        slope = (2 * b + 1) * rho - epsilon - math.log1p(1 / b)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return math.exp((low + high) / 2)


def bound_gaussian_delta(sigma2: Fraction, shift: Shift, epsilon: Fraction) -> Fraction:
    """Bound the delta of discrete Gaussian noise under every shift described from above.

    Args:
        sigma2: The parameter of the noise, in squared grid integers.
        shift: How far the released integers can move, all together.
        epsilon: The epsilon at which delta is asked for.

    Returns:
        The smallest of the bounds that apply: zCDP, smoothing, and for small sigma the sum.

    Raises:
        ValueError: Sigma squared is not positive, or epsilon is negative.
    """
    if shift.l2_squared == 0:
        return Fraction(0)
    if sigma2 <= 0 or epsilon < 0:
        raise ValueError("noise needs a positive sigma squared, epsilon can't be negative")
    rho = compute_gaussian_rho(sigma2, shift.l2_squared)
    bound = bound_zcdp_delta(rho, epsilon)
    if epsilon > _LARGE:
        return bound
    bound = min(bound, _bound_smoothed_delta(sigma2, shift, epsilon))
    longest = max((len(shape) for shape in shift.shapes), default=0)
    if sigma2 <= _DIRECT.get(longest, 0):
        depth = 60 + min(150, -_log(bound)) + math.ceil(epsilon)
        summed = max(sum_delta(sigma2, shape, epsilon, depth) for shape in shift.shapes)
        bound = min(bound, summed)
    return bound


def _log(value: Fraction) -> int:
    """Round ln of the value down to an integer, at least -400."""
    return max(-400, math.floor(math.log(value))) if value > Fraction(1, 10**200) else -400


# --- small sigma: term by term -----------------------------------------------------------------


@lru_cache(maxsize=4)
def bound_lattice_weights(sigma2: Fraction, depth: int) -> tuple[list[int], list[int], int]:
    """Bound the weights of 0, 1, ..., r, times 2^448, and the sum of all those beyond r."""
    last = math.isqrt(int(2 * depth * sigma2)) + 2
    cut = numbers.BITS - 448
    pairs = [numbers.enclose_exp_minus(Fraction(k * k) / (2 * sigma2)) for k in range(last + 2)]
    low = [max(0, pair[0]) >> cut for pair in pairs]
    high = [(pair[1] >> cut) + 1 for pair in pairs]
    # Beyond r, g(k+1)/g(k) <= e^-((2r+1)/2 s2): a geometric series from g(r+1) on.
    ratio = numbers.enclose_exp(-Fraction(2 * last + 1) / (2 * sigma2))[1]
    beyond = math.ceil(high[last + 1] / (1 - ratio))
    return low[: last + 1], high[: last + 1], beyond


def sum_delta(sigma2: Fraction, shape: tuple[int, ...], epsilon: Fraction, depth: int) -> Fraction:
    """Sum max(0, p(x) - e^epsilon p(x - v)) over lattice points, rounded up."""
    low, high, beyond = bound_lattice_weights(sigma2, depth)
    reach = len(low) - 1
    growth = int(numbers.enclose_exp(epsilon)[0] * _SCALE)
    upper = [high[abs(k)] for k in range(-reach, reach + 1)]
    total_low = 2 * sum(low) - low[0]
    total_high = sum(upper) + 2 * beyond

    def move_points(size: int) -> list[int]:
        where = (abs(k - size) for k in range(-reach, reach + 1))
        return [low[k] if k <= reach else 0 for k in where]

    entries = tuple(size for size in shape if size)
    if len(entries) == 1:
        excess = _sum_positive(_SCALE, upper, growth, move_points(entries[0]))
        return min(_ONE, Fraction(excess + 2 * beyond * _SCALE, total_low * _SCALE))
    rows, columns = move_points(entries[0]), move_points(entries[1])
    excess = 0
    for weight, shifted in zip(upper, rows, strict=True):
        excess += _sum_positive(weight * _SCALE, upper, growth * shifted, columns)
    excess += 4 * beyond * total_high * _SCALE
    return min(_ONE, Fraction(excess, total_low * total_low * _SCALE))


def _sum_positive(factor: int, upper: list[int], other: int, lower: list[int]) -> int:
    gains = (factor * u - other * w for u, w in zip(upper, lower, strict=True))
    return sum(gain for gain in gains if gain > 0)


# --- any sigma: smoothing, with the verifier's own numbers --------------------------------------


def _bound_smoothed_delta(sigma2: Fraction, shift: Shift, epsilon: Fraction) -> Fraction:
    bounds = [_ONE]
    for width in _WIDTHS:
        toll = bound_smoothing_toll(width, shift.coordinates)
        if width < sigma2 and toll is not None:
            factor, kappa = toll
            ratio = Fraction(shift.l2_squared) / (sigma2 - width)
            bounds.append(factor * bound_continuous_delta(ratio, epsilon - kappa))
    return min(bounds)


@lru_cache(maxsize=64)
def bound_smoothing_toll(width: Fraction, coordinates: int) -> tuple[Fraction, Fraction] | None:
    """Bound (1+eta)^d and d ln((1+eta)/(1-eta)) from above; None where out of range."""
    power = numbers.enclose_exp(-(numbers.TWO_PI[0] ** 2) * width / 2)[1]
    eta = 2 * power / (1 - power)
    if coordinates * eta > 300:
        return None
    grown = coordinates * numbers.enclose_ln(1 + eta)[1]
    kappa = grown - coordinates * numbers.enclose_ln(1 - eta)[0]
    return _round_up(numbers.enclose_exp(grown)[1]), _round_up(kappa)


def _round_up(value: Fraction) -> Fraction:
    """Round the value up to a multiple of 2^-448."""
    return Fraction(math.ceil(value * _SCALE), _SCALE)


def bound_continuous_delta(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Bound P(N > epsilon/mu - mu/2) - e^epsilon P(N > epsilon/mu + mu/2) from above."""
    mu = numbers.enclose_sqrt(mu_squared)[1]
    first, second = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    near = numbers.enclose_normal_tail(Fraction(math.floor(first * _SCALE), _SCALE))[1]
    far = numbers.enclose_normal_tail(Fraction(math.ceil(second * _SCALE), _SCALE))[0]
    return max(Fraction(0), near - numbers.enclose_exp(epsilon)[0] * max(Fraction(0), far))
