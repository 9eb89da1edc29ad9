"""Counting: as a slow count does it, in any batches, and to the last digit."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from record_laws import build_labels_response, build_step, numeric, sample, tally_answers, window

from dprelease.local.store.answer_cells import list_level_values
from dprelease.local.store.tally import Tallier, choose_pairs
from dprelease.model import Grid, LaplaceLaw, RecordStep, WindowLaw

HALF = Fraction(1, 2)
GRID = Grid(Fraction(1, 100), -50, 150)
LAW = WindowLaw(window(4, 1, Fraction(3)), window(5, 2, Fraction(2)), HALF)
STEP = build_step(
    build_labels_response("a", ["x", "y", "z"], HALF),
    build_labels_response("b", list("stuvw"), HALF, 2),
    build_labels_response("c", [f"{n}" for n in range(40)], HALF, 9),
    numeric("n", GRID, LaplaceLaw(Fraction(30))),
    numeric("m", GRID, LAW),
)
PAIRS = (("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"))


def columns_of(rows: int, seed: int = 3) -> list[np.ndarray]:
    rng = random.Random(seed)
    found = []
    for response in STEP.responses:
        if response.column.name == "c":
            sets = [sorted(rng.sample(range(40), 9)) for _ in range(rows)]
            found.append(np.array(sets, dtype=np.uint16).reshape(-1, 9))
        else:
            top = 150 if response.column.group is None else 2
            found.append(sample(response, [rng.randint(0, top) for _ in range(rows)], rng))
    return found


def test_it_counts_as_a_slow_count_does() -> None:
    columns = columns_of(500)
    tally = tally_answers(STEP, [columns], PAIRS)
    plain = dict(zip("abcnm", [each.tolist() for each in columns], strict=True))
    assert tally.rows == 500
    for name, width in (("a", 3), ("b", 5), ("c", 40)):
        slow = tuple(sum(i in row for row in plain[name]) for i in range(width))
        assert tally.labels[name] == slow
    assert tally.sums["n"] == sum(plain["n"])
    values = list_level_values(LAW, GRID)
    assert tally.sums["m"] == sum(values[level] for level in plain["m"])
    for one, other in PAIRS:
        for i, row in enumerate(tally.pairs[one, other]):
            for j, count in enumerate(row):
                both = zip(plain[one], plain[other], strict=True)
                assert count == sum(i in first and j in second for first, second in both)


def test_batches_are_as_good_as_the_whole() -> None:
    columns = columns_of(300)
    whole = tally_answers(STEP, [columns], PAIRS)
    parts = [[each[start:end] for each in columns] for start, end in ((0, 1), (1, 1), (1, 300))]
    assert tally_answers(STEP, parts, PAIRS) == whole


def test_sums_beyond_64_bits_are_exact() -> None:
    step = build_step(numeric("n", GRID, LaplaceLaw(Fraction(3))))
    for end in (2**63 - 1, -(2**63)):
        tally = tally_answers(step, [[np.array([end] * 1000 + [-7])]])
        assert tally.sums["n"] == 1000 * end - 7


def test_small_cross_tables_are_counted_without_asking() -> None:
    assert choose_pairs(STEP) == (("a", "b"),)
    many = build_step(*(build_labels_response(name, ["x", "y"], HALF) for name in "abcdefg"))
    assert len(choose_pairs(many)) == 10


@pytest.mark.parametrize("pair", [("a", "n"), ("a", "a"), ("a", "nowhere")])
def test_what_has_no_cross_table_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="pair"):
        Tallier(STEP, [pair])


def test_columns_of_unlike_lengths_are_refused() -> None:
    step: RecordStep = build_step(
        build_labels_response("a", ["x", "y"], HALF), build_labels_response("b", ["x", "y"], HALF)
    )
    with pytest.raises(ValueError, match="lengths"):
        Tallier(step).add([np.zeros((2, 1), np.uint16), np.zeros((3, 1), np.uint16)])
