"""What is claimed of quantiles holds wherever values lie between what can be published.

A quantile is the multiple of the step, or the listed candidate, nearest to a value that is no more
ranks from the true quantile than ``_rank_moe`` says. Values here are where that says most: between
candidates, off the grid, close to where the nearest one changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, NamedTuple

import pytest

from dprelease.kernel.chapters.choices.quantile_sampler import choose_quantiles, move_to_nearest
from dprelease.language import word
from dprelease.model import Step
from dprelease.planning.planner import make_plan
from dprelease.specfile import load
from dprelease.statistics.statistic_registry import get_statistic

DRAWS = 200
LEVEL = Fraction(95, 100)
MOST_WRONG = DRAWS / 20 + 3 * sqrt(DRAWS * 0.05 * 0.95)


class Case(NamedTuple):
    """A column, a quantile query, and values with their weights."""

    column: dict[str, Any]
    query: dict[str, Any]
    values: Sequence[Fraction | int]
    weights: Sequence[int] = ()


TENS = list(range(0, 101, 10))
POWERS = [1, 10, 100, 1000, 10_000]
WIDE = {"type": "integer", "lower": 0, "upper": 10_000}
MEDIAN = {"statistic": "median"}
QUARTILES = {"statistic": "quantile", "q": [0.25, 0.5, 0.75]}
BETWEEN = [50 + at % 50 for at in range(600)]
ODD = [55] * 299 + [56] * 301  # both sides of the middle of 10 and 100
CASES = {
    "powers of ten": Case(WIDE, MEDIAN | {"candidates": POWERS}, BETWEEN),
    "about a middle": Case(WIDE, MEDIAN | {"candidates": POWERS}, ODD),
    "quartiles among tens": Case(WIDE, QUARTILES | {"candidates": TENS}, BETWEEN),
    "quartiles among powers": Case(WIDE, QUARTILES | {"candidates": POWERS}, BETWEEN),
    "beyond all candidates": Case(WIDE, QUARTILES | {"candidates": [1, 2, 3]}, BETWEEN),
    "a coarse step": Case(
        {"type": "integer", "lower": 0, "upper": 100_000, "step": 1000},
        MEDIAN,
        [1 + 5 * at % 999 for at in range(600)],
    ),
    "quartiles on a coarse step": Case(
        {"type": "decimal", "lower": 0, "upper": 10, "step": 2},
        QUARTILES,
        [Fraction(at, 60) for at in range(-60, 720)],
    ),
    "weighted": Case(
        WIDE, MEDIAN | {"candidates": POWERS}, BETWEEN, [1 + at % 3 for at in range(600)]
    ),
    "ends": Case(WIDE, {"statistic": "max", "candidates": POWERS}, BETWEEN),
}


def build_step(case: Case) -> Step:
    columns: dict[str, Any] = {"x": case.column}
    data = {"path": "d.csv"}
    if case.weights:
        columns["w"] = {"type": "integer", "lower": 0, "upper": 3}
        data["weight"] = "w"
    spec = {
        "release": {"name": "claims"},
        "data": data,
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 2},
        "columns": columns,
        "query": [{"name": "q", "column": "x"} | case.query],
        "output": {"path": "out"},
    }
    (step,) = make_plan(load(spec)).steps
    return step


def list_possible(step: Step) -> list[Fraction]:
    """What can be published, in values."""
    assert step.points is not None
    grid = step.points.grid
    points = step.query.points or range(grid.lower, grid.upper + 1)
    return [point * grid.step for point in points]


def list_measures(case: Case, step: Step) -> tuple[list[int], list[int], list[int]]:
    """The values as engines hand them on: on the grid, each with its records or weight."""
    assert step.points is not None
    grid, held = step.points.grid, Counter[int]()
    for value, weight in zip(case.values, case.weights or [1] * len(case.values), strict=True):
        held[min(max(round(value / grid.step), grid.lower), grid.upper)] += weight
    points = sorted(held)
    return [0] * len(points), points, [held[point] for point in points]


def near(case: Case, q: Fraction, ranks: Fraction) -> Iterator[Fraction]:
    """The values that are no more than so many ranks from the true quantile."""
    weights = case.weights or [1] * len(case.values)
    held: Mapping[Fraction | int, int] = Counter()
    for value, weight in zip(case.values, weights, strict=True):
        held[value] += weight  # type: ignore[index]
    below, target = 0, q * sum(weights)
    for value in sorted(held):
        if max(below - target, target - below - held[value]) <= ranks:
            yield Fraction(value)
        below += held[value]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_the_nearest_to_a_value_within_the_stated_ranks(name: str, entropy: Any) -> None:
    case = CASES[name]
    step = build_step(case)
    assert step.points is not None
    possible, measures = list_possible(step), list_measures(case, step)
    drawn = [choose_quantiles(step, measures, [0], entropy) for _ in range(DRAWS)]
    columns = get_statistic(step.query.statistic).build_columns(step, drawn[0], LEVEL)
    stated = [column.values[0] for column in columns if column.aspect == "_rank_moe"]
    for place, q in enumerate(step.query.quantiles):
        ranks = Fraction(int(stated[place] or 0))
        assert ranks < len(case.values) / 4  # else nothing is claimed
        allowed = set()
        for value in near(case, q, ranks):
            least = min(abs(value - one) for one in possible)
            allowed |= {one for one in possible if abs(value - one) == least}
        found = [one[place][0] * step.points.grid.step for one in drawn]
        assert sum(value not in allowed for value in found) <= MOST_WRONG


def test_heaps_of_records_add_what_the_description_says(entropy: Any) -> None:
    """Parts end at a 4,096th of a value's records: the last quantile may be off by as many."""
    case = Case(WIDE, QUARTILES | {"candidates": [0, 10, 20, 30]}, [])
    step, heap, beyond = build_step(case), 1 << 20, 60
    counts = [heap, heap, heap - beyond, heap + beyond]
    measures = [0] * 4, [0, 10, 20, 30], counts
    drawn = [choose_quantiles(step, measures, [0], entropy)[2][0] for _ in range(DRAWS)]
    *_, last = (
        column
        for column in get_statistic(step.query.statistic).build_columns(step, [[0]] * 3, LEVEL)
        if column.aspect == "_rank_moe"
    )
    ranks = int(last.values[0] or 0)
    assert ranks < beyond <= ranks + heap / 4096
    assert "m/4,096 more for each quantile that was found before" in word(last.description)
    assert sum(one == 20 for one in drawn) > MOST_WRONG  # so it has to be said
    assert sum(one not in {20, 30} for one in drawn) <= MOST_WRONG


