"""Claims that are plain nonsense or plainly true, and the same events told in different ways."""

from fractions import Fraction as F

import pytest

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


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "event",
    [
        Pure(F("0.21")),
        Range(F("0.21")),
        Laplace(F(40), 9),
        Gaussian(F("30.5"), shifts.build_single_shift(1)),
        Gaussian(F(25), shifts.split(3)),
        Gaussian(F(800), shifts.build_general_shift(30, 9)),
        Approximate(F("0.21"), F(1, 10**9)),
    ],
    ids=str,
)
def test_at_once_or_one_by_one(event: Event) -> None:
    low, high = 0.0, 64.0
    while high - low > high / 200:
        middle = (low + high) / 2
        held = is_confirmed([(event, 37)], F(middle), F("1e-6"))
        low, high = (low, middle) if held else (middle, high)
    for split in ([(event, 1)] * 37, [(event, 30), (event, 0), (event, 7)]):
        assert is_confirmed(split, F(high), F("1e-6"))
        assert not is_confirmed(split, F(low), F("1e-6"))


# --- hostile claims -------------------------------------------------------------------------------

ONE = Pure(F(1))


@pytest.mark.parametrize(
    ("events", "epsilon", "delta"),
    [
        ([(ONE, 1)], F(-1), F("0.1")),
        ([(ONE, 1)], F(2), F(-1, 10)),
        ([(ONE, 1)], F(2), F(1)),
        ([(ONE, 1)], F(2), F(2)),
        ([(ONE, -1)], F(2), F("0.1")),
        ([(Pure(F(-1)), 1)], F(2), F("0.1")),
        ([(Range(F(-1)), 1)], F(2), F("0.1")),
        ([(Laplace(F(0), 1), 1)], F(2), F("0.1")),
        ([(Laplace(F(-1), 1), 1)], F(2), F("0.1")),
        ([(Laplace(F(1), -1), 1)], F(2), F("0.1")),
        ([(Laplace(F(-1), -1), 1)], F(2), F("0.1")),
        ([(Gaussian(F(0), shifts.build_single_shift(1)), 1)], F(2), F("0.1")),
        ([(Gaussian(F(-1), shifts.build_single_shift(1)), 1)], F(2), F("0.1")),
        ([(Gaussian(F(-1), shifts.build_zero_shift()), 1)], F(2), F("0.1")),
        ([(Approximate(F(1), F(-1, 10)), 1)], F(2), F("0.1")),
        ([(Approximate(F(1), F(2)), 1)], F(2), F("0.1")),
        ([(Approximate(F(1), F(1)), 1)], F(2), F("0.5")),
        ([(Approximate(F(1), F(1, 10)), 2)], F(10), F("0.1")),
        ([(ONE, 1)], F("0.999999"), F(0)),
        ([(ONE, 1)], F(0), F(0)),
        ([(ONE, 1)], F(0), F("0.4")),
        ([(Gaussian(F(100), shifts.build_single_shift(1)), 1)], F(100), F(0)),
        ([(Gaussian(F(1), shifts.build_general_shift(10**9, 9)), 1)], F(100), F("0.1")),
        ([(Gaussian(F(1, 10), shifts.build_general_shift(400, 9)), 1)], F(10**5), F("0.1")),
        ([(Pure(F(10**9)), 1)], F(10**8), F("0.1")),
        ([(Pure(F(10**400)), 1)], F(1), F("0.1")),
        ([(Laplace(F(1, 10**400), 1), 1)], F(1), F("0.1")),
        ([(ONE, 10**30)], F(10**29), F("1e-6")),
        ([(Pure(F(1, 10**30)), 10**15)], F(1, 10**23), F(1, 10**9)),
    ],
    ids=str,
)
def test_what_is_refused(events: list[Counted], epsilon: F, delta: F) -> None:
    assert not is_confirmed(events, epsilon, delta)


@pytest.mark.parametrize(
    ("events", "epsilon", "delta"),
    [
        ([], F(0), F(0)),
        ([(ONE, 0)], F(0), F(0)),
        ([(Pure(F(0)), 5), (Laplace(F(1), 0), 2), (Range(F(0)), 1)], F(0), F(0)),
        ([(Gaussian(F(1), shifts.build_zero_shift()), 3)], F(0), F(0)),
        ([(ONE, 3), (Range(F("0.5")), 1)], F("3.5"), F(0)),
        ([(Approximate(F(1), F(1, 10)), 1)], F(1), F(1, 10)),
        ([(Approximate(F(1), F(1, 10)), 2)], F(2), 1 - F(9, 10) ** 2),
        ([(Approximate(F(0), F(1, 3)), 1)], F(0), F(1, 3)),
        ([(ONE, 1)], F(0), F("0.4622")),
        ([(ONE, 5)], F(10**30), F(0)),
        ([(Gaussian(F(100), shifts.build_single_shift(1)), 1)], F(10**30), F("1e-30")),
        ([(Pure(F(1, 10**60)), 10**9)], F(1, 10**15), F(1, 10**9)),
        ([(Laplace(F(10**40), 10**40), 1)], F("0.999"), F("0.001")),
        ([(Gaussian(F(10**40), shifts.build_single_shift(10**20)), 1)], F("4.8871"), F("1e-6")),
        ([(Gaussian(F(10**30), shifts.build_single_shift(1)), 1)], F("0.001"), F("1e-6")),
    ],
    ids=str,
)
def test_what_is_confirmed(events: list[Counted], epsilon: F, delta: F) -> None:
    assert is_confirmed(events, epsilon, delta)


@pytest.mark.parametrize(("times", "exact"), [(1, True), (40, True), (1000, False)])
def test_failures_are_counted_to_the_last_digit(times: int, exact: bool) -> None:
    """Products of very many digits are cut: a little more is then taken to fail."""
    alone = F(123_456_789, 10**15)
    failing = 1 - (1 - alone) ** times
    events: list[Counted] = [(Approximate(F(1, 10), alone), times)]
    claims = [failing - F(1, 10**90), failing, failing + F(1, 10**90)]
    assert [is_confirmed(events, F(times, 10), each) for each in claims] == [False, exact, True]
