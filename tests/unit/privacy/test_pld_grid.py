"""Laws on a grid: nowhere below the curve, hardly above it, and a wrong law is found out."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest

from dprelease.model.privacy_events import Gaussian, Laplace, Pure, Range
from dprelease.model.shift import Shift, single
from dprelease.privacy import pld_normal
from dprelease.privacy.gaussian import continuous
from dprelease.privacy.pld_curves import curve
from dprelease.privacy.pld_grid import TOP_BITS, Floats, Grid, Piece
from dprelease.privacy.pld_laws import Bell, Ladder, Law, Normal, Slope, Two, Widest
from dprelease.privacy.pld_pieces import piece_of

LAWS = [
    Two(F(1, 3)),
    Two(F(1, 10**9)),
    Two(F(60)),
    Ladder(F(5, 2), 1),
    Ladder(F(7), 3),
    Ladder(F(900), 400),
    Ladder(F(1, 20), 2),
    Slope(F(1, 3), False),
    Slope(F(1, 10**8), False),
    Slope(F(40), False),
    Slope(F(1, 3), True),
    Slope(F(5), True),
    Bell(F(1), 1),
    Bell(F(3, 10), 1),
    Bell(F(200), 3),
    Widest(F(30), ((4,), (1, 3), (2, 2))),
    Widest(F(2), ((2,), (1, 1))),
    Normal(F(1)),
    Normal(F(1, 10**10)),
    Normal(F(400)),
]
LADDERS = [law for law in LAWS if isinstance(law, Two | Ladder)]
WIDE = Normal(F(2500))  # here all mass is rounded up
PARTS = (-1.3, -0.8, -0.21, 0.0, 0.13, 0.5, 0.9, 0.999, 1.0, 1.4, 2.5)


def number(x: F) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


def width(law: Law) -> F:
    match law:
        case Ladder(scale, l1):
            return l1 / scale
        case Bell(sigma2, step):
            return step**2 / (2 * sigma2) + F(2 * step / math.sqrt(sigma2))
        case Widest(sigma2, shapes):
            return F(2 * sum(shapes[0]) / math.sqrt(sigma2))
        case Normal(mu2):
            return mu2 / 2 + F(2 * math.sqrt(mu2))
        case _:
            return law.span


def truth(law: Law, g: F) -> mp.mpf:
    match law:
        case Two(span):
            return number(curve(Pure(span), g))
        case Ladder(scale, l1):
            return number(curve(Laplace(scale, l1), g))
        case Slope(span, True):
            rise = (g - span) / 2 if g > -span else g
            return mp.mpf(0) if g >= span else -mp.expm1(number(rise))
        case Slope(span, False):
            return number(curve(Range(span), g))
        case Bell(sigma2, step):
            return number(curve(Gaussian(sigma2, single(step)), g))
        case Widest(sigma2, shapes):
            longest = max(sum(v * v for v in shape) for shape in shapes)
            return number(curve(Gaussian(sigma2, Shift(longest, 2, shapes)), g))
        case Normal(mu2):
            return number(continuous.delta_of(mu2, g))
    raise AssertionError


Points = list[tuple[mp.mpf, mp.mpf, mp.mpf]]


def points(piece: Piece, grid: Grid) -> Points:
    """Losses, masses under P and under Q, in 40 digits."""
    h = number(grid.step)
    top, lift = number(F(piece.top, 1 << TOP_BITS)) * h, mp.mpf(grid.tilt) * h
    found = []
    for depth, weight in zip(piece.depth.tolist(), piece.weight.tolist(), strict=True):
        loss = top - int(depth) * h
        mass = weight * mp.exp(piece.log_scale + int(depth) * lift)
        found.append((loss, mass, mass * mp.exp(-loss)))
    return found


def delta_of(law: Points, piece: Piece, g: F) -> mp.mpf:
    """The piece's own curve."""
    point, growth = number(g), mp.exp(number(g))
    return piece.infinity + mp.fsum(p - growth * q for loss, p, q in law if loss > point)


