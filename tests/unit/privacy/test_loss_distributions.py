"""What events cost together: golden numbers, exact composition, and what must not matter.

The figures are estimates: each is held against exact ones, and what is claimed of it has to be
confirmed by ``kernel.chapters.composition``.
"""

import itertools
import math
import random
import time
from collections.abc import Callable
from fractions import Fraction as F

import mpmath as mp
import pytest
from thorough import for_each

from dprelease.kernel.chapters.composition.confirm import is_confirmed
from dprelease.model import shift as shifts
from dprelease.model.privacy_events import (
    Approximate,
    Counted,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Range,
)
from dprelease.privacy import discrete_gaussian, zcdp
from dprelease.privacy.composition import LEAST_EPSILON, MARGINS, compose_numerically
from dprelease.privacy.loss_distributions import estimate_epsilon

ONE = shifts.build_single_shift(1)
MILLIONTH = F(1, 10**6)
CONTINUOUS = 10**9  # so fine a grid is as good as none

KINDS: list[Event] = [
    Laplace(F(10), 1),
    Laplace(F(31), 4),
    Laplace(F(10 * CONTINUOUS), CONTINUOUS),
    Gaussian(F(50), ONE),
    Gaussian(F(12), shifts.build_pair_shift(1, 2)),
    Gaussian(F(9 * 10**8), shifts.build_general_shift(10**7, 5)),
    Gaussian(F(30), shifts.split(4)),
    Range(F(1, 8)),
    Pure(F(1, 9)),
    Approximate(F(1, 7), F(1, 10**9)),
]
MIX: list[Counted] = [
    (Laplace(F(20), 3), 4),
    (Gaussian(F(400), ONE), 10),
    (Range(F(1, 10)), 6),
    (Pure(F(1, 12)), 2),
    (Approximate(F(1, 3), F(1, 10**8)), 1),
]


def assert_confirmed(events: list[Counted], delta: F) -> None:
    """The claim is confirmed; and is not, if it were a hundredth less."""
    claim = compose_numerically(events, delta)
    assert claim is not None
    assert is_confirmed(events, claim, delta)
    assert claim < F(1, 10**9) or not is_confirmed(events, claim * F(99, 100), delta)


# --- exact composition --------------------------------------------------------------------------


def number(x: F) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


def get_law(event: Event) -> tuple[dict[F, mp.mpf], F]:
    """Losses under P and the mass at infinity, straight from the mechanism's definition."""
    match event:
        case Pure(e) | Approximate(e, _):
            top = 1 / (1 + mp.exp(-number(e)))
            return {e: top, -e: 1 - top}, getattr(event, "delta", F(0))
        case Laplace(scale, move):
            a, law = mp.exp(-1 / number(scale)), dict[F, mp.mpf]()
            for x in range(-900, 900):
                loss = (abs(x - move) - abs(x)) / scale
                law[loss] = law.get(loss, mp.mpf(0)) + a ** abs(x) * (1 - a) / (1 + a)
            return law, F(0)
        case Gaussian(sigma2, shift):
            law = {F(0): mp.mpf(1)}
            reach = int(14 * math.sqrt(sigma2)) + 2
            weights = {x: mp.exp(-x * x / (2 * number(sigma2))) for x in range(-reach, reach + 1)}
            total = mp.fsum(weights.values())
            for step in shift.shapes[0]:
                single = {
                    (step * step - 2 * x * step) / (2 * sigma2): w / total
                    for x, w in weights.items()
                }
                law = convolve(law, single)
            return law, F(0)
    raise AssertionError


def convolve(first: dict[F, mp.mpf], second: dict[F, mp.mpf]) -> dict[F, mp.mpf]:
    result: dict[F, mp.mpf] = {}
    for (z, p), (y, q) in itertools.product(first.items(), second.items()):
        result[z + y] = result.get(z + y, mp.mpf(0)) + p * q
    return result


