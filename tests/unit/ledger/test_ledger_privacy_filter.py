"""Totals of many runs: tighter than plain sums, never too small, and valid bounds of known laws."""

from collections.abc import Sequence
from fractions import Fraction

import builders
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.ledger.privacy_filter import (
    MAIN,
    ORDERS,
    RESERVE,
    Caps,
    Parts,
    Tally,
    Terms,
    compute_least_total,
    split_loss,
    wrap_loss,
)
from dprelease.ledger.reservation import build_terms
from dprelease.model import Loss
from dprelease.planning.planner import make_plan
from dprelease.privacy.zcdp import bound_pure_rho, order_for
from dprelease.specfile import load

ONE, ZERO = Fraction(1), Fraction(0)
DELTA = Fraction(1, 10**5)
CAPS = Caps(Fraction(10), DELTA)


def pure(epsilon: Fraction) -> Terms:
    loss = Loss(epsilon)
    return Terms(loss, wrap_loss(loss))


def rest(epsilon: Fraction, delta: Fraction) -> Terms:
    loss = Loss(epsilon, delta)
    return Terms(loss, wrap_loss(loss))


def gaussian(epsilon: Fraction, delta: Fraction, rho: Fraction) -> Terms:
    loss = Loss(epsilon, delta, rho)
    return Terms(loss, wrap_loss(loss))


@pytest.fixture(scope="module")
def count() -> Terms:
    """A count with Gaussian noise, planned at (0.1, 1e-8)."""
    spec = builders.spec(privacy={"epsilon": Fraction(1, 10), "delta": Fraction(1, 10**8),
        }, columns={"a": {"type": "integer"}}, query=[
            {"name": "n", "statistic": "count", "where": "a > 1", "mechanism": "gaussian"}
        ],)  # fmt: skip
    return build_terms(make_plan(load(spec)))


def test_a_hundred_gaussian_counts_cost_less_than_half_of_their_sum(count: Terms) -> None:
    found = compute_least_total([count] * 100, CAPS)
    assert sum(each.loss.epsilon for each in [count] * 100) > Fraction(999, 100)
    assert found.composed
    assert found.epsilon < Fraction(13, 10)
    assert found.delta <= DELTA
    assert found.is_within(CAPS)


def compute_by_hand(rho: Fraction, order: Fraction, delta: Fraction) -> mpmath.mpf:
    """The conversion of Canonne, Kamath and Steinke 2020, Corollary 13, for one order."""
    r, a, d = (mpmath.mpf(x.numerator) / x.denominator for x in (rho, order, delta))
    return a * r + (mpmath.log(1 / d) - mpmath.log(a)) / (a - 1) + mpmath.log1p(-1 / a)


@pytest.mark.parametrize("runs", [2, 10, 100, 1000])
def test_a_composed_total_is_the_formula_rounded_up(count: Terms, runs: int) -> None:
    with mpmath.workdps(40):
        kept = DELTA * RESERVE
        weights = [((1 - MAIN) / len(ORDERS), order) for order in ORDERS]
        weights.append((MAIN, order_for(Fraction(10), MAIN * kept)))
        expected = min(
            compute_by_hand(runs * count.parts.rho, order, weight * kept)
            for weight, order in weights
        )
        found = compute_least_total([count] * runs, CAPS).epsilon
        assert 0 <= mpmath.mpf(found.numerator) / found.denominator - expected < 1e-12


def test_a_total_is_no_less_than_the_gaussian_law_allows(count: Terms) -> None:
    # What a hundred Gaussian counts really cost at this delta, by the exact curve.
    with mpmath.workdps(30):
        mu = mpmath.sqrt(2 * 100 * mpmath.mpf(count.parts.rho.numerator))
        mu /= mpmath.sqrt(count.parts.rho.denominator)
        found = compute_least_total([count] * 100, CAPS)
        epsilon = mpmath.mpf(found.epsilon.numerator) / found.epsilon.denominator
        true = mpmath.ncdf(mu / 2 - epsilon / mu)
        true -= mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert true <= found.delta


@pytest.mark.parametrize("delta", [None, ZERO])
def test_without_a_delta_cap_it_is_the_plain_sum(delta: Fraction | None) -> None:
    runs = [pure(Fraction(1, 3)), pure(Fraction(1, 1000))] * 300
    found = compute_least_total(runs, Caps(None, delta))
    assert found.epsilon == 300 * (Fraction(1, 3) + Fraction(1, 1000))
    assert (found.counted, found.reserve, found.composed) == (0, 0, False)


def test_small_pure_runs_compose_and_large_ones_beside_them_add_up() -> None:
    small, large = [pure(Fraction(1, 100))] * 400, [pure(Fraction(3))]
    alone, both = compute_least_total(small, CAPS), compute_least_total(small + large, CAPS)
    assert alone.epsilon < Fraction(3, 2)
    assert both.epsilon - alone.epsilon <= 3


