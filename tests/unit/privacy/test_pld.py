"""What events cost together: golden numbers, exact composition, and what must not matter."""

import itertools
import math
import random
import time
from collections.abc import Callable
from fractions import Fraction as F

import mpmath as mp
import pytest

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
from dprelease.privacy import pld, zcdp
from dprelease.privacy.composition import advanced
from dprelease.privacy.gaussian import discrete as discrete_gaussian
from dprelease.privacy.pld_curves import curve

ONE = shifts.single(1)
MILLIONTH = F(1, 10**6)
CONTINUOUS = 10**9  # so fine a grid is as good as none

KINDS: list[Event] = [
    Laplace(F(10), 1),
    Laplace(F(31), 4),
    Laplace(F(10 * CONTINUOUS), CONTINUOUS),
    Gaussian(F(50), ONE),
    Gaussian(F(12), shifts.pair(1, 2)),
    Gaussian(F(9 * 10**8), shifts.general(10**7, 5)),
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


# --- golden numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([(Pure(F(1, 10)), 100)], 4.7745675881),  # optimal: Kairouz, Oh and Viswanath 2015
        ([(Laplace(F(10), 1), 100)], 4.7745675881),  # by 1 it is randomised response
        ([(Laplace(F(10 * CONTINUOUS), CONTINUOUS), 100)], 4.69267),
        ([(Gaussian(F(CONTINUOUS**2), shifts.single(CONTINUOUS)), 1)], 4.8865541175),
        ([(Gaussian(F(1), ONE), 1)], 4.4995909822),
        # 100 times mu = 1/10 is mu = 1
        ([(Gaussian(F(100 * CONTINUOUS**2), shifts.single(CONTINUOUS)), 100)], 4.8865541175),
    ],
)
def test_golden_epsilons(events: list[Counted], expected: float) -> None:
    found = float(pld.epsilon_of(events, MILLIONTH))
    assert found == pytest.approx(expected, rel=1e-5)
    assert found >= expected * (1 - 2e-7)  # the goldens are rounded


@pytest.mark.parametrize("event", KINDS, ids=str)
def test_one_event_alone_is_its_curve(event: Event) -> None:
    for epsilon in (F(0), F(1, 20), F(1, 9), F(2)):
        exact = curve(event, epsilon)
        assert pld.delta_of([(event, 1)], epsilon) <= exact
        found = pld.delta_of([(event, 1), (Pure(F(1, 10**30)), 1)], epsilon)
        assert exact * (1 - F(1, 10**9)) <= found
        assert found <= exact * (1 + F(1, 10**3)) + F(1, 10**12)


def test_delta_of_the_continuous_gaussian() -> None:
    event = Gaussian(F(CONTINUOUS**2), shifts.single(CONTINUOUS))
    twice = Gaussian(F(2 * CONTINUOUS**2), shifts.single(CONTINUOUS))
    for events in ([(event, 1)], [(twice, 2)]):
        found = float(pld.delta_of(events, F(1)))
        assert 0.1269367374 <= found <= 0.1269367375 * (1 + 1e-5)


# --- exact composition --------------------------------------------------------------------------


def number(x: F) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


def law_of(event: Event) -> tuple[dict[F, mp.mpf], F]:
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
                law = convolved(law, single)
            return law, F(0)
    raise AssertionError


def convolved(first: dict[F, mp.mpf], second: dict[F, mp.mpf]) -> dict[F, mp.mpf]:
    result: dict[F, mp.mpf] = {}
    for (z, p), (y, q) in itertools.product(first.items(), second.items()):
        result[z + y] = result.get(z + y, mp.mpf(0)) + p * q
    return result


def exactly(events: list[Counted], epsilons: list[F]) -> list[mp.mpf]:
    law, kept = {F(0): mp.mpf(1)}, mp.mpf(1)
    for event, times in events:
        single, lost = law_of(event)
        for _ in range(times):
            law, kept = convolved(law, single), kept * (1 - number(lost))
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
        [(Gaussian(F(5), shifts.pair(1, 2)), 1)],
        [(Gaussian(F(3, 2), ONE), 1), (Laplace(F(3), 2), 1), (Pure(F(2, 3)), 1)],
    ],
    ids=str,
)
def test_exact_composition_is_never_exceeded_and_nearly_met(events: list[Counted]) -> None:
    mp.mp.dps = 30
    epsilons = [F(k, 13) * k for k in range(9)]
    for epsilon, exact in zip(epsilons, exactly(events, epsilons), strict=True):
        found = number(pld.delta_of(events, epsilon))
        assert found >= exact * (1 - mp.mpf(10) ** -20)
        assert found <= exact * (1 + mp.mpf("3e-4")) + mp.mpf(10) ** -40
        falls = number(pld.delta_of(events, epsilon + F(1, 10))) < 0.999 * found
        if mp.mpf(10) ** -14 < exact < mp.mpf("0.9") and falls:
            budget = F(int(exact * 10**30) + 10**6, 10**30)
            least = pld.epsilon_of(events, budget)
            # The least epsilon at this delta, or above it by a little.
            assert epsilon * (1 - F(1, 10**11)) - F(1, 10**25) <= least
            assert least <= epsilon * (1 + F(1, 10**4)) + F(1, 10**4)


