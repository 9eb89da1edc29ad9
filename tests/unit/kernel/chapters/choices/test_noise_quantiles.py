"""The drawing of quantiles: the score it executes, the blocks it draws from, odd tables."""

import itertools
import time
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.kernel.chapters.choices.quantile_sampler import (
    Grid,
    Listed,
    Mass,
    Outputs,
    Part,
    count_slots,
    cut,
    find_part,
    gather,
    release,
)
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.mechanisms.quantiles import plan_levels

DECILES = tuple(F(k, 10) for k in range(1, 10))
QUARTILES = (F(1, 4), F(1, 2), F(3, 4))
TARGETS = [F(1, 2), F(1, 3), F(9, 10), F(2, 5)]
UPPER = 3


def compute_mass(table: tuple[int, ...], slots: int, outputs: Outputs = Grid(0, UPPER)) -> Mass:  # noqa: B008
    held = Counter(table)
    return gather(sorted(held), [held[x] for x in sorted(held)], outputs, slots)


def tables(size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(range(UPPER + 1), size))


def scores(
    table: tuple[int, ...], target: F, slots: int, ends: tuple[int, int] | None
) -> list[int]:
    """D of every candidate of a part: of the whole line, or of that between two slots."""
    mass = compute_mass(table, slots)
    first, last = ends or (0, (UPPER + 1) * slots - 1)
    low, high = (mass.sum_below(first), mass.sum_below(last)) if ends else (0, mass.total)
    part = Part(first, last, 1, low, high, target.numerator, target.denominator, F(1))
    return [part.measure_distance(mass, unit) for unit in range(first, last + 1)]


def test_the_distance_of_whole_values_is_that_of_ranks() -> None:
    """By counting, as the definition says, and 0 for a quantile of the table."""
    for size in range(5):
        for table in tables(size):
            for target in TARGETS:
                found = scores(table, target, 1, None)
                for value, distance in enumerate(found):
                    below = sum(x < value for x in table)
                    upto = sum(x <= value for x in table)
                    rank = target * size
                    assert F(distance, target.denominator) == max(0, below - rank, rank - upto)
                assert min(found) == 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("slots", "ends"), [(1, None), (2, None), (4, (3, 9)), (4, (5, 14))])
def test_sensitivity_of_the_distance(target: F, slots: int, ends: tuple[int, int] | None) -> None:
    """Over all small tables: max(a, b - a) for a record more, b for another, and both reached.

    Reached where a part holds whole records; in one that ends within values no more than that.
    """
    a, b = target.numerator, target.denominator
    added = replaced = 0
    for size in range(4):
        for table in tables(size):
            base = scores(table, target, slots, ends)
            for extra in range(UPPER + 1):
                more = scores(tuple(sorted((*table, extra))), target, slots, ends)
                moves = [abs(x - y) for x, y in zip(base, more, strict=True)]
                added = max(added, *moves)
                for other in range(UPPER + 1):
                    else_ = scores(tuple(sorted((*table, other))), target, slots, ends)
                    moves = [abs(x - y) for x, y in zip(else_, more, strict=True)]
                    replaced = max(replaced, *moves)
    bounds = slots * max(a, b - a), slots * b
    if ends is None:
        assert (added, replaced) == bounds
    else:
        assert added <= bounds[0]
        assert replaced <= bounds[1]


def test_the_usual_score_prefers_no_quantile_where_values_repeat() -> None:
    """Why the distance is one of rank intervals: 60 fives and 50 nines."""
    usual = {5: -abs(0 - 50), 6: -abs(60 - 50)}
    assert usual[6] > usual[5]
    mass = gather([5, 9], [60, 50], Grid(0, 10), 1)
    part = Part(0, 10, 1, 0, 110, 1, 2, F(1))
    assert [part.measure_distance(mass, value) for value in (4, 5, 6, 9)] == [110, 0, 10, 10]


@st.composite
def parts(draw: st.DrawFn) -> tuple[Mass, Part]:
    """A table, and a part of it as it comes up in a scheme of three quantiles."""
    upper = draw(st.integers(0, 12))
    held = draw(st.dictionaries(st.integers(0, upper), st.integers(1, 40), max_size=6))
    outputs: Outputs = Grid(0, upper)
    if draw(st.booleans()):
        listed = draw(st.sets(st.integers(0, upper), min_size=1))
        outputs = Listed(tuple(sorted(listed)))
    slots = draw(st.sampled_from([1, 2, 16]))
    mass = gather(sorted(held), [held[x] for x in sorted(held)], outputs, slots)
    epsilon = draw(st.sampled_from([F(1, 1000), F(1), F(30), F(3000), F(10**8)]))
    scheme = plan_levels(QUARTILES, epsilon, 1, False)
    found: dict[int, int] = {}
    for step in scheme.steps[: draw(st.integers(1, 3))]:
        part = find_part(mass, scheme, step, found)
        found[step.index] = draw(st.integers(part.first, part.last)) * part.size
    return mass, part


@settings(max_examples=examples(200))
@given(parts())
def test_blocks_hold_every_unit_once_and_bound_its_distance(case: tuple[Mass, Part]) -> None:
    """And promise little more than there is: so drawing comes to an end."""
    mass, part = case
    blocks = cut(mass, part)
    distances = {
        unit: part.measure_distance(mass, unit) for unit in range(part.first, part.last + 1)
    }
    units = []
    for start, size, bound in zip(blocks.starts, blocks.sizes, blocks.bounds, strict=True):
        for unit in range(int(start), int(start + size)):
            units.append(unit)
            assert 0 <= bound <= distances[unit]
    assert sorted(units) == list(distances)
    assert part.rate * (min(distances.values()) - int(blocks.bounds.min())) <= 1
    # The mass of a part is its own: none but the last holds what lies above.
    assert 0 <= part.low <= part.high <= mass.total
    held = [mass.sum_below(unit * part.size) for unit in distances]
    assert held == sorted(held)


