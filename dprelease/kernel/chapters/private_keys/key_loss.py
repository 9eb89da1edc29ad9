"""A second opinion on keys taken from the data: what a threshold costs at most.

Used by certification only; computes with the verifier's own numbers and shares with calibration the
proof (in ``dprelease.privacy.partition_selection``) but no code. Where calibration searches, this
walks through every number of new keys; where it sums a table of weights, this adds up the tail that
is asked for.

*Two sums* of a mean select where every unit has at most one row in a key: then K = upper - lower,
which a row with a value adds to both together, counts units. Calibration has the chance that two
Laplace draws reach t by convolving their laws. Here a draw is the difference of two geometric
variables, so that two are N - N', with N and N' of the negative binomial law of two. With
a = e^(-1/scale), P(N >= n) = a^n (1 + n (1 - a)); the mean of P(N >= t + N') over N' is

    a^t (1 + t (1 - a) + 2 a^2/(1 + a)) / (1 + a)^2.

*Noise that is cut.* A key is shown if its count with it is above all that it can be. Then it makes
no difference to give noise to the count of every possible key: a count of 0 is never shown. So what
is released is no more than those noisy counts, of which one unit changes at most ``moved`` by 1.

One count. Let P and Q be the laws of the noisy counts n and n + 1: weights a^abs(j) for
abs(j) <= k, a = e^(-1/scale), by their sum W. Of the hockey-stick sum of P against Q at 1/scale
only what Q can't give is left, n - k, since a^abs(j) is at most e^(1/scale) times a^abs(j + 1): it
is a^k/W, and as much for Q against P. W is added up here term by term, where calibration has the
formula of the law.

All of them. Noise is independent. All ``moved`` counts are what the other table can give with the
chance (1 - a^k/W)^moved, and then the ratio of the two laws is at most e^(moved/scale). So the
divergence at any epsilon of at least moved/scale is 1 less that chance, whichever table comes
first, and whether counts rise or fall.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate

from msgspec import Struct

from dprelease.kernel.core import additive_loss
from dprelease.kernel.core import numerics as numbers
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.unit_limits import derive_limits
from dprelease.kernel.core.worst_change import bound_worst_change
from dprelease.model import Adjacency, MeasureKind, Noise, NoiseFamily, Plan, Privacy, Query, Step
from dprelease.model.key_thresholds import compute_unit_width
from dprelease.model.shift import MAX_SHAPES, Shift

_SUMMED = 10_000  # the largest sigma squared whose tail is added up
_DEEP = 160  # terms below e^-80 of the first are bounded by a geometric series
_NARROW = 4  # up to this sigma squared Poisson's bound of the total is not near enough


class Selection(Struct, frozen=True):
    """What is to be executed: a key is shown if its count with this noise is >= ``threshold``.

    A unit has at most ``rows`` rows, in at most ``groups`` keys, ``per_key`` in one. The count is
    the sum of ``draws`` integers with noise, to which a row adds ``width`` in all.
    """

    noise: Noise
    threshold: int
    rows: int
    groups: int
    per_key: int
    adjacency: Adjacency
    width: int = 1
    draws: int = 1

    def lower_limits(self) -> tuple[int, int, int]:
        """Lower rows, groups and rows in a key each to what the others let a unit reach."""
        row_limit, groups = min(self.per_key, self.rows), min(self.groups, self.rows)
        return min(self.rows, groups * row_limit), groups, row_limit


def is_confirmed(selection: Selection, epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether showing keys and their noisy counts is certainly (epsilon, delta)-DP."""
    noise, (rows, groups, row_limit) = selection.noise, selection.lower_limits()
    if noise.family is NoiseFamily.NONE or noise.parameter <= 0 or epsilon < 0:
        return False
    if min(rows, groups, row_limit) < 1 or selection.threshold <= row_limit or not 0 < delta < 1:
        return False
    if selection.draws != 1 or selection.width != 1:
        is_known = selection.draws == 2 and noise.family is NoiseFamily.LAPLACE and row_limit == 1
        is_known = is_known and selection.width >= 1
        return is_known and _is_pair_confirmed(selection, groups, epsilon, delta)
    is_replaced = selection.adjacency is Adjacency.REPLACE_ONE
    if noise.family is NoiseFamily.CUT_LAPLACE:
        moved = 2 * groups if is_replaced else groups
        is_above = row_limit == 1 and selection.threshold > noise.reach
        return is_above and is_cut_confirmed(noise, moved, epsilon, delta)
    # least_hidden[m]: at most m new keys all stay hidden with at least this chance.
    hidden = [
        _bound_hidden(noise, selection.threshold, rows, new, row_limit)
        for new in range(1, groups + 1)
    ]
    least_hidden = list(accumulate(hidden, min, initial=Fraction(1)))
    if noise.family is NoiseFamily.LAPLACE:
        l1 = 2 * rows if is_replaced else rows
        return (
            additive_loss.compute_laplace_epsilon(noise.parameter, l1) <= epsilon
            and least_hidden[-1] >= 1 - delta
        )

    @cache
    def bound_noisy(new: int) -> Fraction:
        remaining = _bound_counts_shift(rows - new, groups - new, row_limit)
        shift = (
            _bound_apart(remaining, _bound_counts_shift(rows, groups, row_limit))
            if is_replaced
            else remaining
        )
        return additive_loss.bound_gaussian_delta(noise.parameter, shift, epsilon)

    return _is_every_number_confirmed(bound_noisy, least_hidden, 1 - delta)


