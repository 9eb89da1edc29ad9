"""Gaussian events as laws: merged or apart, never below what is exact."""

import itertools
from fractions import Fraction as F

import pytest

from dprelease.model import shift as shifts
from dprelease.model.privacy_events import Counted, Gaussian
from dprelease.model.shift import Shift
from dprelease.privacy import pld, pld_gaussian
from dprelease.privacy.gaussian import discrete as discrete_gaussian
from dprelease.privacy.pld_gaussian import dominating, entries_of, gaussian_laws
from dprelease.privacy.pld_laws import Bell, Widest

MILLIONTH = F(1, 10**6)


@pytest.mark.parametrize(("l2_squared", "coordinates"), [(1, 1), (4, 3), (7, 2), (9, 5), (12, 3)])
def test_entries_dominate_all_moves(l2_squared: int, coordinates: int) -> None:
    bound = dominating(shifts.general(l2_squared, coordinates))
    for move in itertools.product(range(4), repeat=coordinates):
        if sum(v * v for v in move) <= l2_squared:
            entries = [v for v in sorted(move, reverse=True) if v]
            assert len(entries) <= len(bound)
            assert all(v <= w for v, w in zip(entries, bound, strict=False))


def test_entries_dominate_all_shapes() -> None:
    assert dominating(shifts.split(5)) == (5, 2)
    assert dominating(Shift(9, 3, ((1, 1, 2), (3,)))) == (3, 1, 1)
    assert entries_of(shifts.pair(2, 3)) == (2, 3)
    assert entries_of(shifts.general(17, 1)) == (4,)
    assert entries_of(shifts.split(5)) == entries_of(shifts.general(5, 2)) == ()


@pytest.mark.parametrize(
    ("event", "kinds"),
    [
        (Gaussian(F(20), shifts.single(3)), [Bell(F(20), 3)]),
        (Gaussian(F(20), shifts.pair(3, 3)), [Bell(F(20), 3), Bell(F(20), 3)]),
        (Gaussian(F(1, 9), shifts.general(5, 2)), [Bell(F(1, 9), 2), Bell(F(1, 9), 1)]),
        (Gaussian(F(20), shifts.split(3)), [Widest(F(20), ((3,), (1, 2)))]),
        (Gaussian(F(10**6), shifts.single(3)), []),
        (Gaussian(F(1000), shifts.general(300, 4)), []),
    ],
    ids=str,
)
def test_how_an_event_is_taken(event: Gaussian, kinds: list[Bell | Widest]) -> None:
    apart, mu2, factor, kappa = gaussian_laws({event: 2}, 0.0)
    assert apart == [(kind, 2) for kind in kinds]
    if kinds:
        assert (mu2, factor, kappa) == (0, 1, 0)
    else:
        exact = 2 * event.shift.l2_squared / event.sigma2
        assert exact < mu2 < exact * (1 + 4 / event.sigma2)
        assert 1 < factor < 1 + F(1, 1000)
        assert 0 < kappa < F(1, 1000)


@pytest.mark.parametrize(
    "events",
    [
        [(Gaussian(F(9), shifts.single(1)), 30)],
        [(Gaussian(F(20), shifts.single(1)), 5), (Gaussian(F(90), shifts.pair(1, 2)), 9)],
        [(Gaussian(F(3), shifts.single(1)), 1)],
    ],
    ids=str,
)
def test_merging_only_adds(events: list[Counted], monkeypatch: pytest.MonkeyPatch) -> None:
    apart = pld.epsilon_of(events, MILLIONTH)
    monkeypatch.setattr(pld_gaussian, "_CHEAP", 100.0)
    merged = pld.epsilon_of(events, MILLIONTH)
    assert gaussian_laws(dict(events), 0.0)[0] == []
    smallest = min(event.sigma2 for event, _ in events if isinstance(event, Gaussian))
    assert apart * (1 - F(1, 10**9)) <= merged <= apart * (1 + 2 / smallest)


@pytest.mark.parametrize(
    ("sigma2", "shift", "tolerance"),
    [
        (F(30), shifts.split(4), F(1, 10**3)),
        (F(17, 4), shifts.split(2), F(1, 10**3)),
        (F(7), shifts.pair(1, 2), F(1, 10**3)),
        # Of these only bounds are known: smoothing there and here.
        (F(3000), shifts.general(2500, 6), F(1, 10**2)),
    ],
)
def test_one_event_is_never_below_the_exact_sum(sigma2: F, shift: Shift, tolerance: F) -> None:
    """And for shapes of one or two entries it is the exact sum."""
    for epsilon in (F(1, 10), F(1), F(3)):
        exact = discrete_gaussian.delta_of(sigma2, shift, epsilon)
        events: list[Counted] = [(Gaussian(sigma2, shift), 1)]
        composed = pld._delta(pld.problem_of(pld.counted(events)), epsilon)
        assert composed is not None
        if shift.shapes:
            assert exact * (1 - F(1, 10**15)) <= composed <= exact * (1 + tolerance)
        else:
            assert composed <= exact * (1 + tolerance)


def test_so_many_events_are_merged() -> None:
    events = {Gaussian(F(100 + k), shifts.single(1)): 1 for k in range(500)}
    apart, mu2, _, _ = gaussian_laws(events, 0.0)
    assert len(apart) <= 32
    exact = sum(1 / event.sigma2 for event in events)
    alone = sum(law.step**2 / law.sigma2 for law, _ in apart if isinstance(law, Bell))
    assert exact < mu2 + alone < exact * F(102, 100)


def test_no_law_at_all() -> None:
    with pytest.raises(OverflowError):
        gaussian_laws({Gaussian(F(1, 1000), shifts.general(10**6, 10**5)): 1}, 0.0)
