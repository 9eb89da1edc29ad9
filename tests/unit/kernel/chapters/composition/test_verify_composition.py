"""Composed losses: what is true is confirmed, what is a little too good is refused.

The truth comes from enumerating all outcomes (or binomial counts, or closed forms), in floats and
with none of the verifier's code. Ranges are enumerated by pieces put together, which can only hide
differences: so their truth is from below.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from dprelease.kernel.chapters.composition import search
from dprelease.kernel.chapters.composition.confirm import is_confirmed
from dprelease.kernel.chapters.composition.grid import Law
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

Floats = NDArray[np.float64]
Atoms = tuple[Floats, Floats]
"""Losses, and their masses under P."""

HAIR, ROOM = 2e-5, 3e-4  # refused that much below the truth, confirmed that much above


# --- the truth ------------------------------------------------------------------------------------


def pure(epsilon: float) -> Atoms:
    mass = 1 / (1 + math.exp(-epsilon))
    return np.array([epsilon, -epsilon]), np.array([mass, mass * math.exp(-epsilon)])


def laplace(scale: float, moves: Iterable[int]) -> Atoms:
    atoms = [additive(lambda x: math.exp(-abs(x) / scale), 60 * scale, move) for move in moves]
    return product(atoms)


def gaussian(sigma2: float, moves: Iterable[int]) -> Atoms:
    reach = 14 * math.sqrt(sigma2) + 2
    return product(
        [additive(lambda x: math.exp(-x * x / (2 * sigma2)), reach, move) for move in moves]
    )


def additive(weight: Callable[[int], float], reach: float, move: int) -> Atoms:
    """All outcomes of noise on one integer, those left out less than 10^-25 in all."""
    places = range(-math.ceil(reach), math.ceil(reach) + 1)
    kept = [x for x in places if weight(x) > 0 and weight(x - move) > 0]
    total = math.fsum(map(weight, places))
    losses = np.array([math.log(weight(x)) - math.log(weight(x - move)) for x in kept])
    return losses, np.array([weight(x) / total for x in kept])


def build_range(span: float, pieces: int = 1200) -> Atoms:
    """e^(L/2) is uniform: the middles of pieces, short at both ends, have their mean of e^-L."""
    edges = span * np.sin(np.linspace(-math.pi / 2, math.pi / 2, pieces + 1))
    roots = np.exp(edges / 2)
    return (edges[1:] + edges[:-1]) / 2, (roots[1:] - roots[:-1]) / (roots[-1] - roots[0])


def product(laws: Sequence[Atoms]) -> Atoms:
    losses: Floats = np.zeros(1)
    masses: Floats = np.ones(1)
    for more, weights in laws:
        losses = np.round(np.add.outer(losses, more).ravel(), 12).astype(np.float64)
        masses = np.multiply.outer(masses, weights).ravel()
        losses, where = np.unique(losses, return_inverse=True)
        grouped: Floats = np.zeros(len(losses))
        np.add.at(grouped, where.ravel(), masses)
        masses = grouped
    return losses, masses


def compute_delta_at(law: Atoms, epsilon: float) -> float:
    losses, masses = law
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def compute_epsilon_at(law: Atoms, delta: float) -> float:
    low, high = 0.0, float(law[0].max())
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if compute_delta_at(law, middle) > delta else (low, middle)
    return high


def check(events: Sequence[Counted], truth: float, delta: float, hair: float = HAIR) -> None:
    """The claim that is a little above is confirmed, the one a little below refused."""
    assert is_confirmed(events, F(truth * (1 + ROOM)), F(delta))
    assert not is_confirmed(events, F(truth * (1 - hair)), F(delta))


# --- every kind, alone and composed ---------------------------------------------------------------

KINDS: dict[str, tuple[Event, Callable[[], Atoms]]] = {
    "pure": (Pure(F("0.4")), lambda: pure(0.4)),
    "laplace by one": (Laplace(F(3), 1), lambda: laplace(3, [1])),
    "laplace by seven": (Laplace(F("16.5"), 7), lambda: laplace(16.5, [7])),
    "laplace, fine": (Laplace(F(900), 300), lambda: laplace(900, [300])),
    "range": (Range(F("0.7")), lambda: build_range(0.7)),
    "gaussian, little noise": (
        Gaussian(F("0.6"), shifts.build_single_shift(1)),
        lambda: gaussian(0.6, [1]),
    ),
    "gaussian": (Gaussian(F("14.5"), shifts.build_single_shift(2)), lambda: gaussian(14.5, [2])),
    "gaussian, two entries": (
        Gaussian(F(9), shifts.build_pair_shift(2, 1)),
        lambda: gaussian(9, [2, 1]),
    ),
}


@cache
def get_law(name: str) -> Atoms:
    """Give all losses of a kind; to enumerate some takes a while."""
    return KINDS[name][1]()


DELTAS = (1e-3, 1e-6, 1e-9)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", KINDS)
def test_one_event(name: str, delta: float) -> None:
    event, law = KINDS[name][0], get_law(name)
    check([(event, 1)], compute_epsilon_at(law, delta), delta)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", KINDS)
def test_the_same_event_again(name: str, delta: float) -> None:
    event, law = KINDS[name][0], get_law(name)
    times = 2 if len(law[0]) > 500 else 4
    check([(event, times)], compute_epsilon_at(product([law] * times), delta), delta)


MIXES = [
    ("pure", "laplace by seven", "gaussian"),
    ("range", "pure", "laplace by one"),
    ("range", "gaussian, little noise"),
    ("laplace, fine", "gaussian, two entries", "pure"),
    ("pure", "pure", "laplace by one", "laplace by seven", "gaussian, little noise"),
]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("names", MIXES, ids=" + ".join)
def test_mixed_events(names: Sequence[str], delta: float) -> None:
    law = product([get_law(name) for name in names])
    check([(KINDS[name][0], 1) for name in names], compute_epsilon_at(law, delta), delta)


def binomial(epsilon: float, times: int) -> Atoms:
    """So many pure events: the number of losses of one sign is binomial."""
    up = -math.log1p(math.exp(-epsilon))
    logs = [
        math.lgamma(times + 1) - math.lgamma(k + 1) - math.lgamma(times - k + 1)
        + times * up - (times - k) * epsilon
        for k in range(times + 1)
    ]  # fmt: skip
    losses = [(2 * k - times) * epsilon for k in range(times + 1)]
    return np.array(losses), np.exp(np.array(logs))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 100), ("0.013", 1000), ("1", 37)])
def test_many_pure_events(epsilon: str, times: int, delta: float) -> None:
    truth = compute_epsilon_at(binomial(float(epsilon), times), delta)
    check([(Pure(F(epsilon)), times)], truth, delta, hair=1e-6)


def compute_normal_epsilon(mu: float, delta: float) -> float:
    """The continuous Gaussian's, by its closed form."""

    def tail(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def delta_of(epsilon: float) -> float:
        return tail(mu / 2 - epsilon / mu) - math.exp(epsilon) * tail(-mu / 2 - epsilon / mu)

    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.parametrize("times", [1, 30, 1000])
@pytest.mark.parametrize(
    ("sigma2", "shift"),
    [
        (F(10**7), shifts.build_single_shift(1000)),
        (F(10**5), shifts.build_general_shift(900, 30)),
        (F(90_000), shifts.build_pair_shift(12, 20)),
    ],
    ids=str,
)
def test_much_noise_is_normal(sigma2: F, shift: shifts.Shift, times: int, delta: float) -> None:
    truth = compute_normal_epsilon(math.sqrt(times * shift.l2_squared / sigma2), delta)
    check([(Gaussian(sigma2, shift), times)], truth, delta, hair=1e-4)


@pytest.mark.parametrize("delta", DELTAS)
def test_any_of_several_shapes(delta: float) -> None:
    """Alone the worst shape counts; the general bound is not as good."""
    shapes = [(1, 1, 1, 1, 1), (2, 1)]
    truth = max(compute_epsilon_at(gaussian(1.7, shape), delta) for shape in shapes)
    check([(Gaussian(F("1.7"), shifts.build_general_shift(5, 5)), 1)], truth, delta)
    split = [(3,), (1, 2)]
    truth = max(compute_epsilon_at(gaussian(4.0, shape), delta) for shape in split)
    check([(Gaussian(F(4), shifts.split(3)), 1)], truth, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_one_of_several_shapes_again(delta: float) -> None:
    """Here (3) is worse than (1, 2) at every g, so that the truth is that of (3) alone."""
    worst, other = gaussian(25, [3]), gaussian(25, [1, 2])
    assert all(
        compute_delta_at(worst, g) > compute_delta_at(other, g) for g in np.linspace(0, 4, 60)
    )
    truth = compute_epsilon_at(product([worst] * 8), delta)
    check([(Gaussian(F(25), shifts.split(3)), 8)], truth, delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("times", [1, 3])
def test_what_may_fail(times: int, delta: float) -> None:
    failing = delta / 10
    kept = (1 - failing) ** times
    law = product([pure(0.3)] * times + [pure(0.2)])
    truth = compute_epsilon_at(law, (delta - (1 - kept)) / kept)
    events: list[Counted] = [(Approximate(F("0.3"), F(failing)), times), (Pure(F("0.2")), 1)]
    check(events, truth, delta)
    assert not is_confirmed(events, F(1000), F(failing / 2))


def test_laplace_noise_on_several_integers_is_no_worse() -> None:
    """The proof's claim, by enumeration, at every g; and a smaller n is worse."""
    for scale, moves in ((3.0, (1, 1)), (3.0, (1, 2)), (0.8, (2, 1, 1)), (20.0, (4, 5))):
        one, several = laplace(scale, [sum(moves)]), laplace(scale, moves)
        coarse = laplace(scale / sum(moves), [1])
        for g in np.linspace(-sum(moves) / scale, sum(moves) / scale, 41):
            assert compute_delta_at(several, g) <= compute_delta_at(one, g) + 1e-12
            assert compute_delta_at(one, g) <= compute_delta_at(coarse, g) + 1e-12


# --- figures known from elsewhere -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "epsilon"),
    [
        ([(Pure(F("0.1")), 100)], "4.7745675881"),
        ([(Laplace(F(10**7), 10**6), 100)], "4.69267"),
        ([(Gaussian(F(10**12), shifts.build_single_shift(10**6)), 1)], "4.8865541175"),
        ([(Gaussian(F(1), shifts.build_single_shift(1)), 1)], "4.4995909822"),
        ([(Gaussian(F(1, 10**12) + 10**8, shifts.build_single_shift(1000)), 100)], "4.8865541175"),
    ],
    ids=str,
)
def test_published_figures(events: list[Counted], epsilon: str) -> None:
    check(events, float(epsilon), 1e-6, hair=1e-5)


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (Range(F(1)), 0.0774046863),
        (Laplace(F(10**6), 10**6), 0.2211992169),
    ],
)
def test_published_deltas(event: Event, delta: float) -> None:
    assert is_confirmed([(event, 1)], F("0.5"), F(delta * (1 + 1e-5)))
    assert not is_confirmed([(event, 1)], F("0.5"), F(delta * (1 - 1e-8)))