def exactly(events: list[Counted], epsilons: list[F]) -> list[mp.mpf]:
    law, kept = {F(0): mp.mpf(1)}, mp.mpf(1)
    for event, times in events:
        single, lost = get_law(event)
        for _ in range(times):
            law, kept = convolve(law, single), kept * (1 - number(lost))
    return [
        1 - kept + kept * mp.fsum(-mp.expm1(number(e - z)) * p for z, p in law.items() if z > e)
        for e in epsilons
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "events",
    [
        [(Pure(F(1, 2)), 6)],
        [(Pure(F(1, 2)), 3), (Pure(F(1, 3)), 4)],
        [(Pure(F(30)), 2), (Pure(F(1, 10**6)), 3)],
        [(Approximate(F(1, 2), F(1, 1000)), 3), (Pure(F(7, 5)), 1)],
        [(Laplace(F(2), 3), 3)],
        [(Laplace(F(2), 3), 2), (Laplace(F(31, 7), 2), 3)],
        [(Gaussian(F(2), ONE), 3)],
        [(Gaussian(F(1, 3), ONE), 2)],
        [(Gaussian(F(5), shifts.build_pair_shift(1, 2)), 1)],
        [(Gaussian(F(3, 2), ONE), 1), (Laplace(F(3), 2), 1), (Pure(F(2, 3)), 1)],
    ],
    ids=str,
)
def test_exact_composition(events: list[Counted]) -> None:
    mp.mp.dps = 30
    epsilons = [F(k, 13) * k for k in range(1, 9)]
    exact = exactly(events, epsilons)
    steeper = exactly(events, [epsilon * F(1001, 1000) for epsilon in epsilons])
    for epsilon, delta, below in zip(epsilons, exact, steeper, strict=True):
        # Where delta hardly falls with epsilon, no epsilon is known well.
        if mp.mpf(10) ** -14 < delta < mp.mpf("0.9") and below < delta * mp.mpf("0.9999"):
            budget = F(int(delta * 10**30), 10**30)
            assert estimate_epsilon(events, budget) == pytest.approx(float(epsilon), rel=2e-5)
            claim = compose_numerically(events, budget)
            assert claim is not None
            assert is_confirmed(events, claim, budget)
            assert not is_confirmed(events, epsilon * F(999, 1000), budget)


