"""Estimates are unbiased, exactly: by enumeration of everything that can be released."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from record_laws import (
    ENDS,
    answers,
    build_labels_response,
    build_step,
    numeric,
    sample,
    tally_answers,
    window,
)

from dprelease.local.estimation.answer_intervals import compute_window_variance
from dprelease.local.estimation.estimates import compute_chances, estimate_all
from dprelease.model import Grid, LaplaceLaw, RecordStep, SubsetLaw, Tally, WindowLaw

KEEP = Fraction(3, 5)
GRID = Grid(Fraction(1, 4), -4, 8)
WINDOWS = WindowLaw(window(4, 1, Fraction(3)), window(5, 2, Fraction(2)), Fraction(1, 3))


def array(step: RecordStep, place: int, found: list[object]) -> object:
    law = step.responses[place].law
    if isinstance(law, SubsetLaw):
        return np.array(found, dtype=np.uint16).reshape(-1, law.size)
    return np.array(found, dtype=np.int16)


def expectations(step: RecordStep, records: list[tuple[int, ...]]) -> dict[object, Fraction]:
    """The expectation of every estimate, over all that can come out."""
    laws = [
        [answers(each, code) for each, code in zip(step.responses, record, strict=True)]
        for record in records
    ]
    flat = [law for record in laws for law in record]
    total: dict[object, Fraction] = {}
    for outcome in product(*(law.items() for law in flat)):
        chance = Fraction(1)
        for _, each in outcome:
            chance *= each
        width = len(step.responses)
        columns = [
            array(step, place, [answer for answer, _ in outcome[place::width]])
            for place in range(width)
        ]
        found = estimate_all(step, tally_answers(step, [columns]), ENDS)
        values: dict[object, Fraction] = {}
        for each in found.shares:
            values |= {(each.column, i): one.value for i, one in enumerate(each.figures)}
        for each in found.means:
            values[each.column] = each.figure.value
        for cross in found.crosses:
            for i, row in enumerate(cross.figures):
                values |= {("cross", i, j): one.value for j, one in enumerate(row)}
        for name, value in values.items():
            total[name] = total.get(name, Fraction(0)) + chance * value
    return total


@pytest.mark.parametrize("size", [1, 2])
def test_shares_and_cross_tables_are_right_on_average(size: int) -> None:
    step = build_step(
        build_labels_response("a", ["x", "y", "z"], KEEP, size),
        build_labels_response("b", ["n", "y"], Fraction(7, 9)),
    )
    records = [(0, 1), (2, 1)]
    found = expectations(step, records)
    half = Fraction(1, 2)
    assert [found["a", i] for i in range(3)] == [half, 0, half]
    assert [found["b", i] for i in range(2)] == [0, 1]
    for i, j in product(range(3), range(2)):
        assert found["cross", i, j] == Fraction(records.count((i, j)), 2)


def test_records_without_a_label_are_spread_evenly() -> None:
    step = build_step(
        build_labels_response("a", ["x", "y", "z"], KEEP, 2),
        build_labels_response("b", ["n", "y"], KEEP),
    )
    found = expectations(step, [(-1, 1), (0, -1)])
    assert [found["a", i] for i in range(3)] == [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)]
    assert [found["b", i] for i in range(2)] == [Fraction(1, 4), Fraction(3, 4)]
    assert found["cross", 0, 1] == (Fraction(1, 3) + Fraction(1, 2)) / 2


def test_an_answer_that_is_usually_wrong_is_read_right() -> None:
    step = build_step(build_labels_response("a", ["x", "y"], Fraction(1, 8)))
    assert expectations(step, [(0,), (0,)]) == {("a", 0): 1, ("a", 1): 0}


def test_means_of_levels_are_right_on_average() -> None:
    step = build_step(numeric("n", GRID, WINDOWS))
    for records in ([(-4,), (8,)], [(3,), (1,)], [(-3,), (7,)]):
        (mean,) = expectations(step, records).values()
        assert mean == Fraction(sum(k for (k,) in records), 2) * GRID.step


def test_the_largest_variance_of_levels_is_found() -> None:
    column = numeric("n", GRID, WINDOWS)
    half = Fraction(GRID.width, 2)
    from dprelease.local.store.answer_cells import list_level_values

    values = list_level_values(WINDOWS, GRID)
    found = []
    for code in range(GRID.lower, GRID.upper + 1):
        square = sum(chance * values[level] ** 2 for level, chance in answers(column, code).items())
        found.append((square - code**2) / half**2)
    assert max(found) <= compute_window_variance(WINDOWS) <= max(found) * Fraction(11, 10)


def test_a_mean_with_laplace_noise_is_the_mean_of_the_answers() -> None:
    step = build_step(numeric("n", GRID, LaplaceLaw(Fraction(7))))
    tally = Tally(4, sums={"n": Fraction(10)})
    (mean,) = estimate_all(step, tally, ENDS).means
    assert mean.figure.value == Fraction(10, 4) / 4
    assert mean.figure.lower < Fraction(10, 16) < mean.figure.upper


def test_less_noise_makes_no_interval_wider() -> None:
    tally = Tally(1000, sums={"n": Fraction(10)})
    widths = []
    for part in (1, 2, 4, 8, 16, 30, 60, 150, 200, 1000):
        step = build_step(numeric("n", GRID, LaplaceLaw(Fraction(7, part))))
        (mean,) = estimate_all(step, tally, ENDS).means
        assert mean.figure.lower <= float(mean.figure.value) <= mean.figure.upper
        widths.append(mean.figure.upper - mean.figure.lower)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 1e-12


def test_nothing_is_estimated_of_no_records() -> None:
    step = build_step(build_labels_response("a", ["x", "y"], KEEP))
    assert estimate_all(step, tally_answers(step, []), ENDS).shares == ()


def test_a_single_label_is_everybodys() -> None:
    step = build_step(build_labels_response("a", ["x"], Fraction(1)))
    (found,) = estimate_all(step, Tally(5, {"a": (5,)}), ENDS).shares
    assert found.figures[0].value == 1


@pytest.mark.parametrize(
    "law",
    [SubsetLaw(3, 1, Fraction(1, 3)), SubsetLaw(3, 3, Fraction(1)), SubsetLaw(2, 1, Fraction(2))],
)
def test_a_law_that_tells_nothing_is_refused(law: SubsetLaw) -> None:
    with pytest.raises(ValueError, match="law"):
        compute_chances(law)


def test_estimates_of_many_records_are_close() -> None:
    """A wrong debiasing would be off by many standard deviations."""
    rng = random.Random(5)
    step = build_step(
        build_labels_response("a", ["x", "y", "z", "u"], Fraction(4, 5), 2),
        numeric("n", GRID, WINDOWS),
    )
    codes = [0] * 3000 + [1] * 1000
    values = [rng.randint(-4, 8) for _ in codes]
    columns = [sample(step.responses[0], codes, rng), sample(step.responses[1], values, rng)]
    found = estimate_all(step, tally_answers(step, [columns]), Fraction(999_999, 10**6))
    truth = (0.75, 0.25, 0, 0)
    for figure, share in zip(found.shares[0].figures, truth, strict=True):
        assert figure.lower <= share <= figure.upper
        assert figure.upper - figure.lower < 0.3
    mean = found.means[0].figure
    assert mean.lower <= sum(values) / len(values) / 4 <= mean.upper