def test_a_law_that_is_too_small_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same comparison fails when the discretisation rounds losses down."""
    from dprelease.privacy import pld_grid

    splits = pld_grid.parts
    monkeypatch.setattr(pld_grid, "parts", lambda part, h: (0 * part, 1 + 0 * splits(part, h)[1]))
    mp.mp.dps = 30
    events: list[Counted] = [(Pure(F(1, 2)), 3), (Pure(F(314159, 1000003)), 4)]
    found = [number(pld.delta_of(events, epsilon)) for epsilon in (F(0), F(1, 2), F(1))]
    exact = exactly(events, [F(0), F(1, 2), F(1)])
    assert any(small < true for small, true in zip(found, exact, strict=True))


# --- what must not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("event", KINDS, ids=str)
@pytest.mark.parametrize("times", [3, 100])
def test_n_times_is_a_loop_of_n(event: Event, times: int) -> None:
    at_once = pld.epsilon_of([(event, times)], MILLIONTH)
    assert at_once == pld.epsilon_of([(event, 1)] * times, MILLIONTH)
    assert pld.delta_of([(event, times)], F(1)) == pld.delta_of([(event, 1)] * times, F(1))
    # Nor is it the cost of one: so many cost more than a few.
    assert at_once > pld.epsilon_of([(event, times // 2)], MILLIONTH)


@pytest.mark.parametrize("event", KINDS, ids=str)
def test_one_more_costs_about_as_much_as_it_should(event: Event) -> None:
    """Between the growth like the root of n and the one like n."""
    few, many = (pld.epsilon_of([(event, n)], MILLIONTH) for n in (50, 200))
    assert F(19, 10) * few <= many <= 4 * few


def test_the_order_of_events_is_nothing() -> None:
    expected = pld.epsilon_of(MIX, MILLIONTH), pld.delta_of(MIX, F(1, 2))
    dice = random.Random(1)
    for _ in range(5):
        shuffled = [(event, 1) for event, times in MIX for _ in range(times)]
        dice.shuffle(shuffled)
        found = pld.epsilon_of(shuffled, MILLIONTH), pld.delta_of(shuffled, F(1, 2))
        assert [float(x) for x in found] == pytest.approx([float(x) for x in expected], rel=1e-9)


def test_events_that_cost_nothing_are_nothing() -> None:
    free: list[Counted] = [
        (Laplace(F(3), 0), 5),
        (Gaussian(F(3), shifts.zero()), 5),
        (Range(F(0)), 7),
        (Pure(F(0)), 7),
        (Approximate(F(0), F(0)), 7),
        (Pure(F(3)), 0),
    ]
    assert pld.epsilon_of([], MILLIONTH) == pld.epsilon_of(free, F(0)) == 0
    assert pld.delta_of([], F(0)) == pld.delta_of(free, F(0)) == 0
    assert pld.epsilon_of(MIX + free, MILLIONTH) == pld.epsilon_of(MIX, MILLIONTH)


@pytest.mark.parametrize(
    "noise",
    [
        lambda s: [(Laplace(s, 3), 20)],
        lambda s: [(Laplace(10**6 * s, 10**6), 20)],
        lambda s: [(Gaussian(s, ONE), 20)],
        lambda s: [(Gaussian(s * 10**8, shifts.general(10**8, 3)), 20)],
        lambda s: [(Range(1 / s), 20)],
        lambda s: [(Laplace(s, 1), 4), (Gaussian(s * s, ONE), 5), (Range(1 / s), 6)],
    ],
)
def test_more_noise_never_costs_more(noise: Callable[[F], list[Counted]]) -> None:
    scales = [F(4) + F(k, 7) for k in range(30)]
    costs = [pld.epsilon_of(noise(scale), MILLIONTH) for scale in scales]
    for less, more in itertools.pairwise(costs):
        assert more <= less * (1 + F(2, 10**5))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("event", KINDS, ids=str)
def test_more_events_and_smaller_deltas_cost_more(event: Event) -> None:
    costs = [pld.epsilon_of([*MIX, (event, n)], MILLIONTH) for n in (0, 1, 3, 30)]
    assert costs == sorted(costs)
    costs = [pld.epsilon_of([*MIX, (event, 3)], F(1, 10**n)) for n in range(1, 8)]
    assert costs == sorted(costs)
    deltas = [pld.delta_of([*MIX, (event, 3)], F(k, 4)) for k in range(9)]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.parametrize("epsilon", [F(0), F(1, 4), F(1), F(3)])
def test_delta_and_epsilon_are_inverse(epsilon: F) -> None:
    delta = pld.delta_of(MIX, epsilon)
    assert float(pld.epsilon_of(MIX, delta)) == pytest.approx(float(epsilon), rel=1e-5, abs=1e-5)


# --- other accountants --------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("delta", [F(1, 10), F(1, 10**5), F(1, 10**9), F(1, 10**15)])
def test_never_worse_than_sums_or_zcdp(times: int, delta: F) -> None:
    each = F(1, 10)
    events: dict[Event, F] = {
        Pure(each): zcdp.rho_of_pure(each),
        Laplace(F(30), 3): zcdp.rho_of_pure(each),
        Range(each): each * each / 8,
        Gaussian(F(100), ONE): F(1, 200),
    }
    for event, rho in events.items():
        found = pld.epsilon_of([(event, times)], delta, merged_ranges=True)
        assert found <= zcdp.epsilon_of(times * rho, delta) * (1 + F(1, 10**4))
        if not isinstance(event, Gaussian):
            assert found <= times * each


def test_a_hundred_tenths() -> None:
    from dprelease.model import Loss

    both = advanced([Loss(F(1, 10))] * 100, MILLIONTH)
    assert both is not None
    assert pld.epsilon_of([(Pure(F(1, 10)), 100)], MILLIONTH) < F(48, 10) < both.epsilon < 10


def test_many_ranges_cost_less_than_the_worst_of_each() -> None:
    """The one law that is the worst at every epsilon: 2.6118. Intervals (-e/2, e/2): 2.2075."""
    events: list[Counted] = [(Range(F(1, 10)), 100)]
    found = pld.epsilon_of(events, MILLIONTH, merged_ranges=True)
    assert pld.epsilon_of([(Pure(F(1, 20)), 100)], MILLIONTH) < found < F(228, 100)
    assert found < F(95, 100) * pld.epsilon_of(events, MILLIONTH)
    assert pld.delta_of(events, found, merged_ranges=True) <= MILLIONTH * (1 + F(1, 10**4))
    assert pld.delta_of(events, found) > 2 * MILLIONTH


@pytest.mark.parametrize("times", [1, 4, 20, 300])
def test_merging_ranges_never_costs_more(times: int) -> None:
    events: list[Counted] = [*MIX, (Range(F(1, 30)), times), (Range(F(1, 7)), times // 3)]
    merged = pld.epsilon_of(events, MILLIONTH, merged_ranges=True)
    assert merged <= pld.epsilon_of(events, MILLIONTH) * (1 + F(1, 10**5))


def test_one_gaussian_is_as_good_as_the_exact_sum() -> None:
    for sigma2 in (F(1, 2), F(3), F(40), F(900)):
        exact = discrete_gaussian.epsilon_of(sigma2, ONE, MILLIONTH)
        found = pld.epsilon_of([(Gaussian(sigma2, ONE), 1)], MILLIONTH)
        assert exact * (1 - F(1, 10**10)) <= found <= exact * (1 + F(1, 10**5))


# --- budgets for private keys -------------------------------------------------------------------


def test_deltas_of_selections() -> None:
    events: list[Counted] = [(Approximate(F(1, 2), F(1, 10**7)), 3)]
    lost = 1 - (1 - F(1, 10**7)) ** 3
    assert pld.delta_of(events, F(3, 2)) == pytest.approx(lost, rel=1e-12)
    assert pld.delta_of(events, F(3, 2)) >= lost
    assert pld.epsilon_of(events, F(4, 10**7)) <= F(3, 2)
    with pytest.raises(ValueError, match="no epsilon"):
        pld.epsilon_of(events, F(2, 10**7))
    with pytest.raises(ValueError, match="no epsilon"):
        pld.epsilon_of([*events, (Gaussian(F(9), ONE), 1)], F(299, 10**9))


def test_no_delta_at_all() -> None:
    assert pld.epsilon_of([(Pure(F(1, 3)), 3), (Range(F(1)), 2)], F(0)) == 3
    assert pld.epsilon_of([(Laplace(F(10), 3), 10)], F(0)) == 3
    with pytest.raises(ValueError, match="no epsilon"):
        pld.epsilon_of([(Gaussian(F(9), ONE), 1)], F(0))


@pytest.mark.parametrize("delta", [F(-1), F(1), F(2)])
def test_deltas_that_can_not_be(delta: F) -> None:
    with pytest.raises(ValueError, match="delta"):
        pld.epsilon_of(MIX, delta)


def test_what_can_not_be_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        pld.delta_of(MIX, F(-1))
    with pytest.raises(ValueError, match="times"):
        pld.delta_of([(Pure(F(1)), -1)], F(1))
    with pytest.raises(ValueError, match="sigma"):
        pld.epsilon_of([(Gaussian(F(0), ONE), 1)], MILLIONTH)


# --- extremes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        [(Pure(F(100)), 30)],
        [(Laplace(F(1, 100), 1), 3), (Pure(F(1, 10**9)), 1000)],
        [(Pure(F(1, 10**9)), 1000)],
        [(Laplace(F(10**15), 1), 1000), (Range(F(1, 10**9)), 5)],
        [(Laplace(F(10**15), 10**12), 1000)],
        [(Laplace(F(10**12), 10**12), 3), (Gaussian(F(10**26), shifts.single(10**12)), 9)],
        [(Gaussian(F(1, 1000), ONE), 4)],
        [(Gaussian(F(1, 1000), shifts.general(10**6, 10**5)), 4)],
        [(Gaussian(F(10**30), shifts.general(10**24, 10**6)), 4000)],
        [(Pure(F(10**7)), 2), (Range(F(10**4)), 2), (Laplace(F(1, 10**9), 10**6), 1)],
        [(Range(F(1, 100)), 10**6), (Pure(F(1, 10**30)), 10**9)],
        [(Approximate(F(0), F(1, 10**12)), 100), (Approximate(F(9), F(1, 10**16)), 1)],
    ],
    ids=str,
)
@pytest.mark.parametrize("delta", [F(1, 2), F(1, 10**4), F(1, 10**15), F(1, 10**300)])
def test_extremes_have_an_answer(events: list[Counted], delta: F) -> None:
    """Sums of epsilons bound it from above, and each event alone from below."""
    try:
        found = pld.epsilon_of(events, delta)
    except ValueError:
        assert any(isinstance(event, Approximate) for event, _ in events)
        return
    if not any(isinstance(event, Gaussian | Approximate) for event, _ in events):
        assert found <= pld.epsilon_of(events, F(0))
    # Millions of laws are composed on a coarse grid, not the same both times.
    back = pld.delta_of(events, found)
    assert back <= delta * F(101, 100) or found == 0 or sum(n for _, n in events) >= 10**6
    for event, _ in events:
        if not isinstance(event, Gaussian) or event.sigma2 > 1:
            assert curve(event, found) <= delta * (1 + F(1, 10**9))


@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 10**12), F(1, 10**15), F(1, 10**30)])
def test_tiny_deltas_lose_no_accuracy(delta: F) -> None:
    """Two ways to the same law: Laplace noise that moves by 1 is randomised response."""
    mp.mp.dps = 60
    times, top = 40, 1 / (1 + mp.exp(mp.mpf(-1) / 10))
    found = pld.epsilon_of([(Laplace(F(10), 1), times)], delta)

    def exact(epsilon: F) -> mp.mpf:
        return mp.fsum(
            mp.binomial(times, k)
            * top**k
            * (1 - top) ** (times - k)
            * -mp.expm1(number(epsilon - F(2 * k - times, 10)))
            for k in range(times + 1)
            if F(2 * k - times, 10) > epsilon
        )

    assert exact(found) <= number(delta)
    assert exact(found * (1 - F(1, 10**6))) > number(delta)


# --- targets ------------------------------------------------------------------------------------


def least_scale(noise: Callable[[F], list[Counted]], low: F, high: F) -> F:
    """The least noise, to a part in 10^4, for which epsilon is at most 1 at delta 10^-6."""
    while high - low > high / 10**4:
        middle = F(float(low + high) / 2).limit_denominator(10**6)
        if pld.epsilon_of(noise(middle), MILLIONTH) <= 1:
            high = middle
        else:
            low = middle
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
    gaussian = discrete_gaussian.epsilon_of(wide * wide, ONE, MILLIONTH / 10)
    assert 10 / wide + 10 * gaussian > 1


@pytest.mark.thorough
def test_it_is_fast() -> None:
    """20 ms for a handful of events, half a second for a thousand; here with room for bad days."""
    pld.epsilon_of(MIX, MILLIONTH)

    def spent(events: list[Counted]) -> float:
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            pld.epsilon_of(events, MILLIONTH)
            best = min(best, time.process_time() - start)
        return best

    assert spent([(event, 17 * times) for event, times in MIX]) < 0.1
    assert spent([(Laplace(F(300 + k, 7), 1 + k % 5), 1) for k in range(1000)]) < 2.0