def test_near_the_target_most_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also deep within a heap of equal values, where slots differ by far."""
    from dprelease.kernel.chapters.choices import quantile_sampler

    tries = 0
    choose = quantile_sampler.choose

    def counted(*arguments: object) -> tuple[int, int]:
        nonlocal tries
        tries += 1
        return choose(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(quantile_sampler, "choose", counted)
    scheme = plan_levels(QUARTILES, F(2), 1, False)
    for _ in range(10):
        release([7], [10**9], 0, 10, scheme, SystemEntropy())
    assert tries < 10 * 3 * 4


def test_outputs_never_fall() -> None:
    scheme = plan_levels(DECILES, F("0.3"), 1, False)
    rng = np.random.default_rng(1)
    for size in (0, 1, 3, 40):
        for _ in range(6):
            points, counts = np.unique(rng.integers(-20, 20, size), return_counts=True)
            found = release(points, counts, -20, 20, scheme, SystemEntropy())
            assert list(found) == sorted(found)
            assert len(found) == 9
            assert found[0] >= -20
            assert found[-1] <= 20


def test_odd_tables() -> None:
    entropy = SystemEntropy()
    sharp = plan_levels(DECILES, F(4000), 1, False)
    blunt = plan_levels(DECILES, F(1), 1, False)
    assert release([], [], 4, 4, blunt, entropy) == (4,) * 9
    assert release([4], [9], 4, 4, blunt, entropy) == (4,) * 9
    assert release([3], [10**9], -(10**15), 10**15, sharp, entropy) == (3,) * 9
    assert release([3], [1], 0, 9, sharp, entropy) == (3,) * 9
    tens = release(range(100), [10**9] * 100, 0, 99, sharp, entropy)
    assert all(abs(value - 10 * k) <= 1 for k, value in enumerate(tens, 1))
    edge = 2**61
    assert release([-edge, edge], [1, 1], -edge, edge, plan_levels([F(1, 4)], F(4000), 1, False),
                   entropy) == (-edge,)  # fmt: skip


def test_an_empty_cell_is_uniform() -> None:
    scheme = plan_levels([F(1, 2)], F(1), 1, False)
    held = Counter(release([], [], 1, 4, scheme, SystemEntropy())[0] for _ in range(800))
    assert set(held) == {1, 2, 3, 4}
    assert min(held.values()) > 110  # 200 expected, 7 standard deviations


def test_only_candidates_come_out() -> None:
    scheme = plan_levels(QUARTILES, F(4000), 1, False)
    points = list(range(100))
    found = release(points, [5] * 100, 0, 99, scheme, SystemEntropy(), candidates=[10, 27, 52, 90])
    assert found == (27, 52, 90)
    alone = release(points, [5] * 100, 0, 99, scheme, SystemEntropy(), candidates=[7])
    assert alone == (7, 7, 7)


@pytest.mark.parametrize(
    ("points", "counts", "lower", "upper", "candidates"),
    [
        ([1, 1], [1, 1], 0, 5, None),
        ([2, 1], [1, 1], 0, 5, None),
        ([1, 2], [1], 0, 5, None),
        ([1], [0], 0, 5, None),
        ([6], [1], 0, 5, None),
        ([-1], [1], 0, 5, None),
        ([], [], 5, 0, None),
        ([1], [1], 0, 5, []),
        ([1], [1], 0, 5, [2, 2]),
        ([1], [1], 0, 5, [6]),
        ([6], [1], 0, 5, [3]),
        ([1, 2], [2**61, 2**61], 0, 5, None),
    ],
)
def test_tables_that_are_none_are_refused(
    points: list[int], counts: list[int], lower: int, upper: int, candidates: list[int] | None
) -> None:
    scheme = plan_levels([F(1, 2)], F(1), 1, False)
    with pytest.raises(ValueError, match=r"histogram|outputs?"):
        release(points, counts, lower, upper, scheme, SystemEntropy(), candidates)


def test_rounded_numbers_are_refused() -> None:
    scheme = plan_levels([F(1, 2)], F(1), 1, False)
    with pytest.raises(TypeError, match="integers"):
        release([1.5], [1], 0, 5, scheme, SystemEntropy())  # type: ignore[list-item]


def test_slots_leave_room_for_the_outputs() -> None:
    assert count_slots(10, parted=True) == 4096
    assert count_slots(10, parted=False) == 1
    assert count_slots(2**60, parted=True) == 1
    assert all(count_slots(2**k, parted=True) * 2**k < 2**61 for k in range(60))


def test_a_million_values_take_no_time() -> None:
    scheme = plan_levels(DECILES, F(1), 1, False)
    points = np.arange(10**6, dtype=np.int64) * 7
    counts = np.full(10**6, 3, dtype=np.int64)
    started = time.perf_counter()
    found = release(points, counts, 0, 7 * 10**6, scheme, SystemEntropy())
    assert time.perf_counter() - started < 2
    assert all(abs(value - k * 700_000) < 7 * 300 for k, value in enumerate(found, 1))
