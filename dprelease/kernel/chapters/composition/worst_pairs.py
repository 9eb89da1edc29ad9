"""The laws of single losses: which masses, at which losses, and why no pair of tables is worse.

Pure. For log-ratios in [-e, e] the mean of max(0, r - x) over Q, with r = P/Q of mean 1, is
largest if r is e^e or e^-e only (a convex function lies below its chord): under P these have
masses 1/(1 + e^-e) and e^-e/(1 + e^-e).

Range. For log-ratios in [t - e, t] the same argument gives two losses t and t - e and, under P,
the curve (1 - e^(t-e)) (1 - e^(g-t))/(1 - e^-e), at most (1 - e^((g-e)/2))^2/(1 - e^-e) whatever t
is. That is the curve of the law under which e^(L/2) is uniform on [e^(-e/2), e^(e/2)]: with
y = e^(g/2) and c = 1/(e^(e/2) - e^(-e/2)), the integral from y to e^(e/2) of c (1 - y^2/z^2) dz is
c e^(-e/2) (e^(e/2) - y)^2, the same. A piece of this law between losses a and b has the mean of
e^-L of e^-((a+b)/2): (1/y_a - 1/y_b)/(y_b - y_a) = 1/(y_a y_b). So it is a crowd at its middle.

Laplace. X is geometric on both sides with ratio a = e^(-1/s). If one integer moves by n, the loss
under P is (n - 2 min(max(X, 0), n))/s: mass 1/(1+a) at n/s, a^w (1-a)/(1+a) at (n - 2w)/s for
0 < w < n, and a^n/(1+a) at -n/s. Places w to w + m - 1 together are a crowd at their middle, as
the terms a^w times e^(2w/s) = a^-2w run the same way backwards. Moving one integer by n is worse
than moving several by n_1 + n_2 + ... <= n:
- Less is not worse. If n' < n, both orders of the laws have falling ratios, every best set is a
  ray x <= k, and P(X <= k) - e^g P(X <= k - n) rises in n.
- Two are better than one. Let V = min(max(X, 0), n1) + min(max(X', 0), n2) and n = n1 + n2,
  W = min(max(X, 0), n), so that losses are (n - 2V)/s and (n - 2W)/s. D(t) = P(V > t) - P(W > t)
  for 0 <= t < n: where t < n1, P(V > t) >= P(X > t) = P(W > t), and the same for n2, so D >= 0.
  Else V > t needs min(X, n1) = i > t - n2, and with j = n - t >= 1
  P(V > t) = P(X >= n1) P(X' > t - n1) + sum over t - n2 < i < n1 of P(X = i) P(X' > t - i)
  = a^(t+1)/(1+a)^2 (1 + (1-a)(j-1)) if t >= n1 and t >= n2, so that D has the sign of
  (1-a)(j-1) - a: as t rises from max(n1, n2), D is positive, then negative, and changes once.
  Both laws have e^-loss of mean 1 and mass 1, so the sum of D(t) (e^(-(n-2t-2)/s) -
  e^(-(n-2t)/s)) over all t is 0, and as D changes its sign once, from + to -, its sum over t from
  0 up to any t is >= 0. H_W(g) - H_V(g) is such a partial sum, its last term weighted between 0
  and 1; H_W >= H_V. Repeat for more integers; composing with others keeps the order.
- Coarser is worse. W = m Q + R with Q geometric of ratio a^m and R on 0..m-1, independent; so X
  is m times the Laplace noise of scale s/m plus independent noise, and n <= m n' moves are
  n' moves with scale s/m, followed by a random map. Used for huge n.

One law for Gaussian noise under any one of several shapes: the largest of their curves.

Let the laws of the shapes have masses on one grid, steps h, and curves H_s; H = max H_s, convex in
e^g as all of them. Neighbours may be taken in either order and the noise is symmetric, so
H(-g) = 1 - e^-g + e^-g H(g), and the part g >= 0 says all.

With T_i the mass above i steps, H at i steps less e^-h times H at i + 1 is (1 - e^-h) T_i. So the
tails are found from the values of H on the grid; larger tails that still fall are larger masses
moved upwards, hence safe. Between its points a law on the grid is linear in e^g, and H, convex,
is below. The masses below zero are p_-i = e^(-i h) p_i: then the law has
H(-g) = M (1 - e^-g) + e^-g H(g), where M is all its mass, and the mass at zero is such that
M >= 1. QED.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np

from dprelease.kernel.chapters.composition.float_bounds import (
    Floats,
    bound_rise,
    compute_fall,
    list_steps,
    round_down,
)
from dprelease.kernel.chapters.composition.gaussian_events import AnyOf, Lattice
from dprelease.kernel.chapters.composition.grid import (
    MADE,
    Law,
    Scale,
    coarsen,
    compose_all,
    gather_masses,
)
from dprelease.kernel.core import numerics as numbers
from dprelease.model.privacy_events import Laplace, Pure, Range

_HUGE = 1 << 36  # a larger number of Laplace steps is cut to this size


Single = Pure | Range | Laplace | Lattice


def build_law(single: Single, scale: Scale, spare: float) -> Law:
    """Build the law of one loss; what lies far out, up to about ``spare``, is at infinity."""
    if isinstance(single, Pure):
        return _build_pure_law(single.epsilon, scale)
    if isinstance(single, Range):
        return _build_range_law(single.span, scale)
    if isinstance(single, Laplace):
        return _build_laplace_law(single, scale)
    return _build_lattice_law(single, scale, spare)


def _build_pure_law(epsilon: Fraction, scale: Scale) -> Law:
    level = scale.choose_level(2 * float(epsilon))
    place = float(epsilon / scale.step(level))
    shrunk = compute_fall(np.array([float(epsilon)]))
    masses = np.concatenate((shrunk, [1.0])) / (1 + shrunk)
    return gather_masses(scale, level, np.array([-place, place]), masses, 0.0)


def _build_range_law(span: Fraction, scale: Scale) -> Law:
    """Build pieces between the points of the grid, and two shorter ones at the ends.

    A piece from a to b has the mass e^((b-e)/2) (1 - e^((a-b)/2))/(1 - e^-e).
    """
    level = scale.choose_level(2 * float(span))
    step = scale.step(level)
    reach = math.floor(span / step)
    tip, half = float(span - reach * step), float(step) / 2
    of_tip, of_step, whole = bound_rise(np.array([tip / 2, half, float(span)]))
    inner = list_steps(2 * reach, 1 - reach)
    exponents = np.concatenate(
        ([tip / 2 + 2 * reach * half], (reach - inner) * half + tip / 2, [0])
    )
    masses = compute_fall(exponents) * (of_step / whole)
    masses[[0, -1]] *= of_tip / of_step
    end = float((span + reach * step) / (2 * step))
    return gather_masses(scale, level, np.concatenate(([-end], inner - 0.5, [end])), masses, 0.0)


def _build_laplace_law(noise: Laplace, scale: Scale) -> Law:
    """Build the masses at both ends, and crowds between them.

    A crowd may be wider than a step, so it goes to its own two ends first, each a mass at one
    place: shares 1/(1 + e^-w) and the rest, where w is half its width.
    """
    cut = max(1, noise.l1 // _HUGE)
    n, s = -(-noise.l1 // cut), noise.scale / cut
    level = scale.choose_level(float(2 * n / s))
    per_place, per_step = float(1 / s), float(1 / (s * scale.step(level)))
    size = max(1, n // (2 * scale.points))
    count, remainder = divmod(n - 1, size)
    starts = 1 + list_steps(count) * size
    sizes = np.full(count, float(size))
    if remainder:
        starts, sizes = np.append(starts, n - remainder), np.append(sizes, remainder)
    place_fall, all_n = compute_fall(np.array([per_place, n * per_place]))
    shrunk = compute_fall((sizes - 1) * per_place)
    crowds = (
        compute_fall(starts * per_place)
        * bound_rise(sizes * per_place)
        / ((1 + place_fall) * (1 + shrunk))
    )
    highest = n - 2 * starts
    places = np.concatenate(([n, -n], highest, highest - 2 * (sizes - 1)))
    masses = np.concatenate(
        ([1 / (1 + place_fall), all_n / (1 + place_fall)], crowds, crowds * shrunk)
    )
    return gather_masses(scale, level, places * per_step, masses, 0.0)


def _build_lattice_law(noise: Lattice, scale: Scale, spare: float) -> Law:
    """Build masses e^(-x^2/2 s2) over their sum at losses v (v - 2x)/2 s2, for |x| <= r.

    Beyond r each weight is less than e^-((2r+3)/2 s2) of the one before. What is beyond on the
    side of high losses goes to infinity, on the other side up to the last place kept. (Where that
    is too small for floats, it is less than what ``gather_masses`` adds for places unseen.)
    """
    v, rate = noise.move, float(1 / (2 * noise.sigma2))
    r = math.ceil(math.sqrt(math.log(2 / spare) / rate)) + 1
    level = scale.choose_level(2 * v * 2 * r * rate)
    x = list_steps(2 * r + 1, -r)
    weights = compute_fall(x * x * rate)
    first = compute_fall(np.array([(r + 1) ** 2 * rate]))
    beyond = float((first / bound_rise(np.array([(2 * r + 3) * rate])))[0])
    total = float(weights.sum())
    weights[-1] += beyond
    per_step = float(v / (2 * noise.sigma2 * scale.step(level)))
    return gather_masses(scale, level, (v - 2 * x) * per_step, weights / total, beyond / total)


# --- any one of several shapes -------------------------------------------------------------------


_ROOM = 2.0**-34  # more than 2^-51 per step of the sums, for up to 2^16 steps


def build_largest_law(event: AnyOf, scale: Scale, spare: float) -> Law:
    """Build a law whose curve is nowhere below that of any shape."""
    laws = [_build_shape_law(event.sigma2, shape, scale, spare) for shape in event.shapes]
    level = max(law.level for law in laws)
    laws = [_build_level_law(scale, law, level) for law in laws]
    step = scale.step(level)
    shrunk = numbers.enclose_exp(-step)
    size = max(2, *(law.first + len(law.mass) for law in laws))
    parts = float(shrunk[0]), float(1 - shrunk[0])
    curves = [_compute_curve(_sum_above(law, size), *parts) for law in laws]
    highest: Floats = np.max(curves, axis=0)
    gain = highest * (1 + _ROOM) - np.append(highest[1:], 0.0) * (
        round_down(shrunk[0]) * (1 - _ROOM)
    )
    tails = gain * (1 + 2.0**-50) / round_down(1 - shrunk[1])
    tails = np.maximum.accumulate(tails[::-1])[::-1]
    upper = tails - np.append(tails[1:], 0.0)  # masses at 1, 2, ... steps
    lower = upper * compute_fall(list_steps(size, 1) * float(step))
    middle = max(0.0, 1 - float(upper.sum() + lower.sum()) * (1 - 2.0**-30))
    mass = np.concatenate((lower[::-1], [middle], upper))
    error = max(law.error for law in laws) + MADE
    return Law(level, -size, mass, max(law.lost for law in laws), error)


def _build_shape_law(sigma2: Fraction, shape: tuple[int, ...], scale: Scale, spare: float) -> Law:
    entries = Counter(entry for entry in shape if entry)
    return compose_all(
        scale,
        [(build_law(Lattice(sigma2, entry), scale, spare), n) for entry, n in entries.items()],
        spare,
    )


def _build_level_law(scale: Scale, law: Law, level: int) -> Law:
    while law.level < level:
        law = coarsen(scale, law)
    return law


def _sum_above(law: Law, size: int) -> Floats:
    """Sum the mass above 0, 1, ..., ``size`` - 1 steps."""
    places = law.first + np.arange(len(law.mass))
    positive = places > 0
    mass: Floats = np.zeros(size)
    mass[places[positive] - 1] = law.mass[positive]
    return np.cumsum(mass[::-1])[::-1]


def _compute_curve(tails: Floats, shrunk: float, rest: float) -> Floats:
    """H at 0, 1, ... steps, to 2^-35 of itself; from the last one on it is 0."""
    height, heights = 0.0, []
    for tail in tails[::-1].tolist():
        height = shrunk * height + rest * tail
        heights.append(height)
    return np.array(heights[::-1])
