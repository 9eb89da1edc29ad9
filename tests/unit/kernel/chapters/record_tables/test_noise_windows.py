"""Answers of windows: their exact law against its definition, and exactly no bias."""

from __future__ import annotations

from fractions import Fraction as F
from math import floor

import numpy as np
import pytest
from record_laws import window_of_ratio
from thorough import for_each

from dprelease.kernel.chapters.record_tables.piecewise import build_windows
from dprelease.kernel.chapters.record_tables.record_draws import prepare_responses, respond
from dprelease.model import Grid
from dprelease.model.record_tables import Window, WindowLaw

ALL16 = np.arange(1 << 16, dtype="<u2").tobytes()
WIDE = 1 << 60


DUCHI = window_of_ratio(2, 1, F(2721, 1000))
FOUR = window_of_ratio(3, 1, F(2))  # weights 1, 1, 2: all dyadic
WINDOWS = [
    DUCHI,
    FOUR,
    window_of_ratio(8, 3, F(31, 7)),
    window_of_ratio(32, 5, F(10**9 + 7, 10**9)),
    window_of_ratio(5, 4, F(3)),
]
LAWS = [WindowLaw(each) for each in WINDOWS] + [
    WindowLaw(DUCHI, window_of_ratio(7, 2, F(19, 3)), F(0xABCDEF0123456789, 1 << 64)),
    WindowLaw(window_of_ratio(32, 8, F(5)), FOUR, F(1, 4)),
    WindowLaw(DUCHI, FOUR, F(1)),
    WindowLaw(DUCHI, FOUR, F(0)),
]


def compute_pmf(law: WindowLaw, grid: Grid, k: int) -> dict[int, F]:
    """By the words of ``Window`` and ``WindowLaw``, in fractions."""
    found: dict[int, F] = {}
    pieces = [(law.first, law.share, 0)]
    if law.second is not None:
        pieces.append((law.second, 1 - law.share, law.first.levels))
    for each, share, base in pieces:
        place = F((k - grid.lower) * (each.levels - each.width), grid.upper - grid.lower)
        whole = each.levels - each.width + each.ratio * each.width
        for start, chance in ((floor(place), 1 - place % 1), (floor(place) + 1, place % 1)):
            for level in range(each.levels):
                inside = start <= level < start + each.width
                weight = (each.ratio if inside else 1) / whole
                found[base + level] = found.get(base + level, F(0)) + share * chance * weight
    return found


def pmf_of_tables(law: WindowLaw, grid: Grid, k: int) -> dict[int, F]:
    """What the tables lead to: the law of the outcome, and the coin of what is left of a place."""
    table = build_windows(law)
    ends = [F(0), *table.choice.cuts, F(1)]
    found: dict[int, F] = {}
    for number, outcome in enumerate(table.choice.outcomes.tolist()):
        chance = ends[number + 1] - ends[number]
        start, rest = divmod((k - grid.lower) * int(table.reach[outcome]), grid.width)
        for more, coin in ((0, 1 - F(rest, grid.width)), (1, F(rest, grid.width))):
            if coin:
                level = int(table.levels[outcome * table.starts + start + more])
                found[level] = found.get(level, F(0)) + chance * coin
    return found


def stands_for(law: WindowLaw, grid: Grid, level: int) -> F:
    each = law.first
    if level >= law.first.levels:
        assert law.second is not None
        each, level = law.second, level - law.first.levels
    middle = F(grid.lower + grid.upper, 2)
    return middle + F(2 * level - (each.levels - 1), 2) * each.gap * F(grid.width, 2)


