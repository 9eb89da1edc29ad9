"""What any engine keeps of one unit's rows: never too much, never too little, by chance alone.

What holds for every salt is here, and so is the law of the choice over many units: each row has the
same chance, whatever other rows there are like it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import binomtest
from tables import ENGINES, FORMS, T, asked, drawing, inputs, keyed, sql, written

from dprelease.model import (
    AggregateRequest,
    Bound,
    Grid,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.one_in(2),  # on one of the engines
]

TYPES = {"p": T.STRING, "g": T.STRING, "x": T.FLOAT}
PEOPLE, CELLS = ("ann", "bob", "cy"), ("a", "b", "c")
QUANTITY = Quantity("x", Grid(Fraction(1), -1, 10**6), null_fill=-1)
COUNT, UNITS = Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS)
NO_BOUND = 10**9

Row = tuple[str | None, str | None, float | None]
Kept = Counter[tuple[str, str, int]]

ROWS = st.lists(
    st.tuples(
        st.sampled_from([*PEOPLE, None]),
        st.sampled_from([*CELLS, "elsewhere", None]),
        st.sampled_from([0.0, 1.0, 2.0, 3.0, None]),
    ),
    max_size=25,
)
BOUNDS = st.builds(
    Bound,
    column=st.just("p"),
    rows=st.sampled_from([1, 2, 3, 7, NO_BOUND]),
    groups=st.sampled_from([1, 2, NO_BOUND]),
    per_group=st.sampled_from([1, 2, NO_BOUND]),
    leading=st.just(2),
    null_unit=st.booleans(),
    salt=st.sampled_from([0, 1, 2**63, 2**64 - 1]),
)
SETTINGS = drawing(30)


def bound_of(rows: int = NO_BOUND, groups: int = NO_BOUND, per: int = NO_BOUND) -> Bound:
    return Bound("p", rows, groups, per, leading=1)


def kept(engine: str, source: Source, bound: Bound, people: Iterable[str] = PEOPLE) -> Kept:
    """How often each grid integer is kept of each person in each cell."""
    people = (*people, "nobody")
    groups = (keyed("p", people[:-1], null="nobody"), keyed("g", CELLS))
    request = AggregateRequest(source, inputs(TYPES), groups, (), bound=bound, points=QUANTITY)
    cells, points, counts = asked(engine, request)
    return Counter(
        {
            (people[cell // len(CELLS)], CELLS[cell % len(CELLS)], k): count
            for cell, k, count in zip(cells, points, counts, strict=True)
        }
    )


def eligible(rows: Iterable[Row], bound: Bound) -> Kept:
    """What there is to be kept of."""
    return Counter(
        (p or "nobody", g, -1 if x is None else int(x))
        for p, g, x in rows
        if g in CELLS and (p is not None or bound.null_unit)
    )


# --- for every salt ------------------------------------------------------------------------------


@given(rows=ROWS, bound=BOUNDS, form=st.sampled_from(FORMS))
@SETTINGS
def test_no_more_is_kept_than_may_be_and_no_less(
    engine: str, tmp_path: Path, rows: list[Row], bound: Bound, form: str
) -> None:
    found = kept(engine, written(tmp_path / "t", TYPES, rows, form), bound)
    there = eligible(rows, bound)
    assert found <= there
    for person in (*PEOPLE, "nobody"):
        own, left = (
            Counter({(g, k): n for (p, g, k), n in table.items() if p == person})
            for table in (there, found)
        )
        sizes, left_sizes = Counter[str](), Counter[str]()
        for (g, _), count in own.items():
            sizes[g] += count
        for (g, _), count in left.items():
            left_sizes[g] += count
        assert left.total() <= bound.rows
        assert len(left_sizes) <= bound.groups
        assert max(left_sizes.values(), default=0) <= bound.per_group
        # each of the three alone gives the most it may, where the two others bind nobody
        if bound.groups >= len(sizes) and bound.per_group >= own.total():
            assert left.total() == min(bound.rows, own.total())
        if bound.rows >= own.total():
            assert len(left_sizes) == min(bound.groups, len(sizes))
            assert all(count == min(bound.per_group, sizes[g]) for g, count in left_sizes.items())
        assert bool(left) == bool(own)


@given(rows=ROWS, bound=BOUNDS)
@SETTINGS
def test_a_table_is_the_sum_of_its_people(
    engine: str, tmp_path: Path, rows: list[Row], bound: Bound
) -> None:
    whole = kept(engine, written(tmp_path / "t", TYPES, rows, "csv"), bound)
    parts: Kept = Counter()
    for person in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == person]
        parts += kept(engine, written(tmp_path / "t", TYPES, own, "csv"), bound)
    assert whole == parts


@pytest.mark.thorough
def test_a_person_with_very_many_rows_is_like_any_other(engine: str, tmp_path: Path) -> None:
    rest: list[Row] = [("bob", g, float(x)) for g in CELLS for x in range(5)]
    alone = written(tmp_path / "alone", TYPES, rest, "parquet")
    giants: list[Row] = [("ann", CELLS[x % 2], float(x)) for x in range(100_000)]
    giants += [("cy", "c", 1.0)] * 20_000
    both = written(tmp_path / "both", TYPES, giants + rest, "parquet")
    bound = Bound("p", 7, 2, 5, leading=2, salt=3)
    found = kept(engine, both, bound)
    assert found["cy", "c", 1] == 5
    assert sum(n for (p, _, _), n in found.items() if p == "ann") in range(5, 8)
    assert {key: n for key, n in found.items() if key[0] == "bob"} == kept(engine, alone, bound)


# --- what counts as a row and a cell -------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", FORMS)
def test_rows_that_the_filter_drops_or_that_lie_in_no_cell_take_no_place(
    engine: str, tmp_path: Path, form: str
) -> None:
    rows: list[Row] = [(p, "a", float(x)) for p in PEOPLE for x in range(40)]
    rows += [(p, g, 1.0) for p in PEOPLE for g in ("elsewhere", None)] * 20
    source = written(tmp_path / "t", TYPES, rows, form)
    request = AggregateRequest(
        source,
        inputs(TYPES),
        (keyed("g", CELLS),),
        (COUNT, Measure(MeasureKind.SUM, QUANTITY)),
        where=sql("x >= 39", "x"),
        bound=bound_of(rows=1),
    )
    assert asked(engine, request) == [[3, 0, 0], [117, 0, 0]]
    request = replace(request, where=sql("g IS NULL OR x >= 39", "g", "x"))
    assert asked(engine, request) == [[3, 0, 0], [117, 0, 0]]


def test_a_measure_selects_among_the_rows_that_are_kept(engine: str, tmp_path: Path) -> None:
    people = [f"p{number}" for number in range(400)]
    rows: list[Row] = [(p, "a", float(x)) for p in people for x in (1, 2)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    low, high = sql("x = 1", "x"), sql("x = 2", "x")
    measures = tuple(
        Measure(kind, where=where)
        for kind in (MeasureKind.RECORDS, MeasureKind.UNITS)
        for where in (low, high, None)
    )
    request = AggregateRequest(
        source, inputs(TYPES), (keyed("g", "a"),), measures, bound=bound_of(rows=1)
    )
    (ones,), (twos,), (all_,), *units = asked(engine, request)
    assert ones + twos == all_ == 400
    assert 100 < ones < 300
    assert units == [[ones], [twos], [400]]


def test_groups_after_the_leading_ones_make_no_cells(engine: str, tmp_path: Path) -> None:
    people = [f"p{number}" for number in range(300)]
    rows: list[Row] = [(p, g, x) for p in people for g in ("a", "b") for x in (1.0, 2.0, 9.0)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    axis = keyed("x", ("1", "2"), T.FLOAT)
    request = AggregateRequest(
        source, inputs(TYPES), (keyed("g", "ab"), axis), (COUNT,), bound=bound_of(groups=1)
    )
    a1, a2, b1, b2 = asked(engine, request)[0]
    assert a1 == a2
    assert b1 == b2
    assert a1 + b1 == 300
    assert 0 < a1 < 300
    # a row without a label on the axis lies in a cell all the same, and takes a place
    request = replace(request, bound=replace(bound_of(rows=6, groups=2, per=1)))
    assert 300 < sum(asked(engine, request)[0]) < 500


# --- by chance alone -----------------------------------------------------------------------------

# Counts are held against the exact binomial law, each with a chance of 1e-8 to fail.
CROWD = [f"p{number:04}" for number in range(2000)]


def fair(count: int, trials: int, chance: Fraction) -> bool:
    return bool(binomtest(count, trials, float(chance)).pvalue > 1e-8)


def choices(engine: str, source: Source, bound: Bound) -> dict[str, int]:
    """The sum of x that is kept of each person: as a bit mask, which rows are."""
    request = AggregateRequest(
        source,
        inputs(TYPES),
        (keyed("p", CROWD),),
        (Measure(MeasureKind.SUM, QUANTITY),),
        bound=bound,
    )
    return dict(zip(CROWD, asked(engine, request)[0], strict=True))


def cells_kept(engine: str, source: Source, bound: Bound) -> list[int]:
    request = AggregateRequest(source, inputs(TYPES), (keyed("g", CELLS),), (UNITS,), bound=bound)
    return asked(engine, request)[0]


def test_every_start_is_equally_likely_and_every_row(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [(p, "a", float(1 << bit)) for p in CROWD for bit in range(5)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    first, second = (choices(engine, source, Bound("p", 2, 1, 2, 1, salt=salt)) for salt in (1, 2))
    starts = [sum(1 << (5 * each + start) // 2 for each in range(2)) for start in range(5)]
    for found in (first, second):
        masks = Counter(found.values())
        assert set(masks) == set(starts)
        assert all(fair(count, len(CROWD), Fraction(1, 5)) for count in masks.values())
        for bit in range(5):
            kept_of_bit = sum(count for mask, count in masks.items() if mask >> bit & 1)
            assert fair(kept_of_bit, len(CROWD), Fraction(2, 5))
    same = sum(first[p] == second[p] for p in CROWD)
    assert fair(same, len(CROWD), Fraction(1, 5))  # salts know nothing of each other


def test_one_row_of_another_kind_is_as_likely_as_any(engine: str, tmp_path: Path) -> None:
    """Of 99 rows that are alike and one other, one is kept: the other by a person in a hundred."""
    people = CROWD if engine != "reference" else CROWD[:500]
    rows: list[Row] = [(p, "a", 1.0) for p in people] * 99 + [(p, "b", 2.0) for p in people]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    a, b, c = cells_kept(engine, source, bound_of(rows=1))
    assert (a + b, c) == (len(people), 0)
    assert fair(b, len(people), Fraction(1, 100))
    assert not fair(len(people) // 2, len(people), Fraction(1, 100))  # either kind first: unfair


def test_ninety_rows_and_ten_are_nine_and_one_for_everybody(engine: str, tmp_path: Path) -> None:
    people = CROWD[:200]
    rows: list[Row] = [(p, "a", 1.0) for p in people] * 90 + [(p, "b", 2.0) for p in people] * 10
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    for salt in (0, 1):
        found = choices(engine, source, replace(bound_of(rows=10), salt=salt))
        assert {found[p] for p in people} == {9 * 1 + 1 * 2}
        # beside one cell, kinds of rows in it get their share too
        within = replace(bound_of(rows=10), leading=0, salt=salt)
        request = AggregateRequest(source, inputs(TYPES), (), (), bound=within, points=QUANTITY)
        assert asked(engine, request) == [[0, 0], [1, 2], [9 * len(people), len(people)]]


def test_people_alike_choose_apart(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [(p, g, 1.0) for p in CROWD for g in CELLS]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    # cells are chosen among those of the rows that are kept: somebody who has rows keeps one
    for bound in (bound_of(1), bound_of(groups=1), bound_of(1, 1), bound_of(2, 1, 1)):
        found = cells_kept(engine, source, bound)
        assert sum(found) == len(CROWD)
        assert all(fair(count, len(CROWD), Fraction(1, 3)) for count in found)


def test_a_cell_with_many_rows_is_chosen_no_more_often(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [(p, "a", float(x)) for p in CROWD for x in range(9)]
    rows += [(p, "b", 1.0) for p in CROWD]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    a, b, c = cells_kept(engine, source, bound_of(groups=1))
    assert (a + b, c) == (len(CROWD), 0)
    assert fair(a, len(CROWD), Fraction(1, 2))


def test_each_row_in_a_cell_is_kept_equally_often(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [(p, g, x) for p in CROWD[:1000] for g in "ab" for x in (0.0, 1.0, 2.0, 3.0)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    request = AggregateRequest(
        source, inputs(TYPES), (), (), bound=replace(bound_of(per=1), leading=0), points=QUANTITY
    )
    assert sum(asked(engine, request)[2]) == 1000
    request = replace(request, groups=(keyed("g", "ab"),), bound=bound_of(per=1))
    cells, points, counts = asked(engine, request)
    assert (cells, points) == ([0] * 4 + [1] * 4, [0, 1, 2, 3] * 2)
    assert sum(counts) == 2000
    assert all(fair(count, 1000, Fraction(1, 4)) for count in counts)


@pytest.mark.thorough
def test_over_many_salts_every_row_of_a_person_is_kept(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [("ann", g, float(x)) for g in CELLS for x in range(3)]
    source = written(tmp_path / "t", TYPES, rows, "csv")
    seen: Kept = Counter()
    for salt in range(40):
        seen += kept(engine, source, Bound("p", 3, 3, 3, leading=2, salt=salt << 58))
    assert len(seen) == len(rows)
    assert all(fair(count, 40, Fraction(1, 3)) for count in seen.values())


def test_a_choice_that_is_not_fair_would_be_caught(engine: str) -> None:
    assert not fair(len(CROWD), len(CROWD), Fraction(1, 3)), engine  # everybody chooses alike
    assert not fair(len(CROWD) * 9 // 10, len(CROWD), Fraction(1, 2))  # by the number of rows
    assert not fair(1000, 1000, Fraction(1, 4))  # always the least
    assert fair(500, 1000, Fraction(1, 2))