def test_values_are_moved_to_the_nearest_candidate_and_records_stay() -> None:
    candidates = [-7, 0, 3, 10, 11]
    values = list(range(-20, 25))
    counts = [at % 4 + 1 for at in range(len(values))]
    points, held = move_to_nearest(values, counts, candidates)
    expected: Counter[int] = Counter()
    for value, count in zip(values, counts, strict=True):
        expected[min(candidates, key=lambda one, value=value: (abs(value - one), one))] += count
    assert dict(zip(points, held, strict=True)) == expected
    assert points == sorted(points)
    assert move_to_nearest([], [], candidates) == ((), ())
    assert move_to_nearest([5], [2], [0]) == ([0], [2])
    wide = [-(2**53) + 1, 2**53 - 1]
    assert move_to_nearest(wide, [1, 2], wide) == (wide, [1, 2])
    with pytest.raises(ValueError, match="2\\^62"):
        move_to_nearest([1, 2], [1 << 61, 1 << 61], candidates)


def test_a_record_of_a_neighbour_moves_one_record_at_most() -> None:
    """Moving is done value by value: one record more is one more at one candidate."""
    candidates, values = [0, 4, 9], list(range(-2, 12))
    base = dict.fromkeys(values, 1)
    points, held = move_to_nearest(list(base), list(base.values()), candidates)
    before = dict(zip(points, held, strict=True))
    for value in values:
        more = base | {value: 2}
        after = dict(
            zip(*move_to_nearest(list(more), list(more.values()), candidates), strict=True)
        )
        assert sum(abs(after[one] - before[one]) for one in candidates) == 1