# --- what must not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("event", KINDS, ids=str)
@pytest.mark.parametrize("times", [3, 100])
def test_n_times_is_a_loop_of_n(event: Event, times: int) -> None:
    at_once = estimate_epsilon([(event, times)], MILLIONTH)
    assert at_once == estimate_epsilon([(event, 1)] * times, MILLIONTH)
    # Nor is it the cost of one: so many cost more than a few.
    assert at_once > estimate_epsilon([(event, times // 2)], MILLIONTH)
    assert_confirmed([(event, times)], MILLIONTH)


@pytest.mark.parametrize("event", KINDS, ids=str)
def test_one_more_costs_about_as_much_as_it_should(event: Event) -> None:
    """Between the growth like the root of n and the one like n."""
    few, many = (estimate_epsilon([(event, n)], MILLIONTH) for n in (50, 200))
    assert 1.9 * few <= many <= 4 * few


def test_the_order_of_events_is_nothing() -> None:
    expected = estimate_epsilon(MIX, MILLIONTH)
    dice = random.Random(1)
    for _ in range(5):
        shuffled = [(event, 1) for event, times in MIX for _ in range(times)]
        dice.shuffle(shuffled)
        assert estimate_epsilon(shuffled, MILLIONTH) == pytest.approx(expected, rel=1e-9)


def test_events_that_cost_nothing_are_nothing() -> None:
    free: list[Counted] = [
        (Laplace(F(3), 0), 5),
        (Gaussian(F(3), shifts.build_zero_shift()), 5),
        (Range(F(0)), 7),
        (Pure(F(0)), 7),
        (Approximate(F(0), F(0)), 7),
        (Pure(F(3)), 0),
    ]
    assert estimate_epsilon([], MILLIONTH) == estimate_epsilon(free, F(0)) == 0
    assert estimate_epsilon(MIX + free, MILLIONTH) == estimate_epsilon(MIX, MILLIONTH)


@pytest.mark.parametrize(
    "noise",
    [
        lambda s: [(Laplace(s, 3), 20)],
        lambda s: [(Laplace(10**6 * s, 10**6), 20)],
        lambda s: [(Gaussian(s, ONE), 20)],
        lambda s: [(Gaussian(s * 10**8, shifts.build_general_shift(10**8, 3)), 20)],
        lambda s: [(Range(1 / s), 20)],
        lambda s: [(Laplace(s, 1), 4), (Gaussian(s * s, ONE), 5), (Range(1 / s), 6)],
    ],
)
def test_more_noise_never_costs_more(noise: Callable[[F], list[Counted]]) -> None:
    scales = [F(4) + F(k, 7) for k in range(30)]
    costs = [estimate_epsilon(noise(scale), MILLIONTH) for scale in scales]
    for less, more in itertools.pairwise(costs):
        assert more <= less * (1 + 2e-5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("event", KINDS, ids=str)
def test_more_events_and_smaller_deltas_cost_more(event: Event) -> None:
    costs = [estimate_epsilon([*MIX, (event, n)], MILLIONTH) for n in (0, 1, 3, 30)]
    assert costs == sorted(costs)
    costs = [estimate_epsilon([*MIX, (event, 3)], F(1, 10**n)) for n in range(1, 8)]
    assert costs == sorted(costs)


# --- moves of several shapes --------------------------------------------------------------------


@pytest.mark.one_in(8)
@for_each(
    "shift",
    [
        shifts.split(4),
        shifts.build_general_shift(3, 3),
        shifts.build_general_shift(4, 4),
        shifts.build_general_shift(9, 2),
    ],
)
@for_each("sigma2", [F(2, 3), F(5), F(30), F(200), F(300)])
@for_each("times", [1, 20])
def test_moves_of_several_shapes(shift: shifts.Shift, sigma2: F, times: int) -> None:
    """No less than the worst of the shapes alone, and what is claimed is confirmed."""
    events: list[Counted] = [(Gaussian(sigma2, shift), times)]
    if sigma2 < 1 and not shift.shapes and shift.coordinates > 2:
        return
    for shape in shift.shapes:
        alone = shifts.Shift(sum(v * v for v in shape), len(shape), (shape,))
        costs = estimate_epsilon([(Gaussian(sigma2, alone), times)], MILLIONTH)
        assert estimate_epsilon(events, MILLIONTH) >= costs * (1 - 1e-5)
    assert_confirmed(events, MILLIONTH)


# --- other accountants --------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("delta", [F(1, 10), F(1, 10**5), F(1, 10**9), F(1, 10**15)])
def test_never_worse_than_sums_or_zcdp(times: int, delta: F) -> None:
    """But for ranges: the worst at every epsilon is more than what rho says of many."""
    epsilon = F(1, 10)
    events: dict[Event, F] = {
        Pure(epsilon): zcdp.bound_pure_rho(epsilon),
        Laplace(F(30), 3): zcdp.bound_pure_rho(epsilon),
        Gaussian(F(100), ONE): F(1, 200),
    }
    for event, rho in events.items():
        composed = estimate_epsilon([(event, times)], delta)
        assert composed <= float(zcdp.bound_epsilon(times * rho, delta)) * (1 + 1e-4)
        if not isinstance(event, Gaussian):
            assert composed <= float(times * epsilon) * (1 + 1e-9)


def test_one_gaussian_is_as_good_as_the_exact_sum() -> None:
    for sigma2 in (F(1, 2), F(3), F(40), F(900)):
        exact = discrete_gaussian.bound_epsilon(sigma2, ONE, MILLIONTH)
        assert estimate_epsilon([(Gaussian(sigma2, ONE), 1)], MILLIONTH) == pytest.approx(
            float(exact), rel=1e-6
        )


# --- budgets for private keys -------------------------------------------------------------------


def test_deltas_of_selections() -> None:
    events: list[Counted] = [(Approximate(F(1, 2), F(1, 10**7)), 3)]
    lost = 1 - (1 - F(1, 10**7)) ** 3
    assert estimate_epsilon(events, lost * (1 + F(1, 10**9))) == pytest.approx(1.5, rel=1e-6)
    assert estimate_epsilon(events, F(4, 10**7)) < 1.5
    assert_confirmed(events, F(4, 10**7))
    with pytest.raises(ValueError, match="no epsilon"):
        estimate_epsilon(events, F(2, 10**7))
    with pytest.raises(ValueError, match="no epsilon"):
        estimate_epsilon([*events, (Gaussian(F(9), ONE), 1)], F(299, 10**9))
    # Nothing is left of a delta that is all spent, whatever floats make of the difference.
    for spent in (F(1, 10**6), F(1, 10**7), F(3, 10**9)):
        selection = (Approximate(F(1, 2), spent), 1)
        with pytest.raises(ValueError, match="no epsilon"):
            estimate_epsilon([selection, (Gaussian(F(9), ONE), 1)], spent)
    with pytest.raises(ValueError, match="no epsilon"):
        estimate_epsilon([(Approximate(F(1), F(1)), 1)], F(1, 2))


def test_no_delta_at_all() -> None:
    assert estimate_epsilon([(Pure(F(1, 3)), 3), (Range(F(1)), 2)], F(0)) == pytest.approx(3)
    assert estimate_epsilon([(Laplace(F(10), 3), 10)], F(0)) == pytest.approx(3)
    with pytest.raises(ValueError, match="no epsilon"):
        estimate_epsilon([(Gaussian(F(9), ONE), 1)], F(0))


@pytest.mark.parametrize("delta", [F(-1), F(1), F(2)])
def test_deltas_that_can_not_be(delta: F) -> None:
    with pytest.raises(ValueError, match="delta"):
        estimate_epsilon(MIX, delta)


@pytest.mark.parametrize(
    ("event", "times", "problem"),
    [
        (Pure(F(1)), -1, "times"),
        (Pure(F(-1)), 1, "epsilon"),
        (Range(F(-1)), 1, "epsilon"),
        (Laplace(F(0), 1), 1, "scale"),
        (Laplace(F(1), -1), 1, "scale"),
        (Gaussian(F(0), ONE), 1, "sigma"),
        (Approximate(F(1), F(2)), 1, "delta"),
    ],
    ids=str,
)
def test_what_can_not_be_is_refused(event: Event, times: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        estimate_epsilon([(event, times)], MILLIONTH)


# --- extremes -----------------------------------------------------------------------------------


@pytest.mark.one_in(8)
@for_each(
    "events",
    [
        [(Pure(F(100)), 30)],
        [(Laplace(F(1, 100), 1), 3), (Pure(F(1, 10**9)), 1000)],
        [(Pure(F(1, 10**9)), 1000)],
        [(Laplace(F(10**15), 1), 1000), (Range(F(1, 10**9)), 5)],
        [(Laplace(F(10**15), 10**12), 1000)],
        [
            (Laplace(F(10**12), 10**12), 3),
            (Gaussian(F(10**26), shifts.build_single_shift(10**12)), 9),
        ],
        [(Gaussian(F(1, 1000), ONE), 4)],
        [(Gaussian(F(10**30), shifts.build_general_shift(10**24, 10**6)), 4000)],
        [(Pure(F(2000)), 2), (Range(F(50)), 2), (Laplace(F(1, 100), 2), 1)],
        [(Range(F(1, 100)), 10**5), (Pure(F(1, 10**30)), 10**6)],
        [(Approximate(F(0), F(1, 10**12)), 100), (Approximate(F(9), F(1, 10**16)), 1)],
    ],
)
@for_each("delta", [F(1, 2), F(1, 10**4), F(1, 10**15), F(1, 10**100)])
def test_extremes_are_confirmed(events: list[Counted], delta: F) -> None:
    """With one of the margins; and sums of epsilons bound the answer, where there is one."""
    try:
        composed = estimate_epsilon(events, delta)
    except ValueError:
        assert any(isinstance(event, Approximate) for event, _ in events)
        return
    if not any(isinstance(event, Gaussian | Approximate) for event, _ in events):
        assert composed <= estimate_epsilon(events, F(0))
    claims = [compose_numerically(events, delta, margin) or F(0) for margin in MARGINS]
    assert any(is_confirmed(events, claim + LEAST_EPSILON, delta) for claim in claims)


def test_what_floats_do_not_hold_has_no_epsilon_or_the_sum() -> None:
    wide: list[Counted] = [(Gaussian(F(1, 1000), shifts.build_general_shift(10**6, 10**5)), 4)]
    with pytest.raises(ValueError, match="no epsilon"):
        estimate_epsilon(wide, MILLIONTH)
    huge: list[Counted] = [(Pure(F(10**7)), 2), (Laplace(F(1, 10**9), 10**6), 1)]
    assert estimate_epsilon(huge, F(1, 10**300)) == pytest.approx(10**15, rel=1e-6)


@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 10**12), F(1, 10**15), F(1, 10**30)])
def test_tiny_deltas_lose_no_accuracy(delta: F) -> None:
    """Two ways to the same law: Laplace noise that moves by 1 is randomised response."""
    mp.mp.dps = 60
    times, top = 40, 1 / (1 + mp.exp(mp.mpf(-1) / 10))
    composed = F(estimate_epsilon([(Laplace(F(10), 1), times)], delta))

    def exact(epsilon: F) -> mp.mpf:
        return mp.fsum(
            mp.binomial(times, k)
            * top**k
            * (1 - top) ** (times - k)
            * -mp.expm1(number(epsilon - F(2 * k - times, 10)))
            for k in range(times + 1)
            if F(2 * k - times, 10) > epsilon
        )

    assert exact(composed * (1 + F(1, 10**6))) < number(delta)
    assert exact(composed * (1 - F(1, 10**6))) > number(delta)


# --- targets ------------------------------------------------------------------------------------


def least_scale(noise: Callable[[F], list[Counted]], low: F, high: F) -> F:
    """The least noise, to a part in 10^4, for which epsilon is at most 1 at delta 10^-6."""
    while high - low > high / 10**4:
        middle = F(float(low + high) / 2).limit_denominator(10**6)
        claim = compose_numerically(noise(middle), MILLIONTH)
        assert claim is not None
        low, high = (low, middle) if claim <= 1 else (middle, high)
    assert is_confirmed(noise(high), F(1), MILLIONTH)
    return high


@pytest.mark.parametrize(("count", "most"), [(1, 1.37), (10, 13.5), (100, 42.6), (1000, 135.0)])
def test_error_of_counts(count: int, most: float) -> None:
    """Root mean squared error of each of so many counts at (1, 10^-6) in all."""
    a = math.exp(-1 / least_scale(lambda s: [(Laplace(s, 1), count)], F(1, 10), F(2 * count)))
    laplace = math.sqrt(2 * a) / (1 - a)
    gaussian = math.sqrt(
        least_scale(lambda s2: [(Gaussian(s2, ONE), count)], F(1, 10), F(100 * count))
    )
    assert min(laplace, gaussian) <= most


def test_a_mix_needs_far_less_noise_than_sums_of_epsilons() -> None:
    def mix(s: F) -> list[Counted]:
        return [(Laplace(s, 1), 4), (Gaussian(s * s, ONE), 10), (Range(1 / s), 6)]

    least = least_scale(mix, F(1), F(100))
    wide = F(28, 10) * least
    gaussian = discrete_gaussian.bound_epsilon(wide * wide, ONE, MILLIONTH / 10)
    assert 10 / wide + 10 * gaussian > 1


@pytest.mark.thorough
def test_it_is_fast() -> None:
    """A few milliseconds for a handful of events, a third of a second for a thousand."""
    estimate_epsilon(MIX, MILLIONTH)

    def spent(events: list[Counted]) -> float:
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            estimate_epsilon(events, MILLIONTH)
            best = min(best, time.process_time() - start)
        return best

    assert spent([(event, 17 * times) for event, times in MIX]) < 0.1
    assert spent([(Laplace(F(300 + k, 7), 1 + k % 5), 1) for k in range(1000)]) < 2.0