def is_approximately_confirmed(selection: Selection, rho: Fraction, failure: Fraction) -> bool:
    """Tell whether showing keys and their noisy counts is failure-approximate rho-zCDP."""
    noise, (rows, groups, row_limit) = selection.noise, selection.lower_limits()
    if noise.parameter <= 0 or (selection.width, selection.draws) != (1, 1):
        return False
    if noise.family is NoiseFamily.CUT_LAPLACE:
        return False
    if min(rows, groups, row_limit) < 1 or selection.threshold <= row_limit or not 0 < failure < 1:
        return False
    is_hidden = all(
        _bound_hidden(noise, selection.threshold, rows, new, row_limit) >= 1 - failure
        for new in range(1, groups + 1)
    )
    is_replaced = selection.adjacency is Adjacency.REPLACE_ONE
    if noise.family is NoiseFamily.GAUSSIAN:
        shift = _bound_counts_shift(rows, groups, row_limit)
        length = _bound_apart(shift, shift).l2_squared if is_replaced else shift.l2_squared
        return is_hidden and additive_loss.compute_gaussian_rho(noise.parameter, length) <= rho
    if noise.family is not NoiseFamily.LAPLACE:
        return False
    moved = rows * (2 if is_replaced else 1)
    epsilon = additive_loss.compute_laplace_epsilon(noise.parameter, moved)
    return is_hidden and additive_loss.bound_pure_rho(epsilon) <= rho


def _is_pair_confirmed(
    selection: Selection, groups: int, epsilon: Fraction, delta: Fraction
) -> bool:
    """Confirm a selection by two sums; a unit has one row in each of its keys."""
    start = selection.threshold - selection.width
    if start < 1:
        return False
    units = 2 if selection.adjacency is Adjacency.REPLACE_ONE else 1
    l1 = units * groups * selection.width
    scale = selection.noise.parameter
    hidden = Fraction(_bound_power(1 - bound_pair_tail(scale, start), groups), numbers.ONE)
    return additive_loss.compute_laplace_epsilon(scale, l1) <= epsilon and hidden >= 1 - delta


# --- new keys -----------------------------------------------------------------------------------