# --- many different ones --------------------------------------------------------------------------


@pytest.mark.thorough
def test_many_different_events() -> None:
    """The truth on a grid of 10^-4 on which all losses lie, -4 to 4 of it."""
    sizes, reach = range(50, 350), 40_000
    law = np.zeros(2 * reach + 1)
    law[reach] = 1.0
    for size in sizes:
        up = 1 / (1 + math.exp(-size / 10_000))
        moved = np.zeros_like(law)
        moved[size:] = law[:-size] * up
        moved[:-size] += law[size:] * (1 - up)
        law = moved
    truth = compute_epsilon_at((np.arange(-reach, reach + 1) / 10_000, law), 1e-6)
    check([(Pure(F(size, 10_000)), 1) for size in sizes], truth, 1e-6)


# --- the tests can fail ---------------------------------------------------------------------------


def test_a_curve_lowered_by_a_hundredth_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = search.build_event_law

    def lowered(*arguments: object) -> Law:
        law = honest(*arguments)  # type: ignore[arg-type]
        return replace(law, mass=law.mass * 0.99)

    truths: list[tuple[list[Counted], float]] = [
        ([(event, 4)], compute_epsilon_at(product([law] * 4), 1e-3))
        for event, law in ((KINDS[name][0], get_law(name)) for name in KINDS)
        if len(law[0]) < 500
    ]
    for events, truth in truths:
        check(events, truth, 1e-3)
    monkeypatch.setattr(search, "build_event_law", lowered)
    for events, truth in truths:
        with pytest.raises(AssertionError):
            check(events, truth, 1e-3)