def falls_short(piece: Piece, grid: Grid, law: Law) -> bool:
    at = points(piece, grid)
    return any(
        delta_of(at, piece, g) < truth(law, g) * (1 - mp.mpf(10) ** -20) - mp.mpf(10) ** -35
        for g in (F(part) * width(law) for part in PARTS)
    )


@pytest.fixture(autouse=True)
def digits() -> None:
    mp.mp.dps = 40


@pytest.mark.one_in(6)
@pytest.mark.parametrize("law", [*LAWS, WIDE], ids=str)
@pytest.mark.parametrize("cells", [F(1, 3), F(31, 3), F(50)])
@pytest.mark.parametrize("tilt", [0.0, 4.0])
def test_no_curve_is_below_the_law(law: Law, cells: F, tilt: float) -> None:
    grid = Grid(width(law) / cells, tilt / float(width(law)), -45.0, -45.0)
    assert not falls_short(piece_of(law, grid), grid, law)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_curves_are_close_to_the_law(law: Law) -> None:
    w = width(law)
    grid = Grid(min(w / 50, F(1, 10)), 0.0, -45.0, -45.0)
    piece = piece_of(law, grid)
    at = points(piece, grid)
    for part in PARTS:
        exact, found = truth(law, F(part) * w), delta_of(at, piece, F(part) * w)
        # Half a step to either side is more than any splitting moves.
        lower = truth(law, F(part) * w - grid.step / 2)
        assert found - exact <= 0.5 * (lower - exact) + mp.mpf(10) ** -10