@for_each("law", LAWS)
@for_each(("lower", "upper"), [(0, 1), (-3, 4), (10, 110), (-WIDE, WIDE // 5)])
def test_tables_lead_to_exactly_the_law(law: WindowLaw, lower: int, upper: int) -> None:
    grid = Grid(F(1), lower, upper)
    for k in {lower, lower + 1, (lower + upper) // 2, upper - 1, upper}:
        exact = {level: p for level, p in compute_pmf(law, grid, k).items() if p}
        assert pmf_of_tables(law, grid, k) == exact
        assert sum(exact.values()) == 1
        assert sum(p * stands_for(law, grid, level) for level, p in exact.items()) == k


def test_drawn_levels_by_all_words(scripted) -> None:
    """Outcomes are walked through by all words of 16 bits, coins of eighths by eight words."""
    law, grid = WindowLaw(FOUR), Grid(F(1), -8, 8)
    for k in (-8, -7, -1, 0, 3, 7, 8):
        counts = np.zeros(3, dtype=np.int64)
        for eighth in range(8):
            coin = np.full(1 << 16, eighth << 13, dtype="<u2").tobytes()
            drawn = respond(law, np.full(1 << 16, k), grid, scripted(ALL16, coin))
            counts += np.bincount(drawn, minlength=3)
        exact = compute_pmf(law, grid, k)
        assert counts.tolist() == [exact[level] * 8 * (1 << 16) for level in range(3)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.first.levels}-{law.second is None}")
@pytest.mark.parametrize("size", [0, 1, (1 << 16) + 3])
def test_shapes_and_types(law: WindowLaw, size: int, hashed) -> None:
    grid = Grid(F(1, 10), -50, 950)
    codes = np.arange(size, dtype=np.int64) * 7919 % 1001 - 50
    before = codes.copy()
    prepare_responses(law)
    found = respond(law, codes, grid, hashed("shapes"))
    assert (found.shape, found.dtype) == ((size,), np.int16)
    assert (codes == before).all()
    count = law.first.levels + (law.second.levels if law.second else 0)
    assert found.min(initial=0) >= 0
    assert found.max(initial=0) < count


def test_a_grid_of_one_value_has_a_law_too(hashed) -> None:
    law = WindowLaw(FOUR)
    drawn = respond(law, np.full(60_000, 7), Grid(F(1), 7, 7), hashed("one"))
    assert abs(np.count_nonzero(drawn == 0) - 30_000) < 6 * 123


def test_a_grid_as_wide_as_it_can_be(hashed) -> None:
    """Products up to 2^63 - 1 don't wrap; beyond, the grid is refused, whatever the codes."""
    law, middle = WindowLaw(window_of_ratio(4, 1, F(10**12))), (1 << 63) // 6
    top = (1 << 63) // 3
    codes = np.array([0, middle, top], dtype=np.int64).repeat(100)
    drawn = respond(law, codes, Grid(F(1), 0, top), hashed("wide")).reshape(3, -1)
    assert (drawn[0] == 0).all()
    assert set(drawn[1].tolist()) == {1, 2}
    assert (drawn[2] == 3).all()
    for bad in (Grid(F(1), 0, top + 1), Grid(F(1), 1 << 63, (1 << 63) + 1)):
        with pytest.raises(ValueError, match="too many steps"):
            respond(law, codes[:1], bad, hashed("none"))


@pytest.mark.parametrize(
    "law",
    [
        WindowLaw(DUCHI, None, F(1, 2)),
        WindowLaw(DUCHI, FOUR, F(1, 3)),
        WindowLaw(DUCHI, FOUR, F(-1, 4)),
        WindowLaw(DUCHI, FOUR, F(5, 4)),
        WindowLaw(Window(2, 2, F(2), F(1))),
        WindowLaw(Window(2, 0, F(2), F(1))),
        WindowLaw(Window(2, 1, F(0), F(1))),
        WindowLaw(Window(2, 1, F(-3), F(1))),
        WindowLaw(Window(1 << 12, 1, F(2), F(1))),
    ],
)
def test_what_is_no_law_is_refused(law: WindowLaw, scripted) -> None:
    with pytest.raises(ValueError, match="window"):
        respond(law, np.zeros(1, dtype=np.int64), Grid(F(1), 0, 1), scripted())
    with pytest.raises(ValueError, match="window"):
        prepare_responses(law)


@pytest.mark.parametrize("bad", [-6, 106, 1 << 62])
def test_codes_outside_the_grid_are_refused_without_their_value(bad: int, scripted) -> None:
    codes = np.array([0, bad], dtype=np.int64)
    with pytest.raises(ValueError, match="outside the grid") as caught:
        respond(WindowLaw(FOUR), codes, Grid(F(1), -5, 105), scripted())
    assert str(bad) not in str(caught.value)
