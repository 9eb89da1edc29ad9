"""Partition selection: a key of the data is shown if its noisy count reaches a threshold T.

Mechanism. Every key that occurs in the data gets its exact count plus independent noise Z, a
discrete Laplace or Gaussian law. If the sum is at least T the key is released together with this
sum, else nothing of it is. Keys that don't occur are never looked at. A unit is in at most G keys,
adds at most B >= 1 to the count of each, and at most R to all of them (R = G B if nobody says
less). T is at least B + 1, so that a key of one unit is shown only if its noise is >= T - B >= 1.

Statement. For a table D1 with unit U and its neighbour D2, which has nobody (add/remove, and the
other way round) or another unit V (replace-one) instead, let m <= G be the number of *new* keys
of the one of the two that has more: keys that its own unit alone brings into the table. Let

    r_m = the largest chance that one of at most m new keys is shown,
          at most 1 - (1 - P(Z >= T - B))^m,
    A_m = the largest hockey-stick divergence at epsilon between the noisy counts of all other
          keys, of which at most G - m (add/remove) or 2 G - m (replace-one) differ.

Then the mechanism is (epsilon, delta)-DP if A_m + (1 - A_m) r_m <= delta for m = 0, ..., G.

Proof.
1. Keys that occur in both tables are noised in both, and to leave out what is below T is done
   with the noisy sum alone, so releasing them diverges by at most as much as the noisy sums do.
   A key where V replaces U is such a key too; its count differs by at most B. Call the laws of
   all these releases P1 and P2, and A their divergence: sum max(0, P1 - e^epsilon P2) = A.
2. Let pi1 be the chance that no new key of U is shown in D1, and pi2 that of V in D2 (1 if there
   is no V). What shows a new key of U is impossible in D2; what shows none has the chance
   pi1 P1(x) in D1 and pi2 P2(x) in D2, since noise is independent and new keys of V, which don't
   occur in D1, must be hidden. So the divergence of D1 from D2 is exactly
       H = (1 - pi1) + sum max(0, pi1 P1 - e^epsilon pi2 P2).
3. If pi1 <= pi2 the sum is at most pi1 A, hence H <= 1 - pi1 (1 - A). If pi1 > pi2,
       pi1 P1 - e^epsilon pi2 P2 = (pi1 - pi2) P1 + pi2 (P1 - e^epsilon P2),
   so the sum is at most pi1 - pi2 + pi2 A, hence H <= 1 - pi2 (1 - A).
   Together H <= 1 - (1 - A) min(pi1, pi2).
4. Each of pi1, pi2 belongs to at most m new keys, so min(pi1, pi2) >= 1 - r_m; and the unit that
   has m of them leaves at most G - m other keys changed on its side: A <= A_m. QED.

Three things follow. (a) The factor 1/pi of a key that stays hidden where it could have been shown
costs no epsilon and sets no condition on T: by 3 it is inside the same delta, as the whole
divergence in that direction is at most 1 - pi. (b) Replace-one does not double the hidden keys'
delta: each direction meets only one unit's new keys in its own right, the other's enter by the
minimum in 3, and T depends on G, not 2 G. Only the noise is that of a replaced unit. (c) An event
of chance 1 - r_G separates all new keys, so Gaussian noise of rho-zCDP makes it r_G-approximate
rho-zCDP (Bun and Steinke 2016, definition 8.1): over several releases rhos add, and so do the r_G
(lemma 8.2). At any delta' the total is (epsilon, delta' + sum of r_G)-DP, with the epsilon that the
sum of rhos has at delta' (lemma 8.8). So under a budget in rho the delta of a selection pays for
new keys alone (``find_hiding_threshold``), beside rho, which pays for the noise.

*Laplace.* Where the scale is the L1 change over epsilon, A_m = 0, so the least T is that
with r_G <= delta. One less fails whatever epsilon is, as all keys can be new.

*Gaussian.* A_m falls so fast in m that nearly always the least sigma squared for (epsilon, delta)
serves with the least T for delta: nothing of delta is divided between noise and hidden keys.
Where it doesn't serve, some of delta is left to the hidden keys.

T is the number of units from which a key is kept with a chance of at least 1/2 (B = 1). Gaussian
noise asks for fewer than Laplace noise from three groups a unit on, under replace-one from two.

*Cut noise.* Let the noise be Laplace noise of scale s given that abs(Z) <= k, and let T = k + 1.
Then a count of 0 never reaches T. So the release is what it would be if every possible key got
noise, those nobody has included: new keys are no case of their own, and all of the above is not
needed. Where a unit (B = 1) changes m counts by 1 each, the law of such a noisy count has a part
that the neighbour's can't reach, of the chance

    p = P(Z = k) = a^k (1 - a)/(1 + a - 2 a^(k+1)),  a = e^(-1/s),

and elsewhere their ratio is at most e^(1/s). So the release is (m/s, 1 - (1 - p)^m)-DP: with the
chance (1 - p)^m no count is out of reach, the ratio is then at most e^(m/s), and nothing else
is possible on the other side. Exactly so, as what is out of reach is impossible there. m is G under
add/remove; under replace-one it is 2 G, as to be out of reach below tells as much as above.
For one key this is k = ceil(ln((e^epsilon + 2 delta - 1)/((e^epsilon + 1) delta))/epsilon), and no
selection shows keys of more units with a larger chance (Desfontaines, Voss, Gipson and Mandayam,
"Differentially private partition selection", arXiv 2006.03684). Against Laplace noise of the same
scale, T is less by about s ln(1/(1 - a)), that is s ln s: much where a key has little of epsilon.

*Two sums.* A mean releases two sums for each key, of k - lower and of upper - k, each with noise of
its own. They are a count as well: one record with a value adds exactly K = upper - lower to both
together. So keys can be selected by the sum of the two noisy sums, with no release for that alone.
Of the proof nothing changes but what is noised: a key has a vector of noisy integers in place of
one, to hide or to show it is decided by that vector alone, and A is the divergence of the vectors
of all other keys. With Laplace noise of the scale of the L1 change of all vectors over epsilon,
A = 0. A new key is shown where Z1 + Z2 >= T - K n, if n rows of its unit have a value: at most with
the chance for n rows that all have one. The sum of two such draws is log-concave and symmetric, so
that its law falls from 0 on, and *New keys* below holds of it, with T - K n in place of T - n.
Its tail, with a = e^(-1/scale), is by convolution for t >= 1

    P(Z1 + Z2 >= t) = (1 - a) a^t (t + a/(1 - a) + (1 + a^2)/(1 - a^2)) / (1 + a)^2.

*New keys.* Of m new keys with n_1, ..., n_m rows of one unit one is shown with the chance
1 - prod(1 - P(Z >= T - n_i)). P(Z >= T - n) is convex in n as long as T - n >= 1, since the law
falls from 0 on, and so is g(n) = -ln(1 - P(Z >= T - n)), a convex rising function of it. So the
chance is largest at a corner of 1 <= n_i <= B, sum n_i <= R: as many keys as possible have B rows,
one has what is left, and all others 1.

Nor need every m be tried. Up to R/B keys, all are full and more are worse. From there on R - m
rows are shared out beyond the first of each key, in parts of B - 1 and a rest; between two m where
nothing is the rest the sum of all g is convex in m, and where it is nothing linear. So it is
largest at one of the ends, or at the first or last m without a rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil

from msgspec import Struct

from dprelease.model import Adjacency, Noise, NoiseFamily
from dprelease.model.shift import Shift, build_general_shift, build_pair_shift, build_zero_shift
from dprelease.privacy import discrete_gaussian, lattice_sums
from dprelease.privacy.interval_arithmetic import (
    ONE,
    ZERO,
    bound_exp,
    bound_ln,
    bound_normal,
    bound_sqrt,
    round_up,
)
from dprelease.privacy.sensitivity import COUNT, COUNTED, Contribution, Summed, bound_addition

# Shares of delta left to hidden keys where the noise that takes all of it leaves T too high.
SHARES = tuple(Fraction(n, 100) for n in (1, 3, 6, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60))

MOST_REACH = 100_000
"""Up to here noise is cut: certification adds up its law term by term."""

# Below, the sum of chances is as good as their union, which would lose digits.
_TINY = Fraction(1, 10**30)


class NewKeys(Struct, frozen=True):
    """Keys that one unit alone brings into the table, under one noise and threshold."""

    noise: Noise
    threshold: int
    limits: Contribution
    form: Summed = COUNTED

    def bound_shown(self, new: int) -> Fraction:
        """Bound the chance r_m that one of at most ``new`` of them is shown from above."""
        if new == 0:
            return ZERO
        return max(self.bound_exactly(number) for number in _list_worst(self.limits, new))

    def bound_exactly(self, new: int) -> Fraction:
        """Bound the chance that one of exactly ``new`` keys is shown from above."""
        chances = [
            (
                bound_tail(self.noise, self.threshold - size * self.form.width, self.form.draws),
                number,
            )
            for size, number in _list_sizes(self.limits, new)
        ]
        union = sum((chance * number for chance, number in chances), ZERO)
        if union <= _TINY:
            return round_up(union, 60)
        if any(chance >= 1 for chance, _ in chances):
            return ONE
        logs = sum((bound_ln(1 - chance)[0] * number for chance, number in chances), ZERO)
        return round_up(min(union, 1 - bound_exp(logs)[0]), 60)


def _list_worst(limits: Contribution, new: int) -> set[int]:
    """List numbers of new keys up to ``new`` that include the worst one."""
    rows, row_limit = limits.rows, limits.per_group
    if new <= rows // row_limit:
        return {new}
    full, start = rows // row_limit, -(-rows // row_limit)
    ends = {
        full,
        start,
        new,
        start + (rows - start) % (row_limit - 1),
        new - (new - rows) % (row_limit - 1),
    }
    return {number for number in ends if start <= number <= new} | {full}


def _list_sizes(limits: Contribution, new: int) -> list[tuple[int, int]]:
    """List the rows in each of ``new`` keys in the worst case, as (rows, number of keys)."""
    row_limit, spare = limits.per_group, limits.rows - new
    full = new if row_limit == 1 else min(new, spare // (row_limit - 1))
    sizes = [(row_limit, full)]
    if full < new:
        sizes += [(1 + spare - full * (row_limit - 1), 1), (1, new - full - 1)]
    return [(size, number) for size, number in sizes if number]


@lru_cache(maxsize=4096)
def bound_tail(noise: Noise, start: int, draws: int = 1) -> Fraction:
    """Bound P(Z >= start) for start >= 1 from above, by less than 1; Z sums one or two draws."""
    if draws == 2 and noise.family is NoiseFamily.LAPLACE:
        return _bound_laplace_pair(noise.parameter, start)
    if draws != 1:
        raise ValueError("keys are selected by one draw, or by the sum of two Laplace draws")
    if noise.family is NoiseFamily.CUT_LAPLACE:
        return _bound_cut_tail(noise, start)
    if noise.family is NoiseFamily.LAPLACE:
        below = 1 + bound_exp(-1 / noise.parameter)[0]
        return round_up(bound_exp(-start / noise.parameter)[1] / below, 70)
    sigma2 = noise.parameter
    if sigma2 <= lattice_sums.LIMIT_ONE:
        weights = lattice_sums.build_table(sigma2)
        return round_up(Fraction(weights.bound_survival_above(start), weights.total_low), 70)
    # Weights are convex beyond sigma, so there each is at most its mean over a unit around it,
    # and falling everywhere; their sum is at least sqrt(2 pi sigma2), by Poisson's formula.
    near = Fraction(start) - Fraction(1, 2)
    above = near if near * near >= sigma2 else Fraction(start - 1)
    return bound_normal(-above / bound_sqrt(sigma2)[1])[1]


def _bound_laplace_pair(scale: Fraction, start: int) -> Fraction:
    """Bound the chance that two draws together reach ``start``, by the formula of *Two sums*."""
    low, high = bound_exp(-1 / scale)
    # Each factor is taken at the end of the enclosure where it is largest.
    odds = high / (1 - high) + (1 + high * high) / (1 - high * high)
    reached = bound_exp(-start / scale)[1] * (1 - low) / (1 + low) ** 2
    return min(ONE, round_up(reached * (start + odds), 70))


def _bound_cut_tail(noise: Noise, start: int) -> Fraction:
    """Bound (a^start - a^(k+1))/(1 + a - 2 a^(k+1)): P(Z = k) by *Cut noise*, and so on."""
    if start > noise.reach:
        return ZERO
    beyond = bound_exp(-(noise.reach + 1) / noise.parameter)
    reached = bound_exp(-start / noise.parameter)[1] - beyond[0]
    return round_up(reached / (1 + bound_exp(-1 / noise.parameter)[0] - 2 * beyond[1]), 60)


# --- calibration ---------------------------------------------------------------------------------


def find_laplace_threshold(
    scale: Fraction, contribution: Contribution, delta: Fraction, form: Summed = COUNTED
) -> int:
    """Find the least threshold T for discrete Laplace noise: new keys cost at most ``delta``.

    The release is (l1/scale, delta)-DP under either neighbour relation, where l1 is the L1 change
    of all counts together (``sensitivity.bound_addition`` or ``bound_replacement``). With
    a = e^(-1/scale), T = B + the least t >= 1 with a^t/(1 + a) <= 1 - (1 - delta)^(1/G), or less
    where R < G B.

    Args:
        scale: Scale of the noise on each count, positive.
        contribution: How many rows a unit has, in how many keys (R, G and B).
        delta: Chance that a key of one unit alone may be shown, between 0 and 1.
        form: What selects keys: a count, or the two sums of a mean.

    Returns:
        T: certainly valid, and the least such T up to 10^-60 in delta. It is a multiple of what a
        row adds: so many rows reach it.

    Raises:
        ValueError: scale or delta is out of range, or no threshold was found.
    """
    _check(delta)
    if scale <= 0:
        raise ValueError("keys from the data need noise of a positive parameter")
    return _find_least_hidden(Noise(NoiseFamily.LAPLACE, scale), contribution, delta, form)


def find_cut_noise(
    scale: Fraction, keys: int, delta: Fraction, adjacency: Adjacency
) -> Noise | None:
    """Find the Laplace noise of this scale that is cut the nearest; T is one above its reach.

    The release is (l1/scale, delta)-DP, where l1 is the L1 change of all counts together; see
    *Cut noise*.

    Args:
        scale: Scale of the noise on each count, positive.
        keys: In how many keys a unit counts at most, by 1 in each (G).
        delta: Between 0 and 1.
        adjacency: The neighbour relation.

    Returns:
        The noise, or None if its reach would be below its scale or above ``MOST_REACH``.

    Raises:
        ValueError: delta is out of range.
    """
    _check(delta)
    moved = keys if adjacency is Adjacency.ADD_REMOVE else 2 * keys
    least, most = max(1, ceil(scale)), MOST_REACH + 1

    def is_hidden(reach: int) -> bool:
        noise = Noise(NoiseFamily.CUT_LAPLACE, scale, reach=reach)
        limits = Contribution(moved, moved, 1)
        return NewKeys(noise, reach + 1, limits).bound_exactly(moved) <= delta

    reach = least + bisect_left(range(least, most), True, key=is_hidden)
    if reach >= most or reach == least:
        return None
    return Noise(NoiseFamily.CUT_LAPLACE, scale, reach=reach)


@lru_cache(maxsize=256)
def calibrate_gaussian(
    contribution: Contribution,
    epsilon: Fraction,
    delta: Fraction,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> tuple[Fraction, int]:
    """Find the sigma squared and the least threshold T of an (epsilon, delta)-DP key selection.

    Args:
        contribution: How many rows a unit has, in how many keys (R, G and B).
        epsilon: Positive.
        delta: Pays for the noise and for keys of one unit alone; between 0 and 1.
        adjacency: The neighbour relation.

    Returns:
        Sigma squared of the noise on each count, and T. Certainly valid. T is the least there is,
        unless delta must be divided (see *Gaussian*): then the least over ``SHARES``.

    Raises:
        ValueError: epsilon or delta is out of range.
    """
    _check(delta)
    shift = _bound_other_shift(contribution, 0, adjacency)
    sigma2 = discrete_gaussian.find_least_sigma2(shift, epsilon, delta)
    threshold = _find_gaussian_threshold(sigma2, contribution, epsilon, delta, adjacency)
    least_hidden = _find_least_hidden(Noise(NoiseFamily.GAUSSIAN, sigma2), contribution, delta)
    if threshold == least_hidden:
        return sigma2, threshold  # wider noise only asks for more
    choices = [] if threshold is None else [(threshold, sigma2)]
    for share in SHARES:
        sigma2 = discrete_gaussian.find_least_sigma2(shift, epsilon, (1 - share) * delta)
        threshold = _find_gaussian_threshold(sigma2, contribution, epsilon, delta, adjacency)
        if threshold is not None:
            choices.append((threshold, sigma2))
    threshold, sigma2 = min(choices)
    return sigma2, threshold


def _bound_other_shift(limits: Contribution, new: int, adjacency: Adjacency) -> Shift:
    """Bound the shift of the counts of all but the new keys."""
    groups, rows = limits.groups - new, limits.rows - new
    other_limits = Contribution(rows, groups, limits.per_group) if min(groups, rows) > 0 else None
    mine = _build_shift(other_limits) if other_limits else build_zero_shift()
    if adjacency is Adjacency.ADD_REMOVE:
        return mine
    whole = _build_shift(limits)
    if other_limits is None:
        return whole
    if limits.groups == 1:
        return build_pair_shift(limits.per_group, limits.per_group)
    return build_general_shift(
        mine.l2_squared + whole.l2_squared, mine.coordinates + whole.coordinates
    )


def _build_shift(limits: Contribution) -> Shift:
    change = bound_addition(limits, COUNT, limits.groups)
    return Shift(change.l2_squared, change.coordinates, change.shapes)


def find_hiding_threshold(noise: Noise, contribution: Contribution, delta: Fraction) -> int:
    """Find the least threshold T at which new keys are shown with a chance of at most ``delta``.

    With noise that is rho-zCDP on all counts, the release is delta-approximate rho-zCDP under
    either neighbour relation.

    Args:
        noise: Laplace or Gaussian noise on each count.
        contribution: How many rows a unit has, in how many keys (R, G and B).
        delta: Chance that a key of one unit alone may be shown, between 0 and 1.

    Returns:
        T: certainly valid, and the least such T up to 10^-60 in delta.

    Raises:
        ValueError: delta is out of range, or the noise has no parameter.
    """
    _check(delta)
    if noise.parameter <= 0:
        raise ValueError("keys from the data need noise of a positive parameter")
    return _find_least_hidden(noise, contribution, delta)


# --- searches -----------------------------------------------------------------------------------


def _find_least(
    noise: Noise,
    limits: Contribution,
    holds: Callable[[NewKeys], bool],
    spare: Fraction,
    form: Summed = COUNTED,
) -> int:
    """Find the least T that holds, a multiple of the form's width.

    It holds wherever new keys are shown with a chance below ``spare``.
    """
    failing = limits.per_group
    distance, width = 1, form.width
    while not holds(NewKeys(noise, (limits.per_group + distance) * width, limits, form)):
        failing, distance = limits.per_group + distance, 2 * distance
        # Two draws reach twice as far only if one of them reaches half of it.
        if distance > 4 * _find_far_start(noise, 2 * limits.groups / spare):
            raise ValueError("no threshold was found for this delta")
    good = limits.per_group + distance
    while good - failing > 1:
        middle = (good + failing) // 2
        if holds(NewKeys(noise, middle * width, limits, form)):
            good = middle
        else:
            failing = middle
    return good * width


def _find_far_start(noise: Noise, inverse: Fraction) -> int:
    """Find a start from which the tail is certainly below 1/``inverse``."""
    logs = bound_ln(inverse)[1] + 2
    if noise.family is NoiseFamily.LAPLACE:
        return int(noise.parameter * logs) + 4
    return int(bound_sqrt(2 * noise.parameter * logs)[1]) + 4


def _find_least_hidden(
    noise: Noise, limits: Contribution, delta: Fraction, form: Summed = COUNTED
) -> int:
    """Find the least T if the noise cost nothing of delta."""
    return _find_least(
        noise, limits, lambda hidden: hidden.bound_shown(limits.groups) <= delta, delta, form
    )


def _find_gaussian_threshold(
    sigma2: Fraction, limits: Contribution, epsilon: Fraction, delta: Fraction, adjacency: Adjacency
) -> int | None:
    """Find the least T for this noise, or None if there is none."""
    target = delta * (1 - discrete_gaussian.ROOM)

    @cache
    def bound_others(new: int) -> Fraction:
        return discrete_gaussian.bound_delta(
            sigma2, _bound_other_shift(limits, new, adjacency), epsilon
        )

    def is_held(hidden: NewKeys, fewest: int, largest: int) -> bool:
        """Check the condition for all numbers of new keys in this range."""
        # The noise's part falls with their number and the new keys' part rises, so a range
        # holds at once if the worst of both does.
        noisy, shown_chance = bound_others(fewest), hidden.bound_shown(largest)
        if noisy + (1 - noisy) * shown_chance <= target:
            return True
        if fewest == largest:
            return False
        middle = (fewest + largest) // 2
        return is_held(hidden, fewest, middle) and is_held(hidden, middle + 1, largest)

    spare = target - bound_others(1)
    if bound_others(0) > target or spare <= 0:
        return None
    noise = Noise(NoiseFamily.GAUSSIAN, sigma2)
    return _find_least(noise, limits, lambda hidden: is_held(hidden, 1, limits.groups), spare)


def _check(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ValueError("keys from the data need a delta between 0 and 1")