@pytest.mark.parametrize("law", LADDERS, ids=str)
def test_a_spacing_that_is_a_multiple_costs_nothing(law: Two | Ladder) -> None:
    spacing = 2 * law.span if isinstance(law, Two) else 2 / law.scale
    grid = Grid(spacing / 3, 0.0, -45.0, -45.0)
    piece = piece_of(law, grid)
    at = points(piece, grid)
    for part in PARTS:
        g = F(part) * width(law)
        assert float(delta_of(at, piece, g)) == pytest.approx(float(truth(law, g)), rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("wrong", ["lighter", "lower", "down"])
def test_a_wrong_law_is_found_out(law: Law, wrong: str) -> None:
    grid = Grid(width(law) / 7, 0.0, -45.0, -45.0)
    piece = piece_of(law, grid)
    mutant = {
        "lighter": lambda: replace(piece, log_scale=piece.log_scale - 0.05),
        "lower": lambda: replace(piece, top=piece.top - (1 << (TOP_BITS - 1))),
        # All mass to the lower point of its cell, as if splitting were rounding down.
        "down": lambda: replace(piece, depth=piece.depth + 1),
    }[wrong]()
    assert falls_short(mutant, grid, law)


def test_half_the_splitting_is_found_out() -> None:
    """Splitting so that the plain mean stays, and not that of e^-loss, is too little."""
    law, h = Two(F(3)), F(4)
    grid = Grid(h, 0.0, -45.0, -45.0)
    piece = piece_of(law, grid)
    low = 1 / (1 + math.exp(3))  # 6 below the top, between the points 4 and 8 below it
    weights = np.array([1 - low, low / 2, low / 2])
    mutant = Piece(piece.top, np.array([0.0, 1.0, 2.0]), weights, 0.0, 0.0)
    assert falls_short(mutant, grid, law)


def test_many_rungs_are_a_slope_of_slightly_larger_span() -> None:
    scale, rungs = F(50), 5000
    bend = 1 / (4 * scale * scale)
    for k in range(-60, 1200, 7):
        g = rungs / scale - F(k, 300)
        slope = truth(Slope(rungs / scale + bend, True), g)
        ladder = number(curve(Laplace(scale, rungs), g))
        assert ladder <= slope <= ladder + mp.mpf("2e-4")


@pytest.mark.parametrize("law", [Two(F(2)), Slope(F(2), True), Bell(F(3), 1), Normal(F(1))])
def test_a_tail_that_the_tilt_forgets_moves_up(law: Law) -> None:
    exact = Grid(F(1, 50), 40.0, -45.0, -60.0)
    rough = Grid(F(1, 50), 40.0, -45.0, -12.0)
    assert not falls_short(piece_of(law, rough), rough, law)
    assert len(piece_of(law, rough).depth) <= len(piece_of(law, exact).depth)


TWO_ENTRIES = Widest(F(1, 2), ((1, 1),))


@pytest.mark.parametrize(
    "law", [*(law for law in LAWS if isinstance(law, Bell | Widest | Normal)), TWO_ENTRIES]
)
def test_what_lies_above_the_top_is_infinite(law: Law) -> None:
    """Of either entry, if there are two."""
    grid = Grid(width(law) / 50, 0.0, -3.0, -45.0)
    piece = piece_of(law, grid)
    assert not falls_short(piece, grid, law)
    part = 0.5 if law == TWO_ENTRIES else 0.0
    assert falls_short(replace(piece, infinity=piece.infinity * part), grid, law)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("cells", [F(7, 3), F(50)])
def test_no_curve_is_below_the_law_at_the_points_of_the_grid(law: Law, cells: F) -> None:
    """There splitting adds nothing that could hide a mass that is rounded to a depth too low.

    Places are rounded down, and the mu of a normal law up, by a few parts in 2^53 as well. That is
    for the proof: weights are raised by 2^-44 of themselves, which hides so little.
    """
    grid = Grid(width(law) / cells, 0.0, -45.0, -45.0)
    piece = piece_of(law, grid)
    at = points(piece, grid)
    for depth in range(2 * math.ceil(cells)):
        g = (F(piece.top, 1 << TOP_BITS) - depth) * grid.step
        if abs(g) <= width(law):
            assert delta_of(at, piece, g) >= truth(law, g)


@pytest.mark.parametrize("law", [Normal(F(1)), Normal(F(400)), Normal(F(1, 10**10))], ids=str)
def test_errors_of_normal_masses_are_paid_for(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were each mass off by nearly all that is admitted, the curve would still be above the law."""
    real, signs = pld_normal._cells, itertools.cycle((-1, 1))

    def off(edges: Floats, mu: float) -> tuple[Floats, Floats]:
        """The masses under P too small, those under Q too large."""
        mass, error = real(edges, mu)
        return np.maximum(mass + next(signs) * 0.9 * error, 0.0), error

    monkeypatch.setattr(pld_normal, "_cells", off)
    monkeypatch.setattr(pld_normal, "_U", pld_normal._U * 1e6)  # so that nothing else hides it
    test_no_curve_is_below_the_law_at_the_points_of_the_grid(law, F(50))


def test_normal_masses_are_as_good_as_they_say() -> None:
    mp.mp.dps = 330
    edges = np.linspace(36, -36, 200)
    survival = [mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2 for x in edges.tolist()]
    for mu in (1e-5, 1.0, 20.0):
        mass, error = pld_normal._cells(edges, mu)
        for at, (found, off) in enumerate(zip(mass, error, strict=True)):
            assert abs(survival[at + 1] - survival[at] - found) <= off
        for x, exact in zip(edges.tolist(), survival, strict=True):
            assert pld_normal._tail(np.array([x]), mu)[0] >= min(exact, 1)


@pytest.mark.parametrize(
    "law", [Two(F(10**5)), Slope(F(10**3), False), Bell(F(10**12), 1), Normal(F(10**9))]
)
def test_what_is_too_wide_is_refused(law: Law) -> None:
    with pytest.raises(OverflowError):
        piece_of(law, Grid(F(1, 10**12), 0.0, -45.0, -45.0))