def test_an_empty_account_costs_nothing() -> None:
    assert compute_least_total([], CAPS).epsilon == 0
    assert compute_least_total([], Caps()).is_within(Caps())


def test_a_rest_is_added_to_what_composes() -> None:
    steps = [Loss(ZERO, Fraction(1, 10), Fraction(1, 5000)), Loss(Fraction(1, 20), DELTA / 10**4)]
    loss = Loss(Fraction(2, 10), DELTA / 10**3)
    parts = split_loss(loss, [*steps, Loss(Fraction(1, 10))], sums=False)
    assert parts.rho == Fraction(1, 5000) + bound_pure_rho(
        Fraction(1, 10)
    )  # the pure step's as well
    assert (parts.epsilon, parts.delta) == (Fraction(1, 20), DELTA / 10**4)
    assert parts.either == DELTA / 10**3 + DELTA / 10**4
    found = compute_least_total([Terms(loss, parts)] * 50, CAPS)
    assert found.composed
    assert Fraction(50, 20) < found.epsilon < 10


def test_deltas_without_a_rho_have_the_whole_cap_until_something_composes() -> None:
    tenth = rest(Fraction(1, 2), DELTA / 10)
    assert compute_least_total([tenth] * 10, CAPS).is_within(CAPS)
    assert not compute_least_total([tenth] * 11, CAPS).is_within(CAPS)
    mixed = [pure(Fraction(1, 2)), *[tenth] * 9]
    assert compute_least_total(mixed, CAPS).is_within(CAPS)
    assert not compute_least_total([*mixed, tenth], CAPS).is_within(CAPS)


def test_a_first_run_that_needs_the_whole_delta_cap_has_it() -> None:
    whole_cap = gaussian(ONE, DELTA, Fraction(1, 50))
    found = compute_least_total([whole_cap], CAPS)
    assert (found.epsilon, found.counted, found.composed) == (1, DELTA, False)
    assert found.is_within(CAPS)
    assert not compute_least_total([whole_cap, whole_cap], CAPS).is_within(CAPS)


def test_once_plain_sums_are_over_the_cap_deltas_are_those_of_the_rests() -> None:
    run = gaussian(Fraction(1, 2), DELTA / 20, Fraction(1, 400))
    found = compute_least_total([run] * 60, CAPS)
    assert found.is_within(CAPS)
    assert found.counted <= DELTA - DELTA * RESERVE


@pytest.mark.parametrize(
    ("epsilon", "delta", "held"),
    [
        (ONE, DELTA / 50, 10),  # plain sums are over the cap of epsilon first
        (Fraction(1, 2), DELTA * Fraction(9, 132), 12),  # or their deltas are over what is for them
    ],
)
def test_runs_that_plain_sums_held_count_with_their_own_delta_too(
    epsilon: Fraction, delta: Fraction, held: int
) -> None:
    """Whoever stops while plain sums hold claims each run's own delta, and not that of its rest.

    So those deltas stay counted when plain sums don't hold any more; of later runs the rest counts.
    """
    tenth = delta / 10
    parts = Parts(Fraction(1, 400), Fraction(1, 100), tenth, delta + tenth)
    run = Terms(Loss(epsilon, delta), parts)
    for more in (0, 1, 2):
        counted = compute_least_total([run] * (held + more), CAPS).counted
        assert counted == held * (delta + tenth) + more * tenth


def test_what_is_over_the_room_for_deltas_fits_no_cap_of_epsilon() -> None:
    """So it does not matter which epsilon is told then; it is no less than the plain sum."""
    run = gaussian(Fraction(1, 2), DELTA / 5, Fraction(1, 400))
    rested = Terms(run.loss, Parts(run.parts.rho, ZERO, DELTA / 5, DELTA / 5))
    found = compute_least_total([rested] * 5, CAPS)
    assert found.epsilon >= Fraction(5, 2)
    assert not found.is_within(Caps(None, DELTA))


def test_near_its_cap_a_total_is_that_of_the_order_made_for_the_cap() -> None:
    with mpmath.workdps(40):
        run = gaussian(ONE, DELTA / 10**4, Fraction(1, 100))
        order = order_for(Fraction(10), MAIN * DELTA * RESERVE)
        expected = compute_by_hand(140 * run.parts.rho, order, MAIN * DELTA * RESERVE)
        found = compute_least_total([run] * 140, CAPS).epsilon
        assert 9 < expected < 10
        assert 0 <= mpmath.mpf(found.numerator) / found.denominator - expected < 1e-12