def _bound_hidden(noise: Noise, threshold: int, rows: int, new: int, row_limit: int) -> Fraction:
    """Bound the chance that ``new`` keys of one unit all stay hidden, from below.

    At the worst as many as possible are full, while one row is left for every other.
    """
    remaining, chance = rows, numbers.ONE
    full = new
    if row_limit > 1:
        full = min(new, (rows - new) // (row_limit - 1))
    chance = _bound_all_hidden(noise, threshold - row_limit, full)
    remaining -= full * row_limit + (new - full)
    if full < new:
        chance = chance * _bound_all_hidden(noise, threshold - 1 - remaining, 1) >> numbers.BITS
        chance = chance * _bound_all_hidden(noise, threshold - 1, new - full - 1) >> numbers.BITS
    return Fraction(chance, numbers.ONE)


def _bound_all_hidden(noise: Noise, start: int, times: int) -> int:
    """P(Z < start)^times from below, times 2^512."""
    return _bound_power(1 - bound_noise_tail(noise, start), times)


def _bound_power(base: Fraction, times: int) -> int:
    """Bound base^times from below, times 2^512, by squaring; 0 for a base below 0."""
    square, power = max(0, math.floor(base * numbers.ONE)), numbers.ONE
    while times:
        if times % 2:
            power = power * square >> numbers.BITS
        square = square * square >> numbers.BITS
        times //= 2
    return power


@cache
def bound_noise_tail(noise: Noise, start: int) -> Fraction:
    """Bound P(Z >= start) from above, start >= 1."""
    if noise.family is NoiseFamily.LAPLACE:
        high = numbers.enclose_exp_minus(start / noise.parameter)[1]
        return Fraction(high, numbers.ONE + numbers.enclose_exp_minus(1 / noise.parameter)[0])
    sigma2 = noise.parameter
    if sigma2 <= _SUMMED:
        return _weight(sigma2, start) / _bound_total(sigma2)
    # The weights are convex beyond sigma, where each is at most its mean over a unit around it.
    inner = Fraction(2 * start - 1, 2)
    if inner * inner < sigma2:
        inner = Fraction(start - 1)
    scaled = math.floor(inner / numbers.enclose_sqrt(sigma2)[1] * numbers.ONE)
    return numbers.enclose_normal_tail(Fraction(scaled, numbers.ONE))[1]


@cache
def bound_pair_tail(scale: Fraction, start: int) -> Fraction:
    """Bound the chance that the sum of two Laplace draws is >= start, from above, start >= 1."""
    reached = Fraction(numbers.enclose_exp_minus(start / scale)[1], numbers.ONE)
    low, high = (Fraction(end, numbers.ONE) for end in numbers.enclose_exp_minus(1 / scale))
    bound = reached * (1 + start * (1 - low) + 2 * high**2 / (1 + low)) / (1 + low) ** 2
    return Fraction(math.ceil(bound * numbers.ONE), numbers.ONE)


def _weight(sigma2: Fraction, start: int) -> Fraction:
    """Bound the sum of e^(-k^2/(2 sigma2)) over k >= start from above."""
    total, k = 0, start
    while k * k - start * start < _DEEP * sigma2 or k < start + 2:
        total += numbers.enclose_exp_minus(k * k / (2 * sigma2))[1]
        k += 1
    ratio = numbers.enclose_exp(-(2 * k + 1) / (2 * sigma2))[1]
    beyond = numbers.enclose_exp_minus(k * k / (2 * sigma2))[1] / (1 - ratio)
    return (total + beyond) / numbers.ONE


def _bound_total(sigma2: Fraction) -> Fraction:
    """Bound the sum over all integers from below by sqrt(2 pi sigma2), by Poisson's formula."""
    if sigma2 > _NARROW:
        return numbers.enclose_sqrt(numbers.TWO_PI[0] * sigma2)[0]
    last = math.isqrt(int(_DEEP * sigma2)) + 2
    sides = sum(numbers.enclose_exp_minus(k * k / (2 * sigma2))[0] for k in range(1, last))
    return Fraction(max(0, 2 * sides) + numbers.ONE, numbers.ONE)


# --- noise that is cut --------------------------------------------------------------------------


def is_cut_confirmed(noise: Noise, moved: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether so many counts with this noise, each moved by 1, are (epsilon, delta)-DP."""
    if moved < 1 or noise.reach < 1 or noise.parameter <= 0:
        return False
    held = _bound_power(1 - bound_missing(noise), moved)
    is_covered = additive_loss.compute_laplace_epsilon(noise.parameter, moved) <= epsilon
    return is_covered and Fraction(held, numbers.ONE) >= 1 - delta


def bound_missing(noise: Noise) -> Fraction:
    """Bound a^k/W from above: the chance of what a count that is moved by 1 can't give."""
    low = numbers.enclose_exp_minus(1 / noise.parameter)[0]
    total, weight = numbers.ONE, numbers.ONE
    for _ in range(noise.reach):
        weight = weight * low >> numbers.BITS
        total += 2 * weight
    last = numbers.enclose_exp_minus(noise.reach / noise.parameter)[1]
    return Fraction(last, total)


# --- keys that others have too ------------------------------------------------------------------


def _bound_counts_shift(rows: int, groups: int, row_limit: int) -> Shift:
    """Bound how far counts move when one unit comes or goes."""
    if rows < 1 or groups < 1:
        return Shift(0, 0)
    groups, row_limit = min(groups, rows), min(row_limit, rows)
    rows = min(rows, groups * row_limit)
    full, rest = divmod(rows, row_limit)
    shapes: Sequence[tuple[int, ...]] = ()
    if groups == 1:
        shapes = [(rows,)]
    elif groups == 2 and row_limit - rows // 2 <= MAX_SHAPES:
        shapes = [(n, rows - n) for n in range(rows - rows // 2, row_limit + 1)]
    return Shift(full * row_limit * row_limit + rest * rest, groups, tuple(shapes))


def _bound_apart(left: Shift, right: Shift) -> Shift:
    """Bound how far counts move when the two units share no key, which is the worst."""
    if left.l2_squared == 0:
        return right
    shapes = [a + b for a in left.shapes for b in right.shapes if len(a + b) == 2]
    return Shift(
        left.l2_squared + right.l2_squared, left.coordinates + right.coordinates, tuple(shapes)
    )


def _is_every_number_confirmed(
    noisy: Callable[[int], Fraction], least_hidden: Sequence[Fraction], minimum: Fraction
) -> bool:
    """Tell whether (1 - noisy(m)) * least_hidden[m] >= minimum for every m.

    1 - ``noisy`` rises with m and ``least_hidden`` falls. So a stretch holds if 1 - ``noisy`` at
    its first m times ``least_hidden`` at its last m reaches the minimum; otherwise it is halved,
    down to single numbers.
    """
    first, last = 0, len(least_hidden) - 1
    while first < len(least_hidden):
        if (1 - noisy(first)) * least_hidden[last] >= minimum:
            first, last = last + 1, len(least_hidden) - 1
        elif last == first:
            return False
        else:
            last = (first + last) // 2
    return True


# --- what selects keys ----------------------------------------------------------------------------

# What selects private keys, what all other steps of their table must have, and what that costs.


class _Keys(Struct, frozen=True):
    """All steps of a table whose keys are private or selected, and those that select them."""

    steps: list[Step]
    selecting: list[Step]


class _Selection(Struct, frozen=True):
    """The step that selects, of units that are the values of a column or else rows.

    A unit has at most ``per_key`` rows in a key.
    """

    step: Step
    units_are_values: bool
    per_key: int


def find_key_breaches(plan: Plan) -> Iterator[Breach]:
    """Check that one step selects the keys of a table, and all others release cells of these keys.

    They may do so in any form: as with public keys, cells are independent, and what a unit can do
    in all of them together is bounded, however many there are (``unit_limits``).
    """
    units_are_values = plan.release.privacy.bounding is not None
    names = {step.query.name: name for name, step in name_steps(plan)}
    for name, step in name_steps(plan):
        if step.noise.reach or step.noise.family is NoiseFamily.CUT_LAPLACE:
            yield from find_breaches(CUT, step, name)
    chosen = [step for step in plan.steps if step.query.private or step.threshold is not None]
    for table in dict.fromkeys(step.query.table for step in chosen):
        steps = [step for step in plan.steps if step.query.table == table]
        selecting = [step for step in steps if step.threshold is not None]
        yield from find_breaches(KEYS, _Keys(steps, selecting), f'table "{table}"')
        for step in selecting:
            per_key = derive_limits(step, plan.release.privacy).per_cell
            selection = _Selection(step, units_are_values, per_key)
            yield from find_breaches(SELECTION, selection, names[step.query.name])


CUT: Rules[Step] = (
    Rule(
        "only noise that is cut has a reach",
        lambda step: step.noise.family is NoiseFamily.CUT_LAPLACE,
    ),
    Rule(
        "noise is cut at a whole number, not below its scale, and of at most 100,000",
        lambda step: (
            type(step.noise.reach) is int and step.noise.parameter <= step.noise.reach <= 100_000
        ),
    ),
    # So a count of 0 never shows a key, and the threshold tells the law.
    Rule(
        "keys are shown above what cut noise reaches, and it is for no other step",
        lambda step: step.threshold == step.noise.reach + 1,
    ),
)
KEYS: Rules[_Keys] = (
    Rule(
        "all queries of a table with private keys have the same groups",
        lambda keys: all(step.query.groups == keys.steps[0].query.groups for step in keys.steps),
    ),
    Rule("one step selects its keys", lambda keys: len(keys.selecting) == 1),
)


def _is_counting_units(selection: _Selection) -> bool:
    kinds = {measure.kind for measure in selection.step.measures}
    units = {MeasureKind.UNITS}
    if kinds == _SUMS:
        return selection.per_key == 1
    return kinds == units or (kinds == {MeasureKind.RECORDS} and not selection.units_are_values)


_SUMS = {MeasureKind.VALUES, MeasureKind.SUM}


def _is_count_itself(selection: _Selection) -> bool:
    """Tell whether the released integer is the count, or two are that add up to a multiple of it.

    Of two sums: those of k - lower and of upper - k, k a value of a quantity within its bounds.
    """
    step = selection.step
    if step.transform == ((1,),):
        return True
    quantities = [measure.quantity for measure in step.measures]
    if [measure.kind for measure in step.measures] != [MeasureKind.VALUES, MeasureKind.SUM]:
        return False
    quantity = quantities[0]
    if quantity is None or quantities[1] != quantity:
        return False
    grid = quantity.grid
    return grid.upper > grid.lower and step.transform == ((-grid.lower, 1), (grid.upper, -1))


def _is_whole_threshold(selection: _Selection) -> bool:
    """Tell whether the threshold is a number of units, times what each adds, of at least 2."""
    threshold, width = selection.step.threshold, compute_unit_width(selection.step)
    if type(threshold) is not int or width < 1:
        return False
    return threshold >= 2 * width and threshold % width == 0


def _compute_allowed_delta(query: Query) -> Fraction:
    """Compute the delta that the spec allows for showing keys; 0 without a selection."""
    return query.key_selection.delta if query.key_selection is not None else Fraction(0)


def _read_own_delta(step: Step) -> Fraction:
    """Read the delta that a selection claims for itself.

    Where it claims a rho, that holds but for the delta that the spec allows; what the step claims
    beyond is for stating its epsilon.
    """
    return step.loss.delta if step.loss.rho is None else _compute_allowed_delta(step.query)


# A key is shown for its number of units alone, which no unit moves by more than 1. That a
# threshold is one of numbers with noise follows from the rules of forms and of no noise.
SELECTION: Rules[_Selection] = (
    Rule("the keys that it selects are private", lambda it: it.step.query.private),
    Rule("keys are not selected by an axis", lambda it: it.step.query.axis is None),
    Rule("keys are selected by a count of units", _is_counting_units),
    Rule(
        "keys are selected by records that count once",
        lambda it: all(measure.survey_weight is None for measure in it.step.measures),
    ),
    Rule(
        "keys are selected by one filter",
        lambda it: len({measure.where for measure in it.step.measures}) == 1,
    ),
    Rule("keys are selected by the count itself", _is_count_itself),
    Rule("the threshold of keys is a whole number of units, at least 2", _is_whole_threshold),
    Rule("the selection of keys claims a delta", lambda it: it.step.loss.delta > 0),
    Rule(
        "the spec allows the delta of the selection of keys",
        lambda it: _compute_allowed_delta(it.step.query) >= _read_own_delta(it.step),
    ),
)

# --- loss ----------------------------------------------------------------------------------------


def find_key_loss_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what the selections of keys lose beyond their claims."""
    for name, step in name_steps(plan):
        if step.threshold is not None:
            yield from find_breaches(KEY_LOSS, (step, plan.release.privacy), name)


def _build_selection(step: Step, privacy: Privacy) -> Selection:
    limits = derive_limits(step, privacy)
    return Selection(
        step.noise,
        step.threshold or 0,
        rows=limits.rows,
        groups=limits.groups,
        per_key=limits.per_cell,
        adjacency=privacy.adjacency,
        width=compute_unit_width(step),
        draws=len(step.transform),
    )


def _is_rho_confirmed(step: Step, privacy: Privacy) -> bool:
    """Confirm a claim in rho: the selection is approximate zCDP, but for the spec's delta.

    New keys stay hidden but for that chance; given that they do, the counts of all others have
    noise of no more than rho (Bun and Steinke 2016, definition 8.1).
    """
    rho, failure = step.loss.rho, _compute_allowed_delta(step.query)
    return rho is None or is_approximately_confirmed(_build_selection(step, privacy), rho, failure)


def _is_key_loss_confirmed(step: Step, privacy: Privacy) -> bool:
    """Confirm keys and their counts: new keys stay hidden, others can't be told apart."""
    selection = _build_selection(step, privacy)
    if step.loss.rho is not None:
        stated = step.loss.delta - _compute_allowed_delta(step.query)
        return additive_loss.bound_zcdp_delta(step.loss.rho, step.loss.epsilon) <= stated
    if selection.draws > 1:
        # By the corners of what rows add, beside the proof that each adds its width.
        l1 = bound_worst_change(step, privacy).l1
        if additive_loss.compute_laplace_epsilon(step.noise.parameter, l1) > step.loss.epsilon:
            return False
    return is_confirmed(selection, step.loss.epsilon, step.loss.delta)


KEY_LOSS: Rules[tuple[Step, Privacy]] = (
    Rule(
        "the selection of keys costs no more rho, but for the spec's delta, than it claims",
        lambda it: _is_rho_confirmed(*it),
    ),
    Rule(
        "the selection of keys costs no more epsilon and delta than it claims",
        lambda it: _is_key_loss_confirmed(*it),
    ),
)
