"""The whole release of several quantiles keeps its promise: by brute force over tiny tables.

The law of every outcome, down to the slots that parts end at, is added up from the distances that
are executed; then all pairs of neighbours are compared. Law and promise share no formula.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction as F

import pytest
from msgspec.structs import replace as with_

from dprelease.kernel.chapters.choices.quantile_sampler import Grid, Mass, find_part, gather
from dprelease.mechanisms.quantiles import compute_loss, plan_levels
from dprelease.model.plans import QuantileScheme

Table = tuple[int, ...]
Law = dict[tuple[int, ...], float]
SLACK = 1 + 1e-9


def law(table: Table, upper: int, slots: int, scheme: QuantileScheme) -> Law:
    """P of every outcome: one slot or value for each step, in the order of steps."""
    held = Counter(table)
    mass = gather(sorted(held), [held[x] for x in sorted(held)], Grid(0, upper), slots)
    return dict(outcomes(mass, scheme, {}, (), 1.0))


def outcomes(
    mass: Mass, scheme: QuantileScheme, found: dict[int, int], path: tuple[int, ...], chance: float
) -> list[tuple[tuple[int, ...], float]]:
    if len(path) == len(scheme.steps):
        return [(path, chance)]
    step = scheme.steps[len(path)]
    part = find_part(mass, scheme, step, found)
    units = range(part.first, part.last + 1)
    weights = [math.exp(-float(part.rate) * part.measure_distance(mass, unit)) for unit in units]
    total = math.fsum(weights)
    return [
        outcome
        for unit, weight in zip(units, weights, strict=True)
        for outcome in outcomes(
            mass,
            scheme,
            {**found, step.index: unit * part.size},
            (*path, unit),
            chance * weight / total,
        )
    ]


def tables(upper: int, most: int) -> list[Table]:
    values = range(upper + 1)
    return [
        table
        for size in range(most + 1)
        for table in itertools.combinations_with_replacement(values, size)
    ]


def extended(table: Table, more: Table) -> Table:
    return tuple(sorted(table + more))


def added(upper: int, most: int, rows: int) -> list[tuple[Table, Table]]:
    """Neighbours: one has some rows more, up to ``rows``."""
    return [
        (table, extended(table, more))
        for table in tables(upper, most - rows)
        for more in tables(upper, rows)
        if more
    ]


def replaced(upper: int, most: int, rows: int) -> list[tuple[Table, Table]]:
    """Neighbours: exactly ``rows`` rows, or fewer, have other values."""
    return [
        (extended(table, one), extended(table, other))
        for table in tables(upper, most - rows)
        for one in itertools.combinations_with_replacement(range(upper + 1), rows)
        for other in itertools.combinations_with_replacement(range(upper + 1), rows)
        if one != other
    ]


def moved(upper: int, most: int, rows: int) -> list[tuple[Table, Table]]:
    """What replaced rows of two cells do to one: some come, some go, up to ``rows`` of each."""
    return [
        (extended(table, one), extended(table, other))
        for table in tables(upper, most - rows)
        for one in tables(upper, rows)
        for other in tables(upper, rows)
        if one != other
    ]


RELATIONS = {
    "add-remove": (added, False, False),
    "replace": (moved, True, False),
    "replace, stays": (replaced, True, True),
}


def worst(
    pairs: list[tuple[Table, Table]], upper: int, slots: int, scheme: QuantileScheme
) -> float:
    """The largest log-ratio of any outcome between any of the neighbours."""
    laws: dict[Table, Law] = {}
    largest = 0.0
    for pair in pairs:
        for table in pair:
            if table not in laws:
                laws[table] = law(table, upper, slots, scheme)
        first, second = (laws[table] for table in pair)
        assert first.keys() == second.keys()
        for outcome, chance in first.items():
            largest = max(largest, abs(math.log(chance / second[outcome])))
    return largest


CASES = [
    ((F(1, 2),), 3, 4, 1),
    ((F(4, 5),), 3, 4, 1),
    ((F(1, 3), F(2, 3)), 2, 4, 2),
    ((F(1, 2), F(3, 4)), 2, 4, 1),
    ((F(1, 4), F(1, 2), F(3, 4)), 2, 3, 2),
    ((F(1, 10), F(1, 5), F(9, 10)), 1, 4, 2),
    ((F(1, 5), F(2, 5), F(3, 5), F(4, 5)), 1, 3, 2),
]


@pytest.mark.one_in(14)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("quantiles", "upper", "most", "slots"), CASES)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_outcome_tells_more_than_the_promise(
    relation: str, quantiles: tuple[F, ...], upper: int, most: int, slots: int, rows: int
) -> None:
    neighbours, replace, stays = RELATIONS[relation]
    for epsilon in (F(1, 2), F(3)):
        scheme = plan_levels(quantiles, epsilon, rows, replace, stays=stays)
        found = worst(neighbours(upper, most, rows), upper, slots, scheme)
        assert found <= float(epsilon) * SLACK


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("quantiles", [(F(1, 2),), (F(1, 4), F(1, 2), F(3, 4))])
def test_the_promise_is_no_wider_than_it_has_to_be(relation: str, quantiles: tuple[F, ...]) -> None:
    """With rates three times as high the same comparison fails, so it could."""
    neighbours: Callable[[int, int, int], list[tuple[Table, Table]]]
    neighbours, replace, stays = RELATIONS[relation]
    scheme = plan_levels(quantiles, F(3), 1, replace, stays=stays)
    pairs = neighbours(2, 4, 1)
    assert worst(pairs, 2, 2, scheme) > (0.5 if len(quantiles) == 1 else 0.3) * 3
    steep = QuantileScheme(
        scheme.quantiles, tuple(with_(step, rate=step.rate * 3) for step in scheme.steps)
    )
    assert compute_loss(steep, 1, replace, stays=stays)[0] == 9
    assert worst(pairs, 2, 2, steep) > 3 * SLACK


def reweighted(upper: int, most: int, lightest: int, heaviest: int) -> list[tuple[Table, Table]]:
    """Neighbours: one record has another value and another weight; a weight is so many rows."""
    records = [
        (value,) * weight for value in range(upper + 1) for weight in range(lightest, heaviest + 1)
    ]
    return [
        (extended(table, one), extended(table, other))
        for table in tables(upper, most - heaviest)
        for one in records
        for other in records
        if one != other
    ]


def weighed(upper: int, most: int, lightest: int, heaviest: int) -> list[tuple[Table, Table]]:
    """Neighbours: one has a record more, of a weight within its bounds."""
    return [
        (table, extended(table, (value,) * weight))
        for table in tables(upper, most - heaviest)
        for value in range(upper + 1)
        for weight in range(lightest, heaviest + 1)
    ]


WEIGHED = {
    "add-remove": (weighed, False, False),
    "replace, stays": (reweighted, True, True),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", WEIGHED)
@pytest.mark.parametrize(("quantiles", "upper", "most", "slots"), CASES)
@pytest.mark.parametrize("weights", [(0, 2), (1, 2), (2, 2), (1, 3)])
def test_a_weight_is_worth_as_many_records(
    relation: str,
    quantiles: tuple[F, ...],
    upper: int,
    most: int,
    slots: int,
    weights: tuple[int, int],
) -> None:
    neighbours, replace, stays = WEIGHED[relation]
    for epsilon in (F(1, 2), F(3)):
        scheme = plan_levels(quantiles, epsilon, weights[1], replace, stays=stays)
        pairs = neighbours(upper, max(most, weights[1]), *weights)
        assert worst(pairs, upper, slots, scheme) <= float(epsilon) * SLACK


@pytest.mark.one_in(3)
@pytest.mark.parametrize("relation", WEIGHED)
@pytest.mark.parametrize("weights", [(0, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("q", [F(1, 2), F(4, 5)])
def test_a_weighted_record_moves_the_distance_by_no_more_and_as_much(
    relation: str, weights: tuple[int, int], q: F
) -> None:
    """By the largest weight times max(a, b - a), or times b where it is replaced."""
    neighbours, replace, stays = WEIGHED[relation]
    scheme = plan_levels((q,), F(1), 1, replace, stays=stays)
    a, b = q.numerator, q.denominator

    def distances(table: Table) -> list[int]:
        held = Counter(table)
        mass = gather(sorted(held), [held[x] for x in sorted(held)], Grid(0, 2), 1)
        part = find_part(mass, scheme, scheme.steps[0], {})
        return [part.measure_distance(mass, unit) for unit in range(3)]

    most = max(
        abs(x - y)
        for one, other in neighbours(2, 9, *weights)
        for x, y in zip(distances(one), distances(other), strict=True)
    )
    assert most == weights[1] * (b if replace else max(a, b - a))


def test_a_weight_that_is_left_out_would_be_found() -> None:
    for relation, (neighbours, replace, stays) in WEIGHED.items():
        scheme = plan_levels((F(1, 2),), F(3), 1, replace, stays=stays)
        assert worst(neighbours(2, 6, 1, 3), 2, 1, scheme) > 3 * SLACK, relation


def test_two_cells_lose_what_their_rows_add_up_to() -> None:
    """A row moves from one cell to another: the log-ratios of both add up, within the promise."""
    quantiles = (F(1, 3), F(2, 3))
    scheme = plan_levels(quantiles, F(2), 1, True)
    laws = {table: law(table, 2, 2, scheme) for table in tables(2, 3)}

    def ratio(one: Table, other: Table) -> float:
        return max(abs(math.log(laws[one][key] / laws[other][key])) for key in laws[one])

    left = max(ratio(extended(table, (x,)), table) for table in tables(2, 2) for x in range(3))
    come = max(ratio(table, extended(table, (x,))) for table in tables(2, 2) for x in range(3))
    assert left + come <= 2 * SLACK
    assert compute_loss(scheme, 1, False)[0] == 1
    assert max(left, come) <= SLACK