def test_no_run_with_a_delta_counts_by_its_own_epsilon_beside_a_composed_one() -> None:
    """Its epsilon holds but for its delta, which no order's way counts; a pure one has none."""
    small = gaussian(ONE, DELTA / 1000, Fraction(1, 1000))
    loss, tiny = Loss(Fraction(1, 10), DELTA / 1000, ONE), DELTA / 10**4
    loud = Terms(loss, Parts(ONE, ZERO, tiny, loss.delta + tiny))
    found = compute_least_total([small, loud] * 50, Caps(None, DELTA))
    assert (found.epsilon, found.composed) == (55, False)
    assert found.delta == 50 * (2 * loss.delta + tiny)
    many = compute_least_total([gaussian(loss.epsilon, DELTA / 10, ONE)] * 10, Caps(None, DELTA))
    assert many.composed  # though plain sums would be less: they don't hold any more
    assert many.is_within(Caps(None, DELTA))
    silent = Terms(Loss(Fraction(1, 10)), Parts(ONE))
    assert compute_least_total([small, silent] * 50, Caps(None, DELTA)).epsilon < 10


def test_a_cap_reached_exactly_is_accepted_and_an_atom_more_refused() -> None:
    runs = [pure(Fraction(1, 100))] * 400
    total = compute_least_total(runs, Caps(None, DELTA)).epsilon
    fixed = Tally(Caps(total, DELTA))
    for run in runs:
        fixed.add(run)
    exact = fixed.compute_total().epsilon
    assert fixed.compute_total().is_within(Caps(exact, DELTA))
    assert not fixed.compute_total().is_within(Caps(exact - Fraction(1, 10**60), DELTA))
    plain = compute_least_total(runs, Caps(Fraction(4), None))
    assert plain.is_within(Caps(Fraction(4), None))
    assert not plain.is_within(Caps(Fraction(4) - Fraction(1, 10**60), None))


epsilons = st.integers(1, 3000).map(lambda each: Fraction(each, 1000))
tiny = st.integers(0, 20).map(lambda each: Fraction(each, 10**8))
rhos = st.integers(1, 1000).map(lambda each: Fraction(each, 10**5))


@st.composite
def costs(draw: st.DrawFn) -> Terms:
    kind = draw(st.sampled_from(["pure", "rest", "gaussian", "mixed"]))
    epsilon, delta = draw(epsilons), draw(tiny) + Fraction(1, 10**9)
    if kind == "pure":
        return pure(epsilon)
    if kind == "rest":
        return rest(epsilon, delta)
    if kind == "gaussian":
        return gaussian(epsilon, delta, draw(rhos))
    more = draw(epsilons)
    steps = [Loss(epsilon), Loss(more, delta), Loss(ZERO, delta, draw(rhos))]
    loss = Loss(epsilon + more, 2 * delta)
    return Terms(loss, split_loss(loss, steps, sums=False))


several = st.lists(costs(), max_size=12)
some_caps = st.builds(
    Caps, st.none() | epsilons.map(lambda each: 5 * each), st.sampled_from([None, ZERO, DELTA])
)


def sum_terms(runs: Sequence[Terms]) -> Fraction:
    return sum((run.loss.epsilon for run in runs), ZERO)


@settings(max_examples=examples(150), deadline=None)
@given(several, costs(), some_caps)
def test_another_run_never_makes_a_total_smaller(
    runs: list[Terms], more: Terms, caps: Caps
) -> None:
    before, after = compute_least_total(runs, caps), compute_least_total([*runs, more], caps)
    assert after.epsilon >= before.epsilon
    assert before.is_within(caps) or not after.is_within(caps)


@settings(max_examples=examples(150), deadline=None)
@given(several, some_caps)
def test_a_total_lies_between_the_dearest_run_and_the_sum(runs: list[Terms], caps: Caps) -> None:
    found = compute_least_total(runs, caps)
    for run in runs:
        assert found.epsilon >= compute_least_total([run], caps).epsilon
    own = sum((run.parts.either for run in runs), ZERO)
    if not caps.delta or own <= caps.delta * (1 - RESERVE):
        assert found.epsilon <= sum_terms(runs)


@settings(max_examples=examples(100), deadline=None)
@given(several.flatmap(lambda runs: st.tuples(st.just(runs), st.permutations(runs))))
def test_the_order_of_runs_does_not_matter(pair: tuple[list[Terms], list[Terms]]) -> None:
    # Where deltas stay within what is not kept; beyond it, what came first decides.
    runs, mixed = pair
    if sum((run.parts.either for run in runs), ZERO) <= DELTA * (1 - RESERVE):
        caps = Caps(None, DELTA)
        assert compute_least_total(runs, caps) == compute_least_total(mixed, caps)
